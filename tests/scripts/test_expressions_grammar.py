"""The grammar by cases: each condition as its parsed tree."""

from hashrange.expressions.condition import read_checked_condition
from tests.scripts.cases import case_test
from tests.scripts.expression_cases import Setting, lines_of
from tests.scripts.trees import show_tree


def evaluate(text: str, setting: Setting) -> str:
    _, root, _ = read_checked_condition("ConditionExpression", text, setting.names, setting.values)
    return show_tree(root, lambda value: value.token)


test_grammar = case_test("expressions_grammar.case", lines_of(evaluate))
