"""What will one commit write? A Draft: filled by the write and by participants, invisible to reads,
written at once or discarded.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from hashrange.items.row_layout import ROW_SIZE, row_size_bytes
from hashrange.items.steps import look
from hashrange.items.types import Row
from hashrange.store.embedded.engine import Engine, WriteBatch, new_batch
from hashrange.store.interface import Payer
from hashrange.tables.change import Change
from hashrange.tables.entries import Entry, EntryWrite
from hashrange.tables.source_id import vector_lists_id

ROOM_BYTES_MIN = 1024 * 1024
"""Batches for fewer bytes than this are not preallocated, but grow as rows are added."""
KEYS_ROOM_BYTES = 8_192
"""Preallocated bytes for the keys of one change's rows; a key has up to 3 KB."""
_from_bytes = int.from_bytes

Commit = Callable[[Callable[["Draft"], Any]], Coroutine[Any, Any, Any]]
"""Type of `Commits.commit`, which makes a commit of the draft that its argument fills."""


class Draft(msgspec.Struct):
    """The rows of one commit, and the functions to call and further commits to make after it."""

    engine: Engine
    """The engine, for reading rows as they are before the commit."""
    position: int
    """The position that the commit will have."""
    at_seconds: float
    """Service time of the commit, in seconds; `commits.UNUSED_TIME` if no participant needs it."""
    changes: Sequence[Change] = ()
    """The item changes of the write; in a transaction one for each step, even where `old == new`."""
    batch: WriteBatch = msgspec.field(default_factory=new_batch)
    """The engine's batch: `put(key, row)`, `delete(key)` and `delete_range(first key, key after the last)`."""
    meter: Payer = None
    """That of the request whose write this is; None: it is none's."""
    entries: Sequence[EntryWrite] = ()
    """Index entry writes of this commit, except those left to a walk, to the change log or to late entries."""
    deltas: dict[bytes, tuple[int, int]] = {}
    """Source id → change of its item count and of its size in bytes."""
    touched: list[bytes] = []
    """Engine keys of index entries that are written or deleted, whose cached pages are then dropped. Entries that a
    walk adds are not among them: nothing reads their index yet."""
    afterwards: list[Callable[[], object]] = []
    """Functions called in order after the commit is written; they must not raise."""
    only_of: int | None = None
    """If no item changes: id of the only table whose index entries may change; None: those of any table may."""
    finish: Callable[[Commit], Coroutine[Any, Any, None]] | None = None
    """Set by a participant to make further commits (late entries), giving way in between; the write waits."""
    kept: dict[object, Any] = {}
    """Values that participants and statistics keep for a later stage of the commit."""

    def count(self, source_id: bytes, old: Row | None, new: Row | None) -> None:
        """Add to `deltas` that `new` replaces `old` in a source (None: no row); only the rows' headers are read."""
        if old is not None and new is not None:
            before, after = old[ROW_SIZE], new[ROW_SIZE]
            if before == after:
                return
            count, size_bytes = 0, _from_bytes(after, "big") - _from_bytes(before, "big")
        elif new is not None:
            count, size_bytes = 1, row_size_bytes(new)
        elif old is not None:
            count, size_bytes = -1, -row_size_bytes(old)
        else:
            return
        deltas = self.deltas
        if source_id in deltas:
            count_before, size_before = deltas[source_id]
            count, size_bytes = count + count_before, size_bytes + size_before
        deltas[source_id] = (count, size_bytes)

    def count_list(self, source_id: bytes, old: Entry | None, new: Entry | None) -> None:
        """Add to `deltas` that `new` replaces `old` in a vector index: how large the items' vectors are as lists."""
        count = (new is not None) - (old is not None)
        size_bytes = (0 if new is None else new.list_bytes) - (0 if old is None else old.list_bytes)
        if count or size_bytes:
            name = vector_lists_id(source_id)
            count_before, size_before = self.deltas.get(name, (0, 0))
            self.deltas[name] = (count + count_before, size_bytes + size_before)

    def write_entry(self, entry: EntryWrite) -> None:
        """Add the write of an index entry, with its change of the index's statistics. Its old row may be a header."""
        source, old, new = entry
        source_id = source.source_id
        if old is not None and (new is None or new.key != old.key):
            self.touched.append(engine_key := source_id + old.key)
            self.batch.delete(engine_key)
        if new is not None:
            self.touched.append(engine_key := source_id + new.key)
            self.batch.put(engine_key, new.row)
        self.count(source_id, None if old is None else old.row, None if new is None else new.row)

    def write(self) -> None:
        """Write the whole batch at once. Raises the engine's bare exceptions; then nothing was written."""
        self.engine.write(self.batch)


def batch_for(room_bytes: int, change_count: int) -> WriteBatch:
    """A batch preallocated for `room_bytes` of rows and stream images of so many changes, if that is ROOM_BYTES_MIN.

    May give way before and after the allocation.
    """
    if room_bytes < ROOM_BYTES_MIN:
        return new_batch()
    look()
    batch = new_batch(room_bytes + change_count * KEYS_ROOM_BYTES)
    look()
    return batch
