"""Which tables are open, and which participants take part in their writes? The catalog's current tables, by table id."""

from collections.abc import Mapping, Sequence

from hashrange.errors import ResourceNotFoundException
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.store.embedded.participant import Participant
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import table_id_of


class StoredTable(OpenTable):
    """An open table with its participants."""

    __slots__ = ("is_always_followed", "needs_time", "participants")

    def __init__(
        self,
        schema: Table,
        partitions: Mapping[bytes, Sequence[Partition]],
        participants: tuple[Participant, ...],
    ) -> None:
        """`participants`: those that chose this table, in order."""
        super().__init__(schema, partitions)
        self.participants = participants
        self.needs_time = any(participant.needs_time for participant in participants)
        """True if a participant uses the time of changes."""
        self.is_always_followed = any(type(participant).follows is Participant.follows for participant in participants)
        """True if a participant follows every write."""


class OpenTables:
    """All open tables of a store."""

    def __init__(self) -> None:
        self.participants: tuple[Participant, ...] = ()
        self._by_id: dict[int, StoredTable] = {}

    def take_participants(self, participants: Sequence[Participant]) -> None:
        """Set all participants, in order, before any table is opened."""
        self.participants = tuple(participants)
        for place, participant in enumerate(participants):
            participant.place = place

    def open(self, schema: Table, partitions: Mapping[bytes, Sequence[Partition]]) -> StoredTable:
        """Open a new table, or the new version of one."""
        chosen = tuple([participant for participant in self.participants if participant.takes_part(schema)])
        opened = self._by_id[schema.table_id] = StoredTable(schema, partitions, chosen)
        return opened

    def close(self, table_id: int) -> None:
        """Remove a deleted table."""
        del self._by_id[table_id]

    def close_all(self) -> None:
        """Remove all tables: the engine is replaced."""
        self._by_id.clear()

    def find(self, table_id: int) -> StoredTable | None:
        """The table of that id, or None."""
        return self._by_id.get(table_id)

    def find_index(self, source_id: bytes) -> ReadSource | None:
        """The index of that source id, or None."""
        opened = self._by_id.get(table_id_of(source_id))
        return None if opened is None else next((one for one in opened.indexes if one.source_id == source_id), None)

    def existing(self, table: OpenTable) -> StoredTable:
        """The current version of a table. Raises ResourceNotFoundException if it has been deleted."""
        opened = self._by_id.get(table.table_id)
        if opened is None:
            raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
        return opened

    def is_current(self, table: OpenTable) -> bool:
        """True if `table` is the current version."""
        return self._by_id.get(table.table_id) is table

    def all(self) -> Sequence[StoredTable]:
        """Every table, in order of table id."""
        return sorted(self._by_id.values(), key=lambda table: table.table_id)
