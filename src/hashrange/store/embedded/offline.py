"""How do tools read a store that no server has open? Locked, read-only, as recovery would leave it;
nothing in its folder is changed.

So the folder need not be writable: it may be a backup on a read-only disk.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from hashrange.errors import HashrangeError, StorageFormatUnknown
from hashrange.store.embedded import files, identity, layout
from hashrange.store.embedded.engine import Engine, open_read_only
from hashrange.store.embedded.engine_errors import READING, storage_error
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
    folder, head = named.engine, ""
    try:
        torn = torn_logs(folder)
        hole = first_hole(folder, torn)
        logs = replayed_logs(folder, torn, hole)
        head = files.copy_head(folder, logs)
        engine = open_read_only(folder, head, has_logs=bool(logs))
        try:
            require_no_loss(named, hole, engine.latest_sequence_number())
            version = format_version(engine)
            if version not in layout.READ_VERSIONS:
                raise StorageFormatUnknown(f"{data_dir} has format {version}, not {layout.FORMAT_VERSION}.")
            yield engine
        finally:
            engine.close()
    except HashrangeError:
        raise
    except Exception as error:
        told = str(error).replace(head, folder) if head else str(error)
        raise storage_error(Exception(told), data_dir, READING) from error
    finally:
        if head:
            files.remove_folder(head)
        lock.release()


def format_version(engine: Engine) -> int:
    """The folder's format version; 0 if none is stored."""
    return int.from_bytes(engine.get(layout.FORMAT_KEY) or b"", "big")


def read_tables(engine: Engine) -> list[OpenTable]:
    """Every table of the catalog, in order of table id. Raises StorageCorruption and the engine's bare exceptions."""
    return [OpenTable(layout.decode_table(row)) for _, row in scan_prefix(engine, layout.CATALOG_PREFIX)]
