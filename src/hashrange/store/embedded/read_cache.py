"""Which rows and pages are read without the engine? Those requested twice lately, kept as Python objects;
the longest unused are dropped.

A cached row costs a tenth of a read by the engine, a cached page of 20 rows still less; the engine, with its cache
of blocks, serves all other reads. *Partition* in this file means all keys of a source with one hash of the partition
key. A page is cached only if it lies within one partition; every write of a key with that partition's first bytes drops
the page. Caching what is requested only once would cost memory traffic and displace other rows and pages. The entries
that a walk adds to a new index need no care, because the index is not read yet; when a source is deleted, the cache is
cleared.
Measurements: docs/adr/0020-read-cache.md.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import msgspec

from hashrange.items.types import Row
from hashrange.store.embedded.admission import Admission
from hashrange.store.embedded.engine import MIB, Engine
from hashrange.store.embedded.reading import PageReader, begin_page
from hashrange.store.interface import Page
from hashrange.tables.source_id import HASH_BYTES, SOURCE_BYTES
from hashrange.tables.span import Span

READ_CACHE_BYTES = 8 * MIB
ROW_EXTRA_BYTES = 210
"""Memory that a cached row takes besides its own bytes: key, two objects, slot of the dict."""
PAGE_EXTRA_BYTES, PAGE_ROW_EXTRA_BYTES = 900, 50
"""PAGE_EXTRA_BYTES: memory that a cached page takes besides its rows. PAGE_ROW_EXTRA_BYTES: memory for each of these
rows besides the row's own bytes.
"""
ENTRY_BYTES_MAX = 128 * 1024
"""A row longer than this, or a page whose items are larger together (extra bytes included), is not cached: reading it
takes a small part of the time of its request.
"""
ROW_BYTES_MAX = ENTRY_BYTES_MAX - ROW_EXTRA_BYTES
"""Length of the longest row that is cached."""
PAGES_PER_PARTITION_MAX = 8
"""Most pages, of different spans or limits, cached for one partition; a further page replaces them all."""
REQUESTED_SLOTS = 1 << 16
"""Slots in which requested keys are noted by checksum. Keys that share a slot are taken for each other."""
_HASH, _PARTITION = slice(HASH_BYTES), slice(SOURCE_BYTES + HASH_BYTES)

_PageRequest = tuple[Span, int, int]
"""The request that a cached page answers: span, limit in rows, limit in bytes."""


class _Pages(msgspec.Struct):
    """The cached pages of one partition (keys with one hash of the partition key)."""

    by_request: dict[_PageRequest, Page] = {}
    size_bytes: int = 0


class ReadCache:
    """The cache of one store. Methods raise the engine's bare exceptions; after a failure the cache must be cleared."""

    def __init__(self, admission: Admission, limit_bytes: int = READ_CACHE_BYTES) -> None:
        self.admission = admission
        self._limit_bytes = limit_bytes
        self._left_bytes = limit_bytes
        self._entries: OrderedDict[bytes, Any] = OrderedDict()
        """Engine key → row; and the bytes with which all engine keys of one partition key's items begin → `_Pages`."""
        self._clear_slots()

    def clear(self) -> None:
        """Drop all rows and pages, because the engine was replaced, or a table or index deleted."""
        self._entries.clear()
        self._left_bytes = self._limit_bytes

    def row(self, engine: Engine, engine_key: bytes) -> Row | None:
        """The row at `engine_key`, or None. 0.2 µs if cached."""
        entries = self._entries
        row: Row | None = entries.get(engine_key)
        if row is not None:
            entries.move_to_end(engine_key)
            return row
        row = engine.get(engine_key, None, self.admission.read_options())
        if row is not None and self._may_keep(engine_key, len(row) + ROW_EXTRA_BYTES):
            entries[engine_key] = row
            self._take(len(row) + ROW_EXTRA_BYTES)
        return row

    def row_to_replace(self, engine: Engine, engine_key: bytes) -> Row | None:
        """The row at `engine_key`, or None, for a write, which then calls `written`. Does not cache the row."""
        row: Row | None = self._entries.get(engine_key)
        return engine.get(engine_key) if row is None else row

    def page(
        self, engine: Engine, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int
    ) -> tuple[Page | PageReader, bool]:
        """A cached page and True; or the result of `begin_page` (a page, or the reader of a longer page) and False."""
        hashed = span.lower[_HASH]
        if len(hashed) < HASH_BYTES or hashed != span.upper[_HASH]:
            return begin_page(engine, source_id, span, limit_rows, limit_bytes, is_kept=self.admission.is_kept()), False
        partition = source_id + hashed
        pages = self._entries.get(partition)
        if pages is not None:
            page = pages.by_request.get((span, limit_rows, limit_bytes))
            if page is not None:
                self._entries.move_to_end(partition)
                return page, True
        found = begin_page(engine, source_id, span, limit_rows, limit_bytes, is_kept=self.admission.is_kept())
        if isinstance(found, Page) and self._may_keep(partition, found.size_bytes + PAGE_EXTRA_BYTES):
            self._keep_page(partition, (span, limit_rows, limit_bytes), found)
        return found, False

    def written(self, engine_key: bytes, old: Row | None, new: Row | None) -> None:
        """Update the cache after a write: the row at `engine_key` was `old` (None: none), and is `new`."""
        entries = self._entries
        pages = entries.pop(engine_key[_PARTITION], None)
        if pages is not None:
            self._left_bytes += _size_bytes(pages)
        kept = entries.get(engine_key)
        if kept is None:
            if new is not None and old is not None and self._may_keep(engine_key, len(new) + ROW_EXTRA_BYTES):
                entries[engine_key] = new
                self._take(len(new) + ROW_EXTRA_BYTES)
        elif new is None or len(new) > ROW_BYTES_MAX:
            del entries[engine_key]
            self._left_bytes += _size_bytes(kept)
        else:
            entries[engine_key] = new
            entries.move_to_end(engine_key)
            if len(new) != len(kept):
                self._take(len(new) - len(kept))

    def drop_pages(self, engine_keys: Iterable[bytes]) -> None:
        """Drop the cached pages of the partitions of these keys, whose rows were written or deleted."""
        pop = self._entries.pop
        for engine_key in engine_keys:
            pages = pop(engine_key[_PARTITION], None)
            if pages is not None:
                self._left_bytes += _size_bytes(pages)

    def _keep_page(self, partition: bytes, request: _PageRequest, page: Page) -> None:
        size_bytes = PAGE_EXTRA_BYTES + sum(map(len, page.rows)) + PAGE_ROW_EXTRA_BYTES * len(page.rows)
        pages = self._entries.get(partition)
        if pages is None or len(pages.by_request) == PAGES_PER_PARTITION_MAX:
            self.drop_pages([partition])
            pages = self._entries[partition] = _Pages()
        pages.by_request[request] = page
        pages.size_bytes += size_bytes
        self._take(size_bytes)

    def _may_keep(self, key: bytes, size_bytes: int) -> bool:
        """True if an entry of this size may be cached, and `key` is noted in the slots; if only the latter is missing,
        note it.

        The slots are cleared once rows and pages of `_limit_bytes` in all have been noted.
        """
        if size_bytes > ENTRY_BYTES_MAX:
            return False
        slot = crc32(key) % REQUESTED_SLOTS
        if self._requested_slots[slot]:
            return True
        self._requested_slots[slot] = 1
        self._until_forgotten_bytes -= size_bytes
        if self._until_forgotten_bytes < 0:
            self._clear_slots()
        return False

    def _clear_slots(self) -> None:
        self._requested_slots = bytearray(REQUESTED_SLOTS)
        self._until_forgotten_bytes = self._limit_bytes

    def _take(self, size_bytes: int) -> None:
        """Count bytes just added (negative: fewer); drop the least recently used rows and pages beyond the limit."""
        self._left_bytes -= size_bytes
        while self._left_bytes < 0:
            _, entry = self._entries.popitem(last=False)
            self._left_bytes += _size_bytes(entry)


def _size_bytes(entry: Row | _Pages) -> int:
    return entry.size_bytes if isinstance(entry, _Pages) else len(entry) + ROW_EXTRA_BYTES
