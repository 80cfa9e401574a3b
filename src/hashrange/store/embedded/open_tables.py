"""Which tables are open, and who takes part in their writes? By table id, as the catalog has them now."""

from collections.abc import Mapping, Sequence

from hashrange.errors import ResourceNotFoundException
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.store.embedded.participant import Participant
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import table_id_of


class StoredTable(OpenTable):
    """A table opened by this store."""

    __slots__ = ("is_always_followed", "needs_time", "participants")

    def __init__(
        self,
        schema: Table,
        partitions: Mapping[bytes, Sequence[Partition]],
        participants: tuple[Participant, ...],
    ) -> None:
        """`participants` are those that chose it, in their order."""
        super().__init__(schema, partitions)
        self.participants = participants
        self.needs_time = any(participant.needs_time for participant in participants)
        """One of them uses the time of changes."""
        self.is_always_followed = any(type(participant).follows is Participant.follows for participant in participants)
        """One of them follows every write."""


class OpenTables:
    """All of a store."""

    def __init__(self) -> None:
        self.participants: tuple[Participant, ...] = ()
        self._by_id: dict[int, StoredTable] = {}

    def take_participants(self, participants: Sequence[Participant]) -> None:
        """All that there are, in their order; before any table is opened."""
        self.participants = tuple(participants)
        for place, participant in enumerate(participants):
            participant.place = place

    def open(self, schema: Table, partitions: Mapping[bytes, Sequence[Partition]]) -> StoredTable:
        """The catalog has this table now, new or in place of what it was."""
        chosen = tuple([participant for participant in self.participants if participant.takes_part(schema)])
        opened = self._by_id[schema.table_id] = StoredTable(schema, partitions, chosen)
        return opened

    def close(self, table_id: int) -> None:
        """It is gone."""
        del self._by_id[table_id]

    def close_all(self) -> None:
        """The engine is another one."""
        self._by_id.clear()

    def find(self, table_id: int) -> StoredTable | None:
        """The table of that id, if there is one."""
        return self._by_id.get(table_id)

    def find_index(self, source_id: bytes) -> ReadSource | None:
        """The index of that source, unless it, or its table, has been deleted."""
        opened = self._by_id.get(table_id_of(source_id))
        return None if opened is None else next((one for one in opened.indexes if one.source_id == source_id), None)

    def existing(self, table: OpenTable) -> StoredTable:
        """The table as it is now. Raises ResourceNotFoundException when it is gone."""
        opened = self._by_id.get(table.table_id)
        if opened is None:
            raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
        return opened

    def is_current(self, table: OpenTable) -> bool:
        """Is it still exactly this one?"""
        return self._by_id.get(table.table_id) is table

    def all(self) -> Sequence[StoredTable]:
        """Every table, by table id."""
        return sorted(self._by_id.values(), key=lambda table: table.table_id)
