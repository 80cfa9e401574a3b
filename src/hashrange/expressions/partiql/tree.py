"""Which nodes does a parsed statement have? Those of `expressions.tree`, and PartiQL's own.

PartiQL's own nodes are data (literals and parameters), tables or indexes, clauses, and five kinds of statement.
Conditions and SET values hold values as ValueTokens, like `:v` in expressions; each token stands for `Data`.
"""

from typing import Literal, NamedTuple, TypeAlias

from hashrange.errors import RequestFault
from hashrange.expressions.tree import Clauses, ConditionNode, DocumentPath
from hashrange.items.types import Value


class Constant(NamedTuple):
    """A literal without parameters, as a canonical value."""

    value: Value


class Parameter(NamedTuple):
    """The `?` number `position` of a statement, counted from 0, and the type of its value in the request."""

    position: int
    type_name: str


class ListData(NamedTuple):
    """`[a, b]` that contains a parameter."""

    elements: "tuple[Data, ...]"


class MapData(NamedTuple):
    """`{'k': v}` that contains a parameter; the last of repeated names counts."""

    members: "tuple[tuple[str, Data], ...]"


class SetData(NamedTuple):
    """`<<a, b>>` that contains a parameter; `type_name` is SS, NS or BS."""

    type_name: str
    members: "tuple[Data, ...]"


Data: TypeAlias = Constant | Parameter | ListData | MapData | SetData


class TableOrIndex(NamedTuple):
    """The table or index that a statement reads or writes."""

    table_name: str
    index_name: str | None


class OrderAttribute(NamedTuple):
    """One attribute of an ORDER BY clause, and whether DESC follows it."""

    name: str
    is_descending: bool


class SelectStatement(NamedTuple):
    """`SELECT … FROM … WHERE … ORDER BY …`; without paths, whole items.

    `fault` is the fault of the first computed element, reported only once the table is found.
    """

    target: TableOrIndex
    paths: tuple[DocumentPath, ...]
    where: ConditionNode | None
    order: tuple[OrderAttribute, ...]
    fault: RequestFault | None


class InsertStatement(NamedTuple):
    """`INSERT INTO … VALUE {…}`."""

    target: TableOrIndex
    item: Data


class Returning(NamedTuple):
    """`RETURNING ALL | MODIFIED OLD | NEW *`."""

    which: Literal["ALL", "MODIFIED"]
    image: Literal["OLD", "NEW"]


class UpdateStatement(NamedTuple):
    """`UPDATE … SET … REMOVE … WHERE … RETURNING …`; set_add becomes an addition, set_delete a deletion."""

    target: TableOrIndex
    clauses: Clauses
    where: ConditionNode | None
    returning: Returning | None


class DeleteStatement(NamedTuple):
    """`DELETE FROM … WHERE … RETURNING ALL OLD *`."""

    target: TableOrIndex
    where: ConditionNode | None
    returning: Returning | None


class ExistsStatement(NamedTuple):
    """`EXISTS(SELECT …)`, allowed only in a transaction."""

    select: SelectStatement


Tree: TypeAlias = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement | ExistsStatement
