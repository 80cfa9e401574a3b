"""How is a data folder copied that no server has open? Locked, and as it is: nothing in it changes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hashrange.clock import SystemClock
from hashrange.store.copying import StoredFile
from hashrange.store.embedded.engine_errors import READING, storage_errors
from hashrange.store.embedded.offline import format_version, read_offline
from hashrange.store.embedded.store_files import list_files, read_piece
from hashrange.store.repository.folder import PIECE_BYTES


class ClosedStore:
    """A locked data folder; a `CopiedStore`."""

    def __init__(self, data_dir: str, store_format: int) -> None:
        """Raises OSError."""
        self.place = data_dir
        self.service_seconds = SystemClock().service_time()
        self.store_format = store_format
        self.files: Sequence[StoredFile] = list_files(data_dir)

    def pieces(self, file: StoredFile) -> Iterator[bytes]:
        """The content of a file. Raises StorageError."""
        offset = 0
        while True:
            with storage_errors(self.place, READING):
                piece = read_piece(self.place, file.name, offset, PIECE_BYTES)
            if not piece:
                return
            offset += len(piece)
            yield piece


@contextmanager
def opened_folder(data_dir: str) -> Iterator[ClosedStore]:
    """A data folder that is locked in a `with` block. Raises StorageLocked while a server or a tool has it open,
    FolderUnfit if it holds no store, or another StorageError.
    """
    with read_offline(data_dir) as engine:
        yield ClosedStore(data_dir, format_version(engine))
