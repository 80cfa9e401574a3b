"""Up to which commit do the engine's data files go? Its MANIFEST says, so that a missing log is noticed:
the logs must begin where the data files end.

The MANIFEST has the format of a write-ahead log. Its records are *edits*: pairs of tag and value, those with numbers
first; only pairs with names may stand among them. Whenever the engine adds a data file, it raises the last sequence
number in the MANIFEST to the greatest in the data file. So all commits up to that number are in data files,
and the logs in use begin with the next number. The code below reads the numbers at the beginning of each edit; damage
is left to the engine to find. Format: RocksDB, `db/version_edit.h` and `db/version_edit.cc` (`VersionEdit::EncodeTo`).
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from hashrange.store.embedded import files

BLOCK_BYTES = 32 * 1024
_HEADER_BYTES = 7
_RECYCLABLE_HEADER_BYTES = 11
_RECYCLABLE = 4
"""Greatest record type without a log number in the header: types 5 to 8 are types 1 to 4 with a log number."""
FULL, FIRST, LAST = 1, 2, 4
"""Types of records: a whole one, and the first and last part of one. Parts in between have type 3."""
_header = Struct("<IHB").unpack_from
_LOG_NUMBER, _LAST_SEQUENCE = 2, 4
_NUMBERS = {_LOG_NUMBER, _LAST_SEQUENCE, 3, 9, 10, 203}
"""Tags whose value is one number. In an edit they precede all tags with longer values, except those in `_NAMES`."""
_NAMES = {1, 8193}
"""Tags of the names of comparator and database. Their value is a length, followed by that many bytes."""


class Reach(NamedTuple):
    """Where the engine's data files end, according to its MANIFEST."""

    log_number: int
    """Logs with a smaller number are no longer in use."""
    sequence: int
    """All commits up to this sequence number are in data files."""


def data_files_reach(folder: str) -> Reach | None:
    """Up to which write the data files in the engine's `folder` go, and the first log in use;
    None without a MANIFEST.
    """
    content = files.read_manifest(folder)
    if not content:
        return None
    log_number = sequence = 0
    for edit in _edits(content):
        numbers = _numbers(edit)
        log_number = max(log_number, numbers.get(_LOG_NUMBER, 0))
        sequence = max(sequence, numbers.get(_LAST_SEQUENCE, 0))
    return Reach(log_number, sequence)


def _edits(content: bytes) -> Iterator[bytes]:
    """The edits in a MANIFEST: the payload of each complete record."""
    payload = b""
    for _, first, end, kind in log_records(content):
        if end > len(content):
            return
        payload = b"" if kind in (FULL, FIRST) else payload
        payload += content[first:end]
        if kind in (FULL, LAST):
            yield payload


def log_records(log: bytes) -> Iterator[tuple[int, int, int, int]]:
    """For each record in a log: where it begins, where its payload begins, where it ends, and its type (less
    `_RECYCLABLE`). The last one, or its header, may end behind the log.
    """
    position = 0
    while position < len(log):
        left_bytes = BLOCK_BYTES - position % BLOCK_BYTES
        if left_bytes < _HEADER_BYTES:
            position += left_bytes
            continue
        start, length, kind = position, 0, 0
        if start + _HEADER_BYTES <= len(log):
            _, length, kind = _header(log, start)
        is_recyclable = _RECYCLABLE < kind <= 2 * _RECYCLABLE
        payload = start + (_RECYCLABLE_HEADER_BYTES if is_recyclable else _HEADER_BYTES)
        position = payload + length
        yield start, payload, position, kind - _RECYCLABLE if is_recyclable else kind


def _numbers(edit: bytes) -> dict[int, int]:
    """The numbers at the beginning of an edit, as tag → number."""
    found: dict[int, int] = {}
    position = 0
    while position < len(edit):
        tag, position = _varint(edit, position)
        if tag not in _NUMBERS and tag not in _NAMES:
            break
        value, position = _varint(edit, position)
        if tag in _NUMBERS:
            found[tag] = value
        else:
            position += value
    return found


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """The number stored from byte `position` on with seven bits per byte, lowest first, and the byte index after it.

    Missing bytes count as zeros.
    """
    value = shift = 0
    for byte in content[position : position + 10]:
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, position
