"""What does a vector index hold of an item? The key and the row of its entry, or nothing: an item belongs to an index
exactly if it has a valid vector and all that the search schema requires.

An entry's key begins with the value of the HASH attribute, if the search schema has one; the key of the item follows
(docs/formats/keys.md). Its row holds the vector as a Binary: 32-bit floats, little-endian. So the size in the row's
header is what a write of the entry is charged for. `vector_checks.py` refuses writes of items that could not have an
entry; items that are older than the index, or that an update left as they were, may still be such. Source: service
behaviour, captures to 23 October 2026.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple

from hashrange.items.keys import encode_partition_key
from hashrange.items.numbers import number_size_bytes
from hashrange.items.rows import encode_row
from hashrange.items.sizes import CONTAINER_BYTES, MEMBER_BYTES, item_size_bytes, text_size_bytes, value_size_bytes
from hashrange.items.steps import spend
from hashrange.items.types import Item, Key, Row, Value
from hashrange.limits import FILTER_VALUE_MAX_BYTES, PARTITION_KEY_MAX_BYTES
from hashrange.tables.open_table import IndexedVectors, OpenTable, ReadSource, projected_attributes
from hashrange.vectors.floats import packed

MOST_BYTES = 32
"""An item of at most so many bytes for each dimension of a vector has little besides: a number has up to 21."""


class PackedVector(NamedTuple):
    """A valid vector of an item."""

    floats: bytes
    """The vector as an entry holds it."""
    list_bytes: int
    """The size of the item's list of numbers."""


PackedVectors = dict[str, PackedVector | None]
"""Vector attribute → an item's vector; None if the item has none, or one that is not valid."""


def packed_vector(value: Value | None, dimensions: int, list_bytes: int | None = None) -> PackedVector | None:
    """The 32-bit floats of a vector, little-endian, and the size of its list; None if the value is no valid vector.
    0.2 µs a dimension if `list_bytes` tells the size, else 0.6.
    """
    elements = None if value is None else value.get("L")
    if elements is None or len(elements) != dimensions:
        return None
    spend(dimensions >> 1)
    try:
        digits = [element["N"] for element in elements]
    except KeyError:
        return None
    floats = packed([float(number) for number in digits])
    if floats is None:
        return None
    return PackedVector(floats, list_size_bytes(digits) if list_bytes is None else list_bytes)


def list_size_bytes(digits: Sequence[str]) -> int:
    """The size of a list of numbers. 0.5 µs a number."""
    return CONTAINER_BYTES + MEMBER_BYTES * len(digits) + sum([number_size_bytes(number) for number in digits])


def vector_key(vectors: IndexedVectors, item: Item, key: Key) -> Key | None:
    """The key of the entry of the item at `key`, if it has a valid vector; None if the search schema keeps it out."""
    for name, kind in vectors.filter_types:
        value = item.get(name)
        if value is not None and (kind not in value or value_size_bytes(value) > FILTER_VALUE_MAX_BYTES):
            return None
    if vectors.hash_type is None or vectors.hash_name is None:
        return key
    value = item.get(vectors.hash_name)
    if value is None or not value.get(vectors.hash_type) or value_size_bytes(value) > PARTITION_KEY_MAX_BYTES:
        return None
    return Key(encode_partition_key(vectors.hash_type, value[vectors.hash_type]) + key)


def vector_row(source: ReadSource, attribute: str, item: Item, vector: bytes) -> Row:
    """The row of an item's entry: the attributes that the index keeps, with `vector` as the vector attribute."""
    names = source.projected_names
    if names is None:
        spend(len(item) >> 6)
        kept = dict(item)
    else:
        kept = projected_attributes(item, names)
    kept[attribute] = {"B": b64encode(vector).decode()}
    return encode_row(kept, item_size_bytes(kept))


def packed_vectors(table: OpenTable, item: Item, size_bytes: int) -> PackedVectors:
    """The item's vector in each vector attribute of the table. `size_bytes`: the item's size."""
    return {name: own_vector(item, name, count, size_bytes) for name, count in table.vector_attributes.items()}


def own_vector(item: Item, name: str, dimensions: int, size_bytes: int) -> PackedVector | None:
    """The item's vector in the attribute of this name. `size_bytes`: the item's size.

    If the vector is most of the item, its size is what the other attributes leave, which are quickly measured.
    """
    value = item.get(name)
    if value is None or size_bytes > MOST_BYTES * dimensions:
        return packed_vector(value, dimensions)
    others = dict(item)
    del others[name]
    return packed_vector(value, dimensions, size_bytes - item_size_bytes(others) - text_size_bytes(name))
