"""Which tables exist? The catalog of an embedded store: rows on disk, dicts in memory.

Every change is one commit of the store; the dicts follow only once it has been written. The views that `tables` gives
out stay the same objects for the store's life, whatever happens to the engine.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from hashrange.errors import ResourceNotFoundException, StorageError
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine, new_batch
from hashrange.store.embedded.figures import Figures
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.schema import Table
from hashrange.tables.sources import index_sources

T = TypeVar("T")


class Committer(Protocol):
    """What the catalog needs of its store."""

    figures: Figures

    def commit_batch(self, batch: Engine) -> None:
        """Write one batch; raises StorageBusy when it must be tried again later."""
        ...

    async def attempt(self, step: Callable[[], T]) -> T:
        """Run `step`, which does not suspend, and again from its beginning as long as it raises StorageBusy."""
        ...

    def forget(self, lower: bytes, upper: bytes) -> None:
        """Drop what is known of sources that are gone."""
        ...

    def watch(self, table: Table) -> None:
        """Hear of a table that has other indexes than before."""
        ...


class EmbeddedCatalog:
    """The tables, by (account, Region, name)."""

    def __init__(self, store: Committer) -> None:
        self._store = store
        self._tables: dict[tuple[str, str], dict[str, Table]] = {}
        self._next_table_id = 1
        self.by_id: dict[int, Table] = {}
        """Every table, by table id."""

    def load(self, engine: Engine) -> None:
        """Read everything from a newly opened engine, into the same views. Raises StorageCorruption."""
        stored = [layout.decode_table(row) for _, row in scan_prefix(engine, layout.CATALOG_PREFIX)]
        counter = engine.get(layout.NEXT_TABLE_ID_KEY)
        for tables in self._tables.values():
            tables.clear()
        self.by_id.clear()
        for table in stored:
            self.adopt(table)
        self._next_table_id = 1 if counter is None else int.from_bytes(counter, "big")

    def find(self, account: str, region: str, name: str) -> Table | None:
        """The table, whatever its state; None when there is none."""
        tables = self._tables.get((account, region))
        return None if tables is None else tables.get(name)

    def tables(self, account: str, region: str) -> Mapping[str, Table]:
        """A live, read-only view: name → table, of one account and Region."""
        return self._tables.setdefault((account, region), {})

    def elsewhere(self, name: str) -> list[tuple[str, str]]:
        """(account, Region) of every table of that name, sorted."""
        return sorted(place for place, tables in self._tables.items() if name in tables)

    def all_tables(self) -> list[Table]:
        """Every table, by table id: for tools."""
        return sorted(self.by_id.values(), key=lambda table: table.table_id)

    def adopt(self, table: Table) -> None:
        """Let a table, just written, be what is known of it."""
        self._of(table)[table.name] = table
        self.by_id[table.table_id] = table

    async def create(self, make: Callable[[int], Table]) -> Table | None:
        """Store `make(table_id)` under the next table id; None (nothing done) when its name is taken."""
        return await self._store.attempt(lambda: self._create(make))

    async def replace(self, old: Table, new: Table) -> bool:
        """Swap `old` for `new`; False (nothing done) when `old` is no longer what is stored."""
        assert (old.table_id, old.account, old.region, old.name) == (new.table_id, new.account, new.region, new.name)
        return await self._store.attempt(lambda: self._replace(old, new))

    async def delete(self, table: Table) -> bool:
        """Remove the table and all its rows in one commit; False when it is no longer what is stored."""
        return await self._store.attempt(lambda: self._delete(table))

    def _create(self, make: Callable[[int], Table]) -> Table | None:
        table_id = self._next_table_id
        if table_id > layout.TABLE_ID_MAX:
            raise StorageError("This store has given out every table id. Move its tables to a new data folder.")
        table = make(table_id)
        assert table.table_id == table_id
        if table.name in self._of(table):
            return None
        batch = new_batch()
        batch.put(layout.catalog_key(table_id), layout.encode_table(table))
        batch.put(layout.NEXT_TABLE_ID_KEY, layout.encode_number(table_id + 1))
        self._store.commit_batch(batch)
        self._next_table_id = table_id + 1
        self.adopt(table)
        return table

    def _replace(self, old: Table, new: Table) -> bool:
        if not self._is_stored(old):
            return False
        if new.next_index_id > layout.INDEX_ID_MAX + 1:
            raise StorageError("This table has given out every index id. Move its items to a new table.")
        kept = {source.source for source in index_sources(new)}
        dropped = [source.source for source in index_sources(old) if source.source not in kept]
        batch = new_batch()
        batch.put(layout.catalog_key(new.table_id), layout.encode_table(new))
        for source in dropped:
            self._delete_sources(batch, source, layout.prefix_end(source))
        self._store.commit_batch(batch)
        self.adopt(new)
        for source in dropped:
            self._store.forget(source, layout.prefix_end(source))
        self._store.watch(new)
        return True

    def _delete(self, table: Table) -> bool:
        if not self._is_stored(table):
            return False
        lower, upper = layout.table_range(table.table_id)
        batch = new_batch()
        batch.delete(layout.catalog_key(table.table_id))
        self._delete_sources(batch, lower, upper)
        self._store.commit_batch(batch)
        del self._of(table)[table.name], self.by_id[table.table_id]
        self._store.forget(lower, upper)
        return True

    def _delete_sources(self, batch: Engine, lower: bytes, upper: bytes) -> None:
        """Delete rows and figures of all sources of one table from `lower` on, before `upper`."""
        self._store.figures.drop_into(batch, lower, upper)
        batch.delete_range(layout.backfill_key(lower), layout.backfill_key(upper))
        batch.delete_range(lower, upper)

    def _is_stored(self, table: Table) -> bool:
        stored = self._of(table).get(table.name)
        return stored is table or stored == table

    def _of(self, table: Table) -> dict[str, Table]:
        return self._tables.setdefault((table.account, table.region), {})


def existing(table: Table | None) -> Table:
    """The table as the catalog has it now. Raises ResourceNotFoundException when it is gone."""
    if table is None:
        raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
    return table
