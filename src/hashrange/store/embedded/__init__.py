"""The store on one machine: `open_store` gives an `EmbeddedStore` over RocksDB, on disk or in memory."""

from hashrange.store.embedded.store import EmbeddedStore, open_store

__all__ = ["EmbeddedStore", "open_store"]
