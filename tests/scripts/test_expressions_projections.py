"""Projections by cases: the projected part of the case's item."""

from hashrange.expressions.projection import compile_projection
from tests.scripts.cases import case_test
from tests.scripts.expression_cases import Setting, lines_of, show_json


def evaluate(text: str, setting: Setting) -> str:
    return show_json(compile_projection(text, setting.names).project(setting.item))


test_projections = case_test("expressions_projections.case", lines_of(evaluate))
