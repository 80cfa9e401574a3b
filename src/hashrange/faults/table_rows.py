"""Which table or index has a source id? Found in the catalog, and remembered until a table has changed."""

from typing import NamedTuple

from hashrange.items.types import Item, Key
from hashrange.store.interface import Catalog
from hashrange.tables.open_table import OpenTable, ReadSource


class TableRows(NamedTuple):
    """A table's rows, or an index's entries, with the table."""

    table: OpenTable
    read: ReadSource
    """What is read: the table's own source, or the index's."""

    @property
    def index_name(self) -> str | None:
        """Name of the index; None for a table's rows."""
        return None if self.read.index is None else self.read.index.name

    @property
    def is_local_index(self) -> bool:
        """True for the entries of a local index."""
        return self.read.index is not None and not self.read.index.is_global

    def key_of(self, item: Item) -> Key:
        """The key at which the item of a row, or the attributes of an entry, are stored."""
        own_key, entry_key = self.table.item_key(item), self.read.entry_key
        if entry_key is None:
            return own_key
        key = entry_key(item, own_key)
        assert key is not None, "what an index shows is an entry"
        return key


class TableRowsById:
    """All tables of a catalog, and their indexes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.known: dict[bytes, TableRows] = {}
        """Source id → table or index, of all that there were when `find` last looked into the catalog."""

    def find(self, source_id: bytes) -> TableRows | None:
        """The table or index with this source id; None if it has been deleted meanwhile."""
        found = self.known.get(source_id)
        if found is None or not self._is_current(found.table):
            self.known = {
                bytes(read.source_id): TableRows(table, read)
                for table in self._catalog.all_tables()
                for read in (table.table_source, *table.indexes)
            }
            found = self.known.get(source_id)
        return found

    def _is_current(self, table: OpenTable) -> bool:
        schema = table.schema
        return self._catalog.find(schema.account, schema.region, schema.name) is table
