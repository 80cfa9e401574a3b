"""Where are requests throttled? At a step in front of the store: it refuses what no bucket admits,
and takes the units of what has been done.

Requests are refused where the service refuses them: after all checks, for each item by itself.
So a batch returns what is throttled as unprocessed, and a transaction names the action.
A refused request takes nothing, except for a write that its item refuses, alone or in a transaction. Reads are admitted
before anybody knows what they cost, and take it afterwards.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

import msgspec

from hashrange.errors import ApiError, ItemRefusal, without_frames
from hashrange.items.steps import spend
from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_FACTOR, WRITE_UNIT_BYTES
from hashrange.operations.meter import PageUsage, TransactedReadUsage
from hashrange.store.front import FrontStep, RequestMeter, SpanRead
from hashrange.store.interface import ItemPlaces, Page, Transacted, TransactionRefused, TransactionStep
from hashrange.store.refused_steps import RefusedSteps
from hashrange.tables.capacity import (
    change_units,
    entry_units,
    item_read_units,
    read_units,
    refused_action_units,
    transaction_change_units,
    write_units,
)
from hashrange.tables.change import Change, Plan, Planned, entries_of, with_entries
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index
from hashrange.tables.source_id import HASH_BYTES
from hashrange.throughput.capacity_side import CapacitySide
from hashrange.throughput.table_throughputs import TableThroughputs, ThroughputBuckets

TAKING_STEPS = 3
"""Steps of taking the units of one item or entry."""


class _Paid(NamedTuple):
    """Units that the pages of a request have used so far of one table or index."""

    span_bytes: int
    """Bytes that have been read of the span that has not ended yet, and their units."""
    span_units: float
    units: float
    """Units of all its spans, this one included."""


NOTHING_PAID = _Paid(0, 0.0, 0.0)


class _Reading(msgspec.Struct):
    """What is remembered of a request that reads pages, or is a transaction that reads."""

    replayed: Sequence[tuple[bytes, Key]] = ()
    """Source ids and keys of the items that the replay of a transaction reads."""
    paid: dict[CapacitySide, _Paid] = {}
    """What has been taken of each table or index."""


class AdmittingStep(FrontStep):
    """The step at which requests are throttled. Until a bucket is empty, it only takes units."""

    def __init__(self, throughputs: TableThroughputs, now: Callable[[], float]) -> None:
        self._find = throughputs.find
        self._by_source = throughputs.by_source
        self._now = now
        self._blocked_until_seconds = -inf
        self.acts_before = False
        """Until then any bucket may be empty."""
        throughputs.on_blocked(self._see_blocked)

    def _see_blocked(self, until_seconds: float) -> None:
        self._blocked_until_seconds = max(self._blocked_until_seconds, until_seconds)
        self.acts_before = True

    def _short(self, source_id: bytes, now_seconds: float) -> ThroughputBuckets | None:
        """The buckets of a source, if any bucket of all may be empty. Otherwise nothing is asked before calls until one
        is.
        """
        self.acts_before = now_seconds <= self._blocked_until_seconds
        return self._find(source_id) if self.acts_before else None

    # --- reads -----------------------------------------------------------------------------------

    def before_get(self, meter: RequestMeter, source_id: bytes, key: Key, *, consistent: bool) -> None:
        """Raise the ApiError of a throttled read, unless the read is for an index entry of an admitted page."""
        now_seconds = self._now()
        throughput = self._short(source_id, now_seconds)
        if throughput is not None and self.note_of(meter) is None:
            throughput.reads.admit(key, now_seconds, meter.operation.name)

    def after_get(
        self, meter: RequestMeter, kept: None, source_id: bytes, key: Key, consistent: bool, row: Row | None
    ) -> Row | None:
        """Take the units of a row."""
        throughput = self._by_source.get(source_id) or self._find(source_id)
        if throughput is not None:
            units = item_read_units(row, consistent=consistent, table=throughput.reads.table)
            throughput.reads.take(key, units, self._now())
        return row

    def unread(self, meter: RequestMeter, source_id: bytes, key: Key, units: float) -> None:
        """Give back the units of a row."""
        throughput = self._find(source_id)
        if throughput is not None:
            throughput.reads.take(key, -units, self._now())

    def before_page(self, meter: RequestMeter, read: SpanRead) -> None:
        """Raise the ApiError of a throttled read, but only for the first rows of a request's page."""
        now_seconds = self._now()
        throughput = self._short(read.source_id, now_seconds)
        if throughput is not None and self.note_of(meter) is None:
            first = Key(read.span.lower.ljust(HASH_BYTES, b"\0"))
            throughput.reads.admit(first, now_seconds, meter.operation.name, is_item=False)

    def after_page(self, meter: RequestMeter, kept: None, read: SpanRead, page: Page) -> Page:
        """Take the units of a slice of a page as soon as it has been read, so that reads at the same time see it,
        and a client that leaves has paid; `ended` corrects the sum.
        """
        throughput = self._find(read.source_id)
        if throughput is not None:
            reading = self.note_of(meter) or self.remember(meter, _Reading())
            _pay_slice(reading, throughput.reads, read, page, self._now())
        return page

    def before_snapshot_get(self, meter: RequestMeter, places: ItemPlaces) -> None:
        """Raise TransactionRefused with the ApiErrors of throttled reads."""
        reasons = [self._refusal(meter, table, key, is_write=False) for table, key in places]
        if any(reasons):
            raise TransactionRefused(reasons)

    def after_snapshot_get(self, meter: RequestMeter, places: ItemPlaces, rows: Sequence[Row | None]) -> None:
        """Take the units of the partitions; `ended` takes those of the tables."""
        self.remember(meter, _Reading())
        for (table, key), row in zip(places, rows, strict=True):
            throughput = self._find(table.source_id)
            if throughput is not None:
                units = TRANSACTION_FACTOR * item_read_units(row, consistent=True, table=table)
                throughput.reads.take_of_partition(key, units, self._now())

    def ended(self, note: _Reading, call: Any) -> None:
        """Take the units of a request, as far as they have not been paid: those of pages, and of reads in
        transactions.
        """
        for usage in call.meter:
            if usage.__class__ is not PageUsage and usage.__class__ is not TransactedReadUsage:
                continue
            now_seconds = self._now()
            for index, units in usage.index_units or ((None, usage.table_units),):
                self._take_of_source(note, usage.table, index, units, now_seconds)

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

    def before_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, plan: Plan) -> tuple[Plan, None]:
        """Raise the ApiError of a throttled write. The returned plan also does if an index that it would change has
        no units.
        """
        now_seconds = self._now()
        throughput = self._short(table.source_id, now_seconds)
        if throughput is None:
            return plan, None
        throughput.writes.admit(key, now_seconds, meter.operation.name)
        return self._admitted_step(meter, TransactionStep(table, key, plan), now_seconds).plan, None

    def after_mutate(self, meter: RequestMeter, kept: None, change: Change) -> None:
        """Take the units of a write, and of the entries that it has changed."""
        source_id = change.table.source_id
        try:
            throughput = self._by_source[source_id]
        except KeyError:
            throughput = self._find(source_id)
        if throughput is None:
            return
        now_seconds, old, new = self._now(), change.old, change.new
        if new is not None and len(new) <= WRITE_UNIT_BYTES and (old is None or len(old) <= WRITE_UNIT_BYTES):
            throughput.writes.take(change.key, 1.0, now_seconds)  # as `change_units` says, without a call
        else:
            throughput.writes.take(change.key, change_units(change), now_seconds)
        if change.entries:
            _take_entries(throughput, change, now_seconds)

    def refused_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, refusal: ItemRefusal) -> None:
        """Take the units of a write that its item has refused."""
        throughput = self._find(table.source_id)
        if throughput is not None:
            throughput.writes.take(key, write_units(refusal.size_bytes, 0), self._now())

    def before_transact(
        self, meter: RequestMeter, steps: Sequence[TransactionStep]
    ) -> tuple[Sequence[TransactionStep], None]:
        """The steps with plans that raise the ApiErrors of throttled actions, also if an index that they would change
        has no units.
        """
        now_seconds = self._now()
        refused = RefusedSteps(
            lambda: [
                None if key is None else self._refusal(meter, table, key, is_write=True) for table, key, _ in steps
            ]
        )
        return refused.wrapped([self._admitted_step(meter, step, now_seconds) for step in steps]), None

    def after_transact(
        self, meter: RequestMeter, kept: None, steps: Sequence[TransactionStep], transacted: Transacted
    ) -> None:
        """Take the units of a transaction's writes; gives way between them. A replay reads, and says so in its meter:
        its items are remembered for `ended`.
        """
        if transacted.report is not None:
            self.remember(meter, _Reading([(table.source_id, key) for table, key, _ in steps if key is not None]))
        # Found before anything gives way: meanwhile the content may be replaced.
        found = [self._find(change.table.source_id) for change in transacted.changes]
        for throughput, change in zip(found, transacted.changes, strict=True):
            spend(TAKING_STEPS * (1 + len(change.entries)))
            if throughput is not None:
                now_seconds = self._now()
                throughput.writes.take(change.key, transaction_change_units(change), now_seconds)
                _take_entries(throughput, change, now_seconds)

    def refused_transact(
        self, meter: RequestMeter, kept: None, steps: Sequence[TransactionStep], refusal: TransactionRefused
    ) -> None:
        """Take what the steps of a cancelled transaction consumed."""
        for (table, key, _), reason in zip(steps, refusal.reasons, strict=True):
            units = refused_action_units(reason)
            throughput = self._find(table.source_id) if units else None
            if throughput is not None and key is not None:
                throughput.writes.take(key, units, self._now())

    def _admitted_step(self, meter: RequestMeter, step: TransactionStep, now_seconds: float) -> TransactionStep:
        """The step; while an index has no write units, with a plan that raises its error if it would change it."""
        throughput = None if step.key is None else self._find(step.table.source_id)
        if throughput is None or now_seconds > throughput.writes.indexes_blocked_until_seconds:
            return step
        return step._replace(plan=partial(self._plan_entries, meter.operation.name, throughput, step))

    def _plan_entries(
        self, operation: str, throughput: ThroughputBuckets, step: TransactionStep, old: Row | None
    ) -> Planned:
        """Call the plan. Raises also the error of a global index that it would change and that has no write units."""
        table, key = step.table, step.key
        assert key is not None, "a step without a key must refuse"
        planned = with_entries(step.plan(old), table, key, old)
        for entry in entries_of(planned, table, key, old):
            writes = throughput.entry_writes.get(entry.source.source_id)
            if writes is not None and writes is not throughput.writes:
                writes.admit(_entry_key(entry), self._now(), operation)
        return planned

    def _refusal(self, meter: RequestMeter, table: OpenTable, key: Key, *, is_write: bool) -> ApiError | None:
        """The error of a throttled read or write of one item; None if it is admitted."""
        now_seconds = self._now()
        throughput = self._short(table.source_id, now_seconds)
        if throughput is None:
            return None
        side = throughput.writes if is_write else throughput.reads
        try:
            side.admit(key, now_seconds, meter.operation.name)
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
            writes.take(_entry_key(entry), entry_units(entry), now_seconds)


def _entry_key(write: EntryWrite) -> Key:
    """The key of the entry that a write adds, or else removes."""
    entry = write.old if write.new is None else write.new
    assert entry is not None
    return entry.key


def _pay_slice(reading: _Reading, reads: CapacitySide, read: SpanRead, page: Page, now_seconds: float) -> None:
    """Use the units of a slice of a page: of the table or index, and of the partitions from the begin of its
    span to its last key, or to the end.
    """
    span = read.span
    lower, upper = span.lower, span.upper
    if page.last_key is not None:
        lower, upper = (page.last_key, upper) if span.is_reverse else (lower, page.last_key)
    paid = reading.paid.get(reads, NOTHING_PAID)
    span_bytes = paid.span_bytes + page.size_bytes
    span_units = read_units(span_bytes, consistent=read.consistent)  # a span rounds up once, and not each of its slices
    units = span_units - paid.span_units
    if page.last_key is None:
        span_bytes, span_units = 0, 0.0
    reading.paid[reads] = _Paid(span_bytes, span_units, paid.units + units)
    if units:
        reads.take_of_span(lower, upper, units, now_seconds)
        reads.take_of_source(units, now_seconds)
