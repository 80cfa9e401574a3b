"""Are many parts of vector indexes dropped together in a short step, and is each of them freed once?"""

import asyncio
import random
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.items.keys import encode_partition_key
from hashrange.items.rows import encode_row
from hashrange.items.types import Key
from hashrange.service.opening import open_service
from hashrange.settings import Settings
from hashrange.store.embedded import files, saved_parts, vector_memory, vector_parts
from hashrange.store.embedded.saved_parts import SavedGroup, SavedPart
from hashrange.store.embedded.store import EmbeddedStore
from hashrange.store.embedded.stored_part import StoredPart, stored_part
from hashrange.store.embedded.vector_memory import VectorMemory
from hashrange.store.embedded.vector_parts import VectorParts, worth_saving
from hashrange.store.statistics import Statistics
from hashrange.tables.entries import Entry, EntryWrite
from hashrange.testing.database import server
from hashrange.vectors.loaded_part import LoadedPart
from tests.support.seeds import seeds
from tests.support.waiting import until, wait_until
from tests.support.working import lines_of
from tests.unit.store.test_vector_parts import NAME, Vectors, finish_freeing, parts_of, search_of_numbers

ROW = encode_row({"id": {"S": "a"}}, 10)
FILE_NAMES = "part%d"


def with_parts(count: int, folder: Path | None = None) -> Vectors:
    """A table with a vector index of which so many parts are in memory, and as many in files."""
    made = Vectors(has_hash=True, data_dir=folder)
    source_id = made.source.source_id
    for number in range(count):
        part = stored_part(made.source, source_id + b"%d" % number, LoadedPart)
        part.entries.put(b"%d" % number, bytes(16), 10)
        part.is_complete = True
        made.parts.add(part)
    saved = {b"%d" % number: SavedPart(FILE_NAMES % number, b"", 9, {b"changed"}) for number in range(count)}
    made.parts.saved._sources[source_id] = SavedGroup(saved, count)
    made.parts.saved._changed_count = count
    return made


def delete_table(vectors: Vectors) -> None:
    vectors.world.request("DeleteTable", TableName=NAME)


def delete_index(vectors: Vectors) -> None:
    vectors.world.request("UpdateTable", TableName=NAME, VectorIndexUpdates=[{"Delete": {"IndexName": "vix"}}])


def replace_engine(vectors: Vectors) -> None:
    vectors.world.embedded.site.use(vectors.world.embedded.engine)


def end_store(vectors: Vectors) -> None:
    vectors.world.embedded._end()


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are removed."""
    removed: list[str] = []
    monkeypatch.setattr(files, "remove_file", removed.append)
    return removed


@pytest.mark.parametrize("drop", [delete_table, delete_index, replace_engine, end_store])
def test_the_step_that_drops_parts_is_as_short_for_many_as_for_few(
    drop: Callable[[Vectors], None], removed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """60,000 parts held up everybody for a quarter of a second, and 1,000 files for as long as their removal took to be
    handed to a thread.
    """
    lines: list[int] = []
    handed: list[None] = []
    submit = saved_parts._removing.submit

    def counting(*work: Any) -> Any:
        handed.append(None)
        return submit(*work)

    monkeypatch.setattr(saved_parts._removing, "submit", counting)
    for count in (2, 200):
        made = with_parts(count)
        handed.clear()
        lines.append(lines_of(lambda made=made: drop(made)))  # type: ignore[misc]
        submit(int).result()
        assert len(removed) == count
        assert len(handed) == 1
        removed.clear()
        assert not made.parts.are_followed
        if drop is not end_store:
            made.world.close()
    assert lines[0] == lines[1]


def test_the_end_of_a_store_on_disk_is_as_short_for_many_parts_as_for_few(tmp_path: Path, removed: list[str]) -> None:
    """The thread that closes the engine chooses what is saved."""
    lines = []
    for count in (2, 200):
        store = with_parts(count, tmp_path / str(count)).world.embedded
        ended: list[Any] = []
        lines.append(lines_of(lambda store=store, ended=ended: ended.append(store._end())))  # type: ignore[misc]
        ((engine, leaving),) = ended
        store._close(engine, leaving)
        assert len([name for name in removed if name.startswith("part")]) == count
        assert len(list(store.site.vector_parts.end(leaving))) == -(-count // vector_memory.LET_GO_PARTS)
        assert store.site.vector_parts._memory.used_bytes == 0
        removed.clear()
    assert lines[0] == lines[1]


def test_a_step_lets_go_of_as_many_parts_whatever_their_number() -> None:
    lines = []
    for count in (2, 4):
        made = with_parts(count * vector_memory.LET_GO_PARTS)
        delete_table(made)
        memory = made.parts._memory
        lines.append(lines_of(made.parts.tend))
        assert len(memory._groups) == (count - 1) * vector_memory.LET_GO_PARTS
        made.world.close()
        assert memory.used_bytes == 0
    assert lines[0] == lines[1]


def test_dropped_parts_are_the_first_to_go_when_memory_is_needed() -> None:
    """They still count, but no part that is used goes in their place, and none is refused because of them."""
    made, other = with_parts(10), Vectors()
    memory = other.parts._memory = made.parts._memory
    other.fill(100)
    other.require_right()
    (kept,) = parts_of(other)
    dropped_bytes = memory.used_bytes - kept.counted_bytes
    part = parts_of(made)[0]
    delete_table(made)
    assert not made.parts.holds(part)
    assert memory.used_bytes == dropped_bytes + kept.counted_bytes
    other.parts.limit_bytes = kept.counted_bytes + dropped_bytes // 2
    other.parts.count(kept)
    assert parts_of(other) == [kept]
    assert len(memory._groups) == 6
    assert memory.used_bytes == kept.counted_bytes + dropped_bytes // 2
    for vectors in (made, other):
        vectors.world.close()
    assert memory.used_bytes == 0


def test_a_step_makes_room_by_as_many_parts_whatever_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that grew by 52 MB had 6,598 others dropped in one step of 29 ms."""
    monkeypatch.setattr(vector_memory, "ROOM_PARTS", 8)
    lines = []
    for count in (20, 60):
        made = with_parts(count)
        memory = made.parts._memory
        *others, part = parts_of(made)
        made.parts.tend()
        made.parts.limit_bytes = part.counted_bytes
        wakes: list[None] = []
        monkeypatch.setattr(made.parts, "_wake", lambda wakes=wakes: wakes.append(None))
        lines.append(lines_of(lambda made=made, part=part: made.parts.count(part)))  # type: ignore[misc]
        assert [made.parts.holds(one) for one in others] == [False] * 8 + [True] * (count - 9)
        assert len(wakes) == 1
        steps = 0
        while made.parts.tend():
            steps += 1
        assert steps == -(-(count - 9) // 8)
        assert memory.used_bytes == part.counted_bytes
        assert made.parts.holds(part)
        made.world.close()
    assert lines[0] == lines[1]


def test_a_step_makes_room_by_as_many_entries_whatever_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of parts that a thread frees take no time."""
    monkeypatch.setattr(vector_memory, "ROOM_ENTRIES", 10)
    monkeypatch.setattr(vector_memory, "LET_GO_ENTRIES", 8)
    counts = []
    for entries_count in (4, 9):
        made = with_parts(6)
        for part in parts_of(made):
            for number in range(entries_count - 1):
                part.entries.put(b"more%d" % number, bytes(16), 10)
            made.parts.count(part)
        made.parts.limit_bytes = part.counted_bytes
        made.parts.count(part)
        counts.append(len(parts_of(made)))
        made.world.close()
    finish_freeing()
    assert counts == [3, 1]


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_server_lets_go_of_parts_by_itself(is_reset: bool) -> None:
    with server() as database:
        client: Any = database.client()
        found = client.search_vectors(**search_of_numbers(client, 40))["SearchResults"]
        assert len(found) == 40
        store: Any = database._process.service.store
        memory = store.site.vector_parts._memory
        assert memory.used_bytes > 0
        if is_reset:
            database.reset()
        else:
            client.delete_table(TableName=NAME)
        wait_until(lambda: memory.used_bytes == 0)


# --- what is being saved ------------------------------------------------------------------------------


def test_a_part_that_is_being_saved_is_not_freed_for_another_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_parts, "SAVED_ENTRIES_MIN", 10)
    monkeypatch.setattr(vector_memory, "LET_GO_ENTRIES", 10)
    made, other = Vectors(), Vectors()
    memory = other.parts._memory = made.parts._memory
    made.fill(100)
    made.require_right()
    (part,) = parts_of(made)
    leaving = made.parts.let_go()
    other.parts.limit_bytes = part.counted_bytes
    other.fill(100)
    other.require_right()
    finish_freeing()
    assert memory.used_bytes == parts_of(other)[0].counted_bytes
    assert [entries.count for _, entries in worth_saving(leaving).loaded] == [100]
    assert list(made.parts.end(leaving)) == [None]
    finish_freeing()
    assert part.entries.search(made.query()) == []
    assert memory.used_bytes == parts_of(other)[0].counted_bytes
    for vectors in (made, other):
        vectors.world.close()


def test_parts_that_were_searched_last_are_saved_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_parts, "SAVED_ENTRIES_MIN", 1)
    made = with_parts(5)
    prefixes = [part.prefix for part in parts_of(made)]
    for number in (3, 0, 4, 1, 2, 0):
        made.parts.find(prefixes[number])
    leaving = made.parts.let_go()
    assert [prefix for prefix, _ in worth_saving(leaving).loaded] == [prefixes[number] for number in (0, 2, 1, 4, 3)]
    list(made.parts.end(leaving))
    made.world.close()


def test_parts_stay_while_they_are_saved_if_nobody_waits_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread goes on after its caller was cancelled."""
    may_go_on = threading.Event()
    close = EmbeddedStore._close
    begun: list[None] = []

    def waiting(*arguments: Any) -> None:
        begun.append(None)
        may_go_on.wait()
        close(*arguments)

    monkeypatch.setattr(EmbeddedStore, "_close", waiting)

    async def close_and_leave() -> int:
        service = await open_service(Settings(data_dir=str(tmp_path / "data")), MovableClock(SystemClock()))
        store: Any = service.store
        parts: VectorParts = store.site.vector_parts
        part = StoredPart(b"source1", LoadedPart("COSINE", 2), (), lambda _: b"", b"")
        parts.add(part)
        closing = asyncio.get_running_loop().create_task(store.close())
        await until(lambda: bool(begun))
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        may_go_on.set()
        return int(part.is_let_go)

    try:
        assert asyncio.run(close_and_leave()) == 0
    finally:
        may_go_on.set()


# --- random histories ---------------------------------------------------------------------------------


class Entries(LoadedPart):
    """The entries of a part, which note how they are freed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.freed: list[bool] = []

    def free(self) -> None:
        self.freed.append(True)
        super().free()


def source_of(number: int, *, has_hash: bool) -> Any:
    index = SimpleNamespace(distance="COSINE", dimensions=2, search_names=(), attribute="v")
    return SimpleNamespace(
        source_id=b"table" + bytes([number]),
        vectors=SimpleNamespace(index=index, hash_name="tenant" if has_hash else None),
    )


class PartsWalk:
    """Two stores that share memory; what a random history does to their parts."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.memory = VectorMemory()
        self.wakes = 0
        self.stores = [VectorParts(lambda _: Statistics(100, 1_000), self._wake, self.memory, 60_000) for _ in range(2)]
        self.sources = [source_of(number, has_hash=number % 2 == 1) for number in range(4)]
        self.made: list[StoredPart] = []
        self.searched: list[tuple[VectorParts, StoredPart]] = []

    def _wake(self) -> None:
        self.wakes += 1

    def _key(self, source: Any) -> tuple[bytes, bytes]:
        """A random key of an entry, and the prefix of its part."""
        start = encode_partition_key("S", self.chance.choice("tuvw"))
        prefix = source.source_id + (start if source.vectors.hash_name else b"")
        return start + b"%d" % self.chance.randrange(60), prefix

    def step(self) -> None:
        store, source = self.chance.choice(self.stores), self.chance.choice(self.sources)
        _, prefix = self._key(source)
        match self.chance.randrange(12):
            case 0 | 1 | 2:
                if store.find(prefix) is None:
                    part = stored_part(source, prefix, Entries)
                    part.is_complete = True
                    self.made.append(part)
                    store.add(part)
            case 3 | 4 | 5 | 6:
                for _ in range(10):
                    old, new = [Entry(Key(self._key(source)[0]), ROW, vector=bytes(8)) for _ in range(2)]
                    store.follow([EntryWrite(source, old, None if self.chance.randrange(4) == 0 else new)])
            case 7:
                self._begin_search(store, prefix)
            case 8:
                self._end_search()
            case 9:
                store.drop([one.source_id for one in self.chance.sample(self.sources, 2)])
            case 10:
                store.tend()
            case _:
                self._end_one(store, prefix)

    def _begin_search(self, store: VectorParts, prefix: bytes) -> None:
        part = store.find(prefix)
        if part is not None:
            part.searches += 1
            self.searched.append((store, part))

    def _end_search(self) -> None:
        if self.searched:
            store, part = self.searched.pop(self.chance.randrange(len(self.searched)))
            store.search_ended(part)

    def _end_one(self, store: VectorParts, prefix: bytes) -> None:
        part = store.find(prefix)
        match self.chance.randrange(4):
            case 0 if part is not None:
                store.refuse(part)
            case 1:
                store.clear()
            case 2:
                leaving = store.let_go()
                self._make_room()
                for _ in store.end(leaving):
                    self._make_room()
            case _:
                self._make_room()

    def _make_room(self) -> None:
        if self.made:
            self.memory.make_room(self.chance.randrange(60_000), self.chance.choice(self.made))

    def require_right(self) -> None:
        """Parts that are not let go of count, and no others; searches have their parts until they end."""
        finish_freeing()
        held = [part for part in self.made if not part.is_let_go]
        assert set(self.memory._groups) == set(held)
        assert self.memory.used_bytes == sum(part.counted_bytes for part in held)
        for part in self.made:
            freed = part.entries.freed  # type: ignore[attr-defined]
            assert len(freed) <= (part.is_let_go and not part.searches)
            assert not any(store.holds(part) for store in self.stores) or not part.is_let_go

    def end(self) -> None:
        """End all: then no part is left, and all large ones were freed on the thread."""
        while self.searched:
            self._end_search()
        for store in self.stores:
            for _ in store.end(store.let_go()):
                pass
        self.require_right()
        assert all(part.is_let_go for part in self.made)
        assert self.memory.used_bytes == 0


@pytest.mark.parametrize("seed", seeds(12, 400))
def test_random_histories_of_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_memory, "LET_GO_PARTS", 2)
    monkeypatch.setattr(vector_memory, "LET_GO_ENTRIES", 4)
    walk = PartsWalk(seed)
    for _ in range(300):
        walk.step()
        walk.require_right()
    walk.end()
    assert walk.wakes
    freed_counts = {len(part.entries.freed) for part in walk.made}  # type: ignore[attr-defined]
    assert freed_counts == {0, 1}
    left = [weakref.ref(part.entries) for part in walk.made]
    walk.made.clear()
    assert [one for one in left if one() is not None] == []
