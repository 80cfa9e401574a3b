"""How is a span read? From an engine iterator, in order, up to a limit.

The first rows are read one by one, which is all that most pages need; a longer page goes on chunk by chunk, which costs a third
less per row. But the engine's Python iterators, which read chunks, end without a word when they meet damage or give up over
deleted keys. So one that ends before a limit is asked again, by an iterator that seeks just after the last row and tells its
status (3 µs). Nothing here suspends; each chunk is short enough for the loop.
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
"""Rows read between two looks at the clock: some 0.1 ms from memory."""
FIRST_ROWS = 24
"""Read one by one. They also tell how long rows are, so that no chunk reads far beyond the page's end."""
LARGE_ROW_BYTES = 16 * 1024
"""FIRST_ROWS of this length stay below a page's limit, unless other spans of the page have used most of it up."""
READ_BYTES = 2 * 1024 * 1024
"""A page whose rows are longer than this ends there: rows may be 47 times as long as their items count, and reading 1 MB takes 0.7 to 3 ms."""


class Cursor:
    """One walk over a span, forward or in reverse. Holds an engine iterator: let go of it before suspending."""

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
        """Over engine keys `lower <= key < upper`; `is_kept`: what it reads goes into the cache."""
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
        """At most `limit_rows` more (engine key, row); fewer only at the end of the span.

        Raises the engine's bare exception for damage, or when too many deleted keys lie in the way.
        """
        chunk: list[tuple[bytes, bytes]] = list(islice(self._items, limit_rows))
        return self._taken(chunk, is_end=len(chunk) < limit_rows)

    def read_some(self, limit_rows: int) -> tuple[list[tuple[bytes, bytes]], bool]:
        """The same, up to the row with which they have READ_BYTES; and whether the span has ended."""
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
        """Those of the entries just read that belong to the span. At its end that is looked at once more."""
        if chunk:
            self._last_key = chunk[-1][0]
            if self._is_reverse and self._last_key < self._lower:
                return [entry for entry in chunk if entry[0] >= self._lower]
        if is_end:
            self._verify_end()
        return chunk

    def drop(self) -> None:
        """Let go of the engine: an iterator kept alive, be it by a traceback, keeps a closed engine open."""
        self._items = self._engine = None

    def _verify_end(self) -> None:
        """Make sure that the iterator ended because nothing follows."""
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
    """The first rows of a span, at most FIRST_ROWS, and the last one's key; no key when the span holds nothing more.

    Large rows are read only until they reach `limit_bytes`, or are longer than READ_BYTES. Raises the engine's bare exception for damage, or when too many deleted
    keys lie in the way.
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
            row = value()  # None at the end, as every call of `valid` would tell
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
    """A page being collected. Between two calls of `advance` it holds nothing of the engine."""

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
        """Limits as in `Store.page`; `begun` are rows that were read already, their size in bytes, and the last one's key."""
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
        """Read on until the page is complete, or return None once the deadline has passed.

        Raises the engine's bare exceptions; may be called again after any of them.
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
        """A walk over what is left of the span; None when nothing can be left."""
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
        """As many rows as are likely to fill the page."""
        row_count = len(self.rows)
        left = self._limit_rows - row_count
        if not row_count:
            return min(left, FIRST_ROWS)
        return min(left, CHUNK_ROWS, (self._limit_bytes - self.size_bytes) * row_count // self.size_bytes + 1)

    def _take(self, chunk: list[tuple[bytes, bytes]]) -> bool:
        """Add rows; True when one of them reached a limit, which is then the page's last."""
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
    """The page, if its rows are few, or what reads on. Limits as in `Store.page`. Never raises: the reader does."""
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
    except Exception:  # noqa: BLE001, S110 - the reader meets it again, and whoever calls it deals with it
        pass
    return PageReader(source_id, span, limit_rows, limit_bytes, begun, is_kept=is_kept)


def scan_prefix(engine: Engine, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every (engine key, row) whose key begins with `prefix`; raises the engine's bare exception for damage."""
    return scan_range(engine, prefix, prefix_upper_bound(prefix))


def scan_range(engine: Engine, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every (engine key, row) with `lower <= key < upper`; raises the engine's bare exception for damage."""
    cursor = Cursor(engine, lower, upper, is_reverse=False, skipped_keys_max=0)
    try:
        while True:
            chunk = cursor.read(CHUNK_ROWS)
            yield from chunk
            if len(chunk) < CHUNK_ROWS:
                return
    finally:
        cursor.drop()
