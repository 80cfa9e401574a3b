"""Are an update's actions valid? Checks operand types of ADD and DELETE, then functions and arithmetic of SET.

Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 4).
"""

from hashrange.expressions.checks import (
    check_operand_count,
    check_operand_type,
    misuse_fault,
    operand_type,
    path_required_fault,
)
from hashrange.expressions.condition import CONDITION_FUNCTIONS
from hashrange.expressions.lexer import fault
from hashrange.expressions.tree import Arithmetic, Clauses, DocumentPath, FunctionCall, Operand
from hashrange.items.types import SET_TYPES
from hashrange.messages.expressions import UPDATE_OPERAND_TYPE

UPDATE_FUNCTIONS = frozenset(("if_not_exists", "list_append"))
CONDITION_ONLY_FUNCTIONS = frozenset(CONDITION_FUNCTIONS)
_LONG_TYPE_NAMES = {"S": "STRING", "N": "NUMBER", "B": "Binary", "L": "LIST", "M": "MAP"}


def check_actions(kind: str, clauses: Clauses) -> None:
    """Refuse actions whose operands or functions are wrong for every item."""
    for operator, actions, allowed in (
        ("ADD", clauses.additions, ("N", *SET_TYPES)),
        ("DELETE", clauses.deletions, SET_TYPES),
    ):
        for _, value in actions:
            type_name = value.type_name
            if type_name is not None and type_name not in allowed:
                long_name = _LONG_TYPE_NAMES.get(type_name, type_name)
                raise fault(kind, UPDATE_OPERAND_TYPE.format(operator=operator, type_name=long_name))
    for action in clauses.sets:
        _check_set_value(kind, action.value)


def _check_set_value(kind: str, value: Operand) -> None:
    """Check a SET value and the operators and functions inside it, each before its operands; does not recurse."""
    pending: list[tuple[Operand, str]] = [(value, "")]
    while pending:
        operand, around = pending.pop()
        if isinstance(operand, Arithmetic):
            for part in (operand.left, operand.right):
                _check_type(kind, operand.operator, part, "N")
            pending += [(operand.right, "+"), (operand.left, "+")]
        elif isinstance(operand, FunctionCall):
            _check_call(kind, operand, around)
            pending += [(part, operand.function) for part in operand.operands[::-1]]


def _check_call(kind: str, call: FunctionCall, around: str) -> None:
    """Check a call in a SET value; `around` is the function directly around it, `+` for an operator, or empty."""
    function = call.function
    if function in CONDITION_ONLY_FUNCTIONS or (function == "list_append" and around == "list_append"):
        raise misuse_fault(kind, function)
    check_operand_count(kind, call, 2)
    if function == "if_not_exists":
        if not isinstance(call.operands[0], DocumentPath):
            raise path_required_fault(kind, function)
    else:
        for operand in call.operands:
            _check_type(kind, function, operand, "L")


def _check_type(kind: str, operator: str, operand: Operand, allowed: str) -> None:
    """Refuse an operand of another type, except a function that is true or false: `_check_call` refuses that itself."""
    if operand_type(operand) != "BOOL" or not isinstance(operand, FunctionCall):
        check_operand_type(kind, operator, operand, (allowed,))
