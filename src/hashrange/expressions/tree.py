"""What is an expression once it has been read? Trees of these nodes.

Names (`#a`) are resolved and value tokens (`:v`) typed while reading; what is not defined is marked, so that the
checks can say so in the service's order. Condition nodes never hold themselves deeper than the 300 operators that an
expression may have.
"""

from typing import NamedTuple, TypeAlias

from hashrange.items.types import Value

Values: TypeAlias = dict[str, Value]
"""`:token` → what it stands for."""


class DocumentPath(NamedTuple):
    """A document path: attribute names and list indices, resolved. `undefined` is the first `#token` without a name."""

    elements: tuple[str | int, ...]
    undefined: str | None = None


class ValueToken(NamedTuple):
    """A `:token` and the type of the value that the request gives for it; None when it gives none."""

    token: str
    type_name: str | None


class FunctionCall(NamedTuple):
    """A function and its operands, as written."""

    function: str
    operands: "tuple[Operand, ...]"


class Arithmetic(NamedTuple):
    """`left + right` or `left - right` in an update."""

    operator: str
    left: "Operand"
    right: "Operand"


Operand: TypeAlias = DocumentPath | ValueToken | FunctionCall | Arithmetic


class Comparison(NamedTuple):
    """`left operator right`, the operator one of = <> < <= > >=."""

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
    """Negation."""

    condition: "ConditionNode"


class And(NamedTuple):
    """True when all are; two or more."""

    conditions: "tuple[ConditionNode, ...]"


class Or(NamedTuple):
    """True when one is; two or more."""

    conditions: "tuple[ConditionNode, ...]"


ConditionNode: TypeAlias = Comparison | Between | Membership | FunctionCall | Not | And | Or
Node: TypeAlias = Operand | ConditionNode


class SetAction(NamedTuple):
    """`path = value` of an update's SET clause."""

    path: DocumentPath
    value: Operand


class ValueAction(NamedTuple):
    """`path :value` of an update's ADD or DELETE clause."""

    path: DocumentPath
    value: ValueToken
