"""Which parts of vector indexes are in memory? Those searched lately, as many as fit; each holds the entries of an
index, or those with one value of its HASH attribute.

A commit's changes are made to the parts in the step in which the commit becomes visible, also while a part is being
loaded (`stored_part.py`). Parts that have been dropped are followed no more, so nobody begins to search them. As of the
read cache, all are dropped with the engine, and those of a source with the source: in one step, whatever their number;
`tend` lets go of them afterwards (`vector_memory.py`).
Why: docs/adr/0078-vectors-in-memory.md.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from hashrange.items.keys import key_end
from hashrange.store.embedded.saved_parts import (
    SAVED_ENTRIES_MIN,
    LeavingParts,
    SavedGroup,
    SavedParts,
    take_unchanged,
)
from hashrange.store.embedded.stored_part import FileReading, StoredPart
from hashrange.store.embedded.vector_memory import PartGroup, VectorMemory, free_unused, freeing
from hashrange.store.statistics import Statistics
from hashrange.tables.entries import Entry, EntryWrite
from hashrange.tables.open_table import ReadSource
from hashrange.tables.source_id import SOURCE_BYTES

_ENTRY_EXTRA_BYTES = 200
"""Memory of an entry in a part besides its floats, about."""
_REFUSED_MAX = 1_024
_CELLS_GROWTH = 1.45
"""Memory of a part with cells and sketches, as a multiple of one without; somewhat more than measured."""


class LeavingGroups(NamedTuple):
    """All parts of a store that is being closed."""

    in_memory: Sequence[PartGroup]
    in_files: Sequence[SavedGroup]


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
        self._groups: dict[bytes, PartGroup] = {}
        """Source id → its parts. A group without parts stays until its source is dropped."""
        self.saved = SavedParts()
        """The parts in files, which follow commits too."""
        self._refused: OrderedDict[bytes, int] = OrderedDict()
        """Prefix of a part that did not fit → how many entries its index had."""

    def __len__(self) -> int:
        return sum(len(group.parts) for group in self._groups.values())

    @property
    def are_followed(self) -> bool:
        """False if there are no parts, neither in memory nor in files."""
        return bool(self._groups) or not self.saved.is_empty

    def find(self, prefix: bytes) -> StoredPart | None:
        """The part with this prefix, complete or not, which is used now."""
        part = self._part(prefix)
        if part is not None:
            self._memory.note_use(part)
        return part

    def _part(self, prefix: bytes) -> StoredPart | None:
        group = self._groups.get(prefix[:SOURCE_BYTES])
        return None if group is None else group.parts.get(prefix)

    def holds(self, part: StoredPart) -> bool:
        """True if the part has not been dropped."""
        return self._part(part.prefix) is part

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
        assert self._part(part.prefix) is None
        saved = self.saved.find(part.prefix)
        part.reading = None if saved is None else FileReading(saved)
        self._memory.add(part, self._groups.setdefault(part.prefix[:SOURCE_BYTES], PartGroup()))
        self.count(part)

    def count(self, part: StoredPart) -> None:
        """Count the memory of a part that has changed; drop the least recently used of all stores beyond the limit, of
        many some, and the others in `tend`.
        """
        self._memory.count(part)
        if self._is_untended(part):
            self._untended[part.prefix] = None
            self._rouse()
        if not self._memory.make_room(self.limit_bytes, part):
            self.refuse(part)
        elif self._memory.used_bytes > self.limit_bytes:
            self._rouse()

    def _rouse(self) -> None:
        """Have `tend` called."""
        if not self._is_awake:
            self._is_awake = True
            self._wake()

    def tend(self) -> bool:
        """Let go of some dropped parts, or of some for which there is no room, or do a step of the work that a complete
        part has for its cells; False if there was nothing to do.
        """
        if self._memory.let_go_some():
            return True
        if self._memory.used_bytes > self.limit_bytes:
            self._memory.make_room(self.limit_bytes, None)
            return True
        while self._untended:
            prefix = next(iter(self._untended))
            part = self._part(prefix)
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
        self._memory.drop(part)

    def restart(self, part: StoredPart) -> None:
        """Load a part from its rows from now on, because its file is of no use."""
        if self.saved.find(part.prefix) is not None:
            self.saved.take(part.prefix)
        former, part.entries, part.reading = part.entries, part.entries.emptied(), None
        self.count(part)
        freeing.submit(former.free)

    def search_ended(self, part: StoredPart) -> None:
        """Note that a search uses the part no more. The last one frees the part if it has been dropped."""
        part.searches -= 1
        free_unused(part)

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
                        self._memory.drop(part)
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
        return None if not self.saved.is_empty and self.saved.note(prefix, key) else self._part(prefix)

    # --- what ends the parts ----------------------------------------------------------------------

    def clear(self) -> None:
        """Drop all parts and their files, because the engine was replaced."""
        self.saved.clear()
        groups, self._groups = self._groups, {}
        self._drop(groups.values())
        self._untended.clear()
        self._refused.clear()

    def drop(self, sources: Iterable[bytes]) -> None:
        """Drop the parts of deleted sources, and their files."""
        self.saved.drop(sources)
        self._drop([self._groups.pop(source_id) for source_id in sources if source_id in self._groups])

    def _drop(self, groups: Collection[PartGroup]) -> None:
        if groups:
            self._memory.drop_groups(groups)
            self._rouse()

    def let_go(self) -> LeavingGroups:
        """Take out all parts and files, because the store is being closed: `worth_saving` chooses those to be saved on
        a thread, then `end` is to be called.
        """
        groups, self._groups = self._groups, {}
        for group in groups.values():
            group.is_being_saved = True
        return LeavingGroups(tuple(groups.values()), self.saved.let_go())

    def end(self, leaving: LeavingGroups | None) -> Iterator[None]:
        """Let go of all parts that have been dropped, and of those that `let_go` has returned; gives way by yielding.

        The event loop's other stores may have to go on with this if the caller stops before the end.
        """
        if leaving is not None:
            for group in leaving.in_memory:
                group.is_being_saved = False
            self._memory.drop_groups(leaving.in_memory)
        while self._memory.let_go_some():
            yield


def worth_saving(leaving: LeavingGroups) -> LeavingParts:
    """What can be saved of a store that is being closed: complete parts, and files that are still right; others are
    removed. On any thread.
    """
    parts = [
        part
        for group in leaving.in_memory
        for part in group.parts.values()
        if part.is_complete and part.entries.count >= SAVED_ENTRIES_MIN
    ]
    parts.sort(key=attrgetter("last_use"), reverse=True)
    return LeavingParts([(part.prefix, part.entries) for part in parts], take_unchanged(leaving.in_files))
