"""What is a stream? The changes of a table while the stream is on, recorded in shards.

A shard holds the records of one partition, in the order of their sequence numbers, for some hours; then a child shard
follows. When a partition splits, its shard has two children. Reading parents before children gives every item's changes
in order.
"""

from typing import NamedTuple

import msgspec

from hashrange.tables.partitions import HashRange, Partition
from hashrange.tables.schema import KeySchema, StreamViewType, Table

RETENTION_SECONDS = 24 * 3600.0
"""How long a record, and a stream that has ended, can be read."""
SHARD_SECONDS = 4 * 3600.0
"""How long a shard is open, in service time."""

Sequence = int
"""A record's number: milliseconds of service time since the epoch ‖ a counter of 4 bytes.

Unique in a store, never falling.
"""

SEQUENCE_COUNTER_BITS = 32
SEQUENCE_COUNTER_MAX = (1 << SEQUENCE_COUNTER_BITS) - 1
_COUNTER_DIGITS = 10
_FLOAT_ERROR_MS = 0.0005
"""Added before rounding down: as floats, times of this century have an error of at most 0.00025 ms."""
SEQUENCE_BYTES = 12
SEQUENCE_MAX: Sequence = (1 << 8 * SEQUENCE_BYTES) - 1


def next_sequence(last: Sequence, now_seconds: float) -> Sequence:
    """The sequence number of now, or `last` + 1 if that is greater. 0.2 µs."""
    return max(sequence_at(now_seconds), last + 1)


def sequence_at(at_seconds: float) -> Sequence:
    """The first sequence number of a millisecond of service time.

    A time in milliseconds may, as a float, lie just before its own millisecond; this is corrected.
    """
    return int(at_seconds * 1000 + _FLOAT_ERROR_MS) << SEQUENCE_COUNTER_BITS


def sequence_seconds(sequence: Sequence) -> float:
    """Service time of a sequence number, in whole milliseconds."""
    return (sequence >> SEQUENCE_COUNTER_BITS) / 1000


def sequence_text(sequence: Sequence) -> str:
    """A sequence number as clients see it: milliseconds in 13 digits, the counter in 10.

    Read as numbers, these texts keep the order.
    """
    return f"{sequence >> SEQUENCE_COUNTER_BITS:013d}{sequence & SEQUENCE_COUNTER_MAX:0{_COUNTER_DIGITS}d}"


def parse_sequence(text: str) -> Sequence:
    """The sequence number of any text of digits; even one never issued has its place in the order."""
    milliseconds, counter = divmod(int(text), 10**_COUNTER_DIGITS)
    sequence: Sequence = (milliseconds << SEQUENCE_COUNTER_BITS) + min(counter, SEQUENCE_COUNTER_MAX)
    return min(sequence, SEQUENCE_MAX)


class Stream(msgspec.Struct, frozen=True):
    """A stream as the store keeps it. Times are service-time seconds since the epoch."""

    stream_id: int
    """From a counter of the store, never reused."""
    table_id: int
    account: str
    region: str
    table_name: str
    label: str
    keys: KeySchema
    view_type: StreamViewType
    created_at_seconds: float
    is_on: bool = True
    changing_until_seconds: float = 0.0
    """The stream is shown as ENABLING or DISABLING until this time."""
    ended_at_seconds: float = 0.0
    """When the stream was switched off or its table deleted."""

    @property
    def arn(self) -> str:
        """The stream's Amazon Resource Name."""
        return stream_arn(self.account, self.region, self.table_name, self.label)


class Shard(NamedTuple):
    """Stream records of one partition."""

    stream_id: int
    number: int
    """Counts all shards that the stream ever had, from 1."""
    parent: int
    """Number of the shard that ended when this one began; 0: none."""
    partition: int
    """Number of the table's partition."""
    hashes: HashRange
    first: Sequence
    """No record of the shard has a smaller sequence number."""
    last: Sequence | None = None
    """No record of the shard has a greater sequence number; None while the shard is open."""

    @property
    def shard_id(self) -> str:
        """The shard's id for clients: start in milliseconds, and number."""
        return f"shardId-{self.first >> SEQUENCE_COUNTER_BITS:020d}-{self.number:08x}"


def stream_arn(account: str, region: str, table_name: str, label: str) -> str:
    """The Amazon Resource Name of a table's stream."""
    return f"arn:aws:dynamodb:{region}:{account}:table/{table_name}/stream/{label}"


def has_stream(table: Table) -> bool:
    """True if a stream records the table's changes."""
    return table.stream_view_type is not None and table.deleted_at_seconds is None


def stream_of(table: Table, stream_id: int, now_seconds: float) -> Stream:
    """The stream that begins with a new or changed table."""
    assert table.stream_view_type is not None
    assert table.stream_label is not None
    return Stream(
        stream_id,
        table.table_id,
        table.account,
        table.region,
        table.name,
        table.stream_label,
        table.keys,
        table.stream_view_type,
        now_seconds,
        changing_until_seconds=max(table.active_at_seconds, table.updating_until_seconds),
    )


def ended_stream(stream: Stream, table: Table | None, now_seconds: float) -> Stream:
    """The stream, switched off now; `table` is the changed table, None if deleted."""
    until_seconds = 0.0 if table is None else table.updating_until_seconds
    return msgspec.structs.replace(
        stream, is_on=False, ended_at_seconds=now_seconds, changing_until_seconds=until_seconds
    )


def first_shard(stream_id: int, number: int, partition: Partition, first: Sequence) -> Shard:
    """A partition's first shard, which begins with the stream."""
    return Shard(stream_id, number, 0, partition.number, partition.hashes, first)


def horizon(now_seconds: float) -> Sequence:
    """The oldest readable sequence number; older records are gone."""
    return sequence_at(max(0.0, now_seconds - RETENTION_SECONDS))
