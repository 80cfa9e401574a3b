"""Which update and which condition does a write have?
Expressions, compiled together once and cached, or legacy parameters.

The cache key (`expressions/cache.py`) holds everything that the checks of expressions depend on. If
a request's key is in the cache, its expressions have passed all checks, and only their values remain to be checked.
Refusals are not cached.
"""

from typing import NamedTuple, Protocol

from hashrange.expressions.cache import Cache, cache_key
from hashrange.expressions.condition import CompiledCondition, compile_condition, run_value_checks
from hashrange.expressions.legacy import attribute_updates, expected_condition
from hashrange.expressions.parameters import NO_VALUES, check_unused
from hashrange.expressions.update import CompiledUpdate, compile_update
from hashrange.items.types import Value
from hashrange.items.values import check_values
from hashrange.operations import shapes


class ExpressionsRequest(Protocol):
    """Members of a write request: its condition, and the names and values of all its expressions."""

    @property
    def ConditionExpression(self) -> str | None: ...  # noqa: N802
    @property
    def ExpressionAttributeNames(self) -> dict[str, str] | None: ...  # noqa: N802
    @property
    def ExpressionAttributeValues(self) -> shapes.AttributeMap | None: ...  # noqa: N802


class WriteExpressions(NamedTuple):
    """The expressions of a write, compiled."""

    update: CompiledUpdate | None
    condition: CompiledCondition | None


class LegacyParameters(NamedTuple):
    """Legacy parameters of a write of a single item, used instead of expressions; as received."""

    expected: shapes.ExpectedAttributeMap | None
    operator: shapes.ConditionalOperator | None
    updates: shapes.AttributeUpdates | None


_KNOWN: Cache[WriteExpressions] = Cache()
UNCONDITIONAL = WriteExpressions(None, None)
"""The compiled expressions of every write that has neither expressions nor legacy parameters."""


def legacy_parameters(
    expected: shapes.ExpectedAttributeMap | None,
    operator: shapes.ConditionalOperator | None,
    updates: shapes.AttributeUpdates | None = None,
) -> LegacyParameters | None:
    """A request's members Expected, ConditionalOperator and AttributeUpdates; None when it has none of them."""
    if expected is None and operator is None and updates is None:
        return None
    return LegacyParameters(expected, operator, updates)


def known_expressions(request: ExpressionsRequest, update_text: str | None = None) -> WriteExpressions | None:
    """The cached expressions of a write: UNCONDITIONAL if it has no expressions, None if they are not cached.

    `update_text` is its UpdateExpression. The write must not have legacy parameters.
    """
    condition_text = request.ConditionExpression
    names, values = request.ExpressionAttributeNames, request.ExpressionAttributeValues
    if condition_text is None and update_text is None and names is None and values is None:
        return UNCONDITIONAL
    return _KNOWN.entries.get(cache_key((update_text, condition_text), names, values))


def check_known_values(known: WriteExpressions, request: ExpressionsRequest) -> dict[str, Value]:
    """Check and return the values of a request whose expressions are cached; its expressions need no further checks."""
    raw_values = request.ExpressionAttributeValues
    values = NO_VALUES if raw_values is None else check_values(raw_values)
    condition = known.condition
    if condition is not None and condition.value_checks:
        run_value_checks("ConditionExpression", condition.value_checks, values)
    return values


def compile_expressions(
    request: ExpressionsRequest, update_text: str | None
) -> tuple[WriteExpressions, dict[str, Value]]:
    """Compile the expressions of a request; returns them and its checked ExpressionAttributeValues.

    Raises the first fault, RequestFault or Malformed: values → update → condition → unused names and values.
    """
    condition_text = request.ConditionExpression
    names, raw_values = request.ExpressionAttributeNames, request.ExpressionAttributeValues
    key = cache_key((update_text, condition_text), names, raw_values)
    values = NO_VALUES if raw_values is None else check_values(raw_values)
    update = None if update_text is None else compile_update(update_text, names, values)
    condition = None
    if condition_text is not None:
        condition = compile_condition("ConditionExpression", condition_text, names, values)
    check_unused(names, values, update, condition)
    compiled = WriteExpressions(update, condition)
    _KNOWN.add(key, compiled)
    return compiled, values


def compile_legacy(legacy: LegacyParameters) -> WriteExpressions:
    """Compile legacy parameters, AttributeUpdates before Expected.

    Raises the first fault: Malformed for a malformed value, a member of the wrong type, or an unknown operator or
    action, else ValidationException.
    """
    update = None
    if legacy.updates is not None:
        shapes.check_legacy(legacy.updates, shapes.AttributeValueUpdate)
        update = attribute_updates(legacy.updates)
    if legacy.expected is None and legacy.operator is None:
        return WriteExpressions(update, None)
    if legacy.expected is not None:
        shapes.check_legacy(legacy.expected, shapes.ExpectedAttributeValue)
    return WriteExpressions(update, expected_condition(legacy.expected, legacy.operator))
