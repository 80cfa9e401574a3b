"""Can a text be read as an expression at all? Its size and its grammar alone; what it means is looked at later.

For requests in which these faults are told before others that come before everything else about expressions.
"""

from hashrange.expressions.parser import CONDITION_KEYWORDS, NO_KEYWORDS, UPDATE_KEYWORDS, ExpressionParser
from hashrange.expressions.projection import read_projection
from hashrange.expressions.update import read_clauses


def check_update_readable(text: str) -> None:
    """Raise RequestFault for an UpdateExpression that is too long, empty, or has a syntax error."""
    read_clauses(ExpressionParser("UpdateExpression", text, None, None, UPDATE_KEYWORDS))


def check_condition_readable(text: str) -> None:
    """The same of a ConditionExpression."""
    ExpressionParser("ConditionExpression", text, None, None, CONDITION_KEYWORDS).read_condition()


def check_projection_readable(text: str) -> None:
    """The same of a ProjectionExpression."""
    read_projection(ExpressionParser("ProjectionExpression", text, None, None, NO_KEYWORDS))
