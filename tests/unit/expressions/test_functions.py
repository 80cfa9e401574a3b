"""Is every function of expressions implemented? A function without an implementation raises,
and is never mistaken for another one.
"""

import pytest

from hashrange.expressions import condition, update
from hashrange.expressions.condition import CONDITION_FUNCTIONS, compile_condition
from hashrange.expressions.predicates import CONDITION_COMPILERS, OPERAND_FUNCTIONS
from hashrange.expressions.tree import DocumentPath, FunctionCall, ValueToken
from hashrange.expressions.update import compile_update
from hashrange.expressions.update_terms import UPDATE_FUNCTIONS
from hashrange.expressions.update_values import VALUE_COMPILERS, compile_value
from hashrange.items.types import Value

VALUES: dict[str, Value] = {":v": {"S": "v"}}


def test_every_function_of_conditions_has_a_meaning() -> None:
    assert set(CONDITION_FUNCTIONS) == {*CONDITION_COMPILERS, *OPERAND_FUNCTIONS}
    assert not set(CONDITION_COMPILERS) & set(OPERAND_FUNCTIONS)


def test_every_function_of_updates_has_a_meaning() -> None:
    assert set(UPDATE_FUNCTIONS) == set(VALUE_COMPILERS)


@pytest.mark.parametrize("text", ["ends_with(s, :v)", "NOT ends_with(s, :v)", "s = :v OR ends_with(s, :v)"])
def test_a_function_of_conditions_that_only_the_checks_know_fails(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(condition.CONDITION_FUNCTIONS, "ends_with", 2)
    with pytest.raises(AssertionError, match="ends_with"):
        compile_condition("FilterExpression", text, None, VALUES)


def test_an_operand_whose_function_is_unknown_fails() -> None:
    from hashrange.expressions.predicates import compile_operand

    with pytest.raises(AssertionError, match="length"):
        compile_operand(FunctionCall("length", (DocumentPath(("s",)),)), {})


def test_a_function_of_updates_that_only_the_checks_know_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "UPDATE_FUNCTIONS", UPDATE_FUNCTIONS | {"list_prepend"})
    with pytest.raises(AssertionError, match="list_prepend"):
        compile_update("SET l = list_prepend(l, :l)", None, {":l": {"L": []}})
    with pytest.raises(AssertionError, match="list_prepend"):
        compile_value(FunctionCall("list_prepend", (DocumentPath(("l",)), ValueToken(":l", "L"))))
