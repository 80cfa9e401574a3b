"""A table with a local index, accessed through the store alone: for tests of item collections."""

from pathlib import Path

from msgspec.structs import replace

from hashrange.clock import SystemClock
from hashrange.items.rows import encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Key, Row
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.participant import Options
from hashrange.store.interface import Transacted, TransactionStep
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index, IndexProjection, KeySchema
from hashrange.tables.source_id import COLLECTIONS_INDEX_ID
from tests.support.samples import finish, table_maker

LIMIT_BYTES = 100
LOCAL = Index(
    1, "local", is_global=False, keys=KeySchema(("pk",), ("S",), ("l",), ("S",)), projection=IndexProjection("ALL")
)


def item(sort: str, size_bytes: int, partition: str = "p", **attributes: str) -> Item:
    """An item of `size_bytes` bytes; with the attribute `l` it has an index entry of the same size."""
    made: Item = {name: {"S": value} for name, value in {"pk": partition, "sk": sort, **attributes}.items()}
    return made | {"a": {"S": "x" * (size_bytes - item_size_bytes(made) - 1)}}


class Collections:
    """A store with the tables `orders`, which has a local index, and `plain`, which has none."""

    def __init__(self, data_dir: Path | None = None) -> None:
        self.data_dir = None if data_dir is None else str(data_dir)
        self.open()
        self.table = self.created("orders", (LOCAL,))
        self.plain = self.created("plain", ())

    def open(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.store: EmbeddedStore = open_store(self.data_dir, SystemClock(), None, Options(None, limit_bytes))

    def created(self, name: str, indexes: tuple[Index, ...]) -> OpenTable:
        make = table_maker(name)
        next_index_id = len(indexes) + 1
        table = finish(
            self.store.catalog.create(
                lambda table_id: replace(make(table_id), indexes=indexes, next_index_id=next_index_id)
            )
        )
        assert table is not None
        return table

    def key(self, of: Item) -> Key:
        return self.table.item_key(of)

    def put(self, new: Item, table: OpenTable | None = None) -> Change:
        row = encode_row(new, item_size_bytes(new))
        return finish(self.store.mutate(table or self.table, self.key(new), lambda _: row))

    def delete(self, old: Item) -> Change:
        return finish(self.store.mutate(self.table, self.key(old), lambda _: None))

    def step(self, new: Item, table: OpenTable | None = None) -> TransactionStep:
        """A transaction step that puts the item."""
        row = encode_row(new, item_size_bytes(new))
        return TransactionStep(table or self.table, self.key(new), lambda _: row)

    def transact(self, *steps: TransactionStep) -> Transacted:
        return finish(self.store.transact(steps, None))

    def size_bytes(self, partition: str = "p") -> int:
        key = self.key(item("any", 50, partition))
        return finish(self.store.collection_size_bytes(self.table, key))

    def rows(self) -> dict[bytes, bytes]:
        """Engine key → row, for all sizes of item collections."""
        found: dict[bytes, bytes] = dict(self.store.engine.items())
        return {key: row for key, row in found.items() if key[4:6] == COLLECTIONS_INDEX_ID}


def row_of_item(of: Item) -> Row:
    return encode_row(of, item_size_bytes(of))
