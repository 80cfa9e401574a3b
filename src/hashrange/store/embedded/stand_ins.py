"""What replaces an engine that has failed? A stand-in that refuses every call, or one that only reads.

So reads and writes need not check whether the engine has failed. Each stand-in has the methods of an engine that
reads, writes and syncs call after the failure.
"""

from collections.abc import Callable
from typing import NoReturn

from hashrange.errors import StorageError
from hashrange.store.embedded import files
from hashrange.store.embedded.engine import Engine

MakeRefusal = Callable[[], StorageError]
"""Makes the error that a refused call raises."""


def require_engine(engine: Engine) -> None:
    """Raise the StorageError with which a stand-in refuses; return if `engine` is a real engine."""
    if isinstance(engine, RefusingEngine | ReadOnlyEngine):
        raise engine.refusal()


class RefusingEngine:
    """A stand-in for an engine. Every method raises the error that `refusal` makes."""

    def __init__(self, refusal: MakeRefusal) -> None:
        self.refusal = refusal

    def _refuse(self, *_arguments: object, **_options: object) -> NoReturn:
        raise self.refusal()

    get = put = delete = write = items = iter = flush_wal = compact_range = property_int_value = _refuse


class ReadOnlyEngine:
    """A stand-in that reads from an engine that could not write because the disk is full; every write raises.

    Reads return what commits have written: the engine takes a write into memory only after it is in the log. The engine
    does not sync a log after a failed write, so commits are made durable without the engine: all that was appended is
    in the log's file, and no sync of that file has failed, so syncing the file covers it.
    """

    def __init__(self, engine: Engine, folder: str, refusal: MakeRefusal) -> None:
        """`folder`: the engine's folder."""
        self.refusal = refusal
        self._folder = folder
        self.get, self.items, self.iter = engine.get, engine.items, engine.iter
        self.property_int_value = engine.property_int_value
        self.latest_sequence_number = engine.latest_sequence_number

    def _refuse(self, *_arguments: object, **_options: object) -> NoReturn:
        raise self.refusal()

    put = delete = write = _refuse

    def flush_wal(self, _does_sync: bool) -> None:
        """Sync the log files without the engine, which no longer does so after a failed write. Raises OSError."""
        files.sync_logs(self._folder)

    def compact_range(self, _lower: bytes, _upper: bytes, _options: object) -> None:
        """Does nothing: the disk is full."""
