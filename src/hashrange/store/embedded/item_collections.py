"""How large is each item collection? A row holds its size, and is written in each commit that changes the size;
growth beyond a limit (10 GB) is refused.

Tables without local indexes have no such rows (docs/formats/store.md). A write that makes a collection larger, and
larger than the limit, is refused; a write that makes it smaller, or keeps its size, never is.
"""

from collections.abc import Sequence

from hashrange.errors import ApiError, ItemCollectionSizeLimitExceededException
from hashrange.items.types import Key
from hashrange.messages.reads import COLLECTION_TOO_LARGE
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.tables.change import Change, collection_growth_bytes
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.source_id import partition_prefix


class ItemCollections(Participant):
    """Participant that keeps the sizes of item collections, and enforces their limit."""

    may_refuse = True

    def __init__(self, terms: Terms) -> None:
        self._size_max_bytes = terms.options.collection_size_max_bytes

    def takes_part(self, table: Table) -> bool:
        """True for tables with local indexes."""
        return table.has_item_collections

    def refusals(self, draft: Draft, changes: Sequence[Change]) -> Sequence[ApiError | None] | None:
        """An error for each change that enlarges an item collection, if the whole commit enlarges it beyond the limit.

        None for other changes; None in place of the list if there is no error. 4 µs.
        Keeps the collections' new sizes in `draft.kept` for `add`.
        """
        added = [(_row_key(change), collection_growth_bytes(change)) for change in changes]
        deltas: dict[bytes, int] = {}
        for row_key, delta_bytes in added:
            if delta_bytes:
                deltas[row_key] = deltas.get(row_key, 0) + delta_bytes
        sizes = {row_key: _size_bytes(draft.engine, row_key) + delta for row_key, delta in deltas.items() if delta}
        draft.kept[self] = sizes
        too_large = [row_key for row_key, size in sizes.items() if size > self._size_max_bytes and deltas[row_key] > 0]
        if not too_large:
            return None
        return [
            ItemCollectionSizeLimitExceededException(COLLECTION_TOO_LARGE)
            if delta_bytes > 0 and row_key in too_large
            else None
            for row_key, delta_bytes in added
        ]

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add the new sizes of changed collections, as computed by `refusals`; delete rows of empty collections."""
        for row_key, size_bytes in draft.kept[self].items():
            assert size_bytes >= 0
            if size_bytes:
                draft.batch.put(row_key, layout.encode_counter(size_bytes))
            else:
                draft.batch.delete(row_key)


def collection_size_bytes(engine: Engine, table: OpenTable, key: Key) -> int:
    """Size of the item collection that `key` belongs to. Raises StorageCorruption and the engine's bare exceptions."""
    return _size_bytes(engine, layout.collection_key(table.source_id, partition_prefix(key)))


def _size_bytes(engine: Engine, row_key: bytes) -> int:
    row = engine.get(row_key)
    return 0 if row is None else layout.decode_counter(row)


def _row_key(change: Change) -> bytes:
    return layout.collection_key(change.table.source_id, partition_prefix(change.key))
