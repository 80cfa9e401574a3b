"""What the cases of expressions share: settings, then one expression a line.

A case may begin with lines `item {…}`, `names {…}`, `values {…}` (JSON); every later line is an expression of its own.
Without them the item is empty, there are no names, and the values are `VALUES`.
A line ending in `\\` continues on the next.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hashrange.errors import HashrangeError
from hashrange.items.types import Item, Value
from tests.scripts.cases import refusal

VALUES: dict[str, Value] = {
    ":s": {"S": "abc"},
    ":t": {"S": "abd"},
    ":n": {"N": "5"},
    ":m": {"N": "12"},
    ":b": {"B": "AQI="},
    ":yes": {"BOOL": True},
    ":nil": {"NULL": True},
    ":ss": {"SS": ["abc", "x"]},
    ":ns": {"NS": ["5", "7"]},
    ":l": {"L": [{"S": "abc"}]},
    ":map": {"M": {"k": {"N": "1"}}},
}


class Setting(NamedTuple):
    """The item, names and values for the expressions of a case."""

    item: Item
    names: dict[str, str] | None
    values: dict[str, Value]


def lines_of(evaluate: Callable[[str, Setting], str]) -> Callable[[str], str]:
    """A runner that shows the result of `evaluate` for each expression of a case, or its refusal."""

    def run(text: str) -> str:
        setting = Setting({}, None, VALUES)
        shown = []
        for line in text.replace("\\\n", "").split("\n"):
            word, _, rest = line.partition(" ")
            if word in Setting._fields and rest.startswith("{"):
                setting = setting._replace(**{word: json.loads(rest)})
                continue
            try:
                result = evaluate(line, setting)
            except HashrangeError as error:
                result = refusal(error).replace("\n", " | ")
            shown.append(f"{line} → {result}")
        return "\n".join(shown)

    return run


def show_json(value: Any) -> str:
    """JSON with sorted names and without blanks."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
