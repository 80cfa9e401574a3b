"""How are the bytes of a row laid out, and which versions of rows are there? Version, item size, the item's JSON; in
some versions, metadata of the last write follows.

Metadata is ignored when items are compared, and no reply contains it. Rows of PLAIN_VERSION have kept the original
layout. Long JSON that is much longer than its item's size is packed; the version says so. Layout: docs/formats/rows.md.
"""

from collections.abc import Callable, Collection, Iterable
from struct import Struct
from typing import NamedTuple

from hashrange.items.packing import SUBSTITUTIONS, SUBSTITUTIONS_OF_FORMAT_7, unpack, unpacked_bytes
from hashrange.items.steps import spend_decoding
from hashrange.items.types import Row

PLAIN_VERSION = 1
"""Version of a row with plain JSON and without metadata."""
METADATA_VERSION = 2
"""Version of a row with plain JSON, followed by metadata."""
PACKED_VERSION, PACKED_METADATA_VERSION = 5, 6
"""PACKED_VERSION: version of a row with packed JSON and without metadata. PACKED_METADATA_VERSION: with metadata."""
PACKED_OF_FORMAT_7_VERSION, PACKED_METADATA_OF_FORMAT_7_VERSION = 3, 4
"""Versions of rows written in data folders of format 7; their JSON is packed with SUBSTITUTIONS_OF_FORMAT_7.

PACKED_OF_FORMAT_7_VERSION: without metadata. PACKED_METADATA_OF_FORMAT_7_VERSION: with metadata.
"""
NUMBER_SETS_VERSION, NUMBER_SETS_METADATA_VERSION = 7, 8
"""Versions of an item with a number set, at any level, and plain JSON; NUMBER_SETS_METADATA_VERSION: with metadata.

Some replies list number sets in another order (`number_set_order.py`), and these versions tell them which rows have any
without a search. Rows with number sets that were written in data folders of a format before 11 have lower versions.
"""
PACKED_NUMBER_SETS_VERSION, PACKED_NUMBER_SETS_METADATA_VERSION = 9, 10
"""Versions of an item with a number set and packed JSON, without and with metadata."""
VERSIONS = range(PLAIN_VERSION, PACKED_NUMBER_SETS_METADATA_VERSION + 1)
ROW_HEADER_BYTES = 5
"""Length of a row's version and item size, which precede the item's JSON."""

METADATA, ITEM, STATISTICS = range(3)
"""Results of `row_difference`. METADATA: the item is the same. ITEM: the item differs, its size does not. STATISTICS:
the item's size differs, or one row is None.
"""

ROW_SIZE = slice(1, ROW_HEADER_BYTES)
"""Where a row has the DynamoDB size of its item."""

_JSON = slice(ROW_HEADER_BYTES, None)
_from_bytes = int.from_bytes
_size_of_whole = Struct(">xI").unpack_from
_layout = Struct(">QHQ")
METADATA_BYTES = _layout.size
METADATA_VERSIONS = range(METADATA_VERSION, PACKED_NUMBER_SETS_METADATA_VERSION + 1, 2)
"""Versions of rows with metadata; each is one more than the version of such a row without metadata."""
_TABLES = {
    PACKED_OF_FORMAT_7_VERSION: SUBSTITUTIONS_OF_FORMAT_7,
    PACKED_METADATA_OF_FORMAT_7_VERSION: SUBSTITUTIONS_OF_FORMAT_7,
    PACKED_VERSION: SUBSTITUTIONS,
    PACKED_METADATA_VERSION: SUBSTITUTIONS,
    PACKED_NUMBER_SETS_VERSION: SUBSTITUTIONS,
    PACKED_NUMBER_SETS_METADATA_VERSION: SUBSTITUTIONS,
}
"""Version of rows with packed JSON → the substitution table for it."""
_VERSION_BYTES = [bytes((version,)) for version in range(max(VERSIONS) + 1)]


RowJson = Callable[[Row], bytes]
"""A function that gives the JSON of a row's item, such as `row_json`."""


class RowMetadata(NamedTuple):
    """Metadata of the last write of an item."""

    written_at_us: int
    """Service time of the write, in microseconds since the epoch."""
    origin: int
    """Number of the store that the write came from; 0 is this store."""
    version: int
    """Version of the item in the store that `origin` names; grows with each write."""


def with_metadata(row: Row, metadata: RowMetadata | None) -> Row:
    """The row with this metadata in place of its own; without metadata if `metadata` is None."""
    plain = plain_row(row)
    return plain if metadata is None else Row(_VERSION_BYTES[plain[0] + 1] + plain[1:] + _layout.pack(*metadata))


def metadata_of(row: Row) -> RowMetadata | None:
    """The metadata in the row; None if its version has none."""
    return RowMetadata(*_layout.unpack(row[-METADATA_BYTES:])) if row[0] in METADATA_VERSIONS else None


def plain_row(row: Row) -> Row:
    """The row without the metadata of its last write behind the JSON. Equal items in one packing have equal results."""
    return row if row[0] not in METADATA_VERSIONS else Row(_VERSION_BYTES[row[0] - 1] + row[1:-METADATA_BYTES])


def row_size_bytes(row: Row) -> int:
    """DynamoDB size of the row's item. Reads only the header; if it is incomplete, the number is arbitrary. 0.1 µs."""
    return _from_bytes(row[ROW_SIZE], "big")


def row_sizes_bytes(rows: Iterable[Row]) -> list[int]:
    """The DynamoDB size of each row's item."""
    return [size for (size,) in map(_size_of_whole, rows)]


def row_json(row: Row) -> bytes:
    """The item's JSON for replies. 0.1 µs for 1.1 KB; a packed row is unpacked in at most 40 ms, giving way."""
    return row[_JSON] if row[0] == PLAIN_VERSION else _other_json(row)


def rows_json(rows: Iterable[Row], other: RowJson = row_json) -> list[bytes]:
    """The JSON of each row's item, in a fifth less time than by calling `row_json` for each.

    `other` gives the JSON of rows whose version is not PLAIN_VERSION.
    """
    return [row[_JSON] if row[0] == PLAIN_VERSION else other(row) for row in rows]


def row_json_view(row: Row, other: RowJson = row_json) -> memoryview:
    """The item's JSON for joining with other JSON; a view into the row, not a copy, if its version is PLAIN_VERSION.

    `other` gives the JSON of rows of other versions.
    """
    return memoryview(row)[_JSON] if row[0] == PLAIN_VERSION else memoryview(other(row))


def row_json_bytes(row: Row) -> int:
    """The length of the item's JSON in bytes, without unpacking it. 0.1 µs; a packed row: up to 30 ms, giving way."""
    if row[0] == PLAIN_VERSION:
        return len(row) - ROW_HEADER_BYTES
    stored, table = _stored_json(row), _TABLES.get(row[0])
    return len(stored) if table is None else unpacked_bytes(stored, table)


def rows_json_bytes(rows: Collection[Row]) -> int:
    """The length of all rows' JSON in bytes, too large by header and metadata of each row that is not packed.

    0.05 µs a row; for a packed row, the time of `row_json_bytes`.
    """
    return sum([row_json_bytes(row) if row[0] in _TABLES else len(row) for row in rows])


def is_packed(row: Row) -> bool:
    """True if the row's JSON is packed."""
    return row[0] in _TABLES


def _other_json(row: Row) -> bytes:
    """The item's JSON of a row whose version is not PLAIN_VERSION."""
    stored, table = _stored_json(row), _TABLES.get(row[0])
    if table is None:
        return stored
    spend_decoding(unpacked_bytes(stored, table))  # large rows queue here, so that few are unpacked at a time
    return unpack(stored, table)


def _stored_json(row: Row) -> bytes:
    """The bytes between header and metadata: the item's JSON, packed or not."""
    return row[ROW_HEADER_BYTES : -METADATA_BYTES if row[0] in METADATA_VERSIONS else None]


def is_same_item(one: Row | None, other: Row | None) -> bool:
    """True if both rows hold the same item, or both are None. 0.1 µs."""
    if one == other:
        return True
    if one is None or other is None or one[0] == other[0] == PLAIN_VERSION:
        return False
    return _has_same_item(one, other)


def row_difference(old: Row | None, new: Row | None) -> int:
    """How two unequal rows differ: METADATA, ITEM or STATISTICS. 0.2 µs."""
    if old is None or new is None:
        return STATISTICS
    if (old[0] != PLAIN_VERSION or new[0] != PLAIN_VERSION) and _has_same_item(old, new):
        return METADATA
    return ITEM if old[ROW_SIZE] == new[ROW_SIZE] else STATISTICS


def _has_same_item(one: Row, other: Row) -> bool:
    """True if both rows hold the same item, whatever their metadata and packing. Unpacks if the packing differs."""
    if one[ROW_SIZE] != other[ROW_SIZE]:
        return False
    one, other = plain_row(one), plain_row(other)
    return one == other or (one[0] != other[0] and row_json(one) == row_json(other))
