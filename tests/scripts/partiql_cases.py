"""What the cases of PartiQL share: parameters, then one statement a line, and the text form of trees and values.

A case may begin with a line `parameters […]` (JSON); every later line is a statement of its own.
A line ending in `\\` continues on the next, with a line break in the statement.
"""

import json
from collections.abc import Callable
from typing import Any

from hashrange.errors import HashrangeError
from hashrange.expressions.partiql.tree import Constant, Data, ListData, MapData, Parameter
from hashrange.expressions.tree import Node
from tests.scripts.cases import refusal
from tests.scripts.trees import show_tree

Parameters = list[dict[str, Any]] | None


def statements_of(evaluate: Callable[[str, Parameters], str]) -> Callable[[str], str]:
    """A runner that shows the result of `evaluate` for each statement of a case, or its refusal."""

    def run(text: str) -> str:
        parameters: Parameters = None
        shown = []
        for line in text.replace("\\\n", "\0").split("\n"):
            if line.startswith("parameters "):
                parameters = json.loads(line.removeprefix("parameters ")) or None
                continue
            statement = line.replace("\0", "\n")
            try:
                result = evaluate(statement, parameters)
            except HashrangeError as error:
                result = refusal(error).replace("\n", " | ").removeprefix("fault: ")
                result = f"! {result}".rstrip()
            shown.append(f"{statement}\n    {result}")
        return "\n".join(shown)

    return run


def show_data(data: Data) -> str:
    """The text of data, with parameters as ?0, ?1, …"""
    if isinstance(data, Constant):
        return json.dumps(data.value, sort_keys=True, ensure_ascii=False)
    if isinstance(data, Parameter):
        return f"?{data.position}"
    if isinstance(data, ListData):
        return "[" + ", ".join(map(show_data, data.elements)) + "]"
    if isinstance(data, MapData):
        return "{" + ", ".join(f"{name}: {show_data(member)}" for name, member in data.members) + "}"
    return f"{data.type_name}<<" + ", ".join(map(show_data, data.members)) + ">>"


def show(node: Node, data: dict[str, Data]) -> str:
    """The text of a condition or operand of a statement."""
    return show_tree(node, lambda value: show_data(data[value.token]))
