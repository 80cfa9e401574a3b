"""What does a transfer see of an S3 that fails on purpose? What a client of S3 would, which sends a request again, at
most four times in all, if it is throttled, meets an internal error or loses its connection.

It draws the faults of GetObject, PutObject (once for an object, however it is sent) and ListObjectsV2 (once for a
list). The pauses of a client between its tries are left out. Without faults it only passes calls on.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from contextlib import aclosing

from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Fault, FaultKind, Moment
from hashrange.faults.s3_failures import FinalFailure, failure_of_faults, is_tried_again
from hashrange.messages import s3 as say
from hashrange.s3.objects import NO_OPTIONS, ObjectInfo, ObjectOptions, Objects, S3Failure

TRIES_MAX = 4
"""Times that a request is sent; and breaks in a row behind which nothing of an object comes."""


class _Tries:
    """The tries of one request."""

    def __init__(self) -> None:
        self._left = TRIES_MAX

    def fail(self, failure: S3Failure) -> None:
        """Note that a try has failed. Raises the failure unless there is to be another try."""
        self._left -= 1
        if not self._left or not is_tried_again(failure):
            raise failure


class FaultyObjects:
    """Implements `Objects` for the transfers of one table."""

    def __init__(self, objects: Objects, find_drawing: Callable[[], Drawing | None], table_name: str) -> None:
        """`find_drawing`: returns what draws faults now; None if there are none."""
        self._objects = objects
        self._find_drawing = find_drawing
        self._table_name = table_name

    async def list_objects(self, bucket: str, prefix: str, *, owner: str = "") -> AsyncGenerator[ObjectInfo, None]:
        """Implements `Objects.list_objects`."""
        tries = _Tries()
        while True:
            is_cut = "half-reply" in await self._sent("ListObjectsV2", tries)
            if not await self._answered("ListObjectsV2", tries):
                continue
            if not is_cut:
                break
            tries.fail(_connection_lost())
        async with aclosing(self._objects.list_objects(bucket, prefix, owner=owner)) as listed:
            async for info in listed:
                yield info

    async def read(
        self, bucket: str, key: str, start: int = 0, *, etag: str = "", owner: str = ""
    ) -> AsyncGenerator[bytes, None]:
        """Implements `Objects.read`. A body that is cut has half of its first chunk."""
        tries, position = _Tries(), start
        while True:
            is_cut = "half-reply" in await self._sent("GetObject", tries)
            if not await self._answered("GetObject", tries):
                continue
            async with aclosing(self._objects.read(bucket, key, position, etag=etag, owner=owner)) as chunks:
                async for chunk in chunks:
                    come = chunk[: len(chunk) // 2] if is_cut else chunk
                    if come:
                        tries, position = _Tries(), position + len(come)
                        yield come
                    if is_cut:
                        break
                else:
                    return
            tries.fail(_connection_lost())

    async def write(
        self,
        bucket: str,
        key: str,
        chunks: AsyncIterable[bytes],
        options: ObjectOptions = NO_OPTIONS,
        *,
        owner: str = "",
    ) -> str:
        """Implements `Objects.write`. If a reply is lost, the object is there, and is not sent again."""
        tries = _Tries()
        kinds = await self._sent("PutObject", tries)
        sent = _cut_short(chunks) if "no-room" in kinds else chunks
        etag = await self._objects.write(bucket, key, sent, options, owner=owner)
        while "half-reply" in kinds or not await self._answered("PutObject", tries):
            if "half-reply" in kinds:
                tries.fail(_connection_lost())
            kinds = await self._sent("PutObject", tries)
        return etag

    async def close(self) -> None:
        """Implements `Objects.close`."""
        await self._objects.close()

    # --- faults -----------------------------------------------------------------------------------

    def _drawn(self, operation: str, when: Moment) -> Sequence[Fault]:
        drawing = self._find_drawing()
        return [] if drawing is None else list(drawing.on_service_request(operation, when, self._table_name))

    async def _sent(self, operation: str, tries: _Tries) -> frozenset[FaultKind]:
        """Send a request until no fault keeps it from S3. Returns the kinds of the faults that it meets later. Raises
        S3Failure.
        """
        while True:
            met = self._drawn(operation, "before")
            kinds = frozenset([fault.kind for fault in met])
            if late_seconds := sum([fault.seconds or 0.0 for fault in met if fault.kind == "slow"]):
                await asyncio.sleep(late_seconds)
            failure = _connection_lost() if "drop" in kinds else failure_of_faults(met)
            if failure is None or isinstance(failure, FinalFailure):
                return kinds
            tries.fail(failure)

    async def _answered(self, operation: str, tries: _Tries) -> bool:
        """False if a request that S3 has carried out gets no reply, or another one, and is to be sent again. Raises
        S3Failure.
        """
        met = self._drawn(operation, "after")
        failure = _connection_lost() if any(fault.kind == "drop" for fault in met) else failure_of_faults(met)
        if failure is not None:
            tries.fail(failure)
        return failure is None


def _connection_lost() -> S3Failure:
    return S3Failure("ServiceUnavailable", say.CONNECTION_LOST, 503)


async def _cut_short(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The first of the chunks, behind which the folder has no room."""
    async for chunk in chunks:
        yield chunk
        break
    raise FinalFailure("InternalError", say.FOLDER_FULL.format(reason=say.NO_ROOM), 500)
