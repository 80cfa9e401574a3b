"""What do a request's arguments ask? OperationMembers of the operation of DynamoDB that it stands for,
as in that API's JSON. Source: dax.md 1.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from hashrange.dax.expression_text import ExpressionText, condition_text, projected_paths, projection_text, update_text
from hashrange.expressions.lexer import fault
from hashrange.expressions.projection import compile_projection
from hashrange.items.paths import Path
from hashrange.items.steps import walk
from hashrange.messages.expressions import EMPTY_EXPRESSION
from hashrange.wire.dax.reading import BadBytes, decoded_text

PROJECTION, CONSISTENT_READ, CAPACITY, CONDITION, COLLECTION_METRICS, RETURN_VALUES, UPDATE = 0, 2, 3, 4, 6, 7, 8
START_KEY, FILTER, INDEX_NAME, LIMIT, FORWARD = 9, 10, 11, 13, 14
SELECT, SEGMENT, TOTAL_SEGMENTS, TOKEN = 15, 16, 17, 19

_CAPACITY = ("NONE", "TOTAL", "INDEXES")
_COLLECTION_METRICS = ("NONE", "SIZE")
_RETURN_VALUES = ("", "NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
_SELECT = ("", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES")

DaxOptions = Mapping[int, Any]
"""Parameters of a request by their ids."""
OperationMembers = dict[str, Any]
ArgumentT = TypeVar("ArgumentT")


def options_of(argument: Any) -> DaxOptions:
    """The last argument of most methods. Raises BadBytes."""
    if argument is None:
        return {}
    if not isinstance(argument, dict):
        raise BadBytes("options that are no map")
    return argument


def text_of(argument: Any) -> str:
    """Text, which some clients send as bytes. Raises BadBytes."""
    if isinstance(argument, bytes):
        return decoded_text(argument)
    if not isinstance(argument, str):
        raise BadBytes("text was expected")
    return argument


def _require(kind: type[ArgumentT], expected: str, argument: Any) -> ArgumentT:
    """The argument, if it is of this kind. Raises BadBytes."""
    if not isinstance(argument, kind):
        raise BadBytes(expected)
    return argument


bytes_of = partial(_require, bytes, "bytes were expected")
list_of = partial(_require, list, "an array was expected")
map_of = partial(_require, dict, "a map was expected")


def choice(options: DaxOptions, option: int, words: tuple[str, ...]) -> str | None:
    """The word for a number; None if the option is not given. Raises BadBytes."""
    number = options.get(option)
    if number is None:
        return None
    if number.__class__ is not int or not 0 <= number < len(words) or not words[number]:
        raise BadBytes("an unknown choice")
    return words[number]


def add_reporting(members: OperationMembers, options: DaxOptions) -> None:
    """Add what a request wants to know beside its result."""
    for name, option, words in (
        ("ReturnConsumedCapacity", CAPACITY, _CAPACITY),
        ("ReturnItemCollectionMetrics", COLLECTION_METRICS, _COLLECTION_METRICS),
        ("ReturnValues", RETURN_VALUES, _RETURN_VALUES),
    ):
        word = choice(options, option, words)
        if word is not None:
            members[name] = word


def wants_capacity(options: DaxOptions) -> bool:
    """True if the reply is to say what was consumed."""
    return choice(options, CAPACITY, _CAPACITY) not in (None, "NONE")


def add_expression(members: OperationMembers, name: str, expression: ExpressionText) -> None:
    """Add an expression, with its names and values."""
    members[name] = expression.text
    if expression.names:
        members.setdefault("ExpressionAttributeNames", {}).update(expression.names)
    if expression.values:
        known = members.setdefault("ExpressionAttributeValues", expression.values)
        if known is not expression.values:
            for token, value in walk(expression.values.items()):
                known[token] = value


def add_condition(members: OperationMembers, name: str, raw: Any, letter: str) -> None:
    """Add a condition, filter or key condition, if there is one. Raises BadBytes."""
    if raw is not None:
        add_expression(members, name, condition_text(bytes_of(raw), letter))


def add_update(members: OperationMembers, raw: Any) -> None:
    """Add an update, if there is one. Raises BadBytes."""
    if raw is not None:
        add_expression(members, "UpdateExpression", update_text(bytes_of(raw), "u"))


def add_read_options(members: OperationMembers, options: DaxOptions) -> None:
    """Add what Query and Scan share, except projection and start key. Raises BadBytes."""
    if INDEX_NAME in options:
        members["IndexName"] = text_of(options[INDEX_NAME])
    if CONSISTENT_READ in options:
        members["ConsistentRead"] = bool(options[CONSISTENT_READ])
    for name, option in (("Limit", LIMIT), ("Segment", SEGMENT), ("TotalSegments", TOTAL_SEGMENTS)):
        if options.get(option) is not None:
            members[name] = options[option]
    if options.get(FORWARD) is not None:
        members["ScanIndexForward"] = bool(options[FORWARD])
    select = choice(options, SELECT, _SELECT)
    if select is not None:
        members["Select"] = select
    add_condition(members, "FilterExpression", options.get(FILTER), "f")


def paths_of(raw: Any) -> list[Path] | None:
    """The paths of a projection; None if there is none.
    Raises BadBytes, and RequestFault if no request may have these.
    """
    if raw is None:
        return None
    paths = projected_paths(bytes_of(raw))
    expression = projection_text(paths, "p")
    compile_projection(expression.text, expression.names)
    return paths


def add_top_level(members: OperationMembers, paths: list[Path]) -> None:
    """Add a projection of the attributes that paths lead into; the parts are taken from these later."""
    tops: list[Path] = list(dict.fromkeys([path[:1] for path in paths]))
    if not tops:
        raise fault("ProjectionExpression", EMPTY_EXPRESSION)
    add_expression(members, "ProjectionExpression", projection_text(tops, "p"))
