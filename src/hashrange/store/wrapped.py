"""What do wrappers of a store have in common? They pass most methods on to the store that they wrap."""

from hashrange.items.types import Key
from hashrange.store.interface import WholeStore


class WrappedStore:
    """Base class of wrappers: all is the inner store's except the catalog, and the methods that read and write rows.

    A subclass defines these: `catalog`, `get`, `page`, `mutate`, `transact` and `snapshot_get`.
    """

    def __init__(self, inner: WholeStore) -> None:
        self._unread_inner = inner.unread
        self.is_kept = inner.is_kept
        self.streams, self.documents = inner.streams, inner.documents
        self.collection_size_bytes, self.statistics = inner.collection_size_bytes, inner.statistics
        self.position, self.durable_position = inner.position, inner.durable_position
        self.position_of, self.when_durable = inner.position_of, inner.when_durable
        self.lease, self.backfills, self.backfill = inner.lease, inner.backfills, inner.backfill
        self.apply_delayed, self.expire, self.expire_now = inner.apply_delayed, inner.expire, inner.expire_now
        self.tend_streams = inner.tend_streams
        self.split_partitions, self.split_partition = inner.split_partitions, inner.split_partition
        self.want_partitions = inner.want_partitions
        self.settle, self.on_work = inner.settle, inner.on_work
        self.on_changes, self.on_expired = inner.on_changes, inner.on_expired
        self.prepare_checkpoint, self.open_checkpoint = inner.prepare_checkpoint, inner.open_checkpoint
        self.checkpoint, self.restore = inner.checkpoint, inner.restore
        self.checkpoint_of, self.delay_index_entries = inner.checkpoint_of, inner.delay_index_entries
        self.close = inner.close

    def unread(self, source_id: bytes, key: Key, units: float) -> None:
        """Take back that `get` has read a row, of so many units."""
        self._unread_inner(source_id, key, units)
