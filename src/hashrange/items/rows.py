"""How does an item become a row, and a row an item? The JSON is packed if it is far longer than the item, which is
decided here; `row_layout.py` says how the bytes of a row are laid out.

The JSON is canonical: attribute names sorted at every level, no blanks, canonical values. So equal items have equal
JSON, which replies include without decoding it, and equal rows, apart from the packing of older formats.
Must not know keys or tables. Format: docs/formats/rows.md.
"""

from collections.abc import Callable, Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec

from hashrange.errors import StorageCorruption, StorageFormatUnknown, ValidationException
from hashrange.items.canonical import encode_item
from hashrange.items.large_json import decode_item, decode_value, find_attributes
from hashrange.items.member_decoders import DecodeMembers, MemberDecoders
from hashrange.items.number_set_order import BRACKET, contains_number_set
from hashrange.items.packing import pack
from hashrange.items.row_layout import (
    NUMBER_SETS_VERSION,
    PACKED_NUMBER_SETS_VERSION,
    PACKED_VERSION,
    PLAIN_VERSION,
    ROW_HEADER_BYTES,
    VERSIONS,
    row_json,
    row_json_view,
)
from hashrange.items.steps import PIECE_BYTES, look, spend, spend_decoding, walk
from hashrange.items.types import Item, Row
from hashrange.limits import ROW_MAX_BYTES
from hashrange.messages.reads import ITEM_TOO_LARGE

_VERSION, _NUMBER_SETS = bytes((PLAIN_VERSION,)), bytes((NUMBER_SETS_VERSION,))
_PACKED, _PACKED_NUMBER_SETS = bytes((PACKED_VERSION,)), bytes((PACKED_NUMBER_SETS_VERSION,))
PACKED_BYTES_MIN = 32 * 1024
"""JSON is packed if it has more bytes than this, and more than PACKED_SIZES times its item's DynamoDB size."""
PACKED_SIZES = 2
COMPARISONS_MAX = 1 << 25
"""A decoder of a few attributes compares each one of a row with each of its names. It is used if the bytes of the row
times the names are at most this many, which takes some 3 ms.
"""
_SURELY_QUICK_BYTES = 8_192
"""Decoding a row of at most this length takes at most 0.1 ms, which is not counted in steps."""
_parts = MemberDecoders(msgspec.Raw, None)
"""DecodeMembers the attributes that a projection or a condition reads; those that an item lacks are None."""
_wholes = MemberDecoders(msgspec.Raw)
"""DecodeMembers attributes that each item has, such as keys."""
_decode = msgspec.json.Decoder(Item).decode
_encode = msgspec.json.Encoder().encode
_PART_HEADER, _NUMBER_SETS_PART_HEADER = _VERSION + bytes(4), _NUMBER_SETS + bytes(4)
EMPTY_PART = Row(_PART_HEADER + b"{}")
"""The `part_row` of an item from which a projection selects nothing."""


def encode_row(item: Item, size_bytes: int, too_large: str = ITEM_TOO_LARGE) -> Row:
    """The row of a canonical item whose DynamoDB size is `size_bytes`. 3 µs for 1.1 KB.

    Raises ValidationException with the message `too_large` if the JSON is longer than ROW_MAX_BYTES.
    """
    text = encode_item(item, size_bytes)
    if len(text) > PACKED_BYTES_MIN:
        if len(text) > ROW_MAX_BYTES:
            raise ValidationException(too_large)
        if len(text) > PACKED_SIZES * size_bytes:
            look()
            version = _PACKED_NUMBER_SETS if contains_number_set(text) else _PACKED
            return Row(version + size_bytes.to_bytes(4, "big") + pack(text))
    if BRACKET in text and contains_number_set(text):
        return Row(_NUMBER_SETS + size_bytes.to_bytes(4, "big") + text)
    return _VERSION + size_bytes.to_bytes(4, "big") + text  # type: ignore[return-value]  # as Row(), without a call


def part_row(item: Item) -> Row:
    """A row that holds part of an item, only for replies: the size in its header is 0, its attributes are unsorted.

    Takes 0.2 µs more than encoding the JSON alone.
    """
    text = _encode(item)
    if BRACKET in text and contains_number_set(text):
        return Row(_NUMBER_SETS_PART_HEADER + text)
    return _PART_HEADER + text  # type: ignore[return-value]  # as Row(), without a call


def decode_row(row: Row) -> Item:
    """A new copy of a row's item. Raises StorageFormatUnknown or StorageCorruption. 4 µs for 1.1 KB."""
    if row[:1] != _VERSION:
        row = _plain(row)
    try:
        if len(row) > _SURELY_QUICK_BYTES:
            return _decode_long(row)
        return _decode(row[ROW_HEADER_BYTES:])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(error) from error


def _decode_long(row: Row) -> Item:
    """The item of a long row in PLAIN_VERSION. Raises MsgspecError or UnicodeDecodeError."""
    spend_decoding(len(row))
    text = memoryview(row)[ROW_HEADER_BYTES:]
    return decode_item(text) if len(row) > PIECE_BYTES else _decode(text)


def decode_attributes(row: Row, names: tuple[str, ...]) -> Item:
    """The row's attributes with these names. Skips other attributes of a large item in a tenth of their decoding time.

    Raises StorageFormatUnknown or StorageCorruption.
    """
    if row[:1] != _VERSION:
        row = _plain(row)
    if len(row) <= _SURELY_QUICK_BYTES:
        item = decode_row(row)
        return {name: item[name] for name in names if name in item}
    text = memoryview(row)[ROW_HEADER_BYTES:]
    try:
        decode = _parts.find(names) if len(names) <= COMPARISONS_MAX // len(row) else None
        values = find_attributes(text, frozenset(names)) if decode is None else _read_together(decode, text, names)
        return {name: decode_value(values[name]) for name in walk(names) if name in values}
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(error) from error


def _read_together(decode: DecodeMembers, text: memoryview, names: tuple[str, ...]) -> dict[str, bytes]:
    """The JSON of these attributes' values, as far as an item has them."""
    spend(len(text) >> 9)
    found = decode(text)
    texts = [getattr(found, f"a{position}") for position in range(len(names))]
    return {name: bytes(text) for name, text in zip(names, texts, strict=True) if text is not None}


def decode_for(row: Row, names: Iterable[str]) -> Item:
    """A new copy of the row's item; of a long row perhaps no more than the attributes with these names,
    in less than half the time.

    Raises StorageFormatUnknown or StorageCorruption.
    """
    return decode_row(row) if len(row) <= _SURELY_QUICK_BYTES else decode_attributes(row, tuple(sorted(names)))


def attributes_reader(names: tuple[str, ...]) -> Callable[[Row], list[bytes]]:
    """Return a function from a row to the JSON of these attributes' values; it skips all other attributes.

    The function takes 0.9 µs for 400 bytes, and raises StorageCorruption, also if the item lacks one of the attributes.
    """
    decode = _wholes.find(names) or partial(_raw_of_any, names=names)
    places = [f"a{position}" for position in range(len(names))]

    def read(row: Row) -> list[bytes]:
        if len(row) > _SURELY_QUICK_BYTES:
            spend(len(row) >> 9)
        try:
            found = decode(row_json_view(row))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _unreadable(error) from error
        return [bytes(getattr(found, place)) for place in places]

    return read


def _raw_of_any(text: memoryview, names: tuple[str, ...]) -> Any:
    """An object whose fields `a0`, `a1`, … are the JSON of these attributes, whatever characters their names have.

    Raises DecodeError if one is missing.
    """
    values = find_attributes(text, frozenset(names))
    try:
        return SimpleNamespace(**{f"a{position}": values[name] for position, name in enumerate(names)})
    except KeyError as error:
        raise msgspec.DecodeError(f"the attribute {error} is missing") from None


def _unreadable(error: Exception) -> StorageCorruption:
    return StorageCorruption(f"a stored item cannot be read: {error}")


def _plain(row: Row) -> Row:
    """The row of the same item in PLAIN_VERSION. Raises StorageCorruption or StorageFormatUnknown."""
    if len(row) < ROW_HEADER_BYTES or row[0] not in VERSIONS:
        raise _bad_version(row)
    return Row(_VERSION + row[1:ROW_HEADER_BYTES] + row_json(row))


def _bad_version(row: Row) -> StorageCorruption | StorageFormatUnknown:
    if len(row) < ROW_HEADER_BYTES or row[0] in VERSIONS:
        return StorageCorruption(f"a stored item has {len(row)} bytes, fewer than its parts")
    return StorageFormatUnknown(
        f"a stored item has format version {row[0]}, and this Hashrange reads versions {VERSIONS[0]} to {VERSIONS[-1]};"
        " it was written by a newer Hashrange, or is damaged"
    )
