"""Which tables are open, and who takes part in their writes? By table id, as the catalog has them now."""

from collections.abc import Sequence
from typing import NamedTuple

from hashrange.errors import ResourceNotFoundException
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.store.embedded.participant import Participant
from hashrange.tables.schema import Table


class OpenTable(NamedTuple):
    """A table that is there."""

    table: Table
    participants: tuple[Participant, ...]
    """Those that chose it, in their order."""
    needs_time: bool
    """One of them uses the time of changes."""


class OpenTables:
    """All of a store."""

    def __init__(self) -> None:
        self.participants: tuple[Participant, ...] = ()
        self._by_id: dict[int, OpenTable] = {}

    def open(self, table: Table) -> None:
        """The catalog has this table now, new or in place of what it was."""
        chosen = tuple([participant for participant in self.participants if participant.takes_part(table)])
        needs_time = any(participant.needs_time for participant in chosen)
        self._by_id[table.table_id] = OpenTable(table, chosen, needs_time)

    def close(self, table_id: int) -> None:
        """It is gone."""
        del self._by_id[table_id]

    def close_all(self) -> None:
        """The engine is another one."""
        self._by_id.clear()

    def find(self, table_id: int) -> Table | None:
        """The table of that id, if there is one."""
        opened = self._by_id.get(table_id)
        return None if opened is None else opened.table

    def existing(self, table: Table) -> OpenTable:
        """The table as it is now. Raises ResourceNotFoundException when it is gone."""
        opened = self._by_id.get(table.table_id)
        if opened is None:
            raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
        return opened

    def is_current(self, table: Table) -> bool:
        """Is it still exactly this one?"""
        return self.find(table.table_id) is table

    def all(self) -> Sequence[Table]:
        """Every table, by table id."""
        return sorted([opened.table for opened in self._by_id.values()], key=lambda table: table.table_id)
