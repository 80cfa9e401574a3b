"""What can be read by key? A source: the rows of a table, or the entries of one of its indexes.

A key of a source, in bytes (docs/formats/keys.md):

    partition ‖ a component for each sort key attribute          the table's rows
    partition ‖ a component for each sort key attribute ‖ key    an index's entries, which end with their item's key

so entries with equal index keys stand apart, in the order of their items' keys.
Derived once per table and kept beside it; must not know rows.
"""

import msgspec

from hashrange.tables.entry_keys import EntryKey, entry_key_function
from hashrange.tables.schema import Index, KeySchema, Table
from hashrange.tables.source_id import SourceId, source_id


class ReadSource(msgspec.Struct, frozen=True, gc=False):
    """A table's rows (`index` is None) or an index's entries."""

    source: SourceId
    """The 6 bytes that name it in the store: table id ‖ index id."""
    table: Table
    index: Index | None
    keys: KeySchema
    key_names: tuple[str, ...]
    """Its own key attributes, partition key first."""
    start_names: tuple[str, ...]
    """Attributes of a continue key: the index's key attributes, then the table's that are not among them."""
    projected_names: frozenset[str] | None
    """Attributes that an entry carries, keys included; None for all."""
    entry_key: EntryKey | None = None
    """Of an index."""


def read_source(table: Table, index_name: str | None) -> ReadSource | None:
    """The table, or its index of that name; None when there is no such index. Worked out once per table, and kept."""
    if index_name is None:
        source: ReadSource | None = table.__dict__.get("own_read_source")
        if source is None:
            source = table.__dict__["own_read_source"] = _table_source(table)
        return source
    return next((source for source in index_sources(table) if source.index and source.index.name == index_name), None)


def index_sources(table: Table) -> tuple[ReadSource, ...]:
    """The indexes of a table, but for those being deleted, in their order. Worked out once per table, and kept."""
    sources: tuple[ReadSource, ...] | None = table.__dict__.get("index_read_sources")
    if sources is None:
        sources = tuple([_index_source(table, index) for index in table.indexes if index.state != "DELETING"])
        table.__dict__["index_read_sources"] = sources
    return sources


def index_source_id(table: Table, index: Index) -> SourceId:
    """The 6 bytes that name an index's entries in the store."""
    return source_id(table.table_id, index.index_id)


def _table_source(table: Table) -> ReadSource:
    keys = table.keys
    names = keys.partition_names + keys.sort_names
    return ReadSource(table.source, table, None, keys, names, names, None)


def _index_source(table: Table, index: Index) -> ReadSource:
    own_names = index.keys.partition_names + index.keys.sort_names
    table_names = table.keys.partition_names + table.keys.sort_names
    start_names = tuple(dict.fromkeys(own_names + table_names))
    source = index_source_id(table, index)
    projection = index.projection
    projected_names = None if projection.kind == "ALL" else frozenset(start_names + projection.non_key_names)
    entry_key = entry_key_function(index.keys)
    return ReadSource(source, table, index, index.keys, own_names, start_names, projected_names, entry_key)
