"""What will one commit do? A Draft: filled step by step, seen by nobody, and written at once or thrown away."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from hashrange.items.row_layout import row_size_bytes
from hashrange.items.steps import look
from hashrange.items.types import Row
from hashrange.store.embedded.engine import Engine, WriteBatch, new_batch
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.stream_records import images_bytes

ROOM_BYTES_MIN = 1024 * 1024
"""Room for less is made as it is needed."""
KEYS_ROOM_BYTES = 8_192
"""For the keys of a change's rows, which have up to 3 KB each."""

Commit = Callable[[Callable[["Draft"], Any]], Coroutine[Any, Any, Any]]
"""commit(make): another commit, as `Commits.commit`."""


class Draft:
    """Rows to put and to delete, with what follows once they are in. Made by `commits.py`, filled by it and by participants."""

    __slots__ = (
        "_kept", "afterwards", "at_seconds", "batch", "changes", "deltas", "engine", "entries", "finish", "only_of", "position", "touched"
    )  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        position: int,
        at_seconds: float,
        changes: Sequence[Change] = (),
        batch: WriteBatch | None = None,
    ) -> None:
        self.batch = new_batch() if batch is None else batch
        """`put(key, row)`, `delete(key)` and `delete_range(first key, key behind the last)`."""
        self.engine = engine
        """As it is before the commit: to read from."""
        self.position = position
        """Which the commit will have."""
        self.at_seconds = at_seconds
        """Service time of the commit."""
        self.changes = changes
        """Of items: one for each step of a transaction, those with `old == new` among them."""
        self.entries: Sequence[EntryWrite] = ()
        """What the changes do to indexes, and is to be written now."""
        self.deltas: dict[bytes, tuple[int, int]] = {}
        """Source → by how much its item count and size in bytes change."""
        self.touched: list[bytes] = []
        """Keys of index entries that are written or deleted."""
        self.afterwards: list[Callable[[], None]] = []
        """Called in order once the commit is in; they must not raise."""
        self.only_of: int | None = None
        """Id of the only table whose rows it changes, but for `changes`; None: it may be any."""
        self.finish: Callable[[Commit], Coroutine[Any, Any, None]] | None = None
        """What whoever wrote waits for, once the commit is in: further commits, with turns for others in between."""
        self._kept: dict[object, Any] | None = None

    @property
    def kept(self) -> dict[object, Any]:
        """What somebody found out on the way, for when it is needed again."""
        if self._kept is None:
            self._kept = {}
        return self._kept

    def count(self, source_id: bytes, old: Row | None, new: Row | None) -> None:
        """Note what replacing a row of `source_id` does to its statistics; of the rows only their headers are looked at."""
        count = size_bytes = 0
        if old is not None:
            count, size_bytes = -1, -row_size_bytes(old)
        if new is not None:
            count += 1
            size_bytes += row_size_bytes(new)
        if count or size_bytes:
            deltas = self.deltas
            if source_id in deltas:
                count_before, size_before = deltas[source_id]
                count, size_bytes = count + count_before, size_bytes + size_before
            deltas[source_id] = (count, size_bytes)

    def write(self) -> None:
        """Write all of it at once. Raises the engine's bare exceptions, and then nothing was written."""
        self.engine.write(self.batch)


def batch_for(changes: Sequence[Change]) -> WriteBatch | None:
    """A batch with room for very large rows, and for their images in a stream, after which others have their turn; None when there is no need."""
    room_bytes = 0
    for change in changes:
        room_bytes += 0 if change.new is None else len(change.new)
        if change.table.schema.stream_view_type is not None:
            room_bytes += images_bytes(change.table.schema, change.old, change.new)
    if room_bytes < ROOM_BYTES_MIN:
        return None
    look()
    batch = new_batch(room_bytes + len(changes) * KEYS_ROOM_BYTES)
    look()
    return batch
