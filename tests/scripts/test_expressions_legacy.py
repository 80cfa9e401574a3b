"""The legacy parameters by cases: `expected`, `filter`, `keys` or `updates`, then JSON; an operator between them."""

import json

from hashrange.expressions.legacy import attribute_updates, expected_condition, filter_condition, key_conditions
from tests.scripts.cases import case_test
from tests.scripts.expression_cases import Setting, lines_of, show_json


def evaluate(text: str, setting: Setting) -> str:
    word, _, rest = text.partition(" ")
    operator = None
    if not rest.startswith("{"):
        operator, _, rest = rest.partition(" ")
    members = json.loads(rest)
    if word == "updates":
        return show_json(attribute_updates(members).apply(setting.item, {}))
    if word == "keys":
        condition, values = key_conditions(members)
        return "; ".join(
            [f"{t.attribute} {t.operator} {show_json([values[token] for token in t.tokens])}" for t in condition.terms]
        )
    if word == "filter":
        test = filter_condition(members, operator, "ScanFilter")
    else:
        test = expected_condition(members, operator)
    if test is None:
        return "no condition"
    return "true" if test.test(setting.item, {}) else "false"


test_legacy = case_test("expressions_legacy.case", lines_of(evaluate))
