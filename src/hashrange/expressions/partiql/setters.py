"""How are assignments of a PartiQL SET read? Values, arithmetic, list_append; set_add and set_delete as ADD and DELETE.

Source: service behaviour, captures to Oct 2026.
"""

from hashrange.expressions.lexer import NAME
from hashrange.expressions.partiql.conditions import read_operand
from hashrange.expressions.partiql.lexer import KEYWORD
from hashrange.expressions.partiql.reader import PlacedCall, StatementReader
from hashrange.expressions.partiql.type_conditions import MISSING, refuse_type_test
from hashrange.expressions.tree import Clauses, DocumentPath, SetAction, ValueAction, ValueToken
from hashrange.items.types import SET_TYPES
from hashrange.messages import partiql as say

SET_FUNCTIONS = ("set_add", "set_delete")


def read_set_action(reader: StatementReader, clauses: Clauses) -> None:
    """Read `path = value` into `clauses`."""
    path = reader.read_path(say.EXPECTED_IDENTIFIER)
    if not reader.skip_symbol("="):
        reader.fail(say.EXPECTED_EQUALS)
    clauses.targets.append(path)
    kind, text, _, _ = reader.token
    if reader.skip_word("MISSING"):
        clauses.sets.append(SetAction(path, MISSING))
        return
    if kind in (NAME, KEYWORD) and text.lower() in SET_FUNCTIONS and reader.is_call():
        _read_set_function(reader, path, clauses)
    else:
        operand = read_operand(reader)
        if reader.skip_word("IS"):
            refuse_type_test(reader)
        clauses.sets.append(SetAction(path, operand))


def _read_set_function(reader: StatementReader, path: DocumentPath, clauses: Clauses) -> None:
    """Read `set_add(path, set)` or `set_delete(path, set)` into `clauses`."""
    first = reader.position
    call = read_operand(reader)
    placed = next((placed for placed in reader.calls if placed.call is call), None)
    if placed is None:  # the call is not the whole value
        clauses.sets.append(SetAction(path, call))
        return
    value = _check_set_function(reader, path, placed, reader.place(first + 2))
    reader.calls.remove(placed)
    added = clauses.additions if placed.call.function == "set_add" else clauses.deletions
    added.append(ValueAction(path, value))


def _check_set_function(
    reader: StatementReader, path: DocumentPath, placed: PlacedCall, first_place: str
) -> ValueToken:
    """Return the set argument of `placed`, a set_add or set_delete call; refuses arguments other than `path` and a set.

    Faults report the place of the call; faults of the set report `first_place`, the place of the first argument.
    """
    function, operands = placed.call
    name = function.upper()
    if len(operands) != 2:
        raise reader.refuse(say.SET_FUNCTION_COUNT.format(function=name, place=placed.place))
    target, value = operands
    if not isinstance(target, DocumentPath) or target.elements != path.elements:
        raise reader.refuse(say.SET_FUNCTION_FIRST.format(function=name, place=placed.place))
    if not isinstance(value, ValueToken) or value.type_name not in SET_TYPES:
        raise reader.refuse(say.SET_FUNCTION_SECOND.format(function=name, place=first_place))
    return value
