"""How are a few members of a JSON object read, and all others skipped? By a struct of msgspec, made for their names.

A struct is a class, and classes refer to themselves: one that nobody uses is freed only when the garbage collector
examines all objects, which a server does not do while clients are connected (`service/collector.py`). So no struct is
ever replaced by another: the first sets of names get one, others have to be read without, until nobody is connected.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

DecodeMembers = Callable[[bytes | memoryview], Any]

SETS_MAX = 1_024
"""Sets of names of one kind that get a struct. One of 32 names has 17 KB."""
NAMES_MAX = 32
NAMES_LENGTH_MAX = 1_024
"""More names, or names that are longer together, get no struct; one for 1,000 names would take 10 ms to make."""
_is_plain = re.compile(r'[^"\\\x00-\x1f]+').fullmatch
"""Matches names that msgspec takes for those of members: JSON writes them without escapes."""
_all: list["MemberDecoders"] = []


class MemberDecoders:
    """The structs of one kind, whose fields `a0`, `a1`, … are the members with the names in their order."""

    def __init__(self, member_type: Any, *default: Any) -> None:
        """`default`: what a field is if the object lacks the member; without one, it is refused."""
        self._member_type, self._default = member_type, default
        self._decoders: dict[tuple[str, ...], DecodeMembers] = {}
        _all.append(self)

    def __len__(self) -> int:
        return len(self._decoders)

    def find(self, names: tuple[str, ...]) -> DecodeMembers | None:
        """The decoder for these names; None if they have none."""
        found = self._decoders.get(names)
        if found is None and len(self) < SETS_MAX and have_struct(names):
            members = [(f"a{place}", self._member_type, *self._default) for place in range(len(names))]
            renamed = {f"a{place}": name for place, name in enumerate(names)}
            found = msgspec.json.Decoder(msgspec.defstruct("Members", members, rename=renamed)).decode
            self._decoders[names] = found
        return found

    def forget(self) -> None:
        """Drop all decoders."""
        self._decoders.clear()


def have_struct(names: tuple[str, ...]) -> bool:
    """True if there is a struct for names like these."""
    return len(names) <= NAMES_MAX and sum(map(len, names)) <= NAMES_LENGTH_MAX and all(map(_is_plain, names))


def forget_structs() -> None:
    """Drop all decoders; to be called before all objects are examined."""
    for decoders in _all:
        decoders.forget()
