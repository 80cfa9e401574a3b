"""What does a store promise? The seam between one machine and many.

Three promises, which one object may keep: `Store` for operations, `Durability` for whoever answers, `Maintenance` for jobs.

Ordering: rows of one source are ordered by the bytes of their keys. Durability: a change is committed, whole, when
`mutate` returns, and is durable once `durable_position()` has reached the `position()` read after it; a reply whose
content depends on a commit is held until then. Sharing: one process, one event loop. An embedded store never
suspends between reading the old row and committing the new one; other stores may, and may call a plan again.

Outcomes: a store that does not hear what became of a commit finds it out itself, by the commit's request id, and returns what took
place, or lets it take place: once. Only when it cannot within its time does it raise OutcomeUnknown.

Errors: everything here raises only `StorageError` (the operator's) and whatever a plan raises; writes and transactions that
meet a transaction going on for the same item raise the service's own errors, which no embedded store has cause to.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from hashrange.errors import ApiError, HashrangeError, StorageError
from hashrange.items.types import Key, Row
from hashrange.soon import Soon
from hashrange.store.request_ids import RequestId
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import WHOLE, HashRange, Partition
from hashrange.tables.schema import Table
from hashrange.tables.span import Span
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream


class Page(msgspec.Struct, frozen=True, gc=False):
    """Rows of a span, in order, and where they end."""

    rows: list[Row]
    size_bytes: int
    """Sum of the DynamoDB item sizes of `rows`."""
    last_key: Key | None
    """Key of the last row when a limit ended the page, be it at the very last row, or its rows were long; None at the end of the span."""


class TransactionStep(NamedTuple):
    """One action of a transaction. No two steps of a transaction name the same item."""

    table: OpenTable
    key: Key | None
    """None: there is no such key, and the plan, called with None, only refuses."""
    plan: Plan


class IdempotencyToken(NamedTuple):
    """Makes a transaction happen once, however often it is asked for: a row of the same commit."""

    name: bytes
    """Whose token it is, and which: account, Region and the client's own text."""
    digest: bytes
    """Hash of what is asked for; the same token with another one is refused."""
    now_seconds: float
    """Service time."""
    expires_at_seconds: float
    """Service time from which on the token means a new transaction."""
    report: Callable[[Sequence[Change]], bytes]
    """What a replay must be able to tell of the committed changes. Pure."""


class Transacted(NamedTuple):
    """A transaction that took place: now, or when its token was first used."""

    changes: Sequence[Change]
    """One for each step, in order; those with `old == new` only looked. Empty for a replay."""
    report: bytes | None = None
    """Of a replay: what `IdempotencyToken.report` told of the changes then."""


class TransactionRefused(HashrangeError):
    """Some steps of a transaction refused, and nothing was done: the reasons, one for each step, None for the willing."""

    def __init__(self, reasons: list[ApiError | None]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Backfill(NamedTuple):
    """Something that is being filled from a table's rows, such as a new index."""

    table: Table
    source_id: bytes
    """The 6 bytes that name it."""


class Backfilled(NamedTuple):
    """What one slice of a backfill did."""

    row_count: int
    """Items looked at; some have no entry."""
    is_complete: bool
    """True once it is filled (an index is ACTIVE), or gone."""


class Lease(NamedTuple):
    """The right to work at a range, which nobody else has until then."""

    hashes: HashRange
    ends_at_seconds: float
    """Service time."""


WHOLE_FOR_EVER = Lease(WHOLE, math.inf)
"""What a server has that is alone with its store."""


class Statistics(NamedTuple):
    """Statistics of one source."""

    item_count: int
    size_bytes: int


class Catalog(Protocol):
    """The tables, by (account, Region, name). Reads are in memory; writes are compare-and-set and durable as rows are.

    The view may be late: where tables are made by others too, it may lack one for a while, or have one that is gone. What was done
    through this catalog is in its view at once; a write that was refused leaves in it what is stored.
    """

    @property
    def is_late(self) -> bool:
        """True where others make tables too, so that a name that the view lacks is worth looking up."""
        ...

    def find(self, account: str, region: str, name: str) -> OpenTable | None:
        """The table, whatever its state; None when there is none."""
        ...

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """A live, read-only view: name → table, of one account and Region."""
        ...

    def elsewhere(self, name: str) -> list[tuple[str, str]]:
        """(account, Region) of every table of that name: for the operator's hint."""
        ...

    def all_tables(self) -> Sequence[OpenTable]:
        """Every table, of all accounts and Regions, by table id: for operators."""
        ...

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Ask what these names stand for now; True if there is a table that the view did not have, and now has."""
        ...

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """Store `make(table_id)` under the next table id; None (nothing done) when its name is taken."""
        ...

    async def replace(self, old: Table, new: Table) -> bool:
        """Swap `old` for `new`; False (nothing done) when `old` is no longer what is stored.

        An index that is new, and CREATING, has no entries until `Maintenance.backfill` has made them. The entries of one that is
        DELETING or gone go in the same commit.
        """
        ...

    async def delete(self, table: Table) -> bool:
        """Remove the table and all its rows in one commit; False when it is no longer what is stored."""
        ...


class Store(Protocol):
    """Rows by key, with one atomic commit per call."""

    @property
    def catalog(self) -> Catalog:
        """The tables of this store."""
        ...

    @property
    def streams(self) -> "Streams":
        """What is told of their changes."""
        ...

    def get(self, source_id: bytes, key: Key, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`. `source_id` is a table's or index's 6-byte id (`Table.source`)."""
        ...

    def page(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Soon[Page]:
        """Rows of `span` until one of the limits is reached; the row that reaches it is included. Long rows may end a page earlier."""
        ...

    def mutate(
        self, table: OpenTable, key: Key, plan: Plan, request_id: RequestId | None = None, origin: Origin = "client"
    ) -> Soon[Change]:
        """Replace the row at `key` by `plan(old row)`, with everything derived from the change, in one commit.

        `request_id` names this call and no other: by it the store finds out what became of it. None: the store gives it one.
        `table` may be out of date: what is derived is what the catalog's table asks for. Raises ResourceNotFoundException
        when there is none any more, TransactionConflictException when a transaction is going on for the item,
        ItemCollectionSizeLimitExceededException when the item collection would grow beyond its limit.
        """
        ...

    async def transact(
        self, steps: Sequence[TransactionStep], token: IdempotencyToken | None, request_id: RequestId | None = None
    ) -> Transacted:
        """Replace the rows of all steps, over tables and partitions, in one commit, or none.

        Every plan is called with its row as of one point in time; if one refuses, nothing is done and TransactionRefused holds
        all refusals. Then ValidationException is raised for a transaction of more than 4 MB; last, the steps that make an item collection
        grow beyond its limit are refused in the same way as by plans. A token that was used for the same digest and has
        not expired makes it a replay: no plan is called; for another digest IdempotentParameterMismatchException is raised,
        and TransactionInProgressException while its first use is still going on.
        """
        ...

    async def snapshot_get(self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at all these places, in their order, as of one point in time.

        Behind the row with which their item sizes exceed `limit_bytes`, or the rows themselves REPLY_JSON_MAX_BYTES, nothing is read,
        and None stands for it.
        Raises TransactionRefused when a transaction is going on for one of them.
        """
        ...

    async def collection_size_bytes(self, table: OpenTable, key: Key) -> int:
        """Size of the item collection that `key` belongs to, of a table with local indexes; exact, as of the last commit."""
        ...

    async def statistics(self, sources: Sequence[bytes]) -> Mapping[bytes, Statistics]:
        """Item count and size of each of these sources, as of a recent moment; on one machine exact, as of the last commit."""
        ...


class RecordPage(NamedTuple):
    """Records of a shard, in order."""

    records: Sequence[tuple[SequenceNumber, bytes]]
    """Sequence number and record (`tables/stream_records.py`) of each."""
    is_end: bool
    """True when none were left behind the last one."""


class Streams(Protocol):
    """The streams of tables, and what they hold. A stream outlives its table by a day. The view is as late as the catalog's."""

    def find(self, account: str, region: str, table_name: str, label: str) -> Stream | None:
        """The stream of that table with that label, also after it has ended; None when there is none."""
        ...

    def of(self, account: str, region: str) -> Sequence[Stream]:
        """All streams of an account and Region."""
        ...

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """Those of the stream that can be read, oldest first; none when it is gone."""
        ...

    def last(self) -> SequenceNumber:
        """The sequence number that was given out last; every later record has a greater one."""
        ...

    async def records(self, shard: Shard, first: SequenceNumber, limit_records: int, limit_bytes: int) -> RecordPage:
        """Records of a shard from `first` on, until one of the limits is reached, one at least; also those past their retention.

        What is returned may still be before it is durable.
        """
        ...


class Durability(Protocol):
    """How far commits would survive a power cut."""

    def position(self) -> int:
        """Number of the last commit: it grows with each, over restarts too, and no two commits have the same."""
        ...

    def position_of(self, table: OpenTable) -> int:
        """Number of the last commit that may have changed anything of the table: at most `position()`."""
        ...

    def durable_position(self) -> int:
        """Number of the last commit that would survive a power cut; always `position()` for a store in memory."""
        ...

    def when_durable(self, position: int, callback: Callable[[StorageError | None], None]) -> None:
        """Call `callback` on the event loop once `durable_position() >= position`, or with the error that prevents it."""
        ...


class Maintenance(Protocol):
    """What a store does that no request asks for: it fills new indexes and empties queues, as jobs and operators ask it to."""

    def lease(self) -> Lease:
        """What this server may work at now."""
        ...

    def backfills(self) -> Sequence[Backfill]:
        """What is being filled, oldest table first."""
        ...

    async def backfill(self, source_id: bytes, lease: Lease, limit_rows: int) -> Backfilled:
        """Make what follows from the next rows, such as the entries of a CREATING index, in one commit; after the last row that is ACTIVE.

        Only what falls into the range of `lease`, which the method of that name gave; so too below.
        The rows are walked in order of their keys. Writes behind the last one maintain the index, those ahead of it are left to
        the walk: so an index holds, at any time, the entries of all items up to there, and nothing else.
        """
        ...

    async def apply_delayed(self, lease: Lease, limit_rows: int) -> float | None:
        """Write index entries that were to come later than their items, of at most so many commits whose time has come.

        In the order of the commits. Returns the seconds of service time until more are due; None when nothing waits.
        """
        ...

    async def expire(self, lease: Lease, limit_rows: int) -> float | None:
        """Delete items whose time to live is over, of at most so many rows of the queue; each is looked at again before.

        Each is a commit of its own, with the origin `ttl`. Returns the seconds of service time until more are due; None when nothing waits.
        """
        ...

    async def expire_now(self, lease: Lease, table: OpenTable | None) -> int:
        """Delete all items whose time to live is over, of one table or of all, whatever delay `expire` observes.

        Over means: by the service time of the call. Returns how many items this call deleted; those that `expire` deletes meanwhile are not
        among them. Only tables whose time to live is ENABLED take part.
        """
        ...

    async def tend_streams(self, lease: Lease) -> float | None:
        """Let shards that have been open long enough be followed by others, and delete what is too old to be read, of one stream.

        Returns the seconds of service time until there is more to do, 0 when something was done; None when there is no stream.
        """
        ...

    async def split_partitions(self, lease: Lease) -> bool:
        """Split a partition of a source that has grown; False when there was none."""
        ...

    async def split_partition(self, lease: Lease, partition: Partition) -> bool:
        """Split this partition, of more than one hash, in two halves; False (nothing done) when it does not exist any more."""
        ...

    async def settle(self) -> float:
        """Put in order what writes have left, if none came since the last call, so that reads are quicker.

        Returns the seconds until the next call. Raises StorageError.
        """
        ...

    def on_work(self, wake: Callable[[], None]) -> None:
        """From now on, call `wake` whenever there is something new to do for `backfill`, `apply_delayed`, `expire`, `tend_streams` or `split_partitions`, or to do sooner than they told."""
        ...


class WholeStore(Store, Durability, Maintenance, Protocol):
    """All of it in one object, as on one machine; whoever uses it asks for the part that it needs."""

    async def close(self) -> None:
        """Make everything durable and let go of the folder."""
        ...
