"""How does the body of an upload get to the disk? What the connection brings waits in memory until a thread has written
it; while more than a little waits, the client is not read.
"""

import asyncio
from collections.abc import Callable

from hashrange.aws_services.operation import Caller
from hashrange.s3.folder import S3Folder
from hashrange.s3.received_body import BodyClaims, ReceivedBody

OWN_BYTES_MAX = 512 * 1024
"""Bytes of one body that may wait before its client is not read any more."""
ALL_BYTES_MAX = 32 * 1024 * 1024
"""Bytes of all bodies that may wait before further clients are read only when nothing of theirs waits."""


class WaitingBytes:
    """How much of all bodies waits for the disk."""

    def __init__(self) -> None:
        self.size_bytes = 0


class UploadStream:
    """The body of one upload (`reading.BodyStream`)."""

    def __init__(self, s3: S3Folder, claims: BodyClaims, caller: Caller, all_waiting: WaitingBytes) -> None:
        self.caller = caller
        """Who sends it: the signature has been checked before the body came."""
        self.received_bytes = 0
        self._s3 = s3
        self._claims = claims
        self._thread = s3.thread()
        self._all_waiting = all_waiting
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._body: ReceivedBody | None = None
        self._failure: Exception | None = None
        self._writing: asyncio.Task[None] | None = None
        self._on_ready: Callable[[], None] | None = None

    @property
    def is_full(self) -> bool:
        """True while too much waits for the disk."""
        is_crowded = self._all_waiting.size_bytes > ALL_BYTES_MAX
        return self._waiting_bytes > (0 if is_crowded else OWN_BYTES_MAX)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.received_bytes += len(data)
        if self._failure is not None:
            return  # the client is told once all has come
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        self._all_waiting.size_bytes += len(data)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    def when_ready(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` once it is no longer full."""
        self._on_ready = go_on

    async def _write(self) -> None:
        try:
            while self._waiting:
                pieces, self._waiting = self._waiting, []
                try:
                    await self._thread.run(self._take, pieces)
                except Exception as error:  # noqa: BLE001 - whatever it is, the request tells it
                    self._failure = self._failure or error
                    self._uncount(self._waiting)
                    self._waiting = []
                finally:
                    self._uncount(pieces)
                on_ready = self._on_ready
                if on_ready is not None and not self.is_full:
                    self._on_ready = None
                    on_ready()
        finally:
            self._writing = None

    def _uncount(self, pieces: list[bytes]) -> None:
        size_bytes = sum(map(len, pieces))
        self._waiting_bytes -= size_bytes
        self._all_waiting.size_bytes -= size_bytes

    def _take(self, pieces: list[bytes]) -> None:
        """On the thread: write what has come."""
        if self._body is None:
            self._body = ReceivedBody(self._s3.files, self._claims)
        for piece in pieces:
            self._body.take(piece)

    def end(self) -> None:
        """The body has come whole."""

    def drop(self) -> None:
        """The client has left: forget what has come."""
        self._on_ready = None
        self._failure = self._failure or ConnectionError("the client has left")
        self._uncount(self._waiting)
        self._waiting = []
        self._thread.submit(self._discard)

    def _discard(self) -> None:
        if self._body is not None:
            self._body.file.discard()

    async def whole(self) -> ReceivedBody:
        """The body, once it is in its file and has been compared with what the head says. Raises S3Failure."""
        if self._writing is not None:
            await self._writing
        try:
            if self._failure is not None:
                raise self._failure
            return await self._thread.run(self._whole)
        except BaseException:
            self._thread.submit(self._discard)
            raise

    def _whole(self) -> ReceivedBody:
        self._take([])
        assert self._body is not None
        self._body.end()
        return self._body
