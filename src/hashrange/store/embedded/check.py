"""Is a data folder intact? Reads every row and verifies the invariants of docs/formats.

- Rows decode, are canonical (re-encode to the same bytes), carry their true size and are stored at their item's key.
- Every item has its index entries, and every entry its item.
- Statistics and sizes of item collections equal a recount.
- Partitions cover all hashes, every table's id is below the next one to be given out, and every row belongs to a table,
  is kept without one, or is read by a copy.
- Every item that expires is in the queue of expiries of its table.
- Each idempotency token has one row in the queue of token expiries, which holds no other rows.
- Streams agree with their tables, and records with items (`check_streams.py`).
- Long documents are whole.
- Copies in progress, kept rows and windows of recovery are sound (`check_copies.py`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

from hashrange.clock import Clock, SystemClock
from hashrange.errors import StorageCorruption
from hashrange.items.row_layout import is_same_item, row_size_bytes
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Key, Row
from hashrange.items.values import check_item
from hashrange.store.embedded import files, layout
from hashrange.store.embedded.check_copies import CopyCheck
from hashrange.store.embedded.check_streams import StreamCheck
from hashrange.store.embedded.delayed_entries import waiting_writes
from hashrange.store.embedded.documents import long_documents
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.engine_errors import READING, storage_error
from hashrange.store.embedded.expiries import expiry_of, has_queue, is_enabling, item_key_of, queue_key, second_of
from hashrange.store.embedded.former_formats import former_delays
from hashrange.store.embedded.late_entries import late_writes
from hashrange.store.embedded.offline import format_version, read_offline, read_tables
from hashrange.store.embedded.partitions import partition_faults
from hashrange.store.embedded.pieces import document_pieces
from hashrange.store.embedded.reading import scan_prefix, scan_range
from hashrange.store.embedded.statistics import NO_ROWS, TableStatistics, read_statistics
from hashrange.store.embedded.tokens import EXPIRY_BYTES
from hashrange.store.embedded.upgrade import PARTITIONS_SINCE_VERSION, PIECES_SINCE_VERSION, STREAMS_SINCE_VERSION
from hashrange.tables.entries import derive_entry
from hashrange.tables.expiry import is_too_old
from hashrange.tables.keys import key_of
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import (
    BEHIND_TABLES,
    FIRST_TABLE,
    SourceId,
    key_in_source,
    partition_prefix,
    source_id_of,
    table_id_of,
    table_prefix,
    vector_lists_id,
)

FAULTS_MAX = 100
"""A check stops after this many faults; further ones rarely add information."""
PROGRESS_ROWS = 10_000


class CheckReport(NamedTuple):
    """The result of a check; a sound folder has an empty list of faults."""

    table_count: int
    row_count: int
    """Rows of items and of index entries; kept rows are none of a table, and not counted."""
    faults: list[str]


def check_store(
    data_dir: str, on_progress: Callable[[int], None] | None = None, clock: Clock | None = None
) -> CheckReport:
    """Verify a data folder that no server has open. 5–10 µs for each row and each index entry.

    `on_progress` gets the number of sound rows so far, every PROGRESS_ROWS rows. `clock`: the clock of the server that
    wrote the folder; None: the machine's. Raises StorageError when the folder cannot be opened or its catalog cannot be
    read.
    """
    faults: list[str] = []
    row_count = 0
    now_seconds = (clock or SystemClock()).service_time()
    with read_offline(data_dir) as engine:
        faults.extend(_check_files(data_dir))
        tables = read_tables(engine)
        try:
            for fault in _check_engine(engine, tables, now_seconds):
                if fault is None:
                    row_count += 1
                    if on_progress is not None and row_count % PROGRESS_ROWS == 0:
                        on_progress(row_count)
                    continue
                faults.append(fault)
                if len(faults) >= FAULTS_MAX:
                    break
        except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
            faults.append(str(storage_error(error, data_dir, READING)))
    return CheckReport(len(tables), row_count, faults)


def _check_files(data_dir: str) -> Iterator[str]:
    """Report folders and broken links where a server opens files such as LOCK; the check opens no such file."""
    for name in files.names_of_non_files(files.engine_folder(data_dir)):
        yield (
            f"{files.ENGINE_FOLDER}/{name} is not a file, so a server may refuse to start:"
            " remove it, the engine makes it anew"
        )


def _check_engine(engine: Engine, tables: list[OpenTable], now_seconds: float) -> Iterator[str | None]:
    """Yield None for each sound row of a table, and one sentence for each fault."""
    yield from _check_catalog(engine, tables)
    by_id = {table.table_id: table for table in tables}
    indexes = IndexCheck(engine, tables)
    yield from [f"source {source_id} is said to be an index that is being built" for source_id in indexes.stray_sources]
    expiries = ExpiryCheck(engine, tables, now_seconds)
    yield from expiries.queue_faults()
    copies = CopyCheck(engine, [table.schema for table in tables])
    counted: dict[bytes, list[int]] = defaultdict(lambda: [0, 0])
    # Every row whose key begins with a table id, whether or not that table exists.
    for engine_key, row in scan_range(engine, FIRST_TABLE, BEHIND_TABLES):
        source_id = source_id_of(engine_key)
        table = by_id.get(table_id_of(source_id))
        if table is not None and table.has_item_collections and source_id == layout.collections_source(source_id):
            continue
        is_loose = table is None and source_id in copies.loose_sources
        fault, size_bytes = _check_row(table, indexes, engine_key, Row(row), is_loose=is_loose)
        if copies.counts(source_id, engine_key):
            statistics = counted[source_id]
            statistics[0] += 1
            statistics[1] += size_bytes
        if fault is not None or not is_loose:
            yield fault
        if table is not None and fault is None and source_id == table.source_id:
            yield from indexes.item_faults(table, key_in_source(engine_key), Row(row))
            yield from expiries.item_faults(table, key_in_source(engine_key), Row(row))
    yield from _check_statistics(engine, counted | indexes.lists)
    yield from _collection_faults(engine, tables)
    if format_version(engine) >= PARTITIONS_SINCE_VERSION:
        yield from partition_faults(engine, [table.schema for table in tables])
    if format_version(engine) >= STREAMS_SINCE_VERSION:
        yield from StreamCheck(engine, [table.schema for table in tables], copies, format_version(engine)).faults()
    yield from copies.faults()
    if format_version(engine) >= PIECES_SINCE_VERSION:
        yield from _document_faults(engine)
    yield from _check_tokens(engine)


def _check_catalog(engine: Engine, tables: list[OpenTable]) -> Iterator[str]:
    is_of_today = format_version(engine) == layout.FORMAT_VERSION
    counter = engine.get(layout.NEXT_TABLE_ID_KEY)
    next_table_id = 1 if counter is None else int.from_bytes(counter, "big")
    names = set()
    for table in tables:
        schema = table.schema
        if not 0 < table.table_id < next_table_id:
            yield f"table {table.name} has id {table.table_id}, but the next id to be given out is {next_table_id}"
        row = engine.get(layout.catalog_key(table.table_id))
        if row is None or (is_of_today and row != layout.encode_table(table.schema)):
            yield f"the description of table {table.name} is not in its canonical form or at another id"
        place = (schema.account, schema.region, schema.name)
        if place in names:
            yield f"two tables are named {table.name} in account {schema.account}, Region {schema.region}"
        names.add(place)


def _check_row(
    table: OpenTable | None, indexes: "IndexCheck", engine_key: bytes, row: Row, *, is_loose: bool
) -> tuple[str | None, int]:
    """The fault of an item's or index entry's row, or None; and the size in bytes it states, 0 if it belongs to
    nothing. `is_loose`: the row may stand without a table.
    """
    place = f"row {engine_key.hex()}"
    if table is None and not is_loose:
        return f"{place} belongs to no table", 0
    place = f"kept {place}" if table is None else f"{place} of table {table.name}"
    size_bytes = row_size_bytes(row)
    try:
        item = decode_row(row)
        canonical, true_size_bytes = check_item(item)
        if not is_same_item(encode_row(canonical, true_size_bytes), row):
            return f"{place} is not in canonical form", size_bytes
        if true_size_bytes != size_bytes or item_size_bytes(item) != size_bytes:
            return f"{place} says {size_bytes} bytes and has {true_size_bytes}", size_bytes
        if table is None:
            return None, size_bytes
        if source_id_of(engine_key) != table.source_id:
            return indexes.entry_fault(table, engine_key, item), size_bytes
        if table.item_key(item) != key_in_source(engine_key):
            return f"{place} does not stand at its item's key", size_bytes
    except Exception as error:  # noqa: BLE001 - any error that damaged bytes cause is a finding
        return f"{place} cannot be read: {type(error).__name__}: {error}", size_bytes
    return None, size_bytes


def _check_statistics(engine: Engine, counted: dict[bytes, list[int]]) -> Iterator[str]:
    stored: TableStatistics = {}
    for table_id, by_source in read_statistics(engine).items():
        for source_id, one in by_source.items():
            if table_prefix(source_id) == table_id:
                stored[source_id] = one
            else:
                yield f"the statistics of source {source_id.hex()} stand with those of table {table_id.hex()}"
    for source_id in sorted(stored.keys() | counted.keys()):
        said_count, said_bytes = stored.get(source_id, NO_ROWS)
        count, size_bytes = counted.get(source_id, [0, 0])
        if (said_count, said_bytes) != (count, size_bytes):
            yield (
                f"source {source_id.hex()} is said to hold {said_count} rows of {said_bytes}"
                f" bytes, and holds {count} of {size_bytes}"
            )


def _check_tokens(engine: Engine) -> Iterator[str]:
    """Report idempotency tokens that are not in the queue of token expiries, and rows of that queue without a token."""
    tokens = {
        row[:EXPIRY_BYTES] + engine_key[len(layout.TOKEN_PREFIX) :]
        for engine_key, row in scan_prefix(engine, layout.TOKEN_PREFIX)
    }
    expiries = {
        engine_key[len(layout.TOKEN_EXPIRY_PREFIX) :]
        for engine_key, _ in scan_prefix(engine, layout.TOKEN_EXPIRY_PREFIX)
    }
    for name in sorted(tokens ^ expiries):
        yield f"the token {name[EXPIRY_BYTES:]!r} has only one of its two rows"


# --- item collections ---------------------------------------------------------------------------


Part = tuple[bytes, int, bytes | None]
"""What `_counted`, `_stored` or `_late` finds of an item collection: the bytes that begin its keys, a part of its
counted size in bytes, and its stored size row, which is None except in results of `_stored`.
"""


def _collection_faults(engine: Engine, tables: Iterable[OpenTable]) -> Iterator[str]:
    """Report item collections whose stored size is wrong. 2 µs per row of a table with local indexes.

    A table's rows, the entries of its local indexes and the stored sizes are read in parallel: their keys begin with
    the same partition keys in the same order, so only the sizes of late entries are kept in memory.
    """
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
    """The size in bytes of each row in one source, in key order."""
    for engine_key, row in scan_prefix(engine, source_id):
        yield partition_prefix(key_in_source(engine_key)), row_size_bytes(Row(row)), None


def _stored(engine: Engine, source_id: bytes) -> Iterator[Part]:
    """The stored size row of each item collection in one table, in key order; with 0 as counted size."""
    for engine_key, row in scan_prefix(engine, source_id):
        yield key_in_source(engine_key), 0, row


def _late(engine: Engine, table: OpenTable, sources: list[SourceId]) -> Iterator[Part]:
    """By how many bytes counted sizes of item collections will grow (or shrink, if negative) through late entries of
    local indexes, which are still to be written; stored sizes include them already.
    """
    indexes: dict[bytes, ReadSource] = {one.source_id: one for one in table.entry_sources}
    for _, write in late_writes(engine, indexes.get):
        if write is not None and write.source.source_id in sources:
            if write.old is not None:
                yield partition_prefix(write.old.key), -row_size_bytes(write.old.row), None
            assert write.new is not None
            yield partition_prefix(write.new.key), row_size_bytes(write.new.row), None


def _said(row: bytes | None) -> str:
    """The words of a fault about an item collection's stored size; `row` None: no size is stored."""
    if row is None:
        return "no row says so"
    if len(row) != layout.NUMBER_BYTES:
        return f"its row has {len(row)} bytes instead of {layout.NUMBER_BYTES}"
    return f"its row says {int.from_bytes(row, 'big')}"


# --- sources that a walk fills ------------------------------------------------------------------


def _covers(positions: dict[bytes, bytes], source_id: bytes, key: Key) -> bool:
    """False if a walk fills the source and has not reached the item at `key`. `positions`: how far each walk is."""
    position = positions.get(source_id)
    return position is None or key <= position


# --- expiries -----------------------------------------------------------------------------------


class ExpiryCheck:
    """Compares items with their tables' queues of expiries. Raises any exception that damaged bytes cause.

    Every item that expires has a row in its table's queue, and only tables with time to live have one. An item that had
    already expired when it was written is queued for a later second, and that row stays when the item is written again.
    So a row's second may differ from its item's expiry; such a row is no fault, and is deleted once it is due. An item
    that expired more than five years ago is never deleted; it may have a row or none. While a walk fills a queue, only
    items that the walk has passed have rows.
    """

    def __init__(self, engine: Engine, tables: Sequence[OpenTable], now_seconds: float) -> None:
        self._engine = engine
        self._now_seconds = now_seconds
        self._tables = {table.source_id: table for table in tables if has_queue(table.schema)}
        self._positions: dict[bytes, bytes] = {
            source_id: engine.get(layout.BACKFILL_PREFIX + source_id) or b""
            for source_id, table in self._tables.items()
            if is_enabling(table.schema)
        }
        self._late: set[bytes] = set()
        """Engine keys of items that have a row in the queue of expiries for a second other than their expiry."""

    def queue_faults(self) -> Iterator[str]:
        """Report rows that must not be in a queue of expiries. Must be exhausted before `item_faults` is called."""
        prefix_bytes = len(layout.TIME_TO_LIVE_PREFIX)
        for engine_key, row in scan_prefix(self._engine, layout.TIME_TO_LIVE_PREFIX):
            place = engine_key[prefix_bytes:]
            source_id = source_id_of(place)
            table = self._tables.get(source_id)
            if table is None:
                yield f"row {engine_key.hex()} of the queue of expiries belongs to no table with time to live"
                continue
            behind = place[len(source_id) :]
            key = item_key_of(behind)
            if row or not _covers(self._positions, source_id, key):
                yield (
                    f"row {engine_key.hex()} of the queue of expiries is not empty, or lies ahead of how far"
                    " the queue has been filled"
                )
                continue
            stored = self._engine.get(source_id + key)
            if stored is None or expiry_of(table, Row(stored)) != second_of(behind):
                self._late.add(source_id + key)

    def item_faults(self, table: OpenTable, key: Key, row: Row) -> Iterator[str]:
        """Report the item if it expires but is not in its table's queue of expiries."""
        if table.source_id not in self._tables or not _covers(self._positions, table.source_id, key):
            return
        expires_seconds = expiry_of(table, row)
        if expires_seconds is None or is_too_old(expires_seconds, self._now_seconds):
            return
        engine_key = layout.TIME_TO_LIVE_PREFIX + table.source_id + queue_key(expires_seconds, key)
        if self._engine.get(engine_key) is None and table.source_id + key not in self._late:
            yield (
                f"row {(table.source_id + key).hex()} of table {table.name} expires and is not in the queue of expiries"
            )


# --- index entries ------------------------------------------------------------------------------


class IndexCheck:
    """Compares items with their index entries. Raises any exception that damaged bytes cause.

    An index that is being built holds the entries of the items that the walk that fills it has passed, and no others.
    Entries that are written later (`delayed_entries.py`), and late entries (`late_entries.py`), count as done.
    """

    def __init__(self, engine: Engine, tables: Sequence[OpenTable]) -> None:
        self._engine = engine
        self._sources: dict[bytes, ReadSource] = {
            source.source_id: source for table in tables for source in table.entry_sources
        }
        prefix_bytes = len(layout.BACKFILL_PREFIX)
        stored: dict[bytes, bytes] = {
            source_id_of(key[prefix_bytes:]): row for key, row in scan_prefix(engine, layout.BACKFILL_PREFIX)
        }
        filled = {table.source_id for table in tables if is_enabling(table.schema)}
        self.stray_sources = sorted(
            source.hex()
            for source in stored
            if source not in filled and (source not in self._sources or not _is_building(self._sources[source]))
        )
        """Hex ids of sources for which a row says how far a walk has filled them, although no walk is filling them."""
        self._waiting: dict[bytes, bytes | None] = {}
        """Engine key of an index entry → its row once delayed and late entries are written; None: deleted."""
        by_id = {table.table_id: table for table in tables}
        former = chain.from_iterable([writes for _, writes in former_delays(engine)])
        late = [write for _, write in late_writes(engine, self._sources.get) if write is not None]
        delayed = [(one.source.source_id, one.old, one.new) for one in [*waiting_writes(engine, by_id.get), *late]]
        for source_id, old, new in chain(former, delayed):
            if old is not None:
                self._waiting[source_id + old.key] = None
            if new is not None:
                self._waiting[source_id + new.key] = new.row
        self._positions = {
            source: stored.get(source, b"") for source, index in self._sources.items() if _is_building(index)
        }
        self.lists: defaultdict[bytes, list[int]] = defaultdict(lambda: [0, 0])
        """Name of further statistics of a vector index → how many items that `item_faults` has seen have entries, and
        the bytes of their vectors as lists.
        """

    def item_faults(self, table: OpenTable, key: Key, row: Row) -> Iterator[str]:
        """Report missing and wrong index entries of the item at `key`."""
        if not table.entry_sources:
            return
        item = decode_row(row)
        for source in table.entry_sources:
            if not _covers(self._positions, source.source_id, key):
                continue
            entry = derive_entry(source, key, item, row)
            if entry is not None and source.vectors is not None:
                lists = self.lists[vector_lists_id(source.source_id)]
                lists[0] += 1
                lists[1] += entry.list_bytes
            if entry is not None and self._entry(source.source_id + entry.key) != entry.row:
                yield (
                    f"row {(table.source_id + key).hex()} of table {table.name} has no entry, or"
                    f" another one, in {_name(source)}"
                )

    def entry_fault(self, table: OpenTable, engine_key: bytes, item: Item) -> str | None:
        """The fault of the index entry `item` at `engine_key` (no such index, no item, a wrong key, or an item that the
        walk has not passed), or None.

        Whether the entry has the right attributes is checked by `item_faults`.
        """
        source = self._sources.get(source_id_of(engine_key))
        if source is None:
            return f"row {engine_key.hex()} belongs to no index of table {table.name}"
        if engine_key in self._waiting:
            return None
        place = f"entry {engine_key.hex()} in {_name(source)} of table {table.name}"
        key = table.lookup_key(key_of(table.keys, item))
        row = self._engine.get(table.source_id + key)
        if row is None:
            return f"{place} has no item"
        if not _covers(self._positions, source.source_id, key):
            return f"{place} lies ahead of how far the index has been built"
        derived = derive_entry(source, key, decode_row(row), row)
        if derived is None or source.source_id + derived.key != engine_key:
            return f"{place} is not where its item's entry stands"
        return None

    def _entry(self, engine_key: bytes) -> bytes | None:
        """The row of the index entry at `engine_key` once delayed and late entries are written, or None."""
        if engine_key in self._waiting:
            return self._waiting[engine_key]
        row: bytes | None = self._engine.get(engine_key)
        return row


def _is_building(source: ReadSource) -> bool:
    index = source.index if source.vectors is None else source.vectors.index
    return index is not None and index.state == "CREATING"


def _name(source: ReadSource) -> str:
    index = source.index if source.vectors is None else source.vectors.index
    assert index is not None
    return f"index {index.name}"


# --- long documents -----------------------------------------------------------------------------


def _document_faults(engine: Engine) -> Iterator[str]:
    """A sentence for each document that is not whole, is stored twice, or is too long for its row.

    The pieces of a long document have the lengths that the row that leads to them says. Pieces that nothing leads to
    are no fault: a kill leaves them behind, and the next server deletes them.
    """
    short = set()
    for engine_key, row in scan_prefix(engine, layout.DOCUMENT_PREFIX):
        name = engine_key[len(layout.DOCUMENT_PREFIX) :].decode()
        short.add(name)
        if len(row) > layout.DOCUMENT_ROW_BYTES_MAX:
            yield f"the row of the document {name} has {len(row)} bytes, more than {layout.DOCUMENT_ROW_BYTES_MAX}"
    try:
        for name, long in long_documents(engine):
            if name in short:
                yield f"the document {name} is stored both in one row and in pieces"
            try:
                for _ in document_pieces(engine, name, long):
                    pass
            except StorageCorruption as error:
                yield str(error)
    except StorageCorruption as error:
        yield str(error)
