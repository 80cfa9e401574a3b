"""What is told before an item or key map that is nested too deep? In the older layer, more than in the current one.

There depth is looked at last of all values, after the expressions have been read. Actions of transactions always meet that
layer, requests for single items when they fall back to it. Called when the depth is known to be wrong. Source: service behaviour, captures to
October 2026.
"""

from typing import Any

from hashrange.errors import NestingFault, RequestFault
from hashrange.expressions.readable import check_condition_readable, check_projection_readable, check_update_readable
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.messages.reads import RETURN_VALUES_OLD_ONLY
from hashrange.wire.fallback import holds_unread_values
from hashrange.wire.rules import RequestRules

_READABLE = (
    ("UpdateExpression", check_update_readable),
    ("ConditionExpression", check_condition_readable),
    ("ProjectionExpression", check_projection_readable),
)


def check_map(
    rules: RequestRules, request: Any, attributes: Item, return_values: str | None = None
) -> tuple[Item, int]:
    """As `check_item`, of the item or key of a request for a single one, or of an action of a transaction.

    `return_values` is looked at where a put or delete asks for them: an update may return anything.
    """
    try:
        return check_item(attributes)
    except NestingFault:
        _check_before_depth(rules, request, return_values)
        raise


def check_return_values(return_values: str) -> None:
    """Refuse what only an update can return."""
    if return_values not in ("NONE", "ALL_OLD"):
        raise RequestFault(RETURN_VALUES_OLD_ONLY)


def check_expressions_readable(request: object) -> None:
    """Refuse expressions that are too long or cannot be read, in the service's order."""
    for name, check in _READABLE:
        text = getattr(request, name, None)
        if text is not None:
            check(text)


def _check_before_depth(rules: RequestRules, request: Any, return_values: str | None) -> None:
    """Raise what the older layer tells before the depth, if the request meets that layer."""
    if rules.falls_back and not holds_unread_values(rules, request):
        return
    if return_values is not None:
        check_return_values(return_values)
    check_expressions_readable(request)
