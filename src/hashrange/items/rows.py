"""What is an item at rest? A row: version byte 1 ‖ 4 bytes big-endian DynamoDB item size ‖ JSON.

The JSON is canonical: attribute names sorted at every level, no blanks, canonical values; so equal items have equal rows,
and a reply splices the JSON unread. Must not know keys or tables. The format is fixed in docs/formats/rows.md.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from hashrange.errors import StorageCorruption, StorageFormatUnknown, ValidationException
from hashrange.items.canonical import encode_item
from hashrange.items.large_json import decode_item
from hashrange.items.types import Item, Row, Value
from hashrange.limits import ROW_MAX_BYTES
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.steps import PIECE_BYTES, spend, spend_decoding

ROW_VERSION = 1
ROW_HEADER_BYTES = 5
"""Version and size; what follows is the item's JSON."""

_SIZE = slice(1, ROW_HEADER_BYTES)
_from_bytes = int.from_bytes
_VERSION = bytes((ROW_VERSION,))
_SURELY_QUICK_BYTES = 8_192
"""Reading a row of this length takes at most 0.1 ms."""
_is_plain = re.compile(r'[^"\\\x00-\x1f]+').fullmatch
"""Names that the JSON library takes for members of a struct."""
_decode = msgspec.json.Decoder(Item).decode


def encode_row(item: Item, size_bytes: int, too_large: str = ITEM_TOO_LARGE) -> Row:
    """The row of a canonical item whose DynamoDB size is `size_bytes`. 3 µs for 1.1 KB.

    Raises ValidationException, with the words `too_large`, for a row that is longer than ours may be.
    """
    row = _VERSION + size_bytes.to_bytes(4, "big") + encode_item(item, size_bytes)
    if len(row) > ROW_MAX_BYTES:
        raise ValidationException(too_large)
    return row  # type: ignore[return-value]  # as Row(), without a call


def decode_row(row: Row) -> Item:
    """The item of a row, its own copy. Raises StorageFormatUnknown or StorageCorruption. 4 µs for 1.1 KB."""
    if row[:1] != _VERSION:
        raise _bad_version(row)
    size_bytes = len(row)
    if size_bytes > _SURELY_QUICK_BYTES:
        spend_decoding(size_bytes)
    try:
        if size_bytes > PIECE_BYTES:
            return decode_item(memoryview(row)[ROW_HEADER_BYTES:])
        return _decode(row[ROW_HEADER_BYTES:])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(error) from error


def decode_attributes(row: Row, names: tuple[str, ...]) -> Item:
    """Those of the row's attributes that have these names. Of a large item the rest is only read over, which takes a tenth of the time."""
    if len(row) <= _SURELY_QUICK_BYTES or row[:1] != _VERSION or not all(map(_is_plain, names)):
        item = decode_row(row)
        return {name: item[name] for name in names if name in item}
    spend(len(row) >> 9)
    try:
        found = _partial_decoder(names)(memoryview(row)[ROW_HEADER_BYTES:])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(error) from error
    values = [getattr(found, f"a{position}") for position in range(len(names))]
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


@lru_cache(256)
def _partial_decoder(names: tuple[str, ...]) -> Callable[[memoryview], Any]:
    """A decoder of a struct whose members are these attributes."""
    members = [(f"a{position}", Value | None, None) for position in range(len(names))]
    renamed = {f"a{position}": name for position, name in enumerate(names)}
    return msgspec.json.Decoder(msgspec.defstruct("Attributes", members, rename=renamed)).decode


def row_size_bytes(row: Row) -> int:
    """The item's DynamoDB size. 0.1 µs."""
    return _from_bytes(row[_SIZE], "big")


def row_json(row: Row) -> bytes:
    """The item as it stands in replies."""
    return row[ROW_HEADER_BYTES:]


def _unreadable(error: Exception) -> StorageCorruption:
    return StorageCorruption(f"a stored item cannot be read: {error}")


def _bad_version(row: Row) -> StorageCorruption | StorageFormatUnknown:
    if len(row) < ROW_HEADER_BYTES:
        return StorageCorruption(f"a stored item has {len(row)} bytes, fewer than its header")
    return StorageFormatUnknown(
        f"a stored item has format version {row[0]}, and this Hashrange reads version {ROW_VERSION};"
        " it was written by a newer Hashrange, or is damaged"
    )
