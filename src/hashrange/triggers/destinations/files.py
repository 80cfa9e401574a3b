"""How does a message become durable in a file or folder?
As a synced line of JSON, or as a synced object that appears at once, complete.

A delivery that was not confirmed, because the disk was full or the server was killed, may leave a part of a line, which
the next message does not continue, or a file `….unfinished` that nothing reads.
"""

import asyncio
import os
import secrets
import threading
from typing import NamedTuple

from hashrange.messages import destinations as messages
from hashrange.store.embedded.files import sync_folder
from hashrange.triggers.destinations.destination import DeliveryFailed, PlaceUnusable
from hashrange.triggers.failure_message import FailureMessage, encode_failure, object_key

_appending = threading.Lock()
"""Held while a line is appended: several ARNs, and forks of the database, may have the same file."""


class FileDestination(NamedTuple):
    """A file of JSON lines; made with the first message."""

    path: str
    """Absolute."""
    has_event: bool
    """True if lines have the event, as the objects of a bucket have."""

    async def deliver(self, message: FailureMessage) -> None:
        """Append a line."""
        try:
            await asyncio.to_thread(self._append, message)
        except OSError as error:
            raise DeliveryFailed(messages.not_written(self.path, error.strerror or str(error))) from None

    def _append(self, message: FailureMessage) -> None:
        line = encode_failure(message, has_event=self.has_event) + b"\n"
        with _appending:
            is_new = not os.path.exists(self.path)
            _append_line(self.path, line)
            if is_new:
                sync_folder(os.path.dirname(self.path))


class FolderDestination(NamedTuple):
    """A folder that stands for a bucket, with a file for each object; made with the first message."""

    path: str
    """Absolute."""

    async def deliver(self, message: FailureMessage) -> None:
        """Write a file with the document and the event."""
        try:
            await asyncio.to_thread(self._write, message)
        except OSError as error:
            raise DeliveryFailed(messages.not_written(self.path, error.strerror or str(error))) from None

    def _write(self, message: FailureMessage) -> None:
        path = os.path.join(self.path, *object_key(message).split("/"))
        _make_folder(os.path.dirname(path))
        _write_file(path, encode_failure(message, has_event=True))


def file_destination(path: str, *, has_event: bool) -> FileDestination:
    """A file, relative to the working directory. Raises PlaceUnusable if it is a folder,
    or the folder that is to hold it is missing.
    """
    absolute = _absolute(path)
    if os.path.exists(absolute) and not os.path.isfile(absolute):
        raise PlaceUnusable(messages.no_file(path))
    return FileDestination(absolute, has_event)


def folder_destination(path: str) -> FolderDestination:
    """A folder, relative to the working directory. Raises PlaceUnusable if it is a file,
    or the folder that is to hold it is missing.
    """
    absolute = _absolute(path)
    if os.path.exists(absolute) and not os.path.isdir(absolute):
        raise PlaceUnusable(messages.no_folder(path))
    return FolderDestination(absolute)


def _absolute(path: str) -> str:
    """The absolute path. Raises PlaceUnusable if the folder that holds it is missing."""
    if not path or "\0" in path:
        raise PlaceUnusable(messages.NO_PATH)
    absolute = os.path.abspath(path)
    if not os.path.isdir(os.path.dirname(absolute)):
        raise PlaceUnusable(messages.no_parent(path, os.path.dirname(absolute)))
    return absolute


def _append_line(path: str, line: bytes) -> None:
    """Append a line and sync it. Begins a new line if the last one was not finished. Raises OSError."""
    with open(path, "a+b", buffering=0) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        if size_bytes:
            file.seek(size_bytes - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        left = memoryview(line)
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())


def _make_folder(path: str) -> None:
    """Make a folder and those above it, durably; the uppermost that exists is left alone. Raises OSError."""
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        _make_folder(parent)
        os.makedirs(path, exist_ok=True)
        sync_folder(parent)


def _write_file(path: str, content: bytes) -> None:
    """Write a file, which appears or is replaced at once, durably. Raises OSError."""
    unfinished = f"{path}.{secrets.token_hex(4)}.unfinished"
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
    sync_folder(os.path.dirname(path))
