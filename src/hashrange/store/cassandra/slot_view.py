"""What does a batch of writes to one slot change? Its works read rows through a `SlotView`, and write into it; the next
work sees what those before have written. At the end it makes the statements of one conditional batch.

Raises nothing of its own: a work that refuses must do so before it writes.
"""

from collections.abc import Iterator, Mapping

from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.layout import (
    BATCHES,
    COLLECTIONS,
    ITEMS,
    LOCKS,
    OUTBOX,
    Head,
    Lock,
    StoredChange,
    batch_row,
    decode_lock,
    encode_change,
    encode_counts,
    encode_lock,
    outbox_key,
    table_index_of,
)
from hashrange.store.cassandra.session import CqlStatement
from hashrange.tables.change import Change, collection_growth_bytes
from hashrange.tables.source_id import partition_prefix

RowPlace = tuple[int, bytes]
"""Kind and key of a row."""
BATCH_BYTES_MAX = 1_000_000
"""A batch with so many bytes takes no further work."""


class SlotView:
    """The rows of a slot as a batch leaves them."""

    def __init__(self, table_id: int, slot: int, head: Head, rows: Mapping[RowPlace, bytes]) -> None:
        """`rows`: those that the works have asked for and that there are."""
        self.table_id = table_id
        self.slot = slot
        self.version = (head.version or 0) + 1
        """The version that the batch leads to."""
        self._former = head.version
        self._rows = dict(rows)
        self._written: dict[RowPlace, bytes | None] = {}
        self._counts = dict(head.counts)
        self._locked, self._unlocked = head.locked, head.unlocked
        self._is_closed = head.is_closed
        self._ranges: list[CqlStatement] = []
        self.followed: list[Change] = []
        """Changes whose entries in global indexes are due after the batch, in the order of their numbers."""
        self.size_bytes = 0

    @property
    def is_changed(self) -> bool:
        """True if there is anything to write."""
        return bool(self._written or self._ranges)

    @property
    def is_full(self) -> bool:
        """True if the batch should take no further work."""
        return self.size_bytes >= BATCH_BYTES_MAX

    def head(self, batch: bytes) -> Head:
        """The slot's head after the batch of this id."""
        return Head(self.version, batch, self._counts, self._locked, self._unlocked, self._is_closed)

    # --- what works read --------------------------------------------------------------------------

    def row(self, key: Key) -> Row | None:
        """The row of an item."""
        row = self._rows.get((ITEMS, key))
        return None if row is None else Row(row)

    def lock(self, key: Key) -> Lock | None:
        """The lock on an item."""
        stored = self._rows.get((LOCKS, key))
        return None if stored is None else decode_lock(stored)

    def collection_bytes(self, prefix: bytes) -> int:
        """Size of the item collection whose keys begin so."""
        return int.from_bytes(self._rows.get((COLLECTIONS, prefix), b""), "big")

    # --- what works write -------------------------------------------------------------------------

    def _put(self, kind: int, key: bytes, value: bytes | None) -> None:
        self._written[kind, key] = value
        self.size_bytes += len(key) + len(value or b"")
        if value is None:
            self._rows.pop((kind, key), None)
        else:
            self._rows[kind, key] = value

    def write(self, change: Change) -> None:
        """Make a change of an item, with its entries in local indexes, and put it into the outbox if it has others."""
        self._put(ITEMS, change.key, change.new)
        self._count(0, change.old, change.new)
        is_followed = False
        for source, old, new in change.entries:
            index_id = table_index_of(source.source_id).index_id
            self._count(index_id, None if old is None else old.row, None if new is None else new.row)
            if source.is_global:
                is_followed = True
                continue
            if old is not None and (new is None or new.key != old.key):
                self._put(index_id, old.key, None)
            if new is not None:
                self._put(index_id, new.key, new.row)
        if change.table.has_item_collections:
            self._resize(change)
        if is_followed:
            key = outbox_key(self.version, len(self.followed))
            self._put(OUTBOX, key, encode_change(StoredChange(change.key, change.old, change.new)))
            self.followed.append(change)

    def _count(self, index_id: int, old: bytes | None, new: bytes | None) -> None:
        count, size_bytes = self._counts.get(index_id, (0, 0))
        count += (new is not None) - (old is not None)
        size_bytes += (0 if new is None else row_size_bytes(Row(new))) - (
            0 if old is None else row_size_bytes(Row(old))
        )
        self._counts[index_id] = count, size_bytes

    def _resize(self, change: Change) -> None:
        prefix = partition_prefix(change.key)
        size_bytes = self.collection_bytes(prefix) + collection_growth_bytes(change)
        self._put(COLLECTIONS, prefix, size_bytes.to_bytes(8, "big") if size_bytes else None)

    def put_lock(self, key: Key, lock: Lock) -> None:
        """Lock an item, which has no lock."""
        self._locked += 1
        self._put(LOCKS, key, encode_lock(lock))

    def remove_lock(self, key: Key) -> None:
        """Remove the lock on an item, which has one."""
        self._unlocked += 1
        self._put(LOCKS, key, None)

    def forget_outbox(self, version: int) -> None:
        """Delete the changes of the batch that led to this version from the outbox."""
        ends = outbox_key(version, 0), outbox_key(version + 1, 0)
        self._ranges.append((cql.DELETE_RANGE, (self.table_id, self.slot, OUTBOX, *ends)))

    def close(self) -> None:
        """Refuse all later writes and reads, and delete all rows."""
        self._is_closed = True
        self._counts = {}
        self._unlocked = self._locked
        self._ranges.append((cql.DELETE_KIND, (self.table_id, self.slot, LOCKS, 0xFFFF)))

    # --- the batch --------------------------------------------------------------------------------

    def statements(self, batch: bytes) -> Iterator[CqlStatement]:
        """The statements of the batch, which has this id."""
        place = self.table_id, self.slot
        state = self.version, batch, encode_counts(self._counts), self._locked, self._unlocked, self._is_closed
        if self._former is None:
            yield cql.BEGIN_SLOT, (*state, *place)
        else:
            yield cql.ADVANCE_SLOT, (*state, *place, self._former)
        yield from self._ranges
        for (kind, key), value in self._written.items():
            if value is None:
                yield cql.DELETE_ROW, (*place, kind, key)
            else:
                yield cql.PUT_ROW, (*place, kind, key, value)
        if not self._is_closed:
            yield cql.PUT_ROW, (*place, BATCHES, *batch_row(self.version, batch))
