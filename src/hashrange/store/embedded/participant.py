"""What may follow from every commit? Whatever a participant says: each is a file of its own, and one line in `participants.py`.

A participant is asked whether it refuses, adds rows to the same commit, and hears when that is in. It takes part in the writes
of the tables it chose when they were opened, and hears of every table that is made, replaced or deleted. One that begins on
a full table asks for a walk (`walks.py`), which hands it the table's rows, and leaves to the walk what that has still ahead.
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
"""Seconds of service time by which the entries of the next commit come later."""


class Options(NamedTuple):
    """What may be chosen when a store is opened."""

    index_delay: DrawDelay | None = None
    """By how much the entries of global indexes come later than their items; None: they come with them."""
    collection_size_max_bytes: int = ITEM_COLLECTION_SIZE_MAX_BYTES
    """No item collection may grow beyond it."""
    ttl_delay_seconds: float = 0.0
    """How long after its time an item is deleted."""
    partition_size_max_bytes: int = PARTITION_SIZE_MAX_BYTES
    """A source whose partitions hold more on average has one split."""
    initial_partitions: CountInitialPartitions = one_partition
    """How many partitions the sources of a new table begin with."""


class Terms(NamedTuple):
    """What participants are made with."""

    clock: Clock
    options: Options
    streams: EmbeddedStreams
    find_table: Callable[[int], OpenTable | None]
    """The table of an id, as it is now."""
    find_index: Callable[[bytes], ReadSource | None]
    """The index of a source (6 bytes), unless it, or its table, has been deleted."""
    has_passed: Callable[[bytes, Key], bool]
    """Has the walk that fills a source (6 bytes) passed a key of its table, or ended? What it has not, is left to it."""
    claims: Claims
    """Whoever claims an item keeps others from writing it."""
    late_sources: Counter[bytes]
    """Of how many entries of an index is nobody told yet, because they are still to be written."""
    wake: Callable[[], None]
    """To be called when there is new work for jobs."""


class Participant:
    """Base of all participants: one that does nothing. State that depends on the engine is read by `load`."""

    may_refuse = False
    """Is `refusals` to be asked?"""
    needs_time = False
    """Does it use the time of changes, which costs 0.6 µs to find out?"""
    place = 0
    """Among all participants; set when the store is opened."""

    def load(self, engine: Engine) -> None:
        """The engine has been opened, or replaced by another one. Raises the engine's bare exceptions."""

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """What was left half done in the engine that has been opened: each is one commit, before anybody is served."""
        return iter(())

    def takes_part(self, table: Table) -> bool:
        """Does it want to hear of the writes of this table? Asked once, when the table is opened or has changed."""
        raise NotImplementedError

    def follows(self, change: Change) -> bool:
        """Would it add to, or refuse, a single write that leaves item count and size of the table as they are? If nobody would, nobody is asked."""
        return True

    def refusals(self, draft: Draft, changes: Sequence[Change]) -> Sequence[ApiError | None] | None:
        """Why these changes may not be: a reason, or None, for each of them; None if all may.

        They are those of the commit that change an item of a table which it chose; entries of indexes stand in `draft.entries`. A single
        write raises its reason, a transaction has them as reasons of its cancellation, a batch leaves over what may succeed later
        (`errors.RETRYABLE`). May read, and keep what it found in `draft.kept`. Raises the engine's bare exceptions.
        """
        return None

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add rows to the commit, and to `draft.afterwards` what is to be done once it is in. Raises the engine's bare exceptions."""

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        """A table is made (`old` is None), replaced, or deleted with all its rows (`new` is None): add what follows.

        `partitions` are those of its own rows, in order of their hashes.
        """

    def partition_splits(self, draft: Draft, table: Table, partition: Partition, children: Sequence[Partition]) -> None:
        """A partition of the table, or of an index, is replaced by two: add what follows."""

    def drain(self, draft: Draft, limit_rows: int) -> float | None:
        """Take what is due from its queue, so many rows at most, and add what follows.

        Returns the seconds of service time until there is more to do, 0 when something was added; None when nothing waits.
        Raises the engine's bare exceptions.
        """
        return None

    def walks(self, table: Table) -> Sequence[bytes]:
        """The sources that are still to be filled from the table's rows: 6 bytes that begin with its id."""
        return ()

    def derive(self, table: OpenTable, source_id: bytes, key: Key, row: Row) -> Any:
        """What follows from a row that the walk has come to, for `fill`. Pure; may give way."""
        raise NotImplementedError

    def fill(self, draft: Draft, table: OpenTable, source_id: bytes, derived: Sequence[Any]) -> None:
        """Add to the source what follows from the next rows, one after the other."""
        raise NotImplementedError

    def filled(self, table: Table, source_id: bytes) -> Table:
        """The walk is at its end: the table as it is now, in the same commit."""
        return table
