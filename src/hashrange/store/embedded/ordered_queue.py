"""How are rows kept that are taken in the order of their keys? A queue: one prefix, rows put anywhere behind its horizon, taken from its front.

Deleted rows stay in the engine for a while, and a seek has to pass over them. The horizon is a key before which nothing is left,
so a seek from there passes over none. It is known to the process only: the first look after a start finds it again.
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
    """What stands behind the queue's prefix; the queue is in its order."""
    row: bytes


class OrderedQueue:
    """The rows of one prefix. Raises the engine's bare exceptions."""

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self._end = prefix_upper_bound(prefix)
        self._horizon = prefix

    def load(self) -> None:
        """The engine is another one: nothing is known of what it holds."""
        self._horizon = self.prefix

    def put(self, draft: Draft, key: bytes, row: bytes) -> None:
        """Add a row. It must not stand before the horizon: keys grow, or begin with a time that has not come when rows are taken."""
        assert self.prefix + key >= self._horizon, "a row was put where nobody would find it"
        draft.batch.put(self.prefix + key, row)

    def delete(self, draft: Draft, key: bytes) -> None:
        """Take one row out of the line."""
        draft.batch.delete(self.prefix + key)

    def first(
        self,
        engine: Engine,
        limit_rows: int,
        limit_bytes: int | None = None,
        before: bytes | None = None,
        start: bytes = b"",
    ) -> list[Queued]:
        """The rows at the front, or from the key `start` on: up to a number; until they are so long together; and, if given, those before a key only."""
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
        """Nothing is left in the engine before this key, and nothing will be put there."""
        self._passed(self.prefix + key)

    def sweep(self, draft: Draft) -> None:
        """Delete once more all that lies before the horizon, as one range."""
        draft.batch.delete_range(self.prefix, self._horizon)

    def take(self, draft: Draft, rows: list[Queued]) -> None:
        """Delete these rows, the first ones of the queue; once that is in, the horizon stands behind them."""
        if not rows:
            return
        for one in rows:
            draft.batch.delete(self.prefix + one.key)
        horizon = self.prefix + rows[-1].key + b"\x00"
        draft.afterwards.append(lambda: self._passed(horizon))

    def clear(self, draft: Draft, lower: bytes, upper: bytes) -> None:
        """Delete all rows from one key on, before another one, however many."""
        draft.batch.delete_range(self.prefix + lower, self.prefix + upper)

    def clear_all(self, draft: Draft) -> None:
        """Delete all rows, however many."""
        draft.batch.delete_range(self.prefix, self._end)

    def _passed(self, horizon: bytes) -> None:
        self._horizon = max(self._horizon, horizon)
