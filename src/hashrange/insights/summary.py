"""What is kept of a stretch of time? A `Summary`: the greatest keys with their counts, and the total of all keys.

Summaries of several stretches are put together by adding what is known of each key.
"""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from hashrange.insights.unique_keys import UniqueKeys
from hashrange.items.steps import spend, walk

COUNT_STEPS = 60
"""Steps of one estimate of `UniqueKeys`."""


class Contributor(NamedTuple):
    """A key with its count, which is at most `error` greater than the true one."""

    key: bytes
    counted: float
    error: float


class Summary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Counts of keys."""

    total: float = 0.0
    """Sum over all keys, which is exact."""
    contributors: list[Contributor] = []
    """The greatest keys, greatest first."""
    floor: float = 0.0
    """Most that the count of another key can be. Of several stretches: most that is missing in a key's count."""
    unique_registers: bytes = b""
    """`UniqueKeys` of all keys; empty if all keys are among `contributors`."""

    def shortened(self, most_keys: int, most_bytes: int) -> "Summary":
        """This summary with at most `most_keys` keys, of together at most `most_bytes`, but at least one."""
        kept, left_bytes = 0, most_bytes
        for one in self.contributors[:most_keys]:
            left_bytes -= len(one.key)
            if left_bytes < 0 and kept:
                break
            kept += 1
        if kept == len(self.contributors):
            return self
        registers = self.unique_registers
        if not registers:
            unique = UniqueKeys()
            unique.add([one.key for one in self.contributors])
            registers = unique.stored()
        floor = max(self.floor, self.contributors[kept].counted)
        return Summary(self.total, self.contributors[:kept], floor, registers)


class Merged:
    """What several summaries say together. Adding one takes 0.2 µs for each of its keys."""

    __slots__ = ("_errors", "_has_uncounted", "_unique", "counts", "floor", "total")

    def __init__(self) -> None:
        self.counts: dict[bytes, float] = {}
        self._errors: dict[bytes, float] = {}
        self._unique: UniqueKeys | None = None
        self._has_uncounted = False
        """True if a summary named all of its keys: they are in `counts`, and may not be in `_unique`."""
        self.total = self.floor = 0.0

    def add(self, summary: Summary) -> None:
        """Add what was counted in another stretch of time."""
        counts, errors = self.counts, self._errors
        self.total += summary.total
        self.floor += summary.floor
        for key, count, error in summary.contributors:
            counts[key] = counts.get(key, 0.0) + count
            if error:
                errors[key] = errors.get(key, 0.0) + error
        if summary.unique_registers:
            self._unique = self._unique or UniqueKeys()
            self._unique.add_all(summary.unique_registers)
        else:
            self._has_uncounted = True

    def _all_unique(self, counts: Iterable[bytes]) -> UniqueKeys | None:
        """All keys; None if all are in `counts`, which are those of this object."""
        if self._unique is not None and self._has_uncounted:
            self._unique.add(counts)
            self._has_uncounted = False
        return self._unique

    @property
    def unique_keys(self) -> int:
        """Number of keys: exact, or estimated if not all are known. 1 µs for each known key; may give way."""
        unique = self._all_unique(walk(self.counts))
        if unique is None:
            return len(self.counts)
        spend(COUNT_STEPS)
        return unique.count

    def top(self, most: int) -> list[Contributor]:
        """The greatest keys, greatest first; may give way."""
        greatest = heapq.nsmallest(most, walk(self.counts.items()), key=_greatest_first)
        return [Contributor(key, count, self._errors.get(key, 0.0)) for key, count in greatest]

    def summary(self) -> Summary:
        """All as one summary."""
        unique = self._all_unique(self.counts)
        registers = b"" if unique is None else unique.stored()
        ordered = sorted(self.counts.items(), key=_greatest_first)
        contributors = [Contributor(key, count, self._errors.get(key, 0.0)) for key, count in ordered]
        return Summary(self.total, contributors, self.floor, registers)


def _greatest_first(counted: tuple[bytes, float]) -> tuple[float, bytes]:
    return -counted[1], counted[0]


def merged_summary(summaries: Iterable[Summary]) -> Summary:
    """One summary of several stretches of time, with all keys that they name."""
    merged = Merged()
    for one in summaries:
        merged.add(one)
    return merged.summary()
