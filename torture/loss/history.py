"""What may a table hold after a crash? For each key of one writer, the values that are possible by what was sent and acknowledged.

A write that was sent may have happened or not; once acknowledged it has; and what a consistent read has shown must stay.
"""

from typing import NamedTuple

Value = str | None
"""An item's data; None when there is no item."""


class Verdict(NamedTuple):
    """Keys of which something else is there than could be."""

    lost: list[str]
    """Acknowledged, and missing or older."""
    invented: list[str]
    """Never written so, or deleted."""


class History:
    """Of one writer, who alone writes its keys and sends one request at a time."""

    def __init__(self) -> None:
        self._possible: dict[str, set[Value]] = {}
        self._sent: dict[str, set[Value]] = {}
        self.acknowledged = 0
        """Requests."""

    def send(self, effects: dict[str, Value]) -> None:
        """A request that writes these values, all or some of them, goes out."""
        for key, value in effects.items():
            self._possible.setdefault(key, {None}).add(value)
            self._sent.setdefault(key, {None}).add(value)

    def acknowledge(self, effects: dict[str, Value]) -> None:
        """It has been answered: from now on nothing else is there."""
        self.acknowledged += 1
        for key, value in effects.items():
            self._possible[key] = {value}

    def judge(self, found: dict[str, str]) -> Verdict:
        """Compare with what was read: key → data of every item of this writer."""
        lost: list[str] = []
        invented: list[str] = []
        for key in self._possible.keys() | found.keys():
            value = found.get(key)
            possible = self._possible.get(key, {None})
            if value in possible:
                continue
            is_older = None not in possible and value in self._sent.get(key, ())
            (lost if is_older else invented).append(key)
        return Verdict(sorted(lost), sorted(invented))

    def settle(self, found: dict[str, str]) -> None:
        """What was read consistently is there to stay; what was not, is gone; faults are counted once."""
        for key in self._possible.keys() | found.keys():
            self._possible[key] = {found.get(key)}
