"""What does an engine's error mean? The only function of Hashrange that looks at an error's text.

The engine raises bare `Exception`s that begin with its status name ("Corruption: …", "IO error: …"). Sentences here are
for the operator: what is wrong, where, and the way out.
"""

from hashrange.errors import (
    StorageBusy,
    StorageCorruption,
    StorageError,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
)

_FULL = ("no space left", "disk quota exceeded", "file too large", "space limit", "max allowed space")
_STALLED = ("write stall", "too many internal keys skipped", "resource busy", "operation timed out")
_READ_ONLY = ("read-only file system", "permission denied", "operation not permitted")


def storage_error(error: BaseException, place: str) -> StorageError:
    """The StorageError for whatever the engine or the operating system raised; `place` is the data folder."""
    if isinstance(error, StorageError):
        return error
    text = str(error)
    lowered = text.lower()
    if any(mark in lowered for mark in _FULL):
        return StorageFull(f"The disk that holds {place} is full. Make room: writing goes on by itself. ({text})")
    if any(mark in lowered for mark in _STALLED):
        return StorageBusy(f"The engine of {place} is catching up; the same call may succeed in a moment. ({text})")
    if any(mark in lowered for mark in _READ_ONLY):
        return StorageReadOnly(f"{place} cannot be written. Give this user the right to write there. ({text})")
    if "lock" in lowered and ("hold" in lowered or "unavailable" in lowered or "/lock" in lowered):
        return StorageLocked(f"{place} is open in another process. Stop that one, or choose another folder. ({text})")
    if lowered.startswith("corruption") or "checksum" in lowered or "bad record" in lowered:
        return StorageCorruption(
            f"Stored bytes in {place} are damaged, and nothing was dropped to hide it. Keep a copy of the folder, see"
            f" how far the damage goes with `hashrange check`, and restore a backup. ({text})"
        )
    return StorageError(f"The engine of {place} failed; it is reopened before anything else is served. ({text})")
