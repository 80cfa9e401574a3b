"""Where does a Query or Scan read, and from where on? The index that it names and its ExclusiveStartKey."""

from hashrange.errors import RequestFault, ValidationException
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.messages.reads import GSI_CONSISTENT_READ, INDEX_NOT_FOUND, INDEX_NOT_READABLE, START_KEY_VALUE
from hashrange.tables.schema import Table


def check_start_values(start_key: dict[str, dict[str, object]] | None) -> Item | None:
    """ExclusiveStartKey with its values checked; faults inside a value are worded as the start key's."""
    if start_key is None:
        return None
    try:
        return check_item(start_key)[0]
    except RequestFault as fault:
        raise RequestFault(
            START_KEY_VALUE.format(message=fault.message), START_KEY_VALUE.format(message=fault.older)
        ) from None


def refuse_index(table: Table, index_name: str | None, *, consistent: bool) -> None:
    """Refuse a read of an index: of an unknown one in the service's words, of a known one as not built yet."""
    if index_name is None:
        return
    index = next((index for index in table.indexes if index.name == index_name), None)
    if index is None:
        raise ValidationException(INDEX_NOT_FOUND.format(name=index_name))
    if consistent and index.is_global:
        raise ValidationException(GSI_CONSISTENT_READ)
    raise ValidationException(INDEX_NOT_READABLE.format(name=index_name))
