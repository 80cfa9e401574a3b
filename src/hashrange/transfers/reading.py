"""How are the objects below a prefix read, one after the other, in the order of their keys? By a walk that gives what
it reads to a `Sink`, in steps, and says how far it has come, so that it can go on from there after a kill.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import NamedTuple, Protocol

import msgspec

from hashrange import limits
from hashrange.items.steps import look, spend
from hashrange.jobs.job import AT_ONCE
from hashrange.messages.transfers import TOO_MANY_OBJECTS
from hashrange.operations.transfers.import_records import InputCompressionType, ReadingPlace, S3BucketSource
from hashrange.s3.objects import ObjectInfo, Objects
from hashrange.transfers.flows import Flows, Inflow
from hashrange.transfers.formats.compression import DamagedObject, decompressor
from hashrange.transfers.formats.ion_texts import IonTexts
from hashrange.transfers.formats.lines import LineReader, Lines, ReadItem
from hashrange.transfers.workshop import Steps, TransferFailed

LINES_TOGETHER = 64
"""Lines of one item each that are read, and given to an import, at once."""
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
    lines_together: int = 1
    """Lines of one item each that the sink gets at once, at most."""


class LinePlace(NamedTuple):
    """Where an item was read."""

    object_key: str
    line: int
    """Number of its line, from 1."""
    item: int
    """Number of the item in its line, from 1."""


class ReadItems(NamedTuple):
    """Items that were read: one, or those of lines that follow one another and have one each."""

    first: LinePlace
    items: Sequence[ReadItem]

    def place(self, number: int) -> LinePlace:
        """Where an item was read. `number`: from 0."""
        return self.first._replace(line=self.first.line + number)


class ReadBytes(NamedTuple):
    """Bytes of one object that have been read."""

    text: int = 0
    """Length of its text, from where it was read."""
    compressed: int = 0
    """Its own, from its begin."""


def place_before(at: LinePlace, place: ReadingPlace) -> ReadingPlace:
    """The place up to which has been read if an item is the next one. `place`: another one of the same object."""
    return msgspec.structs.replace(place, object_key=at.object_key, lines_read=at.line - 1, items_read=at.item - 1)


def require_few_objects(count: int) -> None:
    """Raise TransferFailed if these are more objects than an import or bulk put reads."""
    if count > limits.IMPORTED_OBJECTS_MAX:
        raise TransferFailed("S3TooManyObjects", TOO_MANY_OBJECTS.format(limit=limits.IMPORTED_OBJECTS_MAX))


NOTHING_READ = ReadBytes()


class Sink(Protocol):
    """Gets what is read."""

    @property
    def is_full(self) -> bool:
        """True if what it has is to be written before it gets more."""

    @property
    def has_taken(self) -> bool:
        """True if it has something to write."""

    def take(self, read: ReadItems) -> None:
        """Take items. What it has refused, or written, of long lists and maps is freed."""

    def note_damage(self, at: LinePlace, reason: str) -> None:
        """Note that nothing of an object can be read from this line on."""

    def count_bytes(self, read: ReadBytes) -> None:
        """Note that an object has been read to its end."""

    async def write(self) -> None:
        """Write what was taken, or some of it. Raises StorageError and TransferFailed."""

    async def keep(self, place: ReadingPlace, read: ReadBytes) -> None:
        """Keep how far has been read and written: a place behind which nothing has been taken. `read`: of an object
        that is not at its end.
        """


class ObjectsReading:
    """The reading of all objects below a prefix."""

    def __init__(self, objects: Objects, wanted: ObjectsToRead, place: ReadingPlace, flows: Flows) -> None:
        self._objects = objects
        self._wanted = wanted
        self._place = place
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

    async def steps(self, sink: Sink) -> Steps:
        """Read what has not been read. Raises S3Failure, StorageError and TransferFailed.

        `sink` is not kept: it keeps this reading, and the two would be garbage in a cycle, with all that an import has.
        """
        listing = self.list_objects()
        count = 0
        while not listing.is_over:
            info = listing.take()
            if info is None:
                yield None
                continue
            count += 1
            require_few_objects(count)
            if info.key.encode() <= self._place.read_up_to.encode():
                continue
            async with aclosing(self._read_object(info, sink)) as steps:
                async for pause in steps:
                    yield pause
            await self._keep(sink, ReadingPlace(read_up_to=info.key))
        await self._keep(sink, msgspec.structs.replace(self._place, has_all=True))

    async def _read_object(self, info: ObjectInfo, sink: Sink) -> Steps:
        place, wanted, source = self._place, self._wanted, self._wanted.source
        if place.object_key != info.key:
            place = ReadingPlace()
        reader = ObjectReader(info.key, wanted, place)
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
                async with aclosing(self._take_items(reader, chunk or b"", sink)) as steps:
                    async for pause in steps:
                        yield pause
        except DamagedObject as damage:
            sink.note_damage(reader.next_at, str(damage))
        finally:
            await chunks.give_up()
        while sink.has_taken:
            await sink.write()
            if sink.has_taken:
                yield AT_ONCE
        sink.count_bytes(ReadBytes(reader.text_bytes, info.size_bytes))

    async def _take_items(self, reader: "ObjectReader", chunk: bytes, sink: Sink) -> Steps:
        """Give the items of an object's next bytes to the sink. Raises DamagedObject."""
        for read in reader.feed(chunk):
            sink.take(read)
            if not sink.is_full:
                continue
            while sink.has_taken:
                await sink.write()
                yield AT_ONCE
            self._writes += 1
            if self._writes >= WRITES_BETWEEN_PLACES:
                so_far = ReadBytes(reader.bytes_before, reader.fed_bytes)
                await self._keep(sink, place_before(reader.next_at, self._place), so_far)

    async def _keep(self, sink: Sink, place: ReadingPlace, read: ReadBytes = NOTHING_READ) -> None:
        self._place, self._writes = place, 0
        await sink.keep(place, read)


class ObjectReader:
    """Reads the items of one object."""

    def __init__(self, key: str, wanted: ObjectsToRead, place: ReadingPlace) -> None:
        """`place`: which of its lines and items have been read before."""
        self._key = key
        self._decompressor = decompressor(wanted.compression)
        self._lines_together = wanted.lines_together
        self._reader = wanted.new_reader()
        self._lines = IonTexts() if self._reader.joins_lines else Lines()
        self._skipped_lines, self._skipped_items = place.lines_read, place.items_read
        self._line = 0
        """Number of the line that was read last, from 1; within a value of several lines, of its first one."""
        self._item = 0
        """Number of the item of this line that was read last, from 1; 0 between lines."""
        self._is_within_line = False
        self.text_bytes = 0
        """Length of the text of its lines that were not skipped."""
        self.bytes_before = 0
        """The same, without a line that is being read."""
        self.fed_bytes = 0
        """Bytes of the object that it was given."""

    @property
    def next_at(self) -> LinePlace:
        """Where the next item is read, or would have been read if the object is damaged."""
        return LinePlace(self._key, self._line + (not self._is_within_line), self._item + 1)

    def feed(self, chunk: bytes) -> Iterator[ReadItems]:
        """Yield the items of lines that end in the object's next bytes; at its end, with no bytes, those of the last
        line. Gives way. Raises DamagedObject.
        """
        if not chunk:
            self._decompressor.finish()
            lines_before = self._line
            yield from self._read(self._lines.finish())
            self.text_bytes -= self._line > lines_before  # the last line has no end
            return
        self.fed_bytes += len(chunk)
        for start in range(0, len(chunk), _DECOMPRESSED_BYTES):
            for piece in self._decompressor.feed(chunk[start : start + _DECOMPRESSED_BYTES]):
                look()
                yield from self._read(self._lines.feed(piece))

    def _read(self, ended: Iterator[list[bytes]]) -> Iterator[ReadItems]:
        """Yield the items of lines that have ended."""
        for lines in ended:
            for start in range(0, len(lines), self._lines_together):
                some = lines[start : start + self._lines_together]
                together = self._read_together(some) if len(some) > 1 else None
                if together is not None:
                    yield together
                    continue
                for line in some:
                    yield from self._read_line(line)

    def _read_together(self, lines: list[bytes]) -> ReadItems | None:
        """The items of some lines; None, and nothing has been read, unless each has just one that is not skipped."""
        if self._line < self._skipped_lines + (self._skipped_items > 0):
            return None
        items = self._reader.read_together(lines)
        if items is None:
            return None
        first = self.next_at
        self._line += len(lines)
        self.text_bytes += sum(map(len, lines)) + len(lines)
        self.bytes_before = self.text_bytes
        return ReadItems(first, items)

    def _read_line(self, line: bytes) -> Iterator[ReadItems]:
        """Yield the items of a line, one by one."""
        spend(1)
        self._line += 1
        self._is_within_line = True
        is_skipped = self._line <= self._skipped_lines
        self.bytes_before = self.text_bytes
        if not is_skipped:
            self.text_bytes += len(line) + 1
        if (self._reader.wants_first or not is_skipped) and line and not line.isspace():
            skipped = self._skipped_items if self._line == self._skipped_lines + 1 else 0
            for read in self._reader.read(line):
                self._item += 1
                if self._item > skipped:
                    yield ReadItems(LinePlace(self._key, self._line, self._item), (read,))
                else:
                    spend(1)
        self._line += line.count(b"\n")
        self._item, self._is_within_line = 0, False
