"""How is an object's file read? By its descriptor, so it stays what it was when another file takes its name."""

import errno
import os
import stat

_NO_FILE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EMLINK))
"""There is nothing, nothing that this user may read, a link, a pipe that nobody writes, or a folder."""


class OpenFile:
    """An open file, which is closed when nobody knows it any more."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def state(self) -> os.stat_result:
        """What the file system says of it."""
        return os.fstat(self._descriptor)

    def seek(self, start: int) -> None:
        """Read on from this byte."""
        os.lseek(self._descriptor, start, os.SEEK_SET)

    def read(self, size_bytes: int) -> bytes:
        """The next bytes; none at the end. Raises OSError, also once it is closed."""
        return os.read(self._descriptor, size_bytes)

    def close(self) -> None:
        """Close the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


def open_regular(path: str) -> OpenFile | None:
    """An open file; None if there is none, or if it is a link, a pipe or anything else that is no file.
    Raises OSError.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = OpenFile(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)))
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise
    if not stat.S_ISREG(file.state().st_mode):
        file.close()
        return None
    return file
