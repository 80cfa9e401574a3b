"""Up to which write had the last server synced?
A file records the number, so that missing acknowledged writes are noticed.

The engine assumes that the logs it finds are all there are, and that writes missing at their end were never synced. So
after each sync, before the sync is reported, the number of the last write that it covered and the number of the log in
use are written to a file. The file itself is never synced: whenever its content reaches the disk, the write that it
names is there already. Errors in writing it are ignored, because older numbers are true as well. A server that ends in
order removes the file: its logs then hold nothing that the data files do not. So an engine whose last write has a
smaller number than the file's has lost synced writes. Writes after the file's number may be lost in a torn tail
(`recovery.py`).
"""

import contextlib
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from hashrange.errors import StorageLost
from hashrange.store.embedded import files
from hashrange.store.embedded.files import Folder

LOOK_SECONDS = 0.01
"""Least time between two looks at the engine's folder for the log in use; a look costs 35 µs."""

_numbers = Struct(">QQ")
_mark = Struct(">QQI")
"""Content of the file `synced`: number of the last synced write, number of the log in use, CRC-32 of both."""


class Synced(NamedTuple):
    """The content of the file `synced`: sequence number of the last synced write, and number of the log in use."""

    sequence: int
    log_number: int
    """Number of the log in use; 0: the engine's folder held no log."""


class SyncedFile:
    """The file `synced` as a server writes it. It stays open between two looks at the engine's folder, because opening
    it takes ten times as long as writing to it. Used by one thread at a time.
    """

    def __init__(self, folder: Folder) -> None:
        """`folder`: the data folder whose engine is synced. Opens and makes nothing yet."""
        self._folder = folder
        self._descriptor = -1
        """Below 0 while the file is not open."""
        self._log_number = 0
        self._next_look_seconds = float("-inf")

    def note(self, sequence: int, now_seconds: float) -> bool:
        """Record that a sync has covered the engine's writes up to `sequence`. Ignores OSError.

        Returns False if this call looked at the engine's folder and found no log; otherwise, or after an OSError, True.
        """
        with contextlib.suppress(OSError):
            is_look = now_seconds >= self._next_look_seconds
            if is_look:
                self._next_look_seconds = now_seconds + LOOK_SECONDS
                self._log_number = files.newest_log_number(self._folder.engine)
                self.close()
                self._descriptor = files.open_to_overwrite(files.synced_file(self._folder.data))
            if self._descriptor >= 0:
                checksum = crc32(_numbers.pack(sequence, self._log_number))
                files.overwrite(self._descriptor, _mark.pack(sequence, self._log_number, checksum))
            return self._log_number > 0 or not is_look
        return True

    def forget(self) -> None:
        """Remove the file `synced`: the engine was closed, with all its rows in data files, or is to be replaced."""
        self.close()
        files.remove_file(files.synced_file(self._folder.data))

    def close(self) -> None:
        """Close the file, if it is open; the next look at the engine's folder in `note` opens it again."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            files.close_file(descriptor)


def read_synced(folder: Folder) -> Synced | None:
    """The content of the file `synced`; None if there is no file, or its length or checksum is wrong."""
    content = files.read_if_there(files.synced_file(folder.data))
    if len(content) != _mark.size:
        return None
    sequence, log_number, checksum = _mark.unpack(content)
    return Synced(sequence, log_number) if checksum == crc32(_numbers.pack(sequence, log_number)) else None


def require_synced(folder: Folder, sequence: int) -> None:
    """Raise StorageLost if a sync had covered writes after `sequence`, the last that the folder's engine knows."""
    synced = read_synced(folder)
    if synced is None or sequence >= synced.sequence:
        return
    name = files.log_name(synced.log_number)
    if not synced.log_number:  # the server found no log even while it ran: the log in use had been deleted
        reason = "a log of its engine is missing"
    elif files.has_log(folder.engine, synced.log_number):
        reason = (
            f"{synced.sequence} writes of its engine had been synced, and its files hold {sequence}. Its log {name}, or"
            " another of its files, was cut, emptied or replaced by an older one"
        )
    else:
        reason = f"the log {name} of its engine is missing"
    raise StorageLost(
        f"{folder.place} holds less than was acknowledged: {reason}."
        " Put it back, or restore a backup of the whole folder. To go on with what is there, remove the file"
        f" {files.synced_file(folder.place)}."
    )
