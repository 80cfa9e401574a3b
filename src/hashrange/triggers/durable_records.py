"""Which records may be delivered? Those that a power cut cannot undo: all up to a sequence number,
which grows with every sync.

A function may act on what it receives, so it must not learn of a change that is then lost.
"""

from collections.abc import Callable
from functools import partial

from hashrange.errors import StorageError
from hashrange.store.interface import Durability
from hashrange.store.streams import Streams
from hashrange.tables.streams import Sequence


class DurableRecords:
    """Follows a store's commits. Waits for at most one sync at a time."""

    def __init__(self, durability: Durability, streams: Streams, on_more: Callable[[], None]) -> None:
        """`on_more` is called when it is worth calling `look` again: a sync that was awaited has ended, or failed."""
        self._durability = durability
        self._streams = streams
        self._on_more = on_more
        self._awaited: Sequence | None = None
        """Last sequence number that the awaited sync makes durable; None if no sync is awaited."""
        self.last: Sequence = 0
        """All records with sequence numbers up to this one are durable."""
        self._failure: StorageError | None = None

    def look(self) -> None:
        """Find out whether there are more durable records, or wait for the sync after which there are.

        Raises StorageError once after a failed sync.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        last = self._streams.last()
        if self._awaited is not None or last <= self.last:
            return
        position = self._durability.position()
        if position <= self._durability.durable_position():
            self.last = last
            return
        self._awaited = last
        self._durability.when_durable(position, partial(self._durable, last))

    def forget(self) -> None:
        """Begin anew, because the store's content was replaced."""
        self.last, self._awaited, self._failure = 0, None, None

    def _durable(self, last: Sequence, error: StorageError | None) -> None:
        """Note that a sync has ended, or failed."""
        if self._awaited != last:
            return
        self._awaited = None
        if error is None:
            self.last = max(self.last, last)
        self._failure = error
        self._on_more()
