"""How is a part of a vector index loaded, and how does it take changes? It holds the entries of the index, or those
with one value of its HASH attribute.

A slice of rows is read from the engine, decoded, which may give way, and compared with the engine again, so it cannot
bring what a commit has changed meanwhile. Loading from a file is in `part_loading.py`.
Why: docs/adr/0078-vectors-in-memory.md.
"""

from binascii import a2b_base64
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import attributes_reader, decode_attributes, part_row
from hashrange.items.types import Row
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine
from hashrange.store.embedded.part_files import FilePlace
from hashrange.store.embedded.reading import read_range
from hashrange.store.embedded.saved_parts import SavedPart
from hashrange.tables.entries import Entry
from hashrange.tables.open_table import ReadSource
from hashrange.tables.source_id import key_in_source

if TYPE_CHECKING:
    from hashrange.vectors.loaded_part import LoadedPart

SLICE_ROWS, SLICE_BYTES = 128, 256 * 1024
"""Rows that are loaded in one step, in about 2 ms."""
_BEFORE, _BEHIND = len(b'{"B":"'), -len(b'"}')
"""What is around the base64 of a vector in the JSON of its value."""


def vector_reader(source: ReadSource) -> Callable[[Row], bytes]:
    """A function from the row of an entry of this index to the entry's vector. 10 µs for 384 dimensions."""
    assert source.vectors is not None
    read = attributes_reader((source.vectors.index.attribute,))

    def vector_of(row: Row) -> bytes:
        (value,) = read(row)
        return a2b_base64(value[_BEFORE:_BEHIND])

    return vector_of


class Searchable(NamedTuple):
    """What a part holds of an entry, with the row from which it was read."""

    row: bytes
    vector: bytes
    tested: bytes
    """The `part_row` of the attributes that conditions may read."""


class FileReading(msgspec.Struct, eq=False):
    """How far a part has been loaded from its file (`part_loading.py`)."""

    saved: SavedPart
    place: FilePlace = FilePlace()
    count: int = 0
    """How many entries the file has, as its first section says."""
    pending: Future[Any] | None = None
    """The next section, while it is being read on a thread."""


class StoredPart(msgspec.Struct, eq=False):
    """A part of an index, with how far it has been loaded."""

    prefix: bytes
    """How the engine keys of its entries begin."""
    entries: "LoadedPart"
    names: tuple[str, ...]
    """The attributes of the index's search schema, which conditions may read."""
    vector_of: Callable[[Row], bytes]
    next_key: bytes
    """Engine key at which the next slice begins."""
    skipped_keys_max: int = SKIPPED_KEYS_MAX
    is_complete: bool = False
    counted_bytes: int = 0
    """The memory with which the part is counted."""
    last_use: int = 0
    """The number of the part's last use, of the uses of all parts that share memory."""
    searches: int = 0
    """How many searches use the part now."""
    is_let_go: bool = False
    """True once the store is done with the part: it is freed when no search uses it."""
    reading: FileReading | None = None
    """None: the part is loaded from its rows, or its file has been read."""
    behind: list[bytes] = msgspec.field(default_factory=list)
    """After a file has been read, the keys of entries that are still as they were when it was written."""

    def next_rows(self, engine: Engine) -> tuple[list[tuple[bytes, bytes]], bool]:
        """The next rows to be loaded, and True if they are the last. Raises the engine's bare exceptions."""
        upper = prefix_upper_bound(self.prefix)
        return read_range(engine, self.next_key, upper, SLICE_ROWS, SLICE_BYTES, self.skipped_keys_max)

    def read(self, rows: Sequence[tuple[bytes, bytes]]) -> dict[bytes, Searchable]:
        """Engine key → the entry, for rows that `next_rows` has returned. May give way."""
        return {engine_key: self._read(row) for engine_key, row in rows}

    def load(self, rows: Sequence[tuple[bytes, bytes]], read: dict[bytes, Searchable], *, are_last: bool) -> None:
        """Add what `next_rows` has returned; nothing may have given way since.

        `read`: what has been read before. Ends before a row that has changed meanwhile, except the first, which is read
        here, so that a row that changes always holds up nobody.
        """
        for place, (engine_key, row) in enumerate(rows):
            entry = read.get(engine_key)
            if entry is None or entry.row != row:
                if place:
                    return
                entry = self._read(row)
            self.entries.put(key_in_source(engine_key), entry.vector, row_size_bytes(Row(row)), entry.tested)
            self.next_key = engine_key + b"\x00"
        self.is_complete = are_last

    def _read(self, row: bytes) -> Searchable:
        tested = part_row(decode_attributes(Row(row), self.names)) if self.names else b""
        return Searchable(row, self.vector_of(Row(row)), tested)

    def put_row(self, key: bytes, row: bytes) -> None:
        """Add an entry that has been read, or replace it."""
        entry = self._read(row)
        self.entries.put(key, entry.vector, row_size_bytes(Row(row)), entry.tested)

    def put_entry(self, entry: Entry) -> None:
        """Add an entry that has been derived, or replace it; does not read its row."""
        tested = part_row(entry.tested) if self.names and entry.tested is not None else b""
        self.entries.put(entry.key, entry.vector, row_size_bytes(entry.row), tested)


def stored_part(source: ReadSource, prefix: bytes, make: "type[LoadedPart]") -> StoredPart:
    """An empty part of the index: of the entries whose engine keys have the `prefix`."""
    assert source.vectors is not None
    index = source.vectors.index
    made = make(index.distance, index.dimensions)
    return StoredPart(prefix, made, index.search_names, vector_reader(source), prefix)
