"""PutItem: create an item, or replace it whole.

Order of checks: mixing of parameters → Item values → ReturnValues → item size → Expected → expressions → table →
item keys → condition → size of the item collection.
"""

import msgspec

from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.items.row_layout import row_json
from hashrange.items.rows import encode_row
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.reads import ITEM_TOO_LARGE, TABLE_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.items.conditions import check_key_paths, requested_condition
from hashrange.operations.items.depth import check_map, check_return_values
from hashrange.operations.items.parameters import PUT_OR_DELETE_ITEM, check_parameters
from hashrange.operations.items.planning import plan_put
from hashrange.operations.items.plans import known_plan
from hashrange.operations.items.writes import write_reply
from hashrange.operations.lookup import find_active_table
from hashrange.operations.operation import Operation, Scope
from hashrange.store.request_ids import new_request_id
from hashrange.tables.index_keys import check_item_index_keys


class PutItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    Item: shapes.AttributeMap
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Expected: shapes.ExpectedAttributeMap | None = None
    ReturnValues: shapes.ReturnValue | None = None
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


async def put_item(scope: Scope, request: PutItemRequest) -> bytes:
    """Commit the item; the reply holds the old one when ReturnValues is ALL_OLD."""
    table = find_active_table(scope, request.TableName)
    known = known_plan(request, None)
    if known is None:
        check_parameters(request, PUT_OR_DELETE_ITEM)
    item, size_bytes = check_map("PutItem", request, request.Item)
    if request.ReturnValues is not None:
        check_return_values(request.ReturnValues)
    if size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(ITEM_TOO_LARGE)
    condition, values = requested_condition(request, known)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    key = table.item_key(item)
    if table.index_keys:
        check_item_index_keys(table, item)
    row = encode_row(item, size_bytes)

    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    plan = plan_put(row, item, condition, values, request.ReturnValuesOnConditionCheckFailure)

    change = await scope.store.mutate(table, key, plan, new_request_id())
    attributes = row_json(change.old) if request.ReturnValues == "ALL_OLD" and change.old is not None else None
    return await write_reply(scope, request, change, item, attributes)


OPERATION = Operation(name="PutItem", request=PutItemRequest, run=put_item, wording="enveloped")
