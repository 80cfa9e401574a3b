"""What else may a commit contain? Rows that participants add, such as index entries. Each participant is a file, and a line in `participants.py`.

A participant may refuse a commit, adds rows to it, and is called once it has been written. It takes part in writes of
the tables that it chose when they were opened, and is called for every table made, replaced or deleted. To start on a
table with rows, it requests a walk (`walks.py`) over them, and ignores writes to rows that are still ahead of the walk.
How to write one: docs/adr/0024-one-commit.md.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from hashrange.clock import Clock
from hashrange.errors import ApiError
from hashrange.items.types import Key, Row
from hashrange.limits import ITEM_COLLECTION_SIZE_MAX_BYTES, PARTITION_SIZE_MAX_BYTES
from hashrange.store.embedded.claims import Claims
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.streams import EmbeddedStreams
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import CountInitialPartitions, Partition, one_partition
from hashrange.tables.schema import Table

DrawDelay = Callable[[], float]
"""Returns the delay of the next commit's index entries, in seconds of service time."""


class Options(NamedTuple):
    """Options of a store, chosen when it is opened."""

    index_delay: DrawDelay | None = None
    """Delay of the entries of global indexes; None: they are written with their items."""
    collection_size_max_bytes: int = ITEM_COLLECTION_SIZE_MAX_BYTES
    """Size beyond which no item collection may grow."""
    ttl_delay_seconds: float = 0.0
    """How long after its expiry an item is deleted."""
    partition_size_max_bytes: int = PARTITION_SIZE_MAX_BYTES
    """If a source's partitions hold more on average, one is split."""
    initial_partitions: CountInitialPartitions = one_partition
    """Returns how many partitions a source of a new table has."""


class Terms(NamedTuple):
    """Parts of the store that a participant is made with."""

    clock: Clock
    options: Options
    streams: EmbeddedStreams
    find_table: Callable[[int], OpenTable | None]
    """Returns the current table of an id, or None."""
    find_index: Callable[[bytes], ReadSource | None]
    """Returns the index of a source id (6 bytes), or None."""
    has_passed: Callable[[bytes, Key], bool]
    """True if the walk that fills a source (6-byte id) has passed a key, or ended. Other keys are left to the walk."""
    claims: Claims
    """Claims on items, which keep other writers from an item."""
    late_sources: Counter[bytes]
    """Index (source id) → number of late entries: still to be written, and reported to no client."""
    wake: Callable[[], None]
    """Notifies the jobs of new work."""


class Participant:
    """Base class of all participants; does nothing itself. State that depends on the engine is read by `load`."""

    may_refuse = False
    """True if `refusals` is to be called."""
    needs_time = False
    """True if the participant uses the time of changes, which costs 0.6 µs to read."""
    place = 0
    """Position among all participants; set when the store is opened."""

    def load(self, engine: Engine) -> None:
        """Read state from an engine that was opened, or replaced another. Raises the engine's bare exceptions."""

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """Functions that complete what a newly opened engine holds half done: one commit each, before any request."""
        return iter(())

    def takes_part(self, table: Table) -> bool:
        """True if it takes part in writes to this table. Called once, when the table is opened or has changed."""
        raise NotImplementedError

    def follows(self, change: Change) -> bool:
        """True if it would add to, or refuse, this write, which leaves the table's item count and size unchanged.

        If no participant would, none is called.
        """
        return True

    def refusals(self, draft: Draft, changes: Sequence[Change]) -> Sequence[ApiError | None] | None:
        """For each change a reason against it, or None; None if all are accepted.

        `changes`: the commit's changes to items of tables that the participant chose; index entries are in
        `draft.entries`. A single write raises its reason, a transaction has it as a cancellation reason, a batch
        returns writes refused by TransactionConflictException or `errors.THROTTLED` as unprocessed. May read, and keep
        results in `draft.kept`. Raises the engine's bare exceptions.
        """
        return None

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add rows to the commit; callbacks for after it go to `draft.afterwards`. Raises bare exceptions."""

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        """Add what follows when a table is made (`old` is None), replaced, or deleted with its rows (`new` is None).

        `partitions`: the partitions of the table's own rows, in order of their hashes.
        """

    def partition_splits(self, draft: Draft, table: Table, partition: Partition, children: Sequence[Partition]) -> None:
        """Add what follows when a partition of the table, or of an index, is replaced by its two `children`."""

    def drain(self, draft: Draft, limit_rows: int) -> float | None:
        """Take at most `limit_rows` due rows from the participant's queue, and add what follows to the commit.

        Returns the seconds of service time until there is more to do, 0 if something was added; None if nothing waits.
        Raises the engine's bare exceptions.
        """
        return None

    def walks(self, table: Table) -> Sequence[bytes]:
        """Source ids (6 bytes, beginning with the table's id) to be filled from the table's rows."""
        return ()

    def derive(self, table: OpenTable, source_id: bytes, key: Key, row: Row) -> Any:
        """Derive from one row of the walk what `fill` is to add. Pure; may give way."""
        raise NotImplementedError

    def fill(self, draft: Draft, table: OpenTable, source_id: bytes, derived: Sequence[Any]) -> None:
        """Add to the source what `derive` returned for the walk's next rows, in their order."""
        raise NotImplementedError

    def filled(self, table: Table, source_id: bytes) -> Table:
        """The table's description after the walk, stored in the commit of its last slice."""
        return table
