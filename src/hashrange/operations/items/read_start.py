"""Which table or index does a Query or Scan read, and where does it start?
Checks of IndexName, and of the values in ExclusiveStartKey.
"""

from hashrange.errors import NumberFault, NumberSetFault, RequestFault, SetRepeatFault, ValidationException
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.messages.reads import GSI_CONSISTENT_READ, INDEX_BACKFILLING, INDEX_NOT_FOUND, START_KEY_VALUE
from hashrange.tables.open_table import OpenTable, ReadSource


def check_start_values(start_key: dict[str, dict[str, object]] | None) -> Item | None:
    """ExclusiveStartKey with its values checked; None if not given.

    Raises the fault of a value with the prefix that START_KEY_VALUE adds. Faults of numbers and repeated set members,
    and in the older layer the fault of an empty number set, have no prefix.
    """
    if start_key is None:
        return None
    try:
        return check_item(start_key)[0]
    except (NumberFault, SetRepeatFault):
        raise
    except RequestFault as fault:
        older = (
            fault.older_message
            if isinstance(fault, NumberSetFault)
            else START_KEY_VALUE.format(message=fault.older_message)
        )
        raise RequestFault(START_KEY_VALUE.format(message=fault.message), older) from None
    except ValidationException as refusal:
        raise ValidationException(START_KEY_VALUE.format(message=refusal.message)) from None


def requested_source(table: OpenTable, index_name: str | None, *, consistent: bool) -> ReadSource:
    """The table or index to read.

    Raises ValidationException for an unknown index, a strongly consistent read of a global index, and an index that is
    CREATING.
    """
    source = table.read_source(index_name)
    if source is None:
        raise ValidationException(INDEX_NOT_FOUND.format(name=index_name))
    if consistent and source.index is not None and source.index.is_global:
        raise ValidationException(GSI_CONSISTENT_READ)
    if source.index is not None and source.index.state == "CREATING":
        raise ValidationException(INDEX_BACKFILLING.format(index=source.index.name))
    return source
