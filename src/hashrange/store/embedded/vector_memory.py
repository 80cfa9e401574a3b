"""How much memory do the parts of vector indexes take, and which of them goes first? Stores on one event loop, such as
those of a server and of its forks, share their memory: beyond its limit, a store drops the part that was used least
recently, its own or another store's.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakKeyDictionary

import msgspec

_of_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, VectorMemory]" = WeakKeyDictionary()


class VectorMemory(msgspec.Struct, eq=False, weakref=True):
    """The parts of some stores that run on one thread, in the order of their use.

    A struct, because the end of a fork takes apart all other objects that the fork leads to (`taken_apart.py`).
    """

    used_bytes: int = 0
    """Memory of all parts, as their stores have counted it."""
    _parts: OrderedDict[object, Callable[[], None]] = msgspec.field(default_factory=OrderedDict)

    def add(self, part: object, drop: Callable[[], None]) -> None:
        """Add a part that is used now; `drop` drops it from its store, which then calls `take_out`."""
        self._parts[part] = drop

    def note_use(self, part: object) -> None:
        """Note that a part is used now."""
        self._parts.move_to_end(part)

    def take_out(self, part: object) -> None:
        """Remove a part."""
        del self._parts[part]

    def oldest(self) -> tuple[object, Callable[[], None]]:
        """The part that was used least recently, and what drops it. There must be one."""
        return next(iter(self._parts.items()))


def memory_on(loop: asyncio.AbstractEventLoop | None) -> VectorMemory:
    """The memory of stores on this event loop; without a loop, of one store."""
    if loop is None:
        return VectorMemory()
    return _of_loops.setdefault(loop, VectorMemory())
