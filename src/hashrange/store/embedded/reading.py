"""How is a span read? With an engine iterator, in order, up to a limit.

The first rows of a page are read by an iterator that reports its status, which is enough for most pages. Further rows
are read by one of the engine's Python iterators, which costs a third less per row. But these end silently when they
meet damage, or give up because of too many deleted keys. So when one of them ends before a limit, another iterator
seeks just past the last row and reports its status (3 µs). No function suspends; a page is read in chunks, each short
enough for the event loop.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import islice
from typing import Any

import msgspec

from hashrange.errors import StorageCorruption
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.row_layout import row_size_bytes, row_sizes_bytes
from hashrange.items.types import Key, Row
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine, bounded
from hashrange.store.interface import Page
from hashrange.tables.source_id import SOURCE_BYTES, key_in_source
from hashrange.tables.span import Span

CHUNK_ROWS = 256
"""Largest number of rows read between two looks at the clock, which takes some 0.1 ms from memory."""
FIRST_ROWS = 24
"""Rows of a page that are read one by one at first. Their item sizes determine the number of rows in the next chunk, so
that it does not reach far beyond the page.
"""
LARGE_ROW_BYTES = 16 * 1024
"""Among the first rows of a page, those longer than this are counted against the page's limits in bytes while they are
read. FIRST_ROWS rows of this length stay below these limits, unless earlier spans of the request used most of them up.
"""
READ_BYTES = 2 * 1024 * 1024
"""A chunk ends with the row at which the chunk's rows together have this length, whatever their item sizes; if that
cuts the chunk short, the page ends with it.

A row of 32 KB may be 60 times as long as its item size, and reading 1 MB takes 0.7 to 3 ms.
"""


def scan_range(
    engine: Engine,
    lower: bytes,
    upper: bytes,
    *,
    is_reverse: bool = False,
    skipped_keys_max: int = 0,
    is_kept: bool = False,
) -> Generator[tuple[bytes, bytes]]:
    """Every (engine key, row) with `lower <= key < upper`, each read when the iterator reaches it.

    `skipped_keys_max`: consecutive deleted keys that a read may pass before it gives up; 0: no limit. `is_kept`: the
    blocks read go into the engine's cache. Must be closed, or dropped, before anything suspends: an engine's iterator
    kept alive, even by a traceback, keeps a closed engine open. Raises StorageCorruption or the engine's bare exception
    for damage; the latter also if too many deleted keys lie in the way.
    """
    options = bounded(upper, skipped_keys_max, is_kept=is_kept)
    items = engine.items(backwards=is_reverse, from_key=upper if is_reverse else lower, read_opt=options)
    entry: tuple[bytes, bytes] | None = None
    try:
        for entry in items:
            if is_reverse and entry[0] < lower:
                return
            yield entry
        last_key = None if entry is None else entry[0]
        _verify_end(engine.iter(options), lower, upper, last_key, is_reverse=is_reverse)
    finally:
        del items


def read_range(
    engine: Engine, lower: bytes, upper: bytes, limit_rows: int, limit_bytes: int, skipped_keys_max: int = 0
) -> tuple[list[tuple[bytes, bytes]], bool]:
    """The first (engine key, row) with `lower <= key < upper`, until the number or the length of the rows reaches a
    limit; and True if there are no others. 0.8 µs a row from memory.

    `skipped_keys_max`, and what is raised: see `scan_range`.
    """
    options = bounded(upper, skipped_keys_max)
    items = engine.items(from_key=lower, read_opt=options)
    rows: list[tuple[bytes, bytes]] = []
    try:
        for entry in islice(items, limit_rows):
            rows.append(entry)
            limit_bytes -= len(entry[1])
            if limit_bytes <= 0:
                return rows, False
        if len(rows) == limit_rows:
            return rows, False
        _verify_end(engine.iter(options), lower, upper, rows[-1][0] if rows else None, is_reverse=False)
        return rows, True
    finally:
        del items


def scan_prefix(engine: Engine, prefix: bytes) -> Generator[tuple[bytes, bytes]]:
    """Every (engine key, row) whose key has the `prefix`. Raises StorageCorruption or the engine's bare exceptions."""
    return scan_range(engine, prefix, prefix_upper_bound(prefix))


def _verify_end(iterator: Any, lower: bytes, upper: bytes, last_key: bytes | None, *, is_reverse: bool) -> None:
    """Raise StorageCorruption, or the engine's bare exception, unless a read of `lower <= key < upper` has ended
    because no row follows the one at `last_key` (None: none was read). `iterator`: a new one of the engine.
    """
    try:
        if is_reverse:
            iterator.seek_for_prev(upper if last_key is None else last_key)
            if iterator.valid() and iterator.key() == last_key:
                iterator.prev()
            is_more = iterator.valid() and iterator.key() >= lower
        else:
            iterator.seek(lower if last_key is None else last_key + b"\x00")
            is_more = iterator.valid()
        if is_more:
            raise StorageCorruption("a range read ended before its last row")
        if not iterator.valid():
            iterator.status()
    finally:
        del iterator


def first_rows(
    engine: Engine, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, is_kept: bool
) -> tuple[list[Row], Key | None]:
    """The first rows of a span, at most `limit_rows` or FIRST_ROWS, and the last row's key; None: the span ended first.

    Rows longer than LARGE_ROW_BYTES are read only until they have `limit_bytes` of item size, or READ_BYTES of length.
    Raises the engine's bare exception for damage, or if too many deleted keys lie in the way.
    """
    lower, upper, is_reverse = span.lower, span.upper, span.is_reverse
    rows: list[Row] = []
    if lower >= upper:
        return rows, None
    limit_rows = min(limit_rows, FIRST_ROWS)
    left_bytes = READ_BYTES
    lower = source_id + lower
    upper = source_id + upper
    iterator = engine.iter(bounded(upper, is_kept=is_kept))
    valid, value, add = iterator.valid, iterator.value, rows.append
    step = iterator.prev if is_reverse else iterator.next
    try:
        if is_reverse:
            iterator.seek_for_prev(upper)
        else:
            iterator.seek(lower)
        for _ in range(limit_rows - 1):
            row = value()  # None at the end, so `valid` need not be called
            if row is None or (is_reverse and iterator.key() < lower):
                break
            add(row)
            if len(row) > LARGE_ROW_BYTES:
                limit_bytes -= row_size_bytes(row)
                left_bytes -= len(row)
                if limit_bytes <= 0 or left_bytes <= 0:
                    return rows, key_in_source(iterator.key())
            step()
        else:
            if valid() and not (is_reverse and iterator.key() < lower):
                add(value())
                return rows, key_in_source(iterator.key())
        if not valid():
            iterator.status()
    finally:
        del iterator, valid, value, step
    return rows, None


class PageReader(msgspec.Struct):
    """A page that is being collected. Between two calls of `advance` it holds no object of the engine."""

    source_id: bytes
    span: Span
    limit_rows: int
    """With `limit_bytes`: the limits of `Store.page`."""
    limit_bytes: int
    is_kept: bool
    """True if what is read fills the engine's cache."""
    rows: list[Row] = []
    size_bytes: int = 0
    last_key: Key | None = None
    skipped_keys_max: int = SKIPPED_KEYS_MAX

    def advance(self, engine: Engine, monotonic: Callable[[], float], deadline_seconds: float) -> Page | None:
        """Continue reading; return the page once it is complete, or None once `monotonic()` has reached the deadline.

        Raises StorageCorruption and the engine's bare exceptions, and may be called again after any of them.
        """
        lower, upper, is_reverse = self.span.lower, self.span.upper, self.span.is_reverse
        if self.last_key is not None:
            if is_reverse:
                upper = self.last_key
            else:
                lower = self.last_key + b"\x00"
        if lower >= upper:
            return Page(self.rows, self.size_bytes, None)
        lower, upper = self.source_id + lower, self.source_id + upper
        found = scan_range(
            engine,
            lower,
            upper,
            is_reverse=is_reverse,
            skipped_keys_max=self.skipped_keys_max,
            is_kept=self.is_kept,
        )
        with closing(found):
            while True:
                wanted_rows = self._next_chunk_rows()
                chunk: list[tuple[bytes, bytes]] = []
                left_bytes = READ_BYTES
                for entry in islice(found, wanted_rows):
                    chunk.append(entry)
                    left_bytes -= len(entry[1])
                    if left_bytes <= 0:
                        break
                if self._take(chunk):
                    return Page(self.rows, self.size_bytes, self.last_key)
                if len(chunk) < wanted_rows:
                    return Page(self.rows, self.size_bytes, None if left_bytes > 0 else self.last_key)
                if monotonic() >= deadline_seconds:
                    return None

    def _next_chunk_rows(self) -> int:
        """Number of rows that is likely to fill the page, at most CHUNK_ROWS; for an empty page, at most FIRST_ROWS."""
        row_count = len(self.rows)
        left = self.limit_rows - row_count
        if not row_count:
            return min(left, FIRST_ROWS)
        return min(left, CHUNK_ROWS, (self.limit_bytes - self.size_bytes) * row_count // self.size_bytes + 1)

    def _take(self, chunk: list[tuple[bytes, bytes]]) -> bool:
        """Add rows to the page up to the one that reaches a limit; True if one did."""
        if not chunk:
            return False
        rows: list[Row] = [row for _, row in chunk]  # type: ignore[misc]  # rows of the engine are Rows
        sizes = row_sizes_bytes(rows)
        size_bytes = self.size_bytes + sum(sizes)
        if size_bytes >= self.limit_bytes:
            size_bytes = self.size_bytes
            taken = 0
            while size_bytes < self.limit_bytes:
                size_bytes += sizes[taken]
                taken += 1
            del rows[taken:]
        self.rows += rows
        self.size_bytes = size_bytes
        self.last_key = Key(chunk[len(rows) - 1][0][SOURCE_BYTES:])
        return size_bytes >= self.limit_bytes or len(self.rows) == self.limit_rows


def begin_page(
    engine: Engine, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, is_kept: bool
) -> Page | PageReader:
    """The page, or a reader: of the rest if the rows are many, of the whole page if too many rows were read for
    `limit_bytes`. Limits are those of `Store.page`.

    Never raises: after an error it returns a reader of the whole page, which meets the same error and raises it.
    """
    begun: tuple[list[Row], int, Key] | tuple[()] = ()
    try:
        rows, last_key = first_rows(engine, source_id, span, limit_rows, limit_bytes, is_kept=is_kept)
        sizes = row_sizes_bytes(rows)
        size_bytes = sum(sizes)
        if size_bytes < limit_bytes:
            if last_key is None or len(rows) == limit_rows or len(rows) < FIRST_ROWS:
                return Page(rows, size_bytes, last_key)
            begun = rows, size_bytes, last_key
        elif last_key is not None and size_bytes - sizes[-1] < limit_bytes:
            return Page(rows, size_bytes, last_key)  # the last row is the one that reached the limit
    except Exception:  # noqa: BLE001, S110 - the reader meets the error again and raises it
        pass
    return PageReader(source_id, span, limit_rows, limit_bytes, is_kept, *begun)
