"""Which table fields change when UpdateTable creates or deletes a global index? `indexes`;
for a new index also attribute types and the next index id.

A created index is CREATING until all its entries are made. A deleted index is DELETING, without entries, until its
deadline; then `tables/states.py` leaves it out.
"""

from typing import Any

import msgspec

from hashrange.items.steps import walk
from hashrange.operations.tables.created_table import global_index
from hashrange.operations.tables.index_members import CreateGlobalSecondaryIndexAction
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.tables.schema import Index, KeyType, Table


def index_changes(
    request: UpdateTableRequest, table: Table, indexes: tuple[Index, ...], until_seconds: float
) -> dict[str, Any]:
    """Field → value of each table field that changes; `indexes`: the table's, already with the requested capacity."""
    changes: dict[str, Any] = {}
    for update in request.GlobalSecondaryIndexUpdates or ():
        if update.Create is not None:
            changes["attribute_types"] = types = _merged_types(request, table, update.Create)
            changes["next_index_id"] = table.next_index_id + 1
            created = global_index(update.Create, table.next_index_id, types)
            changes["indexes"] = (*indexes, msgspec.structs.replace(created, state="CREATING"))
        elif update.Delete is not None:
            name = update.Delete.IndexName
            changes["indexes"] = tuple(
                msgspec.structs.replace(index, state="DELETING", deleted_at_seconds=until_seconds)
                if index.name == name
                else index
                for index in indexes
            )
    return changes


def created_index(request: UpdateTableRequest, table: Table) -> Index | None:
    """The index that the request creates, as it is in the new `table`; None if it creates none."""
    names = [
        update.Create.IndexName for update in request.GlobalSecondaryIndexUpdates or () if update.Create is not None
    ]
    return next((index for index in table.indexes if index.name in names), None)


def _merged_types(
    request: UpdateTableRequest, table: Table, created: CreateGlobalSecondaryIndexAction
) -> dict[str, KeyType]:
    """Attribute → type: all of the table's definitions, and those others in the request that the new index uses."""
    used = {key.AttributeName for key in created.KeySchema}
    given: dict[str, KeyType] = {
        definition.AttributeName: definition.AttributeType
        for definition in walk(request.AttributeDefinitions or ())
        if definition.AttributeName in used
    }
    return table.attribute_types | given | table.attribute_types
