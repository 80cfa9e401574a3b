"""What is a table for code that reads and writes items? An opened schema:
key functions and sources are derived from it once.

A catalog opens a table when it is created, changed or found in the data folder, and returns the opened table. Code that
describes or changes a table uses its schema. This module must not know rows.

A key of a source, in bytes (docs/formats/keys.md):

    partition key ‖ a component for each sort key attribute          the table's rows
    partition key ‖ a component for each sort key attribute ‖ key    an index's entries; `key` is that of the item

So entries with equal index keys have different keys, in the order of their items' keys.
"""

from collections.abc import Mapping, Sequence
from math import inf

import msgspec

from hashrange.items.types import Item
from hashrange.tables.entry_keys import EntryKey, entry_key_function
from hashrange.tables.keys import key_functions
from hashrange.tables.partitions import Partition, first_partitions
from hashrange.tables.schema import Index, KeySchema, KeyType, Table, VectorIndex
from hashrange.tables.source_id import SourceId, make_source_id
from hashrange.tables.streams import images_of, view_types_on

FEW_ENTRY_STEPS = 16
"""A write to a table whose indexes take up to this many steps counts none for them: counting takes 0.05 µs."""


class IndexedVectors(msgspec.Struct, frozen=True):
    """A vector index, with what follows from it and its table for the entries of items."""

    index: VectorIndex
    hash_name: str | None
    """The attribute by whose value a search chooses a part of the index; None if the index has none."""
    hash_type: KeyType | None
    filter_types: tuple[tuple[str, KeyType], ...]
    """Name and type of each INLINE_FILTER attribute."""


class ReadSource(msgspec.Struct, frozen=True):
    """A source to read by key: a table's rows (`index` and `vectors` are None) or an index's entries.

    A source does not refer to its table, which refers to it: only the garbage collector would free such a cycle.
    A table with twenty indexes has 400 objects, and with eight clients that create and delete tables, the collector
    would stop everything for 100 ms.
    """

    source_id: SourceId
    """The source's 6 bytes in the store: table id ‖ index id."""
    index: Index | None
    keys: KeySchema
    key_names: tuple[str, ...]
    """Key attributes of the table or index, partition key first."""
    start_key_names: tuple[str, ...]
    """Attributes of an ExclusiveStartKey: the index's key attributes, then those of the table's key attributes that the
    index lacks."""
    projected_names: frozenset[str] | None
    """Attributes that an entry holds, keys included; None if all, and for a table's rows."""
    entry_key: EntryKey | None = None
    """Makes the keys of the index's entries; None for the source of a table's rows."""
    is_global: bool = False
    """True for a global index."""
    vectors: IndexedVectors | None = None
    """The vector index whose entries these are; None for all other sources."""


def projected_attributes(item: Item, names: frozenset[str]) -> Item:
    """The attributes of the item that have one of these names, in any order. Walks the fewer of both."""
    if len(names) < len(item):
        return {name: item[name] for name in names if name in item}
    return {name: value for name, value in item.items() if name in names}


def _entry_steps(source: ReadSource) -> int:
    """Steps of deriving the keys of an item's entries before and after a write."""
    return 2 + 2 * len(source.key_names if source.vectors is None else source.vectors.filter_types)


class OpenTable:
    """An opened table. Immutable: a change to the schema or the partitions makes a new opened table."""

    def __init__(self, schema: Table, partitions: Mapping[bytes, Sequence[Partition]] | None = None) -> None:
        """`partitions`: each source's partitions in order of their hashes; None: each source has one partition."""
        self.schema = schema
        self.table_id = schema.table_id
        self.name = schema.name
        self.source_id = schema.source_id
        self.keys = keys = schema.keys
        self.partition_name = keys.partition_names[0]
        self.sort_name = keys.sort_names[0] if keys.sort_names else None
        self.has_item_collections = schema.has_item_collections
        is_served = schema.deleted_at_seconds is None and not schema.is_filling
        self.serves_from_seconds = schema.active_at_seconds if is_served else inf
        """Service time from which items are served; infinity while the table is being deleted or restored."""
        self.usual_key, self.lookup_key, self.item_key = key_functions(keys)
        names = keys.names
        self.expiry_name = None if schema.time_to_live is None else schema.time_to_live.attribute
        """Name of the time to live attribute; None if the table never had one."""
        self.followed_names = tuple(dict.fromkeys(names if self.expiry_name is None else (*names, self.expiry_name)))
        """Names of the attributes that participants use of a Change's items:
        of the table's own key and of time to live."""
        self.table_source = ReadSource(self.source_id, None, keys, names, names, None)
        self.indexes = tuple([self._index_source(index) for index in schema.indexes if index.state != "DELETING"])
        """Sources of the indexes, in the schema's order, except those being deleted."""
        by_name = sorted(schema.indexes, key=lambda index: index.name)
        self.index_keys = tuple([(index, index.keys.attributes) for index in by_name])
        """Each index, in alphabetical order, with names and types of its key attributes, partition key first."""
        self.vector_sources = tuple(
            [self._vector_source(index) for index in schema.vector_indexes if index.state != "DELETING"]
        )
        """Sources of the vector indexes, in the schema's order, except those being deleted."""
        self.vector_attributes = {
            one.attribute: one.dimensions for one in schema.vector_indexes if one.state != "DELETING"
        }
        """Name of each vector attribute → how many dimensions its vectors have."""
        vectors = [one.vectors for one in self.vector_sources if one.vectors is not None]
        self.checked_vectors = tuple(sorted(vectors, key=lambda one: one.index.name))
        """The vector indexes in alphabetical order, except those being deleted."""
        self.checks_items = bool(self.index_keys or self.checked_vectors)
        """True if an item must fit an index of the table."""
        self.entry_sources = self.indexes + self.vector_sources
        """All sources that hold entries of the table's items."""
        entry_steps = sum([_entry_steps(one) for one in self.entry_sources])
        self.entry_steps = entry_steps if entry_steps > FEW_ENTRY_STEPS else 0
        """Steps of deriving what a write changes in all indexes, without the attributes that they project; 0 if at most
        FEW_ENTRY_STEPS, which are not counted.
        """
        self.log_images = images_of(view_types_on(schema))
        """The images that the streams need that are on."""
        self.partitions: Mapping[bytes, Sequence[Partition]] = {
            one.source_id: first_partitions(one.source_id) if partitions is None else partitions[one.source_id]
            for one in (self.table_source, *self.entry_sources)
        }
        """The partitions of each source, in order of their hashes."""

    def read_source(self, index_name: str | None) -> ReadSource | None:
        """The source of the table (`index_name` None) or of an index; None if the index is missing or being deleted."""
        if index_name is None:
            return self.table_source
        return next((one for one in self.indexes if one.index is not None and one.index.name == index_name), None)

    def vector_source(self, index_name: str) -> ReadSource | None:
        """The source of a vector index; None if the index is missing or being deleted."""
        named = (one for one in self.vector_sources if one.vectors is not None and one.vectors.index.name == index_name)
        return next(named, None)

    def _vector_source(self, index: VectorIndex) -> ReadSource:
        types = self.schema.attribute_types
        hash_name = index.hash_name
        hash_type = None if hash_name is None else types[hash_name]
        filters = tuple([(one.name, types[one.name]) for one in index.search_schema if one.kind == "INLINE_FILTER"])
        names = (*self.keys.names, index.attribute, *index.search_names, *index.projection.non_key_names)
        projected_names = None if index.projection.kind == "ALL" else frozenset(names)
        vectors = IndexedVectors(index, hash_name, hash_type, filters)
        source_id = make_source_id(self.table_id, index.index_id)
        return ReadSource(source_id, None, self.keys, (), (), projected_names, vectors=vectors)

    def _index_source(self, index: Index) -> ReadSource:
        own_names = index.keys.names
        start_key_names = tuple(dict.fromkeys(own_names + self.keys.names))
        projection = index.projection
        projected_names = None if projection.kind == "ALL" else frozenset(start_key_names + projection.non_key_names)
        return ReadSource(
            make_source_id(self.table_id, index.index_id),
            index,
            index.keys,
            own_names,
            start_key_names,
            projected_names,
            entry_key_function(index.keys),
            index.is_global,
        )
