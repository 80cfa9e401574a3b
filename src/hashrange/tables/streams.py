"""What is a stream? The changes of a table while the stream is on, recorded in shards.

A shard takes the records of one partition, in the order of their sequence numbers, for some hours; then a child shard
follows. When a partition splits, its shard has two children. Reading parents before children gives every item's changes
in order.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import msgspec

from hashrange.limits import RECORD_RETENTION_SECONDS
from hashrange.tables.kinesis_destinations import FeedTarget, feed_label_on, feed_target
from hashrange.tables.partitions import HashRange, Partition
from hashrange.tables.schema import KeySchema, StreamViewType, Table

Sequence = int
"""A stream record's number: milliseconds of service time since the epoch ‖ a counter of 4 bytes.

Unique in a stream; each record has a greater number than all earlier records of its partition.
"""
Purpose = Literal["readers", "kinesis"]
"""For whom a stream records changes: for clients of DynamoDB Streams, or, as a *feed*, for a Kinesis destination.

A table has at most one stream of each purpose that is on. Only the server itself sees feeds.
"""

Images = tuple[bool, bool]
"""True if records hold old images, True if they hold new images."""
IMAGES: dict[StreamViewType, Images] = {
    "KEYS_ONLY": (False, False),
    "OLD_IMAGE": (True, False),
    "NEW_IMAGE": (False, True),
    "NEW_AND_OLD_IMAGES": (True, True),
}
"""View type → the images that records have; an insertion has no old image, a deletion no new one."""
NO_IMAGES: Images = (False, False)
ALL_IMAGES: Images = (True, True)

SEQUENCE_COUNTER_BITS = 32
SEQUENCE_COUNTER_MAX = (1 << SEQUENCE_COUNTER_BITS) - 1
_COUNTER_DIGITS = 10
_FLOAT_ERROR_MS = 0.0005
"""Added to milliseconds before rounding down: as floats, times of this century have errors of at most 0.00025 ms."""
SEQUENCE_BYTES = 12
SEQUENCE_MAX: Sequence = (1 << 8 * SEQUENCE_BYTES) - 1


def next_sequence(last: Sequence, now_seconds: float) -> Sequence:
    """The first sequence number of `now_seconds`, or `last` + 1 if that is greater. 0.2 µs."""
    return max(sequence_at(now_seconds), last + 1)


def sequence_at(at_seconds: float) -> Sequence:
    """The first sequence number of the millisecond of service time that contains `at_seconds`.

    A time in whole milliseconds may, as a float, be slightly less; it still belongs to its own millisecond.
    """
    return int(at_seconds * 1000 + _FLOAT_ERROR_MS) << SEQUENCE_COUNTER_BITS


def last_sequence_at(at_seconds: float) -> Sequence:
    """The last sequence number of the millisecond of service time that contains `at_seconds`."""
    return sequence_at(at_seconds) | SEQUENCE_COUNTER_MAX


def sequence_seconds(sequence: Sequence) -> float:
    """Service time of a sequence number in seconds, without fractions of a millisecond."""
    return (sequence >> SEQUENCE_COUNTER_BITS) / 1000


def sequence_text(sequence: Sequence) -> str:
    """A sequence number as clients see it: milliseconds in 13 digits, the counter in 10.

    Compared as numbers, these texts have the order of the sequence numbers.
    """
    return f"{sequence >> SEQUENCE_COUNTER_BITS:013d}{sequence & SEQUENCE_COUNTER_MAX:0{_COUNTER_DIGITS}d}"


def parse_sequence(text: str) -> Sequence:
    """The sequence number for a text of digits, issued or not;
    a counter or number above the maximum becomes the maximum.
    """
    milliseconds, counter = divmod(int(text), 10**_COUNTER_DIGITS)
    sequence: Sequence = (milliseconds << SEQUENCE_COUNTER_BITS) + min(counter, SEQUENCE_COUNTER_MAX)
    return min(sequence, SEQUENCE_MAX)


class Stream(msgspec.Struct, frozen=True):
    """A stream as the store keeps it. Times are seconds since the epoch, in service time."""

    stream_id: int
    """Number from a counter of the store, never reused."""
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
    """Service time at which the stream was switched off or its table deleted; 0 while it is on."""
    purpose: Purpose = "readers"
    target: FeedTarget | None = None
    """Of a feed: where its records go. None: nowhere, because the destination could not be enabled."""

    @property
    def arn(self) -> str:
        """The stream's Amazon Resource Name."""
        return stream_arn(self.account, self.region, self.table_name, self.label)


class Shard(NamedTuple):
    """A shard: the stream records of one partition between two sequence numbers."""

    stream_id: int
    number: int
    """The shard's number among all that its stream ever had, from 1."""
    parent: int
    """Number of the shard that ended when this shard began; 0 if there was none."""
    partition: int
    """Number of the table's partition whose changes the shard records."""
    hashes: HashRange
    first: Sequence
    """No record of the shard has a smaller sequence number."""
    last: Sequence | None = None
    """No record of the shard has a greater sequence number; None while the shard is open."""

    @property
    def shard_id(self) -> str:
        """The shard's id for clients: time of its first sequence number in milliseconds, and the shard's number."""
        return f"shardId-{self.first >> SEQUENCE_COUNTER_BITS:020d}-{self.number:08x}"


def stream_arn(account: str, region: str, table_name: str, label: str) -> str:
    """The Amazon Resource Name of a table's stream."""
    return f"arn:aws:dynamodb:{region}:{account}:table/{table_name}/stream/{label}"


def has_stream(table: Table) -> bool:
    """True if clients can read the table's changes from a stream that is on."""
    return table.stream_view_type is not None and table.deleted_at_seconds is None


def has_recovery(table: Table) -> bool:
    """True if the table's changes are kept so that it can be restored to a point in time."""
    return table.recovery is not None and table.deleted_at_seconds is None


class Follower(NamedTuple):
    """Who follows the changes of tables: what a table's description says of its stream of one purpose.

    docs/adr/0068-change-log.md says what each follower does when it falls behind, and when the table, the content or
    the clock is replaced.
    """

    label_on: Callable[[Table], str | None]
    """Label of the table's stream that is on; None if there is none."""
    view_type_on: Callable[[Table], StreamViewType | None]
    """Which images its records need."""
    target_on: Callable[[Table, str], FeedTarget | None]
    """Where the records of the stream with this label are sent to."""
    kept_seconds: float
    """How long after its end a shard is kept, and with it the records that it shows."""


FOLLOWERS: dict[Purpose, Follower] = {
    "readers": Follower(
        label_on=lambda table: table.stream_label if has_stream(table) else None,
        view_type_on=lambda table: table.stream_view_type,
        target_on=lambda table, label: None,
        kept_seconds=RECORD_RETENTION_SECONDS,
    ),
    "kinesis": Follower(
        label_on=feed_label_on,
        view_type_on=lambda table: "NEW_AND_OLD_IMAGES",
        target_on=feed_target,
        kept_seconds=RECORD_RETENTION_SECONDS,
    ),
}


def view_types_on(table: Table) -> list[StreamViewType]:
    """View type of each of the table's streams that are on, and that with the images that recovery needs.
    0.7 µs; 0.1 for a table that never had any of them.
    """
    if table.stream_view_type is None and not table.kinesis_destinations and table.recovery is None:
        return []
    found = [one.view_type_on(table) for one in FOLLOWERS.values() if one.label_on(table) is not None]
    return [one for one in found if one is not None] + (["NEW_AND_OLD_IMAGES"] if has_recovery(table) else [])


def images_of(view_types: Iterable[StreamViewType]) -> Images:
    """The images that streams of these view types need together."""
    needed = [IMAGES[one] for one in view_types]
    return True in [has_old for has_old, _ in needed], True in [has_new for _, has_new in needed]


def stream_of(table: Table, stream_id: int, now_seconds: float, purpose: Purpose = "readers") -> Stream:
    """The new stream of a table that has just been created or changed with a stream of this purpose switched on.

    Also for a table stored in an older format, in which a stream was only described by its table.
    """
    follower = FOLLOWERS[purpose]
    label, view_type = follower.label_on(table), follower.view_type_on(table)
    assert label is not None
    assert view_type is not None
    return Stream(
        stream_id,
        table.table_id,
        table.account,
        table.region,
        table.name,
        label,
        table.keys,
        view_type,
        now_seconds,
        changing_until_seconds=max(table.active_at_seconds, table.updating_until_seconds),
        purpose=purpose,
        target=follower.target_on(table, label),
    )


def retargeted(stream: Stream, table: Table) -> Stream:
    """The stream with the target that follows from the changed table; the same object if it has this target already."""
    target = FOLLOWERS[stream.purpose].target_on(table, stream.label)
    return stream if target == stream.target else msgspec.structs.replace(stream, target=target)


def ended_stream(stream: Stream, table: Table | None, now_seconds: float) -> Stream:
    """The stream, switched off at `now_seconds`. `table`: the table after that change; None if it is deleted."""
    until_seconds = 0.0 if table is None else table.updating_until_seconds
    if table is not None:
        stream = retargeted(stream, table)
    return msgspec.structs.replace(
        stream, is_on=False, ended_at_seconds=now_seconds, changing_until_seconds=until_seconds
    )


def shard_of(stream_id: int, number: int, partition: Partition, first: Sequence) -> Shard:
    """A new, open shard of a partition, without a parent; its records have sequence numbers from `first` on."""
    return Shard(stream_id, number, 0, partition.number, partition.hashes, first)


def horizon(now_seconds: float) -> Sequence:
    """The smallest sequence number that clients can still read: that of 24 hours before `now_seconds`."""
    return sequence_at(max(0.0, now_seconds - RECORD_RETENTION_SECONDS))
