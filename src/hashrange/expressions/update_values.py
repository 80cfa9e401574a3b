"""Which value does an update action compute? Each action becomes a function of (old value, item, values).

Operands read the item as it was before the update. Errors raised here are the service's run-time errors:
their messages never begin with "1 validation error detected: ". Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable

from hashrange.errors import ValidationException
from hashrange.expressions.predicates import compile_path
from hashrange.expressions.sets import union, without_members
from hashrange.expressions.tree import Arithmetic, DocumentPath, FunctionCall, Operand, Values, ValueToken
from hashrange.items.numbers import add_numbers, subtract_numbers
from hashrange.items.types import Item, Value
from hashrange.messages.expressions import LEGACY_UPDATE_MISMATCH, OPERAND_INCORRECT, OPERAND_MISSING

Compute = Callable[[Item, Values], Value]
Assignment = Callable[[Value | None, Item, Values], Value | None]
"""(old value or None, item before the update, values) → new value, or None to remove the attribute."""


def compile_set(operand: Operand) -> Assignment:
    """Compile a SET action, whose result is the value of `operand`."""
    if isinstance(operand, ValueToken):
        token = operand.token
        return lambda _old, _item, values: values[token]
    compute = compile_value(operand)
    return lambda _old, item, values: compute(item, values)


def remove(_old: Value | None, _item: Item, _values: Values) -> None:
    """The assignment of REMOVE, and of a legacy DELETE without a value: returns None."""
    return


def compile_add(token: str, *, is_legacy: bool = False) -> Assignment:
    """Compile ADD: sum of numbers, union of sets; without an old value, the given one. Legacy: appends to lists too."""

    def add(old: Value | None, _item: Item, values: Values) -> Value:
        value = values[token]
        if old is None:
            return value
        ((type_name, content),) = value.items()
        old_content = old.get(type_name)
        if old_content is None:
            raise ValidationException(LEGACY_UPDATE_MISMATCH if is_legacy else OPERAND_INCORRECT)
        if type_name == "N":
            return {"N": add_numbers(old_content, content)}
        if type_name == "L":
            return {"L": old_content + content}
        return union(type_name, old_content, content)

    return add


def compile_delete(token: str, *, is_legacy: bool = False) -> Assignment:
    """Compile DELETE: the set without the given members; None if no member is left or there was no value."""

    def delete(old: Value | None, _item: Item, values: Values) -> Value | None:
        if old is None:
            return None
        ((type_name, content),) = values[token].items()
        members = old.get(type_name)
        if members is None:
            raise ValidationException(LEGACY_UPDATE_MISMATCH if is_legacy else OPERAND_INCORRECT)
        return without_members(type_name, members, content)

    return delete


def compile_value(operand: Operand) -> Compute:
    """Compile a SET value to a function of item and values.

    The function raises ValidationException if the item lacks an operand, an operand has a wrong type, or a result is
    out of range or too precise.
    """
    if isinstance(operand, ValueToken):
        token = operand.token
        return lambda _item, values: values[token]
    if isinstance(operand, DocumentPath):
        return _compile_path_value(operand)
    if isinstance(operand, Arithmetic):
        return _compile_arithmetic(operand)
    assert operand.function in VALUE_COMPILERS, f"{operand.function} is a function of updates that has no meaning"
    return VALUE_COMPILERS[operand.function](operand)


def _compile_path_value(path: DocumentPath) -> Compute:
    get = compile_path(path.elements)

    def read(item: Item, _values: Values) -> Value:
        value = get(item)
        if value is None:
            raise ValidationException(OPERAND_MISSING)
        return value

    return read


def _compile_arithmetic(operand: Arithmetic) -> Compute:
    left, right = compile_value(operand.left), compile_value(operand.right)
    calculate = add_numbers if operand.operator == "+" else subtract_numbers

    def compute(item: Item, values: Values) -> Value:
        one, two = left(item, values).get("N"), right(item, values).get("N")
        if one is None or two is None:
            raise ValidationException(OPERAND_INCORRECT)
        return {"N": calculate(one, two)}

    return compute


def _compile_if_not_exists(call: FunctionCall) -> Compute:
    path, otherwise = call.operands
    assert isinstance(path, DocumentPath)
    get, fallback = compile_path(path.elements), compile_value(otherwise)

    def compute(item: Item, values: Values) -> Value:
        value = get(item)
        return fallback(item, values) if value is None else value

    return compute


def _compile_list_append(call: FunctionCall) -> Compute:
    left, right = compile_value(call.operands[0]), compile_value(call.operands[1])

    def compute(item: Item, values: Values) -> Value:
        one, two = left(item, values).get("L"), right(item, values).get("L")
        if one is None or two is None:
            raise ValidationException(OPERAND_INCORRECT)
        return {"L": one + two}

    return compute


VALUE_COMPILERS: dict[str, Callable[[FunctionCall], Compute]] = {
    "if_not_exists": _compile_if_not_exists,
    "list_append": _compile_list_append,
}
"""Function → its compiler, for each function in `update_terms.UPDATE_FUNCTIONS`."""
