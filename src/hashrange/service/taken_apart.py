"""How is what has ended freed at once? It is taken apart: its objects let go of each other,
so that reference counts free them.

The parts of a service call each other back, so they are in cycles, which only the garbage collector would free. In a
server's own process that happens while no client is connected (`collector.py`), which may be never; elsewhere it
happens some time later. A program that forks a database for each of its tests would fill its memory.
See docs/adr/0057-what-has-ended.md.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from functools import partial
from types import FunctionType, MethodType

OURS = (
    "hashrange.autoscaling.",
    "hashrange.cloudwatch.",
    "hashrange.dax.",
    "hashrange.faults.",
    "hashrange.features.",
    "hashrange.functions.",
    "hashrange.insights.",
    "hashrange.jobs.",
    "hashrange.server.",
    "hashrange.service.",
    "hashrange.store.",
    "hashrange.throughput.",
    "hashrange.triggers.",
)
"""Packages whose objects with attributes belong to one service. What several services share are structs and tuples."""


def take_apart(*ended: object, but: object = None) -> None:
    """Remove the attributes of all parts of what has ended, `but` for one that may still be called. Takes 1 ms.

    To be called once nothing else will be.
    """
    for one in parts_of(*ended, but=but):
        vars(one).clear()


def parts_of(*roots: object, but: object = None) -> list[object]:
    """`roots`, and the objects of OURS that they lead to, except those that a module or class holds, and `but`.

    Objects lead to others by attributes, lists, tuples, bound methods, partial functions and closures.
    What is in dictionaries is content.
    """
    seen: dict[int, object] = {id(but): None}
    parts: list[object] = []
    left = list(roots)
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if _is_part(one):
            parts.append(one)
            left += vars(one).values()
        else:
            left += _members(one)
    return parts


def _members(one: object) -> Iterator[object]:
    """The objects that `one`, which is no part itself, leads to."""
    if isinstance(one, list | tuple):
        yield from one
    elif isinstance(one, MethodType):
        yield one.__self__
    elif isinstance(one, partial):
        yield one.func
        yield from one.args
        yield from one.keywords.values()
    elif isinstance(one, FunctionType):
        for cell in one.__closure__ or ():
            with suppress(ValueError):  # the cell is empty
                yield cell.cell_contents


def _is_part(one: object) -> bool:
    module = type(one).__module__
    if not module.startswith(OURS) or not hasattr(one, "__dict__") or isinstance(one, Enum):
        return False
    return all(value is not one for value in vars(sys.modules[module]).values())
