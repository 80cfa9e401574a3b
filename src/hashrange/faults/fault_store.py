"""How do rows meet faults? A store in front of the real one, used while there are faults: it refuses accesses, or returns older rows.

Errors are raised where the service meets them: after all checks of the request, for each item by itself. So a batch
returns what is throttled as unprocessed, and a transaction names the action.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

from hashrange.clock import Clock
from hashrange.errors import ApiError, InternalServerError, LeftUnprocessed, TransactionConflictException
from hashrange.faults.drawing import Drawing, Touch
from hashrange.faults.fault import Fault, FaultKind
from hashrange.faults.fault_streams import FaultStreams
from hashrange.faults.faulted_steps import FaultedSteps
from hashrange.faults.recent_writes import RecentWrites
from hashrange.faults.stale_rows import StaleRows
from hashrange.faults.throttling import throttled
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
from hashrange.store.request_ids import RequestId
from hashrange.store.wrapped import WrappedStore
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import HASH_BYTES, partition_prefix
from hashrange.tables.span import Span

READ_KINDS: frozenset[FaultKind] = frozenset({"throttle", "error", "unprocessed", "slow", "drop", "half-reply"})
WRITE_KINDS: frozenset[FaultKind] = READ_KINDS | {"conflict"}
BATCHES = {"BatchGetItem", "BatchWriteItem"}
READINGS_MAX = 1000
"""Most requests of which the store remembers that they read a page in slices. A later slice of any other request may meet
faults that its first slice has not met."""


class _Reading(NamedTuple):
    """A page of a Query or Scan of which slices have been read; the faults that its first slice met hold for all."""

    request: object
    source_id: bytes
    last_key: Key
    since_seconds: float | None
    """Service time as of which the page shows rows; None: it shows them as they are now."""


class FaultStore(WrappedStore):
    """A store in front of `inner` whose rows meet faults; all requests must go through it."""

    def __init__(
        self,
        inner: WholeStore,
        drawing: Drawing,
        clock: Clock,
        running_operation: Callable[[], str | None],
        running_request: Callable[[], object],
        mark: Callable[[Fault], None],
    ) -> None:
        """`running_operation` returns the operation of the request that runs now, None for other work; `running_request`
        an object that this request alone has. `mark(fault)` lets the reply of that request meet a fault.
        """
        super().__init__(inner)
        self._inner = inner
        self._drawing = drawing
        self._clock = clock
        self._running_operation = running_operation
        self._running_request = running_request
        self._mark = mark
        self._sources: dict[bytes, tuple[OpenTable, str | None]] = {}
        stale_seconds = drawing.most_seconds("stale-read")
        self._stale = None if stale_seconds is None else StaleRows(stale_seconds)
        self._readings: dict[int, _Reading] = {}
        """`id` of a request's `running_request` object → the page that the request reads; the oldest first."""
        self._recent = None if drawing.most_seconds("conflict") is None else RecentWrites(clock)
        self.catalog = inner.catalog
        self.streams = FaultStreams(inner.streams, drawing, clock) if drawing.has("late-records") else inner.streams

    # --- reads -----------------------------------------------------------------------------------

    def get(self, source_id: bytes, key: Key, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`, perhaps as it was earlier. Raises the ApiError of a fault."""
        operation = self._running_operation()
        if operation is None:
            return self._inner.get(source_id, key, consistent=consistent)
        table, index = self._source(source_id)
        touch = Touch(table, index, key)
        after = self._refuse(operation, touch, READ_KINDS, is_write=False)
        since_seconds = self._draw_moment(operation, touch, consistent=consistent)
        if since_seconds is None and after is None:
            return self._inner.get(source_id, key, consistent=consistent)
        return self._got(source_id, key, consistent, since_seconds, after)

    async def _got(
        self, source_id: bytes, key: Key, consistent: bool, since_seconds: float | None, after: ApiError | None
    ) -> Row | None:
        row = await settled(self._inner.get(source_id, key, consistent=consistent))
        if after is not None:
            raise after
        if since_seconds is None or self._stale is None:
            return row
        return self._stale.row(source_id, key, row, since_seconds)

    def page(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Soon[Page]:
        """Rows of `span`, perhaps as they were earlier. Raises the ApiError of a fault."""
        operation = self._running_operation()
        page = self._inner.page
        if operation is None:
            return page(source_id, span, limit_rows, limit_bytes, consistent=consistent)
        table, index = self._source(source_id)
        reading = self._go_on_reading(source_id, span)
        after: ApiError | None = None
        if reading is not None:
            since_seconds = reading.since_seconds
        else:
            touch = Touch(table, index, None, _common_prefix(span))
            after = self._refuse(operation, touch, READ_KINDS, is_write=False)
            since_seconds = self._draw_moment(operation, touch, consistent=consistent) if index is None else None
        coming = page(source_id, span, limit_rows, limit_bytes, consistent=consistent)
        if isinstance(coming, Page) and since_seconds is None and after is None:
            self._note_reading(source_id, coming, None)
            return coming
        return self._paged(coming, table, source_id, span, limit_rows, limit_bytes, since_seconds, after)

    async def _paged(
        self,
        coming: Soon[Page],
        table: OpenTable,
        source_id: bytes,
        span: Span,
        limit_rows: int,
        limit_bytes: int,
        since_seconds: float | None,
        after: ApiError | None,
    ) -> Page:
        page = await settled(coming)
        if after is not None:
            raise after
        if since_seconds is not None and self._stale is not None:
            page = self._stale.page(table, span, page, since_seconds, limit_rows, limit_bytes)
        self._note_reading(source_id, page, since_seconds)
        return page

    def _note_reading(self, source_id: bytes, page: Page, since_seconds: float | None) -> None:
        """Remember where the next slice of the running request begins, if it reads one."""
        if page.last_key is None:
            return
        request = self._running_request()
        self._readings[id(request)] = _Reading(request, source_id, page.last_key, since_seconds)
        if len(self._readings) > READINGS_MAX:
            del self._readings[next(iter(self._readings))]

    def _go_on_reading(self, source_id: bytes, span: Span) -> _Reading | None:
        """The page that the running request has begun to read, if `span` is the rest of that page; otherwise None."""
        reading = self._readings.pop(id(self._running_request()), None)
        if reading is None or reading.source_id != source_id:
            return None
        is_rest = span.upper == reading.last_key if span.is_reverse else span.lower == reading.last_key + b"\x00"
        return reading if is_rest else None

    async def snapshot_get(self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at `places`. Raises TransactionRefused with the ApiErrors of faults."""
        operation = self._running_operation()
        after: ApiError | None = None
        if operation is not None:
            touches = [Touch(table, None, key) for table, key in places]
            reasons, after = self._refuse_all(operation, touches, is_write=False)
            if any(reasons):
                raise TransactionRefused(reasons)
        rows = await self._inner.snapshot_get(places, limit_bytes)
        if after is not None:
            raise after
        return rows

    # --- writes ----------------------------------------------------------------------------------

    def mutate(
        self, table: OpenTable, key: Key, plan: Plan, request_id: RequestId | None = None, origin: Origin = "client"
    ) -> Soon[Change]:
        """Replace one row. Raises the ApiError of a fault, before or after the commit."""
        operation = self._running_operation()
        if operation is None:
            return self._noted(self._inner.mutate(table, key, plan, request_id, origin), None)
        touch = Touch(table, None, key)
        after = self._refuse(operation, touch, WRITE_KINDS, is_write=True)
        if self._recent is not None:
            self._recent.note(operation, table, key)
        return self._noted(self._inner.mutate(table, key, plan, request_id, origin), after)

    def _noted(self, coming: Soon[Change], after: ApiError | None) -> Soon[Change]:
        if not isinstance(coming, Change):
            return self._noted_later(coming, after)
        self._note([coming])
        if after is not None:
            raise after
        return coming

    async def _noted_later(self, coming: Coroutine[Any, Any, Change], after: ApiError | None) -> Change:
        change = await coming
        self._note([change])
        if after is not None:
            raise after
        return change

    async def transact(
        self, steps: Sequence[TransactionStep], token: IdempotencyToken | None, request_id: RequestId | None = None
    ) -> Transacted:
        """Replace the rows of all steps. Raises TransactionRefused with the ApiErrors of faults.

        Faults are drawn when the first plan is called: a replay, of which no plan is called, meets none.
        """
        operation = self._running_operation()
        if operation is None:
            transacted = await self._inner.transact(steps, token, request_id)
            self._note(transacted.changes)
            return transacted
        touches = [None if step.key is None else Touch(step.table, None, step.key) for step in steps]
        faulted = FaultedSteps(partial(self._refuse_all, operation, touches, is_write=True))
        try:
            transacted = await self._inner.transact(faulted.wrapped(steps), token, request_id)
        except TransactionRefused:
            if faulted.error is not None:
                raise faulted.error from None
            raise
        self._note(transacted.changes)
        if faulted.after is not None:
            raise faulted.after
        return transacted

    # --- faults ----------------------------------------------------------------------------------

    def _refuse(self, operation: str, touch: Touch, kinds: frozenset[FaultKind], *, is_write: bool) -> ApiError | None:
        """Draw the faults of one access. Raises the error of the first that refuses it, or returns the error to raise
        after the commit; None if there is none.
        """
        after: ApiError | None = None
        changed = [index.name for index, _ in touch.table.index_keys if index.is_global] if is_write else []
        is_possible = partial(self._is_possible, operation, touch)
        for fault in self._drawing.on_touch(kinds, operation, touch, changed, is_possible):
            kind = fault.kind
            if kind == "throttle":
                raise throttled(fault, touch.table, fault.index or touch.index, is_write=is_write)
            if kind == "unprocessed":
                raise LeftUnprocessed
            if kind == "conflict":
                raise TransactionConflictException(CONFLICT)
            error = InternalServerError(INTERNAL_ERROR)
            if kind in {"drop", "slow", "half-reply"}:
                self._mark(fault)
            if kind in {"error", "drop"} and fault.when == "before":
                raise error
            if kind == "error":
                after = error
        return after

    def _refuse_all(
        self, operation: str, touches: Sequence[Touch | None], *, is_write: bool
    ) -> tuple[list[ApiError | None], ApiError | None]:
        """Draw the faults of a transaction's rows. Returns the error that refuses each, or None; and the error to raise
        after the commit, or None. Raises InternalServerError if none is to be carried out.
        """
        reasons: list[ApiError | None] = []
        after: ApiError | None = None
        for touch in touches:
            try:
                found = None if touch is None else self._refuse(operation, touch, WRITE_KINDS, is_write=is_write)
            except InternalServerError:
                raise
            except ApiError as error:
                reasons.append(error)
            else:
                reasons.append(None)
                after = after or found
        if is_write and self._recent is not None and not any(reasons):
            for touch in touches:
                if touch is not None and touch.key is not None:
                    self._recent.note(operation, touch.table, touch.key)
        return reasons, after

    def _is_possible(self, operation: str, touch: Touch, fault: Fault) -> bool:
        """True if this access can meet the fault. "unprocessed" concerns only elements of batches; "conflict" with
        `seconds` only two requests that are close to each other, of which one is a transaction.
        """
        if fault.kind == "unprocessed":
            return operation in BATCHES
        if fault.kind == "conflict" and fault.seconds is not None:
            assert self._recent is not None
            assert touch.key is not None
            return self._recent.is_in_conflict(operation, touch.table, touch.key, fault.seconds)
        return True

    def _draw_moment(self, operation: str, touch: Touch, *, consistent: bool) -> float | None:
        """Draw the moment, in service time, as of which a read sees the rows; None: as they are."""
        if consistent or self._stale is None:
            return None
        met = [fault.seconds or 0.0 for fault in self._drawing.on_touch(frozenset({"stale-read"}), operation, touch)]
        return self._clock.service_time() - max(met) if met else None

    def _note(self, changes: Sequence[Change]) -> None:
        if self._stale is not None:
            self._stale.note(changes, self._clock.service_time())

    def _source(self, source_id: bytes) -> tuple[OpenTable, str | None]:
        """The table of a source, and the name of the index that the source is; None instead if it is the table itself."""
        found = self._sources.get(source_id)
        if (
            found is None
            or self.catalog.find(found[0].schema.account, found[0].schema.region, found[0].name) is not found[0]
        ):
            for table in self.catalog.all_tables():
                for source in (table.table_source, *table.indexes):
                    self._sources[bytes(source.source_id)] = (
                        table,
                        None if source.index is None else source.index.name,
                    )
            found = self._sources[bytes(source_id)]
        return found


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
