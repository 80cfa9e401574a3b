"""Could one client alone have seen all of this, in some order? A checker for concurrent reads and writes.

Every write appends its own number to the list in each item that it changes.
So the final list of an item shows the order of its writes, and the list in a read shows between which two writes it
took place. Each write precedes the next one of its item; each read follows the last write that it saw and precedes
the first that it did not see. One order of all exists exactly if these edges form no cycle.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

INITIAL = 0
"""Number of the initial state, before all writes."""


class Write(NamedTuple):
    """A write with a unique number. If it was refused, no list may have its number."""

    number: int
    items: tuple[str, ...]
    is_done: bool


class Read(NamedTuple):
    """A read of several items at once: item → the numbers in its list."""

    number: int
    seen: Mapping[str, tuple[int, ...]]


def faults_of(writes: Iterable[Write], reads: Iterable[Read], final: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Faults: lost, incomplete, doubled or invented writes, reads of states that never existed, and cycles."""
    faults = _faults_of_writes(writes, final)
    edges: dict[object, set[object]] = defaultdict(set)
    for numbers in final.values():
        order = [INITIAL, *numbers]
        for earlier, later in zip(order, numbers, strict=False):
            edges[later].add(earlier)
    for number, seen in reads:
        for item, numbers in seen.items():
            ordered = final[item]
            if ordered[: len(numbers)] != numbers:
                faults.append(f"read {number} saw {numbers} in {item}, which ended as {ordered}")
                continue
            edges["read", number].add(numbers[-1] if numbers else INITIAL)
            if len(numbers) < len(ordered):
                edges[ordered[len(numbers)]].add(("read", number))
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        faults.append(f"no order explains this circle: {error.args[1]}")
    return faults


def _faults_of_writes(writes: Iterable[Write], final: Mapping[str, tuple[int, ...]]) -> list[str]:
    faults = []
    expected: dict[str, set[int]] = defaultdict(set)
    for number, items, is_done in writes:
        for item in items if is_done else ():
            expected[item].add(number)
    for item, numbers in final.items():
        if len(set(numbers)) < len(numbers):
            faults.append(f"{item} holds a write twice: {numbers}")
        if set(numbers) != expected[item]:
            faults.append(
                f"{item} lacks {expected[item] - set(numbers)} and has {set(numbers) - expected[item]} for nothing"
            )
    return faults
