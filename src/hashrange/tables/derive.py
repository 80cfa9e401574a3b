"""What follows from a write? Functions of Changes, each written once.

Index entries stand in `entries.py`; here is what a Change and its entries do to the figures of their sources. Stream records
take their place here as one more function. None of them reads a store.
"""

from hashrange.items.rows import ROW_HEADER_BYTES
from hashrange.items.types import Row

_SIZE = slice(1, ROW_HEADER_BYTES)
"""Where a row carries its DynamoDB item size."""
_from_bytes = int.from_bytes


def changes_statistics(old: Row | None, new: Row | None) -> bool:
    """True when replacing `old` by `new` moves the item count or the size. 0.2 µs."""
    return old is None or new is None or old[_SIZE] != new[_SIZE]


def statistics_delta(old: Row | None, new: Row | None) -> tuple[int, int]:
    """By how much the item count and the size in bytes of the row's source change."""
    count = size_bytes = 0
    if old is not None:
        count -= 1
        size_bytes -= _from_bytes(old[_SIZE], "big")
    if new is not None:
        count += 1
        size_bytes += _from_bytes(new[_SIZE], "big")
    return count, size_bytes
