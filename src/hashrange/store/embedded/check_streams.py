"""Do streams and their records agree with the tables? Checks the rows of streams, shards and records.

A table with a stream has exactly one stream that is on, with an open shard for each partition of the table; its other
streams have ended. Records lie within their shard and can be read, and if a stream that is on has new images, an
item's last record agrees with the stored item.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.row_layout import is_same_item
from hashrange.items.types import Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.check_copies import CopyCheck
from hashrange.store.embedded.delayed_entries import waiting_partitions
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.former_formats import FEED_KEY_END, former_rows
from hashrange.store.embedded.partitions import read_partitions
from hashrange.store.embedded.reading import scan_prefix, scan_range
from hashrange.store.embedded.upgrade import LOG_SINCE_VERSION
from hashrange.tables import streams
from hashrange.tables.keys import key_functions
from hashrange.tables.partitions import HashRange
from hashrange.tables.schema import KeySchema, Table
from hashrange.tables.source_id import HASH_BYTES, make_source_id
from hashrange.tables.stream_records import StreamRecord, decode_record, is_hidden, keys_of, plain_record, waiting_part

LAST_RECORDS_MAX = 100_000
"""At most this many items of a stream, those in its youngest shards first, are compared with their last stream record;
their keys take some 20 MB of memory.
"""
_HAS_NEW_IMAGE = ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")


class StreamCheck:
    """Checks all streams of a folder.

    Damaged descriptions of streams and shards raise an exception; unreadable records are reported as faults.
    """

    def __init__(self, engine: Engine, tables: Sequence[Table], copies: CopyCheck, version: int) -> None:
        """`copies`: knows the records that no shard needs to show. `version`: format version of the folder. Records of
        former formats are not compared with items.
        """
        self._engine, self._copies = engine, copies
        self._has_logs = version >= LOG_SINCE_VERSION
        self._tables = {table.table_id: table for table in tables}
        self._first_waiting = {one.prefix: one.first for one in waiting_partitions(engine)}
        self._streams: dict[int, streams.Stream] = {}
        self._shards: dict[tuple[int, int], streams.Shard] = {}
        for engine_key, row in scan_prefix(engine, layout.STREAM_PREFIX):
            self._streams[int.from_bytes(engine_key[len(layout.STREAM_PREFIX) :], "big")] = layout.decode_stream(row)
        for engine_key, row in scan_prefix(engine, layout.SHARD_PREFIX):
            shard = layout.decode_shard(engine_key, row)
            self._shards[shard.stream_id, shard.number] = shard

    def faults(self) -> Iterator[str]:
        """Report all faults of streams. 10 µs per record, 20 µs for the last record of each item."""
        yield from self._stream_faults()
        yield from self._shard_faults()
        yield from self._record_faults()
        for stream in self._streams.values() if self._has_logs else ():
            if stream.is_on and stream.view_type in _HAS_NEW_IMAGE and stream.table_id in self._tables:
                yield from self._item_faults(stream)

    # --- streams and shards -----------------------------------------------------------------------

    def _stream_faults(self) -> Iterator[str]:
        counter = self._engine.get(layout.NEXT_STREAM_ID_KEY)
        next_id = 1 if counter is None else layout.decode_counter(counter)
        on: Counter[tuple[int, streams.Purpose]] = Counter()
        for stream_id, stream in self._streams.items():
            if stream.stream_id != stream_id or not 0 < stream_id < next_id:
                yield (
                    f"stream {stream_id} says that it is {stream.stream_id}, and the next id to"
                    f" be given out is {next_id}"
                )
            if stream.is_on:
                on[stream.table_id, stream.purpose] += 1
                yield from _description_faults(stream, self._tables.get(stream.table_id))
        for table in self._tables.values():
            for purpose, follower in streams.FOLLOWERS.items():
                if follower.label_on(table) is not None and on[table.table_id, purpose] != 1:
                    yield f"table {table.name} has a stream, and {on[table.table_id, purpose]} of its streams are on"

    def _shard_faults(self) -> Iterator[str]:
        by_stream: dict[int, list[streams.Shard]] = {stream_id: [] for stream_id in self._streams}
        for shard in self._shards.values():
            place = f"shard {shard.number} of stream {shard.stream_id}"
            if shard.stream_id not in by_stream:
                yield f"{place} belongs to no stream"
                continue
            by_stream[shard.stream_id].append(shard)
            if shard.last is not None and shard.last < shard.first:
                yield f"{place} ends before it begins"
            parent = self._shards.get((shard.stream_id, shard.parent))
            if shard.parent and shard.parent >= shard.number:
                yield f"{place} is said to follow shard {shard.parent}"
            elif parent is not None and (
                parent.last is None or parent.last >= shard.first or not _is_within(shard.hashes, parent.hashes)
            ):
                yield f"{place} begins before its parent ends, or holds other hashes"
        partitions = read_partitions(self._engine)
        for stream_id, shards in by_stream.items():
            stream = self._streams[stream_id]
            open_shards = sorted((one.hashes, one.partition) for one in shards if one.last is None)
            of_table = partitions.get(make_source_id(stream.table_id), []) if stream.is_on else []
            if not shards or open_shards != [(one.hashes, one.number) for one in of_table]:
                yield f"the open shards of stream {stream.arn} are not those of its table's partitions"

    # --- records ----------------------------------------------------------------------------------

    def _records(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Engine key of each record, its engine key in the change log, and the log's record."""
        if not self._has_logs:
            yield from former_rows(self._engine)
            return
        for engine_key, row in scan_prefix(self._engine, layout.LOG_PREFIX):
            yield engine_key, engine_key, row

    def _record_faults(self) -> Iterator[str]:
        by_prefix: dict[bytes, list[streams.Shard]] = defaultdict(list)
        for shard in self._shards.values():
            stream = self._streams.get(shard.stream_id)
            if stream is not None:
                by_prefix[layout.log_prefix(stream.table_id, shard.partition)].append(shard)
        for engine_key, log_key, row in self._records():
            place = f"stream record {engine_key.hex()}"
            shards = self._around(by_prefix.get(log_key[: layout.LOG_PREFIX_BYTES], ()), log_key)
            table = self._waits_in(log_key, row)
            if not shards and table is None:
                if not self._is_behind(log_key):
                    yield from self._kept_record_faults(place, log_key, row)
                continue
            keys = self._streams[shards[0].stream_id].keys if table is None else table.keys
            shown_in = [self._streams[one.stream_id] for one in shards]
            needed = streams.images_of([one.view_type for one in shown_in if not is_hidden(row, one.purpose)])
            try:
                record = decode_record(plain_record(row), needed if table is None else streams.ALL_IMAGES, keys.names)
                hash_ = int.from_bytes(_key_of(keys, record)[:HASH_BYTES], "big")
            except Exception as error:  # noqa: BLE001 - any error that damaged bytes cause is a finding
                yield f"{place} cannot be read: {type(error).__name__}: {error}"
                continue
            if shards and not _is_within(HashRange(hash_, hash_), shards[0].hashes):
                yield f"{place} is of an item whose hash is not in its shard"

    def _kept_record_faults(self, place: str, log_key: bytes, row: bytes) -> Iterator[str]:
        """Report a record that no shard shows, unless it is kept for recovery or a copy, and can be read."""
        table_id = int.from_bytes(log_key[len(layout.LOG_PREFIX) : layout.LOG_PREFIX_BYTES - 4], "big")
        if not self._copies.keeps_record(table_id, layout.record_sequence(log_key)):
            yield f"{place} belongs to no shard of a stream"
            return
        keys = self._copies.keys_of_table(table_id)
        if keys is None:
            return  # it is to be deleted with others of a deleted table
        try:
            _key_of(keys, decode_record(plain_record(row), streams.ALL_IMAGES, keys.names))
        except Exception as error:  # noqa: BLE001 - any error that damaged bytes cause is a finding
            yield f"{place} cannot be read: {type(error).__name__}: {error}"

    def _around(self, shards: Sequence[streams.Shard], log_key: bytes) -> list[streams.Shard]:
        """Those of a partition's shards in whose sequence numbers the record lies; none if its key has a wrong
        length. A record that is hidden from a shard's stream may lie there too.
        """
        if log_key[layout.LOG_PREFIX_BYTES + streams.SEQUENCE_BYTES :] not in (b"", FEED_KEY_END):
            return []
        sequence = layout.record_sequence(log_key)
        return [one for one in shards if one.first <= sequence and (one.last is None or sequence <= one.last)]

    def _is_behind(self, log_key: bytes) -> bool:
        """True if entries of an earlier change of the partition wait. The record, whose shard may be gone, goes
        with that one.
        """
        first = self._first_waiting.get(log_key[: layout.LOG_PREFIX_BYTES])
        return first is not None and layout.record_sequence(log_key) > first

    def _waits_in(self, log_key: bytes, row: bytes) -> Table | None:
        """The table of a record whose index entries are still to be written; None for other records."""
        first = self._first_waiting.get(log_key[: layout.LOG_PREFIX_BYTES])
        if first is None or layout.record_sequence(log_key) < first or waiting_part(row) is None:
            return None
        return self._tables.get(int.from_bytes(log_key[len(layout.LOG_PREFIX) : layout.LOG_PREFIX_BYTES - 4], "big"))

    def _item_faults(self, stream: streams.Stream) -> Iterator[str]:
        """Report items whose stored row differs from the new image in their last stream record."""
        source_id, seen = make_source_id(stream.table_id), set[bytes]()
        for engine_key, row in self._newest_first(stream):
            try:
                record = decode_record(plain_record(row), streams.NO_IMAGES, stream.keys.names)
                key = _key_of(stream.keys, record)
            except Exception:  # noqa: BLE001, S112 - reported by `_record_faults`
                continue
            if key in seen:
                continue
            seen.add(key)
            stored = self._engine.get(source_id + key)
            if not is_same_item(record.new, None if stored is None else Row(stored)):
                yield (
                    f"stream record {engine_key.hex()} is the last of row"
                    f" {(source_id + key).hex()}, which is another one"
                )
            if len(seen) >= LAST_RECORDS_MAX:
                return

    def _newest_first(self, stream: streams.Stream) -> Iterator[tuple[bytes, bytes]]:
        """(engine key, row) of a stream's records, newest first for each item. Shards are read from the highest number
        down, because a child shard has a greater number than its parent.
        """
        for stream_id, number in sorted(self._shards, reverse=True):
            if stream_id == stream.stream_id:
                shard = self._shards[stream_id, number]
                prefix = layout.log_prefix(stream.table_id, shard.partition)
                upper = prefix_upper_bound(prefix)
                if shard.last is not None:
                    upper = prefix + layout.encode_sequence(shard.last + 1)
                lower = prefix + layout.encode_sequence(shard.first)
                for engine_key, row in scan_range(self._engine, lower, upper, is_reverse=True):
                    if not is_hidden(row, stream.purpose):
                        yield engine_key, row


def _description_faults(stream: streams.Stream, table: Table | None) -> Iterator[str]:
    follower = streams.FOLLOWERS[stream.purpose]
    label = None if table is None else follower.label_on(table)
    if table is None or label is None:
        yield f"stream {stream.arn} is on, and its table is gone or has none"
        return
    of_table = (table.account, table.region, table.name, label, table.keys, follower.view_type_on(table))
    if of_table != (stream.account, stream.region, stream.table_name, stream.label, stream.keys, stream.view_type):
        yield f"stream {stream.arn} is not as table {table.name} describes it"
    if streams.retargeted(stream, table) is not stream:
        yield f"the records of stream {stream.arn} do not go where table {table.name} says"


def _key_of(keys: KeySchema, record: StreamRecord) -> bytes:
    return key_functions(keys).item(keys_of(record, keys.names))


def _is_within(inner: HashRange, outer: HashRange) -> bool:
    return outer.first <= inner.first and inner.last <= outer.last
