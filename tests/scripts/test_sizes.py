"""Item sizes by cases: each line of input is one item as JSON; both ways of counting must agree."""

import json

from hashrange.items.sizes import item_size_bytes
from hashrange.items.values import check_item
from tests.scripts.cases import case_test


def evaluate_line(text: str) -> str:
    item, size_bytes = check_item(json.loads(text))
    assert item_size_bytes(item) == size_bytes
    return f"{size_bytes:3} {text}"


def evaluate(text: str) -> str:
    return "\n".join(evaluate_line(line) for line in text.split("\n"))


test_sizes = case_test("sizes.case", evaluate)
