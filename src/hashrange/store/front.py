"""What do requests pass on their way to the store? The steps of one front, in their order; each is there only while its
feature is switched on. Without steps there is no front, and requests use the store itself.

A step hears of each call before the store carries it out, when it may refuse it, and afterwards, with the result. It is
told of the request by its meter (`RequestMeter`), which goes with each call. The first step is called first before a
call, and last after it, so that it sees all that the others do. Only this file knows whether a result has to be
awaited.

See docs/adr/0069-one-front.md.
"""

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ItemRefusal
from hashrange.items.types import Key, Row
from hashrange.soon import Soon, then
from hashrange.store.interface import (
    IdempotencyToken,
    ItemPlaces,
    Page,
    Payer,
    Store,
    Transacted,
    TransactionRefused,
    TransactionStep,
)
from hashrange.store.request_ids import RequestId
from hashrange.store.streams import Streams
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.span import Span
from hashrange.vectors.search import FoundEntries, VectorQuery

# --- requests as steps see them ------------------------------------------------------------------


class RequestMeter(list[Any]):
    """The meter of a request that passes a front: the usages that its operation records, and which request it is.

    It does not hold the service's call, which holds it: that would be a cycle, and the garbage collector sees no calls.
    """

    __slots__ = ("notes", "operation", "request", "scope")
    scope: Any
    """The `Scope` of who asks."""
    operation: Operation[Any]
    request: Any
    """The operation's request struct."""
    notes: "dict[FrontStep, Any] | None"
    """What steps remember of the request; None: nothing."""


def tell_ended(call: Any, meter: RequestMeter) -> None:
    """Tell the steps that remember something of a request that it has ended. `call`: the service's."""
    notes, meter.notes = meter.notes, None
    for step, note in (notes or {}).items():
        step.ended(note, call)


# --- steps ---------------------------------------------------------------------------------------


class SpanRead(msgspec.Struct, frozen=True, gc=False):
    """What `Store.page` is asked for."""

    source_id: bytes
    span: Span
    limit_rows: int
    limit_bytes: int
    consistent: bool


class FrontStep:
    """A step that does nothing. Subclasses define the methods that they need.

    A method named `before_…` returns anything that the one named `after_…` or `refused_…` needs, as its `kept`. It
    raises what refuses the call: an ApiError, or TransactionRefused for several rows.
    """

    streams: Streams | None = None
    """The streams that requests see; None: those that they see without this step."""
    acts_before = False
    """True while the methods named `before_…` have anything to do. While it is False, they are not called, and `kept`
    is None."""

    def before_get(self, meter: RequestMeter, source_id: bytes, key: Key, *, consistent: bool) -> Any:
        """The row at `key` is to be read."""

    def after_get(
        self, meter: RequestMeter, kept: Any, source_id: bytes, key: Key, consistent: bool, row: Row | None
    ) -> Row | None:
        """The row at `key` has been read. Returns the row that the request sees."""
        return row

    def unread(self, meter: RequestMeter, source_id: bytes, key: Key, units: float) -> None:
        """See `Store.unread`."""

    def before_page(self, meter: RequestMeter, read: SpanRead) -> Any:
        """A page is to be read."""

    def after_page(self, meter: RequestMeter, kept: Any, read: SpanRead, page: Page) -> Page:
        """A page has been read. Returns the page that the request sees."""
        return page

    def before_search(self, meter: RequestMeter, table: OpenTable, source: ReadSource) -> Any:
        """A vector index of the table is to be searched. `source`: that of the index."""

    def after_search(self, meter: RequestMeter, kept: Any, found: FoundEntries) -> FoundEntries:
        """It has been searched. Returns what the request sees."""
        return found

    def before_snapshot_get(self, meter: RequestMeter, places: ItemPlaces) -> None:
        """Rows are to be read as of one point in time."""

    def after_snapshot_get(self, meter: RequestMeter, places: ItemPlaces, rows: Sequence[Row | None]) -> None:
        """They have been read."""

    def before_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, plan: Plan) -> tuple[Plan, Any]:
        """One row is to be written. Returns the plan for the store, which may refuse in more cases, and `kept`."""
        return plan, None

    def after_mutate(self, meter: RequestMeter, kept: Any, change: Change) -> None:
        """A row has been written."""

    def refused_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, refusal: ItemRefusal) -> None:
        """The item has refused the write."""

    def before_transact(
        self, meter: RequestMeter, steps: Sequence[TransactionStep]
    ) -> tuple[Sequence[TransactionStep], Any]:
        """Rows are to be written together, unless the transaction is a replay: then no plan is called.

        Returns the steps for the store, whose plans may refuse in more cases, and `kept`.
        """
        return steps, None

    def after_transact(
        self, meter: RequestMeter, kept: Any, steps: Sequence[TransactionStep], transacted: Transacted
    ) -> None:
        """The transaction took place, now or earlier."""

    def refused_transact(
        self, meter: RequestMeter, kept: Any, steps: Sequence[TransactionStep], refusal: TransactionRefused
    ) -> None:
        """The transaction has been refused. May raise another error instead."""

    def beside_requests(self, steps: Sequence[TransactionStep]) -> Sequence[TransactionStep]:
        """Rows are to be written by no request, or by one that began before there was a front.
        Returns the steps for the store.
        """
        return steps

    def ended(self, note: Any, call: Any) -> None:
        """A request has ended, or is to begin once more, of which the step has remembered `note`. `call`: as for
        `tell_ended`.
        """

    def note_of(self, meter: RequestMeter) -> Any:
        """What this step remembers of a request; None if it has not remembered anything."""
        return None if meter.notes is None else meter.notes.get(self)

    def remember(self, meter: RequestMeter, note: Any) -> Any:
        """Remember `note` of a request, which is returned, in the place of anything remembered earlier."""
        if meter.notes is None:
            meter.notes = {}
        meter.notes[self] = note
        return note


# --- a store behind steps ------------------------------------------------------------------------


def in_front_of(store: Store, steps: Sequence[FrontStep]) -> Store:
    """The store that requests use which pass these steps; the first of them is called first before a call."""
    for step in reversed(steps):
        store = FrontedStore(step, store)
    return store


class FrontedStore:
    """A store behind a step. Calls without a `RequestMeter` do not meet the step otherwise than by `beside_requests`:
    those of no request, and of requests that began before there was a front.
    """

    def __init__(self, step: FrontStep, behind: Store) -> None:
        self.step = step
        self.behind = behind
        self.catalog, self.streams = behind.catalog, step.streams or behind.streams
        self.collection_size_bytes, self.statistics = behind.collection_size_bytes, behind.statistics

    # --- reads -----------------------------------------------------------------------------------

    def get(self, source_id: bytes, key: Key, meter: Payer = None, *, consistent: bool) -> Soon[Row | None]:
        """See `Store`. Raises what the step raises."""
        if type(meter) is not RequestMeter:
            return self.behind.get(source_id, key, meter, consistent=consistent)
        step, kept = self.step, None
        if step.acts_before:
            kept = step.before_get(meter, source_id, key, consistent=consistent)
        row = self.behind.get(source_id, key, meter, consistent=consistent)
        if row is None or isinstance(row, bytes):
            return step.after_get(meter, kept, source_id, key, consistent, row)
        return then(row, partial(step.after_get, meter, kept, source_id, key, consistent))

    def unread(self, source_id: bytes, key: Key, units: float, meter: Payer = None) -> None:
        """See `Store`."""
        self.behind.unread(source_id, key, units, meter)
        if type(meter) is RequestMeter:
            self.step.unread(meter, source_id, key, units)

    def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, meter: Payer = None, *, consistent: bool
    ) -> Soon[Page]:
        """See `Store`. Raises what the step raises."""
        if type(meter) is not RequestMeter:
            return self.behind.page(source_id, span, limit_rows, limit_bytes, meter, consistent=consistent)
        step, read = self.step, SpanRead(source_id, span, limit_rows, limit_bytes, consistent)
        kept = step.before_page(meter, read) if step.acts_before else None
        page = self.behind.page(source_id, span, limit_rows, limit_bytes, meter, consistent=consistent)
        if isinstance(page, Page):
            return step.after_page(meter, kept, read, page)
        return then(page, partial(step.after_page, meter, kept, read))

    def search_vectors(
        self, table: OpenTable, source: ReadSource, query: VectorQuery, meter: Payer = None
    ) -> Soon[FoundEntries]:
        """See `Store`. Raises what the step raises."""
        if type(meter) is not RequestMeter:
            return self.behind.search_vectors(table, source, query, meter)
        step = self.step
        kept = step.before_search(meter, table, source) if step.acts_before else None
        found = self.behind.search_vectors(table, source, query, meter)
        if isinstance(found, FoundEntries):
            return step.after_search(meter, kept, found)
        return then(found, partial(step.after_search, meter, kept))

    async def snapshot_get(self, places: ItemPlaces, limit_bytes: int, meter: Payer = None) -> list[Row | None]:
        """See `Store`. Raises TransactionRefused with what the step refuses."""
        if type(meter) is not RequestMeter:
            return await self.behind.snapshot_get(places, limit_bytes, meter)
        if self.step.acts_before:
            self.step.before_snapshot_get(meter, places)
        rows = await self.behind.snapshot_get(places, limit_bytes, meter)
        self.step.after_snapshot_get(meter, places, rows)
        return rows

    # --- writes ----------------------------------------------------------------------------------

    def mutate(
        self,
        table: OpenTable,
        key: Key,
        plan: Plan,
        request_id: RequestId | None = None,
        meter: Payer = None,
        origin: Origin = "client",
    ) -> Soon[Change]:
        """See `Store`. Raises what the step raises."""
        if type(meter) is not RequestMeter:
            plan = self.step.beside_requests((TransactionStep(table, key, plan),))[0].plan
            return self.behind.mutate(table, key, plan, request_id, meter, origin)
        step, kept = self.step, None
        if step.acts_before:
            plan, kept = step.before_mutate(meter, table, key, plan)
        try:
            change = self.behind.mutate(table, key, plan, request_id, meter, origin)
        except ItemRefusal as refusal:
            step.refused_mutate(meter, table, key, refusal)
            raise
        if change.__class__ is Change:  # takes half as long as `isinstance`
            step.after_mutate(meter, kept, change)
            return change
        return _mutated(change, step, meter, kept, table, key)  # type: ignore[arg-type]  # mypy does not see the class

    async def transact(
        self,
        steps: Sequence[TransactionStep],
        token: IdempotencyToken | None,
        request_id: RequestId | None = None,
        meter: Payer = None,
    ) -> Transacted:
        """See `Store`. Raises TransactionRefused with what the step refuses."""
        if type(meter) is not RequestMeter:
            return await self.behind.transact(self.step.beside_requests(steps), token, request_id, meter)
        step, passed_on, kept = self.step, steps, None
        if step.acts_before:
            passed_on, kept = step.before_transact(meter, steps)
        try:
            transacted = await self.behind.transact(passed_on, token, request_id, meter)
        except TransactionRefused as refusal:
            step.refused_transact(meter, kept, steps, refusal)
            raise
        step.after_transact(meter, kept, steps, transacted)
        return transacted


async def _mutated(
    coming: Coroutine[Any, Any, Change], step: FrontStep, meter: RequestMeter, kept: Any, table: OpenTable, key: Key
) -> Change:
    """The change, once it has been awaited."""
    try:
        change = await coming
    except ItemRefusal as refusal:
        step.refused_mutate(meter, table, key, refusal)
        raise
    step.after_mutate(meter, kept, change)
    return change
