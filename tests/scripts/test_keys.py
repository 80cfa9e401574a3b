"""Keys by cases: a key schema, then key maps; the result of a look-up, and of an item's key where it differs."""

import json
from collections.abc import Callable
from typing import Any

from hashrange.errors import ValidationException
from hashrange.items.types import Item, Key
from hashrange.tables.open_table import OpenTable
from tests.scripts.cases import case_test, refusal
from tests.unit.tables.key_tables import key_table


def key_or_refusal(make: Callable[[Item], Key], item: dict[str, Any]) -> str:
    try:
        return make(item)[8:].hex(" ", -2)
    except ValidationException as error:
        return refusal(error)


def evaluate_line(table: OpenTable, text: str) -> str:
    item = json.loads(text)
    looked_up = key_or_refusal(table.lookup_key, item)
    stored = key_or_refusal(table.item_key, item)
    return f"{text}\n    {looked_up}" + ("" if stored == looked_up else f"\n    item: {stored}")


def evaluate(text: str) -> str:
    schema, *lines = text.split("\n")
    table = key_table(*schema.split())
    return "\n".join(evaluate_line(table, line) for line in lines)


test_keys = case_test("keys.case", evaluate)
