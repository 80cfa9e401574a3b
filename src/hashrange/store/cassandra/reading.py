"""How are rows read from slots? A consistent read at SERIAL, which is linearisable; an eventually consistent one at one
replica.

A strong read that meets locks first finishes the transactions that hold them, unless they are running: then the rows
are still the old ones. Of a deleted table, the slot says so, whatever the view of the catalog says.
"""

from collections.abc import Sequence
from typing import Any

from hashrange.errors import ResourceNotFoundException
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.layout import (
    COLLECTIONS,
    FIRST_HASHES,
    LOCKS,
    SLOTS,
    UNUSED_SLOT,
    Head,
    TableIndex,
    decode_lock,
    slot_of,
    table_index_of,
)
from hashrange.store.cassandra.session import ONE, SERIAL, Session
from hashrange.store.cassandra.slot_writer import read_row_and_lock, read_slot_head
from hashrange.store.cassandra.transactions import Transactions
from hashrange.store.interface import Page
from hashrange.tables.source_id import partition_prefix
from hashrange.tables.span import Span

FIRST_ROWS, ROWS_MAX = 100, 2000
"""Rows that one SELECT asks for, at first and at most."""
SLICE_BYTES = 1024 * 1024
"""Bytes of rows that one SELECT asks for, as far as is known."""
LOCKS_MAX = 1000
"""Locks of a span that are looked at together: more than a transaction has items."""
NOTED_MAX = 10_000
"""Slots of which it is noted how many locks had been removed."""
_Rows = list[tuple[Any, ...]]


class SlotReading:
    """Reads rows by key and by span."""

    def __init__(self, session: Session, transactions: Transactions) -> None:
        self._session = session
        self._transactions = transactions
        self._unlocked: dict[tuple[int, int], int] = {}
        """How many locks of a slot had been removed when it was looked at last."""

    async def row(self, source: TableIndex, key: Key, *, consistent: bool) -> Row | None:
        """The row of an item, or None. Raises ResourceNotFoundException, StorageError."""
        place = source.table_id, slot_of(key)
        if not consistent:
            found = await self._session.execute(cql.READ_ROW, *place, source.index_id, key, level=ONE)
            return Row(found[0][0]) if found else None
        while True:
            row, lock = await read_row_and_lock(self._session, place, key)
            if lock is None or not await self._transactions.settle(place, {key: lock}):
                return row

    async def collection_bytes(self, table_id: int, prefix: bytes) -> int:
        """Size of the item collection whose keys begin so. Raises StorageError."""
        found = await self._session.execute(cql.READ_ROW, table_id, slot_of(prefix), COLLECTIONS, prefix, level=SERIAL)
        return int.from_bytes(found[0][0], "big") if found else 0

    async def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, is_global: bool, consistent: bool
    ) -> Page:
        """See `Store.page`. `is_global`: the source is a global index."""
        source = table_index_of(source_id)
        rows: list[Row] = []
        size_bytes = stored_bytes = 0
        slots: Sequence[int] = range(slot_of(span.lower), (slot_of(span.upper) if span.upper else SLOTS - 1) + 1)
        for slot in reversed(slots) if span.is_reverse else slots:
            lower, upper = span.lower, span.upper
            if slot and FIRST_HASHES[slot - 1] >= upper:
                continue
            while lower < upper:
                each_bytes = stored_bytes // len(rows) if rows else 0
                count = min(limit_rows - len(rows), SLICE_BYTES // each_bytes + 1 if each_bytes else FIRST_ROWS)
                count = max(1, min(count, ROWS_MAX))
                part = Span(lower, upper, span.is_reverse)
                if is_global:
                    found = await self._entries(source_id, slot, part, count)
                else:
                    found = await self._slice(source, slot, part, count, consistent=consistent)
                for key, value, *_ in found:
                    row = Row(value)
                    rows.append(row)
                    size_bytes += row_size_bytes(row)
                    stored_bytes += len(row)
                    if len(rows) >= limit_rows or size_bytes >= limit_bytes:
                        return Page(rows, size_bytes, Key(key))
                if len(found) < count:
                    break
                if span.is_reverse:
                    upper = found[-1][0]
                else:
                    lower = found[-1][0] + b"\x00"
        return Page(rows, size_bytes, None)

    async def _entries(self, source_id: bytes, slot: int, span: Span, count: int) -> _Rows:
        text = cql.READ_ENTRIES_BACK if span.is_reverse else cql.READ_ENTRIES
        return await self._session.execute(text, source_id, slot, span.lower, span.upper, count, level=ONE)

    async def _slice(self, source: TableIndex, slot: int, span: Span, count: int, *, consistent: bool) -> _Rows:
        """Rows of an item or of a local index."""
        place = source.table_id, slot
        text = cql.READ_SLICE_BACK if span.is_reverse else cql.READ_SLICE
        values = *place, source.index_id, span.lower, span.upper, count
        if not consistent:
            return await self._session.execute(text, *values, level=ONE)
        lower, upper = (span.lower, span.upper) if source.index_id == 0 else _collections(span)
        while True:
            found = await self._session.execute(text, *values, level=SERIAL)
            if found:
                locked, unlocked, is_closed = found[0][-3:]
                head = UNUSED_SLOT._replace(locked=locked or 0, unlocked=unlocked or 0, is_closed=bool(is_closed))
                is_current = True
            else:  # then nothing tells of which moment this is
                head = await read_slot_head(self._session, *place)
                is_current = head.version is None or self._unlocked.get(place) == head.unlocked
            if head.is_closed:
                raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
            self._note(place, head.unlocked)
            if is_current and await self._is_settled(place, lower, upper, head):
                return found

    def _note(self, place: tuple[int, int], unlocked: int) -> None:
        if len(self._unlocked) >= NOTED_MAX:
            self._unlocked.clear()
        self._unlocked[place] = unlocked

    async def _is_settled(self, place: tuple[int, int], lower: bytes, upper: bytes, head: Head) -> bool:
        """True if rows that were read when the slot had this head have all that has been committed. Otherwise they are
        to be read again: a transaction has been finished since, or is now.
        """
        if head.locked == head.unlocked:
            return True
        stored = await self._session.execute(cql.READ_SLICE, *place, LOCKS, lower, upper, LOCKS_MAX, level=SERIAL)
        unlocked = stored[0][3] if stored else (await read_slot_head(self._session, *place)).unlocked
        if (unlocked or 0) != head.unlocked:
            return False
        locks = {Key(key): decode_lock(lock) for key, lock, *_ in stored}
        return not await self._transactions.settle(place, locks)


def _collections(span: Span) -> tuple[bytes, bytes]:
    """The keys of all items whose entries in a local index may be in a span."""
    lower, upper = partition_prefix(Key(span.lower)), span.upper
    return lower, max(upper, partition_prefix(Key(upper)) + b"\xff" * 16)
