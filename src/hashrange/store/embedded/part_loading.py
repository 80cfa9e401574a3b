"""How is a part of a vector index loaded from the file that the last server has saved? Section after section: each is
read and decoded on a thread, and added to the part in a step on the event loop. Then the entries that have changed
since the server was started are read anew, some in a step; commits are followed as usual meanwhile.

Any number of searches load a part together. A file of which a byte is wrong is not used.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from hashrange.items.steps import undisturbed
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.part_files import FilePlace, PartFileUnusable, read_section
from hashrange.store.embedded.saved_parts import SavedPart
from hashrange.store.embedded.stored_part import SLICE_BYTES, SLICE_ROWS, FileReading, StoredPart
from hashrange.tables.source_id import SOURCE_BYTES
from hashrange.work_threads import WorkThread

if TYPE_CHECKING:
    from hashrange.vectors.blocks import VectorBlock

_reading = WorkThread("hashrange-vectors-read")
_log = logging.getLogger("hashrange.store")

READ_ENTRIES = 1_024
"""When sections with so many entries have been read, they are added to the part, in some 2 ms; a section has at most
4,096.
"""
FileSections: TypeAlias = "tuple[list[bytes | VectorBlock | None], FilePlace] | PartFileUnusable | MemoryError"
"""What is read of a file: its first section, blocks, and None behind the last one; and where the next one begins."""


class PartLoading:
    """Loads parts of one store from files."""

    def __init__(self, site: Site) -> None:
        self._site, self._parts = site, site.vector_parts

    async def step(self, part: StoredPart) -> None:
        """Load more of a part that has a file, or had one. Raises StorageError."""
        reading = part.reading
        if reading is None:
            self._catch_up(part)
            return
        pending = reading.pending
        if pending is None:
            pending = _reading.submit(_read, reading.saved, reading.place, part.entries.read_block)
            reading.pending = pending
        # Others wait for the same section, and may take it first; a client that leaves must not cancel it.
        found = await asyncio.shield(asyncio.wrap_future(pending)) if self._site.is_served else pending.result()
        if reading.pending is not pending or part.reading is not reading or not self._parts.holds(part):
            return
        reading.pending = None
        try:
            self._take(part, reading, found)
        except MemoryError:
            self._parts.refuse(part)
        except (PartFileUnusable, ValueError, msgspec.MsgspecError) as error:
            _log.warning(
                "%s: the file %s cannot be used, so vectors are read from their items: %s",
                self._site.place,
                reading.saved.part_id.hex(),
                error,
            )
            self._parts.restart(part)

    def _take(self, part: StoredPart, reading: FileReading, found: FileSections) -> None:
        """Add sections that have been read. Raises PartFileUnusable, and what decoding raises."""
        if isinstance(found, PartFileUnusable | MemoryError):
            raise found
        if self._parts.saved.find(part.prefix) is not reading.saved:
            self._parts.restart(part)  # too many entries have changed
            return
        sections, reading.place = found
        for section in sections:
            if isinstance(section, bytes):
                reading.count = part.entries.begin(section)
            elif section is not None:
                part.entries.add_block(section)
            elif part.entries.count != reading.count:
                raise PartFileUnusable(f"it has {part.entries.count} entries instead of {reading.count}")
            else:
                self._ended(part)
        self._parts.count(part)

    def _ended(self, part: StoredPart) -> None:
        """Note that the whole file has been read. From now on commits are made to the part itself."""
        part.reading = None
        part.behind = list(self._parts.saved.take(part.prefix).changed)
        part.is_complete = not part.behind
        _log.info("%s: read %d vectors from a file in place of their items.", self._site.place, part.entries.count)

    def _catch_up(self, part: StoredPart) -> None:
        """Bring some entries up to date that have changed since the file was written. Raises StorageError."""
        left_bytes = SLICE_BYTES
        try:
            with self._site.failures(), undisturbed:
                for _ in range(min(SLICE_ROWS, len(part.behind))):
                    key = part.behind[-1]
                    row = self._site.engine.get(part.prefix[:SOURCE_BYTES] + key)
                    if row is None:
                        part.entries.remove(key)
                    else:
                        part.put_row(key, row)
                        left_bytes -= len(row)
                    part.behind.pop()
                    if left_bytes <= 0:
                        break
        except MemoryError:
            self._parts.refuse(part)
            return
        part.is_complete = not part.behind
        self._parts.count(part)


def _read(saved: SavedPart, place: FilePlace, read_block: "Callable[[bytes], VectorBlock]") -> FileSections:
    """On a thread: read and decode sections. Errors are returned, because perhaps nobody waits any more."""
    sections: list[bytes | VectorBlock | None] = []
    entries_count = 0
    try:
        while entries_count < READ_ENTRIES:
            is_first = not place.offset
            section, place = read_section(saved.path, saved.part_id, place)
            if not section:
                sections.append(None)
                break
            if is_first:
                sections.append(section)
            else:
                block = read_block(section)
                sections.append(block)
                entries_count += len(block.keys)
    except (PartFileUnusable, MemoryError) as error:
        return error
    except (ValueError, msgspec.MsgspecError) as error:
        return PartFileUnusable(str(error))
    return sections, place
