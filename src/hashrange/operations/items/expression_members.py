"""Which parameters may a request combine? Legacy or expression members, not both (exceptions: `sole_conflicts`);
messages list them in the order of this file.

Source: service behaviour, captures to Oct 2026.
"""

from typing import NamedTuple, Protocol

from hashrange.expressions import parameters as checks


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


class ParameterizedRequest(Protocol):
    """A request with ExpressionAttributeNames; its struct may lack ExpressionAttributeValues and legacy members."""

    @property
    def ExpressionAttributeNames(self) -> dict[str, str] | None: ...  # noqa: N802


def check_operation_parameters(request: ParameterizedRequest, parameters: OperationParameters) -> None:
    """Raise RequestFault for legacy combined with expression members, then for faults of placeholders.

    These are: ExpressionAttributeNames or ExpressionAttributeValues without an expression that could use them, an empty
    map, a malformed placeholder or name.
    """
    unopposed = {name for name, other in parameters.sole_conflicts if getattr(request, other) is None}
    legacy = [(name, getattr(request, name, None)) for name in parameters.legacy if name not in unopposed]
    expressions = [(name, getattr(request, name)) for name in parameters.expressions]
    values = getattr(request, "ExpressionAttributeValues", None)
    checks.check_expression_parameters(legacy, expressions, request.ExpressionAttributeNames, values)
