"""Are queues of expiries correct? Every item that expires has a row in its table's queue,
and only tables with time to live have one.

An item that had already expired when it was written is queued for a later second, and that row stays when the item is
written again. So a row's second may differ from its item's expiry; such a row is no fault, and is deleted once it is
due. An item that expired more than five years ago is never deleted; it may have a row or none. While a walk fills a
queue, only items that the walk has passed have rows.
"""

from collections.abc import Iterator, Sequence

from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.expiries import has_queue, is_enabling, item_key_of, queue_key, second_of
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.expiry import expiry_seconds, is_too_old, number_reader
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import source_id_of


class ExpiryCheck:
    """Compares items with their tables' queues of expiries. Raises any exception that damaged bytes cause."""

    def __init__(self, engine: Engine, tables: Sequence[OpenTable], now_seconds: float) -> None:
        self._engine = engine
        self._now_seconds = now_seconds
        self._tables = {table.source_id: table for table in tables if has_queue(table.schema)}
        self._positions: dict[bytes, bytes] = {
            source_id: engine.get(layout.backfill_key(source_id)) or b""
            for source_id, table in self._tables.items()
            if is_enabling(table.schema)
        }
        self._late: set[bytes] = set()
        """Engine keys of items that have a row in the queue of expiries for a second other than their expiry."""

    def queue_faults(self) -> Iterator[str]:
        """Report rows that must not be in a queue of expiries. Must be exhausted before `item_faults` is called."""
        prefix_bytes = len(layout.TIME_TO_LIVE_PREFIX)
        for engine_key, row in scan_prefix(self._engine, layout.TIME_TO_LIVE_PREFIX):
            place = engine_key[prefix_bytes:]
            source_id = source_id_of(place)
            table = self._tables.get(source_id)
            if table is None:
                yield f"row {engine_key.hex()} of the queue of expiries belongs to no table with time to live"
                continue
            behind = place[len(source_id) :]
            key = item_key_of(behind)
            if row or not self._covers(source_id, key):
                yield (
                    f"row {engine_key.hex()} of the queue of expiries is not empty, or lies ahead of how far"
                    " the queue has been filled"
                )
            elif self._expires_at(table, key) != second_of(behind):
                self._late.add(source_id + key)

    def item_faults(self, table: OpenTable, key: Key, row: Row) -> Iterator[str]:
        """Report the item if it expires but is not in its table's queue of expiries."""
        time_to_live = table.schema.time_to_live
        if time_to_live is None or table.source_id not in self._tables or not self._covers(table.source_id, key):
            return
        expires_seconds = expiry_seconds(number_reader(time_to_live.attribute)(row))
        if expires_seconds is None or is_too_old(expires_seconds, self._now_seconds):
            return
        engine_key = layout.TIME_TO_LIVE_PREFIX + table.source_id + queue_key(expires_seconds, key)
        if self._engine.get(engine_key) is None and table.source_id + key not in self._late:
            yield (
                f"row {(table.source_id + key).hex()} of table {table.name} expires and is not in the queue of expiries"
            )

    def _expires_at(self, table: OpenTable, key: Key) -> int | None:
        row = self._engine.get(table.source_id + key)
        assert table.schema.time_to_live is not None
        return None if row is None else expiry_seconds(number_reader(table.schema.time_to_live.attribute)(Row(row)))

    def _covers(self, source_id: bytes, key: Key) -> bool:
        """True if the walk that fills the queue of table `source_id` has reached the item at `key`, or has ended."""
        position = self._positions.get(source_id)
        return position is None or key <= position
