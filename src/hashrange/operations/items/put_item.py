"""PutItem: create an item, or replace it whole.

Order of checks: mixing of parameters → Item values → ReturnValues → item size → Expected → expressions → table →
the item's key → index keys → the condition's paths into key attributes → length of the item's JSON → condition → size
of the item collection.
"""

import msgspec

from hashrange.aws_services.operation import Operation
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
from hashrange.wire.rules import ON_OTHER_FORMS_AND_DEPTH, RequestRules


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


RULES = RequestRules(
    wordings={
        **constraint_wordings.TABLE_NAME,
        **constraint_wordings.RETURN_VALUES,
        **constraint_wordings.CONDITIONAL_OPERATOR,
    },
    falls_back=ON_OTHER_FORMS_AND_DEPTH,
)


def put_item(scope: Scope, request: PutItemRequest, meter: Meter) -> Soon[Reply]:
    """Commit the item; the reply holds the replaced item if ReturnValues is ALL_OLD."""
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator)
    action = requested_action("put", RULES, request, request.Item, legacy, request.ReturnValues)
    return write_item(scope, request, action, meter)


OPERATION = Operation(
    "PutItem",
    PutItemRequest,
    put_item,
    JsonWire(wording="enveloped", rules=RULES, is_quick=True),
    capacity="one",
    tables=by_table_name,
    writes=True,
)
