"""How are set values combined? Union, difference and new members; results stay in canonical order.

Canonical order: SS and BS by the members' bytes (for strings, code point order), NS by value. Arguments are not
mutated.
"""

from binascii import a2b_base64
from collections.abc import Callable
from typing import Any

from hashrange.items.numbers import encode_number
from hashrange.items.steps import sort, spend, walk
from hashrange.items.types import Value

_ORDER: dict[str, Callable[[str], Any] | None] = {"SS": None, "NS": encode_number, "BS": a2b_base64}


def added_members(members: list[str], more: list[str]) -> list[str]:
    """The members of `more` not in `members`."""
    present = set(members)
    return [member for member in walk(more) if member not in present]


def union(type_name: str, members: list[str], more: list[str]) -> Value:
    """The set value of type `type_name` with all members of two sets of this type."""
    added = added_members(members, more)
    return {type_name: sort(members + added, _ORDER[type_name])} if added else {type_name: members}


def without_members(type_name: str, members: list[str], fewer: list[str]) -> Value | None:
    """The set value of all `members` that are not in `fewer`; None if none is left, because no set may be empty."""
    spend(len(fewer) >> 4)  # an update may delete the same members from many sets
    gone = set(fewer)
    kept = [member for member in walk(members) if member not in gone]
    return {type_name: kept} if kept else None
