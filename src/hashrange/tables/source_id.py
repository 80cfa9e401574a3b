"""What names a source, the rows of a table or the entries of an index? Six bytes, with which all keys of its rows begin in the engine.

    table id (4) ‖ index id (2) ‖ hash of the partition key value (8) ‖ its length (2) ‖ it ‖ the sort key …
    └──────── source ─────────┘   └───────────────── partition ─────────────────┘

Numbers are big-endian. Index id 0 is the table itself.
"""

from typing import NewType

from hashrange.items.types import Key

SourceId = NewType("SourceId", bytes)
"""Table id ‖ index id."""

TABLE_ID_BYTES = 4
SOURCE_BYTES = 6
HASH_BYTES = 8
"""What the keys of a partition begin with; partitions are ranges of such hashes."""
_LENGTH = slice(HASH_BYTES, HASH_BYTES + 2)


def make_source_id(table_id: int, index_id: int = 0) -> SourceId:
    """The source of that table's index of that id; 0: of the table itself."""
    return SourceId(table_id.to_bytes(TABLE_ID_BYTES, "big") + index_id.to_bytes(SOURCE_BYTES - TABLE_ID_BYTES, "big"))


def table_prefix(engine_key: bytes) -> bytes:
    """What begins the keys of everything that belongs to the same table."""
    return engine_key[:TABLE_ID_BYTES]


def table_id_of(engine_key: bytes) -> int:
    """The id of the table that a source, or a key of the engine, belongs to."""
    return int.from_bytes(engine_key[:TABLE_ID_BYTES], "big")


def source_id_of(engine_key: bytes) -> SourceId:
    """The source of a key of the engine."""
    return SourceId(engine_key[:SOURCE_BYTES])


def key_in_source(engine_key: bytes) -> Key:
    """The key of a row within its source."""
    return Key(engine_key[SOURCE_BYTES:])


def partition_of(key: Key) -> bytes:
    """What begins the keys of all items with the same partition key value: their item collection."""
    return key[: HASH_BYTES + 2 + int.from_bytes(key[_LENGTH], "big")]
