"""How do rows and stream records meet faults? At a step in front of the store, in place while there are faults:
it refuses accesses, returns older rows, or returns records late.

Errors are raised where the service meets them: after all checks of the request, for each item by itself. So a batch
returns what is throttled as unprocessed, and a transaction names the action.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.errors import (
    ApiError,
    InternalServerError,
    LeftUnprocessed,
    TransactionConflictException,
    without_frames,
)
from hashrange.faults.drawing import REQUEST_KINDS, Drawing, Touch
from hashrange.faults.fault import Fault, FaultKind
from hashrange.faults.remembered import RecentRequests, StaleRows, TableRows, UnfinishedRead, find_table_rows
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.types import Key, Row
from hashrange.items.values import check_item
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.messages.transactions import CONFLICT
from hashrange.operations.naming import bare_name
from hashrange.store.front import FrontStep, RequestMeter, SpanRead
from hashrange.store.interface import ItemPlaces, Page, Store, Transacted, TransactionRefused, TransactionStep
from hashrange.store.refused_steps import RefusedSteps
from hashrange.store.streams import RecordPage, Streams
from hashrange.tables.change import Change, Plan, Planned, entries_of, with_entries
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import HASH_BYTES, partition_prefix
from hashrange.tables.span import Span
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream, sequence_at
from hashrange.tables.throttling import (
    SeeThrottled,
    ThrottleEvent,
    ThrottlingCode,
    ThroughputLimit,
    throttling_error,
    usual_code,
)
from hashrange.vectors.search import FoundEntries

READ_KINDS: frozenset[FaultKind] = REQUEST_KINDS | {"throttle", "unprocessed"}
WRITE_KINDS: frozenset[FaultKind] = READ_KINDS | {"conflict"}
BATCHES = {"BatchGetItem", "BatchWriteItem"}


MarkCall = Callable[[Any, Fault], None]
"""Lets the reply of the service's call meet a fault of a kind that whole requests meet."""


class _Met(msgspec.Struct):
    """What is remembered of a request."""

    faults: list[Fault] = []
    """Those of kinds that whole requests meet; told once the request has ended."""
    reading: UnfinishedRead | None = None
    """The page that it reads."""


class FaultStep(FrontStep):
    """The step at which rows meet faults; all requests must pass it. It remembers which page a request reads."""

    acts_before = True

    def __init__(
        self,
        store: Store,
        drawing: Drawing,
        clock: Clock,
        mark: MarkCall,
        see_throttled: Sequence[SeeThrottled] = (),
        find_noted: Callable[[], StaleRows | None] = lambda: None,
    ) -> None:
        """`see_throttled` are told of each part of a request that a fault throttles.

        `find_noted`: returns the StaleRows of the faults that are in place, in which writes are noted. It need not be
        this step's, which a request may pass that began with earlier faults.
        """
        self._catalog = store.catalog
        self._see_throttled = see_throttled
        self.drawing = drawing
        self._clock = clock
        self._mark = mark
        self._has_before = drawing.has_request_faults("before", with_key=True)
        self._has_after = drawing.has_request_faults("after", with_key=True)
        self._recent = None if drawing.most_seconds("conflict") is None else RecentRequests(clock)
        stale_seconds = drawing.most_seconds("stale-read")
        self.stale = None if stale_seconds is None else StaleRows(stale_seconds)
        """Rows as they were before, for the reads that pass this step; None: no read is stale."""
        self._find_noted = find_noted
        self.streams = FaultStreams(store.streams, drawing, clock) if drawing.has("late-records") else None

    def ended(self, note: _Met, call: Any) -> None:
        """Let the reply meet what the request has met."""
        for fault in note.faults:
            self._mark(call, fault)

    def _met(self, meter: RequestMeter) -> _Met:
        met: _Met = self.note_of(meter) or self.remember(meter, _Met())
        return met

    # --- reads -----------------------------------------------------------------------------------

    def before_get(self, meter: RequestMeter, source_id: bytes, key: Key, *, consistent: bool) -> "_Access | None":
        """Raise the ApiError of a fault. Returns what the read meets afterwards."""
        source = find_table_rows(self._catalog, source_id)
        if source is None:
            return None
        touch = Touch(source.table, source.index_name, key)
        self._refuse(meter, touch, READ_KINDS, is_write=False)
        reading = self._met(meter).reading
        if reading is not None and reading.fetches_from(source.table):
            return _Access(source, touch, reading.since_seconds)
        return _Access(source, touch, self._draw_moment(meter, touch, consistent=consistent))

    def after_get(
        self,
        meter: RequestMeter,
        kept: "_Access | None",
        source_id: bytes,
        key: Key,
        consistent: bool,
        row: Row | None,
    ) -> Row | None:
        """The row, perhaps as it was earlier. Raises the error of a fault."""
        if kept is None:
            return row
        self._meet_after(meter, [kept.touch])
        if kept.since_seconds is None or self.stale is None:
            return row
        return self.stale.row(source_id, key, row, kept.since_seconds)

    def before_page(self, meter: RequestMeter, read: SpanRead) -> "_Access | None":
        """Raise the ApiError of a fault, unless this is the rest of a page. Returns what the read meets afterwards."""
        source = find_table_rows(self._catalog, read.source_id)
        if source is None:
            return None
        touch = Touch(source.table, source.index_name, None, _common_prefix(read.span))
        reading = self._met(meter).reading
        if reading is not None and reading.goes_on(source, read.span):
            return _Access(source, touch, reading.since_seconds, is_rest=True)
        self._refuse(meter, touch, READ_KINDS, is_write=False)
        is_never_stale = source.read.index is not None and not source.is_local_index
        since_seconds = self._draw_moment(meter, touch, consistent=read.consistent or is_never_stale)
        return _Access(source, touch, since_seconds)

    def after_page(self, meter: RequestMeter, kept: "_Access | None", read: SpanRead, page: Page) -> Page:
        """The page, perhaps as it was earlier. Raises the error of a fault."""
        if kept is None:
            return page
        if not kept.is_rest:
            self._meet_after(meter, [kept.touch])
        if kept.since_seconds is not None and self.stale is not None:
            page = self.stale.page(kept.source, read.span, page, kept.since_seconds, read.limit_rows, read.limit_bytes)
        self._met(meter).reading = UnfinishedRead(kept.source, page.last_key, kept.since_seconds)
        return page

    def before_search(self, meter: RequestMeter, table: OpenTable, source: ReadSource) -> Touch:
        """Raise the ApiError of a fault. A search of a vector index is never stale."""
        assert source.vectors is not None
        touch = Touch(table, source.vectors.index.name, None)
        self._refuse(meter, touch, READ_KINDS, is_write=False)
        return touch

    def after_search(self, meter: RequestMeter, kept: Touch, found: FoundEntries) -> FoundEntries:
        """What was found. Raises the error of a fault."""
        self._meet_after(meter, [kept])
        return found

    def before_snapshot_get(self, meter: RequestMeter, places: ItemPlaces) -> None:
        """Raise TransactionRefused with the ApiErrors of faults."""
        reasons = self._refuse_all(meter, [Touch(table, None, key) for table, key in places], is_write=False)
        if any(reasons):
            raise TransactionRefused(reasons)

    def after_snapshot_get(self, meter: RequestMeter, places: ItemPlaces, rows: Sequence[Row | None]) -> None:
        """Raise the error of a fault."""
        self._meet_after(meter, [Touch(table, None, key) for table, key in places])

    # --- writes ----------------------------------------------------------------------------------

    def before_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, plan: Plan) -> tuple[Plan, bool]:
        """Raise the ApiError of a fault. Returns the plan, and whether the request writes several items one after the
        other.

        If it does, its first write draws, for all of them, the faults that whole requests meet. A fault that comes
        after the commits is not raised but replaces the reply, so that all are written.
        """
        is_one_of_several = (self._has_before or self._has_after) and self._is_one_of_several(meter, table, key)
        kinds = WRITE_KINDS - REQUEST_KINDS if is_one_of_several else WRITE_KINDS
        self._refuse(meter, Touch(table, None, key), kinds, is_write=True)
        if self._recent is not None:
            self._recent.note(meter.operation.name, table, key, is_write=True)
        return self.beside_requests((TransactionStep(table, key, plan),))[0].plan, is_one_of_several

    def _is_one_of_several(self, meter: RequestMeter, table: OpenTable, key: Key) -> bool:
        """True if the request writes several items one after the other. If the item is the first of them, draws the
        faults that come before the request, for all of them; raises InternalServerError if it is not to be carried out.
        """
        writes = _written_by(meter)
        first = next(writes, None)
        if first is None:
            return False
        if (first[0].table_id, first[1]) == (table.table_id, key):
            for other, other_key in chain((first,), writes):
                self._refuse(meter, Touch(other, None, other_key), REQUEST_KINDS, is_write=True)
        return True

    def after_mutate(self, meter: RequestMeter, kept: bool, change: Change) -> None:
        """Raise the error of a fault, although the row has been written."""
        self._meet_after(meter, [Touch(change.table, None, change.key)], is_one_of_several=kept)

    def before_transact(
        self, meter: RequestMeter, steps: Sequence[TransactionStep]
    ) -> tuple[Sequence[TransactionStep], RefusedSteps]:
        """The steps with plans that raise the ApiErrors of faults, and what knows these errors.

        Faults are drawn when the first plan is called: a replay, of which no plan is called, meets none.
        """
        faulted = RefusedSteps(partial(self._refuse_all, meter, _touches_of(steps), is_write=True))
        return faulted.wrapped(self.beside_requests(steps)), faulted

    def after_transact(
        self, meter: RequestMeter, kept: RefusedSteps, steps: Sequence[TransactionStep], transacted: Transacted
    ) -> None:
        """Raise the error of a fault, although the rows have been written."""
        if kept.is_found:
            self._meet_after(meter, [touch for touch in _touches_of(steps) if touch is not None])

    def refused_transact(
        self,
        meter: RequestMeter,
        kept: RefusedSteps,
        steps: Sequence[TransactionStep],
        refusal: TransactionRefused,
    ) -> None:
        """Raise the error with which a fault refuses the whole transaction."""
        if kept.error is not None:
            raise kept.error from None

    def beside_requests(self, steps: Sequence[TransactionStep]) -> list[TransactionStep]:
        """The steps of one commit, with plans that note for stale reads what the steps replace once all are planned.

        So it is noted before the commit, after which a store may suspend. A note is true without a commit too: it says
        what the row was when the planning began, and the row is the same when the commit takes place.
        """
        changes: dict[int, Change] = {}
        begin_seconds = 0.0

        def plan(place: int, old: Row | None) -> Planned | Row | None:
            nonlocal begin_seconds
            if place == 0:
                changes.clear()
                begin_seconds = self._clock.service_time()
            step = steps[place]
            planned = step.plan(old)
            noted = self._find_noted()
            if noted is None:
                return planned
            assert step.key is not None, "a step without a key must refuse"
            planned = with_entries(planned, step.table, step.key, old)
            changes[place] = Change(
                step.table, step.key, old, planned.new, entries_of(planned, step.table, step.key, old)
            )
            if len(changes) == len(steps):
                noted.note(changes.values(), begin_seconds)
            return planned

        return [step._replace(plan=partial(plan, place)) for place, step in enumerate(steps)]

    # --- faults ----------------------------------------------------------------------------------

    def _refuse(self, meter: RequestMeter, touch: Touch, kinds: frozenset[FaultKind], *, is_write: bool) -> None:
        """Draw the faults that one access meets before it is carried out.
        Raises the error of the first that refuses it.
        """
        changed = [index.name for index, _ in touch.table.index_keys if index.is_global] if is_write else []
        is_possible = partial(self._is_possible, meter.operation.name, touch, is_write)
        for fault in self.drawing.on_touch(kinds, meter.operation.name, touch, changed, is_possible):
            kind = fault.kind
            if kind == "throttle":
                raise throttled(fault, touch, meter.operation.name, self._see_throttled, is_write=is_write)
            if kind == "unprocessed":
                raise LeftUnprocessed
            if kind == "conflict":
                raise TransactionConflictException(CONFLICT)
            if kind != "error":
                self._met(meter).faults.append(fault)
            if kind in {"error", "drop"}:
                raise InternalServerError(INTERNAL_ERROR)

    def _refuse_all(
        self, meter: RequestMeter, touches: Sequence[Touch | None], *, is_write: bool
    ) -> list[ApiError | None]:
        """Draw the faults that a transaction's rows meet before it is carried out. Returns for each row the error that
        refuses it, or None. Raises InternalServerError if a fault refuses the whole transaction.
        """
        reasons: list[ApiError | None] = []
        for touch in touches:
            try:
                if touch is not None:
                    self._refuse(meter, touch, WRITE_KINDS, is_write=is_write)
            except InternalServerError:
                raise
            except ApiError as error:
                reasons.append(without_frames(error))
            else:
                reasons.append(None)
        if self._recent is not None and not any(reasons):
            for touch in touches:
                if touch is not None and touch.key is not None:
                    self._recent.note(meter.operation.name, touch.table, touch.key, is_write=is_write)
        return reasons

    def _meet_after(self, meter: RequestMeter, touches: Iterable[Touch], *, is_one_of_several: bool = False) -> None:
        """Draw the faults that accesses meet once they have been carried out.

        Raises InternalServerError for an error, or lets it replace the reply if the request is to write further items.
        """
        if not self._has_after:
            return
        is_error = False
        for touch in touches:
            for fault in self.drawing.on_touch(REQUEST_KINDS, meter.operation.name, touch, when="after"):
                if fault.kind == "drop" or is_one_of_several:
                    self._met(meter).faults.append(fault)
                else:
                    is_error = True
        if is_error:
            raise InternalServerError(INTERNAL_ERROR)

    def _is_possible(self, operation: str, touch: Touch, is_write: bool, fault: Fault) -> bool:
        """True if this access can meet the fault. "unprocessed" concerns only elements of batches; "conflict" with
        `seconds` only two requests that are close to each other, of which one is a transaction.
        """
        if fault.kind == "unprocessed":
            return operation in BATCHES
        if fault.kind == "conflict" and fault.seconds is not None:
            assert self._recent is not None
            assert touch.key is not None
            return self._recent.is_in_conflict(operation, touch.table, touch.key, fault.seconds, is_write=is_write)
        return True

    def _draw_moment(self, meter: RequestMeter, touch: Touch, *, consistent: bool) -> float | None:
        """Draw the moment, in service time, as of which a read sees the rows; None: as they are."""
        if consistent or self.stale is None:
            return None
        drawn = self.drawing.on_touch(frozenset({"stale-read"}), meter.operation.name, touch)
        met = [fault.seconds or 0.0 for fault in drawn]
        return self._clock.service_time() - max(met) if met else None


class _Access(NamedTuple):
    """What an access of a request meets once it has been carried out."""

    source: TableRows
    touch: Touch
    since_seconds: float | None
    """Service time as of which it sees rows; None: it sees them as they are."""
    is_rest: bool = False
    """True for a later slice of a page, whose first slice has met the faults."""


def _touches_of(steps: Sequence[TransactionStep]) -> list[Touch | None]:
    return [None if step.key is None else Touch(step.table, None, step.key) for step in steps]


def _written_by(meter: RequestMeter) -> Iterator[tuple[OpenTable, Key]]:
    """Tables and keys of all items that the request writes one after the other, in this order;
    nothing if it writes at most one, or all at once.
    """
    if meter.operation.items is None:
        return
    for name, attributes in meter.operation.items(meter.request):
        table = meter.scope.tables.get(bare_name(name))
        if table is None:
            continue
        try:
            key_map = {name: attributes[name] for name in table.table_source.key_names}
            yield table, table.lookup_key(check_item(key_map)[0])
        except (KeyError, ApiError):  # the table has been replaced since the request was checked
            continue


def _common_prefix(span: Span) -> bytes:
    """The bytes with which all keys of a span begin, if these have one partition key; empty if they have several."""
    if len(span.lower) <= HASH_BYTES:
        return b""
    prefix = partition_prefix(Key(span.lower))
    return prefix if span.upper.startswith(prefix) or span.upper == prefix_upper_bound(prefix) else b""


# --- records of streams ---------------------------------------------------------------------------

STREAMS_MAX = 100
"""Most streams of which the name of the table is remembered."""
MILLISECOND = 0.001
"""In seconds. Sequence numbers count milliseconds, so all records of a millisecond become readable together."""


class FaultStreams:
    """The streams of an inner store; the latest records of these streams are not readable yet."""

    def __init__(self, inner: Streams, drawing: Drawing, clock: Clock) -> None:
        self._inner = inner
        self._drawing = drawing
        self._clock = clock
        self._names: dict[int, str] = {}
        """Stream id → name of its table, for the streams whose shards were looked at last; the oldest first."""
        self.find, self.of, self.feeds, self.follow = inner.find, inner.of, inner.feeds, inner.follow
        self.changed_shards, self.last_of_shard, self.present = inner.changed_shards, inner.last_of_shard, inner.present

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """The inner store's shards of a stream; remembers the name of the stream's table for `records`."""
        self._remember(stream)
        return self._inner.shards(stream)

    def shard(self, stream: Stream, number: int) -> Shard | None:
        """The inner store's shard of a stream; remembers the name of the stream's table for `records`."""
        self._remember(stream)
        return self._inner.shard(stream, number)

    def _remember(self, stream: Stream) -> None:
        self._names.pop(stream.stream_id, None)
        self._names[stream.stream_id] = stream.table_name
        if len(self._names) > STREAMS_MAX:
            del self._names[next(iter(self._names))]

    async def records(self, shard: Shard, first: SequenceNumber, limit_records: int, limit_bytes: int) -> RecordPage:
        """Records of a shard that are readable. If later ones are not yet, `is_end` is False."""
        page = await self._inner.records(shard, first, limit_records, limit_bytes)
        if not page.records:
            return page
        seconds = self._drawing.seconds_of("late-records", self._names.get(shard.stream_id), "GetRecords")
        if not seconds:
            return page
        late = sequence_at(self._clock.service_time() - seconds + MILLISECOND)
        kept = [record for record in page.records if record[0] < late]
        return page if len(kept) == len(page.records) else RecordPage(kept, is_end=False, durable=page.durable)


# --- throttled requests ---------------------------------------------------------------------------

_LIMITS: dict[ThrottlingCode, ThroughputLimit] = {
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "KeyRangeThroughputExceeded",
    "RequestLimitExceeded": "AccountLimitExceeded",
}


def throttled(
    fault: Fault, touch: Touch, operation: str, see_throttled: Sequence[SeeThrottled], *, is_write: bool
) -> ApiError:
    """The error of an access by a request that meets a fault of the kind `throttle`: for a part of the request, a table
    or one of its indexes has no capacity. Tells `see_throttled` of it.

    By default that of the table's billing mode: ProvisionedThroughputExceededException, or ThrottlingException for an
    on-demand table. Reads of a local index use the capacity of its table.
    """
    table, index = touch.table, fault.index or touch.index
    searched = {one.vectors.index.name for one in table.vector_sources if one.vectors is not None}
    if index not in {found.name for found, _ in table.index_keys if found.is_global} | searched:
        index = None
    code = fault.exception or usual_code(table, "KeyRangeThroughputExceeded")
    limit = fault.reason or _LIMITS[code]
    key = touch.key if touch.index is None and index is None else None
    for see in see_throttled:
        see(ThrottleEvent(table, None if index in searched else index, limit, is_write, key, operation))
    error = throttling_error(table, index, code, limit, is_write=is_write)
    error.retry_after_ms = fault.retry_after_ms
    return error
