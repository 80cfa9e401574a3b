"""How is the JSON of a large item read without holding others? Member by member, several thousand bytes at a time.

One call of the library reads a value as a whole, which takes up to 0.1 s for an item of 400 KB that is all small values. So a long map or
list is cut between two of its members. Where a member ends is not looked for: what stands before a cut is read as if it were all, which
succeeds only if the cut is right; if it fails, the library says where each member begins. Must not know rows.
"""

from typing import Any

import msgspec

from hashrange.items.steps import PIECE_BYTES, spend
from hashrange.items.types import Item, Value

CUT_BYTES = PIECE_BYTES
"""So much is read at once at least; up to twice as much."""
_OPEN_BYTES = len(b'{"L":[')
"""What stands before the first member of a list or map, and two bytes after its last."""

_decode_attributes = msgspec.json.Decoder(Item).decode
_decode_elements = msgspec.json.Decoder(list[Value]).decode
_decode_value = msgspec.json.Decoder(Value).decode
_outline_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_outline_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def decode_item(text: memoryview) -> Item:
    """The item of this canonical JSON, which is long. Raises as the library does."""
    return _attributes(text[1:-1]) if bytes((text[0], text[-1])) == b"{}" else _decode_attributes(text)


def decode_value(text: bytes) -> Value:
    """The value of this canonical JSON. Raises as the library does."""
    value: Value = _value(memoryview(text)) if len(text) > CUT_BYTES else _decode_value(text)
    return value


def _attributes(members: memoryview) -> Item:
    """The map that has these members."""
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
    """The list that has these members."""
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
    """Where the first of them may be cut off: all, if they are few; 0 if there is no such place nearby."""
    spend(min(len(members), CUT_BYTES) >> 6)
    if len(members) <= 2 * CUT_BYTES:
        return len(members)
    return 1 + CUT_BYTES + found if (found := bytes(members[CUT_BYTES : 2 * CUT_BYTES]).find(between)) >= 0 else 0


def _value(text: memoryview) -> Any:
    """One value."""
    spend(1 + (min(len(text), CUT_BYTES) >> 6))
    if len(text) > CUT_BYTES:
        opening = bytes(text[:_OPEN_BYTES])
        if opening == b'{"L":[':
            return {"L": _elements(text[_OPEN_BYTES:-2])}
        if opening == b'{"M":{':
            return {"M": _attributes(text[_OPEN_BYTES:-2])}
    return _decode_value(text)
