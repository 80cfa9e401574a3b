"""How would a distributed store behave? `SuspendingStore` suspends at every awaited call except `close`.

A seed decides how concurrent requests overtake each other. Sometimes a commit *loses its race*, as if another write had
come first, so that its plan is called again; sometimes the reply to it is lost, and the store looks whether it took
place (`outcomes.py`). Plans with side effects are caught: a second call on the same row must give the same result. With
a `SuspendingTime`, entries of global indexes come later than their items. Other behaviour has wrappers of its own:
`stale_reads.py`, `late_catalog.py`, `faulty.py`.

A transaction marks its items as ongoing and suspends before it is committed. Meanwhile other writes and snapshot reads
of these items are refused, as is a second use of the transaction's token.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from hashrange.errors import ApiError, StorageError, TransactionConflictException, TransactionInProgressException
from hashrange.items.types import Key, Row
from hashrange.messages.transactions import CONFLICT
from hashrange.soon import settled
from hashrange.store.copying import Checkpoint, copying_of
from hashrange.store.interface import (
    IdempotencyToken,
    Page,
    Payer,
    SeeChanges,
    Transacted,
    TransactionRefused,
    TransactionStep,
    WholeStore,
    local_maintenance_of,
)
from hashrange.store.pause import PAUSE
from hashrange.store.request_ids import RequestId, new_request_id
from hashrange.store.row_copies import row_copies_of
from hashrange.store.statistics import Statistics
from hashrange.store.streams import ChangedShards, NewsMark, RecordPage
from hashrange.store.transaction_steps import plan_steps
from hashrange.tables.change import Change, Origin, Plan, Planned
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.span import Span
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream
from hashrange.vectors.search import FoundEntries, VectorQuery
from tests.support.wrapped_stores.outcomes import Outcomes
from tests.support.wrapped_stores.suspending_time import SuspendingTime

PAUSES_MAX = 3
LOST_RACE_PROBABILITY = 0.25
PROPAGATED_COMMITS_MAX = 16
"""One call of `apply_delayed` in `propagate` writes the delayed entries of at most this many commits."""

RowPlace = tuple[bytes, Key]
"""Source id and key of a row."""


class SuspendingCatalog:
    """The inner store's catalog; look-ups and changes suspend first."""

    def __init__(self, store: "SuspendingStore") -> None:
        self._store = store
        self._inner = store.inner.catalog
        self.is_late = self._inner.is_late
        self.find_id = self._inner.find_id
        self.on_change = self._inner.on_change

    def find(self, account: str, region: str, name: str) -> OpenTable | None:
        """Delegates to the inner catalog."""
        return self._inner.find(account, region, name)

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """Delegates to the inner catalog."""
        return self._inner.tables(account, region)

    def elsewhere(self, name: str) -> Collection[tuple[str, str]]:
        """Delegates to the inner catalog."""
        return self._inner.elsewhere(name)

    def all_tables(self) -> Sequence[OpenTable]:
        """Delegates to the inner catalog."""
        return self._inner.all_tables()

    def importing(self) -> Sequence[OpenTable]:
        """Delegates to the inner catalog."""
        return self._inner.importing()

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Calls the inner catalog, after a pause."""
        await self._store.suspend()
        return await self._inner.look_up(account, region, names)

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """Create a table after a pause; `make` is sometimes called once more."""
        await self._store.suspend()
        if self._store.chance(LOST_RACE_PROBABILITY):
            make(1)
            await self._store.suspend()
        return await self._inner.create(make)

    async def replace(self, old: Table, new: Table) -> bool:
        """Replace a table after a pause."""
        await self._store.suspend()
        return await self._inner.replace(old, new)

    async def delete(self, table: Table) -> bool:
        """Delete a table after a pause."""
        await self._store.suspend()
        return await self._inner.delete(table)


class SuspendingStreams:
    """The inner store's streams; what is awaited suspends before and after."""

    def __init__(self, store: "SuspendingStore") -> None:
        self._store = store
        inner = store.inner.streams
        self._inner = inner
        self.find, self.of, self.shards, self.shard = inner.find, inner.of, inner.shards, inner.shard
        self.follow, self.feeds, self.present = inner.follow, inner.feeds, inner.present

    async def changed_shards(self, stream: Stream, since: NewsMark) -> ChangedShards | None:
        """Ask between two pauses."""
        await self._store.suspend()
        changed = await self._inner.changed_shards(stream, since)
        await self._store.suspend()
        return changed

    async def last_of_shard(self, shard: Shard) -> SequenceNumber:
        """Ask between two pauses."""
        await self._store.suspend()
        last = await self._inner.last_of_shard(shard)
        await self._store.suspend()
        return last

    async def records(self, shard: Shard, first: SequenceNumber, limit_records: int, limit_bytes: int) -> RecordPage:
        """Read records between two pauses."""
        await self._store.suspend()
        page = await self._inner.records(shard, first, limit_records, limit_bytes)
        await self._store.suspend()
        return page


class SuspendingMaintenance:
    """The inner store's maintenance; what is awaited suspends first."""

    def __init__(self, store: "SuspendingStore") -> None:
        self._suspend = store.suspend
        inner = self._inner = local_maintenance_of(store.inner)
        self.backfills, self.on_work = inner.backfills, inner.on_work
        self.want_partitions, self.delay_index_entries = inner.want_partitions, inner.delay_index_entries
        self.ready_for_delay = inner.ready_for_delay

    async def backfill(self, source_id: bytes, limit_rows: int) -> None:
        """Do one slice of a backfill between two pauses."""
        await self._suspend()
        await self._inner.backfill(source_id, limit_rows)
        await self._suspend()

    async def apply_delayed(self, limit_rows: int) -> float | None:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.apply_delayed(limit_rows)

    async def expire(self, limit_rows: int, see: SeeChanges) -> float | None:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.expire(limit_rows, see)

    async def expire_now(self, table: OpenTable | None, see: SeeChanges) -> int:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.expire_now(table, see)

    async def tend_streams(self) -> float | None:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.tend_streams()

    async def tend_recovery(self) -> float | None:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.tend_recovery()

    async def split_partitions(self) -> bool:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.split_partitions()

    async def split_partition(self, partition: Partition) -> bool:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.split_partition(partition)

    async def tend_vectors(self) -> float | None:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.tend_vectors()

    async def settle(self) -> float:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.settle()


class SuspendingCopying:
    """The inner store's copying; a checkpoint suspends first."""

    def __init__(self, store: "SuspendingStore") -> None:
        self._suspend = store.suspend
        inner = self._inner = copying_of(store.inner)
        self.checkpoint_of, self.restore = inner.checkpoint_of, inner.restore
        self.prepare_checkpoint, self.open_checkpoint = inner.prepare_checkpoint, inner.open_checkpoint

    async def checkpoint(self) -> Checkpoint:
        """Calls the inner store, after a pause."""
        await self._suspend()
        return await self._inner.checkpoint()


class SuspendingStore:
    """A wrapper of a store; the same seed gives the same interleaving of calls."""

    is_clustered = False

    def __init__(
        self, inner: WholeStore, seed: int, time: SuspendingTime | None = None, look_limit: int | None = None
    ) -> None:
        """`time`: clock and index delay that `inner` was opened with; None: the wrapper advances no clock.

        `look_limit`: most looks for the outcome of a commit whose reply was lost; None: no limit.
        """
        self.inner, self.unread, self.documents, self.is_kept = inner, inner.unread, inner.documents, inner.is_kept
        self.row_copies = row_copies_of(inner)
        self._time = time
        self._random = random.Random(seed)
        self._outcomes = Outcomes(random.Random(seed), self.suspend, look_limit)
        self._ongoing: set[RowPlace] = set()
        """Rows that running transactions will write or check."""
        self._writing: Counter[RowPlace] = Counter()
        """Row → number of running single writes to it."""
        self._tokens: set[bytes] = set()
        """Names of the tokens of running transactions."""
        self.lost_races = 0
        """Number of races that commits were made to lose (their plans ran, and the result was dropped), for tests."""
        self.conflicts = 0
        """Number of writes, transactions and snapshot reads refused for a conflict."""
        self.catalog = SuspendingCatalog(self)
        self.streams = SuspendingStreams(self)
        self.maintenance = self.local_maintenance = SuspendingMaintenance(self)
        self.copying = SuspendingCopying(self)

    @property
    def lost_outcomes(self) -> int:
        """Number of times that the request or the reply of a write or transaction was lost."""
        return self._outcomes.lost

    async def suspend(self) -> None:
        """Suspend for one to three turns of the loop, and advance the virtual time, if there is one."""
        for _ in range(self._random.randint(1, PAUSES_MAX)):
            await PAUSE
        if self._time is not None:
            self._time.suspended()

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random.random() < probability

    async def get(self, source_id: bytes, key: Key, meter: Payer = None, *, consistent: bool) -> Row | None:
        """Read a row between two pauses."""
        await self.suspend()
        row = await settled(self.inner.get(source_id, key, meter, consistent=consistent))
        await self.suspend()
        return row

    async def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, meter: Payer = None, *, consistent: bool
    ) -> Page:
        """Read a page between two pauses."""
        await self.suspend()
        page = await settled(self.inner.page(source_id, span, limit_rows, limit_bytes, meter, consistent=consistent))
        await self.suspend()
        return page

    async def search_vectors(
        self, table: OpenTable, source: ReadSource, query: VectorQuery, meter: Payer = None
    ) -> FoundEntries:
        """Search between two pauses."""
        await self.suspend()
        found = await settled(self.inner.search_vectors(table, source, query, meter))
        await self.suspend()
        return found

    async def mutate(
        self,
        table: OpenTable,
        key: Key,
        plan: Plan,
        request_id: RequestId | None = None,
        meter: Payer = None,
        origin: Origin = "client",
    ) -> Change:
        """Write; other calls may run before and after the commit, and the plan may run more than once.

        It runs again if another write came first, or if the reply that reports its refusal is lost.

        Raises TransactionConflictException while a transaction is running for the item.
        """
        request_id = request_id or new_request_id()
        await self.suspend()
        place = (table.source_id, key)
        if place in self._ongoing:
            self.conflicts += 1
            raise TransactionConflictException(CONFLICT)
        self._writing[place] += 1
        try:
            while self.chance(LOST_RACE_PROBABILITY):
                await self._lose_race(table, key, plan)
            change = await self._outcomes.carry_out(
                request_id,
                f"a write to the table {table.name}",
                lambda: settled(self.inner.mutate(table, key, _twice(plan), request_id, meter, origin)),
            )
        finally:
            self._writing[place] -= 1
            if not self._writing[place]:
                del self._writing[place]
        await self.suspend()
        return change

    async def transact(
        self,
        steps: Sequence[TransactionStep],
        token: IdempotencyToken | None,
        request_id: RequestId | None = None,
        meter: Payer = None,
    ) -> Transacted:
        """Transact between pauses, with the items marked as ongoing. `mutate` says when plans are called again.

        Raises TransactionRefused if another write or transaction is running for an item, TransactionInProgressException
        if another transaction with the token is running.
        """
        request_id = request_id or new_request_id()
        await self.suspend()
        if token is not None and token.name in self._tokens:
            raise TransactionInProgressException("The transaction is in progress.")
        places = {(table.source_id, key) for table, key, _ in steps if key is not None}
        self._refuse_conflicts([key is not None and self._is_taken((table.source_id, key)) for table, key, _ in steps])
        self._ongoing |= places
        if token is not None:
            self._tokens.add(token.name)
        try:
            await self.suspend()
            while self.chance(LOST_RACE_PROBABILITY):
                rows = [
                    None if key is None else await settled(self.inner.get(table.source_id, key, consistent=True))
                    for table, key, _ in steps
                ]
                # The attempt's refusal is ignored: its rows may be of different points in time, or the call a replay.
                with suppress(ApiError, TransactionRefused):
                    plan_steps(steps, rows)
                self.lost_races += 1
                await self.suspend()
            twice = [TransactionStep(table, key, _twice(plan)) for table, key, plan in steps]
            names = ", ".join(sorted({step.table.name for step in steps}))
            transacted = await self._outcomes.carry_out(
                request_id, f"a transaction over {names}", lambda: self.inner.transact(twice, token, request_id, meter)
            )
        finally:
            self._ongoing -= places
            if token is not None:
                self._tokens.discard(token.name)
        await self.suspend()
        return transacted

    async def snapshot_get(
        self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int, meter: Payer = None
    ) -> list[Row | None]:
        """Read rows between two pauses; refused while a running transaction will write or check one."""
        await self.suspend()
        self._refuse_conflicts([(table.source_id, key) in self._ongoing for table, key in places])
        rows = await self.inner.snapshot_get(places, limit_bytes, meter)
        await self.suspend()
        return rows

    async def propagate(self) -> None:
        """Write all delayed entries of global indexes, advancing virtual time until they are due. For tests only."""
        maintenance = self.maintenance
        while (pause := await maintenance.apply_delayed(PROPAGATED_COMMITS_MAX)) is not None:
            if self._time is not None:
                self._time.advance(pause)

    def _is_taken(self, place: RowPlace) -> bool:
        return place in self._ongoing or place in self._writing

    def _refuse_conflicts(self, are_taken: list[bool]) -> None:
        if any(are_taken):
            self.conflicts += 1
            reasons: list[ApiError | None] = [
                TransactionConflictException(CONFLICT) if is_taken else None for is_taken in are_taken
            ]
            raise TransactionRefused(reasons)

    async def _lose_race(self, table: OpenTable, key: Key, plan: Plan) -> None:
        """Call the plan on the current row and discard its result, as if another write had come first.

        If the plan refuses, its error is raised.
        """
        row = await settled(self.inner.get(table.source_id, key, consistent=True))
        _planned(plan, row)
        self.lost_races += 1
        await self.suspend()

    async def collection_size_bytes(self, table: OpenTable, key: Key) -> int:
        """Calls the inner store, after a pause."""
        await self.suspend()
        return await self.inner.collection_size_bytes(table, key)

    async def statistics(self, sources: Sequence[bytes]) -> Mapping[bytes, Statistics]:
        """Read statistics between two pauses."""
        await self.suspend()
        statistics = await self.inner.statistics(sources)
        await self.suspend()
        return statistics

    def position(self) -> int:
        """Delegates to the inner store."""
        return self.inner.position()

    def position_of(self, table: OpenTable) -> int:
        """Delegates to the inner store."""
        return self.inner.position_of(table)

    def durable_position(self) -> int:
        """Delegates to the inner store."""
        return self.inner.durable_position()

    def when_durable(self, position: int, callback: Callable[[StorageError | None], None]) -> None:
        """Delegates to the inner store."""
        self.inner.when_durable(position, callback)

    async def close(self) -> None:
        """Close the inner store."""
        await self.inner.close()


def _twice(plan: Plan) -> Plan:
    """A plan that calls `plan` twice and requires equal results."""
    return lambda row: _planned(plan, row)


def _planned(plan: Plan, row: Row | None) -> Planned | Row | None:
    """The plan's result. Raises AssertionError if two calls on one row differ: a plan must depend only on its row."""
    first = plan(row)
    second = plan(row)
    assert first == second, "a plan gave two results for one row: it depends on being called once"
    return first
