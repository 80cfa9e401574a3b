"""How is work on a statement and its table done only once?
Its result is cached with the statement, for the last table used.

All requests share a compiled statement. The table that it names may be changed, and differs between accounts and
Regions: only the last table's result is kept.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from hashrange.expressions.partiql.statement import Statement
from hashrange.tables.open_table import OpenTable

Bound = TypeVar("Bound")


class LastTableCache(Generic[Bound]):
    """Cache: statement → the last table used with it, and the result of `work_out` for both."""

    __slots__ = ("_work_out",)

    def __init__(self, work_out: Callable[[OpenTable, Statement], Bound]) -> None:
        """`work_out` raises ValidationException for a statement that does not fit the table; errors are not cached."""
        self._work_out = work_out

    def find(self, table: OpenTable, statement: Statement) -> Bound:
        """Result of `work_out` for this table and statement; 0.2 µs if cached. Raises what `work_out` raises."""
        kept: tuple[OpenTable, Bound] | None = statement.attached_values.get(self)
        if kept is not None and kept[0] is table:
            return kept[1]
        bound = self._work_out(table, statement)
        statement.attached_values[self] = (table, bound)
        return bound
