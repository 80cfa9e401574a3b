"""Where are requests throttled? At a store in front of the real one: it refuses what no bucket admits, and takes the units of what has been done.

Requests are refused where the service refuses them: after all checks, for each item by itself. So a batch returns what is throttled
as unprocessed, and a transaction names the action. A refused request takes nothing, except for a write that its condition
refuses. Reads are admitted before anybody knows what they cost, and take it afterwards.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from hashrange.errors import ApiError, ItemRefusal
from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_FACTOR
from hashrange.operations.meter import ChangeUsage, Meter, PageUsage, ReadUsage, TransactedReadUsage
from hashrange.soon import Soon
from hashrange.store.interface import (
    IdempotencyToken,
    Page,
    Transacted,
    TransactionRefused,
    TransactionStep,
    WholeStore,
)
from hashrange.store.refused_steps import RefusedSteps
from hashrange.store.request_ids import RequestId
from hashrange.store.wrapped import WrappedStore
from hashrange.tables.capacity import change_units, entry_units, item_read_units, read_units, write_units
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index
from hashrange.tables.source_id import HASH_BYTES
from hashrange.tables.span import Span
from hashrange.tables.transaction_capacity import transaction_change_units
from hashrange.throughput.bucket import Bucket
from hashrange.throughput.capacity_side import CapacitySide
from hashrange.throughput.table_throughputs import TableThroughputs

_PAID = {ReadUsage, ChangeUsage}
"""Usages of requests for one item, which have been paid."""
IdentifyRequest = Callable[[], object]
"""Returns the meter of the request that runs now."""


class AdmittedStore(WrappedStore):
    """A store in front of `inner`, for requests alone."""

    def __init__(
        self,
        inner: WholeStore,
        throughputs: TableThroughputs,
        now: Callable[[], float],
        identify: IdentifyRequest,
    ) -> None:
        super().__init__(inner)
        self.catalog = inner.catalog
        self._inner = inner
        self._throughputs = throughputs
        self._find = throughputs.find
        self._now = now
        self._identify = identify
        self._reading: dict[int, object] = {}
        """By identity, the meters of requests of which a page has been admitted."""

    # --- reads -----------------------------------------------------------------------------------

    def get(self, source_id: bytes, key: Key, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`. Raises the ApiError of a throttled read."""
        throughput = self._find(source_id)
        if throughput is None:
            return self._inner.get(source_id, key, consistent=consistent)
        reads, now_seconds = throughput.reads, self._now()
        if self._reading and id(self._identify()) in self._reading:
            partition = reads.partition(key)  # an item of an index entry on a page that has been admitted
        else:
            partition = reads.admit(key, now_seconds)
        row = self._inner.get(source_id, key, consistent=consistent)
        if row is not None and not isinstance(row, bytes):
            return self._got(row, reads, partition, consistent=consistent)
        reads.take(partition, item_read_units(row, consistent=consistent), now_seconds)
        return row

    async def _got(
        self,
        coming: Coroutine[Any, Any, Row | None],
        reads: CapacitySide,
        partition: Bucket | None,
        *,
        consistent: bool,
    ) -> Row | None:
        row = await coming
        reads.take(partition, item_read_units(row, consistent=consistent), self._now())
        return row

    def page(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Soon[Page]:
        """Rows of `span`. Raises the ApiError of a throttled read, but only for the first rows of a request's page.

        Only partitions are paid here: the units of the table or index follow from all slices together (`count`).
        """
        throughput = self._find(source_id)
        coming_page = partial(self._inner.page, source_id, span, limit_rows, limit_bytes, consistent=consistent)
        if throughput is None:
            return coming_page()
        meter = self._identify()
        key = Key(span.lower) if len(span.lower) > HASH_BYTES else None
        if id(meter) not in self._reading:
            throughput.reads.admit(key, self._now())
            self._reading[id(meter)] = meter
        coming = coming_page()
        if isinstance(coming, Page):
            _pay_partition(throughput.reads, key, coming, self._now(), consistent=consistent)
            return coming
        return self._paged(coming, throughput.reads, key, consistent=consistent)

    async def _paged(
        self, coming: Coroutine[Any, Any, Page], reads: CapacitySide, key: Key | None, *, consistent: bool
    ) -> Page:
        page = await coming
        _pay_partition(reads, key, page, self._now(), consistent=consistent)
        return page

    async def snapshot_get(self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at `places`. Raises TransactionRefused with the ApiErrors of throttled reads."""
        reasons = [self._refusal(table, key, is_write=False) for table, key in places]
        if any(reasons):
            raise TransactionRefused(reasons)
        rows = await self._inner.snapshot_get(places, limit_bytes)
        for (table, key), row in zip(places, rows, strict=True):
            throughput = self._find(table.source_id)
            partition = None if throughput is None else throughput.reads.partition(key)
            if partition is not None:
                partition.take(TRANSACTION_FACTOR * item_read_units(row, consistent=True), self._now())
        return rows

    def count(self, meter: Meter) -> None:
        """Take the units of a request that has ended, as far as they were not known before: those of pages, and of reads in transactions."""
        if len(meter) == 1 and meter[0].__class__ in _PAID:
            return
        self._reading.pop(id(meter), None)
        for usage in meter:
            if usage.__class__ is not PageUsage and usage.__class__ is not TransactedReadUsage:
                continue
            now_seconds = self._now()
            for index, units in usage.index_units:
                self._take_of_source(usage.table, index, units, now_seconds)
            if not usage.index_units:
                self._take_of_source(usage.table, None, usage.table_units, now_seconds)

    def _take_of_source(self, table: OpenTable, index: Index | None, units: float, now_seconds: float) -> None:
        source = table.read_source(None if index is None else index.name)
        throughput = None if source is None else self._find(source.source_id)
        if throughput is not None:
            throughput.reads.take(None, units, now_seconds)

    # --- writes ----------------------------------------------------------------------------------

    def mutate(
        self, table: OpenTable, key: Key, plan: Plan, request_id: RequestId | None = None, origin: Origin = "client"
    ) -> Soon[Change]:
        """Replace one row. Raises the ApiError of a throttled write; that of an index comes from `refusals`."""
        throughput = self._find(table.source_id)
        if throughput is None:
            return self._inner.mutate(table, key, plan, request_id, origin)
        writes, now_seconds = throughput.writes, self._now()
        partition = writes.admit(key, now_seconds)
        try:
            change = self._inner.mutate(table, key, plan, request_id, origin)
        except ItemRefusal as refusal:
            writes.take(partition, write_units(refusal.size_bytes, 0), now_seconds)
            raise
        if not isinstance(change, Change):
            return self._written(change, writes, partition)
        writes.take(partition, change_units(change), now_seconds)
        if change.entries:
            self._take_entries(change, now_seconds)
        return change

    async def _written(
        self, coming: Coroutine[Any, Any, Change], writes: CapacitySide, partition: Bucket | None
    ) -> Change:
        try:
            change = await coming
        except ItemRefusal as refusal:
            writes.take(partition, write_units(refusal.size_bytes, 0), self._now())
            raise
        now_seconds = self._now()
        writes.take(partition, change_units(change), now_seconds)
        self._take_entries(change, now_seconds)
        return change

    async def transact(
        self, steps: Sequence[TransactionStep], token: IdempotencyToken | None, request_id: RequestId | None = None
    ) -> Transacted:
        """Replace the rows of all steps. Raises TransactionRefused with the ApiErrors of throttled actions."""
        refused = RefusedSteps(
            lambda: [None if key is None else self._refusal(table, key, is_write=True) for table, key, _ in steps]
        )
        transacted = await self._inner.transact(refused.wrapped(steps), token, request_id)
        now_seconds = self._now()
        for change in transacted.changes:
            throughput = self._find(change.table.source_id)
            if throughput is not None:
                writes = throughput.writes
                writes.take(writes.partition(change.key), transaction_change_units(change), now_seconds)
            self._take_entries(change, now_seconds)
        return transacted

    def _take_entries(self, change: Change, now_seconds: float) -> None:
        """Use units of each index whose entries a committed change has changed."""
        for entry in change.entries:
            throughput = self._find(entry.source.source_id)
            if throughput is not None:
                writes = throughput.writes
                writes.take(writes.partition(_entry_key(entry)), entry_units(entry), now_seconds)

    def _refusal(self, table: OpenTable, key: Key, *, is_write: bool) -> ApiError | None:
        """The error of a throttled read or write of one item; None if it is admitted."""
        throughput = self._find(table.source_id)
        if throughput is None:
            return None
        side = throughput.writes if is_write else throughput.reads
        try:
            side.admit(key, self._now())
        except ApiError as error:
            return error
        return None

    def refuse_writes(self, changes: Sequence[Change]) -> Sequence[ApiError | None] | None:
        """For each change that is about to be committed, the error if an index that it would change has no write units left.

        None if all are admitted.
        """
        now_seconds = self._now()
        reasons: list[ApiError | None] | None = None
        for place, change in enumerate(changes):
            if change.origin != "client":
                continue
            try:
                for source, old, new in change.entries:
                    throughput = self._find(source.source_id)
                    if throughput is not None and source.index is not None and source.index.is_global:
                        entry = old if new is None else new
                        assert entry is not None
                        throughput.writes.admit(entry.key, now_seconds)
            except ApiError as error:
                reasons = reasons or [None] * len(changes)
                reasons[place] = error
        return reasons


def _entry_key(write: EntryWrite) -> Key:
    """The key of the entry that a write adds, or else removes."""
    entry = write.old if write.new is None else write.new
    assert entry is not None
    return entry.key


def _pay_partition(reads: CapacitySide, key: Key | None, page: Page, now_seconds: float, *, consistent: bool) -> None:
    partition = None if key is None else reads.partition(key)
    if partition is not None:
        partition.take(read_units(page.size_bytes, consistent=consistent), now_seconds)
