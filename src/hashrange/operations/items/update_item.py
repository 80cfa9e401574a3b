"""UpdateItem: change attributes of one item, or create it.

Order of checks: legacy combined with expression parameters → Key values → AttributeUpdates → Expected → expressions
(update, then condition) → table → key schema → the update's paths into key attributes → types that it assigns to index
keys → key attributes among its targets → the condition's paths into key attributes → size of the update itself
(`expressions/statement_size.py`) → condition → application of the update → size of the item collection.
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.messages.requests import ACTION_UNKNOWN, RETURN_VALUES_UNKNOWN
from hashrange.operations import shapes
from hashrange.operations.items import constraint_wordings
from hashrange.operations.items.actions import requested_action
from hashrange.operations.items.write_expressions import legacy_parameters
from hashrange.operations.items.write_item import write_item
from hashrange.operations.meter import Meter
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.soon import Soon
from hashrange.wire.rules import ON_OTHER_FORMS_AND_DEPTH, ConstraintWording, RequestRules


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


RULES = RequestRules(
    wordings={
        **constraint_wordings.TABLE_NAME,
        **constraint_wordings.CONDITIONAL_OPERATOR,
        ("returnValues", "enumeration"): ConstraintWording(RETURN_VALUES_UNKNOWN, is_alone=True),
        ("attributeUpdates.{key}.member.action", "enumeration"): ConstraintWording(ACTION_UNKNOWN),
    },
    falls_back=ON_OTHER_FORMS_AND_DEPTH,
)


def update_item(scope: Scope, request: UpdateItemRequest, meter: Meter) -> Soon[Reply]:
    """Commit the changed item; the reply holds the attributes that ReturnValues requests."""
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator, request.AttributeUpdates)
    action = requested_action("update", RULES, request, request.Key, legacy, update_text=request.UpdateExpression)
    return write_item(scope, request, action, meter)


OPERATION = Operation(
    "UpdateItem",
    UpdateItemRequest,
    update_item,
    JsonWire(wording="enveloped", rules=RULES, is_quick=True),
    capacity="one",
    tables=by_table_name,
    writes=True,
)
