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
from hashrange.wire.fallback import SINGLE_ITEM_OPERATIONS, holds_unread_values

_READABLE = (
    ("UpdateExpression", check_update_readable),
    ("ConditionExpression", check_condition_readable),
    ("ProjectionExpression", check_projection_readable),
)


def check_map(operation_name: str, request: Any, attributes: Item) -> tuple[Item, int]:
    """As `check_item`, of the item or key of a request for a single one, or of an action of a transaction."""
    try:
        return check_item(attributes)
    except NestingFault:
        _check_before_depth(operation_name, request)
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


def _check_before_depth(operation_name: str, request: Any) -> None:
    """Raise what the older layer tells before the depth, if the request meets that layer."""
    if operation_name in SINGLE_ITEM_OPERATIONS:
        if not holds_unread_values(operation_name, request):
            return
        if operation_name != "UpdateItem":
            check_return_values(getattr(request, "ReturnValues", None) or "NONE")
    check_expressions_readable(request)
