"""How does a feature add rows to the commits of items, such as index entries? As a participant, in a file of its own;
`participants.py` lists all participants.

A participant may refuse a commit, add rows to it, and have functions called once the commit has been written. It takes
part in writes of the tables that it chose when they were opened, and is called for every table made, replaced or
deleted. For a table that already has rows, it may request a walk (`walks.py`) over them; it then ignores writes to rows
that the walk has not passed yet.
How to write one: docs/adr/0024-one-commit.md.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from hashrange.clock import Clock
from hashrange.errors import ApiError
from hashrange.items.types import Key, Row
from hashrange.limits import ITEM_COLLECTION_SIZE_MAX_BYTES, PARTITION_SIZE_MAX_BYTES, VECTOR_MEMORY_BYTES
from hashrange.store.embedded.claims import Claims
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine, WriteBatch
from hashrange.store.embedded.streams import EmbeddedStreams
from hashrange.store.embedded.vector_parts import VectorParts
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import CountInitialPartitions, Partition, one_partition
from hashrange.tables.schema import Table

RECOVERY_MAX_BYTES = 10_000_000_000
DrawDelay = Callable[[], float]
"""Returns the delay of the next commit's entries of global indexes, in seconds of service time."""


class Options(NamedTuple):
    """Options of a store, chosen when it is opened."""

    index_delay: DrawDelay | None = None
    """Draws the delay of each commit's entries of global indexes; None: they are written with their items."""
    collection_size_max_bytes: int = ITEM_COLLECTION_SIZE_MAX_BYTES
    """Size beyond which no item collection may grow."""
    ttl_delay_seconds: float = 0.0
    """How long after its expiry an item is deleted."""
    partition_size_max_bytes: int = PARTITION_SIZE_MAX_BYTES
    """If the partitions of a source hold more than this on average, one of them is split."""
    initial_partitions: CountInitialPartitions = one_partition
    """Returns how many partitions a new source begins with."""
    recovery_max_bytes: int = RECOVERY_MAX_BYTES
    """Length of all records that are kept for point-in-time recovery, of all tables together."""
    vector_memory_bytes: int = VECTOR_MEMORY_BYTES
    """Most memory of the parts of vector indexes, of all stores on the event loop."""


class Terms(NamedTuple):
    """Options, objects and functions of a store that the maker of a participant is called with."""

    clock: Clock
    options: Options
    streams: EmbeddedStreams
    find_table: Callable[[int], OpenTable | None]
    """Returns the current version of the table with an id, or None if there is none."""
    find_index: Callable[[bytes], ReadSource | None]
    """Returns the index with a source id (6 bytes); None if there is none, or it is being deleted."""
    has_passed: Callable[[bytes, Key], bool]
    """(source id, item key) → False if a walk fills the source and has not passed the item: ignore writes to it."""
    claims: Claims
    """The claims on items: other writes of a claimed item wait."""
    late_sources: Counter[bytes]
    """Source id of an index → number of its late entries that are still to be written."""
    wake: Callable[[], None]
    """Notifies the jobs of new work."""
    vector_parts: VectorParts
    """The parts of vector indexes in memory, which follow commits."""


class Participant:
    """Base class of all participants. Each overrides `takes_part`, and the other methods that it needs.

    State that depends on the engine is read by `read`, and taken over by `load`.
    """

    may_refuse = False
    """True if `refusals` must be called before a commit."""
    needs_time = False
    """True if the participant uses the service time of commits, which takes 0.6 µs to read."""
    reads_items = False
    """True if the participant reads attributes of items before and after a change, of those with the table's
    `followed_names`. Of large items, they have been decoded when the participant is called.
    """
    place = 0
    """Number, from 0, in the list of all participants; set when the store is opened."""

    def read(self, engine: Engine, tables: Sequence[Table]) -> Any:
        """Read from an engine that was opened what `load` takes over. `tables`: all that it holds.

        On any thread, while the participant may still serve another engine, so it changes nothing. Raises
        StorageCorruption and the engine's bare exceptions.
        """
        return None

    def load(self, engine: Engine, stored: Any) -> None:
        """Take over what `read` returned of `engine`, which was opened, or has replaced another. Others wait meanwhile,
        so it takes no longer if there are many tables.
        """

    def content(self) -> Sequence[dict[Any, Any]]:
        """What takes long to free of what `load` took over; other dicts take its place when `load` is called again."""
        return ()

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """Yield functions that complete work found half done in a newly opened engine, such as late index entries.

        Each fills the draft of one commit; all are called before any request is served.
        """
        return iter(())

    def takes_part(self, table: Table) -> bool:
        """True if the participant takes part in writes to `table`. Called with the first write after the table is
        opened or has changed, and before `walks`.
        """
        raise NotImplementedError

    def follows(self, change: Change, engine: Engine) -> bool:
        """True if the participant would refuse `change` or add rows to its commit.

        Called only for the change of a single write (`Store.mutate`) that leaves the table's item count and size as
        they are. If no participant follows it, none is called, and the row is written alone. `engine`: for reading rows
        as they are before the commit. Raises StorageCorruption and the engine's bare exceptions.
        """
        return True

    def refusals(self, draft: Draft, changes: Sequence[Change]) -> Sequence[ApiError | None] | None:
        """For each change the error that refuses it, or None; in place of the list None if all changes are accepted.

        `changes`: the commit's changes to items of tables that the participant chose; index entries are in
        `draft.entries`. A single write raises the error, a transaction reports it as a cancellation reason, and
        BatchWriteItem returns a write refused by TransactionConflictException or `errors.THROTTLED` as unprocessed (but
        raises the latter if it wrote nothing). An implementation may read rows, and keep results for `add` in
        `draft.kept`. Raises StorageCorruption and the engine's bare exceptions.
        """
        return None

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add to the draft rows that follow from `changes`; to `draft.afterwards`, functions to call after the commit.

        Raises the engine's bare exceptions.
        """

    def add_row(self, batch: WriteBatch, change: Change, afterwards: list[Callable[[], object]]) -> None:
        """The same as `add` for the change of a single write (`Store.mutate`) to a table without indexes: adds to
        `batch` the rows that follow from it, and to `afterwards` functions to call after the commit. Such a write has
        no draft if all participants of the table override this, and none may refuse. Raises the engine's bare
        exceptions.
        """
        raise NotImplementedError

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        """Add to the draft how the participant's rows change when a table is made (`old` is None), replaced, or deleted
        (`new` is None).

        `partitions`: the partitions of the table's own rows, in order of their hashes; empty for a deleted table.
        """

    def partition_splits(self, draft: Draft, table: Table, partition: Partition, children: Sequence[Partition]) -> None:
        """Add to the draft how the participant's rows change when two `children` replace `partition`, of the table or
        an index.
        """

    def walks(self, table: Table) -> Sequence[bytes]:
        """Source ids (6 bytes, beginning with the table's id) that a walk over the table's rows is to fill;
        none if the participant does not take part in writes to the table. On any thread.
        """
        return ()

    def derive(self, table: OpenTable, source_id: bytes, key: Key, row: Row) -> Any:
        """Derive, from a row that a walk has read, what `fill` is to add to the source.

        Changes nothing; may give way.
        """
        raise NotImplementedError

    def fill(self, draft: Draft, table: OpenTable, source_id: bytes, derived: Sequence[Any]) -> None:
        """Add to the source what `derive` returned for each of the walk's next rows, in the order of the rows."""
        raise NotImplementedError

    def filled(self, table: Table, source_id: bytes) -> Table:
        """The description of the table to be stored with the walk's last slice; `table` itself if nothing changes."""
        return table
