"""How are rows read that only formats before 13 have? Stream records as rows of change logs, which have replaced them,
and index entries that wait as writes, which are done when a server opens the folder.

Each stream had records of its own: a table with a stream and a Kinesis destination had two for each change. As rows of
the log, they stay hidden from the other one. Two such records may have the same sequence number, so the engine keys of
feeds' records have one more byte.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from hashrange.errors import StorageCorruption, StorageFormatUnknown
from hashrange.items.rows import attributes_reader
from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.tables.entries import Entry
from hashrange.tables.source_id import make_source_id
from hashrange.tables.stream_records import REMOVE, former_record, keys_json_from
from hashrange.tables.streams import SEQUENCE_BYTES, Shard, Stream

FORMER_RECORD_PREFIX = make_source_id(0, 0x000C)
"""Prefix ‖ id of a stream, 4 bytes ‖ number of a shard, 4 bytes ‖ sequence number, 12 bytes → a record."""
FEED_KEY_END = b"\x01"
"""Ends the engine keys of the records of feeds."""

_headers = {1: Struct(">BBBII"), 2: Struct(">BBBIII")}
"""By the version of the record: version ‖ event ‖ 1 if by time to live ‖ length of the keys ‖ length of the old row; in
version 2 the size of keys and images follows. Version 1 has no keys if a row follows.
"""


def rows_below(engine: Any, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Engine key and row of each row whose key begins with `prefix`, in an engine that is being opened."""
    for engine_key, row in engine.items(from_key=prefix):
        if not engine_key.startswith(prefix):
            break
        yield engine_key, row


def former_rows(engine: Any) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Engine key of each record, its engine key in the change log, and the log's record. 15 µs each.

    Raises StorageCorruption, StorageFormatUnknown, and the engine's bare exceptions.
    """
    streams: dict[int, Stream] = {}
    for _, row in rows_below(engine, layout.STREAM_PREFIX):
        stream = layout.decode_stream(row)
        streams[stream.stream_id] = stream
    shards: dict[bytes, Shard] = {}
    for engine_key, row in rows_below(engine, layout.SHARD_PREFIX):
        shards[engine_key[len(layout.SHARD_PREFIX) :]] = layout.decode_shard(engine_key, row)
    readers: dict[int, Callable[[Row], list[bytes]]] = {}
    for engine_key, record in rows_below(engine, FORMER_RECORD_PREFIX):
        place = engine_key[len(FORMER_RECORD_PREFIX) : -SEQUENCE_BYTES]
        shard = shards.get(place)
        if shard is None or shard.stream_id not in streams:
            raise StorageCorruption(f"stream record {engine_key.hex()} belongs to no shard of a stream")
        stream = streams[shard.stream_id]
        names = stream.keys.names
        read_values = readers.get(stream.stream_id) or readers.setdefault(stream.stream_id, attributes_reader(names))
        end = FEED_KEY_END if stream.purpose == "kinesis" else b""
        log_key = layout.log_prefix(stream.table_id, shard.partition) + engine_key[-SEQUENCE_BYTES:] + end
        yield engine_key, log_key, _log_record(record, stream, names, read_values)


def _log_record(
    record: bytes, stream: Stream, names: tuple[str, ...], read_values: Callable[[Row], list[bytes]]
) -> bytes:
    header = _headers.get(record[0] if record else 0)
    if header is None or len(record) < header.size:
        raise StorageFormatUnknown(f"a stream record of {len(record)} bytes has an unknown format: {record[:1].hex()}")
    _, event, by, keys_bytes, old_bytes = header.unpack_from(record)[:5]
    keys_end = header.size + keys_bytes
    old_end = keys_end + old_bytes
    keys, old, new = record[header.size : keys_end], record[keys_end:old_end], record[old_end:]
    if event > REMOVE or len(old) < old_bytes:
        raise StorageCorruption(f"a stream record of {len(record)} bytes has event {event}, and less than its parts")
    if not keys:
        keys = keys_json_from(read_values(Row(new or old)), names)
    return former_record(event, is_by_time_to_live=by != 0, keys_json=keys, old=old, new=new, purpose=stream.purpose)


# --- index entries that waited, in formats before 13 ----------------------------------------------

FORMER_DELAYS_PREFIX = make_source_id(0, 0x0006)
"""Prefix ‖ position of a commit, 8 bytes (‖ number of the row, 2 bytes) → due time and writes as MessagePack."""
SLICE_BYTES = 512 * 1024


class _FormerDelay(NamedTuple):
    due_ms: int
    writes: list[tuple[bytes, bytes | None, bytes | None, bytes | None, bytes | int | None]]
    """Source id, key and first bytes of the old entry, key and row of the new one. A number in place of the row is the
    place, in this list, of a write with an equal row.
    """


FormerWrite = tuple[bytes, Entry | None, Entry | None]
"""The members of an `EntryWrite`, with a source id in place of the source."""
_decode_delay = layout.row_decoder(msgspec.msgpack.Decoder(_FormerDelay).decode, "a row of delayed index entries")


def former_delays(engine: Any) -> Iterator[tuple[list[bytes], list[FormerWrite]]]:
    """The writes of index entries that wait, in order, with the keys of their rows: some SLICE_BYTES of them at a time.

    Raises StorageCorruption and the engine's bare exceptions.
    """
    keys: list[bytes] = []
    writes: list[FormerWrite] = []
    left_bytes = SLICE_BYTES
    for engine_key, row in rows_below(engine, FORMER_DELAYS_PREFIX):
        keys.append(engine_key)
        writes += _former_writes(row)
        left_bytes -= len(row)
        if left_bytes <= 0:
            yield keys, writes
            keys, writes, left_bytes = [], [], SLICE_BYTES
    if keys:
        yield keys, writes


def _former_writes(row: bytes) -> list[FormerWrite]:
    writes: list[FormerWrite] = []
    for source_id, old_key, old_header, new_key, new_row in _decode_delay(row).writes:
        if isinstance(new_row, int):
            if not 0 <= new_row < len(writes):
                raise StorageCorruption("a row of delayed index entries refers to an entry that it does not hold")
            _, _, equal = writes[new_row]
            new_row = None if equal is None else equal.row
        old = None if old_key is None or old_header is None else Entry(Key(old_key), Row(old_header))
        new = None if new_key is None or new_row is None else Entry(Key(new_key), Row(new_row))
        writes.append((source_id, old, new))
    return writes
