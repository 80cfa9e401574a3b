"""Where does each thing stand on disk? The engine's keys and the system's small values (docs/formats/store.md).

Engine key = source (4 bytes table id ‖ 2 bytes index id) ‖ key bytes. Table id 0 is the system's; its index id says
what the row is. All numbers are big-endian and unsigned. Nothing here touches an engine.
"""

from struct import Struct

import msgspec

from hashrange.errors import StorageCorruption
from hashrange.store.interface import Statistics
from hashrange.tables.partitions import HashRange, Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import SOURCE_BYTES, make_source_id, source_id_of, table_prefix
from hashrange.tables.streams import SEQUENCE_BYTES, Sequence, Shard, Stream

FORMAT_VERSION = 8
READ_VERSIONS = (3, 4, 5, 6, 7, 8)
"""A server converts a folder of an older one of these versions when it opens it (`upgrade.py`)."""

_SYSTEM = b"\x00\x00\x00\x00"
FORMAT_KEY = _SYSTEM + b"\x00\x00"
"""One row: the version of everything on this page, 4 bytes."""
CATALOG_PREFIX = _SYSTEM + b"\x00\x01"
"""‖ table id: the table's description as JSON."""
STATISTICS_PREFIX = _SYSTEM + b"\x00\x02"
"""‖ table id: item count and size in bytes of each of its sources, as MessagePack."""
COUNTER_PREFIX = _SYSTEM + b"\x00\x03"
"""‖ name: the next number to be given out, 8 bytes."""
PROBE_KEY = _SYSTEM + b"\x00\x04"
"""One empty row, written to find out whether writing works again."""
BACKFILL_PREFIX = _SYSTEM + b"\x00\x05"
"""‖ source of a CREATING index, or of a table whose time to live is ENABLING: key of the last row that has its entry; no row: none has."""
OUTBOX_PREFIX = _SYSTEM + b"\x00\x06"
"""‖ number of the row, 8 bytes: due time and entry writes of one commit as MessagePack, until they are applied."""
PARTITION_PREFIX = _SYSTEM + b"\x00\x07"
"""‖ source ‖ first hash, 8 bytes: number of the partition, 8 bytes ‖ last hash, 8 bytes."""
LATE_PREFIX = _SYSTEM + b"\x00\x08"
"""‖ position, 8 bytes ‖ number, 2 bytes: an index entry that is still to be made of an item, as MessagePack."""
TIME_TO_LIVE_PREFIX = _SYSTEM + b"\x00\x09"
"""‖ source of a table with time to live ‖ second, 8 bytes ‖ key of an item: one empty row for each item that expires."""
STREAM_PREFIX = _SYSTEM + b"\x00\x0a"
"""‖ id of a stream, 4 bytes: its description as JSON."""
SHARD_PREFIX = _SYSTEM + b"\x00\x0b"
"""‖ id of a stream, 4 bytes ‖ number of the shard, 4 bytes: what the shard holds (`_shard`)."""
RECORD_PREFIX = _SYSTEM + b"\x00\x0c"
"""‖ id of a stream, 4 bytes ‖ number of the shard, 4 bytes ‖ sequence number, 12 bytes: a stream record (`tables/stream_records.py`)."""
TOKEN_PREFIX = _SYSTEM + b"\x00\x10"
"""‖ account, Region and token of a transaction: expiry in milliseconds of service time, 8 bytes ‖ digest, 16 bytes ‖ report."""
EXPIRY_PREFIX = _SYSTEM + b"\x00\x11"
"""‖ the same expiry ‖ the same name: one empty row for each token."""

NEXT_TABLE_ID_KEY = COUNTER_PREFIX + b"table"
NEXT_STREAM_ID_KEY = COUNTER_PREFIX + b"stream"
AHEAD_KEY = COUNTER_PREFIX + b"ahead"
"""By how much positions of commits are ahead of the engine's sequence numbers; no row: by nothing."""
TABLE_ID_MAX = 2**32 - 2
INDEX_ID_MAX = 2**16 - 2
NUMBER_BYTES = 8

COLLECTIONS_INDEX_ID = b"\xff\xff"
"""In place of an index id, in tables with local indexes: ‖ partition key: size in bytes of the item collection, 8 bytes."""

_shard = Struct(">IQQQ12s12s")
"""Number of the shard's parent ‖ number of the partition ‖ first hash ‖ last hash ‖ first sequence number ‖ last one; 0: none."""
_decode_stream = msgspec.json.Decoder(Stream).decode
_decode_table = msgspec.json.Decoder(Table).decode
_encode_table = msgspec.json.Encoder().encode
_decode_statistics = msgspec.msgpack.Decoder(dict[bytes, Statistics]).decode
_encode_statistics = msgspec.msgpack.Encoder().encode


def table_range(table_id: int) -> tuple[bytes, bytes]:
    """First key and end of everything that a table holds, its indexes included."""
    assert 0 < table_id <= TABLE_ID_MAX
    return table_prefix(make_source_id(table_id)), table_prefix(make_source_id(table_id + 1))


def collections_source(table_source: bytes) -> bytes:
    """What the keys of a table's rows of item collections begin with."""
    return table_prefix(table_source) + COLLECTIONS_INDEX_ID


def collection_key(table_source: bytes, prefix: bytes) -> bytes:
    """Key of the size of the item collection whose items' keys begin with `prefix`."""
    return table_prefix(table_source) + COLLECTIONS_INDEX_ID + prefix


def catalog_key(table_id: int) -> bytes:
    """Key of a table's description."""
    return CATALOG_PREFIX + table_prefix(make_source_id(table_id))


def backfill_key(source_id: bytes) -> bytes:
    """Key of how far an index has been built."""
    return BACKFILL_PREFIX + source_id


def statistics_key(table_id: int) -> bytes:
    """Key of the statistics of a table's sources."""
    return STATISTICS_PREFIX + table_prefix(make_source_id(table_id))


def encode_statistics(statistics: dict[bytes, Statistics]) -> bytes:
    """Source → [item count, size in bytes]. 0.3 µs for three sources."""
    return _encode_statistics(statistics)


def decode_statistics(row: bytes) -> dict[bytes, Statistics]:
    """Raises StorageCorruption when `row` holds no statistics."""
    try:
        return _decode_statistics(row)
    except msgspec.MsgspecError as error:
        raise StorageCorruption(f"a table's statistics cannot be read: {error}") from error


def encode_counter(number: int) -> bytes:
    """8 bytes, for counters and sizes."""
    return number.to_bytes(NUMBER_BYTES, "big")


def decode_counter(row: bytes) -> int:
    """Raises StorageCorruption unless `row` is 8 bytes."""
    if len(row) != NUMBER_BYTES:
        raise StorageCorruption(f"the row of a number has {len(row)} bytes instead of {NUMBER_BYTES}")
    return int.from_bytes(row, "big")


def partition_key(partition: Partition) -> bytes:
    """Key of a partition."""
    return PARTITION_PREFIX + partition.source_id + encode_counter(partition.hashes.first)


def encode_partition_row(partition: Partition) -> bytes:
    """What stands at its key."""
    return encode_counter(partition.number) + encode_counter(partition.hashes.last)


def decode_partition_row(engine_key: bytes, row: bytes) -> Partition:
    """Raises StorageCorruption when this is no partition's row."""
    place = engine_key[len(PARTITION_PREFIX) :]
    if len(place) != SOURCE_BYTES + NUMBER_BYTES or len(row) != 2 * NUMBER_BYTES:
        raise StorageCorruption(f"the row of a partition has a key of {len(engine_key)} bytes and {len(row)} bytes")
    hashes = HashRange(decode_counter(place[SOURCE_BYTES:]), decode_counter(row[NUMBER_BYTES:]))
    return Partition(source_id_of(place), decode_counter(row[:NUMBER_BYTES]), hashes)


def stream_key(stream_id: int) -> bytes:
    """Key of a stream's description."""
    return STREAM_PREFIX + encode_short(stream_id)


def shard_key(stream_id: int, number: int) -> bytes:
    """Key of a shard."""
    return SHARD_PREFIX + encode_short(stream_id) + encode_short(number)


def shard_records_prefix(stream_id: int, number: int) -> bytes:
    """What the keys of all records of a shard begin with."""
    return RECORD_PREFIX + encode_short(stream_id) + encode_short(number)


def record_sequence(engine_key: bytes) -> Sequence:
    """The sequence number in the key of a record."""
    return int.from_bytes(engine_key[-SEQUENCE_BYTES:], "big")


def encode_sequence(sequence: Sequence) -> bytes:
    """12 bytes."""
    return sequence.to_bytes(SEQUENCE_BYTES, "big")


def encode_short(number: int) -> bytes:
    """4 bytes, for ids and numbers of streams and shards."""
    return number.to_bytes(4, "big")


def encode_shard(shard: Shard) -> bytes:
    """What stands at its key."""
    last = encode_sequence(shard.last or 0)
    return _shard.pack(shard.parent, shard.partition, *shard.hashes, encode_sequence(shard.first), last)


def decode_shard(engine_key: bytes, row: bytes) -> Shard:
    """Raises StorageCorruption when this is no shard's row."""
    place = engine_key[len(SHARD_PREFIX) :]
    if len(place) != 8 or len(row) != _shard.size:
        raise StorageCorruption(f"the row of a shard has a key of {len(engine_key)} bytes and {len(row)} bytes")
    parent, partition, first_hash, last_hash, first, last = _shard.unpack(row)
    stream_id, number = int.from_bytes(place[:4], "big"), int.from_bytes(place[4:], "big")
    ends = int.from_bytes(first, "big"), int.from_bytes(last, "big") or None
    return Shard(stream_id, number, parent, partition, HashRange(first_hash, last_hash), *ends)


def encode_stream(stream: Stream) -> bytes:
    """JSON of the declared fields."""
    return msgspec.json.encode(stream)


def decode_stream(row: bytes) -> Stream:
    """Raises StorageCorruption when `row` is no stream's description."""
    try:
        return _decode_stream(row)
    except msgspec.MsgspecError as error:
        raise StorageCorruption(f"a stream's description cannot be read: {error}") from error


def encode_table(table: Table) -> bytes:
    """JSON of the declared fields; defaults included, so that a later default cannot change a stored table."""
    return _encode_table(table)


def decode_table(row: bytes) -> Table:
    """Raises StorageCorruption when `row` is no table's description."""
    try:
        return _decode_table(row)
    except msgspec.MsgspecError as error:
        raise StorageCorruption(f"a table's description cannot be read: {error}") from error
