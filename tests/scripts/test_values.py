"""Values by cases: each line of input is one attribute value as JSON."""

import json

from hashrange.errors import HashrangeError
from hashrange.items.values import check_value
from tests.scripts.cases import case_test, refusal


def evaluate_line(text: str) -> str:
    try:
        canonical, size_bytes = check_value(json.loads(text))
    except HashrangeError as error:
        return refusal(error).replace("\n", " | ").encode(errors="backslashreplace").decode()
    return f"{json.dumps(canonical, ensure_ascii=False)} ({size_bytes} bytes)"


def evaluate(text: str) -> str:
    return "\n".join(evaluate_line(line) for line in text.split("\n"))


test_values = case_test("values.case", evaluate)
