"""How much memory do parts of vector indexes take, and which of them goes first?"""

import asyncio
import gc
import weakref
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.service.opening import open_fork, open_service
from hashrange.service.snapshots import take_snapshot
from hashrange.settings import Settings
from hashrange.store.embedded import stored_part
from hashrange.store.embedded.vector_memory import memory_on
from hashrange.testing.database import server
from tests.unit.store.test_vector_parts import Vectors, parts_of, search_of_numbers


def test_stores_that_share_memory_drop_the_part_that_was_used_least_recently() -> None:
    first, second, third = [Vectors() for _ in range(3)]
    for vectors in (first, second, third):
        vectors.parts._memory = first.parts._memory
        vectors.fill(200)
    first.require_right()
    second.require_right()
    first.require_right()
    used_bytes = sum(one.counted_bytes for one in (*parts_of(first), *parts_of(second)))
    for vectors in (first, second, third):
        vectors.parts.limit_bytes = used_bytes
    third.require_right()
    assert [len(vectors.parts) for vectors in (first, second, third)] == [1, 0, 1]
    second.require_right()
    assert [len(vectors.parts) for vectors in (first, second, third)] == [0, 1, 1]
    third.world.close()
    assert first.parts._memory.used_bytes == parts_of(second)[0].counted_bytes
    first.require_right()
    assert [len(vectors.parts) for vectors in (first, second)] == [1, 1]
    first.world.close()
    second.world.close()
    assert first.parts._memory.used_bytes == 0


def test_a_part_that_fits_alone_is_not_refused() -> None:
    """A write to the part that was used least recently makes it leave, and the next search loads it again."""
    made = Vectors(has_hash=True)
    made.fill(300)
    for tenant in ("t", "u"):
        made.search(made.query(tenant=tenant))
    first, second = parts_of(made)
    made.parts.limit_bytes = made.parts._memory.used_bytes
    for number in range(300, 600):
        made.put(number, "t")
        if parts_of(made) != [first, second]:
            break
    assert parts_of(made) == [second]
    assert made.parts.may_hold(made.source, first.prefix)
    made.search(made.query(tenant="t"))
    assert [part.prefix for part in parts_of(made)] == [first.prefix]
    made.world.close()


def test_a_part_that_is_being_loaded_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another part that is searched meanwhile leaves, although it was searched last."""
    monkeypatch.setattr(stored_part, "SLICE_ROWS", 20)
    made = Vectors(has_hash=True)
    made.fill(300)
    made.search(made.query(tenant="t"))
    (small,) = parts_of(made)
    made.parts.limit_bytes = 4 * made.parts._memory.used_bytes
    for number in range(300, 700):
        made.put(number, "u")
    loading = made.begin(made.query(tenant="u"))
    with pytest.raises(StopIteration):
        while True:
            loading.send(None)
            if made.parts.holds(small):
                made.search(made.query(tenant="t"))
    (large,) = parts_of(made)
    assert large.is_complete
    assert large.prefix != small.prefix
    made.world.close()


def test_stores_on_one_event_loop_share_memory() -> None:
    loops = [asyncio.new_event_loop() for _ in range(2)]
    memories = [memory_on(loop) for loop in loops]
    assert memories[0] is not memories[1]
    assert memory_on(loops[0]) is memories[0]
    assert memory_on(None) is not memory_on(None)
    kept = weakref.ref(memories[0])
    for loop in loops:
        loop.close()
    del loop, loops, memories
    gc.collect()
    assert kept() is None


def test_a_server_and_its_fork_share_memory() -> None:
    async def memories() -> list[object]:
        settings = Settings(data_dir=None)
        service = await open_service(settings, MovableClock(SystemClock()))
        snapshot = await take_snapshot(service)
        fork = await open_fork(settings, snapshot)
        stores: list[Any] = [service.store, fork.store]
        snapshot.checkpoint.release()
        for one in stores:
            await one.close()
        return [one.site.vector_parts._memory for one in stores]

    first, second = asyncio.run(memories())
    assert first is second


@pytest.mark.parametrize("limit_bytes", [0, 10_000, 10**8])
def test_searches_are_right_with_any_memory(limit_bytes: int) -> None:
    with server(Settings(data_dir=None, vector_memory_bytes=limit_bytes)) as database:
        client: Any = database.client()
        wanted = search_of_numbers(client, 300)
        found = client.search_vectors(**wanted)["SearchResults"]
        assert len(found) == 100
        assert client.search_vectors(**wanted)["SearchResults"] == found
        store: Any = database._process.service.store
        assert len(store.site.vector_parts) == (limit_bytes == 10**8)
