"""DeleteItem: remove one item by its primary key; a missing item is no error.

Order of checks: in the slow path ReturnValues, after the other constraints → mixing of parameters →
Key values → Expected →
expressions → table → key schema → the condition's paths into key attributes → condition.
Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 5).
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.messages.reads import RETURN_VALUES_OLD_ONLY
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
from hashrange.wire.rules import ON_OTHER_FORMS_AND_DEPTH, RefusedWords, RequestRules


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


RULES = RequestRules(
    wordings={
        **constraint_wordings.TABLE_NAME,
        **constraint_wordings.RETURN_VALUES,
        **constraint_wordings.CONDITIONAL_OPERATOR,
    },
    refused_words=RefusedWords(
        "ReturnValues", frozenset(("ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")), RETURN_VALUES_OLD_ONLY
    ),
    falls_back=ON_OTHER_FORMS_AND_DEPTH,
)


def delete_item(scope: Scope, request: DeleteItemRequest, meter: Meter) -> Soon[Reply]:
    """Commit the removal; the reply holds the old item when ReturnValues is ALL_OLD."""
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator)
    action = requested_action("delete", RULES, request, request.Key, legacy, request.ReturnValues)
    return write_item(scope, request, action, meter)


OPERATION = Operation(
    "DeleteItem",
    DeleteItemRequest,
    delete_item,
    JsonWire(wording="enveloped", rules=RULES, is_quick=True),
    capacity="one",
    tables=by_table_name,
    writes=True,
)
