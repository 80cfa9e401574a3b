"""What do wrappers of a store have in common? They pass most methods on to the store that they wrap."""

from hashrange.items.types import Key
from hashrange.soon import Soon
from hashrange.store.interface import Payer, WholeStore, local_maintenance_of
from hashrange.store.row_copies import row_copies_of
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.vectors.search import FoundEntries, VectorQuery


class WrappedStore:
    """Base class of wrappers: all is the inner store's except the methods that read and write rows.

    A subclass defines these: `get`, `page`, `mutate`, `transact` and `snapshot_get`. It may define `search_vectors`.
    """

    is_clustered = False

    def __init__(self, inner: WholeStore) -> None:
        self.inner = inner
        self.catalog, self.streams, self.documents = inner.catalog, inner.streams, inner.documents
        self.row_copies, self.local_maintenance = row_copies_of(inner), local_maintenance_of(inner)
        self.maintenance, self.is_kept = inner.maintenance, inner.is_kept
        self.collection_size_bytes, self.statistics = inner.collection_size_bytes, inner.statistics
        self.position, self.durable_position = inner.position, inner.durable_position
        self.position_of, self.when_durable = inner.position_of, inner.when_durable
        self.close = inner.close

    def search_vectors(
        self, table: OpenTable, source: ReadSource, query: VectorQuery, meter: Payer = None
    ) -> Soon[FoundEntries]:
        """Search a vector index of the inner store."""
        return self.inner.search_vectors(table, source, query, meter)

    def unread(self, source_id: bytes, key: Key, units: float, meter: Payer = None) -> None:
        """Take back that `get` has read a row of `units` capacity units."""
        self.inner.unread(source_id, key, units, meter)
