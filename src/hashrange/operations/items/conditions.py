"""When may a conditional write happen, and which paths may expressions have?
The error for a false condition; paths into key attributes are refused.
"""

from hashrange.errors import ConditionalCheckFailedException, ValidationException
from hashrange.expressions.condition import CompiledCondition
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Item, Row, Value
from hashrange.messages.reads import CONDITION_FAILED, INDEX_KEY_MUST_BE_SCALAR, KEY_MUST_BE_SCALAR
from hashrange.tables.open_table import OpenTable

NO_ITEM: Item = {}
"""Stands for a missing item when a condition is tested or an update is applied."""


def check_key_paths(table: OpenTable, nested_attributes: frozenset[str]) -> None:
    """Raise ValidationException for paths into key attributes of the table or an index: keys can only be scalars."""
    if not nested_attributes:
        return
    for name in (table.partition_name, table.sort_name):
        if name in nested_attributes:
            raise ValidationException(KEY_MUST_BE_SCALAR.format(name=name))
    for _, attributes in table.index_keys:
        for name, _ in attributes:
            if name in nested_attributes:
                raise ValidationException(INDEX_KEY_MUST_BE_SCALAR.format(name=name))


def check_condition(
    condition: CompiledCondition, values: dict[str, Value], item: Item | None, old: Row | None, on_failure: str | None
) -> None:
    """Raise ConditionalCheckFailedException unless the condition holds for `item`, decoded from the row `old`.

    If there is no item, `item` and `old` are None. Otherwise the error has the item's size, and its row if `on_failure`
    is ALL_OLD.
    """
    if condition.test(NO_ITEM if item is None else item, values):
        return
    if old is None:
        raise ConditionalCheckFailedException(CONDITION_FAILED)
    members = {"Item": old} if on_failure == "ALL_OLD" else {}
    raise ConditionalCheckFailedException(CONDITION_FAILED, size_bytes=row_size_bytes(old), **members)
