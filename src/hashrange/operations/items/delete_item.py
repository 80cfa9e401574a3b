"""DeleteItem: remove one item by its primary key; an absent one is no error.

Order of checks: mixing of parameters → Key values → ReturnValues → Expected → expressions → table → key schema →
condition.
"""

import msgspec

from hashrange.errors import ResourceNotFoundException
from hashrange.items.row_layout import row_json
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.items.conditions import check_key_paths, requested_condition
from hashrange.operations.items.depth import check_map, check_return_values
from hashrange.operations.items.parameters import PUT_OR_DELETE_ITEM, check_parameters
from hashrange.operations.items.planning import plan_delete
from hashrange.operations.items.plans import known_plan
from hashrange.operations.items.writes import write_reply
from hashrange.operations.lookup import find_active_table
from hashrange.operations.operation import Operation, Scope
from hashrange.store.request_ids import new_request_id


class DeleteItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ReturnValues: shapes.ReturnValue | None = None
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    Key: shapes.AttributeMap
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Expected: shapes.ExpectedAttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


async def delete_item(scope: Scope, request: DeleteItemRequest) -> bytes:
    """Commit the removal; the reply holds the old item when ReturnValues is ALL_OLD."""
    table = find_active_table(scope, request.TableName)
    known = known_plan(request, None)
    if known is None:
        check_parameters(request, PUT_OR_DELETE_ITEM)
    key_item = check_map("DeleteItem", request, request.Key)[0]
    if request.ReturnValues is not None:
        check_return_values(request.ReturnValues)
    condition, values = requested_condition(request, known)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    key = table.lookup_key(key_item)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    plan = plan_delete(condition, values, request.ReturnValuesOnConditionCheckFailure)

    change = await scope.store.mutate(table, key, plan, new_request_id())
    attributes = row_json(change.old) if request.ReturnValues == "ALL_OLD" and change.old is not None else None
    return await write_reply(scope, request, change, key_item, attributes)


OPERATION = Operation(name="DeleteItem", request=DeleteItemRequest, run=delete_item, wording="enveloped")
