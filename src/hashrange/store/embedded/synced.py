"""How far had syncs come when the last server ended? Two numbers beside the engine's files, so that a log that is missing is noticed.

The engine takes the logs that it finds for all there are. So after a sync, a hundred times a second at most, the engine's number of
the last write that it covered, and the number of the log in use, are written to a file of ours. It is never synced: whenever
it reaches the disk, the write that it names is there already. Errors are passed over, because older numbers are true as well. A server
that ends in order removes the file: its logs hold nothing then that the data files do not.
A log that is there and shorter than it was is a torn tail (`recovery.py`), whatever was acknowledged.
"""

import contextlib
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from hashrange.errors import StorageLost
from hashrange.store.embedded import files

_numbers = Struct(">QQ")
_mark = Struct(">QQI")
"""The numbers, and their checksum."""


class Synced(NamedTuple):
    """What the file says."""

    sequence: int
    log_number: int


def note_synced(data_dir: str, sequence: int) -> None:
    """A sync has covered the engine's writes up to number `sequence`. 35 µs, and 11 µs of the next sync."""
    with contextlib.suppress(OSError):
        log_number = files.newest_log_number(files.engine_folder(data_dir))
        checksum = crc32(_numbers.pack(sequence, log_number))
        files.overwrite(files.synced_file(data_dir), _mark.pack(sequence, log_number, checksum))


def forget_synced(data_dir: str) -> None:
    """The engine has been closed, and has moved everything into data files."""
    files.remove_file(files.synced_file(data_dir))


def missing_synced_log(data_dir: str) -> Synced | None:
    """What the file says, if the log that it names is not there: then the engine's data files must hold what that log held."""
    content = files.read_if_there(files.synced_file(data_dir))
    if len(content) != _mark.size:
        return None
    sequence, log_number, checksum = _mark.unpack(content)
    if checksum != crc32(_numbers.pack(sequence, log_number)):
        return None
    return None if files.has_log(files.engine_folder(data_dir), log_number) else Synced(sequence, log_number)


def require_synced(data_dir: str, sequence: int) -> None:
    """Raise StorageLost if the folder's engine, which knows the writes up to number `sequence`, lacks those of a log that is missing."""
    missing = missing_synced_log(data_dir)
    if missing is not None and sequence < missing.sequence:
        raise StorageLost(
            f"{data_dir} holds less than was acknowledged: the log {files.log_name(missing.log_number)} of its engine is missing."
            " Put it back, or restore a backup of the whole folder. To go on with what is there, remove the file"
            f" {files.synced_file(data_dir)}."
        )
