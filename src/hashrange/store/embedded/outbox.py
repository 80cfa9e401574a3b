"""How do entries of global indexes come later than their item? Through an outbox: rows that say what is still to be written.

With a delay, a commit holds one row more instead of these entries (docs/formats/store.md); they are written in the order of
the commits, once their time has come. As long as anything waits, everything goes through the outbox, whatever the delay is
by now, so nothing overtakes. Entries of local indexes are never delayed. Between two processes the clock may be set back: what was
found in the folder and is not due within the delay that holds now is due at once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.errors import StorageCorruption
from hashrange.items.rows import ROW_HEADER_BYTES
from hashrange.items.types import Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine, new_batch
from hashrange.store.embedded.read_cache import ReadCache
from hashrange.store.embedded.reading import Cursor, scan_prefix
from hashrange.store.embedded.workplace import Workplace
from hashrange.tables.change import Change
from hashrange.tables.derive import statistics_delta
from hashrange.tables.entries import EntryWrite
from hashrange.tables.sources import index_sources

IndexDelay = Callable[[], float]
"""Seconds of service time by which the entries of the next commit come later."""

SLICE_BYTES_MAX = 512 * 1024
"""Rows of the outbox applied in one commit: some 1 ms."""
_CHUNK_ROWS = 16
_NUMBER_BYTES = 8


class DelayedWrite(NamedTuple):
    """What is still to be done to one index."""

    source: bytes
    old_key: bytes | None
    old_header: bytes | None
    """The first bytes of the old entry, which hold its size."""
    new_key: bytes | None
    new_row: bytes | None


class Delayed(NamedTuple):
    """One row of the outbox: what a commit left for later."""

    due_ms: int
    """Milliseconds of service time; no row is due before the one ahead of it."""
    writes: list[DelayedWrite]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Delayed).decode


class Outbox:
    """The entries of a store that wait for their time."""

    def __init__(self, store: Workplace, clock: Clock, delay: IndexDelay | None) -> None:
        self._store = store
        self._clock = clock
        self._delay = delay
        self._first = self._next = 0
        """Number of the oldest row, and of the next one; equal when nothing waits."""
        self._last_due_ms = 0
        self._found_end = 0
        """Number behind the last row that was found in the folder."""
        self._found_due_ms_max = 0
        """What was found and is due later, is due at once."""
        self.is_used = delay is not None

    def load(self, engine: Engine) -> None:
        """Find out what waits in a newly opened engine."""
        self._first = self._next = 0
        prefix_bytes = len(layout.OUTBOX_PREFIX)
        for position, (engine_key, row) in enumerate(scan_prefix(engine, layout.OUTBOX_PREFIX)):
            self._next = int.from_bytes(engine_key[prefix_bytes:], "big") + 1
            if not position:
                self._first = self._next - 1
            self._last_due_ms = decode_delayed(row).due_ms
        self.is_used = self._delay is not None or self._first < self._next
        self._found_end = self._next
        self._found_due_ms_max = self._due_ms()
        self._last_due_ms = min(self._last_due_ms, self._found_due_ms_max)

    def _due_ms(self) -> int:
        """When what is written now is due."""
        delay_seconds = 0.0 if self._delay is None else self._delay()
        return int((self._clock.service_time() + delay_seconds) * 1000)

    def divert(self, batch: Engine, changes: Sequence[Change]) -> Sequence[Change]:
        """Put what is to come later into a row of `batch`; returns the changes without it. For a store whose outbox is used."""
        writes = [_delayed(entry) for change in changes for entry in change.entries if _is_global(entry)]
        if not writes:
            return changes
        due_ms = max(self._last_due_ms, self._due_ms())
        batch.put(_row_key(self._next), _encode(Delayed(due_ms, writes)))
        self._last_due_ms = due_ms
        return [
            change._replace(entries=[entry for entry in change.entries if not _is_global(entry)]) for change in changes
        ]

    def diverted(self) -> None:
        """The batch with the row of the last `divert` has been written."""
        self._next += 1
        if self._next - self._first == 1:
            self._store.wake()

    async def apply(self, limit_rows: int) -> float | None:
        """As `Store.apply_delayed`. From reading the rows to the commit nothing suspends."""
        store = self._store
        attempt = 0
        while True:
            now_ms = int(self._clock.service_time() * 1000)
            try:
                due, next_due_ms = self._due(now_ms, limit_rows)
            except Exception as error:
                raise store.fail(error) from error
            if not due:
                return None if next_due_ms is None else (next_due_ms - now_ms) / 1000
            batch = new_batch()
            deltas: dict[bytes, tuple[int, int]] = {}
            for number, delayed in enumerate(due, self._first):
                batch.delete(_row_key(number))
                for write in delayed.writes:
                    if self._is_maintained(write.source):
                        _put(batch, deltas, write)
            try:
                store.write_batch(batch, deltas)
            except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                await store.wait_out_stall(error, attempt)
                attempt += 1
                continue
            store.committed()
            for delayed in due:
                _touch(store.reads, delayed)
            self._first += len(due)
            self.is_used = self._delay is not None or self._first < self._next
            return 0.0

    def _due(self, now_ms: int, limit_rows: int) -> tuple[list[Delayed], int | None]:
        """The oldest rows whose time has come, and the due time of the next one if that is all. Raises bare exceptions."""
        due: list[Delayed] = []
        if self._first == self._next:
            return due, None
        size_bytes = 0
        upper = layout.prefix_end(layout.OUTBOX_PREFIX)
        cursor = Cursor(self._store.engine, _row_key(self._first), upper, is_reverse=False)
        try:
            while len(due) < limit_rows and size_bytes < SLICE_BYTES_MAX:
                chunk = cursor.read(_CHUNK_ROWS)
                for _, row in chunk:
                    delayed = decode_delayed(row)
                    is_stray = delayed.due_ms > self._found_due_ms_max and self._first + len(due) < self._found_end
                    if self._delay is not None and delayed.due_ms > now_ms and not is_stray:
                        return due, delayed.due_ms
                    due.append(delayed)
                    size_bytes += len(row)
                if len(chunk) < _CHUNK_ROWS:
                    break
        finally:
            cursor.drop()
        return due, None

    def _is_maintained(self, source: bytes) -> bool:
        """True unless the index, or its table, has been deleted meanwhile."""
        table = self._store.catalog.by_id.get(int.from_bytes(source[:4], "big"))
        return table is not None and any(one.source == source for one in index_sources(table))


def delayed_writes(engine: Engine) -> Iterator[DelayedWrite]:
    """Everything that waits, in order: for tools."""
    for _, row in scan_prefix(engine, layout.OUTBOX_PREFIX):
        yield from decode_delayed(row).writes


def decode_delayed(row: bytes) -> Delayed:
    """Raises StorageCorruption when `row` is no row of an outbox."""
    try:
        return _decode(row)
    except msgspec.MsgspecError as error:
        raise StorageCorruption(f"a row of the outbox cannot be read: {error}") from error


def _delayed(entry: EntryWrite) -> DelayedWrite:
    old, new = entry.old, entry.new
    return DelayedWrite(
        entry.source.source,
        None if old is None else old.key,
        None if old is None else old.row[:ROW_HEADER_BYTES],
        None if new is None else new.key,
        None if new is None else new.row,
    )


def _put(batch: Engine, deltas: dict[bytes, tuple[int, int]], write: DelayedWrite) -> None:
    """Put one write into `batch`, and what it does to figures into `deltas`."""
    source, old_key, old_header, new_key, new_row = write
    if old_key is not None and old_key != new_key:
        batch.delete(source + old_key)
    if new_key is not None:
        batch.put(source + new_key, new_row)
    count, size_bytes = statistics_delta(
        None if old_header is None else Row(old_header), None if new_row is None else Row(new_row)
    )
    count_before, size_before = deltas.get(source, (0, 0))
    deltas[source] = (count_before + count, size_before + size_bytes)


def _touch(reads: ReadCache, delayed: Delayed) -> None:
    for source, old_key, _, new_key, _ in delayed.writes:
        for key in (old_key, new_key):
            if key is not None:
                reads.touched(source + key)


def _is_global(entry: EntryWrite) -> bool:
    return entry.source.index is not None and entry.source.index.is_global


def _row_key(number: int) -> bytes:
    return layout.OUTBOX_PREFIX + number.to_bytes(_NUMBER_BYTES, "big")
