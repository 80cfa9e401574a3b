"""What does a store promise? This interface, the same on one machine and on many.

`Store` is for operations, with `Streams` (`streams.py`); `Durability` for the code that sends replies, `Maintenance`
for jobs, `Documents` for what is no item (`documents.py`). A store on one machine also offers `LocalMaintenance`,
`RowCopies` for rows as of one moment (`row_copies.py`), and `Copying` (`copying.py`).

Ordering: rows of one source are ordered by the bytes of their keys. Durability: a change is committed, whole, when
`mutate` or `transact` returns, and is durable once `durable_position()` has reached the `position()` read after that; a
reply whose content depends on a commit is held until then. Sharing: one process, one event loop. Between reading the
old row and committing the new one a store may let other requests run, and may call the plan again; the embedded store
does so only if long work on the rows (reading, planning, deriving index entries) gives way, or the engine is
stalled.

Outcomes: the outcome of a commit is lost if the reply to it does not reach this process from the server that commits.
The store then finds the outcome by the commit's request id, or commits again what never took place, exactly once in
all. It raises OutcomeUnknown only if it cannot find the outcome within its limit of time or attempts.

Errors: besides those named at each method, only `StorageError` (for the operator) and the errors of a plan are raised.
A write or `snapshot_get` that meets an item of a running transaction raises TransactionConflictException, or
TransactionRefused with it; in the embedded store none ever meets one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import msgspec

from hashrange.errors import ApiError, HashrangeError, StorageError
from hashrange.items.types import Key, Row
from hashrange.soon import Soon
from hashrange.store.documents import Documents
from hashrange.store.request_ids import RequestId
from hashrange.store.statistics import Statistics
from hashrange.store.streams import Streams
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.span import Span
from hashrange.vectors.search import FoundEntries, VectorQuery


class Page(msgspec.Struct, frozen=True, gc=False):
    """Rows of a span, in order."""

    rows: list[Row]
    size_bytes: int
    """Sum of the DynamoDB item sizes of `rows`."""
    last_key: Key | None
    """Key of the last row, if a limit or the length of the rows ended the page; None if the span ended first."""


class TransactionStep(NamedTuple):
    """One action of a transaction. No two steps of a transaction name the same item."""

    table: OpenTable
    key: Key | None
    """None if the action's key does not fit the table; the plan is then called with None as old row, and refuses."""
    plan: Plan


class IdempotencyToken(NamedTuple):
    """Makes repeated requests execute a transaction only once. Stored in the transaction's commit."""

    name: bytes
    """Account, Region and the client's token text, as one key."""
    digest: bytes
    """Hash of the request; the same token with another digest is refused."""
    now_seconds: float
    """Service time of the request."""
    expires_at_seconds: float
    """Service time from which the same token starts a new transaction."""
    report: Callable[[Sequence[Change]], bytes]
    """Encodes the part of the committed changes that a replay (a later request with the token) must return. Pure."""


class Transacted(NamedTuple):
    """A transaction that took place, now or when its token was first used."""

    changes: Sequence[Change]
    """One change for each step, in order; a change with `old == new` wrote nothing. Empty for a replay."""
    report: bytes | None = None
    """For a replay: the result of `IdempotencyToken.report` when the transaction took place; otherwise None."""


SeeChanges = Callable[[Sequence[Change]], None]
"""Called with the changes of one commit, right after it and before anything else runs.

It must be quick and must not raise.
"""
ItemPlaces = Sequence[tuple[OpenTable, Key]]
"""Rows: table and key of each."""
Payer = list[Any] | None
"""The meter of the request that pays for a call: what it has consumed so far (`operations/meter.py`). While requests
pass a front, it tells of the request too (`front.RequestMeter`). None: the call belongs to no request."""
DelayOf = Callable[[Sequence[Change], Payer], float]
"""Returns the delay of the entries of global indexes that follow from the changes of one commit,
in seconds of service time. Is given the meter of the request that makes the commit; None: no request does."""


class TransactionRefused(HashrangeError):
    """Steps of a transaction, or rows of a `snapshot_get`, were refused, so nothing was done.

    `reasons`: for each step or row, in order, the error that refuses it, or None.
    """

    def __init__(self, reasons: list[ApiError | None]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Backfill(NamedTuple):
    """A new index, or a queue of expiries, that is being filled from a table's rows."""

    table: Table
    source_id: bytes
    """6-byte source id of the index or queue."""


TableChanged = Callable[[OpenTable | None, OpenTable | None], None]
"""Is called with a table as it was, None if it is new, and as it is now, None if it has been deleted.
Both are None if all tables have been replaced."""


class Catalog(Protocol):
    """The tables, by (account, Region, name). Reads use a view in memory; writes are compare-and-set commits.

    The view may be out of date: if other servers change tables, it may lack a new table, have a deleted one, or one as
    it was before a change, for a while. So what the view has is only where to look: the store refuses rows of tables
    and indexes that no longer exist, and writes are made to the table as it is. Changes through this catalog are in its
    view at once; a refused change updates the view.
    """

    @property
    def is_late(self) -> bool:
        """True if other servers change tables too, so that what was not found is worth a `look_up`."""

    def find(self, account: str, region: str, name: str) -> OpenTable | None:
        """The table with this name, in any state; None if there is none."""

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """A live, read-only view of one account and Region: name → table."""

    def elsewhere(self, name: str) -> Collection[tuple[str, str]]:
        """(account, Region) of every table of that name, in any order, valid until the next change: for the admin API,
        and for the log if a table is missing.
        """

    def all_tables(self) -> Sequence[OpenTable]:
        """Every table of all accounts and Regions, in order of table id, for operators; without `importing`."""

    def importing(self) -> Sequence[OpenTable]:
        """The tables that imports fill (`Table.is_importing`), which no other method finds but `find_id`."""

    def find_id(self, table_id: int) -> OpenTable | None:
        """The table with this id, in any state; None if there is none."""

    def on_change(self, changed: TableChanged) -> None:
        """Call `changed` after each change of a table's description or partitions, while the catalog exists."""

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Refresh the view for these names; True if that changed the view."""

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """Store the table `make(table_id)` under the next table id; None (nothing done) if the table's name is taken,
        which does not matter while it is being imported.

        `make` may be called again.
        """

    async def replace(self, old: Table, new: Table) -> bool:
        """Replace the table `old` by `new`; False (nothing done) if the stored table differs from `old`, or the name of
        a table whose import ends is taken.

        A new index (CREATING) has no entries until `LocalMaintenance.backfill` has made them. Entries of an index that
        is DELETING or missing in `new` are deleted in the same commit.
        """

    async def delete(self, table: Table) -> bool:
        """Delete the table and all its rows in one commit; False (nothing done) if the stored table differs."""


class Store(Protocol):
    """Rows by key. A write, of one or several rows, is one atomic commit.

    Each call of a request carries the request's `meter`, of which only a front of the store asks; None: it belongs to
    no request. Every method that reads or writes rows raises ResourceNotFoundException if the table or index no longer
    exists. Only if `Catalog.is_late` may a caller have found one that does not.
    """

    @property
    def catalog(self) -> Catalog:
        """The tables of this store."""

    @property
    def streams(self) -> Streams:
        """The streams of this store's tables."""

    def get(self, source_id: bytes, key: Key, meter: Payer = None, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`, or None; may be outdated unless `consistent`. `source_id`: of a table or index, 6 bytes."""

    def unread(self, source_id: bytes, key: Key, units: float, meter: Payer = None) -> None:
        """Take back that `get` has read a row of `units` capacity units, because the row is not returned.
        A store that counts no units does nothing.
        """

    def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, meter: Payer = None, *, consistent: bool
    ) -> Soon[Page]:
        """Rows of `span` up to and including the row that reaches a limit (`limit_bytes`: of item sizes).

        Rows that are long compared with their item sizes may end a page earlier.
        """

    def search_vectors(
        self, table: OpenTable, source: ReadSource, query: VectorQuery, meter: Payer = None
    ) -> Soon[FoundEntries]:
        """The entries of a vector index of the table that are most similar to a vector; may be outdated.
        `source`: that of the index.
        """

    def mutate(
        self,
        table: OpenTable,
        key: Key,
        plan: Plan,
        request_id: RequestId | None = None,
        meter: Payer = None,
        origin: Origin = "client",
    ) -> Soon[Change]:
        """Replace the row at `key` by `plan(old row)`, with index entries and other rows derived, in one commit.

        Delayed and late index entries follow in later commits. `request_id` identifies this call alone: if the reply to
        its commit is lost, the store finds out by this id whether the commit took place. None: the store assigns an id.
        `table` may be out of date: index entries and other rows are derived for the table that the catalog has now.
        Raises ResourceNotFoundException if the table no longer exists, TransactionConflictException if a transaction is
        running for the item, ItemCollectionSizeLimitExceededException if the item collection would exceed its limit.
        """

    async def transact(
        self,
        steps: Sequence[TransactionStep],
        token: IdempotencyToken | None,
        request_id: RequestId | None = None,
        meter: Payer = None,
    ) -> Transacted:
        """Replace the rows of all steps, across tables and partitions, in one commit, or none of them.

        Every plan is called with its row as of one point in time; if one refuses, nothing is done and
        TransactionRefused has all refusals (ValidationException if the items that they return are too large). Next,
        ValidationException is raised for items of more than 4 MB in all, or more than 14 MB to commit. Last,
        TransactionRefused is raised for steps that would make an item collection exceed its limit.

        A token used before with the same digest, and not expired, makes the call a replay: no plan is called. For
        another digest IdempotentParameterMismatchException is raised, and TransactionInProgressException while the
        transaction that used the token first is running. Raises ResourceNotFoundException for a table that no longer
        exists.
        """

    async def snapshot_get(self, places: ItemPlaces, limit_bytes: int, meter: Payer = None) -> list[Row | None]:
        """The rows at `places`, in order, as of one point in time.

        After the row with which the item sizes exceed `limit_bytes`, no further row is read: None stands for each.
        Raises TransactionRefused if a transaction is running for a row.
        """

    async def collection_size_bytes(self, table: OpenTable, key: Key) -> int:
        """Size of the item collection of `key`, in a table with local indexes; exact, as of the last commit."""

    async def statistics(self, sources: Sequence[bytes]) -> Mapping[bytes, Statistics]:
        """Item count and size of each source, as of a recent moment; on one machine exact, as of the last commit."""


class Durability(Protocol):
    """Which commits would survive a power cut."""

    @property
    def is_kept(self) -> bool:
        """False if the content is deleted once the store is closed: it is in memory only, or a fork's."""

    def position(self) -> int:
        """Number of the last commit. It grows with each commit.

        Across restarts too, a later durable commit has a greater number.
        """

    def position_of(self, table: OpenTable) -> int:
        """Number of the last commit that may have changed rows or index entries of the table: at most `position()`."""

    def durable_position(self) -> int:
        """Number of the last commit that would survive a power cut; always `position()` for a store in memory."""

    def when_durable(self, position: int, callback: Callable[[StorageError | None], None]) -> None:
        """Call `callback` on the loop once `durable_position() >= position`, or with the error that prevents it."""


class Maintenance(Protocol):
    """Work of every store outside of requests, which jobs do."""

    async def settle(self) -> float:
        """Do what keeps the store in order, if there is anything to do: merge old versions of rows away, finish what
        others have left.

        Returns the seconds until the next call. Raises StorageError.
        """

    def on_work(self, wake: Callable[[], None]) -> None:
        """Register `wake`, called when a method has new work.

        Also called when work becomes due before the seconds that the method returned are over.
        """


class LocalMaintenance(Maintenance, Protocol):
    """Work that only a store on one machine has, such as filling new indexes and emptying queues.

    Jobs call its methods, requests some of them.
    """

    def backfills(self) -> Sequence[Backfill]:
        """The backfills in progress."""

    async def backfill(self, source_id: bytes, limit_rows: int) -> None:
        """Fill what `source_id` names, such as a CREATING index, from the table's next rows, in one commit.

        After the last row the index is ACTIVE (time to live: ENABLED). Rows are walked in key order. A write to a row
        that the walk has passed maintains the index; a write to a later row does not change the index. So the index
        always holds exactly the entries of the items that the walk has passed, except delayed ones.
        """

    async def apply_delayed(self, limit_rows: int) -> float | None:
        """Write delayed index entries that are due, in the order of each partition's changes, of at most `limit_rows`
        changes, in one commit; of fewer if they have many or large entries. Derives entries before, which may give way.

        Also writes a late entry, if there is any. Returns the seconds of service time until more entries may be due;
        None if none wait.
        """

    def ready_for_delay(self, *, is_wanted: bool) -> AbstractContextManager[None]:
        """In the block of this context manager, `delay_index_entries` sets a delay (`is_wanted`), or ends one, for all
        tables at the same moment. Before and behind the block, work on each table that has been written to may give
        way.
        """

    def delay_index_entries(self, draw: DelayOf | None, most_seconds: float) -> None:
        """From now on, `draw` returns the delay of each commit's entries of global indexes.

        It returns `most_seconds` at most. If `draw` is None, there is no delay,
        and entries that wait are written at once. Never gives way. Called inside `ready_for_delay`, before the content
        is replaced, or before anything has been written.
        """

    async def expire(self, limit_rows: int, see: SeeChanges) -> float | None:
        """Delete expired items, those of at most `limit_rows` queued expiries; each item is checked again first.

        The deletions have the origin `ttl`; small items may share a commit. Right after each commit, calls `see` with
        its changes; one with `old == new` deleted nothing. Returns the seconds of service time until more items may be
        due; None if none wait.
        """

    async def expire_now(self, table: OpenTable | None, see: SeeChanges) -> int:
        """Delete all items of one table (None: of all) that expired in the five years up to the call, by service time.

        The delay with which `expire` deletes items does not count here; tables whose time to live is not ENABLED are
        left out. Calls `see` as `expire` does. Returns how many items were deleted, not counting those that `expire`
        deletes meanwhile.
        """

    async def tend_streams(self) -> float | None:
        """For one stream, replace shards that have been open long enough, or delete shards too old to be read.

        Returns the seconds of service time until there is more to do, 0 if something was done; None without a stream.
        """

    async def tend_recovery(self) -> float | None:
        """Delete changes that are kept for point-in-time recovery once they are too old, or too many.

        Returns the seconds of service time until there is more to do, 0 if something was done; None if nothing is kept.
        """

    async def split_partitions(self) -> bool:
        """Split one partition of a source that has outgrown its partitions; False if none can be split."""

    def want_partitions(self, source_id: bytes, count: int) -> None:
        """Let `split_partitions` split this source's partitions until there are `count`.
        Forgotten when the store is closed.
        """

    async def split_partition(self, partition: Partition) -> bool:
        """Split this partition, of more than one hash, into two halves; False (nothing done) if it no longer exists."""

    async def tend_vectors(self) -> float | None:
        """Free some of the memory of vector indexes that are gone, or do a step of what keeps searches of large ones
        quick; returns 0.0 if there is more to do.
        """


class WholeStore(Store, Durability, Protocol):
    """All that every store offers. Most callers need only one part."""

    @property
    def is_clustered(self) -> bool:
        """True if other servers serve the same content, which then lacks much of what one server has
        (`service/cluster_refusals.py`).
        """

    @property
    def maintenance(self) -> Maintenance:
        """The work of this store outside of requests."""

    @property
    def documents(self) -> Documents:
        """The documents of this store."""

    async def close(self) -> None:
        """Make all commits durable and release the data folder."""


def local_maintenance_of(store: object) -> LocalMaintenance:
    """A store's attribute `local_maintenance`; nobody asks a store that has none."""
    found = find_local_maintenance(store)
    assert found is not None, "what needs local maintenance is refused by a store without it"
    return found


def find_local_maintenance(store: object) -> LocalMaintenance | None:
    """A store's attribute `local_maintenance`; None if it has none."""
    found: LocalMaintenance | None = getattr(store, "local_maintenance", None)
    return found
