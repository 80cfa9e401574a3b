"""Which tables are open, and which participants take part in their writes? All tables of the catalog, by table id.
With its first write, a table chooses its participants, which costs a server with thousands of tables less than at
their opening.
"""

from collections.abc import Mapping, Sequence

from hashrange.errors import ResourceNotFoundException
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.store.embedded.participant import Participant
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import table_id_of


class StoredTable(OpenTable):
    """An open table, with its participants once it is written to."""

    __slots__ = ("is_always_followed", "needs_draft", "needs_time", "participants", "reads_items")

    participants: tuple[Participant, ...]
    needs_draft: bool
    needs_time: bool
    is_always_followed: bool
    reads_items: bool

    def choose(self, participants: Sequence[Participant]) -> None:
        """Choose those whose `takes_part` is true for the table, before its first write. They stay in this order."""
        schema = self.schema
        chosen = self.participants = tuple([one for one in participants if one.takes_part(schema)])
        have_add_row = [type(one).add_row is not Participant.add_row and not one.may_refuse for one in chosen]
        self.needs_draft = bool(self.entry_sources) or False in have_add_row
        """False if each participant adds its rows to a single write by `add_row`."""
        self.needs_time = True in [participant.needs_time for participant in chosen]
        """True if a participant of the table uses the service time of commits."""
        self.reads_items = True in [participant.reads_items for participant in chosen]
        """True if a participant of the table reads attributes of changed items."""
        self.is_always_followed = True in [type(participant).follows is Participant.follows for participant in chosen]
        """True if a participant is called for every write that changes an item: it does not override `follows`."""


class OpenTables:
    """All open tables of a store."""

    def __init__(self) -> None:
        self.participants: tuple[Participant, ...] = ()
        self.by_id: dict[int, StoredTable] = {}
        """Table id → table; changed by nobody else."""
        self.written: dict[int, StoredTable] = {}
        """Table id → table, of those that have chosen their participants; changed by nobody else."""

    def take_participants(self, participants: Sequence[Participant]) -> None:
        """Set the store's participants and their order, before any table is opened."""
        self.participants = tuple(participants)
        for place, participant in enumerate(participants):
            participant.place = place

    def open(self, schema: Table, partitions: Mapping[bytes, Sequence[Partition]]) -> StoredTable:
        """Open a new table, or replace an open one by its new version; `partitions`: source id → its partitions."""
        return self._opened(StoredTable(schema, partitions))

    def reopen(self, table: StoredTable) -> StoredTable:
        """Open a table anew whose description and partitions stay: it chooses its participants again."""
        opened = StoredTable.__new__(StoredTable)
        for name, value in vars(table).items():  # 3 µs; `copy.copy` takes 10
            setattr(opened, name, value)
        return self._opened(opened)

    def _opened(self, table: StoredTable) -> StoredTable:
        self.by_id[table.table_id] = table
        self.written.pop(table.table_id, None)
        return table

    def close(self, table_id: int) -> StoredTable:
        """Remove a deleted table, and return it."""
        self.written.pop(table_id, None)
        return self.by_id.pop(table_id)

    def replace_all(self, by_id: dict[int, StoredTable]) -> None:
        """Replace all tables by those of another engine, in order of table id.

        Whoever keeps the former `by_id` frees the former tables.
        """
        self.by_id, self.written = by_id, {}

    def find(self, table_id: int) -> StoredTable | None:
        """The table with id `table_id`, or None."""
        return self.by_id.get(table_id)

    def find_index(self, source_id: bytes) -> ReadSource | None:
        """The index with source id `source_id`; None if there is none, or it is being deleted."""
        opened = self.by_id.get(table_id_of(source_id))
        return (
            None if opened is None else next((one for one in opened.entry_sources if one.source_id == source_id), None)
        )

    def existing(self, table: OpenTable) -> StoredTable:
        """The current version of `table`, for a write, with its participants. Raises ResourceNotFoundException if the
        table has been deleted.

        After a restore, another table may have the id of a table that a caller still holds; it counts as deleted.
        """
        opened = self.written.get(table.table_id)
        if opened is None:
            opened = self._first_written(table.table_id)
        if opened is not table and opened.schema.uuid != table.schema.uuid:
            raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
        return opened

    def _first_written(self, table_id: int) -> StoredTable:
        """The current version of a table that has not been written to since it was opened. 4 µs, which the opening of
        thousands of tables does not take.
        """
        opened = self.by_id.get(table_id)
        if opened is None:
            raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
        opened.choose(self.participants)
        self.written[table_id] = opened
        return opened

    def is_current(self, table: OpenTable) -> bool:
        """True if `table` is itself the current version of that table."""
        return self.by_id.get(table.table_id) is table

    def all(self) -> Sequence[StoredTable]:
        """Every table, in order of table id."""
        return sorted(self.by_id.values(), key=lambda table: table.table_id)
