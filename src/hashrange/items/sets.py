"""Is a set valid, and what is its canonical form? Its members sorted, without repeats: SS and BS by bytes, NS by value.

Each `canonical_…` function takes the list in a set value, and returns the canonical list (the same object if it was
canonical) and its size in bytes. It raises Malformed for anything but a list of strings (BS: base64), RequestFault for
an empty set, NumberFault for an invalid number, SetRepeatFault for a repeated member, UnicodeEncodeError for an SS
with text that is not Unicode.
Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeVar

from hashrange.errors import Malformed, NumberSetFault, RequestFault, SetRepeatFault
from hashrange.items.binary import decode_base64
from hashrange.items.numbers import encode_number, normalize_number, number_size_bytes
from hashrange.items.steps import batches, sort, spend, walk
from hashrange.limits import MESSAGE_CHARACTERS_MAX
from hashrange.messages import values as say

Members = list[str]
_Order = TypeVar("_Order", str, bytes)


def canonical_string_set(members: Any) -> tuple[Members, int]:
    """The canonical string set, sorted by UTF-8 bytes, which is the order of code points; and its size in bytes."""
    if members.__class__ is not list:
        raise Malformed
    if not members:
        raise RequestFault(say.EMPTY_SET["SS"])
    try:
        ordered = sort(_distinct(members))
        size_bytes = sum([_texts_size_bytes(some) for some in batches(ordered)])
    except TypeError:
        raise Malformed from None
    if len(ordered) < len(members):
        raise _repeats(say.STRING_SET_REPEATS, ", ", members, members)
    return members if ordered == members else ordered, size_bytes


def canonical_binary_set(members: Any) -> tuple[Members, int]:
    """The canonical binary set, sorted by decoded bytes, and its size in bytes."""
    check_members("BS", members)
    decoded = {member: decode_base64(member) for member in walk(members)}  # equal bytes have equal texts
    if len(decoded) < len(members):
        raise _repeats(say.BINARY_SET_REPEATS, ",", members, [decoded[member] for member in walk(members)])
    ordered = sort(members, decoded.__getitem__)
    return members if ordered == members else ordered, sum([len(binary) for binary in walk(decoded.values())])


def canonical_number_set(members: Any) -> tuple[Members, int]:
    """The canonical number set, sorted by value, and its size in bytes. Equal values are repeats."""
    check_members("NS", members)
    ordered = sort([normalize_number(member) for member in walk(members)], encode_number)
    if len(_distinct(ordered)) < len(ordered):
        raise SetRepeatFault(say.NUMBER_SET_REPEATS, say.NUMBER_SET_REPEATS_OLDER)
    size_bytes = sum([number_size_bytes(member) for member in walk(ordered)])
    return members if ordered == members else ordered, size_bytes


def check_members(type_name: str, members: Any) -> None:
    """Raise Malformed unless `members` is a list of strings, then RequestFault if it is empty."""
    if members.__class__ is not list:
        raise Malformed
    for member in walk(members):
        if member.__class__ is not str:
            raise Malformed
    if not members:
        fault = NumberSetFault if type_name == "NS" else RequestFault
        raise fault(say.EMPTY_SET[type_name])


def _repeats(message: str, separator: str, members: Members, order: list[_Order]) -> SetRepeatFault:
    """The SetRepeatFault of a set. Its message lists members before the first repeat sorted, all further ones as given.

    The older wording lists all members as given. `order` has a sort key for each member.
    """
    first: dict[_Order, str] = {}
    for position, place in enumerate(walk(order)):
        if place in first:
            break
        first[place] = members[position]
    listed = chain((first[place] for place in sort(first)), members[len(first) :])
    return SetRepeatFault(
        message.format(members=_joined(separator, listed, '"')), message.format(members=_joined(", ", members, ""))
    )


def _joined(separator: str, members: Iterable[str], quote: str) -> str:
    """The members as a message lists them, each between two `quote`; ends after some 2 * MESSAGE_CHARACTERS_MAX."""
    texts: list[str] = []
    characters = 0
    for member in members:
        spend(1)
        texts.append(f"{quote}{member[: MESSAGE_CHARACTERS_MAX + 1]}{quote}")
        characters += len(texts[-1]) + 1
        if characters > 2 * MESSAGE_CHARACTERS_MAX:
            break
    return separator.join(texts)


def _distinct(members: list[str]) -> set[str]:
    """The set of the members, built in batches because there may be very many."""
    distinct: set[str] = set()
    for some in batches(members):
        distinct.update(some)
    return distinct


def _texts_size_bytes(texts: Iterable[str]) -> int:
    """UTF-8 bytes of all texts. Raises TypeError if one of them is not a string."""
    joined = "".join(texts)
    return len(joined) if joined.isascii() else len(joined.encode())
