"""Which members has a long list or set, when one condition asks again and again? A hash table, made at the second question.

145 calls of contains() over a list of 100,000 numbers took a second for each item. What is kept belongs to one evaluation, and is
forgotten after it. Evaluations of one condition may be interleaved, for each may give way: they then forget each other's tables, too,
and make them again.
"""

from typing import Any

from hashrange.expressions.values import contains
from hashrange.items.steps import walk
from hashrange.items.types import Value

MEMBERS_MIN = 64
"""Looking through so few takes no longer than finding their table."""
_SCALARS = frozenset((str, bool))


class Memberships:
    """The long lists and sets that the current evaluation has asked about."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[list[Any], frozenset[Any] | None]] = {}
        """Identity of a list → the list, so that it stays the only one with it, and its members once they are hashed."""

    def contains(self, container: Value, wanted: Value) -> bool:
        """As `values.contains`."""
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
        """Keep nothing any longer."""
        self._kept.clear()


def _scalars_of(elements: list[Value]) -> frozenset[Any]:
    """(type, scalar) of all elements of a list that are no containers."""
    return frozenset([pair for element in walk(elements) for pair in element.items() if pair[1].__class__ in _SCALARS])
