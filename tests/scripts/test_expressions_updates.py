"""Updates by cases: the new item, then what UPDATED_OLD and UPDATED_NEW return."""

from hashrange.expressions.update import compile_update
from tests.scripts.cases import case_test
from tests.scripts.expression_cases import Setting, lines_of, show_json


def evaluate(text: str, setting: Setting) -> str:
    update = compile_update(text, setting.names, setting.values)
    new = update.apply(setting.item, setting.values)
    old_part, new_part = update.updated_old(setting.item), update.updated_new(new)
    return f"{show_json(new)}\n    old {show_json(old_part)}\n    new {show_json(new_part)}"


test_updates = case_test("expressions_updates.case", lines_of(evaluate))
