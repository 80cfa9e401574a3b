"""An S3 in memory for tests: buckets of objects, which may refuse, be slow until a test lets them go on, and count."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterable

from hashrange.errors import StorageError
from hashrange.s3.objects import CHUNK_BYTES_MAX, NO_OPTIONS, ObjectInfo, ObjectOptions, S3Failure

PRECONDITION_FAILED = "At least one of the pre-conditions you specified did not hold"
MISSING_BUCKET = "The specified bucket does not exist"


class MemoryObjects:
    """Implements `Objects`."""

    def __init__(self, *buckets: str) -> None:
        self.buckets: dict[str, dict[str, bytes]] = {bucket: {} for bucket in buckets}
        self.options: dict[str, ObjectOptions] = {}
        self.refuses: S3Failure | None = None
        """Raised by every call from now on."""
        self.fails_at: int | None = None
        """Place in an object at which reading fails once, as after a bug."""
        self.lost: set[str] = set()
        """Keys that are listed, and cannot be read."""
        self._held, self._free = "", 0
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self.chunks_bytes: list[int] = []
        """Lengths of the chunks that were written."""
        self.chunk_bytes = CHUNK_BYTES_MAX
        """Length of the chunks that are read."""

    def __getitem__(self, bucket: str) -> dict[str, bytes]:
        return self.buckets[bucket]

    def hold(self, part: str, after: int = 0) -> None:
        """From now on, objects whose keys contain `part` are not written to their end, nor read; but for the first
        ones, this many.
        """
        self._held, self._free = part, after

    @property
    def held(self) -> int:
        """How many objects wait."""
        return len(self._waiting)

    @property
    def holds_some(self) -> bool:
        """True if an object waits."""
        return self.held > 0

    def release(self) -> None:
        """Let all objects be written and read."""
        self._held = ""
        while self._waiting:
            loop, released = self._waiting.pop()
            loop.call_soon_threadsafe(released.set)

    async def _wait(self, key: str) -> None:
        if self._held and self._held in key and self._free > 0:
            self._free -= 1
        elif self._held and self._held in key:
            released = asyncio.Event()
            self._waiting.append((asyncio.get_running_loop(), released))
            await released.wait()

    def _bucket(self, bucket: str) -> dict[str, bytes]:
        if self.refuses is not None:
            raise self.refuses
        if bucket not in self.buckets:
            raise S3Failure("NoSuchBucket", MISSING_BUCKET, 404)
        return self.buckets[bucket]

    async def list_objects(self, bucket: str, prefix: str, *, owner: str = "") -> AsyncGenerator[ObjectInfo, None]:
        """Implements `Objects.list_objects`."""
        objects = self._bucket(bucket)
        for key in sorted(objects, key=str.encode):
            if key.startswith(prefix):
                yield ObjectInfo(key, len(objects[key]), hashlib.md5(objects[key]).hexdigest())

    async def read(
        self, bucket: str, key: str, start: int = 0, *, etag: str = "", owner: str = ""
    ) -> AsyncGenerator[bytes, None]:
        """Implements `Objects.read`."""
        objects = self._bucket(bucket)
        if key not in objects:
            raise S3Failure("NoSuchKey", "The specified key does not exist.", 404)
        content = objects[key]
        if etag and etag != hashlib.md5(content).hexdigest():
            raise S3Failure("PreconditionFailed", PRECONDITION_FAILED, 412)
        await self._wait(key)
        if key in self.lost:
            raise S3Failure("NoSuchKey", "The specified key does not exist.", 404)
        for place in range(start, len(content), self.chunk_bytes):
            await asyncio.sleep(0)
            self._bucket(bucket)
            if self.fails_at is not None and place >= self.fails_at:
                self.fails_at = None
                raise StorageError("the disk is gone")
            yield content[place : place + self.chunk_bytes]

    async def write(
        self,
        bucket: str,
        key: str,
        chunks: AsyncIterable[bytes],
        options: ObjectOptions = NO_OPTIONS,
        *,
        owner: str = "",
    ) -> str:
        """Implements `Objects.write`."""
        objects = self._bucket(bucket)
        content = bytearray()
        async for chunk in chunks:
            self.chunks_bytes.append(len(chunk))
            content += chunk
        await self._wait(key)
        self._bucket(bucket)
        objects[key], self.options[key] = bytes(content), options
        return hashlib.md5(content).hexdigest()

    async def close(self) -> None:
        """Implements `Objects.close`."""
