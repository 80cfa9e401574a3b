"""How are rows kept that are consumed in key order? In a queue: rows with one key prefix,
put after a horizon and taken from the front.

Deleted rows stay in the engine for a while, and a seek has to pass over them. The horizon is a key before which the
queue has no row, so a seek that begins there passes over no deleted rows before it. The horizon is not stored: after
a start it is the queue's beginning again, until rows are taken or `begin_at` is called.
"""

from itertools import islice
from typing import NamedTuple

from hashrange.items.keys import prefix_upper_bound
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine, WriteBatch
from hashrange.store.embedded.reading import scan_range


class Queued(NamedTuple):
    """One row of an `OrderedQueue`: a key and a value in the engine."""

    key: bytes
    """Key without the queue's prefix. Rows are in the order of these keys."""
    row: bytes


class OrderedQueue:
    """A queue: the rows whose engine keys begin with `prefix`. Methods raise the engine's bare exceptions."""

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self._end = prefix_upper_bound(prefix)
        self._horizon = prefix

    def load(self) -> None:
        """Reset the horizon, because another engine was opened, whose queue may have rows before the horizon."""
        self._horizon = self.prefix

    def put(self, batch: WriteBatch, key: bytes, row: bytes) -> None:
        """Add or replace a row. The key must not lie before the horizon.

        Callers put growing keys, keys with a future time, or the key of a row that is in the queue.
        """
        engine_key = self.prefix + key
        assert engine_key >= self._horizon, "a row was put where nobody would find it"
        batch.put(engine_key, row)

    def delete(self, batch: WriteBatch, key: bytes) -> None:
        """Delete one row of the queue."""
        batch.delete(self.prefix + key)

    def first(self, engine: Engine, limit_rows: int, before: bytes | None = None, start: bytes = b"") -> list[Queued]:
        """The first rows with `start <= key < before` (None: no end), at most `limit_rows`."""
        lower = max(self._horizon, self.prefix + start)
        upper = self._end if before is None else self.prefix + before
        if upper <= lower:
            return []
        rows = scan_range(engine, lower, upper, skipped_keys_max=SKIPPED_KEYS_MAX)
        return [Queued(engine_key[len(self.prefix) :], row) for engine_key, row in islice(rows, limit_rows)]

    def begin_at(self, key: bytes) -> None:
        """Let reads begin at `key` from now on: the caller knows that no row is, or will be put, before `key`."""
        self._horizon = max(self._horizon, self.prefix + key)

    def sweep(self, draft: Draft) -> None:
        """Delete, as one range, all keys before the horizon, whose rows have already been deleted one by one."""
        draft.batch.delete_range(self.prefix, self._horizon)

    def take(self, draft: Draft, rows: list[Queued]) -> None:
        """Delete `rows`, the queue's first ones. Once the commit is written, the horizon moves past them."""
        if not rows:
            return
        for one in rows:
            draft.batch.delete(self.prefix + one.key)
        draft.afterwards.append(lambda: self.begin_at(rows[-1].key + b"\x00"))

    def clear_all(self, draft: Draft) -> None:
        """Delete all rows of the queue, as one range."""
        draft.batch.delete_range(self.prefix, self._end)
