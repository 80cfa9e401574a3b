"""How is a store on one machine made? `open_store` returns an `EmbeddedStore` over RocksDB, on disk or in memory."""

from hashrange.store.embedded.opening import open_store
from hashrange.store.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore", "open_store"]
