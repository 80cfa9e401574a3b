"""What does an engine's error mean? It becomes a StorageError;
only this file of Hashrange interprets an engine error's text.

The engine raises bare `Exception`s that begin with its status name ("Corruption: …", "IO error: …"). A StorageError's
message is for the operator: what is wrong, where, and the remedy, which may depend on the kind of work that failed.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hashrange.errors import (
    HashrangeError,
    StorageBusy,
    StorageCorruption,
    StorageError,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
)
from hashrange.store.embedded import files

_HELD = re.compile(rf"{files.OPEN_DESCRIPTORS_FOLDER}\d+(/{files.SYNCED_FILE}\b)?")
"""Matches the beginning of a path through an open descriptor. With group 1 the path is that of the file `synced` in the
data folder, otherwise one in the engine's folder.
"""


class Advice(NamedTuple):
    """The ends of error messages for one kind of work, by cause; without a full stop."""

    denied: str
    """Follows the data folder's path when this user lacks the right to access it, or the file system is read-only."""
    full: str
    """Follows "the disk that holds" and the data folder's path, when there is no space left."""
    damaged: str
    other: str
    """Follows "the engine of" and the data folder's path, for all other errors except a stall or a locked folder."""


SERVING = Advice(
    "cannot be written. Give this user the right to write there",
    "is full. Make room: writing then goes on by itself",
    "Keep a copy of the folder, and restore a backup; `hashrange check` tells how far the damage goes",
    "failed; a server opens it again before anything else is served",
)
REOPENING = SERVING._replace(
    other="cannot open its files. See that all are there and that this user may write them, or restore a backup"
)
OPENING = REOPENING._replace(full="is full. Make room, and start the server again")
CLOSING = SERVING._replace(
    full="is full. Make room before the server is started again",
    other="could not be closed in order; the next start reads its logs",
)
READING = Advice(
    "cannot be read. Give this user the right to read all that is in it",
    "or temporary files is full. Make room, and try again",
    "Keep a copy of the folder, and restore a backup",
    "cannot read its files. See that all are there and that this user may read them, or restore a backup",
)

_FULL = ("no space left", "disk quota exceeded", "file too large", "space limit", "max allowed space")
_STALLED = ("write stall", "too many internal keys skipped", "resource busy", "operation timed out")
_READ_ONLY = ("read-only file system", "permission denied", "operation not permitted")


_UNTRIED = "writer has previous error"


def is_sync_untried(error: BaseException) -> bool:
    """True when the engine did not even try to sync a log, because an earlier write to the log had failed."""
    return _UNTRIED in str(error).lower()


def storage_error(error: BaseException, place: str, advice: Advice = SERVING) -> StorageError:
    """The StorageError, with a message of one line, for an error of the engine or operating system; a StorageError is
    returned as it is. `place`: the data folder's path, or `memory`.
    """
    if isinstance(error, StorageError):
        return error
    text = " ".join(_HELD.sub(lambda held: place + (held[1] or f"/{files.ENGINE_FOLDER}"), str(error)).split())
    lowered = text.replace(place, "").lower()
    if any(mark in lowered for mark in _FULL):
        return StorageFull(f"the disk that holds {place} {advice.full}. ({text})")
    if any(mark in lowered for mark in _STALLED):
        return StorageBusy(f"the engine of {place} is catching up; the same call may succeed in a moment. ({text})")
    if any(mark in lowered for mark in _READ_ONLY):
        return StorageReadOnly(f"{place} {advice.denied}. ({text})")
    if "lock hold by current process" in lowered or ("while lock file" in lowered and "unavailable" in lowered):
        return StorageLocked(f"{place} is open in another process. Stop that one, or choose another folder. ({text})")
    if lowered.startswith("corruption") or "checksum" in lowered or "bad record" in lowered:
        return StorageCorruption(
            f"stored bytes in {place} are damaged, and nothing was dropped to hide it. {advice.damaged}. ({text})"
        )
    return StorageError(f"the engine of {place} {advice.other}. ({text})")


@contextmanager
def storage_errors(place: str, advice: Advice = SERVING) -> Iterator[None]:
    """Turn what the engine or operating system raises in the block into a StorageError, as `storage_error` does.
    Other errors of Hashrange pass. It takes a microsecond, which single reads and writes do not have.
    """
    try:
        yield
    except HashrangeError:
        raise
    except Exception as error:
        raise storage_error(error, place, advice) from error


@contextmanager
def undone_on_failure(undo: Callable[[], None]) -> Iterator[None]:
    """Call `undo` if the block raises anything, an interruption included."""
    try:
        yield
    except BaseException:
        undo()
        raise
