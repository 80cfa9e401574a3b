"""Which of many keys can be equal? Pairs whose fixed beginnings differ are never looked at; all others are compared, up
to a number of steps.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hashrange.toolkit.models.key_templates import SEPARATOR, KeyForm, can_be_equal

STEPS_MAX = 10_000_000
"""Texts of forms that are compared in one table, a second or two of work. A hundred templates of 2,048 characters take
fewer, and so do a thousand ordinary ones.
"""

EntityKey = tuple[KeyForm, ...]
"""The forms of an entity's key attributes; all entities of a table have as many, in one order."""


class KeyCollisions(NamedTuple):
    """Place of a key in the list → places of those behind it that can be equal to it."""

    others: dict[int, list[int]]
    is_complete: bool
    """False if the steps did not suffice for all pairs."""


def find_collisions(keys: Sequence[EntityKey]) -> KeyCollisions:
    """The pairs of keys of one table that can be equal."""
    sizes = [sum(len(part) for form in key for part in form) for key in keys]
    others: dict[int, list[int]] = {}
    steps = 0
    for one, other in _near_pairs(_telling_beginnings(keys)):
        steps += sizes[one] + sizes[other]
        if steps > STEPS_MAX:
            return KeyCollisions(others, is_complete=False)
        if all(map(can_be_equal, keys[one], keys[other])):
            others.setdefault(one, []).append(other)
    return KeyCollisions({one: sorted(others[one]) for one in sorted(others)}, is_complete=True)


def _telling_beginnings(keys: Sequence[EntityKey]) -> list[str]:
    """The fixed beginning of each key's form of one attribute: of that whose beginnings differ most."""
    columns = [[_beginning(form) for form in forms] for forms in zip(*keys, strict=True)]
    return max(columns, key=lambda column: len({*column}), default=[])


def _beginning(form: KeyForm) -> str:
    """The text with which all values of a form begin."""
    fixed = []
    for part in form:
        fixed.append(part[0])
        if len(part) > 1:
            break
    return SEPARATOR.join(fixed)


def _near_pairs(beginnings: list[str]) -> Iterator[tuple[int, int]]:
    """The pairs of places of which one beginning begins with the other, the smaller place first.

    In their order, the texts that begin with one text follow it. `outer` are those with which the current one begins.
    """
    outer: list[int] = []
    for place in sorted(range(len(beginnings)), key=beginnings.__getitem__):
        while outer and not beginnings[place].startswith(beginnings[outer[-1]]):
            outer.pop()
        for one in outer:
            yield min(one, place), max(one, place)
        outer.append(place)
