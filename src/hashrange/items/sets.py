"""Is this a sound set, and what is its canonical form? Members sorted: SS and BS by bytes, NS by value; none twice.

Each `walk_…` takes what stands behind the type's name and gives the canonical list (the same one when it was canonical) and its
size in bytes. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeVar

from hashrange.errors import Malformed, NumberSetFault, RepeatFault, RequestFault
from hashrange.items.binary import decode_base64
from hashrange.items.numbers import encode_number, normalize_number, number_size_bytes
from hashrange.items.steps import sort, together, walk
from hashrange.limits import MESSAGE_CHARACTERS_MAX
from hashrange.messages.values import (
    BINARY_SET_REPEATS,
    EMPTY_SET,
    NUMBER_SET_REPEATS,
    NUMBER_SET_REPEATS_OLDER,
    STRING_SET_REPEATS,
)

Members = list[str]
_Order = TypeVar("_Order", str, bytes)


def walk_string_set(members: Any) -> tuple[Members, int]:
    """Strings order by their UTF-8 bytes, which is the order of code points."""
    if members.__class__ is not list:
        raise Malformed
    if not members:
        raise RequestFault(EMPTY_SET["SS"])
    try:
        ordered = sort(_distinct(members))
        size_bytes = sum([_texts_size_bytes(some) for some in together(ordered)])
    except TypeError:
        raise Malformed from None
    if len(ordered) < len(members):
        raise _repeats(STRING_SET_REPEATS, ", ", members, members)
    return members if ordered == members else ordered, size_bytes


def walk_binary_set(members: Any) -> tuple[Members, int]:
    """Binaries order by their bytes."""
    check_members("BS", members)
    decoded = {member: decode_base64(member) for member in walk(members)}  # equal bytes have equal texts
    if len(decoded) < len(members):
        raise _repeats(BINARY_SET_REPEATS, ",", members, [decoded[member] for member in walk(members)])
    ordered = sort(members, decoded.__getitem__)
    return members if ordered == members else ordered, sum([len(binary) for binary in walk(decoded.values())])


def walk_number_set(members: Any) -> tuple[Members, int]:
    """Numbers order by value, and repeat by value."""
    check_members("NS", members)
    ordered = sort([normalize_number(member) for member in walk(members)], encode_number)
    if len(_distinct(ordered)) < len(ordered):
        raise RepeatFault(NUMBER_SET_REPEATS, NUMBER_SET_REPEATS_OLDER)
    size_bytes = sum([number_size_bytes(member) for member in walk(ordered)])
    return members if ordered == members else ordered, size_bytes


def check_members(type_name: str, members: Any) -> None:
    """Refuse what is no list of strings, then what is empty."""
    if members.__class__ is not list:
        raise Malformed
    for member in walk(members):
        if member.__class__ is not str:
            raise Malformed
    if not members:
        fault = NumberSetFault if type_name == "NS" else RequestFault
        raise fault(EMPTY_SET[type_name])


def _repeats(message: str, separator: str, members: Members, order: list[_Order]) -> RepeatFault:
    """Current wording: sorted up to the first repeat, the repeat, then the rest; older: as the request has them."""
    first: dict[_Order, str] = {}
    for position, place in enumerate(walk(order)):
        if place in first:
            break
        first[place] = members[position]
    listed = chain((first[place] for place in sort(first)), members[len(first) :])
    return RepeatFault(
        message.format(members=_joined(separator, listed, '"')), message.format(members=_joined(", ", members, ""))
    )


def _joined(separator: str, members: Iterable[str], quote: str) -> str:
    """The members as a message lists them, each between quotes; not many more than a message may have room for."""
    texts: list[str] = []
    characters = 0
    for member in members:
        texts.append(f"{quote}{member[: MESSAGE_CHARACTERS_MAX + 1]}{quote}")
        characters += len(texts[-1]) + 1
        if characters > 2 * MESSAGE_CHARACTERS_MAX:
            break
    return separator.join(texts)


def _distinct(members: list[str]) -> set[str]:
    """The set of the members, of which there may be very many."""
    distinct: set[str] = set()
    for some in together(members):
        distinct.update(some)
    return distinct


def _texts_size_bytes(texts: Iterable[str]) -> int:
    """UTF-8 bytes of all texts; a TypeError when one of them is none."""
    joined = "".join(texts)
    return len(joined) if joined.isascii() else len(joined.encode())
