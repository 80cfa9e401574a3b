"""A store whose commits become durable when a test says so."""

from typing import Any

import pytest

from hashrange.errors import StorageError


class HeldSyncs:
    """From now on, no commit of an embedded store in memory is durable before `end`."""

    def __init__(self, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._barrier = store._barrier
        monkeypatch.setattr(self._barrier, "commit", self._commit)
        monkeypatch.setattr(self._barrier, "finish", lambda **_options: None)

    def _commit(self) -> None:
        self._barrier.position += 1

    @property
    def awaited(self) -> list[int]:
        """The commits whose durability is awaited."""
        return [position for position, _ in self._barrier._waiters]

    def fail(self, error: StorageError) -> None:
        """Let the sync that is awaited fail."""
        _, callback = self._barrier._waiters.popleft()
        callback(error)

    def end(self) -> None:
        """Make the commits up to the last one that is awaited durable."""
        self._barrier._synced(max(self.awaited))
