"""How do rows and stream records meet faults? A store in front of the real one, used while there are faults:
it refuses accesses, returns older rows, or returns records late.

Errors are raised where the service meets them: after all checks of the request, for each item by itself. So a batch
returns what is throttled as unprocessed, and a transaction names the action.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Protocol

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
from hashrange.faults.remembered import RecentRequests, StaleRows, TableRows, UnfinishedReads, find_table_rows
from hashrange.items.types import Key, Row
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.messages.transactions import CONFLICT
from hashrange.soon import Soon, settled
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
from hashrange.store.streams import RecordPage, Streams
from hashrange.store.wrapped import WrappedStore
from hashrange.tables.change import Change, Origin, Plan, Planned
from hashrange.tables.entries import derive_entry_writes
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import HASH_BYTES, partition_prefix
from hashrange.tables.span import Span
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream, sequence_at
from hashrange.tables.throttling import (
    ThrottleEvent,
    ThrottleEvents,
    ThrottlingCode,
    ThroughputLimit,
    throttling_error,
    usual_code,
)

READ_KINDS: frozenset[FaultKind] = REQUEST_KINDS | {"throttle", "unprocessed"}
WRITE_KINDS: frozenset[FaultKind] = READ_KINDS | {"conflict"}
BATCHES = {"BatchGetItem", "BatchWriteItem"}


class RunningRequest(Protocol):
    """Stands for the request whose operation runs at the moment of the call; its methods tell of that request."""

    def operation(self) -> str | None:
        """Name of the operation; None outside of requests."""
        ...

    def identity(self) -> object:
        """An object that no other request has."""
        ...

    def writes(self) -> Iterator[tuple[OpenTable, Key]]:
        """Tables and keys of all items that the request writes one after the other, in this order.

        Yields nothing for a request that writes at most one item, or all of its items at once.
        """
        ...

    def mark(self, fault: Fault) -> None:
        """Let the request's reply meet a fault of a kind that whole requests meet."""
        ...


class FaultStore(WrappedStore):
    """A store in front of `inner` whose rows meet faults; all requests must go through it."""

    def __init__(
        self,
        inner: WholeStore,
        drawing: Drawing,
        clock: Clock,
        running: RunningRequest,
        throttle_events: ThrottleEvents | None = None,
        find_noted: Callable[[], StaleRows | None] = lambda: None,
    ) -> None:
        """`throttle_events` is told of each part of a request that a fault throttles; None: nobody is.

        `find_noted`: returns the StaleRows of the faults that are in place, in which writes are noted. It need not be
        this store's, which may carry out a write that began with earlier faults.
        """
        super().__init__(inner)
        self._throttle_events = throttle_events
        self._drawing = drawing
        self._clock = clock
        self._running = running
        self._has_before = drawing.has_request_faults("before", with_key=True)
        self._has_after = drawing.has_request_faults("after", with_key=True)
        self._reads = UnfinishedReads()
        self._recent = None if drawing.most_seconds("conflict") is None else RecentRequests(clock)
        stale_seconds = drawing.most_seconds("stale-read")
        self.stale = None if stale_seconds is None else StaleRows(stale_seconds)
        """Rows as they were before, for the reads of this store; None: no read is stale."""
        self._find_noted = find_noted
        self.streams = FaultStreams(inner.streams, drawing, clock) if drawing.has("late-records") else inner.streams

    # --- reads -----------------------------------------------------------------------------------

    def get(self, source_id: bytes, key: Key, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`, perhaps as it was earlier. Raises the ApiError of a fault."""
        operation = self._running.operation()
        source = None if operation is None else find_table_rows(self.inner.catalog, source_id)
        if operation is None or source is None:
            return self.inner.get(source_id, key, consistent=consistent)
        touch = Touch(source.table, source.index_name, key)
        self._refuse(operation, touch, READ_KINDS, is_write=False)
        reading = self._reads.fetches_for(self._running.identity(), source.table)
        if reading is not None:
            since_seconds = reading.since_seconds
        else:
            since_seconds = self._draw_moment(operation, touch, consistent=consistent)
        coming = self.inner.get(source_id, key, consistent=consistent)
        if since_seconds is None and not self._has_after:
            return coming
        return self._got(coming, operation, touch, source_id, since_seconds)

    async def _got(
        self, coming: Soon[Row | None], operation: str, touch: Touch, source_id: bytes, since_seconds: float | None
    ) -> Row | None:
        row = await settled(coming)
        self._meet_after(operation, [touch])
        if since_seconds is None or self.stale is None:
            return row
        assert touch.key is not None
        return self.stale.row(source_id, touch.key, row, since_seconds)

    def page(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Soon[Page]:
        """Rows of `span`, perhaps as they were earlier. Raises the ApiError of a fault."""
        operation = self._running.operation()
        page = self.inner.page
        source = None if operation is None else find_table_rows(self.inner.catalog, source_id)
        if operation is None or source is None:
            return page(source_id, span, limit_rows, limit_bytes, consistent=consistent)
        touch: Touch | None = None
        reading = self._reads.go_on(self._running.identity(), source, span)
        if reading is not None:
            since_seconds = reading.since_seconds
        else:
            touch = Touch(source.table, source.index_name, None, _common_prefix(span))
            self._refuse(operation, touch, READ_KINDS, is_write=False)
            is_never_stale = source.read.index is not None and not source.is_local_index
            since_seconds = self._draw_moment(operation, touch, consistent=consistent or is_never_stale)
        coming = page(source_id, span, limit_rows, limit_bytes, consistent=consistent)
        if isinstance(coming, Page) and since_seconds is None and not self._has_after:
            self._reads.note(self._running.identity(), source, coming, None)
            return coming
        first = None if touch is None else (operation, touch)
        return self._paged(coming, source, span, limit_rows, limit_bytes, since_seconds, first)

    async def _paged(
        self,
        coming: Soon[Page],
        source: TableRows,
        span: Span,
        limit_rows: int,
        limit_bytes: int,
        since_seconds: float | None,
        first: tuple[str, Touch] | None,
    ) -> Page:
        """The page that a read of the inner store returns, with the faults that it meets. `first`: operation and access
        of a page's first slice; None for a later slice.
        """
        page = await settled(coming)
        if first is not None:
            self._meet_after(first[0], [first[1]])
        if since_seconds is not None and self.stale is not None:
            page = self.stale.page(source, span, page, since_seconds, limit_rows, limit_bytes)
        self._reads.note(self._running.identity(), source, page, since_seconds)
        return page

    async def snapshot_get(self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at `places`. Raises TransactionRefused with the ApiErrors of faults."""
        operation = self._running.operation()
        if operation is None:
            return await self.inner.snapshot_get(places, limit_bytes)
        touches = [Touch(table, None, key) for table, key in places]
        reasons = self._refuse_all(operation, touches, is_write=False)
        if any(reasons):
            raise TransactionRefused(reasons)
        rows = await self.inner.snapshot_get(places, limit_bytes)
        self._meet_after(operation, touches)
        return rows

    # --- writes ----------------------------------------------------------------------------------

    def mutate(
        self, table: OpenTable, key: Key, plan: Plan, request_id: RequestId | None = None, origin: Origin = "client"
    ) -> Soon[Change]:
        """Replace one row. Raises the ApiError of a fault, before or after the commit.

        If the request writes several items one after the other, its first write draws, for all of them, the faults that
        whole requests meet. A fault that comes after the commits is not raised here but replaces the reply,
        so that all are written.
        """
        plan = self._noting((TransactionStep(table, key, plan),))[0].plan
        operation = self._running.operation()
        if operation is None:
            return self.inner.mutate(table, key, plan, request_id, origin)
        touch = Touch(table, None, key)
        is_one_of_several = (self._has_before or self._has_after) and self._is_one_of_several(operation, table, key)
        kinds = WRITE_KINDS - REQUEST_KINDS if is_one_of_several else WRITE_KINDS
        self._refuse(operation, touch, kinds, is_write=True)
        if self._recent is not None:
            self._recent.note(operation, table, key, is_write=True)
        coming = self.inner.mutate(table, key, plan, request_id, origin)
        if not self._has_after:
            return coming
        if not isinstance(coming, Change):
            return self._written(coming, operation, touch, is_one_of_several=is_one_of_several)
        self._meet_after(operation, [touch], is_one_of_several=is_one_of_several)
        return coming

    def _is_one_of_several(self, operation: str, table: OpenTable, key: Key) -> bool:
        """True if the request writes several items one after the other. If the item is the first of them, draws the
        faults that come before the request, for all of them; raises InternalServerError if it is not to be carried out.
        """
        writes = self._running.writes()
        first = next(writes, None)
        if first is None:
            return False
        if (first[0].table_id, first[1]) == (table.table_id, key):
            for other, other_key in chain((first,), writes):
                self._refuse(operation, Touch(other, None, other_key), REQUEST_KINDS, is_write=True)
        return True

    async def _written(
        self, coming: Coroutine[Any, Any, Change], operation: str, touch: Touch, *, is_one_of_several: bool
    ) -> Change:
        change = await coming
        self._meet_after(operation, [touch], is_one_of_several=is_one_of_several)
        return change

    async def transact(
        self, steps: Sequence[TransactionStep], token: IdempotencyToken | None, request_id: RequestId | None = None
    ) -> Transacted:
        """Replace the rows of all steps. Raises TransactionRefused with the ApiErrors of faults.

        Faults are drawn when the first plan is called: a replay, of which no plan is called, meets none.
        """
        steps = self._noting(steps)
        operation = self._running.operation()
        if operation is None:
            return await self.inner.transact(steps, token, request_id)
        touches = [None if step.key is None else Touch(step.table, None, step.key) for step in steps]
        faulted = RefusedSteps(partial(self._refuse_all, operation, touches, is_write=True))
        try:
            transacted = await self.inner.transact(faulted.wrapped(steps), token, request_id)
        except TransactionRefused:
            if faulted.error is not None:
                raise faulted.error from None
            raise
        if faulted.is_found:
            self._meet_after(operation, [touch for touch in touches if touch is not None])
        return transacted

    def _noting(self, steps: Sequence[TransactionStep]) -> list[TransactionStep]:
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
            if noted is not None:
                changes[place] = _planned_change(step, old, planned)
                if len(changes) == len(steps):
                    noted.note(changes.values(), begin_seconds)
            return planned

        return [step._replace(plan=partial(plan, place)) for place, step in enumerate(steps)]

    # --- faults ----------------------------------------------------------------------------------

    def _refuse(self, operation: str, touch: Touch, kinds: frozenset[FaultKind], *, is_write: bool) -> None:
        """Draw the faults that one access meets before it is carried out.
        Raises the error of the first that refuses it.
        """
        changed = [index.name for index, _ in touch.table.index_keys if index.is_global] if is_write else []
        is_possible = partial(self._is_possible, operation, touch, is_write)
        for fault in self._drawing.on_touch(kinds, operation, touch, changed, is_possible):
            kind = fault.kind
            if kind == "throttle":
                key = touch.key if touch.index is None else None
                index, events = fault.index or touch.index, self._throttle_events
                raise throttled(fault, touch.table, index, key, events, is_write=is_write)
            if kind == "unprocessed":
                raise LeftUnprocessed
            if kind == "conflict":
                raise TransactionConflictException(CONFLICT)
            if kind != "error":
                self._running.mark(fault)
            if kind in {"error", "drop"}:
                raise InternalServerError(INTERNAL_ERROR)

    def _refuse_all(self, operation: str, touches: Sequence[Touch | None], *, is_write: bool) -> list[ApiError | None]:
        """Draw the faults that a transaction's rows meet before it is carried out. Returns for each row the error that
        refuses it, or None. Raises InternalServerError if a fault refuses the whole transaction.
        """
        reasons: list[ApiError | None] = []
        for touch in touches:
            try:
                if touch is not None:
                    self._refuse(operation, touch, WRITE_KINDS, is_write=is_write)
            except InternalServerError:
                raise
            except ApiError as error:
                reasons.append(without_frames(error))
            else:
                reasons.append(None)
        if self._recent is not None and not any(reasons):
            for touch in touches:
                if touch is not None and touch.key is not None:
                    self._recent.note(operation, touch.table, touch.key, is_write=is_write)
        return reasons

    def _meet_after(self, operation: str, touches: Iterable[Touch], *, is_one_of_several: bool = False) -> None:
        """Draw the faults that accesses meet once they have been carried out.

        Raises InternalServerError for an error, or lets it replace the reply if the request is to write further items.
        """
        if not self._has_after:
            return
        is_error = False
        for touch in touches:
            for fault in self._drawing.on_touch(REQUEST_KINDS, operation, touch, when="after"):
                if fault.kind == "drop" or is_one_of_several:
                    self._running.mark(fault)
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

    def _draw_moment(self, operation: str, touch: Touch, *, consistent: bool) -> float | None:
        """Draw the moment, in service time, as of which a read sees the rows; None: as they are."""
        if consistent or self.stale is None:
            return None
        met = [fault.seconds or 0.0 for fault in self._drawing.on_touch(frozenset({"stale-read"}), operation, touch)]
        return self._clock.service_time() - max(met) if met else None


def _planned_change(step: TransactionStep, old: Row | None, planned: Planned | Row | None) -> Change:
    """The change that a step is to make, with those of index entries."""
    if not isinstance(planned, Planned):
        planned = Planned(planned)
    table, key, new = step.table, step.key, planned.new
    assert key is not None, "a step without a key must refuse"
    return Change(table, key, old, new, derive_entry_writes(table, key, old, new, planned.old_item, planned.new_item))


def _common_prefix(span: Span) -> bytes:
    """The bytes with which all keys of a span begin, if these have one partition key; empty if they have several."""
    if len(span.lower) <= HASH_BYTES:
        return b""
    prefix = partition_prefix(Key(span.lower))
    return prefix if span.upper.startswith(prefix) or span.upper == _after(prefix) else b""


def _after(prefix: bytes) -> bytes:
    """The least bytes that are greater than all bytes that begin with `prefix`; empty if there are none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else b""


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
        self.changed_shards, self.last_of_shard = inner.changed_shards, inner.last_of_shard

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
    fault: Fault, table: OpenTable, index: str | None, key: Key | None, events: ThrottleEvents | None, *, is_write: bool
) -> ApiError:
    """The error of a request that meets a fault of the kind `throttle`: for a part of it, a table or one of its indexes
    has no capacity. Tells `events` of it.

    `key`: that of the table's item; None if it is not known.
    By default that of the table's billing mode: ProvisionedThroughputExceededException, or ThrottlingException for an
    on-demand table. Reads of a local index use the capacity of its table.
    """
    if index not in {found.name for found, _ in table.index_keys if found.is_global}:
        index = None
    code = fault.exception or usual_code(table, "KeyRangeThroughputExceeded")
    limit = fault.reason or _LIMITS[code]
    if events is not None:
        events.tell(ThrottleEvent(table, index, limit, is_write, key if index is None else None))
    error = throttling_error(table, index, code, limit, is_write=is_write)
    error.retry_after_ms = fault.retry_after_ms
    return error
