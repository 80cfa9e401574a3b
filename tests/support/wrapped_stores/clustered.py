"""What does a store offer that several servers share? For tests: a store in memory that offers this, and no more."""

from hashrange.store.interface import WholeStore


class SharedMaintenance:
    """What every store's maintenance has."""

    def __init__(self, inner: WholeStore) -> None:
        self.settle, self.on_work = inner.maintenance.settle, inner.maintenance.on_work


class ClusteredStore:
    """All that every store offers, as another one does it. Nothing that only a store on one machine has."""

    is_clustered = True

    def __init__(self, inner: WholeStore) -> None:
        self.catalog, self.streams, self.documents = inner.catalog, inner.streams, inner.documents
        self.maintenance, self.is_kept = SharedMaintenance(inner), inner.is_kept
        self.get, self.unread, self.page = inner.get, inner.unread, inner.page
        self.search_vectors, self.snapshot_get = inner.search_vectors, inner.snapshot_get
        self.mutate, self.transact = inner.mutate, inner.transact
        self.collection_size_bytes, self.statistics = inner.collection_size_bytes, inner.statistics
        self.position, self.durable_position = inner.position, inner.durable_position
        self.position_of, self.when_durable = inner.position_of, inner.when_durable
        self.close = inner.close
