"""How much memory do the parts of vector indexes take, which of them goes first, and how do many go at once?

Stores on one event loop, such as those of a server and of its forks, share their memory: beyond its limit, a store
drops the part that was used least recently, its own or another store's.

The parts of a source are dropped in one step, whatever their number: their group joins those that are dropped, and some
parts of these are let go of in each later step. Until then they count as used, but they are the first to go when memory
is needed, so that no other part has to go in their place.

A step makes room by letting go of a bounded number of parts, which are 4 MB or more. If that is not enough, the limit
is exceeded until later steps have let go of more, by less than one step has added: a block, some sections of a file, or
the centers of cells.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable
from weakref import WeakKeyDictionary

import msgspec

from hashrange.store.embedded.stored_part import StoredPart
from hashrange.work_threads import WorkThread

LET_GO_PARTS, LET_GO_ENTRIES = 128, 8_192
"""So many parts, or parts with so many entries, are let go of in one step. A million entries of one part take 0.1 s to
free, as do 20,000 parts of 34 entries; a part with more entries than these is freed on a thread.
"""
ROOM_PARTS, ROOM_ENTRIES = 2_048, 65_536
"""So many parts, or parts with so many entries, are let go of in a step that needs their memory, in some 8 ms."""
freeing = WorkThread("hashrange-vectors-freed")
_of_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, VectorMemory]" = WeakKeyDictionary()


class PartGroup(msgspec.Struct, eq=False):
    """The parts of one source, by their prefixes."""

    parts: dict[bytes, StoredPart] = msgspec.field(default_factory=dict)
    is_being_saved: bool = False
    """True while a thread reads the parts, because their store is being closed: none may be removed or freed."""


class VectorMemory(msgspec.Struct, eq=False, weakref=True):
    """The parts of some stores that run on one thread, in the order of their use.

    A struct, because the end of a fork takes apart all other objects that the fork leads to (`taken_apart.py`).
    """

    used_bytes: int = 0
    """Memory of all parts that have not been let go of, as it was counted last."""
    _uses_count: int = 0
    _groups: OrderedDict[StoredPart, PartGroup] = msgspec.field(default_factory=OrderedDict)
    """The parts that are counted, those last that were used last, each with its group."""
    _dropped: deque[PartGroup] = msgspec.field(default_factory=deque)
    """Groups that have been dropped, and of whose parts some are still to be let go of."""

    def add(self, part: StoredPart, group: PartGroup) -> None:
        """Add a part to its group, and to all parts as the one that is used now."""
        group.parts[part.prefix] = part
        self._groups[part] = group
        self.note_use(part)

    def note_use(self, part: StoredPart) -> None:
        """Note that a part is used now."""
        self._uses_count += 1
        part.last_use = self._uses_count
        self._groups.move_to_end(part)

    def count(self, part: StoredPart) -> None:
        """Count the memory of a part that has changed."""
        size_bytes = part.entries.memory_bytes
        self.used_bytes += size_bytes - part.counted_bytes
        part.counted_bytes = size_bytes

    def make_room(self, limit_bytes: int, part: StoredPart | None) -> bool:
        """Let go of dropped parts, then drop those that were used least recently, until `limit_bytes` are not exceeded,
        or until it is enough for one step; False if `part` is the only one that is left, and exceeds them.
        """
        entries_count = 0
        for _ in range(ROOM_PARTS):
            if self.used_bytes <= limit_bytes or entries_count >= ROOM_ENTRIES:
                break
            if self._dropped:
                gone_count = self._let_go_of_one()
            else:
                oldest = next(iter(self._groups))
                if oldest is part and len(self._groups) == 1:
                    return False
                gone_count = oldest.entries.count
                self.drop(oldest)
            if gone_count <= LET_GO_ENTRIES:  # else a thread frees it
                entries_count += gone_count
        return True

    def drop(self, part: StoredPart) -> None:
        """Drop a part of a group that is not dropped; nobody may begin to use the part any more."""
        group = self._groups[part]
        self._uncount(part)
        if not group.is_being_saved:
            del group.parts[part.prefix]
            _let_go(part)

    def drop_groups(self, groups: Iterable[PartGroup]) -> None:
        """Drop all parts of some groups; nobody may begin to use these parts any more. `let_go_some` is to be called
        until it returns False.
        """
        self._dropped.extend([group for group in groups if group.parts])

    def let_go_some(self) -> bool:
        """Let go of some dropped parts, in about a millisecond; False if there are none."""
        if not self._dropped:
            return False
        entries_count = 0
        for _ in range(LET_GO_PARTS):
            entries_count += self._let_go_of_one()
            if not self._dropped or entries_count >= LET_GO_ENTRIES:
                break
        return True

    def _let_go_of_one(self) -> int:
        """Let go of a dropped part; returns how many entries it has."""
        parts = self._dropped[0].parts
        _, part = parts.popitem()
        if not parts:
            self._dropped.popleft()
        entries_count = part.entries.count
        if part in self._groups:  # else it had to go while it was being saved
            self._uncount(part)
        _let_go(part)
        return entries_count

    def _uncount(self, part: StoredPart) -> None:
        del self._groups[part]
        self.used_bytes -= part.counted_bytes


def _let_go(part: StoredPart) -> None:
    part.is_let_go = True
    free_unused(part)


def free_unused(part: StoredPart) -> None:
    """Free a part that has been let go of, unless a search uses it: a large one on a thread, others with the last
    reference to them.
    """
    if part.is_let_go and not part.searches and part.entries.count > LET_GO_ENTRIES:
        freeing.submit(part.entries.free)


def memory_on(loop: asyncio.AbstractEventLoop | None) -> VectorMemory:
    """The memory of stores on this event loop; without a loop, of one store."""
    if loop is None:
        return VectorMemory()
    return _of_loops.setdefault(loop, VectorMemory())
