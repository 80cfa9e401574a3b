"""Who consumes a watched table's units? A store in front of the real one counts the keys of requests. It is in place only while something is watched.

Statements of PartiQL are not counted, as in the service. Source: global-tables-backup.md 8.
"""

from collections.abc import Callable, Sequence

from hashrange.insights.insights import READ_WEIGHT, WRITE_WEIGHT, Insights, WatchedRules
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.limits import READ_UNIT_BYTES, TRANSACTION_FACTOR
from hashrange.soon import Soon, settled
from hashrange.store.interface import IdempotencyToken, Page, Transacted, TransactionStep, WholeStore
from hashrange.store.request_ids import RequestId
from hashrange.store.wrapped import WrappedStore
from hashrange.tables.capacity import change_units, entry_units, item_read_units
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.span import Span
from hashrange.tables.transaction_capacity import transaction_change_units

UNCOUNTED_OPERATIONS = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})


class InsightStore(WrappedStore):
    """A store in front of `inner`, for requests alone."""

    def __init__(self, inner: WholeStore, insights: Insights, operation_now: Callable[[], str | None]) -> None:
        """`operation_now`: name of the operation that runs now."""
        super().__init__(inner)
        self.catalog = inner.catalog
        self.inner = inner
        self._insights = insights
        self._operation_now = operation_now

    def _watched(self, source_id: bytes) -> WatchedRules | None:
        watched = self._insights.find(bytes(source_id))
        return None if watched is None or self._operation_now() in UNCOUNTED_OPERATIONS else watched

    def get(self, source_id: bytes, key: Key, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key`."""
        watched = self._watched(source_id)
        coming = self.inner.get(source_id, key, consistent=consistent)
        if watched is None:
            return coming
        return self._got(coming, watched, key, consistent=consistent)

    async def _got(self, coming: Soon[Row | None], watched: WatchedRules, key: Key, *, consistent: bool) -> Row | None:
        row = await settled(coming)
        units = item_read_units(row, consistent=consistent)
        watched.count_units(watched.scalars_of_key(key), READ_WEIGHT * units, self._insights.now_seconds())
        return row

    def page(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Soon[Page]:
        """Rows of `span`. Each item counts its share of the page's units."""
        watched = self._watched(source_id)
        coming = self.inner.page(source_id, span, limit_rows, limit_bytes, consistent=consistent)
        return coming if watched is None else self._paged(coming, watched, consistent=consistent)

    async def _paged(self, coming: Soon[Page], watched: WatchedRules, *, consistent: bool) -> Page:
        page = await settled(coming)
        now_seconds = self._insights.now_seconds()
        units_per_byte = (1.0 if consistent else 0.5) / READ_UNIT_BYTES
        for row in page.rows:
            units = units_per_byte * row_size_bytes(row)
            watched.count_units(watched.scalars_of_row(row), READ_WEIGHT * units, now_seconds)
        return page

    async def snapshot_get(self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at `places`."""
        rows = await self.inner.snapshot_get(places, limit_bytes)
        for (table, key), row in zip(places, rows, strict=True):
            watched = self._watched(table.source_id)
            if watched is not None:
                units = TRANSACTION_FACTOR * item_read_units(row, consistent=True)
                scalars = watched.scalars_of_key(key)
                watched.count_units(scalars, READ_WEIGHT * units, self._insights.now_seconds())
        return rows

    def mutate(
        self, table: OpenTable, key: Key, plan: Plan, request_id: RequestId | None = None, origin: Origin = "client"
    ) -> Soon[Change]:
        """Replace one row."""
        return self._mutated(self.inner.mutate(table, key, plan, request_id, origin))

    async def _mutated(self, coming: Soon[Change]) -> Change:
        change = await settled(coming)
        self._count(change, change_units(change))
        return change

    async def transact(
        self, steps: Sequence[TransactionStep], token: IdempotencyToken | None, request_id: RequestId | None = None
    ) -> Transacted:
        """Carry out a transaction."""
        transacted = await self.inner.transact(steps, token, request_id)
        for change in transacted.changes:
            self._count(change, transaction_change_units(change))
        return transacted

    def _count(self, change: Change, units: float) -> None:
        """Count the units of a change at its table and at the global indexes that it has changed."""
        now_seconds = self._insights.now_seconds()
        watched = self._watched(change.table.source_id)
        if watched is not None:
            watched.count_units(watched.scalars_of_key(change.key), WRITE_WEIGHT * units, now_seconds)
        for write in change.entries:
            of_index = self._watched(write.source.source_id)
            entry = write.new or write.old
            if of_index is not None and entry is not None:
                scalars = of_index.scalars_of_key(entry.key)
                of_index.count_units(scalars, WRITE_WEIGHT * entry_units(write), now_seconds)
