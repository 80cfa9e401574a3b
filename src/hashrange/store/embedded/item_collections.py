"""How large is each item collection? A row of its own, written in the commit of the items and entries that it counts.

Tables without local indexes have no such rows (docs/formats/store.md). A write that makes a collection larger than the limit
is refused; one that makes it smaller, or leaves it as it is, never.
"""

from collections.abc import Sequence

from hashrange.errors import ApiError, ItemCollectionSizeLimitExceededException
from hashrange.items.types import Key
from hashrange.messages.reads import COLLECTION_TOO_LARGE
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine
from hashrange.store.interface import TransactionRefused
from hashrange.tables.change import Change
from hashrange.tables.item_collections import collection_delta_bytes, collection_prefix
from hashrange.tables.schema import Table


class ItemCollections:
    """The sizes of a store's item collections. Raises the engine's bare exceptions."""

    def __init__(self, size_max_bytes: int) -> None:
        self._size_max_bytes = size_max_bytes

    def size_bytes(self, engine: Engine, table: Table, key: Key) -> int:
        """Size of the collection that `key` belongs to."""
        row = engine.get(layout.collection_key(table.source, collection_prefix(key)))
        return 0 if row is None else layout.decode_number(row)

    def count(self, engine: Engine, batch: Engine, change: Change) -> None:
        """Put the new size of one write's collection into `batch`. 4 µs.

        Raises ItemCollectionSizeLimitExceededException when the collection would grow beyond the limit.
        """
        if not change.table.has_item_collections:
            return
        delta_bytes = collection_delta_bytes(change)
        if not delta_bytes:
            return
        if self._put(engine, batch, _row_key(change), delta_bytes):
            raise ItemCollectionSizeLimitExceededException(COLLECTION_TOO_LARGE)

    def count_all(self, engine: Engine, batch: Engine, changes: Sequence[Change]) -> None:
        """Put the new sizes of all collections of a transaction into `batch`; `changes` are those of its steps, in order.

        What counts is the transaction as a whole. Raises TransactionRefused, with the limit as the reason of each step that
        adds to a collection that would be too large.
        """
        if not any(change.table.has_item_collections for change in changes):
            return
        added: list[tuple[bytes, int]] = [
            (_row_key(change), collection_delta_bytes(change)) if change.table.has_item_collections else (b"", 0)
            for change in changes
        ]
        deltas: dict[bytes, int] = {}
        for row_key, delta_bytes in added:
            if delta_bytes:
                deltas[row_key] = deltas.get(row_key, 0) + delta_bytes
        too_large = {
            row_key
            for row_key, delta_bytes in deltas.items()
            if delta_bytes and self._put(engine, batch, row_key, delta_bytes)
        }
        if too_large:
            reasons: list[ApiError | None] = [
                ItemCollectionSizeLimitExceededException(COLLECTION_TOO_LARGE)
                if row_key in too_large and delta_bytes > 0
                else None
                for row_key, delta_bytes in added
            ]
            raise TransactionRefused(reasons)

    def _put(self, engine: Engine, batch: Engine, row_key: bytes, delta_bytes: int) -> bool:
        """Put a collection's new size into `batch`; True when it is one to be refused."""
        row = engine.get(row_key)
        size_bytes = delta_bytes if row is None else layout.decode_number(row) + delta_bytes
        assert size_bytes >= 0
        if size_bytes:
            batch.put(row_key, layout.encode_number(size_bytes))
        else:
            batch.delete(row_key)
        return delta_bytes > 0 and size_bytes > self._size_max_bytes


def _row_key(change: Change) -> bytes:
    return layout.collection_key(change.table.source, collection_prefix(change.key))
