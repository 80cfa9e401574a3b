"""How do tools read a store that no server has open? Locked, read-only, as recovery would leave it;
nothing in its folder is changed.

So the folder need not be writable: it may be a backup on a read-only disk.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from hashrange.errors import StorageFormatUnknown
from hashrange.store.embedded import files, identity, layout
from hashrange.store.embedded.engine import Engine, open_beside
from hashrange.store.embedded.engine_errors import READING, storage_errors
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.embedded.recovery import first_hole, replayed_logs, require_no_loss, torn_logs
from hashrange.tables.open_table import OpenTable


@contextmanager
def read_offline(data_dir: str) -> Iterator[Engine]:
    """Open the engine of a data folder for reading, in a `with` block.

    Exceptions raised in the block become StorageErrors, except HashrangeErrors. Raises StorageLocked while a server or
    another tool has the folder open, FolderUnfit if it holds no store, StorageFormatUnknown, or another StorageError.
    """
    named = files.by_name(data_dir)
    files.require_way_in(named)
    if files.has_former_engine(named):
        raise files.FolderUnfit(
            f"The server of {data_dir} died while it returned to a snapshot. Start a server on the folder, which puts"
            " its data back, and end it."
        )
    if not files.has_engine(named):
        raise files.FolderUnfit(f"{data_dir} holds no Hashrange data. Name the folder given to --data-dir.")
    lock = identity.lock_for_reading(data_dir)
    folder = named.engine
    try:
        with storage_errors(data_dir, READING):
            torn = torn_logs(folder)
            hole = first_hole(folder, torn)
            with closing(open_beside(folder, replayed_logs(folder, torn, hole))) as engine:
                require_no_loss(named, hole, engine.latest_sequence_number())
                version = format_version(engine)
                if version not in layout.READ_VERSIONS:
                    raise StorageFormatUnknown(f"{data_dir} has format {version}, not {layout.FORMAT_VERSION}.")
                yield engine
    finally:
        lock.release()


def format_version(engine: Engine) -> int:
    """The folder's format version; 0 if none is stored."""
    return int.from_bytes(engine.get(layout.FORMAT_KEY) or b"", "big")


def read_tables(engine: Engine) -> list[OpenTable]:
    """Every table of the catalog, in order of table id. Raises StorageCorruption and the engine's bare exceptions."""
    return [OpenTable(layout.decode_table(row)) for _, row in scan_prefix(engine, layout.CATALOG_PREFIX)]
