"""HasItem: is there an item with this key? Not an operation of the API: `tests/unit/server/test_recipe.py` adds it.

Order of checks: name, member constraints → Key values → table → key schema.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException
from hashrange.items.values import check_item
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter, Usage
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.soon import settled
from hashrange.tables.capacity import item_read_units
from hashrange.wire.rules import ConstraintWording, RequestRules, RequiredMember

# The messages of real operations are in `hashrange.messages`.
NAME_MISSING = "HasItem needs a table"
TIMES_TOO_FEW = "Times at which to look: at least one"


class HasItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    Key: shapes.AttributeMap
    Times: Annotated[int, Meta(ge=1, le=9, extra={"shape": "Integer"})] | None = None
    ConsistentRead: bool | None = None


async def has_item(scope: Scope, request: HasItemRequest, meter: Meter) -> Reply:
    """Return whether the item exists."""
    key_item = check_item(request.Key)[0]
    table = find_active_table(scope, request.TableName)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    consistent = request.ConsistentRead is True
    row = await settled(scope.store.get(table.source_id, table.lookup_key(key_item), consistent=consistent))
    meter.append(Usage(table, request.TableName, item_read_units(row, consistent=consistent)))
    return {"HasItem": row is not None}


OPERATION = Operation(
    "HasItem",
    HasItemRequest,
    has_item,
    JsonWire(
        rules=RequestRules(
            required=RequiredMember("TableName", NAME_MISSING),
            wordings={("times", "minimum"): ConstraintWording(TIMES_TOO_FEW, is_alone=True)},
        ),
        is_quick=True,
    ),
    capacity="one",
    tables=by_table_name,
    is_eventual=lambda request: request.ConsistentRead is not True,
)
