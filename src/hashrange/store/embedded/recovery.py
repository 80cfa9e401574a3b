"""How far may the write-ahead log be trusted? The logs are checked, and the recovery mode chosen,
before the engine opens.

One log: the engine's mode `tolerate_corrupted_tail_records` accepts a torn tail and refuses damage. Several logs are
there if a crash came before a full memtable was flushed: a power cut may tear the tail of the older log and spare the
younger one (a *hole*), and that mode would then replay the commits after the hole. No commit after a hole was ever
acknowledged (a sync covers all logs, the oldest first), but statistics and later writes may depend on lost commits. So
the logs are first replayed read-only, which refuses damage, and then for good in the mode `point_in_time`, which stops
at a hole (alone, it would silently drop everything after damage). `point_in_time` sees a hole only after a torn record:
where a log was cut exactly between two records, or lost everything, a stub of a torn record is appended. (The engine
never leaves an empty log in use before a younger one with records; logs that are no longer in use are not replayed,
with or without a stub.)

Zeros: some file systems leave zeros where a file had grown and its data had not reached the disk. At the end of the
last log they are a torn tail, which the engine takes for damage; such a log is cut before the first record with zeros
in place of its bytes. Recovery refuses what no power cut leaves behind: logs that begin later than the data files end,
with no log in between, because a log, or the end of the MANIFEST, is missing; and logs that end, or have a hole, before
the last commit that a sync had covered (`synced.py`).
Log format: RocksDB wiki, "Write Ahead Log File Format".
"""

from struct import Struct
from typing import NamedTuple

from hashrange.errors import StorageLost
from hashrange.store.embedded import files
from hashrange.store.embedded.files import Folder
from hashrange.store.embedded.manifest import BLOCK_BYTES, FIRST, FULL, LAST, data_files_reach, log_records
from hashrange.store.embedded.synced import require_synced

_TORN_STUB = b"\x00\x01\x02"
"""Stub of a torn record: shorter than any record header, so that it cannot be taken for a whole record."""
SECTOR_BYTES = 512
"""Bytes of a sector, which disks write at once. A log whose end is lost has only zeros after its last whole sector."""
_checksum = Struct("<I").unpack_from
_COVERED_FROM = 6
_CASTAGNOLI, _MASK_DELTA = 0x82F63B78, 0xA282EAD8
"""_CASTAGNOLI: polynomial of the checksum, with its bits reversed. _MASK_DELTA: number that the engine adds to a
checksum, rotated by 15 bits, before it stores it.
"""
_BATCH_HEAD_BYTES = 12
_batch_head = Struct("<QI").unpack_from


def torn_logs(folder: str) -> dict[str, int]:
    """The logs in `folder` that end in zeros in place of lost data: path → number of bytes before the torn record.

    Only the last log can end so, and a log all of whose successors lack bytes of their first record. The bytes before
    the torn record may still be damaged: replay a cut copy before cutting a log. Of a log that does not end in a zero
    byte, reads only the last byte.
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
    """Byte index of the first record that lacks bytes because only zeros follow in the log; None if there is none."""
    zeros_from = len(log.rstrip(b"\0"))
    if len(log) // SECTOR_BYTES * SECTOR_BYTES < zeros_from:
        return None
    for start, _, end, _ in log_records(log):
        if start >= zeros_from:
            return start
        if start // BLOCK_BYTES < (end - 1) // BLOCK_BYTES:
            return None  # no record extends beyond its block: this is damage
        if end > zeros_from and not _is_whole(log, start, end):
            return start
    return None


def _is_whole(log: bytes, position: int, end: int) -> bool:
    """True if the checksum of the record in `log[position:end]`, over the bytes after its length, is correct."""
    if end > len(log):
        return False
    (stored,) = _checksum(log, position)
    checksum = crc32c(log[position + _COVERED_FROM : end])
    return bool(stored == ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & 0xFFFFFFFF)


def crc32c(content: bytes) -> int:
    """The Castagnoli checksum (CRC-32C) of `content`; 0.5 µs per byte, of one record of a log with a torn tail."""
    checksum = 0xFFFFFFFF
    for byte in content:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (_CASTAGNOLI if checksum & 1 else 0)
    return checksum ^ 0xFFFFFFFF


def stops_at_hole(folder: str) -> bool:
    """Prepare the logs in the engine's `folder`, in which a replay found no damage; True: recover with `point_in_time`.

    That is so for two or more logs, which cost some 3 µs per record. Appends a stub of a torn record to each log where
    that mode would not see a hole.
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
    """A place in or before the logs where commits are missing although later ones are there."""

    last_before: int
    """Sequence number of the last commit before the hole."""
    first_after: int
    """Sequence number of the first commit after the hole."""
    is_tail: bool
    """True if a log that the MANIFEST still needs (`Reach.log_number`) lies before the hole: a power cut may have taken
    that log's unsynced end. False: a log is missing, or the MANIFEST is older than the logs.
    """
    log: str
    """Path of the log after the hole."""


def first_hole(folder: str, torn: dict[str, int]) -> Hole | None:
    """The first hole before or between the logs in the engine's `folder`, or None; `torn` logs count up to their cut.

    Of the last log only one block is read. Without a MANIFEST no hole is found.
    """
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
    """The logs that a recovery replays: path → size in bytes to which it cuts the log (None: whole).

    Empty if it replays all logs as they are.
    """
    if not torn and hole is None:
        return {}
    logs = files.log_files(folder)
    if hole is not None and hole.is_tail:
        logs = logs[: logs.index(hole.log)]
    return {log: torn.get(log) for log in logs}


def require_no_loss(folder: Folder, hole: Hole | None, sequence: int) -> None:
    """Raise StorageLost if acknowledged commits are missing. `sequence`: last number that a replay reached."""
    if hole is not None and not hole.is_tail:
        raise StorageLost(
            f"{folder.place} holds less than was acknowledged: its data files end with commit {hole.last_before}, and"
            f" its logs begin with commit {hole.first_after}. A log of its engine is missing, or its MANIFEST was cut"
            " or replaced by an older one. Put it back, or restore a backup of the whole folder."
        )
    require_synced(folder, sequence if hole is None else hole.last_before)


def log_sequences(log: bytes) -> tuple[int | None, int | None, bool]:
    """Sequence number of a log's first commit, the next one after its last whole commit, True if all records are whole.

    A sequence number is None if the log has no such commit.
    """
    first: int | None = None
    following: int | None = None
    begun: int | None = None
    end = 0
    for _, payload, end, kind in log_records(log):
        if end > len(log):
            return first, following, False
        if kind == 0 and payload == end:  # space that was preallocated and never written
            break
        if kind in (FULL, FIRST) and end - payload >= _BATCH_HEAD_BYTES:
            sequence, count = _batch_head(log, payload)
            first = sequence if first is None else first
            begun = sequence + count
        if kind in (FULL, LAST) and begun is not None:
            following, begun = begun, None
    return first, following, begun is None and end >= len(log)
