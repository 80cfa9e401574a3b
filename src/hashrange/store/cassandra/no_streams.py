"""Which streams does a cluster have? None: they are refused by name."""

from collections.abc import Callable, Sequence

from hashrange.errors import StorageError
from hashrange.store.streams import ChangedShards, NewsMark, RecordPage
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream


class NoStreams:
    """The streams of a store that has none."""

    def find(self, account: str, region: str, table_name: str, label: str) -> Stream | None:
        """None."""
        return None

    def of(self, account: str, region: str) -> Sequence[Stream]:
        """None."""
        return ()

    def feeds(self) -> Sequence[Stream]:
        """None."""
        return ()

    def present(self, stream: Stream) -> Stream | None:
        """None."""
        return None

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """None."""
        return ()

    def shard(self, stream: Stream, number: int) -> Shard | None:
        """None."""
        return None

    async def changed_shards(self, stream: Stream, since: NewsMark) -> ChangedShards | None:
        """None."""
        return None

    async def last_of_shard(self, shard: Shard) -> SequenceNumber:
        """Raises StorageError: there is no shard."""
        raise StorageError("this store has no shards")

    async def records(self, shard: Shard, first: SequenceNumber, limit_records: int, limit_bytes: int) -> RecordPage:
        """Raises StorageError: there is no shard."""
        raise StorageError("this store has no shards")

    def follow(self, wake: Callable[[], None]) -> None:
        """Nothing is ever written to a stream."""
