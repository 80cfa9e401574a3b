"""How are results written? The members of a reply of DynamoDB as DAX's clients read them, after the empty array
that says success. Source: dax.md 1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hashrange.items.number_set_order import hash_ordered_row
from hashrange.items.paths import Path
from hashrange.items.rows import decode_row
from hashrange.items.steps import PIECE_BYTES, sort, walk
from hashrange.items.types import Item, Row, Value
from hashrange.operations.reply import HashOrderedRows
from hashrange.server.dax.tables import TableShape
from hashrange.wire.dax.attribute_values import write_attribute_value
from hashrange.wire.dax.keys import IdOf, index_key_bytes
from hashrange.wire.dax.writing import (
    ARRAY,
    BREAK,
    BYTES,
    MAP,
    NULL,
    OPEN_MAP,
    TEXT,
    head,
    write_bytes,
    write_float,
    write_integer,
    write_text,
)
from hashrange.wire.piecewise import free

SUCCESS = b"\x80"
NOTHING = SUCCESS + NULL
ITEM, CAPACITY, ATTRIBUTES, COLLECTION_METRICS, ITEMS, COUNT, LAST_KEY, SCANNED_COUNT = 0, 1, 2, 3, 7, 8, 9, 10

Parts = dict[int, bytes]
"""Id of a result's member → its value, as CBOR."""


def result(parts: Parts) -> bytes:
    """The reply of a method with named results; nothing at all is null.
    The client for Java reads no map of definite length here.
    """
    if not parts:
        return NOTHING
    out = bytearray(SUCCESS + OPEN_MAP)
    for part, content in parts.items():
        out.append(part)
        out += content
    return bytes(out + BREAK)


def as_bytes(content: bytes) -> bytes:
    """A byte string that holds this."""
    return head(BYTES, len(content)) + content


def as_cbor_text(text: str) -> bytes:
    """Text."""
    content = text.encode()
    return head(TEXT, len(content)) + content


def as_integer(number: int) -> bytes:
    """An integer."""
    out = bytearray()
    write_integer(out, number)
    return bytes(out)


def projected(item: Item, paths: Sequence[Path]) -> bytes:
    """The values at paths, by the place of each path; paths that lead nowhere are left out."""
    out = bytearray(OPEN_MAP)
    for place, path in enumerate(walk(paths)):
        value = _value_at(item, path)
        if value is not None:
            write_integer(out, place)
            write_attribute_value(out, value)
    return bytes(out + BREAK)


def _value_at(item: Item, path: Path) -> Value | None:
    value: Value | None = {"M": item}
    for element in path:
        assert value is not None
        if isinstance(element, int):
            elements = value.get("L")
            value = elements[element] if elements is not None and element < len(elements) else None
        else:
            members = value.get("M")
            value = None if members is None else members.get(element)
        if value is None:
            return None
    return value


def free_item(item: Item, row: Row) -> None:
    """Free an item decoded from this row, piece by piece if it is long. Do not use it again."""
    if len(row) > PIECE_BYTES:
        free(item)


def found_items(
    shape: TableShape,
    rows: Sequence[Row],
    paths: Sequence[Path] | None,
    content_of: Callable[[TableShape, Item], bytes],
) -> bytes:
    """The items of a page: key and rest of each, or the values at paths."""
    out = bytearray(head(ARRAY, len(rows)))
    is_hash_ordered = isinstance(rows, HashOrderedRows)
    for row in walk(rows):
        item = decode_row(hash_ordered_row(row) if is_hash_ordered else row)
        if paths is not None:
            out += projected(item, paths)
        else:
            out += head(ARRAY, 2)
            write_bytes(out, shape.key_of(item))
            write_bytes(out, content_of(shape, item))
        free_item(item, row)
    return bytes(out)


def updated(attributes: Item, id_of: IdOf) -> bytes:
    """The attributes of UPDATED_OLD and UPDATED_NEW, by their places in an attribute list."""
    names = tuple(sort(attributes))
    out = bytearray()
    write_integer(out, id_of(names))
    out += OPEN_MAP
    for place, name in enumerate(walk(names)):
        write_integer(out, place)
        write_attribute_value(out, attributes[name])
    return as_bytes(bytes(out + BREAK))


def last_key(shape: TableShape, attributes: Item, *, is_index: bool) -> bytes:
    """LastEvaluatedKey."""
    return as_bytes(index_key_bytes(attributes) if is_index else shape.key_of(attributes))


# --- capacity and item collections --------------------------------------------------------------


def capacity(consumed: Mapping[str, Any]) -> bytes:
    """ConsumedCapacity of a single request or of a table of a batch, as a byte string."""
    out = bytearray()
    write_text(out, consumed["TableName"])
    write_float(out, float(consumed["CapacityUnits"]))
    own = consumed.get("Table")
    if own is None:
        out += NULL
    else:
        write_float(out, float(own["CapacityUnits"]))
    for name in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        indexes = consumed.get(name)
        if indexes is None:
            out += NULL
            continue
        out += head(MAP, len(indexes))
        for index, units in indexes.items():
            write_text(out, index)
            write_float(out, float(units["CapacityUnits"]))
    return as_bytes(bytes(out))


_CAPACITY_MEMBERS = (
    ("CapacityUnits", 1),
    ("ReadCapacityUnits", 2),
    ("WriteCapacityUnits", 3),
    ("TableName", 4),
    ("Table", 5),
    ("GlobalSecondaryIndexes", 6),
    ("LocalSecondaryIndexes", 7),
)


def capacity_map(consumed: Mapping[str, Any]) -> bytes:
    """ConsumedCapacity of a table of a transaction."""
    members = [(number, consumed[name]) for name, number in _CAPACITY_MEMBERS if name in consumed]
    out = bytearray(OPEN_MAP)
    for number, value in members:
        write_integer(out, number)
        if number == 4:
            write_text(out, value)
        elif number == 5:
            out += capacity_map(value)
        elif number > 5:
            out += head(MAP, len(value))
            for index, units in value.items():
                write_text(out, index)
                out += capacity_map(units)
        else:
            write_float(out, float(value))
    return bytes(out + BREAK)


def collection_metrics_bytes(metrics: Mapping[str, Any]) -> bytes:
    """ItemCollectionMetrics of one item collection, as a byte string."""
    out = bytearray()
    (key,) = metrics["ItemCollectionKey"].values()
    write_attribute_value(out, key)
    lower, upper = metrics["SizeEstimateRangeGB"]
    write_float(out, float(lower))
    write_float(out, float(upper))
    return as_bytes(bytes(out))


def array(elements: Sequence[bytes]) -> bytes:
    """An array of values that are CBOR already."""
    return head(ARRAY, len(elements)) + b"".join(elements)


def by_table(contents: Mapping[str, bytes]) -> bytes:
    """A map of values by table."""
    out = bytearray(head(MAP, len(contents)))
    for table, content in contents.items():
        write_text(out, table)
        out += content
    return bytes(out)


def collections_by_table(metrics: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    """ItemCollectionMetrics of a batch or transaction."""
    return by_table({table: array([collection_metrics_bytes(one) for one in own]) for table, own in metrics.items()})


# --- errors -------------------------------------------------------------------------------------


def error(
    codes: Sequence[int], message: str, request_id: str, code: str, status: int, reasons: Sequence[bytes] | None = None
) -> bytes:
    """An error. `reasons`: of a cancelled transaction, code, message and item of each action, as CBOR."""
    out = bytearray(head(ARRAY, len(codes)))
    for number in codes:
        write_integer(out, number)
    write_text(out, message)
    out += head(ARRAY, 3 if reasons is None else 4)
    write_text(out, request_id)
    write_text(out, code)
    write_integer(out, status)
    if reasons is not None:
        out += array(reasons)
    return bytes(out)
