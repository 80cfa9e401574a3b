"""How are the objects below a prefix read, one after the other, in the order of their keys? By a walk that gives what
it reads to a `Sink`, in steps, and says how far it has come, so that it can go on from there after a kill.
"""

from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import NamedTuple, Protocol

import msgspec

from hashrange.jobs.job import AT_ONCE
from hashrange.limits import IMPORTED_OBJECTS_MAX
from hashrange.messages.transfers import TOO_MANY_OBJECTS
from hashrange.operations.transfers.import_records import InputCompressionType, ReadingPlace, S3BucketSource
from hashrange.s3.objects import ObjectInfo, Objects
from hashrange.transfers.flows import Flows, Inflow
from hashrange.transfers.formats.compression import DamagedObject, decompressor
from hashrange.transfers.formats.lines import LineReader, Lines, ReadItem
from hashrange.transfers.workshop import Steps, TransferFailed

READS_OF_STEP = 128
"""Items that one step reads at most."""
WRITES_BETWEEN_PLACES = 32
"""How often the sink writes before the place is kept."""


class ObjectsToRead(NamedTuple):
    """Which objects are read, and how."""

    source: S3BucketSource
    compression: InputCompressionType
    new_reader: Callable[[], LineReader]
    """Makes the reader of one object."""


class Sink(Protocol):
    """Gets what is read."""

    @property
    def is_full(self) -> bool:
        """True if what it has is to be written before it gets more."""

    def take(self, key: str, line: int, read: ReadItem) -> None:
        """Take an item of an object's line, from 1."""

    def note_damage(self, key: str, line: int, reason: str) -> None:
        """Note that nothing of an object can be read from this line on."""

    def count_bytes(self, text_bytes: int, object_bytes: int) -> None:
        """Note that an object has been read to its end: length of its text, from where it was read, and its own."""

    async def write(self) -> None:
        """Write what was taken. Raises StorageError and TransferFailed."""

    async def keep(self, place: ReadingPlace, text_bytes: int) -> None:
        """Keep how far has been read and written: a place behind which nothing has been taken. `text_bytes`: length of
        the text of an object that is not at its end.
        """


class ObjectsReading:
    """The reading of all objects below a prefix."""

    def __init__(self, objects: Objects, wanted: ObjectsToRead, place: ReadingPlace, sink: Sink, flows: Flows) -> None:
        self._objects = objects
        self._wanted = wanted
        self._place = place
        self._sink = sink
        self._flows = flows
        self._listing: Inflow[ObjectInfo] | None = None
        self._chunks: Inflow[bytes] | None = None
        self._writes = 0
        """How often the sink has written since the place was kept."""

    async def give_up(self) -> None:
        """Read no further."""
        for flow in (self._listing, self._chunks):
            if flow is not None:
                await flow.give_up()

    def list_objects(self) -> Inflow[ObjectInfo]:
        """Begin to list the objects."""
        source = self._wanted.source
        listed = self._objects.list_objects(source.S3Bucket, source.S3KeyPrefix or "", owner=source.S3BucketOwner or "")
        self._listing = Inflow(listed, self._flows)
        return self._listing

    async def steps(self) -> Steps:
        """Read what has not been read. Raises S3Failure, StorageError and TransferFailed."""
        listing = self.list_objects()
        count = 0
        while not listing.is_over:
            info = listing.take()
            if info is None:
                yield None
                continue
            count += 1
            if count > IMPORTED_OBJECTS_MAX:
                raise TransferFailed("S3TooManyObjects", TOO_MANY_OBJECTS.format(limit=IMPORTED_OBJECTS_MAX))
            if info.key.encode() <= self._place.read_up_to.encode():
                continue
            async with aclosing(self._read_object(info)) as steps:
                async for pause in steps:
                    yield pause
            await self._keep(ReadingPlace(read_up_to=info.key))
        await self._keep(msgspec.structs.replace(self._place, has_all=True))

    async def _read_object(self, info: ObjectInfo) -> Steps:
        place, wanted, source = self._place, self._wanted, self._wanted.source
        skipped_lines = place.lines_read if place.object_key == info.key else 0
        reader = ObjectReader(wanted.compression, wanted.new_reader(), skipped_lines)
        content = self._objects.read(source.S3Bucket, info.key, etag=info.etag, owner=source.S3BucketOwner or "")
        self._chunks = chunks = Inflow(content, self._flows)
        try:
            is_over = False
            while not is_over:
                chunk = chunks.take()
                is_over = chunk is None and chunks.is_over
                if chunk is None and not is_over:
                    yield None
                    continue
                async with aclosing(self._take_items(info.key, reader, chunk or b"")) as steps:
                    async for pause in steps:
                        yield pause
        except DamagedObject as damage:
            self._sink.note_damage(info.key, reader.damaged_line, str(damage))
        finally:
            await chunks.give_up()
        self._sink.count_bytes(reader.text_bytes, info.size_bytes)
        await self._sink.write()

    async def _take_items(self, key: str, reader: "ObjectReader", chunk: bytes) -> Steps:
        """Give the items of an object's next bytes to the sink. Raises DamagedObject."""
        last_line = reader.line
        for count, read in enumerate(reader.feed(chunk), 1):
            if self._sink.is_full:
                await self._sink.write()
                self._writes += 1
                if self._writes >= WRITES_BETWEEN_PLACES and reader.line != last_line:
                    place = msgspec.structs.replace(self._place, object_key=key, lines_read=reader.line - 1)
                    await self._keep(place, reader.bytes_before)
                yield AT_ONCE
            last_line = reader.line
            self._sink.take(key, reader.line, read)
            if count % READS_OF_STEP == 0:
                yield AT_ONCE

    async def _keep(self, place: ReadingPlace, text_bytes: int = 0) -> None:
        self._place, self._writes = place, 0
        await self._sink.keep(place, text_bytes)


class ObjectReader:
    """Reads the items of one object."""

    def __init__(self, compression: InputCompressionType, reader: LineReader, skipped_lines: int) -> None:
        """`skipped_lines`: how many of its lines have been read before."""
        self._decompressor = decompressor(compression)
        self._lines = Lines()
        self._reader = reader
        self._skipped_lines = skipped_lines
        self.line = 0
        """Number of the line that was read last, from 1."""
        self.damaged_line = 1
        """Number of the line at which the object is damaged, if it is."""
        self.text_bytes = 0
        """Length of the lines that were read, with their ends, without those skipped."""
        self.bytes_before = 0
        """The same without the line that was read last."""

    def feed(self, chunk: bytes) -> Iterator[ReadItem]:
        """Yield the items of lines that end in the object's next bytes; at its end, with no bytes, those of the last
        line. Raises DamagedObject.
        """
        if not chunk:
            self._decompressor.finish()
            lines_before = self.line
            yield from self._read(self._lines.finish())
            self.text_bytes -= self.line - lines_before  # the last line has no end
            return
        for piece in self._decompressor.feed(chunk):
            yield from self._read(self._lines.feed(piece))

    def _read(self, lines: Iterator[bytes]) -> Iterator[ReadItem]:
        for line in lines:
            is_skipped = self.line < self._skipped_lines
            self.line += 1
            self.damaged_line = self.line
            if not is_skipped:
                self.bytes_before = self.text_bytes
                self.text_bytes += len(line) + 1
            if (self._reader.wants_first or not is_skipped) and line and not line.isspace():
                yield from self._reader.read(line)
            self.damaged_line += 1
