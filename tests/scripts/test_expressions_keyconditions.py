"""Key conditions by cases: the terms of each."""

from tests.scripts.cases import case_test
from tests.scripts.expression_cases import Setting, lines_of
from tests.support.compiling import read_and_compile_key_condition


def evaluate(text: str, setting: Setting) -> str:
    terms = read_and_compile_key_condition(text, setting.names, setting.values).terms
    return "; ".join([f"{term.attribute} {term.operator} {' '.join(term.tokens)}" for term in terms])


test_key_conditions = case_test("expressions_keyconditions.case", lines_of(evaluate))
