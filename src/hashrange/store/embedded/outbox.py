"""How are entries of global indexes written later than their items? Through an outbox:
rows that hold the writes still to be done.

With a delay, a commit holds rows of the outbox instead of these entries (docs/formats/store.md); the entries are
written in the order of the commits, once they are due. While the outbox has rows, all entries of global indexes that
follow from writes go through the outbox, even if there is no delay any more, so none overtakes another. Entries of
local indexes are never delayed. The clock may have been set back since the last process: a row found at the start is
due at once if its due time is later than that of a row added at the start would be.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from hashrange.errors import StorageCorruption
from hashrange.items.row_layout import ROW_HEADER_BYTES
from hashrange.items.types import Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.ordered_queue import OrderedQueue, Queued
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.interface import DelayOf
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.schema import Table

SLICE_BYTES_MAX = 512 * 1024
"""One commit reads outbox rows until these have this many bytes, and writes entries until the entries do: some 1 ms."""
ROW_BYTES_MAX = 1024 * 1024
"""A row of the outbox ends with the entry that makes its entries, equal ones counted once, exceed this many bytes. A
commit that writes only some of a row's entries stores the row again with the remaining ones.
"""
_POSITION_BYTES, _NUMBER_BYTES = 8, 2


class DelayedWrite(NamedTuple):
    """One write to an index, which is still to be done."""

    source_id: bytes
    old_key: bytes | None
    old_header: bytes | None
    """First bytes of the old entry's row, which hold its size; None if there is no old entry."""
    new_key: bytes | None
    new_row: bytes | None


class Delayed(NamedTuple):
    """One row of the outbox: writes that a commit left for later."""

    due_ms: int
    """Service time, in milliseconds, from which on the writes may be done; once the delay is switched off they may be
    done at once. It does not fall from row to row, unless the clock was set back between two processes.
    """
    writes: list[DelayedWrite]


class _Stored(NamedTuple):
    """A row of the outbox as it is stored."""

    due_ms: int
    writes: list[tuple[bytes, bytes | None, bytes | None, bytes | None, bytes | int | None]]
    """The members of each DelayedWrite. An int in place of `new_row` is the place, in this list, of a write with an
    equal row: indexes that project whole items have equal entries.
    """


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Stored).decode


class Outbox(Participant):
    """The participant that delays entries of global indexes."""

    def __init__(self, terms: Terms) -> None:
        self._clock = terms.clock
        delay = terms.options.index_delay
        self._delay: DelayOf | None = None if delay is None else lambda changes: delay()
        self._most_seconds: float | None = None
        """The longest delay, in seconds, that `_delay` can return; None: `_delay` always returns the same one."""
        self._find_index = terms.find_index
        self._wake = terms.wake
        self._queue = OrderedQueue(layout.OUTBOX_PREFIX)
        self._last_key = b""
        """Key of the last row in the outbox; empty if it has no row."""
        self._last_due_ms = 0
        self._last_found_key = b""
        """Key of the last row that `load` found; empty if it found none."""
        self._found_due_ms_max = 0
        """Due time (milliseconds of service time) that a row added at the time of `load` would have. A row that `load`
        found with a later due time is due at once: the clock may have been set back since it was added."""

    def delay_by(self, draw: DelayOf | None, most_seconds: float) -> None:
        """From now on, `draw` returns the delay of each commit's entries, at most `most_seconds`; None: no delay.

        The caller then reopens all tables (`EmbeddedCatalog.reopen`).
        """
        self._delay = draw
        self._most_seconds = most_seconds

    def load(self, engine: Engine, tables: Sequence[Table]) -> None:
        """Note the last row of the outbox in a newly opened engine. Reads no other row, however many there are.

        Raises StorageCorruption and the engine's bare exceptions.
        """
        self._queue.load()
        last = self._queue.last(engine)
        self._last_key = self._last_found_key = b"" if last is None else last.key
        self._last_due_ms = 0 if last is None else decode_delayed(last.row).due_ms
        if self._most_seconds is None:
            self._found_due_ms_max = self._due_ms(())
        else:
            self._found_due_ms_max = int((self._clock.service_time() + self._most_seconds) * 1000)
        self._last_due_ms = min(self._last_due_ms, self._found_due_ms_max)

    def _is_used(self) -> bool:
        return self._delay is not None or self._last_key != b""

    def _due_ms(self, changes: Sequence[Change]) -> int:
        """Draw the due time, in milliseconds of service time, of entries that follow from changes committed now."""
        delay_seconds = 0.0 if self._delay is None else self._delay(changes)
        return int((self._clock.service_time() + delay_seconds) * 1000)

    def takes_part(self, table: Table) -> bool:
        """True for tables with global indexes, if there is a delay or the outbox is not empty."""
        return self._is_used() and any(index.is_global for index in table.indexes)

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """If there is a delay, or the outbox is not empty, move the draft's entries of global indexes into it."""
        if not self._is_used():
            return
        writes = [delayed(entry) for entry in draft.entries if is_global(entry)]
        if not writes:
            return
        draft.entries = [entry for entry in draft.entries if not is_global(entry)]
        due_ms = max(self._last_due_ms, self._due_ms(changes))
        key = draft.position.to_bytes(_POSITION_BYTES, "big")
        row_key = key
        for number, some in enumerate(_in_rows(writes)):
            row_key = key + (number.to_bytes(_NUMBER_BYTES, "big") if number else b"")
            self._queue.put(draft, row_key, _encode_delayed(due_ms, some))
        draft.afterwards.append(lambda: self._added(due_ms, row_key))

    def _added(self, due_ms: int, last_key: bytes) -> None:
        was_empty = not self._last_key
        self._last_due_ms, self._last_key = due_ms, last_key
        if was_empty:
            self._wake()

    def drain(self, draft: Draft, limit_rows: int) -> float | None:
        """Write the entries of the oldest rows that are due, at most `limit_rows` rows, or SLICE_BYTES_MAX of entries.

        Returns 0.0 if any row was due, else the seconds of service time until the next one is; None if none waits.
        """
        now_ms = int(self._clock.service_time() * 1000)
        due, next_due_ms = self._due(draft.engine, now_ms, limit_rows)
        if not due:
            return None if next_due_ms is None else (next_due_ms - now_ms) / 1000
        taken: list[Queued] = []
        left_bytes = SLICE_BYTES_MAX
        for one in due:
            waiting = decode_delayed(one.row)
            writes = deque(waiting.writes)
            while writes and left_bytes > 0:
                write = writes.popleft()
                if self._find_index(write.source_id) is not None:
                    apply_delayed(draft, write)
                    left_bytes -= 0 if write.new_row is None else len(write.new_row)
            if writes:
                self._queue.put(draft, one.key, _encode_delayed(waiting.due_ms, writes))
                break
            taken.append(one)
        self._queue.take(draft, taken)
        draft.afterwards.append(lambda: self._taken(taken))
        return 0.0

    def _taken(self, rows: Sequence[Queued]) -> None:
        if rows and rows[-1].key == self._last_key:
            self._last_key = b""

    def _due(self, engine: Engine, now_ms: int, limit_rows: int) -> tuple[list[Queued], int | None]:
        """The oldest rows that are due, and the due time in milliseconds of the next row (None: it was not read)."""
        due: list[Queued] = []
        if not self._last_key:
            return due, None
        for one in self._queue.first(engine, limit_rows, SLICE_BYTES_MAX):
            due_ms = decode_delayed(one.row).due_ms
            is_stray = due_ms > self._found_due_ms_max and one.key <= self._last_found_key
            if self._delay is not None and due_ms > now_ms and not is_stray:
                return due, due_ms
            due.append(one)
        return due, None


def _in_rows(writes: Sequence[DelayedWrite]) -> Iterator[list[DelayedWrite]]:
    """Divide writes into lists, each for one row of the outbox."""
    some: list[DelayedWrite] = []
    seen: set[bytes] = set()
    size_bytes = 0
    for write in writes:
        if size_bytes > ROW_BYTES_MAX:
            yield some
            some, seen, size_bytes = [], set(), 0
        some.append(write)
        if write.new_row is not None and write.new_row not in seen:
            seen.add(write.new_row)
            size_bytes += len(write.new_row)
    yield some


def _encode_delayed(due_ms: int, writes: Iterable[DelayedWrite]) -> bytes:
    """Encode a row of the outbox, which holds equal entries once."""
    places: dict[bytes, int] = {}
    stored = []
    for place, (*which, row) in enumerate(writes):
        first = place if row is None else places.setdefault(row, place)
        stored.append((*which, row if first == place else first))
    return _encode((due_ms, stored))


def delayed_writes(engine: Engine) -> Iterator[DelayedWrite]:
    """All writes that wait in the outbox, in order, for tools. Raises StorageCorruption and the engine's exceptions."""
    for _, row in scan_prefix(engine, layout.OUTBOX_PREFIX):
        yield from decode_delayed(row).writes


def decode_delayed(row: bytes) -> Delayed:
    """Decode a row of the outbox. Raises StorageCorruption if that fails."""
    due_ms, stored = layout.decoded(_decode, row, "a row of the outbox")
    writes: list[DelayedWrite] = []
    for source_id, old_key, old_header, new_key, new_row in stored:
        if isinstance(new_row, int):
            if not 0 <= new_row < len(writes):
                raise StorageCorruption("a row of the outbox refers to an entry that it does not hold")
            new_row = writes[new_row].new_row
        writes.append(DelayedWrite(source_id, old_key, old_header, new_key, new_row))
    return Delayed(due_ms, writes)


def delayed(entry: EntryWrite) -> DelayedWrite:
    """The DelayedWrite for an index entry write."""
    old, new = entry.old, entry.new
    return DelayedWrite(
        entry.source.source_id,
        None if old is None else old.key,
        None if old is None else old.row[:ROW_HEADER_BYTES],
        None if new is None else new.key,
        None if new is None else new.row,
    )


def apply_delayed(draft: Draft, write: DelayedWrite) -> None:
    """Add one delayed write to a commit, with its change of the index's statistics."""
    source_id, old_key, old_header, new_key, new_row = write
    if old_key is not None:
        draft.touched.append(source_id + old_key)
        if old_key != new_key:
            draft.batch.delete(source_id + old_key)
    if new_key is not None and new_row is not None:
        draft.touched.append(source_id + new_key)
        draft.batch.put(source_id + new_key, new_row)
    draft.count(source_id, None if old_header is None else Row(old_header), None if new_row is None else Row(new_row))


def is_global(entry: EntryWrite) -> bool:
    """True if the write is to a global index."""
    return entry.source.index is not None and entry.source.index.is_global
