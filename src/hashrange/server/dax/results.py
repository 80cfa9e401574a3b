"""How are results written? The members of a reply of DynamoDB as DAX's clients read them, after the empty array
that says success. Source: dax.md 1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    as_cbor,
    head,
    write_bytes,
    write_integer,
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


def projected(item: Item, paths: Sequence[Path]) -> bytes:
    """The values at paths, by the place of each path; paths that lead nowhere are left out."""
    return _by_place(_value_at(item, path) for path in walk(paths))


def _by_place(values: Iterable[Value | None]) -> bytes:
    """A map of values by their places; None is left out."""
    out = bytearray(OPEN_MAP)
    for place, value in enumerate(values):
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
    return as_bytes(as_cbor(id_of(names)) + _by_place(attributes[name] for name in walk(names)))


def last_key(shape: TableShape, attributes: Item, *, is_index: bool) -> bytes:
    """LastEvaluatedKey."""
    return as_bytes(index_key_bytes(attributes) if is_index else shape.key_of(attributes))


# --- capacity and item collections --------------------------------------------------------------


_INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def capacity(consumed: Mapping[str, Any]) -> bytes:
    """ConsumedCapacity of a single request or of a table of a batch, as a byte string."""
    own = consumed.get("Table")
    content = as_cbor(consumed["TableName"]) + as_cbor(float(consumed["CapacityUnits"]))
    content += NULL if own is None else as_cbor(float(own["CapacityUnits"]))
    for name in _INDEXES:
        indexes = consumed.get(name)
        if indexes is None:
            content += NULL
        else:
            content += as_cbor({index: float(units["CapacityUnits"]) for index, units in indexes.items()})
    return as_bytes(content)


_UNITS = {"CapacityUnits": 1, "ReadCapacityUnits": 2, "WriteCapacityUnits": 3}


def capacity_map(consumed: Mapping[str, Any]) -> bytes:
    """ConsumedCapacity of a table of a transaction."""
    out = bytearray(OPEN_MAP)
    for name, number in _UNITS.items():
        if name in consumed:
            out += as_cbor(number) + as_cbor(float(consumed[name]))
    if "TableName" in consumed:
        out += as_cbor(4) + as_cbor(consumed["TableName"])
    if "Table" in consumed:
        out += as_cbor(5) + capacity_map(consumed["Table"])
    for number, name in enumerate(_INDEXES, 6):
        if name in consumed:
            out += as_cbor(number) + by_table({index: capacity_map(one) for index, one in consumed[name].items()})
    return bytes(out + BREAK)


def collection_metrics_bytes(metrics: Mapping[str, Any]) -> bytes:
    """ItemCollectionMetrics of one item collection, as a byte string."""
    out = bytearray()
    (key,) = metrics["ItemCollectionKey"].values()
    write_attribute_value(out, key)
    lower, upper = metrics["SizeEstimateRangeGB"]
    return as_bytes(bytes(out) + as_cbor(float(lower)) + as_cbor(float(upper)))


def array(elements: Sequence[bytes]) -> bytes:
    """An array of values that are CBOR already."""
    return head(ARRAY, len(elements)) + b"".join(elements)


def by_table(contents: Mapping[str, bytes]) -> bytes:
    """A map of values by table."""
    return head(MAP, len(contents)) + b"".join([as_cbor(table) + content for table, content in contents.items()])


def collections_by_table(metrics: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    """ItemCollectionMetrics of a batch or transaction."""
    return by_table({table: array([collection_metrics_bytes(one) for one in own]) for table, own in metrics.items()})


# --- errors -------------------------------------------------------------------------------------


def error(
    codes: Sequence[int], message: str, request_id: str, code: str, status: int, reasons: Sequence[bytes] | None = None
) -> bytes:
    """An error. `reasons`: of a cancelled transaction, code, message and item of each action, as CBOR."""
    names = [as_cbor(request_id), as_cbor(code), as_cbor(status)]
    if reasons is not None:
        names.append(array(reasons))
    return as_cbor(codes) + as_cbor(message) + array(names)
