"""For how many bytes is an item with vectors charged? Four for each dimension of a vector that an index of its table
holds, whatever digits the numbers have, once for all indexes.

Reads and writes of the table's own rows are charged like this, and TableSizeBytes counts like this the items that have
an entry; the limits of items and pages, and secondary indexes, count the numbers.
Source: service behaviour, captures of October 2026.
"""

from collections.abc import Mapping

from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import decode_attributes
from hashrange.items.steps import spend
from hashrange.items.types import Item, Row, Value
from hashrange.tables.open_table import OpenTable
from hashrange.tables.vector_entries import list_size_bytes
from hashrange.vectors.floats import FLOAT_BYTES

NO_LISTS: Mapping[str, int] = {}


def charged_row_bytes(
    table: OpenTable, row: Row, item: Item | None = None, list_sizes: Mapping[str, int] = NO_LISTS
) -> int:
    """The bytes that reading or writing this row of the table is charged for. 0.5 µs a dimension, unless the vector's
    size is known.

    `item`: the decoded row, if it is there; of a large row it may lack vectors. `list_sizes`: vector attribute → size
    of the row's list of numbers, for those that are known.
    """
    size_bytes = row_size_bytes(row)
    attributes = table.vector_attributes
    if not attributes:
        return size_bytes
    names = tuple([name for name in attributes if name not in list_sizes])
    if names and (item is None or any(name not in item for name in names)):
        item = decode_attributes(row, names)
    for name, dimensions in attributes.items():
        list_bytes = list_sizes.get(name)
        if list_bytes is None and item is not None and name in item:
            list_bytes = _vector_list_bytes(item[name], dimensions)
        if list_bytes is not None:
            size_bytes -= list_bytes - FLOAT_BYTES * dimensions
    return size_bytes


def _vector_list_bytes(value: Value, dimensions: int) -> int | None:
    """The size of a list of so many numbers; None for any other value."""
    elements = value.get("L")
    if elements is None or len(elements) != dimensions:
        return None
    spend(dimensions >> 1)
    try:
        return list_size_bytes([element["N"] for element in elements])
    except KeyError:
        return None


def charged_rows_bytes(table: OpenTable, rows: list[Row]) -> int:
    """The bytes that reading these rows of the table together is charged for."""
    return sum([charged_row_bytes(table, row) for row in rows])
