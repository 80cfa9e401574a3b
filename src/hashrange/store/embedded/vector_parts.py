"""Which parts of vector indexes are in memory? Those searched lately, as many as fit; each holds the entries of an
index, or those with one value of its HASH attribute.

A commit's changes are made to the parts in the step in which the commit becomes visible, also while a part is being
loaded: a slice of rows is read from the engine, decoded, which may give way, and compared with the engine again, so it
cannot bring what a commit has changed meanwhile. Parts that have been dropped are followed no more, so nobody begins to
search them. As of the read cache, all are dropped with the engine, and those of a source with the source.
Why: docs/adr/0078-vectors-in-memory.md.
"""

from binascii import a2b_base64
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hashrange.items.keys import key_end, prefix_upper_bound
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import attributes_reader, decode_attributes, part_row
from hashrange.items.types import Row
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine
from hashrange.store.embedded.part_files import FilePlace
from hashrange.store.embedded.reading import read_range
from hashrange.store.embedded.saved_parts import SAVED_ENTRIES_MIN, LeavingParts, SavedPart, SavedParts
from hashrange.store.embedded.vector_memory import VectorMemory
from hashrange.store.statistics import Statistics
from hashrange.tables.entries import Entry, EntryWrite
from hashrange.tables.open_table import ReadSource
from hashrange.tables.source_id import SOURCE_BYTES, key_in_source
from hashrange.work_threads import WorkThread

if TYPE_CHECKING:
    from hashrange.vectors.loaded_part import LoadedPart

SLICE_ROWS, SLICE_BYTES = 128, 256 * 1024
"""Rows that are loaded in one step, in about 2 ms."""
_ENTRY_EXTRA_BYTES = 200
"""Memory of an entry in a part besides its floats, about."""
_REFUSED_MAX = 1_024
_FREED_ENTRIES_MAX, _FREED_PARTS_MAX = 8_192, 128
"""If more parts, or parts with more entries, are dropped together, they are freed on a thread. A million entries of one
part take 0.1 s, as do 20,000 parts of 34 entries.
"""
_CELLS_GROWTH = 1.45
"""Memory of a part with cells and sketches, as a multiple of one without; somewhat more than measured."""
_BEFORE, _BEHIND = len(b'{"B":"'), -len(b'"}')
"""What is around the base64 of a vector in the JSON of its value."""
_freeing = WorkThread("hashrange-vectors-freed")


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
    searches: int = 0
    """How many searches use the part now."""
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


class VectorParts:
    """The parts of one store."""

    def __init__(
        self,
        statistics_of: Callable[[bytes], Statistics],
        wake: Callable[[], None],
        memory: VectorMemory,
        limit_bytes: int,
    ) -> None:
        """`statistics_of` returns item count and size of a source; `wake` is called when `tend` has something to do.

        `memory`: of the parts of all stores that share `limit_bytes`.
        """
        self._statistics_of, self._wake = statistics_of, wake
        self._is_awake = False
        """True from a call of `wake` until all is done."""
        self._untended: dict[bytes, None] = {}
        """Prefixes of the parts for which `tend` may have something to do."""
        self.limit_bytes = limit_bytes
        self._memory = memory
        self._by_prefix: OrderedDict[bytes, StoredPart] = OrderedDict()
        """The parts, those last that were used last."""
        self.saved = SavedParts()
        """The parts in files, which follow commits too."""
        self._refused: OrderedDict[bytes, int] = OrderedDict()
        """Prefix of a part that did not fit → how many entries its index had."""

    def __len__(self) -> int:
        return len(self._by_prefix)

    @property
    def are_followed(self) -> bool:
        """True if there are parts, in memory or in files."""
        return bool(self._by_prefix) or len(self.saved) > 0

    def find(self, prefix: bytes) -> StoredPart | None:
        """The part with this prefix, complete or not, which is used now."""
        part = self._by_prefix.get(prefix)
        if part is not None:
            self._by_prefix.move_to_end(prefix)
            self._memory.note_use(part)
        return part

    def holds(self, part: StoredPart) -> bool:
        """True if the part has not been dropped."""
        return self._by_prefix.get(part.prefix) is part

    def may_hold(self, source: ReadSource, prefix: bytes) -> bool:
        """False if a part is known to be too large."""
        assert source.vectors is not None
        count = self._statistics_of(source.source_id).item_count
        entry_bytes = 4 * source.vectors.index.dimensions + _ENTRY_EXTRA_BYTES
        if source.vectors.hash_name is None and count * entry_bytes > self.limit_bytes:
            return False
        refused = self._refused.get(prefix)
        return refused is None or 4 * count < 3 * refused

    def add(self, part: StoredPart) -> None:
        """Add a new part, which is then followed; it is loaded from its file, if there is one."""
        assert part.prefix not in self._by_prefix
        saved = self.saved.find(part.prefix)
        part.reading = None if saved is None else FileReading(saved)
        self._by_prefix[part.prefix] = part
        self._memory.add(part, partial(self._drop, [part.prefix]))
        self.count(part)

    def count(self, part: StoredPart) -> None:
        """Count the memory of a part that has changed; drop the least recently used of all stores beyond the limit."""
        size_bytes = part.entries.memory_bytes
        self._memory.used_bytes += size_bytes - part.counted_bytes
        part.counted_bytes = size_bytes
        if self._is_untended(part):
            self._untended[part.prefix] = None
            if not self._is_awake:
                self._is_awake = True
                self._wake()
        while self._memory.used_bytes > self.limit_bytes:
            oldest, drop = self._memory.oldest()
            if oldest is part:
                self.refuse(part)
            else:
                drop()

    def tend(self) -> bool:
        """Do a step of the work that a complete part has for its cells; False if there was none."""
        while self._untended:
            prefix = next(iter(self._untended))
            part = self._by_prefix.get(prefix)
            if part is None or not self._is_untended(part):
                del self._untended[prefix]
                continue
            try:
                part.entries.tend()
            except MemoryError:
                self.refuse(part)
            else:
                self.count(part)
            return True
        self._is_awake = False
        return False

    def _is_untended(self, part: StoredPart) -> bool:
        """True if there is something to do for a part's cells. They have free places, for which there must be room."""
        if not part.is_complete or not part.entries.is_untended:
            return False
        return part.entries.is_divided or part.counted_bytes * _CELLS_GROWTH < self.limit_bytes

    def refuse(self, part: StoredPart) -> None:
        """Drop a part that does not fit, and do not load it again while its index is as large as now."""
        if len(self._refused) == _REFUSED_MAX:
            self._refused.popitem(last=False)
        self._refused[part.prefix] = self._statistics_of(part.prefix[:SOURCE_BYTES]).item_count
        self._drop([part.prefix])

    def restart(self, part: StoredPart) -> None:
        """Load a part from its rows from now on, because its file is of no use."""
        if self.saved.find(part.prefix) is not None:
            self.saved.take(part.prefix)
        former, part.entries, part.reading = part.entries, part.entries.emptied(), None
        self.count(part)
        _freeing.submit(former.free)

    def search_ended(self, part: StoredPart) -> None:
        """Note that a search uses the part no more. The last one frees the part if it has been dropped."""
        part.searches -= 1
        if not part.searches and not self.holds(part):
            _free([part])

    def _drop(self, prefixes: Iterable[bytes]) -> None:
        """Drop the parts with these prefixes, and free those that no search uses; nobody may use them any more."""
        _free([part for part in map(self._taken_out, prefixes) if not part.searches])

    def _taken_out(self, prefix: bytes) -> StoredPart:
        part = self._by_prefix.pop(prefix)
        self._memory.take_out(part)
        self._memory.used_bytes -= part.counted_bytes
        return part

    # --- what the parts follow --------------------------------------------------------------------

    def follow(self, entries: Iterable[EntryWrite]) -> None:
        """Make the changes of a commit to the parts; must not give way. 20 µs for an entry of 384 dimensions."""
        if not self.are_followed:
            return
        for source, old, new in entries:
            if source.vectors is None:
                continue
            if old is not None and (new is None or new.key != old.key):
                part = self._changed_part(source, old.key)
                if part is not None:
                    part.entries.remove(old.key)
                    if part.entries.is_sparse:
                        self._drop([part.prefix])
            if new is not None:
                part = self._changed_part(source, new.key)
                if part is not None:
                    self._put(part, new)

    def _put(self, part: StoredPart, entry: Entry) -> None:
        try:
            part.put_entry(entry)
        except MemoryError:
            self.refuse(part)
        else:
            self.count(part)

    def _changed_part(self, source: ReadSource, key: bytes) -> StoredPart | None:
        """The part with an entry that has changed; None if there is none, or if it is still to be read from its file,
        which has been told of the entry.
        """
        assert source.vectors is not None
        has_hash = source.vectors.hash_name is not None
        prefix = source.source_id + (key[: key_end(key, ())] if has_hash else b"")
        return None if len(self.saved) and self.saved.note(prefix, key) else self._by_prefix.get(prefix)

    def clear(self) -> None:
        """Drop all parts, because the engine was replaced."""
        self.drop(b"", b"\xff" * (SOURCE_BYTES + 1))
        self._refused.clear()

    def drop(self, lower: bytes, upper: bytes) -> None:
        """Drop the parts of deleted sources with `lower <= source id < upper`, and their files."""
        self.saved.drop(lower, upper)
        self._drop([prefix for prefix in self._by_prefix if lower <= prefix < upper])

    def let_go(self) -> LeavingParts:
        """Take out what can be saved when the store is closed: complete parts, and files that are still right."""
        worth_it = [
            part
            for part in reversed(self._by_prefix.values())
            if part.is_complete and part.entries.count >= SAVED_ENTRIES_MIN
        ]
        loaded = [(part.prefix, self._taken_out(part.prefix).entries) for part in worth_it]
        return LeavingParts(loaded, self.saved.let_go())


def _free(parts: list[StoredPart]) -> None:
    """Free parts that nobody uses. The list is emptied on a thread; if it is short, it goes with its caller."""
    if len(parts) > _FREED_PARTS_MAX or sum(part.entries.count for part in parts) > _FREED_ENTRIES_MAX:
        _freeing.submit(_free_all, parts)


def _free_all(parts: list[StoredPart]) -> None:
    while parts:
        parts.pop().entries.free()
