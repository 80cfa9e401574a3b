"""Is there an order in which one client alone could have seen all this? A checker for concurrent reads and writes.

Every write appends its own number to the list in each item that it touches. So the final list of an item says in which order it was
written, and what a read saw says between which two writes it took place. Each write comes before the next one of its item, each
read after the last write that it saw and before the first that it did not see. All of it can be put into one order exactly if these
edges make no circle.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

INITIAL = 0
"""The write before all others."""


class Write(NamedTuple):
    """Numbers are unique. A write that was refused left nothing behind."""

    number: int
    items: tuple[str, ...]
    is_done: bool


class Read(NamedTuple):
    """What was seen at once: item → the numbers in its list."""

    number: int
    seen: Mapping[str, tuple[int, ...]]


def faults_of(writes: Iterable[Write], reads: Iterable[Read], final: Mapping[str, tuple[int, ...]]) -> list[str]:
    """What cannot be: lost, halved, doubled or invented writes, reads of what never was, and circles."""
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
