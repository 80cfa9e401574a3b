"""How do repeated contains() calls of a condition stay fast?
At the second search of a long list or set, its members are hashed.

Without hash tables, 145 calls of contains() over a list of 100,000 numbers took a second per item. The hash tables
are dropped after each evaluation of the condition. Evaluations may interleave, as each may give way: one that ends also
drops the hash tables of the others, which build them again.
"""

from typing import Any

from hashrange.expressions.values import contains
from hashrange.items.steps import walk
from hashrange.items.types import Value

MEMBERS_MIN = 64
"""Lists and sets with fewer members are searched directly, which takes no longer than finding their hash table."""
_SCALARS = frozenset((str, bool))


class Memberships:
    """Long lists and sets that a condition's running evaluations have searched, with their hash tables."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[list[Any], frozenset[Any] | None]] = {}
        """id() of a list → the list, kept so that no other list gets its id, and its hashed members (None at first)."""

    def contains(self, container: Value, wanted: Value) -> bool:
        """Like `contains` of `values.py`, but later searches of a long list or set for a scalar use hashes."""
        ((container_type, content),) = container.items()
        ((wanted_type, scalar),) = wanted.items()
        if (
            content.__class__ is not list
            or len(content) < MEMBERS_MIN
            or scalar.__class__ not in _SCALARS
            or (container_type != "L" and container_type[0] != wanted_type)
        ):
            return contains(container, wanted)
        known = self._kept.get(id(content))
        if known is None:
            self._kept[id(content)] = content, None
            return contains(container, wanted)
        members = known[1]
        if members is None:
            members = _scalars_of(content) if container_type == "L" else frozenset(walk(content))
            self._kept[id(content)] = content, members
        return (wanted_type, scalar) in members if container_type == "L" else scalar in members

    def forget(self) -> None:
        """Drop all hash tables."""
        self._kept.clear()


def _scalars_of(elements: list[Value]) -> frozenset[Any]:
    """(type, scalar) of all scalar elements of a list."""
    return frozenset([pair for element in walk(elements) for pair in element.items() if pair[1].__class__ in _SCALARS])
