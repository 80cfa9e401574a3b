"""What does a data folder hold? Returns statistics and single items as data; the command line prints them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hashrange.errors import StorageError
from hashrange.items.rows import decode_row
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.store.embedded import files, layout
from hashrange.store.embedded.documents import long_documents
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.offline import format_version, read_offline, read_tables
from hashrange.store.embedded.pieces import document_pieces
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.embedded.statistics import NO_ROWS, TableStatistics, read_statistics
from hashrange.store.statistics import Statistics
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import SOURCE_BYTES, make_source_id, table_prefix
from hashrange.written.names import did_you_mean


class StoreOverview(NamedTuple):
    """Summary of a data folder."""

    format_version: int
    disk_size_bytes: int
    """Size of all files of the folder, logs included."""
    row_count: int
    """Rows of items and of index entries, by the stored statistics."""
    tables: list[tuple[OpenTable, Statistics]]
    """Tables with the statistics of their own rows, ordered by table id."""
    documents: list[tuple[str, bytes]]
    """Name and value of the documents that were asked for, in order of their names."""
    kept: dict[str, Statistics]
    """Owner → statistics of the rows that are kept for it."""


def inspect_store(data_dir: str, *prefixes: str) -> StoreOverview:
    """Summarise a data folder that no server has open, with its documents whose names begin with one of these
    prefixes. Quick at any size, because item counts and sizes are the stored statistics. Raises StorageError.
    """
    with read_offline(data_dir) as engine:
        statistics = read_statistics(engine)
        found = [(table, statistics.get(layout.table_range(table.table_id)[0], {})) for table in read_tables(engine)]
        tables = [(table, Statistics(*by_source.get(table.source_id, NO_ROWS))) for table, by_source in found]
        return StoreOverview(
            format_version(engine),
            files.folder_size_bytes(data_dir),
            sum(
                count
                for _, by_source in found
                for source_id, (count, _) in by_source.items()
                if len(source_id) == SOURCE_BYTES
            ),
            tables,
            sorted(_documents(engine, prefixes)),
            _kept(engine, statistics),
        )


def _documents(engine: Engine, prefixes: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for prefix in prefixes:
        for engine_key, document in scan_prefix(engine, layout.DOCUMENT_PREFIX + prefix.encode()):
            yield engine_key[len(layout.DOCUMENT_PREFIX) :].decode(), document
    for name, long in long_documents(engine):
        if name.startswith(tuple(prefixes)):
            yield name, b"".join(document_pieces(engine, name, long))


def _kept(engine: Engine, statistics: dict[bytes, TableStatistics]) -> dict[str, Statistics]:
    found: dict[str, Statistics] = {}
    for engine_key, _ in scan_prefix(engine, layout.KEPT_PREFIX):
        place = engine_key[len(layout.KEPT_PREFIX) :]
        source_id = make_source_id(int.from_bytes(place[:4], "big"))
        figures = statistics.get(table_prefix(source_id), {}).get(source_id, NO_ROWS)
        found[place[4:].decode()] = Statistics(*figures)
    return found


def inspect_row(data_dir: str, table_name: str, key: dict[str, dict[str, str]]) -> list[tuple[OpenTable, Item | None]]:
    """Each table named `table_name`, of any account and Region, with its item at `key` (wire form); None: no item.

    Raises StorageError, such as when no table has that name or a server has the folder open; RequestFault,
    ValidationException or Malformed when `key` is no key or does not fit a table.
    """
    canonical, _ = check_item(key)
    with read_offline(data_dir) as engine:
        tables = read_tables(engine)
        found = [table for table in tables if table.name == table_name]
        if not found:
            near = did_you_mean(table_name, [table.name for table in tables])
            raise StorageError(
                f"{data_dir} has no table {table_name}.{near} `hashrange inspect {data_dir}` lists them."
            )
        keys = [(table, table.lookup_key(canonical)) for table in found]
        rows = [(table, engine.get(table.source_id + encoded)) for table, encoded in keys]
        return [(table, None if row is None else decode_row(row)) for table, row in rows]
