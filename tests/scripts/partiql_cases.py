"""What the cases of PartiQL share: parameters, then one statement a line, and how trees and values are shown.

A case may begin with a line `parameters […]` (JSON); every later line is a statement of its own. A line ending in `\\` goes on in
the next, with a line break in the statement.
"""

import json
from collections.abc import Callable
from typing import Any

from hashrange.errors import HashrangeError
from hashrange.expressions.partiql.tree import Constant, Data, ListData, MapData, Parameter
from hashrange.expressions.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Membership,
    Node,
    Not,
    Or,
    Path,
    ValueToken,
)
from tests.scripts.cases import refusal

Parameters = list[dict[str, Any]] | None


def statements_of(evaluate: Callable[[str, Parameters], str]) -> Callable[[str], str]:
    """A runner that shows what `evaluate` gives for each statement of a case, or how it is refused."""

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
    """Data as JSON, parameters as ?0, ?1, …"""
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
    """A condition or operand, every pair of parentheses written out."""

    def shown(*nodes: Node) -> list[str]:
        return [show(one, data) for one in nodes]

    match node:
        case Path():
            return show_path(node)
        case ValueToken():
            return show_data(data[node.token])
        case Call():
            return f"{node.function}({', '.join(shown(*node.operands))})"
        case Comparison() | Arithmetic():
            left, right = shown(node.left, node.right)
            return f"({left} {node.operator} {right})"
        case Between():
            return "({} between {} and {})".format(*shown(*node))
        case Membership():
            return f"({show(node.operand, data)} in {', '.join(shown(*node.options))})"
        case Not():
            return f"(not {show(node.condition, data)})"
        case And():
            return f"({' and '.join(shown(*node.conditions))})"
        case Or():
            return f"({' or '.join(shown(*node.conditions))})"


def show_path(path: Path) -> str:
    return "".join([f"[{e}]" if isinstance(e, int) else f".{e}" for e in path.elements]).removeprefix(".")
