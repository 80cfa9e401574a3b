"""Conditions by cases: whether each holds for the case's item."""

from hashrange.expressions.condition import compile_condition
from tests.scripts.cases import case_test
from tests.scripts.expression_cases import Setting, lines_of


def evaluate(text: str, setting: Setting) -> str:
    condition = compile_condition("ConditionExpression", text, setting.names, setting.values)
    return "true" if condition.test(setting.item, setting.values) else "false"


test_conditions = case_test("expressions_conditions.case", lines_of(evaluate))
