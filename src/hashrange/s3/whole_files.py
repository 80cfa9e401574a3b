"""How does a file come into being, and how is it read, whole both times? It is written under a name of its own, synced
and renamed, and read by its descriptor, so it stays what it was when another file takes its name.

A file that is not renamed is deleted when it is discarded, when nobody knows it any more, or, if the process was
killed, when the next one looks (`discard_left_behind`): each is locked by its writer as long as that lives.
"""

import contextlib
import errno
import os
import secrets
import stat

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be deleted, needs no lock
    fcntl = None  # type: ignore[assignment]

TICK_NS = 1_000
"""Smallest step of a file's time of change that all usual file systems keep."""
_NO_FILE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EMLINK))
"""There is nothing, nothing that this user may read, a link, a pipe that nobody writes, or a folder."""


class NewFile:
    """A file that is being written. One thread at a time may use it."""

    def __init__(self, folder: str) -> None:
        """Make an empty file in `folder`. Raises OSError."""
        self.size_bytes = 0
        while True:
            self._path = os.path.join(folder, secrets.token_hex(16))
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(self._path, flags, 0o600)
            if _locked(self._descriptor):
                return
            os.close(self._descriptor)  # another process has taken it for one that was left behind

    def write(self, data: bytes | memoryview) -> None:
        """Append data. Raises OSError."""
        view = memoryview(data)
        while view:
            written = os.write(self._descriptor, view)
            self.size_bytes += written
            view = view[written:]

    def copy_from(self, descriptor: int, size_bytes: int) -> None:
        """Append this many bytes of another file from its beginning, in the kernel where it can. Raises OSError."""
        if not hasattr(os, "copy_file_range"):
            self._copy_by_hand(descriptor, size_bytes)
            return
        done = 0
        while done < size_bytes:
            try:
                count = os.copy_file_range(descriptor, self._descriptor, size_bytes - done, done)
            except OSError:
                if done:
                    raise
                self._copy_by_hand(descriptor, size_bytes)  # the kernel cannot copy between these files
                return
            if not count:
                raise OSError(0, "a file is shorter than it was")
            done += count
        self.size_bytes += done

    def _copy_by_hand(self, descriptor: int, size_bytes: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        while size_bytes:
            piece = os.read(descriptor, min(size_bytes, 1024 * 1024))
            if not piece:
                raise OSError(0, "a file is shorter than it was")
            self.write(piece)
            size_bytes -= len(piece)

    def sync(self) -> None:
        """Wait until the content is on the disk. Raises OSError."""
        os.fsync(self._descriptor)

    def change_time(self, other_ns: int | None) -> os.stat_result:
        """The file's state, whose time of change is made another than `other_ns`."""
        found = os.fstat(self._descriptor)
        if found.st_mtime_ns == other_ns:
            os.utime(self._path, ns=(found.st_atime_ns, found.st_mtime_ns + TICK_NS))
            os.fsync(self._descriptor)
            found = os.fstat(self._descriptor)
        return found

    def rename(self, path: str) -> None:
        """Let the file have this path, in place of another file, and close it. Raises OSError."""
        if os.name == "nt":
            os.close(self._descriptor)  # an open file cannot be renamed there
            self._descriptor = -1
        os.replace(self._path, path)
        self._path = ""
        self.discard()

    def discard(self) -> None:
        """Close the file, and delete it unless it has been renamed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
        path, self._path = self._path, ""
        if path:
            with contextlib.suppress(OSError):
                os.unlink(path)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0 or getattr(self, "_path", ""):
            self.discard()


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


def write_whole(path: str, content: bytes, temporary: str) -> None:
    """Write a small file, in place of another one, so that after a power cut there is the one or the other.
    `temporary`: a folder of the same file system. Raises OSError.
    """
    file = NewFile(temporary)
    try:
        file.write(content)
        file.sync()
        file.rename(path)
    finally:
        file.discard()
    sync_names(os.path.dirname(path))


def sync_names(folder: str) -> None:
    """Wait until the names in a folder are on the disk. Windows writes them by itself."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard_left_behind(folder: str) -> None:
    """Delete the files in `folder` that no living process writes."""
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if fcntl is None:
                    os.unlink(entry.path)  # which fails while it is open
                    continue
                descriptor = os.open(entry.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
                try:
                    if _locked(descriptor):
                        os.unlink(entry.path)
                finally:
                    os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Lock a file for this process; False if another one holds it, or if the file has been deleted."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return os.fstat(descriptor).st_nlink > 0
