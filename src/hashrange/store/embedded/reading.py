"""How is a span read? With an engine iterator, in order, up to a limit.

The first rows are read one by one, which is enough for most pages. Further rows are read in chunks, which costs a third
less per row. But the engine's Python iterators, which read chunks, end silently when they meet damage, or give up
because of too many deleted keys. So when such an iterator ends before a limit, another one seeks just past the last row
and reports its status (3 µs). No function suspends; each chunk is short enough for the event loop.
"""

from collections.abc import Callable, Iterator
from itertools import islice

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


class Cursor:
    """One pass over a span, forward or in reverse. Holds an engine iterator: call `drop` before suspending."""

    __slots__ = ("_engine", "_is_reverse", "_items", "_last_key", "_lower", "_options", "_upper")

    def __init__(
        self,
        engine: Engine,
        lower: bytes,
        upper: bytes,
        *,
        is_reverse: bool,
        skipped_keys_max: int = SKIPPED_KEYS_MAX,
        is_kept: bool = False,
    ) -> None:
        """Read engine keys `lower <= key < upper`; with `is_kept`, the blocks read go into the engine's cache.

        `skipped_keys_max`: consecutive deleted keys that a read may pass before it gives up; 0: no limit.
        """
        self._engine = engine
        self._lower = lower
        self._upper = upper
        self._is_reverse = is_reverse
        self._options = bounded(upper, skipped_keys_max, is_kept=is_kept)
        self._items = engine.items(
            backwards=is_reverse, from_key=upper if is_reverse else lower, read_opt=self._options
        )
        self._last_key: bytes | None = None

    def read(self, limit_rows: int) -> list[tuple[bytes, bytes]]:
        """The next (engine key, row) pairs, at most `limit_rows`; fewer only at the end of the span.

        Raises StorageCorruption or the engine's bare exception for damage; the latter also if too many deleted keys
        lie in the way.
        """
        chunk: list[tuple[bytes, bytes]] = list(islice(self._items, limit_rows))
        return self._taken(chunk, is_end=len(chunk) < limit_rows)

    def read_some(self, limit_rows: int) -> tuple[list[tuple[bytes, bytes]], bool]:
        """The pairs that `read` returns, but only up to the row with which the rows' lengths reach READ_BYTES.

        Also returns True if the span has ended, False if further rows may follow. Raises as `read` does.
        """
        chunk: list[tuple[bytes, bytes]] = []
        left_bytes = READ_BYTES
        for entry in islice(self._items, limit_rows):
            chunk.append(entry)
            left_bytes -= len(entry[1])
            if left_bytes <= 0:
                break
        is_end = left_bytes > 0 and len(chunk) < limit_rows
        taken = self._taken(chunk, is_end=is_end)
        return taken, is_end or len(taken) < len(chunk)

    def _taken(self, chunk: list[tuple[bytes, bytes]], *, is_end: bool) -> list[tuple[bytes, bytes]]:
        """The pairs of `chunk` that belong to the span. `is_end`: the iterator has ended; verify that the span has."""
        if chunk:
            self._last_key = chunk[-1][0]
            if self._is_reverse and self._last_key < self._lower:
                return [entry for entry in chunk if entry[0] >= self._lower]
        if is_end:
            self._verify_end()
        return chunk

    def drop(self) -> None:
        """Release the engine: an iterator kept alive, even by a traceback, keeps a closed engine open."""
        self._items = self._engine = None

    def _verify_end(self) -> None:
        """Raise StorageCorruption, or the engine's bare exception, unless the iterator ended because no row follows."""
        last_key = self._last_key
        iterator = self._engine.iter(self._options)
        try:
            if self._is_reverse:
                iterator.seek_for_prev(self._upper if last_key is None else last_key)
                if iterator.valid() and iterator.key() == last_key:
                    iterator.prev()
                is_more = iterator.valid() and iterator.key() >= self._lower
            else:
                iterator.seek(self._lower if last_key is None else last_key + b"\x00")
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


class PageReader:
    """A page that is being collected. Between two calls of `advance` it holds no object of the engine."""

    __slots__ = (
        "_is_kept",
        "_limit_bytes",
        "_limit_rows",
        "_source",
        "_span",
        "last_key",
        "rows",
        "size_bytes",
        "skipped_keys_max",
    )

    def __init__(
        self,
        source_id: bytes,
        span: Span,
        limit_rows: int,
        limit_bytes: int,
        begun: tuple[list[Row], int, Key] | None,
        *,
        is_kept: bool,
    ) -> None:
        """Limits are those of `Store.page`; `begun`: rows read before, sum of their item sizes, last row's key."""
        self._is_kept = is_kept
        self._source = source_id
        self._span = span
        self._limit_rows = limit_rows
        self._limit_bytes = limit_bytes
        self.rows: list[Row] = []
        self.size_bytes = 0
        self.last_key: Key | None = None
        if begun is not None:
            self.rows, self.size_bytes, self.last_key = begun
        self.skipped_keys_max = SKIPPED_KEYS_MAX

    def advance(self, engine: Engine, monotonic: Callable[[], float], deadline_seconds: float) -> Page | None:
        """Continue reading; return the page once it is complete, or None once `monotonic()` has reached the deadline.

        Raises StorageCorruption and the engine's bare exceptions, and may be called again after any of them.
        """
        cursor = self._cursor(engine)
        if cursor is None:
            return Page(self.rows, self.size_bytes, None)
        try:
            while True:
                wanted_rows = self._next_chunk_rows()
                chunk, is_end = cursor.read_some(wanted_rows)
                if self._take(chunk):
                    return Page(self.rows, self.size_bytes, self.last_key)
                if len(chunk) < wanted_rows:
                    return Page(self.rows, self.size_bytes, None if is_end else self.last_key)
                if monotonic() >= deadline_seconds:
                    return None
        finally:
            cursor.drop()

    def _cursor(self, engine: Engine) -> Cursor | None:
        """A cursor over the part of the span after `last_key`; None if that part is empty."""
        lower, upper, is_reverse = self._span.lower, self._span.upper, self._span.is_reverse
        if self.last_key is not None:
            if is_reverse:
                upper = self.last_key
            else:
                lower = self.last_key + b"\x00"
        if lower >= upper:
            return None
        source_id = self._source
        return Cursor(
            engine,
            source_id + lower,
            source_id + upper,
            is_reverse=is_reverse,
            skipped_keys_max=self.skipped_keys_max,
            is_kept=self._is_kept,
        )

    def _next_chunk_rows(self) -> int:
        """Number of rows that is likely to fill the page, at most CHUNK_ROWS; for an empty page, at most FIRST_ROWS."""
        row_count = len(self.rows)
        left = self._limit_rows - row_count
        if not row_count:
            return min(left, FIRST_ROWS)
        return min(left, CHUNK_ROWS, (self._limit_bytes - self.size_bytes) * row_count // self.size_bytes + 1)

    def _take(self, chunk: list[tuple[bytes, bytes]]) -> bool:
        """Add rows to the page up to the one that reaches a limit; True if one did."""
        if not chunk:
            return False
        rows: list[Row] = [row for _, row in chunk]  # type: ignore[misc]  # rows of the engine are Rows
        sizes = row_sizes_bytes(rows)
        size_bytes = self.size_bytes + sum(sizes)
        if size_bytes >= self._limit_bytes:
            size_bytes = self.size_bytes
            taken = 0
            while size_bytes < self._limit_bytes:
                size_bytes += sizes[taken]
                taken += 1
            del rows[taken:]
        self.rows += rows
        self.size_bytes = size_bytes
        self.last_key = Key(chunk[len(rows) - 1][0][SOURCE_BYTES:])
        return size_bytes >= self._limit_bytes or len(self.rows) == self._limit_rows


def begin_page(
    engine: Engine, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, *, is_kept: bool
) -> Page | PageReader:
    """The page, or a reader: of the rest if the rows are many, of the whole page if too many rows were read for
    `limit_bytes`. Limits are those of `Store.page`.

    Never raises: after an error it returns a reader of the whole page, which meets the same error and raises it.
    """
    begun = None
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
    return PageReader(source_id, span, limit_rows, limit_bytes, begun, is_kept=is_kept)


def scan_prefix(engine: Engine, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every (engine key, row) whose key has the `prefix`. Raises StorageCorruption or the engine's bare exceptions."""
    return scan_range(engine, prefix, prefix_upper_bound(prefix))


def scan_range(
    engine: Engine, lower: bytes, upper: bytes, chunk_rows: int = CHUNK_ROWS
) -> Iterator[tuple[bytes, bytes]]:
    """Every (engine key, row) with `lower <= key < upper`, read in chunks.
    Raises StorageCorruption or the engine's bare exceptions.
    """
    cursor = Cursor(engine, lower, upper, is_reverse=False, skipped_keys_max=0)
    try:
        while True:
            chunk = cursor.read(chunk_rows)
            yield from chunk
            if len(chunk) < chunk_rows:
                return
    finally:
        cursor.drop()
