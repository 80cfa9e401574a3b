"""Which faults are reported before an item or key map that is nested too deep?
In the older layer, those of ReturnValues and of parsing expressions.

The older layer checks the depth last, after other value checks and the parsing of expressions. Actions of transactions
always use that layer, requests for single items when they fall back to it. The faults that come first
are looked for only after `check_item` has raised NestingFault. Source: service behaviour, captures to October 2026.
"""

from collections.abc import Callable
from typing import Any

from hashrange.errors import RequestFault
from hashrange.expressions.parser import CONDITION_KEYWORDS, NO_KEYWORDS, UPDATE_KEYWORDS, ExpressionParser
from hashrange.expressions.projection import read_projection
from hashrange.expressions.update import read_clauses
from hashrange.messages.reads import RETURN_VALUES_OLD_ONLY
from hashrange.wire.fallback import holds_unread_values
from hashrange.wire.rules import RequestRules

_READABLE: tuple[tuple[str, frozenset[str], Callable[[ExpressionParser], object]], ...] = (
    ("UpdateExpression", UPDATE_KEYWORDS, read_clauses),
    ("ConditionExpression", CONDITION_KEYWORDS, ExpressionParser.read_condition),
    ("ProjectionExpression", NO_KEYWORDS, read_projection),
)
"""Checks of size and grammar alone: the older layer reports their faults before values nested too deep."""


def check_return_values(return_values: str) -> None:
    """Raise RequestFault for ReturnValues that only an update supports."""
    if return_values not in ("NONE", "ALL_OLD"):
        raise RequestFault(RETURN_VALUES_OLD_ONLY)


def check_expressions_readable(request: object) -> None:
    """Raise RequestFault for the first expression that is too long or cannot be parsed, in the service's order."""
    for name, keywords, read in _READABLE:
        text = getattr(request, name, None)
        if text is not None:
            read(ExpressionParser(name, text, None, None, keywords))


def check_before_depth(rules: RequestRules, request: Any, return_values: str | None = None) -> None:
    """If the older layer checks the request, raise the first fault that it reports before values nested too deep.

    The request is for a single item, or a transaction's action. `return_values`: ReturnValues of a put or delete; None
    if it is not given, and for an update, which supports all its values.
    """
    if rules.falls_back and not holds_unread_values(rules, request):
        return
    if return_values is not None:
        check_return_values(return_values)
    check_expressions_readable(request)
