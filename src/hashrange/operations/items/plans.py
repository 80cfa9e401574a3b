"""What of a request stays the same from one to the next? Its expressions, compiled and checked against each other once.

Everything that the checks of expressions depend on makes a key: texts, names, and tokens with the *types* of their
values. A request whose key is known has passed them all, so only its values are left to check. Refusals are not
kept.
"""

from typing import NamedTuple, Protocol

from hashrange.expressions.cache import Cache, are_too_many
from hashrange.expressions.condition import Condition
from hashrange.expressions.keycondition import KeyCondition
from hashrange.expressions.projection import Projection
from hashrange.expressions.terms import run_value_checks
from hashrange.expressions.update import Update
from hashrange.items.types import Value
from hashrange.items.values import check_values
from hashrange.operations import shapes

NO_VALUES: dict[str, Value] = {}

PlanKey = tuple[object, ...]


def plan_key(
    texts: tuple[str | None, ...], names: dict[str, str] | None, values: shapes.AttributeMap | None
) -> PlanKey:
    """The key of a request's expressions; `values` are as received. Empty when they are not to be kept. 0.6 µs."""
    if are_too_many(names, values):
        return ()
    return (
        texts,
        None if names is None else tuple(names.items()),
        None if values is None else tuple([(token, *value) for token, value in values.items()]),
    )


class ConditionalRequest(Protocol):
    """The members of a write that hold its condition."""

    @property
    def Expected(self) -> shapes.ExpectedAttributeMap | None: ...  # noqa: N802
    @property
    def ConditionalOperator(self) -> shapes.ConditionalOperator | None: ...  # noqa: N802
    @property
    def ConditionExpression(self) -> str | None: ...  # noqa: N802
    @property
    def ExpressionAttributeNames(self) -> dict[str, str] | None: ...  # noqa: N802
    @property
    def ExpressionAttributeValues(self) -> shapes.AttributeMap | None: ...  # noqa: N802


class QueryPlan(NamedTuple):
    """The expressions of a Query, compiled."""

    key_condition: KeyCondition
    condition: Condition | None
    projection: Projection | None


class WritePlan(NamedTuple):
    """The expressions of a write, compiled."""

    update: Update | None
    condition: Condition | None


QUERY_PLANS: Cache[QueryPlan] = Cache()
_WRITE_PLANS: Cache[WritePlan] = Cache()
_UNCONDITIONAL = WritePlan(None, None)


def known_plan(request: ConditionalRequest, update_text: str | None) -> WritePlan | None:
    """The plan of a write whose expressions have been compiled before; None for others, and for legacy parameters."""
    if request.Expected is not None or request.ConditionalOperator is not None:
        return None
    condition_text = request.ConditionExpression
    names, values = request.ExpressionAttributeNames, request.ExpressionAttributeValues
    if condition_text is None and update_text is None and names is None and values is None:
        return _UNCONDITIONAL
    return _WRITE_PLANS.entries.get(plan_key((update_text, condition_text), names, values))


def keep_plan(
    request: ConditionalRequest, update_text: str | None, update: Update | None, condition: Condition | None
) -> None:
    """Remember what a write's expressions compiled to, all checks passed."""
    texts = (update_text, request.ConditionExpression)
    key = plan_key(texts, request.ExpressionAttributeNames, request.ExpressionAttributeValues)
    _WRITE_PLANS.add(key, WritePlan(update, condition))


def plan_values(plan: WritePlan, request: ConditionalRequest) -> dict[str, Value]:
    """The values of a request whose plan is known: all that is left to check."""
    raw_values = request.ExpressionAttributeValues
    values = NO_VALUES if raw_values is None else check_values(raw_values)
    condition = plan.condition
    if condition is not None and condition.value_checks:
        run_value_checks("ConditionExpression", condition.value_checks, values)
    return values
