"""The store on one machine: `open_store` gives an `EmbeddedStore` over RocksDB, on disk or in memory."""

from hashrange.store.embedded.opening import open_store
from hashrange.store.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore", "open_store"]
