"""Keys by cases: a key schema, then key maps; what a look-up says, and what an item says where it differs."""

import json
from collections.abc import Callable
from typing import Any

from hashrange.errors import ValidationException
from hashrange.items.types import Item, Key
from hashrange.tables.keys import item_key, lookup_key
from hashrange.tables.schema import Table
from tests.scripts.cases import case_test, refusal
from tests.unit.tables.key_tables import key_table


def key_or_refusal(make: Callable[[Table, Item], Key], table: Table, item: dict[str, Any]) -> str:
    try:
        return make(table, item)[8:].hex(" ", -2)
    except ValidationException as error:
        return refusal(error)


def evaluate_line(table: Table, text: str) -> str:
    item = json.loads(text)
    looked_up = key_or_refusal(lookup_key, table, item)
    stored = key_or_refusal(item_key, table, item)
    return f"{text}\n    {looked_up}" + ("" if stored == looked_up else f"\n    item: {stored}")


def evaluate(text: str) -> str:
    schema, *lines = text.split("\n")
    table = key_table(*schema.split())
    return "\n".join(evaluate_line(table, line) for line in lines)


test_keys = case_test("keys.case", evaluate)
