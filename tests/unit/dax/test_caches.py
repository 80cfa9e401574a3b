"""The caches of a node against a slow, obvious simulation: lives, memory, the last used, writes through other nodes."""

import asyncio
import random
from functools import partial
from itertools import pairwise

import pytest

from hashrange.clock import SystemClock
from hashrange.dax import node_caches
from hashrange.dax.node_caches import (
    ENTRY_BYTES,
    REPLICATED_SHARE_MAX,
    REPLICATION_SECONDS,
    TAKEN_TOGETHER,
    ItemKey,
    LruCache,
    NodeCaches,
    PassingContent,
    _Replicated,
)
from hashrange.dax.node_host import NodePlace, NodeTerms
from hashrange.operations.registry import OPERATIONS
from hashrange.server.connections import Connections
from hashrange.server.dax.nodes import FREED_TOGETHER, DaxNodes
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store


class Now:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.mark.parametrize("seed", range(30))
def test_an_lru_cache_is_as_in_the_simulation(seed: int) -> None:
    chance, now = random.Random(seed), Now()
    memory = 10 * (ENTRY_BYTES + 100)
    cache: LruCache[bytes] = LruCache(memory, now)
    model: list[tuple[int, bytes, int, float]] = []
    """Key, content, size, end of life; the last used one is the last."""
    evicted = 0
    for _ in range(400):
        key = chance.randrange(20)
        now.seconds += chance.choice([0, 1, 10])
        entry = next((one for one in model if one[0] == key), None)
        if entry is not None:
            model.remove(entry)
        if chance.random() < 0.5:
            size, life = chance.choice([10, 100, 1_000, memory]), chance.choice([0, 5, 100])
            content = chance.randbytes(4)
            cache.put(key, content, size, life)
            if size + ENTRY_BYTES <= memory:
                until = now.seconds + life if life else float("inf")
                model.append((key, content, size + ENTRY_BYTES, until))
            while sum(one[2] for one in model) > memory:
                evicted += model.pop(0)[2]
        elif chance.random() < 0.1:
            cache.drop(key)
        else:
            found = cache.get(key)
            is_alive = entry is not None and entry[3] > now.seconds
            assert (None if found is None else found.content) == (entry[1] if entry is not None and is_alive else None)
            if entry is not None and is_alive:
                model.append(entry)
        assert cache.size_bytes == sum(one[2] for one in model) <= memory
        assert cache.evicted_bytes == evicted
        assert len(cache) == len(model)


def key_of(number: int) -> ItemKey:
    return ("000000000000", "eu-west-1", "music", str(number).encode())


def cluster(now: Now, count: int = 3, record_ttl: int = 300_000, query_ttl: int = 300_000) -> list[NodeCaches]:
    nodes: list[NodeCaches] = []

    def peers(place: int) -> list[NodeCaches]:
        return [one for other, one in enumerate(nodes) if other != place]

    terms = NodeTerms(record_ttl, query_ttl, 10_000_000)
    nodes += [NodeCaches(terms, now, partial(peers, place)) for place in range(count)]
    return nodes


def content(node: NodeCaches, number: int) -> object:
    """What a node knows of an item; `...` if nothing."""
    known = node.item(key_of(number))
    return ... if known is None else known.content


def test_items_that_are_missing_are_known_too() -> None:
    (node,) = cluster(Now(), 1)
    assert content(node, 1) is ...
    node.keep_item(key_of(1), None)
    assert content(node, 1) is None
    node.written(key_of(1), b"a")
    assert content(node, 1) == b"a"
    node.written(key_of(1), None)
    assert content(node, 1) is ..., "a deleted item is forgotten"
    assert (node.counts["ItemCacheHits"], node.counts["ItemCacheMisses"]) == (2, 2)


def test_an_item_lives_for_a_while_and_a_write_begins_its_life_anew() -> None:
    now = Now()
    (node,) = cluster(now, 1, record_ttl=10_000)
    node.keep_item(key_of(1), b"a")
    now.seconds += 9
    node.written(key_of(1), b"b")
    now.seconds += 9
    assert content(node, 1) == b"b"
    now.seconds += 1
    assert content(node, 1) is ...


def test_without_a_life_items_stay_and_replies_are_not_kept() -> None:
    now = Now()
    (node,) = cluster(now, 1, record_ttl=0, query_ttl=0)
    node.keep_item(key_of(1), b"a")
    node.keep_reply(("q",), 10, b"reply")
    now.seconds += 1e9
    assert content(node, 1) == b"a"
    assert node.reply(("q",), "Query") is None
    assert node.counts["QueryCacheMisses"] == 1


def test_replies_are_kept_whatever_is_written() -> None:
    now = Now()
    (node,) = cluster(now, 1, query_ttl=10_000)
    node.keep_reply(("q",), 10, b"reply")
    node.written(key_of(1), b"a")
    assert node.reply(("q",), "Scan") == b"reply"
    now.seconds += 10
    assert node.reply(("q",), "Scan") is None
    assert (node.counts["ScanCacheHits"], node.counts["ScanCacheMisses"]) == (1, 1)


def test_other_nodes_know_of_a_write_a_moment_later() -> None:
    now = Now()
    one, two, three = cluster(now)
    for node in (one, two):
        node.keep_item(key_of(1), b"old")
    one.written(key_of(1), b"new")
    assert [content(node, 1) for node in (one, two, three)] == [b"new", b"old", ...]
    now.seconds += REPLICATION_SECONDS
    assert [content(node, 1) for node in (one, two, three)] == [b"new", b"new", ...], (
        "a node that did not know it does not"
    )
    two.written(key_of(1), None)
    assert [content(node, 1) for node in (one, two)] == [b"new", ...]
    now.seconds += REPLICATION_SECONDS
    assert content(one, 1) is ...


def test_writes_are_counted_so_that_no_older_read_is_kept() -> None:
    (node,) = cluster(Now(), 1)
    before = node.writes
    node.written(key_of(1), b"a")
    assert node.writes > before


def test_writes_of_other_nodes_do_not_pile_up_in_a_node_that_nobody_asks() -> None:
    now = Now()
    peer = NodeCaches(NodeTerms(300_000, 300_000, 1_000_000), now)
    caches = NodeCaches(NodeTerms(300_000, 300_000, 1_000_000), now, lambda: [peer])
    for number in range(5_000):
        caches.written(key_of(number), bytes(1_000))
        assert peer.waiting_bytes <= 1_000_000 * REPLICATED_SHARE_MAX + 2_000
    now.seconds += REPLICATION_SECONDS
    caches.written(key_of(0), b"")
    assert peer.waiting_bytes < 2_000


def test_what_waits_too_long_in_line_is_known_early_and_in_order() -> None:
    now = Now()
    peer = NodeCaches(NodeTerms(0, 0, 20_000), now)
    caches = NodeCaches(NodeTerms(0, 0, 20_000), now, lambda: [peer])
    peer.keep_item(key_of(1), b"before")
    for number in range(10):
        caches.written(key_of(1), bytes([number]) * 500)
    found = peer.item(key_of(1))
    assert found is not None
    assert found.content != b"before"
    now.seconds += REPLICATION_SECONDS
    last = peer.item(key_of(1))
    assert last is not None
    assert last.content == bytes([9]) * 500


def test_an_item_whose_list_is_passing_is_not_known_afterwards() -> None:
    (node,) = cluster(Now(), 1)
    node.written(key_of(1), b"a")
    node.written(key_of(1), PassingContent(b"b"))
    assert content(node, 1) is ...
    node.keep_item(key_of(1), PassingContent(b"c"))
    assert content(node, 1) is ...


def test_a_write_through_another_node_counts_as_one() -> None:
    """Whoever has begun before it may not keep what it knows."""
    one, two, _ = cluster(Now())
    before = two.writes
    one.written(key_of(1), b"a")
    assert two.writes > before


# --- writes through other nodes, bounded ----------------------------------------------------------


@pytest.mark.parametrize("at_once", [0, 1, TAKEN_TOGETHER])
@pytest.mark.parametrize("seed", range(10))
def test_it_cannot_be_seen_how_many_writes_a_request_takes_over(
    seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a simulation in which all writes that are due are known at once."""
    monkeypatch.setattr(node_caches, "TAKEN_TOGETHER", at_once)
    chance, now = random.Random(seed), Now()
    nodes = cluster(now, record_ttl=0)
    known: list[dict[int, bytes | None]] = [{} for _ in nodes]
    coming: list[tuple[float, int, int, bytes | None]] = []
    for _ in range(500):
        place, number = chance.randrange(len(nodes)), chance.randrange(5)
        due = [one for one in coming if one[0] <= now.seconds]
        coming = [one for one in coming if one[0] > now.seconds]
        for _, other, key, value in due:
            if value is None:
                known[other].pop(key, None)
            elif key in known[other]:
                known[other][key] = value
        if chance.random() < 0.5:
            value = chance.choice([None, chance.randbytes(4)])
            nodes[place].written(key_of(number), value)
            known[place].pop(number, None)
            if value is not None:
                known[place][number] = value
            coming += [
                (now.seconds + REPLICATION_SECONDS, other, number, value) for other in range(3) if other != place
            ]
        else:
            assert content(nodes[place], number) == known[place].get(number, ...)
            if number not in known[place]:
                nodes[place].keep_item(key_of(number), b"read")
                known[place][number] = b"read"
        now.seconds += chance.choice([0, 0, 0.05, 1])


def test_one_request_takes_over_few_of_very_many_writes() -> None:
    now = Now()
    one, two = cluster(now, 2)
    count = 5 * TAKEN_TOGETHER
    for number in range(count):
        two.keep_item(key_of(number), b"old")
        one.written(key_of(number), b"new")
    now.seconds += REPLICATION_SECONDS
    left = [two.waiting_bytes]
    for number in reversed(range(count)):
        assert content(two, number) == b"new"
        left.append(two.waiting_bytes)
    steps_bytes = [before - after for before, after in pairwise(left)]
    assert 0 < max(steps_bytes) <= (TAKEN_TOGETHER + 1) * (ENTRY_BYTES + 20)
    assert not left[count // 2], "requests take over more than they bring"


def test_writes_of_one_moment_to_one_item_wait_as_one() -> None:
    one, two = cluster(Now(), 2)
    for number in range(1_000):
        one.written(key_of(1), b"%d" % number)
    assert two.waiting_bytes < 2 * ENTRY_BYTES


# --- emptying -------------------------------------------------------------------------------------


class Tracked(bytes):
    """Content that counts how often it is freed."""

    freed = 0

    def __del__(self) -> None:
        Tracked.freed += 1


@pytest.mark.parametrize("end", ["content", "node", "server"])
def test_caches_are_empty_at_once_and_freed_in_turns(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tracked, "freed", 0)
    count, place = 3 * FREED_TOGETHER, NodePlace("000000000000", "eu-west-1", "shop", "shop-a")
    store = open_store(None, SystemClock(), None)

    async def look() -> None:
        service = Service(store, OPERATIONS, SystemClock(), Settings())
        service.take_turns(asyncio.get_running_loop())
        nodes = DaxNodes(service, None, None, Connections(lambda _: None, SystemClock()))
        terms = NodeTerms(0, 0, 100_000_000)
        await nodes.start(place, terms, "", None, must_have_port=False)
        caches = nodes._running[place].caches
        for number in range(count):
            caches.keep_item(key_of(number), Tracked(b"old"))
            caches.replicate(_Replicated(float("inf"), key_of(number), Tracked(b"new")))
        if end == "content":
            nodes.forget()
        elif end == "node":
            await nodes.stop(place)
        else:
            closing = asyncio.create_task(nodes.close())
            await asyncio.sleep(0)
        assert (caches.lru.size_bytes, caches.waiting_bytes, content(caches, count - 1)) == (0, 0, ...)
        freed = [0]
        for _ in range(2 * count // FREED_TOGETHER + 2):
            freed.append(Tracked.freed)
            await asyncio.sleep(0)
        assert freed[-1] == 2 * count
        assert max(after - before for before, after in pairwise(freed)) <= FREED_TOGETHER
        await (closing if end == "server" else nodes.close())

    try:
        asyncio.run(look())
    finally:
        store.close_now()
