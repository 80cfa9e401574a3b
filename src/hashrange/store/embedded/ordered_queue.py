"""How are rows kept that are taken in key order? In a queue: one prefix, rows put anywhere after its horizon, taken from its front.

Deleted rows stay in the engine for a while, and a seek has to pass over them. The horizon is a key before which the
queue has no row, so a seek from there passes over none. It is not stored: the first look after a start finds it.
"""

from typing import NamedTuple

from hashrange.items.keys import prefix_upper_bound
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.reading import Cursor

_CHUNK_ROWS = 32


class Queued(NamedTuple):
    """One row of a queue."""

    key: bytes
    """Key without the queue's prefix; the queue has the order of these keys."""
    row: bytes


class OrderedQueue:
    """A queue: the rows of one prefix. Raises the engine's bare exceptions."""

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self._end = prefix_upper_bound(prefix)
        self._horizon = prefix

    def load(self) -> None:
        """Reset the horizon, because the engine is another one."""
        self._horizon = self.prefix

    def put(self, draft: Draft, key: bytes, row: bytes) -> None:
        """Add a row, not before the horizon: keys must grow, or begin with a time still to come when they are put."""
        assert self.prefix + key >= self._horizon, "a row was put where nobody would find it"
        draft.batch.put(self.prefix + key, row)

    def delete(self, draft: Draft, key: bytes) -> None:
        """Delete one row of the queue."""
        draft.batch.delete(self.prefix + key)

    def first(
        self,
        engine: Engine,
        limit_rows: int,
        limit_bytes: int | None = None,
        before: bytes | None = None,
        start: bytes = b"",
    ) -> list[Queued]:
        """The first rows, or those from key `start` on, up to a limit, and only before key `before` if given."""
        lower = max(self._horizon, self.prefix + start)
        upper = self._end if before is None else self.prefix + before
        if upper <= lower:
            return []
        found: list[Queued] = []
        left_bytes = float("inf") if limit_bytes is None else limit_bytes
        cursor = Cursor(engine, lower, upper, is_reverse=False)
        prefix_bytes = len(self.prefix)
        try:
            while len(found) < limit_rows and left_bytes > 0:
                wanted = min(limit_rows - len(found), 1 if limit_bytes is not None and not found else _CHUNK_ROWS)
                chunk = cursor.read(wanted)
                for engine_key, row in chunk:
                    found.append(Queued(engine_key[prefix_bytes:], row))
                    left_bytes -= len(row)
                    if left_bytes <= 0:
                        break
                if len(chunk) < wanted:
                    break
        finally:
            cursor.drop()
        return found

    def begin_at(self, key: bytes) -> None:
        """Move the horizon to `key`: no row is before it, and none will be put there."""
        self._passed(self.prefix + key)

    def sweep(self, draft: Draft) -> None:
        """Delete once more, as one range, everything before the horizon."""
        draft.batch.delete_range(self.prefix, self._horizon)

    def take(self, draft: Draft, rows: list[Queued]) -> None:
        """Delete these rows, the queue's first ones; the commit moves the horizon past them."""
        if not rows:
            return
        for one in rows:
            draft.batch.delete(self.prefix + one.key)
        horizon = self.prefix + rows[-1].key + b"\x00"
        draft.afterwards.append(lambda: self._passed(horizon))

    def clear(self, draft: Draft, lower: bytes, upper: bytes) -> None:
        """Delete all rows with `lower <= key < upper`, as one range."""
        draft.batch.delete_range(self.prefix + lower, self.prefix + upper)

    def clear_all(self, draft: Draft) -> None:
        """Delete all rows of the queue, as one range."""
        draft.batch.delete_range(self.prefix, self._end)

    def _passed(self, horizon: bytes) -> None:
        self._horizon = max(self._horizon, horizon)
