"""How are the bytes of a row laid out, and which versions of rows are there? Version, item size, the item's JSON.

Rows of PLAIN_VERSION have kept the original layout. Long JSON that is much longer than its item's size is packed; the
version says so. Layout: docs/formats/rows.md.
"""

from collections.abc import Callable, Collection, Iterable
from struct import Struct

from hashrange.items.packing import SUBSTITUTIONS, SUBSTITUTIONS_OF_FORMAT_7, unpack, unpacked_bytes
from hashrange.items.steps import spend_decoding
from hashrange.items.types import Row

PLAIN_VERSION = 1
"""Version of a row with plain JSON."""
PACKED_VERSION = 5
"""Version of a row with packed JSON."""
PACKED_OF_FORMAT_7_VERSION = 3
"""Version of rows written in data folders of format 7; their JSON is packed with SUBSTITUTIONS_OF_FORMAT_7."""
NUMBER_SETS_VERSION = 7
"""Version of an item with a number set, at any level, and plain JSON.

Some replies list number sets in another order (`number_set_order.py`), and this version tells them which rows have any
without a search. Rows with number sets that were written in data folders of a format before 11 have lower versions.
"""
PACKED_NUMBER_SETS_VERSION = 9
"""Version of an item with a number set and packed JSON."""
VERSIONS = range(PLAIN_VERSION, PACKED_NUMBER_SETS_VERSION + 1, 2)
"""Even versions were meant for rows that tell of their last write; no such row has been written."""
ROW_HEADER_BYTES = 5
"""Length of a row's version and item size, which precede the item's JSON."""

LAYOUT, ITEM, STATISTICS = range(3)
"""Results of `row_difference`. LAYOUT: the item is the same. ITEM: the item differs, its size does not. STATISTICS:
the item's size differs, or one row is None.
"""

ROW_SIZE = slice(1, ROW_HEADER_BYTES)
"""Where a row has the DynamoDB size of its item."""

_HEADER = slice(ROW_HEADER_BYTES)
_JSON = slice(ROW_HEADER_BYTES, None)
_from_bytes = int.from_bytes
_size_of_whole = Struct(">xI").unpack_from
_TABLES = {
    PACKED_OF_FORMAT_7_VERSION: SUBSTITUTIONS_OF_FORMAT_7,
    PACKED_VERSION: SUBSTITUTIONS,
    PACKED_NUMBER_SETS_VERSION: SUBSTITUTIONS,
}
"""Version of rows with packed JSON → the substitution table for it."""


RowJson = Callable[[Row], bytes]
"""A function that gives the JSON of a row's item, such as `row_json`."""


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
    stored, table = row[_JSON], _TABLES.get(row[0])
    return len(stored) if table is None else unpacked_bytes(stored, table)


def rows_json_bytes(rows: Collection[Row]) -> int:
    """The length of all rows' JSON in bytes, too large by the header of each row that is not packed.

    0.05 µs a row; for a packed row, the time of `row_json_bytes`.
    """
    return sum([row_json_bytes(row) if row[0] in _TABLES else len(row) for row in rows])


def is_packed(row: Row) -> bool:
    """True if the row's JSON is packed."""
    return row[0] in _TABLES


def _other_json(row: Row) -> bytes:
    """The item's JSON of a row whose version is not PLAIN_VERSION."""
    stored, table = row[_JSON], _TABLES.get(row[0])
    if table is None:
        return stored
    spend_decoding(unpacked_bytes(stored, table))  # large rows queue here, so that few are unpacked at a time
    return unpack(stored, table)


def is_same_item(one: Row | None, other: Row | None) -> bool:
    """True if both rows hold the same item, or both are None. 0.1 µs."""
    if one == other:
        return True
    if one is None or other is None or one[0] == other[0] == PLAIN_VERSION:
        return False
    return _has_same_item(one, other)


def row_difference(old: Row | None, new: Row | None) -> int:
    """How two unequal rows differ: LAYOUT, ITEM or STATISTICS. 0.2 µs."""
    if old is None or new is None:
        return STATISTICS
    if old[_HEADER] == new[_HEADER] and old[0] == PLAIN_VERSION:
        return ITEM
    if old[0] == PLAIN_VERSION and new[0] == PLAIN_VERSION:
        return STATISTICS
    if _has_same_item(old, new):
        return LAYOUT
    return ITEM if old[ROW_SIZE] == new[ROW_SIZE] else STATISTICS


def _has_same_item(one: Row, other: Row) -> bool:
    """True if both rows, which differ, hold the same item in another packing."""
    return one[ROW_SIZE] == other[ROW_SIZE] and one[0] != other[0] and row_json(one) == row_json(other)
