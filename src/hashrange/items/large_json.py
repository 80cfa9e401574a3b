"""How is the JSON of a large item decoded without blocking other requests?
In pieces of 32 to 64 KB, cut between members.

One msgspec call decodes a whole value: up to 0.1 s for an item of 400 KB that consists of small values. So a long map
or list is cut between two members. The cut is a guess: the text before it is decoded as a complete map or list, which
succeeds only if the guess is right. If decoding fails, or no place for a cut is found, msgspec finds where each member
begins, and the members are decoded one by one. Must not know rows.
"""

from typing import Any

import msgspec

from hashrange.items.steps import PIECE_BYTES, spend
from hashrange.items.types import Item, Value

CUT_BYTES = PIECE_BYTES
"""A piece of the JSON of a long map or list, which one call decodes, has at least this many bytes (the last piece may
have fewer), and at most twice as many, unless members are decoded one by one.
"""
_OPEN_BYTES = len(b'{"L":[')
"""Length of the JSON before the first member of a list or map value; two bytes follow the last member."""

_decode_attributes = msgspec.json.Decoder(Item).decode
_decode_elements = msgspec.json.Decoder(list[Value]).decode
_decode_value = msgspec.json.Decoder(Value).decode
_outline_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_outline_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def decode_item(text: memoryview) -> Item:
    """Decode the canonical JSON of a long item. Raises MsgspecError or UnicodeDecodeError."""
    return _attributes(text[1:-1]) if bytes((text[0], text[-1])) == b"{}" else _decode_attributes(text)


def decode_value(text: bytes) -> Value:
    """Decode the canonical JSON of a value. Raises MsgspecError or UnicodeDecodeError."""
    value: Value = _value(memoryview(text)) if len(text) > CUT_BYTES else _decode_value(text)
    return value


def _attributes(members: memoryview) -> Item:
    """Decode a map, given as its JSON without the braces."""
    attributes: Item = {}
    while members:
        end = _cut(members, b'},"')
        if end:
            try:
                attributes.update(_decode_attributes(b"".join((b"{", members[:end], b"}"))))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                end = 0
        if not end:
            for name, raw in _outline_attributes(b"".join((b"{", members, b"}"))).items():
                attributes[name] = _value(memoryview(raw))
            break
        members = members[end + 1 :]
    return attributes


def _elements(members: memoryview) -> list[Value]:
    """Decode a list, given as its JSON without the brackets."""
    elements: list[Value] = []
    while members:
        end = _cut(members, b"},{")
        if end:
            try:
                elements += _decode_elements(b"".join((b"[", members[:end], b"]")))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                end = 0
        if not end:
            elements += [_value(memoryview(raw)) for raw in _outline_elements(b"".join((b"[", members, b"]")))]
            break
        members = members[end + 1 :]
    return elements


def _cut(members: memoryview, between: bytes) -> int:
    """Length of the first piece of `members`, which ends with the `}` of the first `between` after CUT_BYTES bytes.

    All of `members` if it has at most 2 * CUT_BYTES; 0 if `between` is not found before 2 * CUT_BYTES.
    """
    spend(min(len(members), CUT_BYTES) >> 6)
    if len(members) <= 2 * CUT_BYTES:
        return len(members)
    return 1 + CUT_BYTES + found if (found := bytes(members[CUT_BYTES : 2 * CUT_BYTES]).find(between)) >= 0 else 0


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
