"""How are the objects below a prefix read, one after the other, in the order of their keys? By a walk that gives what
it reads to a `Sink`, in steps, and says how far it has come, so that it can go on from there after a kill.
"""

from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import NamedTuple, Protocol

import msgspec

from hashrange.items.steps import look, spend
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
FREED_BYTES = 16 * 1024
"""Items of this size or more are freed piece by piece: 10 ms for 400 KB of nulls."""
_DECOMPRESSED_BYTES = 16 * 1024
"""Bytes of an object that are decompressed together. What is left of them is copied at each end of a member of gzip,
which may have 20 bytes.
"""


class ObjectsToRead(NamedTuple):
    """Which objects are read, and how."""

    source: S3BucketSource
    compression: InputCompressionType
    new_reader: Callable[[], LineReader]
    """Makes the reader of one object."""


class LinePlace(NamedTuple):
    """Where an item was read."""

    object_key: str
    line: int
    """Number of its line, from 1."""
    item: int
    """Number of the item in its line, from 1."""


def place_before(at: LinePlace, place: ReadingPlace) -> ReadingPlace:
    """The place up to which has been read if an item is the next one. `place`: another one of the same object."""
    return msgspec.structs.replace(place, object_key=at.object_key, lines_read=at.line - 1, items_read=at.item - 1)


class Sink(Protocol):
    """Gets what is read."""

    @property
    def is_full(self) -> bool:
        """True if what it has is to be written before it gets more."""

    @property
    def has_taken(self) -> bool:
        """True if it has something to write."""

    def take(self, at: LinePlace, read: ReadItem) -> None:
        """Take an item. What it has refused, or written, of long lists and maps is freed."""

    def note_damage(self, at: LinePlace, reason: str) -> None:
        """Note that nothing of an object can be read from this line on."""

    def count_bytes(self, text_bytes: int, object_bytes: int) -> None:
        """Note that an object has been read to its end: length of its text, from where it was read, and its own."""

    async def write(self) -> None:
        """Write what was taken, or some of it. Raises StorageError and TransferFailed."""

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
        if place.object_key != info.key:
            place = ReadingPlace()
        reader = ObjectReader(info.key, wanted.compression, wanted.new_reader(), place)
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
                async with aclosing(self._take_items(reader, chunk or b"")) as steps:
                    async for pause in steps:
                        yield pause
        except DamagedObject as damage:
            self._sink.note_damage(reader.damaged_at, str(damage))
        finally:
            await chunks.give_up()
        while self._sink.has_taken:
            await self._sink.write()
            if self._sink.has_taken:
                yield AT_ONCE
        self._sink.count_bytes(reader.text_bytes, info.size_bytes)

    async def _take_items(self, reader: "ObjectReader", chunk: bytes) -> Steps:
        """Give the items of an object's next bytes to the sink. Raises DamagedObject."""
        for count, read in enumerate(reader.feed(chunk), 1):
            if self._sink.is_full:
                while self._sink.has_taken:
                    await self._sink.write()
                    yield AT_ONCE
                self._writes += 1
                if self._writes >= WRITES_BETWEEN_PLACES:
                    await self._keep(place_before(reader.at, self._place), reader.bytes_before)
            self._sink.take(reader.at, read)
            if count % READS_OF_STEP == 0:
                yield AT_ONCE

    async def _keep(self, place: ReadingPlace, text_bytes: int = 0) -> None:
        self._place, self._writes = place, 0
        await self._sink.keep(place, text_bytes)


class ObjectReader:
    """Reads the items of one object."""

    def __init__(self, key: str, compression: InputCompressionType, reader: LineReader, place: ReadingPlace) -> None:
        """`place`: which of its lines and items have been read before."""
        self._key = key
        self._decompressor = decompressor(compression)
        self._lines = Lines()
        self._reader = reader
        self._skipped_lines, self._skipped_items = place.lines_read, place.items_read
        self._line = 0
        """Number of the line that was read last, from 1."""
        self._item = 0
        """Number of the item of this line that was read last, from 1; 0 between lines."""
        self._is_within_line = False
        self.text_bytes = 0
        """Length of the text of its lines that were not skipped."""
        self.bytes_before = 0
        """The same, without the line that was read last."""

    @property
    def at(self) -> LinePlace:
        """Where the last item was read."""
        return LinePlace(self._key, self._line, self._item)

    @property
    def damaged_at(self) -> LinePlace:
        """Where the next item would have been read, if the object is damaged."""
        return LinePlace(self._key, self._line + (not self._is_within_line), self._item + 1)

    def feed(self, chunk: bytes) -> Iterator[ReadItem]:
        """Yield the items of lines that end in the object's next bytes; at its end, with no bytes, those of the last
        line. Gives way. Raises DamagedObject.
        """
        if not chunk:
            self._decompressor.finish()
            lines_before = self._line
            yield from self._read(self._lines.finish())
            self.text_bytes -= self._line - lines_before  # the last line has no end
            return
        for start in range(0, len(chunk), _DECOMPRESSED_BYTES):
            for piece in self._decompressor.feed(chunk[start : start + _DECOMPRESSED_BYTES]):
                look()
                yield from self._read(self._lines.feed(piece))

    def _read(self, lines: Iterator[bytes]) -> Iterator[ReadItem]:
        for line in lines:
            spend(1)
            self._line += 1
            self._is_within_line = True
            is_skipped = self._line <= self._skipped_lines
            if not is_skipped:
                self.bytes_before = self.text_bytes
                self.text_bytes += len(line) + 1
            if (self._reader.wants_first or not is_skipped) and line and not line.isspace():
                skipped = self._skipped_items if self._line == self._skipped_lines + 1 else 0
                for read in self._reader.read(line):
                    self._item += 1
                    if self._item > skipped:
                        yield read
                    else:
                        spend(1)
            self._item, self._is_within_line = 0, False
