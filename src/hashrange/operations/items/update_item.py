"""UpdateItem: change attributes of one item, or create it.

Order of checks: mixing of parameters → Key values → AttributeUpdates → Expected → expressions (update, then
condition) → table → key schema → index keys' types → key attributes among the targets → statement size → condition → application of the
update → size of the item collection.
"""

import msgspec

from hashrange.errors import ResourceNotFoundException
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.depth import check_map
from hashrange.operations.items.parameters import UPDATE_ITEM, check_parameters
from hashrange.operations.items.planning import plan_update
from hashrange.operations.items.plans import known_plan
from hashrange.operations.items.updates import check_targets, requested_update
from hashrange.operations.items.writes import returned_attributes, write_reply
from hashrange.operations.lookup import find_active_table
from hashrange.operations.operation import Operation, Scope
from hashrange.store.request_ids import new_request_id


class UpdateItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    ReturnValues: shapes.ReturnValue | None = None
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Key: shapes.AttributeMap
    Expected: shapes.ExpectedAttributeMap | None = None
    AttributeUpdates: shapes.AttributeUpdates | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    UpdateExpression: str | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


async def update_item(scope: Scope, request: UpdateItemRequest) -> bytes:
    """Commit the changed item; the reply holds what ReturnValues asks for."""
    table = find_active_table(scope, request.TableName)
    known = known_plan(request, request.UpdateExpression) if request.AttributeUpdates is None else None
    if known is None:
        check_parameters(request, UPDATE_ITEM)
    key_item = check_map("UpdateItem", request, request.Key)[0]
    update, condition, values = requested_update(request, known)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    key = table.lookup_key(key_item)
    is_heavy = update is not None and check_targets(table, update, values)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    on_failure = request.ReturnValuesOnConditionCheckFailure
    plan = plan_update(table, key_item, update, condition, values, on_failure, is_heavy=is_heavy)

    change = await scope.store.mutate(table, key, plan, new_request_id())
    attributes = returned_attributes(request.ReturnValues, change, update)
    return await write_reply(scope, request, change, key_item, attributes)


OPERATION = Operation(name="UpdateItem", request=UpdateItemRequest, run=update_item, wording="enveloped")
