"""What is in a slot, and how is it encoded? Rows of several kinds, in order of kind and key.

    kind                ck                                        v
    0                   key of an item                            its row
    index id            key of an entry in a local index          its row
    COLLECTIONS         first bytes of the keys of a collection   its size, 8 bytes
    OUTBOX              version (8) ‖ number in the batch (4)     a change whose entries in global indexes are due
    BATCHES             version modulo BATCHES_KEPT (2)           version (8) ‖ id of the batch that led to it
    LOCKS               key of an item                            a `Lock` of the transaction that has prepared it

All numbers are big-endian. `counts` of a slot: index id → [item count, size in bytes], as MessagePack.
"""

from bisect import bisect_right
from typing import NamedTuple

import msgspec

from hashrange.items.types import Key, Row
from hashrange.tables.partitions import HASH_SPACE
from hashrange.tables.source_id import HASH_BYTES, SOURCE_BYTES, TABLE_ID_BYTES

LAYOUT_VERSION = 1
"""Version of the keyspace's layout."""
ITEMS, COLLECTIONS, OUTBOX, BATCHES, LOCKS = 0, -1, -2, -3, -4
BATCHES_KEPT = 4096
"""Batches of a slot of which it is known whether they took place: those of some seconds at the least."""
SLOTS = 8
"""Slots of a table, and of each of its global indexes."""

SlotCounts = dict[int, tuple[int, int]]
"""Index id → item count and size in bytes."""
encode_counts = msgspec.msgpack.Encoder().encode
decode_counts = msgspec.msgpack.Decoder(SlotCounts).decode


class Head(NamedTuple):
    """What is kept once of a slot."""

    version: int | None
    """Grows with each batch; None: the slot has never been written to."""
    batch: bytes | None
    """Id of the last batch."""
    counts: SlotCounts
    locked: int
    """How many locks have ever been placed."""
    unlocked: int
    """How many of them have been removed."""
    is_closed: bool
    """True once the table is deleted."""


UNUSED_SLOT = Head(None, None, {}, 0, 0, False)


class Lock(msgspec.Struct, frozen=True, array_like=True):
    """A transaction has prepared an item: it is to be replaced once the transaction is committed."""

    transaction: bytes
    attempt: bytes
    row: Row | None


class StoredChange(msgspec.Struct, frozen=True, array_like=True):
    """A change whose entries in global indexes are due."""

    key: Key
    old: Row | None
    new: Row | None


encode_lock = msgspec.msgpack.Encoder().encode
decode_lock = msgspec.msgpack.Decoder(Lock).decode
encode_change = msgspec.msgpack.Encoder().encode
decode_change = msgspec.msgpack.Decoder(StoredChange).decode


class TableIndex(NamedTuple):
    """What a source id names."""

    table_id: int
    index_id: int


def table_index_of(source_id: bytes) -> TableIndex:
    """The table and index that a source id names."""
    return TableIndex(
        int.from_bytes(source_id[:TABLE_ID_BYTES], "big"), int.from_bytes(source_id[TABLE_ID_BYTES:SOURCE_BYTES], "big")
    )


FIRST_HASHES = [(HASH_SPACE * number // SLOTS).to_bytes(HASH_BYTES, "big") for number in range(1, SLOTS)]
"""The first hash of each slot but the first, as bytes."""


def slot_of(key: bytes) -> int:
    """The number of the slot to which a key belongs."""
    return bisect_right(FIRST_HASHES, key[:HASH_BYTES])


def batch_row(version: int, batch: bytes) -> tuple[bytes, bytes]:
    """The key and the value of the row of the batch that has led to a version."""
    return (version % BATCHES_KEPT).to_bytes(2, "big"), version.to_bytes(8, "big") + batch


def outbox_key(version: int, number: int) -> bytes:
    """The key of a change in the outbox; in order of versions and numbers."""
    return version.to_bytes(8, "big") + number.to_bytes(4, "big")
