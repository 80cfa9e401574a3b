"""How far had syncs come when the last server ended? A number beside the engine's files, so that a log that is missing is noticed.

The engine takes the logs that it finds for all there are. So after a sync, a hundred times a second at most, the engine's number of the last write that it covered
is written to a file of ours, which is never synced: whenever the number reaches the disk, the write that it names is there
already. Errors are passed over, because an older number is true as well. A server that ends in order removes the file: its logs hold
nothing then that the data files do not.
"""

import contextlib
from struct import Struct
from zlib import crc32

from hashrange.errors import StorageLost
from hashrange.store.embedded import files

_number = Struct(">Q")
_mark = Struct(">QI")
"""The number, and its checksum."""


def note_synced(data_dir: str, sequence: int) -> None:
    """A sync has covered the engine's writes up to number `sequence`. 10 µs, and 11 µs of the next sync."""
    with contextlib.suppress(OSError):
        files.overwrite(files.synced_file(data_dir), _mark.pack(sequence, crc32(_number.pack(sequence))))


def forget_synced(data_dir: str) -> None:
    """The engine has been closed, and has moved everything into data files."""
    files.remove_file(files.synced_file(data_dir))


def synced_sequence(data_dir: str) -> int:
    """The number in the folder; 0 if there is none, or none that is whole."""
    content = files.read_if_there(files.synced_file(data_dir))
    if len(content) != _mark.size:
        return 0
    sequence, checksum = _mark.unpack(content)
    return sequence if checksum == crc32(_number.pack(sequence)) else 0


def require_synced(data_dir: str, sequence: int) -> None:
    """Raise StorageLost if the folder's engine, which knows the writes up to number `sequence`, must have known more."""
    if sequence < synced_sequence(data_dir):
        raise StorageLost(
            f"{data_dir} holds less than was acknowledged: a log is missing, or files are older than they were. Put the missing"
            f" files back, or restore a backup of the whole folder. To go on with what is there, remove the file"
            f" {files.synced_file(data_dir)}."
        )
