"""Can a text be parsed as an expression? Only its size and grammar are checked here, its meaning later.

An item or key map that is nested too deep is reported before all faults of expressions, except in the older layer: it
reports faults of size and grammar first.
"""

from hashrange.expressions.parser import CONDITION_KEYWORDS, NO_KEYWORDS, UPDATE_KEYWORDS, ExpressionParser
from hashrange.expressions.projection import read_projection
from hashrange.expressions.update import read_clauses


def check_update_readable(text: str) -> None:
    """Raise RequestFault for an UpdateExpression that is too long, empty, or not parsable."""
    read_clauses(ExpressionParser("UpdateExpression", text, None, None, UPDATE_KEYWORDS))


def check_condition_readable(text: str) -> None:
    """Raise RequestFault for a ConditionExpression that is too long, empty, or not parsable."""
    ExpressionParser("ConditionExpression", text, None, None, CONDITION_KEYWORDS).read_condition()


def check_projection_readable(text: str) -> None:
    """Raise RequestFault for a ProjectionExpression that is too long, empty, or not parsable."""
    read_projection(ExpressionParser("ProjectionExpression", text, None, None, NO_KEYWORDS))
