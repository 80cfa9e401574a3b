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
from hashrange.store.cassandra.layout import COLLECTIONS, SLOTS, Source, first_hashes, slot_of, source_of
from hashrange.store.cassandra.session import ONE, SERIAL, Session
from hashrange.store.cassandra.slot_writer import read_head
from hashrange.store.cassandra.transactions import Transactions
from hashrange.store.interface import Page
from hashrange.tables.source_id import partition_prefix
from hashrange.tables.span import Span

FIRST_ROWS, ROWS_MAX = 100, 2000
"""Rows that one SELECT asks for, at first and at most."""
TOGETHER_BYTES = 1024 * 1024
"""Bytes of rows that one SELECT asks for, as far as is known."""
_Rows = list[tuple[Any, ...]]


class Reading:
    """Reads rows by key and by span."""

    def __init__(self, session: Session, transactions: Transactions) -> None:
        self._session = session
        self._transactions = transactions

    async def row(self, source: Source, key: Key, *, consistent: bool) -> Row | None:
        """The row of an item, or None. Raises ResourceNotFoundException, StorageError."""
        place = source.table_id, slot_of(key)
        if not consistent:
            found = await self._session.read(cql.ROW, *place, source.index_id, key, level=ONE)
            return Row(found[0][0]) if found else None
        while True:
            found = await self._session.read(cql.ROW, *place, source.index_id, key, level=SERIAL)
            locks = await self._locks_of(place, found)
            if not locks or not await self._transactions.settle_span(place, key, key + b"\x00"):
                return Row(found[0][0]) if found else None

    async def _locks_of(self, place: tuple[int, int], found: _Rows) -> int:
        """How many locks the slot has from which rows were read. Raises ResourceNotFoundException if it is closed."""
        if found:
            locks, is_closed = found[0][-2:]
        else:
            head = await read_head(self._session, *place)
            locks, is_closed = head.locks, head.is_closed
        if is_closed:
            raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
        return locks or 0

    async def collection_bytes(self, table_id: int, prefix: bytes) -> int:
        """Size of the item collection whose keys begin so. Raises StorageError."""
        found = await self._session.read(cql.ROW, table_id, slot_of(prefix), COLLECTIONS, prefix, level=SERIAL)
        return int.from_bytes(found[0][0], "big") if found else 0

    async def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, is_global: bool, consistent: bool
    ) -> Page:
        """See `Store.page`. `is_global`: the source is a global index."""
        source = source_of(source_id)
        rows: list[Row] = []
        size_bytes = stored_bytes = 0
        slots: Sequence[int] = range(slot_of(span.lower), (slot_of(span.upper) if span.upper else SLOTS - 1) + 1)
        for slot in reversed(slots) if span.is_reverse else slots:
            lower, upper = span.lower, span.upper
            if slot and first_hashes(SLOTS)[slot - 1] >= upper:
                continue
            while lower < upper:
                each_bytes = stored_bytes // len(rows) if rows else 0
                count = min(limit_rows - len(rows), TOGETHER_BYTES // each_bytes + 1 if each_bytes else FIRST_ROWS)
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
        text = cql.ENTRIES_BACK if span.is_reverse else cql.ENTRIES
        return await self._session.read(text, source_id, slot, span.lower, span.upper, count, level=ONE)

    async def _slice(self, source: Source, slot: int, span: Span, count: int, *, consistent: bool) -> _Rows:
        """Rows of an item or of a local index."""
        place = source.table_id, slot
        text = cql.SLICE_BACK if span.is_reverse else cql.SLICE
        values = *place, source.index_id, span.lower, span.upper, count
        if not consistent:
            return await self._session.read(text, *values, level=ONE)
        while True:
            found = await self._session.read(text, *values, level=SERIAL)
            if not await self._locks_of(place, found):
                return found
            lower, upper = (span.lower, span.upper) if source.index_id == 0 else _collections(span)
            if not await self._transactions.settle_span(place, lower, upper):
                return found


def _collections(span: Span) -> tuple[bytes, bytes]:
    """The keys of all items whose entries in a local index may be in a span."""
    lower, upper = partition_prefix(Key(span.lower)), span.upper
    return lower, max(upper, partition_prefix(Key(upper)) + b"\xff" * 16)
