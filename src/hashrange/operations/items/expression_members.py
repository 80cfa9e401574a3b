"""Which parameters may a request combine? Legacy or expression members, not both (exceptions: `sole_conflicts`);
messages list them in the order of this file.

Source: service behaviour, captures to Oct 2026.
"""

from typing import Any, NamedTuple

from hashrange.expressions.parameters import check_maps, check_mixing


class OperationParameters(NamedTuple):
    """Names of one operation's legacy and expression members, in the order in which messages list them."""

    legacy: tuple[str, ...]
    expressions: tuple[str, ...]
    sole_conflicts: tuple[tuple[str, str], ...] = ()
    """Pairs: a legacy member, and the only expression member that must not be combined with it."""


GET_ITEM = OperationParameters(("AttributesToGet",), ("ProjectionExpression",))
PUT_OR_DELETE_ITEM = OperationParameters(("Expected", "ConditionalOperator"), ("ConditionExpression",))
UPDATE_ITEM = OperationParameters(
    ("AttributeUpdates", "Expected", "ConditionalOperator"), ("UpdateExpression", "ConditionExpression")
)
QUERY = OperationParameters(
    ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
    (("KeyConditions", "KeyConditionExpression"),),
)
SCAN = OperationParameters(
    ("AttributesToGet", "ScanFilter", "ConditionalOperator"), ("ProjectionExpression", "FilterExpression")
)


def check_operation_parameters(request: Any, parameters: OperationParameters) -> None:
    """Raise RequestFault for legacy combined with expression members, then for faults of placeholders.

    The request has ExpressionAttributeNames; its struct may lack ExpressionAttributeValues and legacy members.
    The faults are: ExpressionAttributeNames or ExpressionAttributeValues without an expression that could use them, an
    empty map, a malformed placeholder or name.
    """
    unopposed = {name for name, other in parameters.sole_conflicts if getattr(request, other) is None}
    legacy = [(name, getattr(request, name, None)) for name in parameters.legacy if name not in unopposed]
    expressions = [(name, getattr(request, name)) for name in parameters.expressions]
    values = getattr(request, "ExpressionAttributeValues", None)
    check_mixing(legacy, expressions)
    check_maps(expressions, request.ExpressionAttributeNames, values)
