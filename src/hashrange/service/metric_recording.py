"""How do calls that have ended become metrics? They are counted as they end, and recorded when the minute of service
time is over, or somebody reads.

While metrics are recorded, an operation on one item takes 0.5 µs longer (benchmarks/metrics.py); without,
calls are not looked at. An observation belongs to the minute in which its call ended: whatever moves the clock,
what was counted before is recorded for the minute before.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from hashrange.cloudwatch.dynamodb.definitions import PERIODS_SECONDS, UNITS
from hashrange.cloudwatch.dynamodb.gauges import place_of_table
from hashrange.cloudwatch.dynamodb.metric_ids import CONSUMED, WRITTEN, Place, customer_metric, table_metric
from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.limits import METRIC_MINUTE_SECONDS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.errors import Abandoned, ApiError
from hashrange.features.features import Features
from hashrange.operations.meter import AnyUsage, ChangeUsage, Meter, TransactedUsage
from hashrange.operations.reply import Reply
from hashrange.service.call import Call
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.service.metric_calls import (
    count_delivery,
    count_failure,
    count_induced_error,
    count_refusal,
    count_success,
    count_throttle_event,
    count_units,
    count_vector_bytes,
    is_user_error,
    units_of,
    user_errors,
    verb_of,
)
from hashrange.service.metric_counts import (
    MICROSECONDS_PER_SECOND,
    SELECT,
    STATEMENT,
    TRANSACTION,
    Counted,
    Counts,
    StatementSubject,
    observed_of,
)
from hashrange.service.metric_gauges import MetricGauges
from hashrange.service.metric_places import MetricPlaces
from hashrange.tables.capacity import entry_units, vector_write_bytes
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.throttling import ThrottleEvent
from hashrange.triggers.feature import KINESIS

if TYPE_CHECKING:
    from hashrange.triggers.kinesis.observation import DeliveryObservation

LOOK_SECONDS = 0.25
"""Real time after which what calls have appended is counted, so that it does not fill the memory."""


RECORDED_TOGETHER = 8
"""Metrics of a minute that one piece records."""


class MetricRecording:
    """Records the metrics of one service's requests and tables. All calls come from the thread of the event loop."""

    def __init__(self, features: Features, faulted: FaultedCalls) -> None:
        self._features, self._faulted = features, faulted
        self._metrics = metrics = features.part(METRICS)
        self._store = features.store
        self._clock = features.clock
        self._monotonic = features.clock.monotonic
        self._counts = Counts()
        counts = self._counts
        self._of_items, self._of_pages, self._of_entries = counts.of_items.copy(), counts.of_pages, counts.of_entries
        self._of_transactions = self._of_items.pop(TRANSACTION)
        self._places = MetricPlaces(metrics)
        self._gauges = MetricGauges(self._store.catalog, metrics, self._places, self._record_use)
        self._aside: deque[tuple[int, dict[MetricId, Counted]]] = deque()
        """What was counted in minutes that are over, each with its begin, and is recorded when somebody reads."""
        self._beginnings = 0
        """How often recording has begun anew."""
        self._now_seconds = 0.0
        """Service time of the last look at the clock."""
        self._minute_seconds = 0
        """Begin of the minute that is being counted."""
        self._looked_seconds = 0.0
        """Monotonic time of the last look at the clock."""
        self._turn_seconds = 0.0
        """Monotonic time of the next look at the clock, unless the clock is moved:
        the minute is over then, or LOOK_SECONDS."""
        self._was_virtual = False
        self._generation = 0

    def start(self) -> None:
        """Record from now on."""
        self._begin(self._clock.service_time())
        self._features.see_expired.append(self._expired)
        if (kinesis := self._features.loaded(KINESIS)) is not None:
            kinesis.on_delivered(self._delivered)
        self._features.requests.see_throttled.append(self._throttled)
        self._clock.on_advance(self._moved)
        self._metrics.sources.add(self.record)

    def give_up_tables(self) -> Sequence[dict[Any, Any]]:
        """Forget all tables, whose content has been replaced or is closed; returns what is left, to be freed.
        Recording begins anew before another call is counted, or somebody reads.
        """
        return self._gauges.give_up()

    # --- calls -----------------------------------------------------------------------------------

    def succeeded(self, call: Call, reply: Reply | None) -> None:
        """Count a call that succeeded: before its reply is written, and its meter dropped."""
        now_seconds = self._monotonic()
        if now_seconds >= self._turn_seconds:
            self._turn()
        name, meter = call.operation.name, call.meter
        by_table = self._of_items.get(name)
        if by_table is not None:
            usage, *others = meter
            if not others:
                table, units = usage.table, usage.table_units
                if usage.__class__ is ChangeUsage and usage.change.entries:
                    units += self._count_entries(table, usage.change.entries)
                by_table[table].fromlist([units, now_seconds - call.begin_seconds])
                return
        by_subject = self._of_pages.get(name)
        if by_subject is not None and reply is not None:
            (usage,) = meter
            units, subject = _read_units(usage)
            by_subject[subject].fromlist([units, now_seconds - call.begin_seconds, reply["Count"]])
            return
        if name == STATEMENT and len(meter) == 1 and not self._faulted.replies and (verb := verb_of(call.request)):
            self._count_statement(meter[0], verb, now_seconds - call.begin_seconds, reply)
            return
        if name == TRANSACTION and not self._faulted.replies and (total := _units_of_one(meter)) is not None:
            self._of_transactions[meter[0].table].fromlist([total, now_seconds - call.begin_seconds])
            return
        self._count_units(meter)
        if self._faulted.replies and self._has_error(call):
            count_induced_error(self._counts, call, list(dict.fromkeys([usage.table.name for usage in meter])))
        else:
            count_success(self._counts, call, reply, int((now_seconds - call.begin_seconds) * MICROSECONDS_PER_SECOND))
        if call.operation.writes and call.operation.capacity is None:
            self._gauges.look(self._clock.service_time())

    def _count_statement(self, usage: AnyUsage, verb: str, seconds: float, reply: Reply | None) -> None:
        """Count a statement of ExecuteStatement that took this long."""
        if isinstance(usage, ChangeUsage):
            table, entries = usage.table, usage.change.entries
            units = usage.table_units + (self._count_entries(table, entries) if entries else 0.0)
            subject: StatementSubject = (table, None, verb)
        else:
            units, (table, index_name) = _read_units(usage)
            subject = (table, index_name, verb)
        returned = len(reply["Items"]) if verb == SELECT and reply is not None else 0
        self._counts.of_statements[subject].fromlist([units, seconds, returned])

    def _count_units(self, meter: Meter) -> None:
        """Count what a request consumed. Gives way before, so that another minute, or other content, may have begun
        in between; the time is looked at afterwards.
        """
        consumed = units_of(meter)
        self._see_time()
        count_units(self._counts, consumed, meter)

    def _count_entries(self, table: OpenTable, entries: Sequence[EntryWrite]) -> float:
        """Count the units of global indexes, and the bytes of vector indexes; returns the units of local indexes, which
        are their table's.
        """
        of_entries, local_units = self._of_entries, 0.0
        for entry in entries:
            index = entry.source.index
            if index is None:
                count_vector_bytes(self._counts, table, vector_write_bytes((entry,)))
            elif index.is_global:
                of_entries[table, index.name].append(entry_units(entry))
            else:
                local_units += entry_units(entry)
        return local_units

    def refused(self, call: Call, error: ApiError) -> None:
        """Count a call that was refused: before its reply is written, and its meter dropped."""
        self._count_units(call.meter)
        count_refusal(self._counts, call, error)
        if is_user_error(error):
            self._count_user_error(Place(call.scope.account, call.scope.region))

    def failed(self, call: Call, error: BaseException) -> None:
        """Count a call that met an internal error, unless its client has left."""
        if not isinstance(error, Abandoned):
            self._count_units(call.meter)
            count_failure(self._counts, call)

    def refused_unread(self, account: str, region: str) -> None:
        """Count a request of this account that was refused before it became a call."""
        self._see_time()
        self._count_user_error(Place(account, region))

    def _count_user_error(self, place: Place) -> None:
        """Count a request that was its client's fault, and forget those of the place whose turn
        it is if there are too many.
        """
        forgotten = self._places.note_refused(place)
        if forgotten is not None:
            self._counts.forget_value(user_errors(forgotten))
        self._counts.add(user_errors(place))

    def _has_error(self, call: Call) -> bool:
        """True if a fault will replace the reply by an error."""
        return any(fault.kind == "error" for fault in self._faulted.replies.get(call, ()))

    def replied_with_error(self, call: Call, tables: Sequence[str]) -> None:
        """Count that a fault replaced the reply of a call that has been counted as a success."""
        self._see_time()
        count_induced_error(self._counts, call, tables)

    def _throttled(self, event: ThrottleEvent) -> None:
        self._see_time()
        count_throttle_event(self._counts, event)

    def _expired(self, changes: Sequence[Change]) -> None:
        self._see_time()
        for change in changes:
            if change.old is not None and change.new is None:
                table: OpenTable = change.table
                self._counts.add(table_metric(place_of_table(table.schema), "TimeToLiveDeletedItemCount", table.name))

    def _delivered(self, observation: "DeliveryObservation") -> None:
        self._see_time()
        count_delivery(self._counts, observation)

    # --- time ------------------------------------------------------------------------------------

    def _begin(self, since_seconds: float) -> None:
        """Begin with the content that there is now, and has been since this service time."""
        self._beginnings += 1
        self._generation = self._store.documents.generation
        self._gauges.begin(since_seconds)
        self._look_at_clock(self._clock.service_time())

    def _look_at_clock(self, now_seconds: float) -> None:
        self._now_seconds = now_seconds
        self._minute_seconds = int(now_seconds // METRIC_MINUTE_SECONDS) * METRIC_MINUTE_SECONDS
        self._looked_seconds = self._monotonic()
        left_seconds = METRIC_MINUTE_SECONDS - (now_seconds - self._minute_seconds)
        self._turn_seconds = self._looked_seconds + min(left_seconds, LOOK_SECONDS)
        self._was_virtual = self._clock.is_virtual

    def _see_time(self) -> None:
        """Begin the next minute if it is time to."""
        if self._monotonic() >= self._turn_seconds:
            self._turn()

    def _moved(self) -> None:
        """The clock has been moved, frozen, or let run again: what was counted belongs to the time before."""
        self._turn(has_moved=True)
        # The content may be replaced now, which the next call has to see before it is counted.
        self._turn_seconds = -inf

    def _turn(self, *, has_moved: bool = False) -> None:
        """See what time it is; record what has been counted if its minute is over."""
        now_seconds = self._clock.service_time()
        if self._store.documents.generation != self._generation:
            self._counts.take()  # of the content that has been replaced
            self._aside.clear()
            self._begin(min(self._before_move(), now_seconds) if has_moved else now_seconds)
            return
        if now_seconds < self._now_seconds:
            self._put_aside()
            self._begin(now_seconds)
            return
        if now_seconds >= self._minute_seconds + METRIC_MINUTE_SECONDS:
            self._put_aside()
        else:
            self.fold()
        if has_moved:
            self._gauges.look(min(self._before_move(), now_seconds))
        self._look_at_clock(now_seconds)

    def _before_move(self) -> float:
        """Service time at which the clock was moved."""
        if self._was_virtual:
            return self._now_seconds
        return self._now_seconds + self._monotonic() - self._looked_seconds

    def fold(self) -> None:
        """Count what calls have appended since the last time. Done every LOOK_SECONDS."""
        self._counts.fold()

    def record(self, now_seconds: float) -> Iterator[None]:
        """Record what has been counted, and what gauges have shown, up to this service time,
        in pieces. A `RecordCounts`.
        """
        self._turn()
        self._put_aside()
        self._gauges.look(now_seconds)
        beginnings, documents = self._beginnings, self._store.documents
        for _ in self._pieces(now_seconds, self._minute_seconds):
            yield
            if self._beginnings != beginnings or documents.generation != self._generation:
                return  # the content has been replaced, or time has been moved back

    def _pieces(self, now_seconds: float, minute_seconds: int) -> Iterator[None]:
        yield from self._gauges.settle(now_seconds)
        yield from self._places.forget()
        aside = self._aside
        while aside:
            at_seconds, taken = aside[0]
            for metric in list(islice(taken, RECORDED_TOGETHER)):
                self._record_counted(at_seconds, metric, taken.pop(metric))
            if not taken:
                aside.popleft()
            yield
        yield from self._gauges.record_zeros(minute_seconds)

    def _put_aside(self) -> None:
        """Put what has been counted in this minute aside, to be recorded when somebody reads."""
        taken = self._counts.take()
        if taken:
            self._aside.append((self._minute_seconds, taken))

    def _record_use(self, metric: MetricId) -> None:
        """Record what is put aside of a metric, which ends."""
        for minute_seconds, taken in self._aside:
            if (counted := taken.pop(metric, None)) is not None:
                self._record_counted(minute_seconds, metric, counted)

    def _record_counted(self, minute_seconds: int, metric: MetricId, counted: Counted) -> None:
        if not self._places.keeps(Place(metric.account, metric.region)):
            return
        unit, (statistics, distribution) = UNITS[metric.name], observed_of(metric, counted)
        if metric.name in CONSUMED:
            self._gauges.note_use(metric, minute_seconds)
        if metric.name == WRITTEN:
            of_customer = customer_metric(metric)
            self._gauges.note_use(of_customer, minute_seconds)
            self._metrics.record(of_customer, unit, minute_seconds, statistics)
        begin_seconds = minute_seconds - minute_seconds % PERIODS_SECONDS[metric.name]
        self._metrics.record(metric, unit, begin_seconds, statistics, distribution)


def _read_units(usage: AnyUsage) -> tuple[float, tuple[OpenTable, str | None]]:
    """Units of a page, and what they belong to: a global index, or the table. A page reads one of both."""
    units, index_name = usage.table_units, None
    for index, of_index in usage.index_units:
        units += of_index
        if index.is_global:
            index_name = index.name
    return units, (usage.table, index_name)


def _units_of_one(meter: Meter) -> float | None:
    """Units of a transaction's writes if they belong to one table and to no index; otherwise None."""
    total, table = 0.0, meter[0].table if meter else None
    for usage in meter:
        if usage.__class__ is not TransactedUsage or usage.table is not table or usage.change.entries:
            return None
        total += usage.table_units
    return total if meter else None
