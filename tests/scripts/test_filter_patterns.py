"""Filter patterns by cases: which records match, and which values a list of a pattern accepts.

A case may have lines `record {…}` and `values […]` (JSON). A line that begins with `{` is a pattern,
which is tested on the record before it. A line that begins with `[` is a list of the pattern `{"v": …}`; it is tested
on each of the values, and on a record without `v`, which is shown as `absent`. Any other line is a pattern too.
"""

import json
from typing import Any

from hashrange.errors import HashrangeError
from hashrange.triggers.filter_patterns import compile_filters
from tests.scripts.cases import case_test, refusal


def evaluate(text: str) -> str:
    record: dict[str, Any] = {}
    values: list[Any] = []
    shown = []
    for line in text.split("\n"):
        word, _, rest = line.partition(" ")
        if word == "record":
            record = json.loads(rest)
        elif word == "values":
            values = json.loads(rest)
        else:
            try:
                came_out = accepted(line, values) if line.startswith("[") else outcome(line, record)
            except HashrangeError as error:
                came_out = refusal(error)
            shown.append(f"{line} → {came_out}")
    return "\n".join(shown)


def outcome(pattern: str, record: dict[str, Any]) -> str:
    return "matches" if compile_filters([pattern])(record) else "no match"


def accepted(elements: str, values: list[Any]) -> str:
    """The values that a list of a pattern accepts."""
    matches = compile_filters([f'{{"v": {elements}}}'])
    found = [json.dumps(value, ensure_ascii=False) for value in values if matches({"v": value})]
    return ", ".join(found + ["absent"] * matches({})) or "nothing"


test_filter_patterns = case_test("filter_patterns.case", evaluate)
