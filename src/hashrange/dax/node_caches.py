"""What does one DAX node keep? Items by key, and replies to queries and scans by their parameters,
in one memory, the last used ones, each for a while; and it counts how it is used, and which items are asked for most.

The rules are the service's (dax.md 3): writes that pass through the node replace its items, and those of the cluster's
other nodes a moment later; nothing but time removes a query's reply.
"""

from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar

from hashrange.dax.node_host import NodeTerms

REPLICATION_SECONDS = 0.1
"""Service time after which other nodes of a cluster know of a write: a model, as the guide says just
that it is usually within a second."""
REPLICATED_SHARE_MAX = 0.05
"""Share of a node's memory that writes through other nodes may take while they wait;
then the first ones are known earlier."""
TAKEN_TOGETHER = 100
"""Writes through other nodes that one request takes over, in 0.1 ms, beside those of the items that it names."""
LATENCIES_MAX = 2_048
"""Latencies that are kept before they are counted."""
REPLY_KEY_BYTES = 150
"""Memory of the key of a reply beside its bytes: it names all that was asked."""
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
    """Contents by key: the last used ones, as far as they fit its memory. docs/adr/0066-the-cache-of-dax-nodes.md
    compares it with a library's.
    """

    def __init__(self, memory_bytes: int, now: Callable[[], float]) -> None:
        """`now`: seconds of service time."""
        self.entries: OrderedDict[Hashable, Cached[CachedContent]] = OrderedDict()
        self._memory_bytes = memory_bytes
        self._now = now
        self.size_bytes = 0
        self.evicted_bytes = 0
        """Of all entries that gave way to others."""

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, key: Hashable) -> Cached[CachedContent] | None:
        """The entry of this key, which is the last used one then; None if there is none, or its time is over."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        if entry.until_seconds <= self._now():
            self.drop(key)
            return None
        self.entries.move_to_end(key)
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
        self.entries[key] = Cached(content, size_bytes, until_seconds)
        self.size_bytes += size_bytes
        while self.size_bytes > self._memory_bytes:
            _, entry = self.entries.popitem(last=False)
            self.size_bytes -= entry.size_bytes
            self.evicted_bytes += entry.size_bytes

    def drop(self, key: Hashable) -> None:
        """Forget a key, if it is known."""
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.size_bytes -= entry.size_bytes

    def clear(self) -> "OrderedDict[Hashable, Cached[CachedContent]]":
        """Forget everything at once. Returns what was known, to be freed piece by piece."""
        former, self.entries = self.entries, OrderedDict()
        self.size_bytes = 0
        return former


ItemKey = tuple[str, str, str, bytes]
"""Account, Region, name of the table, and key in canonical form."""
SAMPLE = 8
KEYS_MAX = 1_000
KEY_BYTES_MAX = 4_096
"""Length of a table's name and a key together; a key has up to 2,048 and 1,024 bytes, and some that say so."""


class HotKeys:
    """The keys of one node that are read most. A sample is counted, so that others pay nothing: on the average one
    request of SAMPLE, at distances drawn at random.

    When there are too many keys, all counts are halved, and those of keys that were seen once are dropped: what has
    been hot lately is known.
    """

    __slots__ = ("_counts", "_draw", "_left")

    def __init__(self) -> None:
        self._counts: Counter[ItemKey] = Counter()
        self._draw = Random(0).randrange  # noqa: S311 - no secret
        self._left = 1

    def see(self, key: ItemKey) -> None:
        """Note that an item is asked for. 0.05 µs."""
        self._left -= 1
        if self._left:
            return
        self._left = self._draw(1, 2 * SAMPLE)  # a fixed distance would miss keys that come in turns
        if len(key[2]) + len(key[3]) > KEY_BYTES_MAX:
            return  # no item has such a key
        self._counts[key] += 1
        if len(self._counts) > KEYS_MAX:
            self._counts = Counter({one: count // 2 for one, count in self._counts.items() if count > 1})

    def most(self, count: int) -> list[tuple[ItemKey, int]]:
        """The keys that were asked for most, and about how often, the hottest first."""
        return [(key, seen * SAMPLE) for key, seen in self._counts.most_common(count)]


class _Replicated(NamedTuple):
    """A write through another node, which is to be known here from a time on."""

    due_seconds: float
    key: ItemKey
    content: bytes | None
    """None: deleted."""


class PassingContent(bytes):
    """An item whose attribute list may soon be unknown."""


class NodeCaches:
    """The caches of one node since it was started or rebooted."""

    def __init__(
        self,
        terms: NodeTerms,
        now: Callable[[], float],
        peers: "Callable[[], list[NodeCaches]]" = list,
        *,
        keeps_latencies: bool = True,
    ) -> None:
        """`now`: seconds of service time; `peers()`: the caches of the cluster's other nodes.
        `keeps_latencies` False: nobody wants to know how long requests take.
        """
        self._now = now
        self._peers = peers
        self.memory_bytes = terms.memory_bytes
        self._item_life_seconds = terms.record_ttl_millis / 1000
        self._query_life_seconds = terms.query_ttl_millis / 1000
        self.lru: LruCache[bytes | None] = LruCache(terms.memory_bytes, now)
        self._replicated: OrderedDict[ItemKey, list[_Replicated]] = OrderedDict()
        """Key → writes through other nodes that are not known here yet, oldest first; those of one moment are one."""
        self.waiting_bytes = 0
        """Memory of `_replicated`."""
        self.writes = 0
        """Number of writes so far, through any node of the cluster: whoever began before the last one and gave
        way may not know the newest item."""
        self.received_bytes = self.sent_bytes = 0
        self.latencies_seconds: array[float] | None = array("d") if keeps_latencies else None
        """How long each of the last requests took, which `count_latencies` has not counted;
        None: nobody wants to know."""
        self.latencies_ms: Counter[float] = Counter()
        """Rounded latency in milliseconds → requests that took so long, since somebody last looked."""
        self.latency_seconds = 0.0
        """Of all these together."""
        self.hot_keys = HotKeys()
        self.counts: Counter[str] = Counter()
        """By name of AWS/DAX's metric: what has happened since the node was started."""

    def count_latencies(self) -> None:
        """Count the last requests in `latencies_ms`; called every LATENCIES_MAX requests,
        as this takes 0.3 µs for each.
        """
        latencies = self.latencies_seconds
        if latencies:
            self.latencies_seconds = array("d")
            self.latencies_ms.update([round(seconds * 1000, 3) for seconds in latencies])
            self.latency_seconds += sum(latencies)

    def take_latencies(self) -> tuple[Counter[float], float]:
        """Return `latencies_ms` and `latency_seconds` up to now, and begin anew."""
        self.count_latencies()
        taken = self.latencies_ms, self.latency_seconds
        self.latencies_ms, self.latency_seconds = Counter(), 0.0
        return taken

    def clear(self) -> list[OrderedDict[Any, Any]]:
        """Forget all items and replies at once. Returns what was known, to be freed piece by piece:
        350,000 items at once take 60 ms.
        """
        self.wrote()
        replicated, self._replicated = self._replicated, OrderedDict()
        self.waiting_bytes = 0
        return [self.lru.clear(), replicated]

    # --- items ----------------------------------------------------------------------------------

    def item(self, key: ItemKey) -> Cached[bytes | None] | None:
        """What is known of an item; None if nothing is.
        Its content is the attribute list's id and values; None: there is no such item.
        """
        if self._replicated:
            self._take_replicated(key)
        self.hot_keys.see(key)
        entry = self.lru.get(key)
        if entry is None:
            self.counts["ItemCacheMisses"] += 1
            return None
        self.counts["ItemCacheHits"] += 1
        return entry

    def keep_item(self, key: ItemKey, content: bytes | None) -> None:
        """Keep an item that was read; None: there is none. Of PassingContent, nothing is known afterwards."""
        if content.__class__ is PassingContent:
            self.lru.drop(key)
            return
        self.lru.put(key, content, _item_size_bytes(key, content), self._item_life_seconds)

    def written(self, key: ItemKey, content: bytes | None) -> None:
        """Keep an item that was written through this node (None: deleted, so it is not known any more),
        and let the other nodes know.
        """
        self.wrote()
        if self._replicated:
            self._take_replicated(key)  # these are older
        self._put_or_drop(key, content)
        due_seconds = self._now() + REPLICATION_SECONDS
        for peer in self._peers():
            peer.replicate(_Replicated(due_seconds, key, content))

    def wrote(self) -> None:
        """Note that something is written: no read that has begun before may be kept."""
        self.writes += 1

    def replicate(self, write: _Replicated) -> None:
        """Take over a write through another node once it is due."""
        self.wrote()
        self._take_replicated(write.key)
        waiting = self._replicated.setdefault(write.key, [])
        if waiting and waiting[-1].due_seconds == write.due_seconds:
            before = waiting.pop()
            self.waiting_bytes -= _waiting_bytes(before)
            if before.content is None:  # by then the item is not known, and so the new content is not kept
                write = before
        waiting.append(write)
        self.waiting_bytes += _waiting_bytes(write)
        waiting_bytes_max = int(self.memory_bytes * REPLICATED_SHARE_MAX)
        while self.waiting_bytes > waiting_bytes_max:
            self._take_oldest(next(iter(self._replicated)))

    def _take_replicated(self, key: ItemKey) -> None:
        """Take over the writes of an item that are due, so that it is as it must be now, and some of other items:
        all at once could take long, after a step of the clock.
        """
        now_seconds, waiting = self._now(), self._replicated
        while key in waiting and waiting[key][0].due_seconds <= now_seconds:
            self._take_oldest(key)
        for _ in range(TAKEN_TOGETHER):
            other = next(iter(waiting), None)
            if other is None or waiting[other][0].due_seconds > now_seconds:
                break
            self._take_oldest(other)

    def _take_oldest(self, key: ItemKey) -> None:
        """Take over the oldest write of an item that waits."""
        waiting = self._replicated[key]
        write = waiting.pop(0)
        if waiting:
            self._replicated.move_to_end(key)
        else:
            del self._replicated[key]
        self.waiting_bytes -= _waiting_bytes(write)
        if write.content is None or key in self.lru.entries:
            self._put_or_drop(key, write.content)

    def _put_or_drop(self, key: ItemKey, content: bytes | None) -> None:
        if content is None:
            self.lru.drop(key)
        else:
            self.keep_item(key, content)

    # --- replies to queries and scans -----------------------------------------------------------

    def reply(self, key: Hashable, kind: str) -> bytes | None:
        """The reply kept for these parameters, or None. `kind`: `Query` or `Scan`."""
        if not self._query_life_seconds:
            entry = None
        else:
            entry = self.lru.get(key)
        self.counts[f"{kind}Cache{'Misses' if entry is None else 'Hits'}"] += 1
        return None if entry is None else entry.content

    def keep_reply(self, key: Hashable, size_bytes: int, reply: bytes) -> None:
        """Keep the reply to a query or scan. `size_bytes`: of the key. Does nothing if the life of replies is 0."""
        if self._query_life_seconds:
            self.lru.put(key, reply, size_bytes + REPLY_KEY_BYTES + len(reply), self._query_life_seconds)


def _waiting_bytes(write: _Replicated) -> int:
    return ENTRY_BYTES + _item_size_bytes(write.key, write.content)


def _item_size_bytes(key: ItemKey, content: bytes | None) -> int:
    return len(key[3]) + (0 if content is None else len(content))
