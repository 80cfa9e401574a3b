"""How are streams and their records read, and who hears of new records? The part of a store's interface for streams."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream


class RecordPage(NamedTuple):
    """Consecutive records of a shard."""

    records: Sequence[tuple[SequenceNumber, bytes]]
    """(sequence number, record) of each; `tables/stream_records.py` defines a record's bytes."""
    is_end: bool
    """True if the read found no further record of the shard; False: more may follow, even if none was returned."""


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

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """The shards of the stream that are not deleted yet, oldest first; none if the stream has been deleted."""

    def shard(self, stream: Stream, number: int) -> Shard | None:
        """The shard of the stream with this number; None if there is none, or it has been deleted."""

    def changed_shards(self, stream: Stream, since: SequenceNumber) -> Sequence[Shard]:
        """The shards that have begun, ended or got records behind this sequence number,
        and are not deleted yet, in any order.

        Takes time for these alone. May give way; what changes meanwhile may be missing,
        and is behind `last_of` before the call.
        """

    def last(self) -> SequenceNumber:
        """The sequence number that the store assigned last; every later record has a greater one."""

    def last_of(self, stream: Stream) -> SequenceNumber:
        """No record of the stream has a greater sequence number, and no shard of it has begun or ended later.

        It is 0 for a deleted stream, and grows with each commit that changes the stream or writes records of it.
        So whoever has read up to it need not look again before it has grown.
        """

    def last_of_shard(self, shard: Shard) -> SequenceNumber:
        """No record of the shard has a greater sequence number, and it has not begun or ended later;
        0 if it has been deleted.
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
