"""Does an item fit the vector indexes of its table?
Vector and attributes of a search schema may be absent; if present they must be valid.

An item without a vector, or without the HASH attribute, has no entry (`vector_entries.py`). If several indexes refuse
an item, the message names the alphabetically first. Of one index, the vector is checked before the search schema:
first that it is a list, then its length, then its elements. Messages never begin with "1 validation error detected: ".
Source: service behaviour, captures from August to October 2026; which of several faults comes first is unconfirmed.
"""

from collections.abc import Callable
from decimal import Decimal

from hashrange.errors import KeyFault, ValidationException, WholeRequestFault
from hashrange.items.sizes import value_size_bytes
from hashrange.items.steps import spend
from hashrange.items.types import Item, Value
from hashrange.items.values import type_of
from hashrange.limits import FILTER_VALUE_MAX_BYTES, FLOAT32_MAX, PARTITION_KEY_MAX_BYTES
from hashrange.messages import keys
from hashrange.messages import vector_indexes as say
from hashrange.tables.open_table import IndexedVectors, OpenTable
from hashrange.tables.schema import KeyType

_Refusal = Callable[[IndexedVectors, KeyType], ValidationException]


def check_item_vectors(table: OpenTable, item: Item) -> None:
    """Refuse an item to be put with an invalid vector, or with an attribute of a search schema that has another type,
    is too long, or is empty and the HASH attribute.

    Raises WholeRequestFault for an empty attribute, otherwise ValidationException. 0.1 µs a dimension.
    """
    _check(table, item, None, _empty_in_item, KeyFault(keys.PARTITION_KEY_TOO_LONG))


def check_updated_vectors(table: OpenTable, item: Item, changed_names: frozenset[str]) -> None:
    """Refuse an update that makes an attribute such as `check_item_vectors` refuses; others may be as they are."""
    too_long = ValidationException(keys.UPDATED_INDEX_KEY_TOO_LONG)
    _check(table, item, changed_names, _empty_by_update, too_long)


def _check(
    table: OpenTable,
    item: Item,
    changed_names: frozenset[str] | None,
    empty: _Refusal,
    too_long: ValidationException,
) -> None:
    """Check the attributes of `item` with these names; None: all. `empty` words the fault of an empty HASH attribute;
    `too_long` is that of one that is too long.
    """
    sound: set[str] = set()
    for vectors in table.checked_vectors:
        name, index = vectors.index.attribute, vectors.index.name
        if name not in sound and (changed_names is None or name in changed_names) and name in item:
            _check_vector(item[name], vectors)
            sound.add(name)
        if vectors.hash_name is not None and vectors.hash_type is not None:
            value = _search_value(item, changed_names, vectors.hash_name, vectors.hash_type, index)
            if value is not None and not value[vectors.hash_type]:
                raise empty(vectors, vectors.hash_type)
            if value is not None and value_size_bytes(value) > PARTITION_KEY_MAX_BYTES:
                raise too_long
        for name, kind in vectors.filter_types:
            value = _search_value(item, changed_names, name, kind, index)
            if value is not None and value_size_bytes(value) > FILTER_VALUE_MAX_BYTES:
                limit = FILTER_VALUE_MAX_BYTES
                raise ValidationException(say.FILTER_TOO_LONG.format(name=name, limit=limit, index=index))


def _search_value(
    item: Item, changed_names: frozenset[str] | None, name: str, kind: KeyType, index: str
) -> Value | None:
    """The value of an attribute of the search schema that is to be checked; refuses another type."""
    value = item.get(name) if changed_names is None or name in changed_names else None
    if value is not None and kind not in value:
        raise ValidationException(
            say.SEARCH_ATTRIBUTE_TYPE.format(name=name, expected=kind, actual=type_of(value), index=index)
        )
    return value


def _check_vector(value: Value, vectors: IndexedVectors) -> None:
    name, index, dimensions = vectors.index.attribute, vectors.index.name, vectors.index.dimensions
    elements = value.get("L")
    if elements is None:
        raise ValidationException(say.NOT_A_VECTOR.format(name=name, index=index))
    if len(elements) != dimensions:
        raise ValidationException(
            say.VECTOR_SIZE.format(name=name, expected=dimensions, actual=len(elements), index=index)
        )
    spend(dimensions >> 3)
    for position, element in enumerate(elements):
        text = element.get("N")
        if text is None:
            raise ValidationException(
                say.ELEMENT_TYPE.format(name=name, position=position, actual=type_of(element), index=index)
            )
        if not -FLOAT32_MAX <= float(text) <= FLOAT32_MAX:
            value_text = str(Decimal(text).normalize())
            raise ValidationException(
                say.ELEMENT_RANGE.format(name=name, position=position, value=value_text, index=index)
            )


def _empty_in_item(vectors: IndexedVectors, kind: KeyType) -> ValidationException:
    return WholeRequestFault(keys.INDEX_KEY_EMPTY[kind].format(index=vectors.index.name, name=vectors.hash_name))


def _empty_by_update(vectors: IndexedVectors, kind: KeyType) -> ValidationException:
    return WholeRequestFault(keys.UPDATED_INDEX_KEY_EMPTY[kind])
