"""Where does a Query or Scan read, and from where on? The index that it names and its ExclusiveStartKey."""

from hashrange.errors import NumberFault, NumberSetFault, RepeatFault, RequestFault, ValidationException
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.messages.reads import GSI_CONSISTENT_READ, INDEX_BACKFILLING, INDEX_NOT_FOUND, START_KEY_VALUE
from hashrange.tables.open_table import OpenTable, ReadSource


def check_start_values(start_key: dict[str, dict[str, object]] | None) -> Item | None:
    """ExclusiveStartKey with its values checked; faults of a value are worded as the start key's, but for numbers and repeats."""
    if start_key is None:
        return None
    try:
        return check_item(start_key)[0]
    except (NumberFault, RepeatFault):
        raise
    except RequestFault as fault:
        older = fault.older if isinstance(fault, NumberSetFault) else START_KEY_VALUE.format(message=fault.older)
        raise RequestFault(START_KEY_VALUE.format(message=fault.message), older) from None
    except ValidationException as refusal:
        raise ValidationException(START_KEY_VALUE.format(message=refusal.message)) from None


def requested_source(table: OpenTable, index_name: str | None, *, consistent: bool) -> ReadSource:
    """The table or index to read; refuses an unknown index, strongly consistent reads of a global one, and one that is not
    built yet.
    """
    source = table.read_source(index_name)
    if source is None:
        raise ValidationException(INDEX_NOT_FOUND.format(name=index_name))
    if consistent and source.index is not None and source.index.is_global:
        raise ValidationException(GSI_CONSISTENT_READ)
    if source.index is not None and source.index.state == "CREATING":
        raise ValidationException(INDEX_BACKFILLING.format(index=source.index.name))
    return source
