"""How are the changes of a row put together that a table's log tells of? For a copy of a moment, the row before the
first of them; for a copy of changes, also the row behind the last one.

    of a moment    sequence number of the change ‖ row before it (nothing: there was none)
    of changes     first sequence number ‖ last one ‖ length of the row before (4) ‖ row before ‖ row behind
"""

from typing import NamedTuple

from hashrange.items.types import Key, Row
from hashrange.store.row_copies import ChangedRow
from hashrange.tables.streams import SEQUENCE_BYTES, sequence_seconds

_ROW_START = 2 * SEQUENCE_BYTES + 4


class LoggedChange(NamedTuple):
    """A change as the log tells of it."""

    sequence: bytes
    old: Row | None
    new: Row | None


def before_and_behind(staged: bytes | None, change: LoggedChange) -> bytes:
    """What is to be staged of a row for a copy of changes, after what is staged already and one more change."""
    first = last = change.sequence
    old, new = change.old or b"", change.new or b""
    if staged is not None:
        staged_first, staged_last, staged_old, staged_new = _split(staged)
        if staged_first < first:
            first, old = staged_first, staged_old
        if staged_last > last:
            last, new = staged_last, staged_new
    return b"".join((first, last, len(old).to_bytes(4, "big"), old, new))


def rows_of_changed(staged: bytes) -> list[Row]:
    """The rows in what a copy of changes has staged of a row."""
    return [Row(row) for row in _split(staged)[2:] if row]


def changed_row(key: Key, staged: bytes) -> ChangedRow:
    """What a copy of changes has staged of a row."""
    _, last, old, new = _split(staged)
    at_seconds = sequence_seconds(int.from_bytes(last, "big"))
    return ChangedRow(key, at_seconds, Row(old) if old else None, Row(new) if new else None)


def _split(staged: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    old_end = _ROW_START + int.from_bytes(staged[_ROW_START - 4 : _ROW_START], "big")
    return (
        staged[:SEQUENCE_BYTES],
        staged[SEQUENCE_BYTES : 2 * SEQUENCE_BYTES],
        staged[_ROW_START:old_end],
        staged[old_end:],
    )
