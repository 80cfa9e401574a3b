"""How is a file written so that a command can go on with it? Piece by piece, and cut behind the last piece that counts.

A piece is given to the operating system before the command keeps that it is written. So a kill of the process loses
none of them. A power failure of the machine may.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Self

from hashrange.toolkit.failures import ToolkitFailure, UsageFault


class OutputFile:
    """A file that is written; a context manager."""

    def __init__(self, path: str, size_bytes: int | None = None) -> None:
        """`size_bytes`: where the file is cut to be gone on with; None: a new file. Raises UsageFault."""
        self._path = path
        try:
            self._file: BinaryIO = open(path, "wb" if size_bytes is None else "r+b")  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise UsageFault(f"the file {path} cannot be written: {error.strerror}. Name another one.") from None
        if size_bytes is not None:
            if os.fstat(self._file.fileno()).st_size < size_bytes:
                self._file.close()
                raise UsageFault(f"the file {path} is shorter than it was, so nothing can be added. Begin again.")
            self._file.truncate(size_bytes)
            self._file.seek(size_bytes)
        self.size_bytes = size_bytes or 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, piece: bytes) -> None:
        """Add a piece. Raises ToolkitFailure."""
        with worded(self._path):
            self._file.write(piece)
            self._file.flush()
        self.size_bytes += len(piece)


@contextmanager
def worded(path: str) -> Iterator[None]:
    """Raise an OSError of a write as ToolkitFailure."""
    try:
        yield
    except OSError as error:
        raise ToolkitFailure(f"the file {path} cannot be written: {error.strerror}. Make room for it.") from error
