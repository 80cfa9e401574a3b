"""What is a statement once it has been read? Conditions and operands are the nodes of all expressions (`expressions.tree`).

What is PartiQL's own: data (literals that may hold parameters), sources, and the five kinds of statement. Values stand in
conditions as ValueTokens, like `:v` of an expression; `Data` says what each comes to.
"""

from typing import Literal, NamedTuple, TypeAlias

from hashrange.errors import RequestFault
from hashrange.expressions.tree import ConditionNode, DocumentPath, SetAction, ValueAction
from hashrange.items.types import Value


class Constant(NamedTuple):
    """A literal without parameters, as a canonical value."""

    value: Value


class Parameter(NamedTuple):
    """The `?` at a position, counted from 0, and the type of the value that the request gives for it."""

    position: int
    type_name: str


class ListData(NamedTuple):
    """`[a, b]` with a parameter somewhere in it."""

    elements: "tuple[Data, ...]"


class MapData(NamedTuple):
    """`{'k': v}` with a parameter somewhere in it; of names that repeat, the last counts."""

    members: "tuple[tuple[str, Data], ...]"


class SetData(NamedTuple):
    """`<<a, b>>` with a parameter in it; `type_name` is SS, NS or BS."""

    type_name: str
    members: "tuple[Data, ...]"


Data: TypeAlias = Constant | Parameter | ListData | MapData | SetData


class TableOrIndex(NamedTuple):
    """What a statement reads or writes: a table, or one of its indexes."""

    table_name: str
    index_name: str | None


class OrderKey(NamedTuple):
    """One key of ORDER BY."""

    name: str
    is_descending: bool


class SelectStatement(NamedTuple):
    """`SELECT … FROM … WHERE … ORDER BY …`; no paths mean whole items, `fault` is what is wrong with one that is no path."""

    target: TableOrIndex
    paths: tuple[DocumentPath, ...]
    where: ConditionNode | None
    order: tuple[OrderKey, ...]
    fault: RequestFault | None


class InsertStatement(NamedTuple):
    """`INSERT INTO … VALUE {…}`."""

    target: TableOrIndex
    item: Data


class Returning(NamedTuple):
    """`RETURNING which image *`."""

    which: Literal["ALL", "MODIFIED"]
    image: Literal["OLD", "NEW"]


class UpdateStatement(NamedTuple):
    """`UPDATE … SET … REMOVE … WHERE … RETURNING …`: its actions by kind; set_add and set_delete are those of ADD and DELETE."""

    target: TableOrIndex
    sets: list[SetAction]
    removals: list[DocumentPath]
    additions: list[ValueAction]
    deletions: list[ValueAction]
    targets: list[DocumentPath]
    """All targets, in the order of the text."""
    where: ConditionNode | None
    returning: Returning | None


class DeleteStatement(NamedTuple):
    """`DELETE FROM … WHERE … RETURNING ALL OLD *`."""

    target: TableOrIndex
    where: ConditionNode | None
    returning: Returning | None


class ExistsStatement(NamedTuple):
    """`EXISTS(SELECT …)`, a member of a transaction."""

    select: SelectStatement


Tree: TypeAlias = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement | ExistsStatement
