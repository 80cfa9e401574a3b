"""What names a source (a table's rows or an index's entries)? Six bytes with which all its engine keys begin.

    table id (4) ‖ index id (2) ‖ hash of the partition key value (8) ‖ length of the value (2) ‖ value ‖ sort key …
    └─────── source id ───────┘   └────────────────────────── partition key ──────────────────────────┘

Numbers are big-endian. Index id 0 is the table itself.
"""

from typing import NewType

from hashrange.items.types import Key

SourceId = NewType("SourceId", bytes)
"""The name of a source: table id ‖ index id."""

TABLE_ID_BYTES = 4
SOURCE_BYTES = 6
FIRST_TABLE, BEHIND_TABLES = b"\x00\x00\x00\x01", b"\xff\xff\xff\xff"
"""The keys of all tables are between these two."""
COLLECTIONS_INDEX_ID = b"\xff\xff"
"""Takes the place of an index id: table id ‖ this ‖ partition key → size of the item collection in bytes, 8 bytes."""
HASH_BYTES = 8
"""Length of the hash with which a key in a source begins; partitions are ranges of such hashes."""
_LENGTH = slice(HASH_BYTES, HASH_BYTES + 2)


def make_source_id(table_id: int, index_id: int = 0) -> SourceId:
    """The source id of a table's index; with index id 0, that of the table's own rows."""
    return SourceId(table_id.to_bytes(TABLE_ID_BYTES, "big") + index_id.to_bytes(SOURCE_BYTES - TABLE_ID_BYTES, "big"))


def vector_lists_id(source_id: bytes) -> bytes:
    """The name under which a vector index has further statistics: of how many items it has entries, and how many bytes
    their vectors have as lists of numbers.
    """
    return source_id + b"\x01"


def is_row_of_source(engine_key: bytes) -> bool:
    """True if an engine key is that of an item's row or of an index entry's; all else that is stored has other keys."""
    return FIRST_TABLE <= engine_key[:TABLE_ID_BYTES] < BEHIND_TABLES and (
        engine_key[TABLE_ID_BYTES:SOURCE_BYTES] != COLLECTIONS_INDEX_ID
    )


def table_prefix(engine_key: bytes) -> bytes:
    """The start of a source id or engine key that all keys of its table share: the table id."""
    return engine_key[:TABLE_ID_BYTES]


def table_id_of(engine_key: bytes) -> int:
    """The id of the table that a source id or engine key belongs to."""
    return int.from_bytes(engine_key[:TABLE_ID_BYTES], "big")


def source_id_of(engine_key: bytes) -> SourceId:
    """The source id with which an engine key begins."""
    return SourceId(engine_key[:SOURCE_BYTES])


def key_in_source(engine_key: bytes) -> Key:
    """The key within its source: an engine key without the source id."""
    return Key(engine_key[SOURCE_BYTES:])


def partition_prefix(key: Key) -> bytes:
    """The start of a key that is the same for all items with the same partition key value."""
    return key[: HASH_BYTES + 2 + int.from_bytes(key[_LENGTH], "big")]
