"""Where are requests throttled? At a store in front of the real one: it refuses what no bucket admits,
and takes the units of what has been done.

Requests are refused where the service refuses them: after all checks, for each item by itself.
So a batch returns what is throttled as unprocessed, and a transaction names the action.
A refused request takes nothing, except for a write that its item refuses, alone or in a transaction. Reads are admitted
before anybody knows what they cost, and take it afterwards.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from hashrange.errors import ApiError, ItemRefusal, without_frames
from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_FACTOR, WRITE_UNIT_BYTES
from hashrange.operations.meter import Meter, PageUsage, TransactedReadUsage
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
from hashrange.tables.capacity import (
    change_units,
    entry_units,
    item_read_units,
    read_units,
    refused_action_units,
    transaction_change_units,
    write_units,
)
from hashrange.tables.change import Change, Origin, Plan, Planned
from hashrange.tables.entries import EntryWrite, derive_entry_writes
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index
from hashrange.tables.source_id import HASH_BYTES
from hashrange.tables.span import Span
from hashrange.throughput.capacity_side import CapacitySide
from hashrange.throughput.table_throughputs import TableThroughputs, ThroughputBuckets

IdentifyRequest = Callable[[], object]
"""Returns the meter of the request that runs now."""


class _Paid(NamedTuple):
    """Units that the pages of a request have used so far of one table or index."""

    span_bytes: int
    """Bytes that have been read of the span that has not ended yet, and their units."""
    span_units: float
    units: float
    """Units of all its spans, this one included."""


NOTHING_PAID = _Paid(0, 0.0, 0.0)


class _Reading:
    """A request that reads pages, or is a transaction, and has not ended."""

    __slots__ = ("meter", "paid", "replayed")

    def __init__(self, meter: object) -> None:
        self.meter = meter
        """Kept, so that no other meter has its identity."""
        self.paid: dict[CapacitySide, _Paid] = {}
        """What has been taken of each table or index."""
        self.replayed: list[tuple[bytes, Key]] = []
        """Source ids and keys of the items that the replay of a transaction reads."""


class AdmittedStore(WrappedStore):
    """A store in front of `inner`, for requests alone."""

    def __init__(
        self, inner: WholeStore, throughputs: TableThroughputs, now: Callable[[], float], identify: IdentifyRequest
    ) -> None:
        super().__init__(inner)
        self._find = throughputs.find
        self._by_source = throughputs.by_source
        self._now = now
        self._identify = identify
        self._reading: dict[int, _Reading] = {}
        """By identity of its meter, each request of which `count` takes units:
        a page has been admitted, or it is a transaction."""

    # --- reads -----------------------------------------------------------------------------------

    def get(self, source_id: bytes, key: Key, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`. Raises the ApiError of a throttled read."""
        throughput = self._by_source.get(source_id) or self._find(source_id)
        if throughput is None:
            return self.inner.get(source_id, key, consistent=consistent)
        reads, now_seconds = throughput.reads, self._now()
        if now_seconds <= reads.blocked_until_seconds and not self._is_admitted():
            reads.admit(key, now_seconds)
        row = self.inner.get(source_id, key, consistent=consistent)
        if row is not None and not isinstance(row, bytes):
            return self._got(row, reads, key, consistent=consistent)
        reads.take(key, item_read_units(row, consistent=consistent), now_seconds)
        return row

    async def _got(
        self, coming: Coroutine[Any, Any, Row | None], reads: CapacitySide, key: Key, *, consistent: bool
    ) -> Row | None:
        row = await coming
        reads.take(key, item_read_units(row, consistent=consistent), self._now())
        return row

    def unread(self, source_id: bytes, key: Key, units: float) -> None:
        """Give back the units of a row that `get` has read."""
        super().unread(source_id, key, units)
        throughput = self._find(source_id)
        if throughput is not None:
            throughput.reads.take(key, -units, self._now())

    def _is_admitted(self) -> bool:
        """True if a page of the request that runs now has been admitted:
        it reads the items of the page's index entries.
        """
        return bool(self._reading) and id(self._identify()) in self._reading

    def page(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Soon[Page]:
        """Rows of `span`. Raises the ApiError of a throttled read, but only for the first rows of a request's page.

        Each slice is paid when it has been read, so that reads at the same time see it, and a client that leaves
        has paid; `count` corrects the sum.
        """
        throughput = self._find(source_id)
        coming_page = partial(self.inner.page, source_id, span, limit_rows, limit_bytes, consistent=consistent)
        if throughput is None:
            return coming_page()
        meter = self._identify()
        reading = self._reading.get(id(meter))
        if reading is None:
            throughput.reads.admit_page(Key(span.lower.ljust(HASH_BYTES, b"\0")), self._now())
            reading = self._note(meter)
        coming = coming_page()
        if isinstance(coming, Page):
            _pay_slice(reading, throughput.reads, span, coming, self._now(), consistent=consistent)
            return coming
        return self._paged(coming, reading, throughput.reads, span, consistent=consistent)

    async def _paged(
        self, coming: Coroutine[Any, Any, Page], reading: _Reading, reads: CapacitySide, span: Span, *, consistent: bool
    ) -> Page:
        page = await coming
        _pay_slice(reading, reads, span, page, self._now(), consistent=consistent)
        return page

    async def snapshot_get(self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at `places`. Raises TransactionRefused with the ApiErrors of throttled reads."""
        reasons = [self._refusal(table, key, is_write=False) for table, key in places]
        if any(reasons):
            raise TransactionRefused(reasons)
        self._note(self._identify())
        rows = await self.inner.snapshot_get(places, limit_bytes)
        for (table, key), row in zip(places, rows, strict=True):
            throughput = self._find(table.source_id)
            if throughput is not None:
                units = TRANSACTION_FACTOR * item_read_units(row, consistent=True)
                throughput.reads.take_of_partition(key, units, self._now())
        return rows

    def _note(self, meter: object) -> _Reading:
        """Remember that `count` is to take the units of the request with this meter. None: nobody will count it."""
        reading = _Reading(meter)
        if meter is not None:
            self._reading[id(meter)] = reading
        return reading

    def count(self, meter: Meter) -> None:
        """Take the units of a request that has ended, as far as they have not been paid:
        those of pages, and of reads in transactions.
        """
        if not self._reading or (reading := self._reading.pop(id(meter), None)) is None:
            return
        for usage in meter:
            if usage.__class__ is not PageUsage and usage.__class__ is not TransactedReadUsage:
                continue
            now_seconds = self._now()
            for index, units in usage.index_units:
                self._take_of_source(reading, usage.table, index, units, now_seconds)
            if not usage.index_units:
                self._take_of_source(reading, usage.table, None, usage.table_units, now_seconds)

    def _take_of_source(
        self, reading: _Reading, table: OpenTable, index: Index | None, units: float, now_seconds: float
    ) -> None:
        source = table.read_source(None if index is None else index.name)
        throughput = None if source is None else self._find(source.source_id)
        if throughput is not None:
            replayed = [key for source_id, key in reading.replayed if source_id == table.source_id]
            for key in replayed:
                throughput.reads.take_of_partition(key, units / len(replayed), now_seconds)
            units -= reading.paid.pop(throughput.reads, NOTHING_PAID).units
            if units:
                throughput.reads.take_of_source(units, now_seconds)

    # --- writes ----------------------------------------------------------------------------------

    def mutate(
        self, table: OpenTable, key: Key, plan: Plan, request_id: RequestId | None = None, origin: Origin = "client"
    ) -> Soon[Change]:
        """Replace one row. Raises the ApiError of a throttled write, also if an index that
        it would change has no units.
        """
        throughput = self._by_source.get(table.source_id) or self._find(table.source_id)
        if throughput is None:
            return self.inner.mutate(table, key, plan, request_id, origin)
        writes, now_seconds = throughput.writes, self._now()
        if now_seconds <= writes.blocked_until_seconds:
            writes.admit(key, now_seconds)
        if now_seconds <= writes.indexes_blocked_until_seconds:
            plan = partial(self._plan_entries, throughput, table, key, plan)
        try:
            change = self.inner.mutate(table, key, plan, request_id, origin)
        except ItemRefusal as refusal:
            writes.take(key, write_units(refusal.size_bytes, 0), now_seconds)
            raise
        if change.__class__ is not Change:
            return self._written(cast("Coroutine[Any, Any, Change]", change), throughput, key)
        old, new = change.old, change.new
        if new is not None and len(new) <= WRITE_UNIT_BYTES and (old is None or len(old) <= WRITE_UNIT_BYTES):
            writes.take(key, 1.0, now_seconds)  # as `change_units` says, without a call
        else:
            writes.take(key, change_units(change), now_seconds)
        if change.entries:
            _take_entries(throughput, change, now_seconds)
        return change

    async def _written(self, coming: Coroutine[Any, Any, Change], throughput: ThroughputBuckets, key: Key) -> Change:
        try:
            change = await coming
        except ItemRefusal as refusal:
            throughput.writes.take(key, write_units(refusal.size_bytes, 0), self._now())
            raise
        now_seconds = self._now()
        throughput.writes.take(key, change_units(change), now_seconds)
        _take_entries(throughput, change, now_seconds)
        return change

    async def transact(
        self, steps: Sequence[TransactionStep], token: IdempotencyToken | None, request_id: RequestId | None = None
    ) -> Transacted:
        """Replace the rows of all steps. Raises TransactionRefused with the ApiErrors of throttled actions."""
        refused = RefusedSteps(
            lambda: [None if key is None else self._refusal(table, key, is_write=True) for table, key, _ in steps]
        )
        reading = self._note(self._identify())  # a replay reads, and says so in its meter
        try:
            transacted = await self.inner.transact(refused.wrapped(self._admitted_steps(steps)), token, request_id)
        except TransactionRefused as refusal:
            self._take_refused(steps, refusal.reasons)
            raise
        if transacted.report is not None:
            reading.replayed = [(table.source_id, key) for table, key, _ in steps if key is not None]
        now_seconds = self._now()
        for change in transacted.changes:
            throughput = self._find(change.table.source_id)
            if throughput is not None:
                writes = throughput.writes
                writes.take(change.key, transaction_change_units(change), now_seconds)
                _take_entries(throughput, change, now_seconds)
        return transacted

    def _take_refused(self, steps: Sequence[TransactionStep], reasons: Sequence[ApiError | None]) -> None:
        """Take what the steps of a cancelled transaction consumed."""
        for (table, key, _), reason in zip(steps, reasons, strict=True):
            units = refused_action_units(reason)
            throughput = self._find(table.source_id) if units else None
            if throughput is not None and key is not None:
                throughput.writes.take(key, units, self._now())

    def _admitted_steps(self, steps: Sequence[TransactionStep]) -> Sequence[TransactionStep]:
        """The steps; while an index has no write units, with plans that raise its error if they would change it."""
        admitted, now_seconds = [], self._now()
        for step in steps:
            throughput = None if step.key is None else self._find(step.table.source_id)
            if (
                throughput is not None
                and step.key is not None
                and now_seconds <= throughput.writes.indexes_blocked_until_seconds
            ):
                plan = partial(self._plan_entries, throughput, step.table, step.key, step.plan)
                admitted.append(step._replace(plan=plan))
            else:
                admitted.append(step)
        return admitted

    def _plan_entries(
        self, throughput: ThroughputBuckets, table: OpenTable, key: Key, plan: Plan, old: Row | None
    ) -> Planned | Row | None:
        """Call the plan. Raises also the error of a global index that it would change and that has no write units."""
        planned = plan(old)
        if isinstance(planned, Planned):
            entries = derive_entry_writes(table, key, old, planned.new, planned.old_item, planned.new_item)
        else:
            entries = derive_entry_writes(table, key, old, planned)
        for entry in entries:
            writes = throughput.entry_writes.get(entry.source.source_id)
            if writes is not None and writes is not throughput.writes:
                writes.admit(_entry_key(entry), self._now())
        return planned

    def _refusal(self, table: OpenTable, key: Key, *, is_write: bool) -> ApiError | None:
        """The error of a throttled read or write of one item; None if it is admitted."""
        throughput = self._find(table.source_id)
        if throughput is None:
            return None
        side = throughput.writes if is_write else throughput.reads
        try:
            side.admit(key, self._now())
        except ApiError as error:
            return without_frames(error)
        return None


def _take_entries(throughput: ThroughputBuckets, change: Change, now_seconds: float) -> None:
    """Use units of each index whose entries a committed change has changed. 0.4 µs for each."""
    entry_writes = throughput.entry_writes
    for entry in change.entries:
        source, old, new = entry
        writes = entry_writes.get(source.source_id)
        if writes is None:
            continue
        if (
            old is not None
            and new is not None
            and old.key == new.key
            and len(old.row) <= WRITE_UNIT_BYTES >= len(new.row)
        ):
            writes.take(new.key, 1.0, now_seconds)  # as `entry_units` says, without a call
        else:
            changed = new or old
            # one of both is there
            writes.take(changed.key, entry_units(entry), now_seconds)  # type: ignore[union-attr]


def _entry_key(write: EntryWrite) -> Key:
    """The key of the entry that a write adds, or else removes."""
    entry = write.old if write.new is None else write.new
    assert entry is not None
    return entry.key


def _pay_slice(
    reading: _Reading, reads: CapacitySide, span: Span, page: Page, now_seconds: float, *, consistent: bool
) -> None:
    """Use the units of a slice of a page: of the table or index, and of the partitions from the begin of its
    span to its last key, or to the end.
    """
    lower, upper = span.lower, span.upper
    if page.last_key is not None:
        lower, upper = (page.last_key, upper) if span.is_reverse else (lower, page.last_key)
    paid = reading.paid.get(reads, NOTHING_PAID)
    span_bytes = paid.span_bytes + page.size_bytes
    span_units = read_units(span_bytes, consistent=consistent)  # a span rounds up once, and not each of its slices
    units = span_units - paid.span_units
    if page.last_key is None:
        span_bytes, span_units = 0, 0.0
    reading.paid[reads] = _Paid(span_bytes, span_units, paid.units + units)
    if units:
        reads.take_of_span(lower, upper, units, now_seconds)
        reads.take_of_source(units, now_seconds)
