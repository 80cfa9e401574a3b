"""For how many bytes is an item with vectors charged? Four for each dimension of a vector that an index of its table
holds, whatever digits the numbers have, once for all indexes.

Reads and writes of the table's own rows are charged like this; the limits of items and pages, secondary indexes and
statistics count the numbers. Source: service behaviour, captures of October 2026.
"""

from hashrange.items.numbers import number_size_bytes
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import decode_attributes
from hashrange.items.sizes import CONTAINER_BYTES, MEMBER_BYTES
from hashrange.items.steps import spend
from hashrange.items.types import Item, Row
from hashrange.tables.open_table import OpenTable
from hashrange.vectors.floats import FLOAT_BYTES


def charged_row_bytes(table: OpenTable, row: Row, item: Item | None = None) -> int:
    """The bytes that reading or writing this row of the table is charged for. 0.5 µs a dimension.

    `item`: the decoded row, if it is there; of a large row it may lack vectors.
    """
    size_bytes = row_size_bytes(row)
    attributes = table.vector_attributes
    if not attributes:
        return size_bytes
    names = tuple(attributes)
    if item is None or any(name not in item for name in names):
        item = decode_attributes(row, names)
    for name, dimensions in attributes.items():
        elements = item[name].get("L") if name in item else None
        if elements is None or len(elements) != dimensions:
            continue
        spend(dimensions >> 1)
        try:
            digits_bytes = sum([number_size_bytes(element["N"]) for element in elements])
        except KeyError:
            continue
        size_bytes -= CONTAINER_BYTES + MEMBER_BYTES * dimensions + digits_bytes - FLOAT_BYTES * dimensions
    return size_bytes


def charged_rows_bytes(table: OpenTable, rows: list[Row]) -> int:
    """The bytes that reading these rows of the table together is charged for."""
    return sum([charged_row_bytes(table, row) for row in rows])
