"""How do slices of jobs write and read objects of S3, which may be slow? Through flows: a task writes or reads one
object, and a short queue lies between it and the slices, which never wait for S3.

A slice asks a flow whether it has room, or something to read; if not, it leaves the flow alone, and the flow wakes the
job once that has changed. Only while somebody moves service time, and waits for the work of jobs, does the job wait for
S3 (`Flows.next_change`).
"""

import asyncio
import base64
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any, Generic, NamedTuple, TypeVar

from hashrange.items.steps import look
from hashrange.transfers.formats.compression import PIECE_MAX_BYTES, GzipWriter

T = TypeVar("T")
QUEUED_MAX = 4
"""Texts, chunks or objects that wait in a flow."""
CHUNK_BYTES = 256 * 1024
"""Bytes of an object that the task gets at once. It runs between slices, so that more often would cost more."""

SILENT_SECONDS_MAX = 5.0
"""Longest real time for which a slice waits for S3. Whoever moves service time then waits no longer either."""

Write = Callable[[AsyncIterable[bytes]], Coroutine[Any, Any, str]]
"""Writes an object from its chunks; returns its ETag. Raises S3Failure."""


class Flows:
    """The flows of one job."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` wakes the job."""
        self._wake = wake
        self._tasks: dict[asyncio.Task[Any], Callable[[], bool]] = {}
        """The task of each flow → whether the flow waits for slices."""
        self.changes = 0
        """How often something has changed for the job."""
        self.uses = 0
        """How often slices have begun a flow, or taken something from one."""
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Wake the job: a flow has room again or something to take, or its task has ended."""
        self._note_change()
        self._wake()

    def _note_change(self) -> None:
        self.changes += 1
        self._changed.set()

    @property
    def wait_for_s3(self) -> bool:
        """True if a flow waits for S3."""
        return not all(is_idle() for is_idle in self._tasks.values())

    async def next_change(self, changes: int) -> bool:
        """Wait until there have been more than this many changes; False if S3 has brought none in reasonable time."""
        timer = asyncio.get_running_loop().call_later(SILENT_SECONDS_MAX, self._changed.set)
        try:
            if self.changes == changes:
                self._changed.clear()
                await self._changed.wait()
        finally:
            timer.cancel()
        return self.changes > changes

    def begin(self, work: Coroutine[Any, Any, T], is_idle: Callable[[], bool]) -> "asyncio.Task[T]":
        """The task of a flow. `is_idle`: returns True while the flow waits for slices, and not for S3."""
        task = asyncio.get_running_loop().create_task(work)
        self.uses += 1
        self._tasks[task] = is_idle
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        del self._tasks[task]
        self._note_change()
        if not task.cancelled():  # the job gives its flows up when it fails, and is tried again later
            self._wake()

    async def give_up(self) -> None:
        """End all flows."""
        for task in list(self._tasks):
            await _ended(task)


class Written(NamedTuple):
    """An object that has been written."""

    md5: str
    """Base64 of the MD5 of its bytes."""
    etag: str
    """In the form of an object that was sent in one part of several."""


class Outflow:
    """One object that is being written from texts."""

    def __init__(self, write: Write, flows: "Flows", *, is_compressed: bool) -> None:
        """Begin to write."""
        self._made: list[bytes] = []
        """Bytes of the object that are too few for a chunk."""
        self._made_bytes = 0
        self._waiting: deque[bytes] = deque()
        """Chunks that have not been taken."""
        self._flows = flows
        self._gzip = GzipWriter() if is_compressed else None
        self._arrived = asyncio.Event()
        self._is_complete = False
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._task = flows.begin(write(self._chunks()), lambda: not self._waiting and not self._is_complete)

    @property
    def has_room(self) -> bool:
        """True if a text may be added. Raises S3Failure, and whatever else writing has raised."""
        if self._task.done():
            self._task.result()
        return len(self._waiting) < QUEUED_MAX

    def add(self, text: bytes) -> None:
        """Add the next text. 1.2 ms for 256 KB that are compressed; gives way."""
        for start in range(0, len(text), PIECE_MAX_BYTES):
            piece = text[start : start + PIECE_MAX_BYTES]
            self._keep(piece if self._gzip is None else self._gzip.add(piece))
            look()
        if self._made_bytes >= CHUNK_BYTES:
            self._hand_over()

    def finish(self) -> None:
        """There are no further texts."""
        if self._gzip is not None:
            self._keep(self._gzip.finish())
        self._is_complete = True
        self._hand_over()

    def written(self) -> Written | None:
        """The object, once it is whole; None while it is being written. Raises what `has_room` raises."""
        if not self._task.done():
            return None
        self._task.result()
        digest = self._md5.digest()
        etag = hashlib.md5(digest, usedforsecurity=False).hexdigest()
        return Written(base64.b64encode(digest).decode(), f"{etag}-1")

    async def give_up(self) -> None:
        """Write no further; the object then does not exist."""
        await _ended(self._task)

    def _keep(self, made: bytes) -> None:
        self._md5.update(made)
        self._made.append(made)
        self._made_bytes += len(made)

    def _hand_over(self) -> None:
        chunk = b"".join(self._made)
        self._made, self._made_bytes = [], 0
        if chunk:
            self._waiting.append(chunk)
        self._arrived.set()

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
                self._flows.wake()
            if self._is_complete:
                return
            self._arrived.clear()
            await self._arrived.wait()


class Inflow(Generic[T]):
    """What is read or listed from S3: chunks of one object, or objects."""

    def __init__(self, source: AsyncGenerator[T, None], flows: "Flows") -> None:
        """Begin to read."""
        self._waiting: deque[T] = deque()
        self._flows = flows
        self._taken = asyncio.Event()
        self._task = flows.begin(self._read(source), lambda: bool(self._waiting))

    def take(self) -> T | None:
        """What comes next; None if it is not there yet, or never will be."""
        self._taken.set()
        if not self._waiting:
            return None
        self._flows.uses += 1
        return self._waiting.popleft()

    @property
    def is_over(self) -> bool:
        """True once everything has been taken. Raises S3Failure, and whatever else reading has raised."""
        if self._waiting or not self._task.done():
            return False
        self._task.result()
        return True

    async def give_up(self) -> None:
        """Read no further."""
        await _ended(self._task)

    async def _read(self, source: AsyncGenerator[T, None]) -> None:
        async with aclosing(source):
            async for one in source:
                self._waiting.append(one)
                self._flows.wake()
                while len(self._waiting) >= QUEUED_MAX:
                    self._taken.clear()
                    await self._taken.wait()


async def _ended(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task
