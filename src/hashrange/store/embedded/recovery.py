"""How far may the write-ahead log be believed? Chooses the engine's recovery mode before it opens.

One log: the engine accepts a torn tail and refuses damage (`tolerate_corrupted_tail_records`). Several logs, which a
crash between two memtables leaves behind: a power cut may tear the tail of the older one and spare the younger one, and
that mode then replays what comes after the hole. Nothing after a hole was ever acknowledged (a sync covers all logs, the
oldest first), but figures and later writes may rest on what was lost. So the logs are first replayed read-only, which
refuses damage, and then for good in the mode that stops at a hole (`point_in_time`, which alone would drop everything
behind damage without a word). That mode sees a hole only behind a torn record: where a log was cut exactly between two
records, or lost everything, a stub of a torn record is appended. (The engine never leaves an empty log in use before a
younger one that holds something; logs that are no longer in use are not replayed, stub or not.)
Log format: RocksDB wiki, "Write Ahead Log File Format".
"""

from collections.abc import Callable
from struct import Struct

from hashrange.store.embedded import files

BLOCK_BYTES = 32 * 1024
_TORN_STUB = b"\x00\x01\x02"
"""Shorter than any record header, so it can only be a torn one."""
_header = Struct("<IHB").unpack_from
_batch_head = Struct("<QI").unpack_from
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_RECYCLABLE = 4
"""Types 5 to 8 are the same four with a log number in the header."""
_HEADER_BYTES = 7
_RECYCLABLE_HEADER_BYTES = 11


def stops_at_hole(folder: str, replay_read_only: Callable[[], None]) -> bool:
    """True when the logs of the engine's `folder` must be recovered with `point_in_time`.

    `replay_read_only` opens the engine without changing anything and raises for damage. Two or more logs cost one
    replay more and some 3 µs a record.
    """
    logs = files.log_files(folder)
    if len(logs) < 2:
        return False
    replay_read_only()
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
