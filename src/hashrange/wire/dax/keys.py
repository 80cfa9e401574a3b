"""How are keys and items written in DAX's protocol? A key as bytes by its schema; an item as an attribute list's id
and the values of its other attributes. Source: dax.md 1.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hashrange.items.steps import sort, walk
from hashrange.items.types import Item, Value
from hashrange.wire.dax.attribute_values import attribute_value_of, attributes_of, number_text, write_attribute_value
from hashrange.wire.dax.lex_decimal import read_lex_decimal, write_lex_decimal
from hashrange.wire.dax.reading import VALUES_MAX, BadBytes, CborReader, ValueBudget, decoded_text
from hashrange.wire.dax.writing import BREAK, OPEN_MAP, as_cbor, write_number, write_text


class KeyAttribute(NamedTuple):
    """A key attribute and its type: S, N or B."""

    name: str
    type_name: str


DaxKeySchema = Sequence[KeyAttribute]
"""The partition key, and perhaps the sort key."""
NamesOf = Callable[[int], Sequence[str]]
"""Attribute list's id → names of its attributes, in order. Raises BadBytes for an unknown one."""
IdOf = Callable[[tuple[str, ...]], int]
"""Sorted names → the id of their attribute list, which is made if it is new."""


def read_key(schema: DaxKeySchema, raw: bytes) -> Item:
    """The key's attributes, unchecked. Raises BadBytes."""
    partition = schema[0]
    reader = CborReader(raw, whole="a key")
    if len(schema) == 1:
        return {partition.name: _read_part(partition, raw, lambda _: number_text(reader.value()))}
    found = attribute_value_of(reader.value())
    if partition.type_name not in found:
        raise BadBytes("a partition key that has another type")
    return {partition.name: found, schema[1].name: _read_part(schema[1], reader.rest(), read_lex_decimal)}


def _read_part(attribute: KeyAttribute, raw: bytes, read_number: Callable[[bytes], str]) -> Value:
    """The value of a key attribute that is read to the end of the bytes, a number in one of two forms."""
    if attribute.type_name == "N":
        return {"N": read_number(raw)}
    if attribute.type_name == "B":
        return {"B": b64encode(raw).decode()}
    return {"S": decoded_text(raw)}


def key_bytes(schema: DaxKeySchema, item: Item) -> bytes:
    """The key of an item with canonical values."""
    partition = schema[0]
    value = item[partition.name][partition.type_name]
    out = bytearray()
    if len(schema) == 1:
        if partition.type_name == "N":
            write_number(out, value)
            return bytes(out)
        return _plain_bytes(partition, value)
    write_attribute_value(out, {partition.type_name: value})
    sort = schema[1]
    content = item[sort.name][sort.type_name]
    out += write_lex_decimal(content) if sort.type_name == "N" else _plain_bytes(sort, content)
    return bytes(out)


def _plain_bytes(attribute: KeyAttribute, content: str) -> bytes:
    return b64decode(content) if attribute.type_name == "B" else content.encode()


def read_index_key(raw: bytes) -> Item:
    """The attributes of a start key of an index, unchecked. Raises BadBytes."""
    value = CborReader(raw, whole="a key").value()
    if value.__class__ is not dict:
        raise BadBytes("a start key of an index that is no map")
    return attributes_of(value)


def index_key_bytes(attributes: Item) -> bytes:
    """The last key of a page of an index: a map of indefinite length, which is the only form that some clients read."""
    out = bytearray(OPEN_MAP)
    for name, value in walk(attributes.items()):
        write_text(out, name)
        write_attribute_value(out, value)
    return bytes(out + BREAK)


def read_dax_item(raw: bytes, names_of: NamesOf, budget: ValueBudget | None = None) -> Item:
    """An item's attributes beside its key, unchecked. Raises BadBytes. `budget`: of a request with several items."""
    reader = CborReader(raw, whole="an item")
    if budget is not None:
        allowed = reader.values_left = min(VALUES_MAX, budget.left)
    names = names_of(reader.integer())
    item = {name: attribute_value_of(reader.value()) for name in walk(names)}
    if budget is not None:
        budget.left -= allowed - reader.values_left
    if not reader.is_at_end:
        raise BadBytes("an item with more values than its attribute list")
    return item


def item_layout(schema: DaxKeySchema, names: Sequence[str], id_of: IdOf) -> tuple[bytes, list[str]]:
    """How an item with these attributes is written: the id of its attribute list as CBOR,
    and the names of the values that follow.
    """
    keys = {attribute.name for attribute in schema}
    listed = sort([name for name in walk(names) if name not in keys])
    return as_cbor(id_of(tuple(listed))), listed
