"""How is the JSON of a large item decoded without blocking other requests?
In pieces of 32 to 64 KB, cut between members.

One msgspec call decodes a whole value: up to 0.1 s for an item of 400 KB that consists of small values. So a long map
or list is cut between two members. The first cut is a guess: the text before it is decoded as a complete map or list,
which succeeds only if the guess is right. If decoding fails, or no place for a cut is found, msgspec finds where each
member begins if they are few, and the members are decoded one by one. One call takes 50 ms to find 100,000 members; so
if they are many, a pattern that counts brackets finds the cuts of all further pieces. Only members that are longer than
a piece, or deeper than the pattern goes, are then decoded one by one. Must not know rows.
"""

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, TypeVar

import msgspec

from hashrange.items.steps import PIECE_BYTES, spend
from hashrange.items.types import Item, Value

T = TypeVar("T")

CUT_BYTES = PIECE_BYTES
"""A piece of the JSON of a long map or list, which one call decodes, has at least this many bytes (the last piece may
have fewer), and at most twice as many, unless members are decoded one by one.
"""
OUTLINED_MEMBERS_MAX = 8_192
"""Members of a map or list whose beginnings one call finds, in at most 5 ms."""
MATCHED_DEPTH = 16
"""Brackets within brackets that the patterns of members follow: two for each map or list. Deeper members are decoded
one by one; no item has many of them.
"""
_OPEN_BYTES = len(b'{"L":[')
"""Length of the JSON before the first member of a list or map value; two bytes follow the last member."""

_decode_attributes = msgspec.json.Decoder(Item).decode
_decode_elements = msgspec.json.Decoder(list[Value]).decode
_decode_value = msgspec.json.Decoder(Value).decode
_outline_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_outline_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_name = msgspec.json.Decoder(str).decode
_skip_value = msgspec.json.Decoder(msgspec.Raw).decode
_find_trailing = re.compile(r"trailing characters \(byte (\d+)\)$").search
"""Finds the number of bytes up to the first that follows a complete value, that byte included, in an error's text."""


@cache
def _members_pattern(member: bytes) -> Callable[[memoryview, int, int], re.Match[bytes] | None]:
    """A function that matches as many members of a map or list as are complete, each with the comma behind it.

    `member`: the pattern of one, with NAME and VALUE for those of its parts. 15 ns a byte, because it never goes back.
    The first call for a pattern takes 2 ms.
    """
    text = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    inside = rb'[^"{}\[\]]*+(?>%b[^"{}\[\]]*+)*+' % text
    for _ in range(MATCHED_DEPTH - 1):
        inside = rb'[^"{}\[\]]*+(?>(?>%b|[{\[]%b[}\]])[^"{}\[\]]*+)*+' % (text, inside)
    value = rb"[{\[]%b[}\]]" % inside
    return re.compile(rb"(?>%b,)*+" % member.replace(b"VALUE", value).replace(b"NAME", text), re.DOTALL).match


def decode_item(text: memoryview) -> Item:
    """Decode the canonical JSON of a long item. Raises MsgspecError or UnicodeDecodeError."""
    return _attributes(text[1:-1]) if bytes((text[0], text[-1])) == b"{}" else _decode_attributes(text)


def decode_value(text: bytes) -> Value:
    """Decode the canonical JSON of a value. Raises MsgspecError or UnicodeDecodeError."""
    value: Value = _value(memoryview(text)) if len(text) > CUT_BYTES else _decode_value(text)
    return value


def find_attributes(text: memoryview, names: AbstractSet[str]) -> dict[str, bytes]:
    """The JSON of the values of these attributes, as far as an item has them, from the canonical JSON of the item.

    Takes any number of names, and gives way. Raises MsgspecError or UnicodeDecodeError.
    """
    if b"".join((text[:1], text[-1:])) != b"{}":
        raise msgspec.DecodeError("the JSON of an item is no object")
    found: dict[str, bytes] = {}
    for run in _runs_of_attributes(text[1:-1], _outline_attributes, memoryview):
        for name in run.keys() & names:
            found[name] = bytes(run[name])
    return found


def _attributes(members: memoryview) -> Item:
    """Decode a map, given as its JSON without the braces."""
    attributes: Item = {}
    for run in _runs_of_attributes(members, _decode_attributes, _value):
        attributes.update(run)
    return attributes


def _elements(members: memoryview) -> list[Value]:
    """Decode a list, given as its JSON without the brackets."""

    def outlined(text: bytes) -> list[Value]:
        return [_value(memoryview(raw)) for raw in _outline_elements(text)]

    def first(left: memoryview) -> tuple[list[Value], int]:
        run: list[Value] = []
        end = 0
        while end < min(CUT_BYTES, len(left)):
            start = end + bool(run)
            end = find_end_of_value(left, start, b",")
            run.append(_value(left[start:end]))
        return run, end

    elements: list[Value] = []
    for run in _runs(members, (b"},{", b"[]", b"VALUE"), _decode_elements, outlined, first):
        elements += run
    return elements


def _runs_of_attributes(
    members: memoryview, decode: Callable[[bytes], dict[str, Any]], decode_one: Callable[[memoryview], Any]
) -> Iterator[dict[str, Any]]:
    """Decode the members of a map, given as its JSON without the braces, some at a time.

    `decode` decodes a map, `decode_one` the value of one member.
    """

    def outlined(text: bytes) -> dict[str, Any]:
        return {name: decode_one(memoryview(raw)) for name, raw in _outline_attributes(text).items()}

    def first(left: memoryview) -> tuple[dict[str, Any], int]:
        run: dict[str, Any] = {}
        end = 0
        while end < min(CUT_BYTES, len(left)):
            name, value, end = _attribute_at(left, end + bool(run))
            run[name] = decode_one(value)
        return run, end

    return _runs(members, (b'},"', b"{}", b"NAME:VALUE"), decode, outlined, first)


def _runs(
    members: memoryview,
    form: tuple[bytes, bytes, bytes],
    decode: Callable[[bytes], T],
    outlined: Callable[[bytes], T],
    first: Callable[[memoryview], tuple[T, int]],
) -> Iterator[T]:
    """Decode the members of a map or list, given as its JSON without the brackets, some at a time.

    `form`: what is between two members, the brackets, and the pattern of a member. `decode` decodes a map or list;
    `outlined` too, one member after the other; `first` decodes a piece of its members like this, and tells its end.
    """
    between, brackets, member = form
    is_guess_right = True
    while members:
        end = _cut(members, between) if is_guess_right else _cut_behind(members, _members_pattern(member))
        run = _decoded(decode, members[:end], brackets)
        if run is None and is_guess_right:
            if not _are_few(members, between):
                is_guess_right = False
                continue
            run, end = outlined(_enclosed(members, brackets)), len(members)
        elif run is None:
            run, end = first(members)
        yield run
        members = members[end + 1 :]


def _enclosed(members: memoryview, brackets: bytes) -> bytes:
    """The JSON of a map or list of these members."""
    return b"".join((brackets[:1], members, brackets[1:]))


def _decoded(decode: Callable[[bytes], T], members: memoryview, brackets: bytes) -> T | None:
    """The map or list of these members; None if there are none, or if they are not complete."""
    try:
        return decode(_enclosed(members, brackets)) if members else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _are_few(members: memoryview, between: bytes) -> bool:
    """True if a map or list surely has at most OUTLINED_MEMBERS_MAX members, which `between` separates."""
    spend(len(members) >> 9)
    return bytes(members).count(between) < OUTLINED_MEMBERS_MAX


def _attribute_at(members: memoryview, start: int) -> tuple[str, memoryview, int]:
    """The name and the JSON of the attribute that begins at `start`, and where it ends."""
    colon = find_end_of_value(members, start, b":")
    end = find_end_of_value(members, colon + 1, b",")
    return _decode_name(members[start:colon]), members[colon + 1 : end], end


def find_end_of_value(text: memoryview, start: int, behind: bytes) -> int:
    """Where the JSON value that begins at `start` ends: before the byte `behind`, or at the end of `text`. 1 µs.

    The decoder reads one value, and says where the text goes on. Raises DecodeError if something else follows.
    """
    spend(2)
    try:
        _skip_value(text[start:])
    except msgspec.DecodeError as error:
        trailing = _find_trailing(str(error))
        end = start + int(trailing[1]) - 1 if trailing else -1
        if text[end : end + 1] != behind:
            raise
        return end
    return len(text)


def _cut(members: memoryview, between: bytes) -> int:
    """Length of the first piece of `members`, which ends with the `}` of the first `between` after CUT_BYTES bytes.

    All of `members` if it has at most 2 * CUT_BYTES; 0 if `between` is not found before 2 * CUT_BYTES.
    """
    spend(min(len(members), CUT_BYTES) >> 6)
    if len(members) <= 2 * CUT_BYTES:
        return len(members)
    return 1 + CUT_BYTES + found if (found := bytes(members[CUT_BYTES : 2 * CUT_BYTES]).find(between)) >= 0 else 0


def _cut_behind(members: memoryview, match: Callable[[memoryview, int, int], re.Match[bytes] | None]) -> int:
    """Length of the first piece of `members`: all that end, with the comma behind them, within 2 * CUT_BYTES bytes.

    All of `members` if it has at most that many bytes; 0 if the first member is longer, or deeper than MATCHED_DEPTH.
    """
    spend(min(len(members), 2 * CUT_BYTES) >> 6)
    if len(members) <= 2 * CUT_BYTES:
        return len(members)
    matched = match(members, 0, 2 * CUT_BYTES)
    return max(0, matched.end() - 1) if matched else 0


def _value(text: memoryview) -> Any:
    """Decode one attribute value; a long list or map in pieces."""
    spend(1 + (min(len(text), CUT_BYTES) >> 6))
    if len(text) > CUT_BYTES:
        opening = bytes(text[:_OPEN_BYTES])
        if opening == b'{"L":[':
            return {"L": _elements(text[_OPEN_BYTES:-2])}
        if opening == b'{"M":{':
            return {"M": _attributes(text[_OPEN_BYTES:-2])}
    return _decode_value(text)
