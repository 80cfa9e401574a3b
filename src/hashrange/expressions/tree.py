"""Which nodes does a parsed expression have? Paths, value tokens, calls, conditions and update actions.

The parser resolves names (`#a`) and types of value tokens (`:v`) and marks undefined ones, so that checks report them
in the service's order. Checked conditions nest at most 300 deep, the limit of operators.
"""

from typing import NamedTuple, TypeAlias

from hashrange.items.types import Value

Values: TypeAlias = dict[str, Value]
"""`:token` → its value."""


class DocumentPath(NamedTuple):
    """A document path: resolved names and list indices. `undefined` is the first `#token` that is not defined."""

    elements: tuple[str | int, ...]
    undefined: str | None = None


class ValueToken(NamedTuple):
    """A `:token` (PartiQL: `?0`, `?1`, …) and its value's type; `type_name` is None if the token is not defined."""

    token: str
    type_name: str | None


class FunctionCall(NamedTuple):
    """A function call as written (PartiQL: name in lower case)."""

    function: str
    operands: "tuple[Operand, ...]"


class Arithmetic(NamedTuple):
    """`left + right` or `left - right` in an update."""

    operator: str
    left: "Operand"
    right: "Operand"


Operand: TypeAlias = DocumentPath | ValueToken | FunctionCall | Arithmetic


class Comparison(NamedTuple):
    """`left operator right`; the operator is one of = <> < <= > >=."""

    operator: str
    left: Operand
    right: Operand


class Between(NamedTuple):
    """`operand BETWEEN lower AND upper`."""

    operand: Operand
    lower: Operand
    upper: Operand


class Membership(NamedTuple):
    """`operand IN (options)`."""

    operand: Operand
    options: tuple[Operand, ...]


class Not(NamedTuple):
    """`NOT condition`."""

    condition: "ConditionNode"


class And(NamedTuple):
    """At least two conditions joined by AND."""

    conditions: "tuple[ConditionNode, ...]"


class Or(NamedTuple):
    """At least two conditions joined by OR."""

    conditions: "tuple[ConditionNode, ...]"


MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Operator of a comparison → the operator that says the same with left and right exchanged."""
ConditionNode: TypeAlias = Comparison | Between | Membership | FunctionCall | Not | And | Or
Node: TypeAlias = Operand | ConditionNode


def split_conditions(where: ConditionNode | None) -> list[ConditionNode]:
    """The conditions that AND joins, in the order of the text, regardless of parentheses; empty without any."""
    parts: list[ConditionNode] = []
    pending = [] if where is None else [where]
    while pending:
        node = pending.pop()
        if isinstance(node, And):
            pending.extend(node.conditions[::-1])
        else:
            parts.append(node)
    return parts


class SetAction(NamedTuple):
    """`path = value` of an update's SET clause."""

    path: DocumentPath
    value: Operand


class ValueAction(NamedTuple):
    """`path :value` of an update's ADD or DELETE clause."""

    path: DocumentPath
    value: ValueToken


class Clauses(NamedTuple):
    """An update's actions by clause, and the paths that they change, each in text order."""

    sets: list[SetAction]
    removals: list[DocumentPath]
    additions: list[ValueAction]
    deletions: list[ValueAction]
    targets: list[DocumentPath]
