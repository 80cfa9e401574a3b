"""Who consumes a watched table's units? A step in front of the store counts the keys of requests.
It is in place only while something is watched.

Statements of PartiQL are not counted, as in the service. A local index uses its table's units, at the same partition
key. Source: global-tables-backup.md 8.

Counting gives way before each key, and the store's content may be replaced meanwhile. So a call first finds all that is
watched of what it has touched, and counts the keys afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hashrange.errors import ItemRefusal
from hashrange.insights.insights import READ_WEIGHT, UNCOUNTED_OPERATIONS, WRITE_WEIGHT, Insights
from hashrange.insights.watched_keys import KeysToPay, WatchedKeys
from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_FACTOR
from hashrange.store.front import FrontStep, RequestMeter, SpanRead
from hashrange.store.interface import ItemPlaces, Page, Transacted, TransactionRefused, TransactionStep
from hashrange.tables.capacity import (
    change_units,
    entry_units,
    item_read_units,
    refused_action_units,
    transaction_change_units,
    write_units,
)
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import HASH_BYTES, make_source_id, partition_prefix, table_id_of


class CountingStep(FrontStep):
    """The step at which keys are counted."""

    def __init__(self, insights: Insights) -> None:
        self._insights = insights

    # --- reads -----------------------------------------------------------------------------------

    def after_get(
        self, meter: RequestMeter, kept: None, source_id: bytes, key: Key, consistent: bool, row: Row | None
    ) -> Row | None:
        """Count the units of a row."""
        source = self._insights.find(source_id)
        if source is not None and _is_counted(meter):
            units = item_read_units(row, consistent=consistent, table=source.table)
            source.count_units(key, READ_WEIGHT * units)
        return row

    def unread(self, meter: RequestMeter, source_id: bytes, key: Key, units: float) -> None:
        """Count the units of a row no more."""
        source = self._insights.find(source_id)
        if source is not None and _is_counted(meter):
            source.count_units(key, READ_WEIGHT * -units)

    def after_page(self, meter: RequestMeter, kept: None, read: SpanRead, page: Page) -> Page:
        """Remember the rows of a page. They are counted when the request has ended."""
        source = self._insights.find(read.source_id) or self._table_of_local_index(read.source_id)
        if source is not None and _is_counted(meter):
            is_query = meter.operation.name == "Query"
            partition = partition_prefix(Key(read.span.lower))[HASH_BYTES:] if is_query else None
            self._keys_to_pay(meter).note_rows(source, partition, page.rows)
        return page

    def _table_of_local_index(self, source_id: bytes) -> WatchedKeys | None:
        """The table to which a local index belongs, if it is watched."""
        table = self._insights.find(make_source_id(table_id_of(source_id)))
        return table if table is not None and source_id in table.local_source_ids else None

    def _keys_to_pay(self, meter: RequestMeter) -> KeysToPay:
        keys_to_pay: KeysToPay = self.note_of(meter) or self.remember(meter, KeysToPay())
        return keys_to_pay

    def after_snapshot_get(self, meter: RequestMeter, places: ItemPlaces, rows: Sequence[Row | None]) -> None:
        """Count the units of rows that a transaction has read."""
        if not _is_counted(meter):
            return
        sources = [self._insights.find(table.source_id) for table, _ in places]
        for source, (_, key), row in zip(sources, places, rows, strict=True):
            if source is not None:
                units = TRANSACTION_FACTOR * item_read_units(row, consistent=True, table=source.table)
                source.count_units(key, READ_WEIGHT * units)

    def ended(self, note: KeysToPay, call: Any) -> None:
        """Count the units that are known only now."""
        note.count(call.meter)

    # --- writes ----------------------------------------------------------------------------------

    def after_mutate(self, meter: RequestMeter, kept: None, change: Change) -> None:
        """Count the units of a write."""
        if self._insights.is_written(change.table.table_id) and _is_counted(meter):
            _count_change(change, change_units(change), self._watched_of((change.table,)))

    def refused_mutate(self, meter: RequestMeter, table: OpenTable, key: Key, refusal: ItemRefusal) -> None:
        """Count a write that its condition has refused."""
        if self._insights.is_written(table.table_id) and _is_counted(meter):
            _count_refused(self._insights.find(table.source_id), key, write_units(refusal.size_bytes, 0))

    def after_transact(
        self, meter: RequestMeter, kept: None, steps: Sequence[TransactionStep], transacted: Transacted
    ) -> None:
        """Count the units of a transaction's writes; of a replay, remember the items that it reads."""
        if not _is_counted(meter):
            return
        watched = self._watched_of([change.table for change in transacted.changes])
        for change in transacted.changes:
            _count_change(change, transaction_change_units(change), watched)
        if transacted.report is not None:
            found = [(self._insights.find(step.table.source_id), step.key) for step in steps]
            read = [(source, key) for source, key in found if source is not None and key is not None]
            self._keys_to_pay(meter).replayed += read

    def refused_transact(
        self, meter: RequestMeter, kept: None, steps: Sequence[TransactionStep], refusal: TransactionRefused
    ) -> None:
        """Count the writes of a cancelled transaction that their items have refused."""
        if not _is_counted(meter):
            return
        sources = [self._insights.find(table.source_id) for table, _, _ in steps]
        for source, (_, key, _), reason in zip(sources, steps, refusal.reasons, strict=True):
            units = refused_action_units(reason)
            if units and key is not None:
                _count_refused(source, key, units)

    def _watched_of(self, tables: Iterable[OpenTable]) -> Mapping[bytes, WatchedKeys]:
        """Those of the tables and of their indexes that are watched now, by source id."""
        watched: dict[bytes, WatchedKeys] = {}
        for table in dict.fromkeys(tables):
            for one in (table.table_source, *table.indexes):
                source = self._insights.find(one.source_id)
                if source is not None:
                    watched[one.source_id] = source
        return watched


def _count_refused(source: WatchedKeys | None, key: Key, units: float) -> None:
    if source is not None:
        source.count_units(key, WRITE_WEIGHT * units)


def _count_change(change: Change, units: float, watched: Mapping[bytes, WatchedKeys]) -> None:
    """Count the units of a change at its table, together with those of local indexes,
    and at the global indexes that it has changed.
    """
    for write in change.entries:
        index = write.source.index
        if index is not None and not index.is_global:
            units += entry_units(write)
            continue
        of_index = watched.get(write.source.source_id)
        if of_index is not None:
            for key, entry_write in _by_key(write):
                of_index.count_units(key, WRITE_WEIGHT * entry_units(entry_write))
    source = watched.get(change.table.source_id)
    if source is not None:
        source.count_units(change.key, WRITE_WEIGHT * units)


def _is_counted(meter: RequestMeter) -> bool:
    return meter.operation.name not in UNCOUNTED_OPERATIONS


def _by_key(write: EntryWrite) -> Iterator[tuple[Key, EntryWrite]]:
    """The change of an index's entry at each key: two if the entry gets another key."""
    old, new = write.old, write.new
    if old is not None and (new is None or old.key != new.key):
        yield old.key, EntryWrite(write.source, old, None)
        write = EntryWrite(write.source, None, new)
    if new is not None:
        yield new.key, write
