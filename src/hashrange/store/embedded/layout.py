"""Under which key is each thing stored? The engine's keys, and the encoding of most system
rows (docs/formats/store.md).

Engine key = source id (4 bytes table id ‖ 2 bytes index id) ‖ key bytes. Rows with table id 0 are system rows of a kind
that their index id names. All numbers are big-endian and unsigned. This file encodes and decodes; it uses no engine.
"""

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple, TypeVar

import msgspec

from hashrange.errors import StorageCorruption
from hashrange.tables.partitions import HashRange, Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import COLLECTIONS_INDEX_ID, SOURCE_BYTES, make_source_id, source_id_of, table_prefix
from hashrange.tables.streams import SEQUENCE_BYTES, Sequence, Shard, Stream

RowT = TypeVar("RowT")

FORMAT_VERSION = 16
READ_VERSIONS = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
"""Format versions that a server opens; it converts older ones first (`upgrade.py`)."""

_SYSTEM = b"\x00\x00\x00\x00"
FORMAT_KEY = _SYSTEM + b"\x00\x00"
"""Key of the row that holds the format version of the data folder, 4 bytes."""
CATALOG_PREFIX = _SYSTEM + b"\x00\x01"
"""Prefix ‖ table id → the table's description as JSON."""
STATISTICS_PREFIX = _SYSTEM + b"\x00\x02"
"""Prefix ‖ table id → item count and size in bytes of each source of the table, as MessagePack."""
COUNTER_PREFIX = _SYSTEM + b"\x00\x03"
"""Prefix ‖ name of a counter → the next id to be assigned (or the number of AHEAD_KEY), 8 bytes."""
PROBE_KEY = _SYSTEM + b"\x00\x04"
"""Key of an empty row that is written after a failure, as a test whether writing works again."""
BACKFILL_PREFIX = _SYSTEM + b"\x00\x05"
"""Prefix ‖ source id that a walk fills (of a CREATING index, or of a table whose time to live is ENABLING) → key of the
table's last row that the walk has passed. No row: it has passed none.
"""
PARTITION_PREFIX = _SYSTEM + b"\x00\x07"
"""Prefix ‖ source id ‖ first hash of a partition, 8 bytes → number of the partition, 8 bytes ‖ last hash, 8 bytes."""
LATE_PREFIX = _SYSTEM + b"\x00\x08"
"""Prefix ‖ position of a commit, 8 bytes ‖ number of the entry, 2 bytes → a `late_entries.LateRow` as MessagePack."""
TIME_TO_LIVE_PREFIX = _SYSTEM + b"\x00\x09"
"""Prefix ‖ source id of a table with time to live ‖ second of service time at which to check whether an item has
expired, 8 bytes ‖ key of the item → an empty row.
"""
STREAM_PREFIX = _SYSTEM + b"\x00\x0a"
"""Prefix ‖ id of a stream, 4 bytes → the stream's description as JSON."""
SHARD_PREFIX = _SYSTEM + b"\x00\x0b"
"""Prefix ‖ id of a stream, 4 bytes ‖ number of a shard, 4 bytes → the shard's fields (`_shard`)."""
DOCUMENT_PREFIX = _SYSTEM + b"\x00\x0d"
"""Prefix ‖ name of a document in UTF-8 → the document (`store/documents.py`), unless it is long."""
LONG_DOCUMENT_PREFIX = _SYSTEM + b"\x00\x0e"
"""Prefix ‖ name of a long document in UTF-8 → the id of its pieces, 8 bytes ‖ its length, 8 bytes."""
PIECE_PREFIX = _SYSTEM + b"\x00\x0f"
"""Prefix ‖ id of the pieces, 8 bytes ‖ number of the piece, 4 bytes → a piece of a long document."""
TOKEN_PREFIX = _SYSTEM + b"\x00\x10"
"""Prefix ‖ account, Region and idempotency token, and what names the operation if it has statements → expiry
in milliseconds of service time, 8 bytes ‖ digest of the request, 16 bytes ‖ result of `IdempotencyToken.report`,
for the reply to a later request with the same token.
"""
TOKEN_EXPIRY_PREFIX = _SYSTEM + b"\x00\x11"
"""Prefix ‖ expiry by service time in milliseconds since the epoch, 8 bytes ‖ account, Region and idempotency token → an
empty row."""

LOG_PREFIX = _SYSTEM + b"\x00\x12"
"""Prefix ‖ table id, 4 bytes ‖ number of a partition, 4 bytes ‖ sequence number, 12 bytes → a record of the table's
change log (`tables/stream_records.py`).
"""
WAITING_PREFIX = _SYSTEM + b"\x00\x13"
"""Prefix ‖ table id, 4 bytes ‖ number of a partition, 4 bytes → the sequence number of the next change of the partition
whose index entries wait, 12 bytes ‖ how many of its entries are written, 4 bytes ‖ when the others are due, 8 bytes.
"""
COPY_PREFIX = _SYSTEM + b"\x00\x14"
"""Prefix ‖ number of a copy in progress, 4 bytes → a `staged_rows.StoredCopy` as MessagePack."""
STAGED_PREFIX = _SYSTEM + b"\x00\x15"
"""Prefix ‖ number of a copy, 4 bytes ‖ key of a row that the copy has not passed → the sequence number of the change
that has replaced the row, 12 bytes (of a change behind the begin of the copy: `FFFF…`) ‖ the row as it was before,
nothing if there was none.
"""
KEPT_PREFIX = _SYSTEM + b"\x00\x16"
"""Prefix ‖ table id, 4 bytes ‖ owner in UTF-8 → an empty row: the rows of this table id are kept for the owner."""
WINDOW_PREFIX = _SYSTEM + b"\x00\x17"
"""Prefix ‖ table id, 4 bytes ‖ sequence number, 12 bytes → a mark of a table that can be restored to a point in time:
bytes of the records of its change log behind the mark before, up to this number, 8 bytes.
"""
SAVED_PARTS_KEY = _SYSTEM + b"\x00\x18"
"""Key of the row that names the files with parts of vector indexes, and for which content they are right, as
MessagePack (`saved_parts.py`).
"""
LOG_PREFIX_BYTES = len(LOG_PREFIX) + 8
"""Bytes before the sequence number in the key of a record."""
_from_bytes = int.from_bytes
_SEQUENCE = slice(LOG_PREFIX_BYTES, LOG_PREFIX_BYTES + SEQUENCE_BYTES)

NEXT_TABLE_ID_KEY = COUNTER_PREFIX + b"table"
NEXT_STREAM_ID_KEY = COUNTER_PREFIX + b"stream"
AHEAD_KEY = COUNTER_PREFIX + b"ahead"
"""Key of the number by which commit positions are ahead of the engine's sequence numbers; no row: 0."""
SEQUENCE_KEY = COUNTER_PREFIX + b"sequence"
"""Key of the last sequence number, 12 bytes, that was given out before the content was replaced; no row: none was."""
TABLE_ID_MAX = 2**32 - 2
INDEX_ID_MAX = 2**16 - 2
NUMBER_BYTES = 8
DOCUMENT_ROW_BYTES_MAX = 64 * 1024
"""Bytes of a document, or of a piece of a long one, that one row holds: as many as a block of a data file."""
PIECE_ID_BYTES = 8
PIECE_NUMBER_MAX = 2**32 - 1
"""Number of pieces that no document reaches."""

_shard = Struct(">IQQQ12s12s")
"""Row of a shard: number of its parent (0: none) ‖ number of its partition ‖ first hash ‖ last hash ‖ first sequence
number ‖ last sequence number (0: the shard is open).
"""


def table_range(table_id: int) -> tuple[bytes, bytes]:
    """(lower, upper) of all engine keys of a table: rows, index entries, collection sizes; `lower <= key < upper`."""
    assert 0 < table_id <= TABLE_ID_MAX
    return table_prefix(make_source_id(table_id)), table_prefix(make_source_id(table_id + 1))


def collections_source(table_source: bytes) -> bytes:
    """First bytes of the keys of a table's item collection sizes: table id ‖ COLLECTIONS_INDEX_ID."""
    return table_prefix(table_source) + COLLECTIONS_INDEX_ID


def collection_key(table_source: bytes, prefix: bytes) -> bytes:
    """Key of the size of the item collection whose items' keys begin with `prefix`."""
    return table_prefix(table_source) + COLLECTIONS_INDEX_ID + prefix


def catalog_key(table_id: int) -> bytes:
    """Key of a table's description."""
    return CATALOG_PREFIX + table_prefix(make_source_id(table_id))


def row_decoder(decode: Callable[[bytes], RowT], what: str) -> Callable[[bytes], RowT]:
    """A function that decodes a row as `decode` does. It raises StorageCorruption if the row cannot be decoded."""

    def decode_row(row: bytes) -> RowT:
        try:
            return decode(row)
        except msgspec.MsgspecError as error:
            raise StorageCorruption(f"{what} cannot be read: {error}") from error

    return decode_row


encode_statistics: Callable[[dict[bytes, tuple[int, int]]], bytes] = msgspec.msgpack.Encoder().encode
"""Encodes statistics by source id, each as [item count, size in bytes]. 0.3 µs for three sources."""
decode_statistics = row_decoder(msgspec.msgpack.Decoder(dict[bytes, tuple[int, int]]).decode, "a table's statistics")
"""Decodes a table's statistics by source id."""
encode_stream: Callable[[Stream], bytes] = msgspec.json.Encoder().encode
"""Encodes a stream's description as JSON, defaults included."""
decode_stream = row_decoder(msgspec.json.Decoder(Stream).decode, "a stream's description")
encode_table: Callable[[Table], bytes] = msgspec.json.Encoder().encode
"""Encodes a table's description as JSON, defaults included, so that a later default cannot change a stored table."""
decode_table = row_decoder(msgspec.json.Decoder(Table).decode, "a table's description")


def encode_counter(number: int) -> bytes:
    """Encode a number, such as a counter, size or hash, in 8 bytes."""
    return number.to_bytes(NUMBER_BYTES, "big")


def decode_counter(row: bytes) -> int:
    """Decode what `encode_counter` has encoded. Raises StorageCorruption unless `row` has 8 bytes."""
    if len(row) != NUMBER_BYTES:
        raise StorageCorruption(f"the row of a number has {len(row)} bytes instead of {NUMBER_BYTES}")
    return int.from_bytes(row, "big")


def partition_key(partition: Partition) -> bytes:
    """Key of a partition's row."""
    return PARTITION_PREFIX + partition.source_id + encode_counter(partition.hashes.first)


def encode_partition_row(partition: Partition) -> bytes:
    """Encode the row of a partition: its number and its last hash."""
    return encode_counter(partition.number) + encode_counter(partition.hashes.last)


def decode_partition_row(engine_key: bytes, row: bytes) -> Partition:
    """Decode a partition. Raises StorageCorruption unless key and row have the lengths of a partition's."""
    place = engine_key[len(PARTITION_PREFIX) :]
    if len(place) != SOURCE_BYTES + NUMBER_BYTES or len(row) != 2 * NUMBER_BYTES:
        raise StorageCorruption(f"the row of a partition has a key of {len(engine_key)} bytes and {len(row)} bytes")
    hashes = HashRange(decode_counter(place[SOURCE_BYTES:]), decode_counter(row[NUMBER_BYTES:]))
    return Partition(source_id_of(place), decode_counter(row[:NUMBER_BYTES]), hashes)


class LongDocument(NamedTuple):
    """Where the pieces of a long document are."""

    id: bytes
    size_bytes: int

    @property
    def piece_count(self) -> int:
        """Number of pieces."""
        return -(-self.size_bytes // DOCUMENT_ROW_BYTES_MAX)


def encode_long_document(long: LongDocument) -> bytes:
    """Encode the row that leads to the pieces of a long document."""
    return long.id + encode_counter(long.size_bytes)


def decode_long_document(row: bytes) -> LongDocument:
    """Decode what `encode_long_document` has encoded. Raises StorageCorruption unless `row` has 16 bytes."""
    if len(row) != PIECE_ID_BYTES + NUMBER_BYTES:
        raise StorageCorruption(f"the row of a long document has {len(row)} bytes")
    return LongDocument(row[:PIECE_ID_BYTES], decode_counter(row[PIECE_ID_BYTES:]))


def piece_key(piece_id: bytes, number: int) -> bytes:
    """Key of a piece of a long document."""
    return PIECE_PREFIX + piece_id + number.to_bytes(4, "big")


def stream_key(stream_id: int) -> bytes:
    """Key of a stream's description."""
    return STREAM_PREFIX + encode_short(stream_id)


def shard_key(stream_id: int, number: int) -> bytes:
    """Key of a shard's row."""
    return SHARD_PREFIX + encode_short(stream_id) + encode_short(number)


def log_prefix(table_id: int, partition: int) -> bytes:
    """First bytes of the keys of all records of a table's partition."""
    return LOG_PREFIX + encode_short(table_id) + encode_short(partition)


def table_log_prefix(table_id: int) -> bytes:
    """First bytes of the keys of all records of a table."""
    return LOG_PREFIX + encode_short(table_id)


def staged_prefix(number: int) -> bytes:
    """First bytes of the keys of the former rows that are kept for a copy."""
    return STAGED_PREFIX + encode_short(number)


def kept_key(table_id: int, owner: str) -> bytes:
    """Key of the row that says that rows are kept for an owner."""
    return KEPT_PREFIX + encode_short(table_id) + owner.encode()


def window_key(table_id: int, sequence: Sequence) -> bytes:
    """Key of a mark of a table's window of recovery."""
    return WINDOW_PREFIX + encode_short(table_id) + encode_sequence(sequence)


def record_sequence(engine_key: bytes) -> Sequence:
    """The sequence number in the key of a record."""
    return _from_bytes(engine_key[_SEQUENCE], "big")


def encode_sequence(sequence: Sequence) -> bytes:
    """Encode a sequence number of DynamoDB Streams in 12 bytes."""
    return sequence.to_bytes(SEQUENCE_BYTES, "big")


def decode_sequence(row: bytes) -> Sequence:
    """Decode what `encode_sequence` has encoded. Raises StorageCorruption unless `row` has 12 bytes."""
    if len(row) != SEQUENCE_BYTES:
        raise StorageCorruption(f"a sequence number has {len(row)} bytes")
    return int.from_bytes(row, "big")


def encode_waiting(first: Sequence, done: int, due_ms: int) -> bytes:
    """Encode which change of a partition is the first whose index entries wait, how many of them are written, and when
    the others are due, in milliseconds of service time.
    """
    return encode_sequence(first) + encode_short(done) + encode_counter(due_ms)


def decode_waiting(row: bytes) -> tuple[Sequence, int, int]:
    """Decode what `encode_waiting` has encoded. Raises StorageCorruption unless `row` has 24 bytes."""
    return decode_sequence(row[:-12]), int.from_bytes(row[-12:-8], "big"), int.from_bytes(row[-8:], "big")


def encode_short(number: int) -> bytes:
    """Encode the id of a stream or table, or the number of a shard or partition, in 4 bytes."""
    return number.to_bytes(4, "big")


def encode_shard(shard: Shard) -> bytes:
    """Encode the row of a shard, without stream id and number, which its key holds."""
    last = encode_sequence(shard.last or 0)
    return _shard.pack(shard.parent, shard.partition, *shard.hashes, encode_sequence(shard.first), last)


def decode_shard(engine_key: bytes, row: bytes) -> Shard:
    """Decode a shard. Raises StorageCorruption unless key and row have the lengths of a shard's."""
    place = engine_key[len(SHARD_PREFIX) :]
    if len(place) != 8 or len(row) != _shard.size:
        raise StorageCorruption(f"the row of a shard has a key of {len(engine_key)} bytes and {len(row)} bytes")
    parent, partition, first_hash, last_hash, first, last = _shard.unpack(row)
    stream_id, number = int.from_bytes(place[:4], "big"), int.from_bytes(place[4:], "big")
    ends = int.from_bytes(first, "big"), int.from_bytes(last, "big") or None
    return Shard(stream_id, number, parent, partition, HashRange(first_hash, last_hash), *ends)
