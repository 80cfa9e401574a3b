"""Which contents does a cache keep? The last used ones, as far as they fit its memory, each for a while."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

CachedContent = TypeVar("CachedContent")

ENTRY_BYTES = 500
"""Memory of an entry beside the bytes of its key and content: objects, and places in tables."""


class Cached(NamedTuple, Generic[CachedContent]):
    """What a cache knows of a key."""

    content: CachedContent
    size_bytes: int
    until_seconds: float
    """Service time until which it may be used."""


class LruCache(Generic[CachedContent]):
    """Contents by key."""

    def __init__(self, memory_bytes: int, now: Callable[[], float]) -> None:
        """`now`: seconds of service time."""
        self._entries: OrderedDict[Hashable, Cached[CachedContent]] = OrderedDict()
        self._memory_bytes = memory_bytes
        self._now = now
        self.size_bytes = 0
        self.evicted_bytes = 0
        """Of all entries that gave way to others."""

    def __len__(self) -> int:
        return len(self._entries)

    def knows(self, key: Hashable) -> bool:
        """True if there is an entry, even one whose time is over. It is not used by that."""
        return key in self._entries

    def get(self, key: Hashable) -> Cached[CachedContent] | None:
        """The entry of this key, which is the last used one then; None if there is none, or its time is over."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.until_seconds <= self._now():
            self.drop(key)
            return None
        self._entries.move_to_end(key)
        return entry

    def put(self, key: Hashable, content: CachedContent, size_bytes: int, life_seconds: float) -> None:
        """Keep a content for so long; for 0 s: until there is no room. `size_bytes`: of key and content;
        what does not fit the whole cache is not kept.
        """
        self.drop(key)
        size_bytes += ENTRY_BYTES
        if size_bytes > self._memory_bytes:
            return
        until_seconds = self._now() + life_seconds if life_seconds else float("inf")
        self._entries[key] = Cached(content, size_bytes, until_seconds)
        self.size_bytes += size_bytes
        while self.size_bytes > self._memory_bytes:
            _, entry = self._entries.popitem(last=False)
            self.size_bytes -= entry.size_bytes
            self.evicted_bytes += entry.size_bytes

    def drop(self, key: Hashable) -> None:
        """Forget a key, if it is known."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size_bytes -= entry.size_bytes

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.size_bytes = 0
