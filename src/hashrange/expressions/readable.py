"""Can a text be parsed as an expression? Checks size and grammar only; its meaning is checked later.

For requests that report these faults before values nested too deeply, a fault that precedes all other checks of
expressions.
"""

from hashrange.expressions.parser import CONDITION_KEYWORDS, NO_KEYWORDS, UPDATE_KEYWORDS, ExpressionParser
from hashrange.expressions.projection import read_projection
from hashrange.expressions.update import read_clauses


def check_update_readable(text: str) -> None:
    """Raise RequestFault for an UpdateExpression that is too long, empty, or not parsable."""
    read_clauses(ExpressionParser("UpdateExpression", text, None, None, UPDATE_KEYWORDS))


def check_condition_readable(text: str) -> None:
    """Raise RequestFault for a ConditionExpression that cannot be parsed."""
    ExpressionParser("ConditionExpression", text, None, None, CONDITION_KEYWORDS).read_condition()


def check_projection_readable(text: str) -> None:
    """Raise RequestFault for a ProjectionExpression that cannot be parsed."""
    read_projection(ExpressionParser("ProjectionExpression", text, None, None, NO_KEYWORDS))
