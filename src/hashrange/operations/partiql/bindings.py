"""What does a statement come to for a table? Worked out once for both, and kept for as long as the statement is.

A statement is compiled once for everybody, so what it comes to must follow the table that it meets: of each statement the last one is kept.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from hashrange.expressions.partiql.statement import Statement
from hashrange.tables.open_table import OpenTable

Bound = TypeVar("Bound")


class Bindings(Generic[Bound]):
    """Statement → the table that it met last, and what it comes to for that one."""

    __slots__ = ("_work_out",)

    def __init__(self, work_out: Callable[[OpenTable, Statement], Bound]) -> None:
        """`work_out` raises ValidationException for a statement that does not fit the table; that is not kept."""
        self._work_out = work_out

    def find(self, table: OpenTable, statement: Statement) -> Bound:
        """What the statement comes to for this table. 0.2 µs when that is known. Raises as `work_out`."""
        kept: tuple[OpenTable, Bound] | None = statement.kept_beside.get(self)
        if kept is not None and kept[0] is table:
            return kept[1]
        bound = self._work_out(table, statement)
        statement.kept_beside[self] = (table, bound)
        return bound
