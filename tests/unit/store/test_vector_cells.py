"""Are large parts of vector indexes divided while they are used, and is nothing found that is not there?"""

import random
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.store.embedded import vector_search
from hashrange.store.embedded.stored_part import StoredPart
from hashrange.testing.database import server
from hashrange.vectors import centroids
from hashrange.vectors.loaded_part import LoadedPart
from hashrange.vectors.ranking import Distance
from tests.unit.jobs.world import drive
from tests.unit.store.test_vector_parts import Vectors, giving_way, ids, parts_of, search_of_numbers


@pytest.fixture(params=[False, True], ids=["whole", "hash"])
def large(request: pytest.FixtureRequest) -> Iterator[Vectors]:
    """A table whose parts are divided from 200 entries on."""
    made = Vectors(has_hash=request.param)
    made.world.embedded.vector_searches._make = partial(LoadedPart, cells_entries_min=200)  # type: ignore[assignment]
    made.fill(600)
    yield made
    assert made.world.close() == []


def require_all_found(large: Vectors) -> None:
    query = large.query(10_000)
    assert large.search(query) == large.by_pages(query)


def tended(large: Vectors) -> int:
    """Do all there is to do for cells; returns how many steps that took."""
    count = 0
    while drive(large.world.embedded.maintenance.tend_vectors()) is not None:
        count += 1
    return count


def test_a_step_looks_only_at_parts_with_something_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 60,000 parts in memory, each step for the cells of one took 150 ms."""
    made = Vectors(has_hash=True)
    made.world.embedded.vector_searches._make = partial(LoadedPart, cells_entries_min=200)  # type: ignore[assignment]
    made.fill(600)
    made.search(made.query(5))
    parts = made.world.embedded.site.vector_parts
    for number in range(100):
        parts.add(StoredPart(b"other%d" % number, LoadedPart("COSINE", 2), (), lambda _: b"", b""))
    looked: list[StoredPart] = []
    is_untended = parts._is_untended

    def look(part: StoredPart) -> bool:
        looked.append(part)
        return is_untended(part)

    monkeypatch.setattr(parts, "_is_untended", look)
    steps = tended(made)
    assert steps > 5
    assert len(looked) <= 3 * steps + 10
    assert made.world.close() == []


@pytest.mark.parametrize("seed", range(3))
def test_commits_are_followed_while_a_part_is_divided(
    large: Vectors, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(centroids, "_STEP_MULTIPLICATIONS", 500)
    wakes: list[None] = []
    large.world.embedded.maintenance.on_work(lambda: wakes.append(None))
    large.chance = random.Random(seed)
    large.require_right()
    assert wakes
    steps_count = 0
    while drive(large.world.embedded.maintenance.tend_vectors()) is not None:
        large.change()
        steps_count += 1
        if steps_count % 20 == 0:
            require_all_found(large)
    assert steps_count > 20
    (part,) = parts_of(large)
    assert part.entries._cells is not None
    for _ in range(100):
        large.change()
    require_all_found(large)
    wakes.clear()
    for number in range(600, 1_600):
        large.put(number)
    assert wakes
    assert tended(large) > 20
    assert part.counted_bytes == part.entries.memory_bytes
    require_all_found(large)


def test_a_server_divides_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[LoadedPart] = []

    def make(distance: Distance, dimensions: int) -> LoadedPart:
        made.append(LoadedPart(distance, dimensions, cells_entries_min=90))
        return made[-1]

    monkeypatch.setattr(vector_search, "import_module", lambda _: SimpleNamespace(LoadedPart=make))
    with server() as database:
        client: Any = database.client()
        wanted = search_of_numbers(client, 100)
        for _ in range(1_000):
            assert len(client.search_vectors(**wanted)["SearchResults"]) == 100
            if not made[0].is_untended:
                break
        assert made[0]._cells is not None
        assert not made[0].is_untended


@pytest.mark.parametrize("rank", [None, "2"])
def test_a_deleted_item_is_not_found_in_a_cell(
    large: Vectors, rank: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.search(large.query())
    tended(large)
    for number in range(60):
        query = large.query(5, rank)
        doomed = ids(large.search(query))[number % 5]
        looks = 0

        def delete(number: int = number, doomed: str = doomed) -> None:
            nonlocal looks
            if looks == number % 7:
                large.delete(int(doomed))
            looks += 1

        with monkeypatch.context() as patched:
            giving_way(large, patched, delete)
            large.search(query)
        assert doomed not in ids(large.search(query))
        large.put(int(doomed))


def test_a_part_for_whose_cells_there_is_no_room_stays_as_it_is(large: Vectors) -> None:
    large.require_right()
    (part,) = parts_of(large)
    large.parts.limit_bytes = part.counted_bytes * 11 // 10
    assert tended(large) == 0
    large.require_right()
    assert parts_of(large) == [part]


def test_a_part_without_memory_for_cells_is_not_kept(large: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: LoadedPart) -> None:
        raise MemoryError

    large.require_right()
    monkeypatch.setattr(LoadedPart, "tend", fail)
    assert tended(large) == 1
    assert len(large.parts) == 0
    large.require_right()
