"""How far may the write-ahead log be believed? Chooses the engine's recovery mode before it opens.

One log: the engine accepts a torn tail and refuses damage (`tolerate_corrupted_tail_records`). Several logs, which a
crash between two memtables leaves behind: a power cut may tear the tail of the older one and spare the younger one, and
that mode then replays what comes after the hole. Nothing after a hole was ever acknowledged (a sync covers all logs, the
oldest first), but figures and later writes may rest on what was lost. So the logs are first replayed read-only, which
refuses damage, and then for good in the mode that stops at a hole (`point_in_time`, which alone would drop everything
behind damage without a word). That mode sees a hole only behind a torn record: where a log was cut exactly between two
records, or lost everything, a stub of a torn record is appended. (The engine never leaves an empty log in use before a
younger one that holds something; logs that are no longer in use are not replayed, stub or not.)

Zeros: some file systems leave them where a file had grown and its data had not reached the disk. At the end of the last log they are a
torn tail, which the engine takes for damage; such a log is cut where its last record that is not whole begins.
What no power cut leaves behind is refused: logs that begin later than the data files end with no log in between, because a log, or the end of
the MANIFEST, is missing; and a hole before the last commit that a sync had covered (`synced.py`).
Log format: RocksDB wiki, "Write Ahead Log File Format".
"""

from struct import Struct
from typing import NamedTuple

from hashrange.errors import StorageLost
from hashrange.store.embedded import files
from hashrange.store.embedded.files import Folder
from hashrange.store.embedded.manifest import data_files_reach
from hashrange.store.embedded.synced import require_synced

BLOCK_BYTES = 32 * 1024
_TORN_STUB = b"\x00\x01\x02"
"""Shorter than any record header, so it can only be a torn one."""
SECTOR_BYTES = 512
"""What disks write at once: zeros that are no data begin, or go on, at a multiple of it."""
_header = Struct("<IHB").unpack_from
_checksum = Struct("<I").unpack_from
_COVERED_FROM = 6
_CASTAGNOLI, _MASK_DELTA = 0x82F63B78, 0xA282EAD8
"""The checksum's polynomial, bits reversed, and what the engine adds to a checksum that it stores, after turning it by 15 bits."""
_batch_head = Struct("<QI").unpack_from
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_RECYCLABLE = 4
"""Types 5 to 8 are the same four with a log number in the header."""
_HEADER_BYTES = 7
_RECYCLABLE_HEADER_BYTES = 11


def torn_logs(folder: str) -> dict[str, int]:
    """Path → size in bytes up to which it counts, of the logs of the engine's `folder` that end in zeros that are no data.

    Only the last log can be one, and the log before a last one of nothing but zeros. What counts may still be damaged: whoever
    cuts a log replays a cut copy first. Reads one byte, unless that is zero.
    """
    torn: dict[str, int] = {}
    for path in reversed(files.log_files(folder)):
        size_bytes = torn_at(files.read_bytes(path)) if files.ends_with_zero(path) else None
        if size_bytes is None:
            break
        torn[path] = size_bytes
        if size_bytes:
            break
    return torn


def torn_at(log: bytes) -> int | None:
    """Where the first record begins that zeros up to the end of the log have spoilt; None if none has been."""
    zeros_from = len(log.rstrip(b"\0"))
    if len(log) // SECTOR_BYTES * SECTOR_BYTES < zeros_from:
        return None
    position = 0
    while position < len(log):
        room = BLOCK_BYTES - position % BLOCK_BYTES
        if room < _HEADER_BYTES:
            position += room
            continue
        if position >= zeros_from or position + _HEADER_BYTES > len(log):
            return position
        _, length, kind = _header(log, position)
        end = position + (_RECYCLABLE_HEADER_BYTES if kind > _RECYCLABLE else _HEADER_BYTES) + length
        if end - position > room:
            return None  # no record leaves its block: this is damage
        if end > zeros_from and not _is_whole(log, position, end):
            return position
        position = end
    return None


def _is_whole(log: bytes, position: int, end: int) -> bool:
    """True if the checksum of the record in `log[position:end]` is right; it covers what follows checksum and length."""
    if end > len(log):
        return False
    (stored,) = _checksum(log, position)
    checksum = crc32c(log[position + _COVERED_FROM : end])
    return bool(stored == ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & 0xFFFFFFFF)


def crc32c(content: bytes) -> int:
    """The Castagnoli checksum: 0.1 µs a byte."""
    checksum = 0xFFFFFFFF
    for byte in content:
        checksum = _CRC32C[(checksum ^ byte) & 0xFF] ^ checksum >> 8
    return checksum ^ 0xFFFFFFFF


def _crc32c_table() -> list[int]:
    table = []
    for byte in range(256):
        checksum = byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (_CASTAGNOLI if checksum & 1 else 0)
        table.append(checksum)
    return table


_CRC32C = _crc32c_table()


def stops_at_hole(folder: str) -> bool:
    """True when the logs of the engine's `folder`, of which a replay has found no damage, must be recovered with `point_in_time`.

    Two or more logs cost some 3 µs a record.
    """
    logs = files.log_files(folder)
    if len(logs) < 2:
        return False
    next_sequence: int | None = None
    previous = ""
    for path in logs:
        log = files.read_bytes(path)
        if not log:
            files.append_bytes(path, _TORN_STUB)
        first, following, is_whole = log_sequences(log)
        if next_sequence is not None and first is not None and first > next_sequence:
            files.append_bytes(previous, _TORN_STUB)
        if following is not None:
            next_sequence = following if is_whole else None
            previous = path
    return True


class Hole(NamedTuple):
    """Where commits are missing before others."""

    last_before: int
    first_after: int
    """Sequence numbers of the commits on its two sides."""
    is_tail: bool
    """A log in use lies before it, so it may be what a power cut has taken from that one's end."""
    log: str
    """Path of the log behind it."""


def first_hole(folder: str, torn: dict[str, int]) -> Hole | None:
    """The first hole between the data files of the engine's `folder` and its logs, the `torn` ones cut. With one log it reads one block of it."""
    logs = files.log_files(folder)
    reach = data_files_reach(folder) if logs else None
    if reach is None:
        return None
    next_sequence = reach.sequence + 1
    has_log_before = False
    for path in logs:
        if files.log_number(path) < reach.log_number:
            continue
        end = torn.get(path)
        log = files.read_bytes(path)[:end] if path != logs[-1] else files.read_head(path, BLOCK_BYTES)[:end]
        first, following, _ = log_sequences(log)
        if first is not None and first > next_sequence:
            return Hole(next_sequence - 1, first, has_log_before, path)
        next_sequence = max(next_sequence, following or 0)
        has_log_before = True
    return None


def replayed_logs(folder: str, torn: dict[str, int], hole: Hole | None) -> dict[str, int | None]:
    """The logs that a recovery replays, with the sizes to which it cuts them (None: whole); empty when it takes all as they are."""
    if not torn and hole is None:
        return {}
    logs = files.log_files(folder)
    if hole is not None and hole.is_tail:
        logs = logs[: logs.index(hole.log)]
    return {log: torn.get(log) for log in logs}


def require_no_loss(folder: Folder, hole: Hole | None, sequence: int) -> None:
    """Raise StorageLost if acknowledged commits are missing; a replay has found no damage, and come to `sequence`."""
    if hole is not None and not hole.is_tail:
        raise StorageLost(
            f"{folder.place} holds less than was acknowledged: its data files end with commit {hole.last_before}, and its logs begin"
            f" with commit {hole.first_after}. A log of its engine is missing, or its MANIFEST was cut or replaced by an older one. Put it"
            " back, or restore a backup of the whole folder."
        )
    require_synced(folder, sequence if hole is None else hole.last_before)


def log_sequences(log: bytes) -> tuple[int | None, int | None, bool]:
    """(sequence number of the first commit, number after the last whole commit, no torn record follows it)."""
    first: int | None = None
    following: int | None = None
    begun: int | None = None
    position = 0
    while position + _HEADER_BYTES <= len(log):
        room = BLOCK_BYTES - position % BLOCK_BYTES
        if room < _HEADER_BYTES:
            position += room
            continue
        _, length, kind = _header(log, position)
        header_bytes = _RECYCLABLE_HEADER_BYTES if _RECYCLABLE < kind <= 2 * _RECYCLABLE else _HEADER_BYTES
        kind = kind - _RECYCLABLE if _RECYCLABLE < kind <= 2 * _RECYCLABLE else kind
        payload = position + header_bytes
        position = payload + length
        if kind == 0 and length == 0:  # preallocated, never written
            break
        if position > len(log):
            return first, following, False
        if kind in (_FULL, _FIRST) and length >= 12:
            sequence, count = _batch_head(log, payload)
            first = sequence if first is None else first
            begun = sequence + count
        if kind in (_FULL, _LAST) and begun is not None:
            following, begun = begun, None
    return first, following, begun is None and position >= len(log)
