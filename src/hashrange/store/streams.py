"""How are streams and their records read, and who hears of new records? The part of a store's interface for streams."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, NewType, Protocol

from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream


class RecordPage(NamedTuple):
    """Consecutive records of a shard."""

    records: Sequence[tuple[SequenceNumber, bytes]]
    """(sequence number, record) of each; `tables/stream_records.py` defines a record's bytes."""
    is_end: bool
    """True if the read found no further record of the shard; False: more may follow, even if none was returned."""
    durable: SequenceNumber
    """All records of the shard up to this sequence number are durable; later ones may be lost in a power cut."""


NewsMark = NewType("NewsMark", int)
"""How far somebody has heard of one stream. Only the store that has given it out knows what it means."""
NOTHING_HEARD = NewsMark(0)


class ChangedShards(NamedTuple):
    """What has happened to a stream."""

    shards: Sequence[Shard]
    """The shards that have begun, ended or got records, and are not deleted yet, in any order."""
    mark: NewsMark
    """Everything up to this mark has been told and is durable; the same mark as before if nothing more is."""
    is_all: bool
    """False if the stream has changed in a way that is not durable yet; it is worth asking again after a sync."""


class Streams(Protocol):
    """The streams of tables, and their records; as up to date as the catalog. An ended stream is kept for a day.

    Feeds, which keep records for a Kinesis destination, are no streams of clients: only `feeds` returns them.
    """

    def find(self, account: str, region: str, table_name: str, label: str) -> Stream | None:
        """The stream of table `table_name` with this label, even after it has ended; None if there is none."""

    def of(self, account: str, region: str) -> Sequence[Stream]:
        """All streams of an account and Region."""

    def feeds(self) -> Sequence[Stream]:
        """The feeds of all accounts and Regions, ended ones too."""

    def present(self, stream: Stream) -> Stream | None:
        """A stream or feed as it is now; None if it has been deleted."""

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """The shards of the stream that are not deleted yet, oldest first; none if the stream has been deleted."""

    def shard(self, stream: Stream, number: int) -> Shard | None:
        """The shard of the stream with this number; None if there is none, or it has been deleted."""

    async def changed_shards(self, stream: Stream, since: NewsMark) -> ChangedShards | None:
        """What has happened, and become durable, behind the mark that the last answer had, NOTHING_HEARD at first; None
        if nothing has happened.

        Takes time for these shards alone. What is not durable yet may be told as well, and is told again later. May
        give way; what changes meanwhile may be missing, and is behind the new mark.
        """

    async def last_of_shard(self, shard: Shard) -> SequenceNumber:
        """No record of the shard has a greater sequence number; every later record of it, and of the shards that
        follow it, has one.
        """

    async def records(self, shard: Shard, first: SequenceNumber, limit_records: int, limit_bytes: int) -> RecordPage:
        """Records of a shard from sequence number `first` on, at most `limit_records`, and `limit_bytes` as stored.

        At least one is returned if there is any. Records past their retention are included. The records
        returned may not be durable yet.
        """

    def follow(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each commit that wrote records of any stream, or began or ended a stream or shard.

        `wake` must be quick and must not raise. Only the last registered one is called.
        """
