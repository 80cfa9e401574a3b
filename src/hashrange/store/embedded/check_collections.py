"""Does each item collection have the size that its row says? Recounts items and entries of local indexes.

A table's rows, the entries of its local indexes and the stored sizes are read in parallel: their keys begin with the
same partition keys in the same order, so only the sizes of late entries are kept in memory.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter

from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.late_entries import late_writes
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import SourceId, key_in_source, partition_prefix

Part = tuple[bytes, int, bytes | None]
"""What `_counted`, `_stored` or `_late` finds of an item collection: the bytes that begin its keys, a part of its
counted size in bytes, and its stored size row, which is None except in results of `_stored`.
"""


def collection_faults(engine: Engine, tables: Iterable[OpenTable]) -> Iterator[str]:
    """Report item collections whose stored size is wrong. 1 µs per row of a table with local indexes."""
    for table in tables:
        if not table.has_item_collections:
            continue
        local = [one.source_id for one in table.indexes if one.index is not None and not one.index.is_global]
        parts: list[Iterable[Part]] = [_counted(engine, source_id) for source_id in (table.source_id, *local)]
        parts.append(_stored(engine, layout.collections_source(table.source_id)))
        parts.append(sorted(_late(engine, table, local)))
        for prefix, group in groupby(merge(*parts, key=itemgetter(0)), key=itemgetter(0)):
            size_bytes = 0
            stored = None
            for _, counted_bytes, row in group:
                size_bytes += counted_bytes
                stored = stored if row is None else row
            if stored != (layout.encode_counter(size_bytes) if size_bytes else None):
                yield (
                    f"the item collection {prefix.hex()} of table {table.name} has {size_bytes}"
                    f" bytes, and {_said(stored)}"
                )


def _counted(engine: Engine, source_id: bytes) -> Iterator[Part]:
    """The size in bytes of each item collection in one source, recounted, in key order."""
    prefix = None
    size_bytes = 0
    for engine_key, row in scan_prefix(engine, source_id):
        own_prefix = partition_prefix(key_in_source(engine_key))
        if own_prefix != prefix:
            if prefix is not None:
                yield prefix, size_bytes, None
            prefix, size_bytes = own_prefix, 0
        size_bytes += row_size_bytes(Row(row))
    if prefix is not None:
        yield prefix, size_bytes, None


def _stored(engine: Engine, source_id: bytes) -> Iterator[Part]:
    """The stored size row of each item collection in one table, in key order; with 0 as counted size."""
    for engine_key, row in scan_prefix(engine, source_id):
        yield key_in_source(engine_key), 0, row


def _late(engine: Engine, table: OpenTable, sources: list[SourceId]) -> Iterator[Part]:
    """By how many bytes counted sizes of item collections will grow (or shrink, if negative) through late entries of
    local indexes, which are still to be written; stored sizes include them already.
    """
    indexes: dict[bytes, ReadSource] = {one.source_id: one for one in table.indexes}
    for _, write in late_writes(engine, indexes.get):
        if write is not None and write.source_id in sources:
            if write.old_key is not None and write.old_header is not None:
                yield partition_prefix(Key(write.old_key)), -row_size_bytes(Row(write.old_header)), None
            assert write.new_key is not None
            assert write.new_row is not None
            yield partition_prefix(Key(write.new_key)), row_size_bytes(Row(write.new_row)), None


def _said(row: bytes | None) -> str:
    """The words of a fault about an item collection's stored size; `row` None: no size is stored."""
    if row is None:
        return "no row says so"
    if len(row) != layout.NUMBER_BYTES:
        return f"its row has {len(row)} bytes instead of {layout.NUMBER_BYTES}"
    return f"its row says {int.from_bytes(row, 'big')}"
