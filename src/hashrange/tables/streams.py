"""What is a stream? A table's changes from when it was switched on until it is switched off, in shards.

A shard holds the records of one partition, in the order of their sequence numbers, for some hours; then another one goes on, its child. When
a partition splits, its shard has two. Whoever reads a parent to its end before its children sees every item's changes in order.
"""

from typing import NamedTuple

import msgspec

from hashrange.tables.partitions import HashRange, Partition
from hashrange.tables.schema import KeySchema, StreamViewType, Table

RETENTION_SECONDS = 24 * 3600.0
"""So long a record, and a stream that has ended, can be read."""
SHARD_SECONDS = 4 * 3600.0
"""So long a shard is open, in service time."""

Sequence = int
"""When a record was written: milliseconds of service time since the epoch ‖ a counter of 4 bytes; unique in a store, and never falling."""

SEQUENCE_COUNTER_BITS = 32
SEQUENCE_COUNTER_MAX = (1 << SEQUENCE_COUNTER_BITS) - 1
_COUNTER_DIGITS = 10
_FLOAT_ERROR_MS = 0.0005
"""Times of this century have an error of at most 0.00025 ms."""
SEQUENCE_BYTES = 12
SEQUENCE_MAX: Sequence = (1 << 8 * SEQUENCE_BYTES) - 1


def next_sequence(last: Sequence, now_seconds: float) -> Sequence:
    """The one behind the last that was given out, however the clock stands. 0.2 µs."""
    return max(sequence_at(now_seconds), last + 1)


def sequence_at(at_seconds: float) -> Sequence:
    """The first one of that millisecond of service time. A time that was given in milliseconds may, as a float, lie just before its own."""
    return int(at_seconds * 1000 + _FLOAT_ERROR_MS) << SEQUENCE_COUNTER_BITS


def sequence_seconds(sequence: Sequence) -> float:
    """Service time of it, in whole milliseconds."""
    return (sequence >> SEQUENCE_COUNTER_BITS) / 1000


def sequence_text(sequence: Sequence) -> str:
    """As clients see it: milliseconds in 13 digits, the counter in 10. Read as numbers, texts have the order of what they stand for."""
    return f"{sequence >> SEQUENCE_COUNTER_BITS:013d}{sequence & SEQUENCE_COUNTER_MAX:0{_COUNTER_DIGITS}d}"


def parse_sequence(text: str) -> Sequence:
    """Of any text of digits; what never was given out is in its place among the others."""
    milliseconds, counter = divmod(int(text), 10**_COUNTER_DIGITS)
    sequence: Sequence = (milliseconds << SEQUENCE_COUNTER_BITS) + min(counter, SEQUENCE_COUNTER_MAX)
    return min(sequence, SEQUENCE_MAX)


class Stream(msgspec.Struct, frozen=True):
    """A stream as the store keeps it. Times are service-time seconds since the epoch."""

    stream_id: int
    """Counter of the store, never reused."""
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
    """So long it is shown as ENABLING or DISABLING."""
    ended_at_seconds: float = 0.0
    """When it was switched off, or its table deleted."""

    @property
    def arn(self) -> str:
        """Its Amazon Resource Name."""
        return stream_arn(self.account, self.region, self.table_name, self.label)


class Shard(NamedTuple):
    """Records of one partition."""

    stream_id: int
    number: int
    """Counts the shards that the stream has ever had, from 1."""
    parent: int
    """Number of the shard that ended when this one began; 0: none did."""
    partition: int
    """Number of the table's partition."""
    hashes: HashRange
    first: Sequence
    """No record is before it."""
    last: Sequence | None = None
    """No record is behind it; None while the shard is open."""

    @property
    def shard_id(self) -> str:
        """As clients name it: when it began, in milliseconds, and its number."""
        return f"shardId-{self.first >> SEQUENCE_COUNTER_BITS:020d}-{self.number:08x}"


def stream_arn(account: str, region: str, table_name: str, label: str) -> str:
    """The Amazon Resource Name of a table's stream."""
    return f"arn:aws:dynamodb:{region}:{account}:table/{table_name}/stream/{label}"


def has_stream(table: Table) -> bool:
    """Are its changes to be recorded?"""
    return table.stream_view_type is not None and table.deleted_at_seconds is None


def stream_of(table: Table, stream_id: int, now_seconds: float) -> Stream:
    """The stream that begins with a table, or with a change of it."""
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
    """The same, off from now on; with `table`, what that has become."""
    until_seconds = 0.0 if table is None else table.updating_until_seconds
    return msgspec.structs.replace(
        stream, is_on=False, ended_at_seconds=now_seconds, changing_until_seconds=until_seconds
    )


def first_shard(stream_id: int, number: int, partition: Partition, first: Sequence) -> Shard:
    """Of a partition, when the stream begins."""
    return Shard(stream_id, number, 0, partition.number, partition.hashes, first)


def horizon(now_seconds: float) -> Sequence:
    """Older records are gone."""
    return sequence_at(max(0.0, now_seconds - RETENTION_SECONDS))
