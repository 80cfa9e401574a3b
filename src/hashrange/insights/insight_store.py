"""Who consumes a watched table's units? A store in front of the real one counts the keys of requests.
It is in place only while something is watched.

Statements of PartiQL are not counted, as in the service. A local index uses its table's units, at the same partition
key. Source: global-tables-backup.md 8.
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from hashrange.errors import ApiError, ItemRefusal
from hashrange.insights.insights import READ_WEIGHT, UNCOUNTED_OPERATIONS, WRITE_WEIGHT, Insights
from hashrange.insights.watched_keys import WatchedKeys
from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_FACTOR
from hashrange.operations.meter import Meter
from hashrange.soon import Soon
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
from hashrange.tables.capacity import (
    change_units,
    entry_units,
    item_read_units,
    refused_action_units,
    transaction_change_units,
    write_units,
)
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import HASH_BYTES, make_source_id, partition_prefix, table_id_of
from hashrange.tables.span import Span


class InsightStore(WrappedStore):
    """A store in front of `inner`, for requests alone."""

    def __init__(
        self,
        inner: WholeStore,
        insights: Insights,
        operation_now: Callable[[], str | None],
        meter_now: Callable[[], Meter | None],
    ) -> None:
        """`operation_now`, `meter_now`: name of the operation, and the meter, of the request that runs now."""
        super().__init__(inner)
        self._insights = insights
        self._now_seconds = insights.now_seconds
        self._operation_now = operation_now
        self._meter_now = meter_now

    def _is_counted(self) -> bool:
        return self._operation_now() not in UNCOUNTED_OPERATIONS

    # --- reads -----------------------------------------------------------------------------------

    def get(self, source_id: bytes, key: Key, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`."""
        source = self._insights.find(source_id)
        coming = self.inner.get(source_id, key, consistent=consistent)
        if source is None or not self._is_counted():
            return coming
        if coming is not None and not isinstance(coming, bytes):
            return self._got(coming, source, key, consistent=consistent)
        self._count_read(source, key, item_read_units(coming, consistent=consistent))
        return coming

    async def _got(
        self, coming: Coroutine[Any, Any, Row | None], source: WatchedKeys, key: Key, *, consistent: bool
    ) -> Row | None:
        row = await coming
        self._count_read(source, key, item_read_units(row, consistent=consistent))
        return row

    def unread(self, source_id: bytes, key: Key, units: float) -> None:
        """Count the units of a row that `get` has read no more."""
        super().unread(source_id, key, units)
        source = self._insights.find(source_id)
        if source is not None and self._is_counted():
            self._count_read(source, key, -units)

    def _count_read(self, source: WatchedKeys, key: Key, units: float) -> None:
        source.count_units(key, READ_WEIGHT * units, self._now_seconds())

    def page(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Soon[Page]:
        """Rows of `span`. They are counted when the request has ended (`KeysToPay`)."""
        source = self._insights.find(source_id) or self._table_of_local_index(source_id)
        coming = self.inner.page(source_id, span, limit_rows, limit_bytes, consistent=consistent)
        meter = None if source is None or not self._is_counted() else self._meter_now()
        if source is None or meter is None:
            return coming
        partition = partition_prefix(Key(span.lower))[HASH_BYTES:] if self._operation_now() == "Query" else None
        if not isinstance(coming, Page):
            return self._paged(coming, meter, source, partition)
        self._insights.keys_to_pay.note_rows(meter, source, partition, coming.rows)
        return coming

    async def _paged(
        self, coming: Coroutine[Any, Any, Page], meter: Meter, source: WatchedKeys, partition: bytes | None
    ) -> Page:
        page = await coming
        self._insights.keys_to_pay.note_rows(meter, source, partition, page.rows)
        return page

    def _table_of_local_index(self, source_id: bytes) -> WatchedKeys | None:
        """The table to which a local index belongs, if it is watched."""
        table = self._insights.find(make_source_id(table_id_of(source_id)))
        return table if table is not None and source_id in table.local_source_ids else None

    async def snapshot_get(self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at `places`."""
        is_counted = self._is_counted()
        rows = await self.inner.snapshot_get(places, limit_bytes)
        for (table, key), row in zip(places, rows, strict=True):
            source = self._insights.find(table.source_id)
            if source is not None and is_counted:
                self._count_read(source, key, TRANSACTION_FACTOR * item_read_units(row, consistent=True))
        return rows

    # --- writes ----------------------------------------------------------------------------------

    def mutate(
        self, table: OpenTable, key: Key, plan: Plan, request_id: RequestId | None = None, origin: Origin = "client"
    ) -> Soon[Change]:
        """Replace one row."""
        if not self._insights.is_written(table.table_id) or not self._is_counted():
            return self.inner.mutate(table, key, plan, request_id, origin)
        try:
            coming = self.inner.mutate(table, key, plan, request_id, origin)
        except ItemRefusal as refusal:
            self._count_refused(table, key, refusal)
            raise
        if not isinstance(coming, Change):
            return self._mutated(coming, table, key)
        self._count_change(coming, change_units(coming))
        return coming

    async def _mutated(self, coming: Coroutine[Any, Any, Change], table: OpenTable, key: Key) -> Change:
        try:
            change = await coming
        except ItemRefusal as refusal:
            self._count_refused(table, key, refusal)
            raise
        self._count_change(change, change_units(change))
        return change

    async def transact(
        self, steps: Sequence[TransactionStep], token: IdempotencyToken | None, request_id: RequestId | None = None
    ) -> Transacted:
        """Carry out a transaction."""
        is_counted, meter = self._is_counted(), self._meter_now()
        try:
            transacted = await self.inner.transact(steps, token, request_id)
        except TransactionRefused as refusal:
            if is_counted:
                self._count_cancelled(steps, refusal.reasons)
            raise
        if not is_counted:
            return transacted
        for change in transacted.changes:
            self._count_change(change, transaction_change_units(change))
        if transacted.report is not None and meter is not None:
            found = [(self._insights.find(step.table.source_id), step.key) for step in steps]
            read = [(source, key) for source, key in found if source is not None and key is not None]
            self._insights.keys_to_pay.note_replay(meter, read)
        return transacted

    def _count_refused(self, table: OpenTable, key: Key, refusal: ItemRefusal) -> None:
        """Count a write that its condition has refused."""
        source = self._insights.find(table.source_id)
        if source is not None:
            source.count_units(key, WRITE_WEIGHT * write_units(refusal.size_bytes, 0), self._now_seconds())

    def _count_cancelled(self, steps: Sequence[TransactionStep], reasons: Sequence[ApiError | None]) -> None:
        """Count the writes of a cancelled transaction that their items have refused."""
        for (table, key, _), reason in zip(steps, reasons, strict=True):
            units = refused_action_units(reason)
            source = self._insights.find(table.source_id) if units else None
            if source is not None and key is not None:
                source.count_units(key, WRITE_WEIGHT * units, self._now_seconds())

    def _count_change(self, change: Change, units: float) -> None:
        """Count the units of a change at its table, together with those of local indexes,
        and at the global indexes that it has changed.
        """
        now_seconds = self._now_seconds()
        for write in change.entries:
            index = write.source.index
            if index is not None and not index.is_global:
                units += entry_units(write)
                continue
            of_index = self._insights.find(write.source.source_id)
            if of_index is not None:
                for key, entry_write in _by_key(write):
                    of_index.count_units(key, WRITE_WEIGHT * entry_units(entry_write), now_seconds)
        source = self._insights.find(change.table.source_id)
        if source is not None:
            source.count_units(change.key, WRITE_WEIGHT * units, now_seconds)


def _by_key(write: EntryWrite) -> Iterator[tuple[Key, EntryWrite]]:
    """The change of an index's entry at each key: two if the entry gets another key."""
    old, new = write.old, write.new
    if old is not None and (new is None or old.key != new.key):
        yield old.key, EntryWrite(write.source, old, None)
        write = EntryWrite(write.source, None, new)
    if new is not None:
        yield new.key, write
