"""Do the parts of vector indexes in memory follow all that happens, and is nothing found that is not there?"""

import importlib
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hashrange.errors import StorageError
from hashrange.items import steps
from hashrange.items.keys import encode_partition_key
from hashrange.items.rows import decode_attributes, decode_row
from hashrange.store.embedded import late_entries, stored_part, vector_memory, vector_search
from hashrange.store.embedded.vector_search import search_entries
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.testing.database import server
from hashrange.vectors import blocks
from hashrange.vectors.floats import packed
from hashrange.vectors.loaded_part import LoadedPart
from hashrange.vectors.ranking import ranked
from hashrange.vectors.search import FoundEntries, VectorQuery
from tests.conformance.vectors import vector, vector_index
from tests.support.engines import FaultyEngine
from tests.support.working import lines_between_looks
from tests.unit.jobs.world import World, drive

NAME = "near"
DIMENSIONS = 4


class Vectors:
    """A table with a vector index, of whose items random ones are written."""

    def __init__(self, seed: int = 1, *, has_hash: bool = False, data_dir: Any = None) -> None:
        self.chance = random.Random(seed)
        self.world = World(data_dir)
        self.has_hash = has_hash
        schema = [{"AttributeName": "rank", "SearchSchemaElementType": "INLINE_FILTER"}]
        schema += [{"AttributeName": "tenant", "SearchSchemaElementType": "HASH"}] * has_hash
        names = {"id": "S", "rank": "N"} | ({"tenant": "S"} if has_hash else {})
        self.world.request(
            "CreateTable",
            TableName=NAME,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in names.items()],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            VectorIndexes=[
                {
                    "IndexName": "vix",
                    "VectorAttribute": {"AttributeName": "v"},
                    "Dimensions": DIMENSIONS,
                    "DistanceFunction": "EUCLIDEAN",
                    "SearchSchema": schema,
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )

    @property
    def table(self) -> OpenTable:
        table = self.world.store.catalog.find(self.world.scope.account, self.world.scope.region, NAME)
        assert table is not None
        return table

    @property
    def source(self) -> ReadSource:
        (source,) = self.table.vector_sources
        return source

    @property
    def parts(self) -> Any:
        return self.world.embedded.site.vector_parts

    # --- writes -----------------------------------------------------------------------------------

    def put(self, number: int, tenant: str | None = None) -> None:
        vector = {"L": [{"N": str(self.chance.randint(-9, 9))} for _ in range(DIMENSIONS)]}
        item: dict[str, Any] = {"id": {"S": str(number)}, "v": vector, "rank": {"N": str(self.chance.randrange(4))}}
        item["tenant"] = {"S": tenant or self.chance.choice("tu")}
        self.world.request("PutItem", TableName=NAME, Item=item)

    def fill(self, count: int) -> None:
        for number in range(count):
            self.put(number)

    def delete(self, number: int) -> None:
        self.world.request("DeleteItem", TableName=NAME, Key={"id": {"S": str(number)}})

    def change(self) -> None:
        """Put, delete or update a random item."""
        number = self.chance.randrange(150)
        match self.chance.randrange(4):
            case 0:
                self.delete(number)
            case 1:
                key = {"id": {"S": str(number)}}
                self.world.request("UpdateItem", TableName=NAME, Key=key, UpdateExpression="REMOVE v")
            case _:
                self.put(number)

    # --- searches ---------------------------------------------------------------------------------

    def query(self, top_k: int = 10, rank: str | None = None, tenant: str = "t") -> VectorQuery:
        vector = packed([self.chance.randint(-9, 9) for _ in range(DIMENSIONS)])
        assert vector is not None
        prefix = encode_partition_key("S", tenant) if self.has_hash else None
        if rank is None:
            return VectorQuery(prefix, vector, top_k)
        return VectorQuery(prefix, vector, top_k, lambda item: item["rank"]["N"] == rank, frozenset({"rank"}))

    def begin(self, query: VectorQuery) -> Any:
        return self.world.embedded.search_vectors(self.table, self.source, query)

    def search(self, query: VectorQuery) -> FoundEntries:
        found = drive(self.begin(query))
        assert isinstance(found, FoundEntries)
        return found

    def by_pages(self, query: VectorQuery) -> FoundEntries:
        """What the search of all pages finds."""
        found = drive(search_entries(self.world.embedded, self.source, query, self.world.clock.monotonic))
        assert isinstance(found, FoundEntries)
        return found

    def require_right(self) -> None:
        """Searches in memory find what those of all pages find."""
        for rank in (None, "2"):
            for top_k in (3, 1_000):
                query = self.query(top_k, rank)
                assert self.search(query) == self.by_pages(query)


@pytest.fixture(params=[False, True], ids=["whole", "hash"])
def vectors(request: pytest.FixtureRequest) -> Iterator[Vectors]:
    made = Vectors(has_hash=request.param)
    yield made
    assert made.world.close() == []


def ids(found: FoundEntries) -> list[str]:
    return [decode_row(one.row)["id"]["S"] for one in found.entries]


def test_the_first_search_loads_a_part_that_later_ones_use(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors.fill(200)
    vectors.require_right()
    assert len(vectors.parts) == 1
    query = vectors.query()
    expected = vectors.by_pages(query)
    monkeypatch.setattr(vectors.world.embedded, "page", None)
    assert vectors.search(query) == expected


def test_few_entries_are_read_for_each_search(vectors: Vectors) -> None:
    vectors.fill(vector_search.LOADED_ENTRIES_MIN - 1)
    vectors.require_right()
    assert len(vectors.parts) == 0


def search_of_numbers(client: Any, count: int) -> dict[str, Any]:
    """Fill a table with so many vectors of one dimension; returns the request for the best hundred."""
    client.create_table(
        TableName=NAME,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[vector_index("vix", Dimensions=1)],
    )
    for number in range(count):
        client.put_item(TableName=NAME, Item={"id": {"S": str(number)}, "embedding": vector(number + 1)})
    return {"TableName": NAME, "IndexName": "vix", "SearchVector": [{"N": "1"}], "TopK": 100}


def test_searches_over_http_import_numpy_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noting(name: str) -> Any:
        threads.append(threading.current_thread().name)
        return importlib.import_module(name)

    monkeypatch.setattr(vector_search, "import_module", noting)
    with server() as database:
        client: Any = database.client()
        wanted = search_of_numbers(client, 40)
        with ThreadPoolExecutor(4) as clients:
            replies = list(clients.map(lambda _: client.search_vectors(**wanted)["SearchResults"], range(12)))
        assert all(len(results) == 40 for results in replies)
        client.delete_item(TableName=NAME, Key={"id": {"S": "7"}})
        assert "7" not in [one["Item"]["id"]["S"] for one in client.search_vectors(**wanted)["SearchResults"]]
    assert threads[0].startswith("hashrange-vectors-code")


def test_a_search_gives_way(vectors: Vectors) -> None:
    vectors.fill(400)
    query = vectors.query(100, "2")
    vectors.search(query)
    assert lines_between_looks(lambda: vectors.search(query)) < 3_000


@pytest.mark.parametrize("is_late", [False, True])
def test_commits_are_followed_without_reading_rows(
    vectors: Vectors, is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of 30,000 maps took up to 240 ms to be read again while the commit lets nothing else run."""
    vectors.fill(150)
    vectors.require_right()
    if is_late:
        monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", 1)
    read: list[Any] = []

    def note(*asked: Any) -> Any:
        read.append(asked)

    with monkeypatch.context() as patched:
        patched.setattr(stored_part, "decode_attributes", note)
        for part in parts_of(vectors):
            patched.setattr(part, "vector_of", note)
        for _ in range(50):
            vectors.change()
    assert read == []
    vectors.require_right()


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_read_where_other_work_may_run_and_change_them(
    vectors: Vectors, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_part, "SLICE_ROWS", 20)
    vectors.chance = random.Random(seed)
    vectors.fill(150)
    undisturbed: list[bool] = []
    decode = decode_attributes

    def decode_and_give_way(row: Any, names: tuple[str, ...]) -> Any:
        undisturbed.append(threading.get_ident() in steps.undisturbed)
        if not undisturbed[-1]:
            steps.note_way_given()
            if vectors.chance.randrange(4) == 0:
                vectors.change()
        return decode(row, names)

    query = vectors.query()
    with monkeypatch.context() as patched:
        patched.setattr(stored_part, "decode_attributes", decode_and_give_way)
        vectors.search(query)
    assert undisturbed.count(False) > 50
    assert undisturbed.count(True) <= undisturbed.count(False) // 4
    vectors.require_right()


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_commits_are_followed_while_a_part_is_loaded(
    vectors: Vectors, seed: int, is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_part, "SLICE_ROWS", 5)
    if is_late:
        monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", 1)
    vectors.chance = random.Random(seed)
    vectors.fill(150)
    searching = vectors.begin(vectors.query())
    suspended = 0
    while True:
        try:
            searching.send(None)
        except StopIteration:
            break
        suspended += 1
        for _ in range(vectors.chance.randrange(4)):
            vectors.change()
    assert suspended > 10
    assert len(vectors.parts) == 1
    vectors.require_right()
    for _ in range(100):
        vectors.change()
    vectors.require_right()


def test_several_searches_load_a_part_together(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_part, "SLICE_ROWS", 5)
    vectors.fill(150)
    queries = [vectors.query() for _ in range(3)]
    expected = [vectors.by_pages(query) for query in queries]
    running = dict(enumerate(map(vectors.begin, queries)))
    running[-1] = vectors.begin(vectors.query())
    for _ in range(5):
        running[-1].send(None)
    running.pop(-1).close()  # its client has left; others go on where it has stopped
    results = {}
    while running:
        for number, searching in list(running.items()):
            try:
                searching.send(None)
            except StopIteration as stop:
                results[number] = stop.value
                del running[number]
    assert [results[number] for number in range(3)] == expected
    assert len(vectors.parts) == 1


def giving_way(vectors: Vectors, monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """From now on, call `change` at every step of work but its own."""
    is_changing = False

    def look() -> None:
        nonlocal is_changing
        if not is_changing:
            is_changing = True
            steps.note_way_given()
            change()
            is_changing = False

    monkeypatch.setattr(steps, "LOOK_STEPS", 0)
    monkeypatch.setattr(steps, "_look", look)


@pytest.mark.parametrize("rank", [None, "2"])
def test_a_deleted_item_is_not_found(vectors: Vectors, rank: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item that is deleted at any step of a search is found as it was before, or not at all; the next best takes its
    place."""
    vectors.fill(200)
    vectors.require_right()
    results = set()
    for number in range(60):
        query = vectors.query(5, rank)
        before = vectors.by_pages(query)
        if not before.entries:
            continue
        doomed = ids(before)[number % len(before.entries)]
        looks = 0

        def delete(number: int = number, doomed: str = doomed) -> None:
            nonlocal looks
            if looks == number:
                vectors.delete(int(doomed))
            looks += 1

        with monkeypatch.context() as patched:
            giving_way(vectors, patched, delete)
            found = vectors.search(query)
        after = vectors.by_pages(query)
        is_deleted = looks > number
        assert found.entries == after.entries or (found.entries == before.entries and number > 0)
        results.add((is_deleted, found.entries == after.entries))
        vectors.put(int(doomed))
    assert (True, True) in results


def test_an_item_that_changes_meanwhile_has_the_score_of_its_vector(
    vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors.fill(200)
    vectors.require_right()
    for _ in range(30):
        query = vectors.query(20, "2")
        with monkeypatch.context() as patched:
            giving_way(vectors, patched, vectors.change)
            found = vectors.search(query)
        assert len(set(ids(found))) == len(found.entries)
        for row, score in found.entries:
            alone = ranked([(row, stored_part.vector_reader(vectors.source)(row))], "EUCLIDEAN", query.vector, 1)
            assert alone == [(row, score)]
            assert decode_row(row)["rank"] == {"N": "2"}
        assert [one.score for one in found.entries] == sorted(one.score for one in found.entries)


# --- what ends a part -------------------------------------------------------------------------------


def test_parts_leave_memory_when_others_need_it(vectors: Vectors) -> None:
    vectors.fill(400)
    vectors.require_right()
    ((part_bytes,), entries) = [one.counted_bytes for one in parts_of(vectors)], vectors.by_pages(vectors.query())
    assert part_bytes > 0
    assert entries.entries
    vectors.parts.limit_bytes = part_bytes - 1
    vectors.fill(1)  # the part is counted again
    vectors.require_right()
    if vectors.has_hash:
        vectors.search(vectors.query(tenant="u"))
    assert sum(one.counted_bytes for one in parts_of(vectors)) <= vectors.parts.limit_bytes


def drop_for_another(vectors: Vectors) -> None:
    """Add a part for which there is no memory besides those that there are."""
    vectors.parts.limit_bytes = sum(one.counted_bytes for one in parts_of(vectors))
    vectors.parts.add(stored_part.stored_part(vectors.source, vectors.source.source_id + b"other", LoadedPart))


def drop_with_table(vectors: Vectors) -> None:
    vectors.parts.drop([vectors.source.source_id])
    tend(vectors)


def drop_with_engine(vectors: Vectors) -> None:
    vectors.parts.clear()
    tend(vectors)


def drop_and_tend_later(vectors: Vectors) -> None:
    vectors.parts.drop([vectors.source.source_id])


@pytest.mark.parametrize("drop", [drop_for_another, drop_with_table, drop_with_engine, drop_and_tend_later])
@pytest.mark.parametrize("searches_count", [0, 1, 2])
def test_a_large_part_is_freed_on_a_thread_when_the_last_search_has_ended(
    vectors: Vectors, searches_count: int, drop: Callable[[Vectors], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_memory, "LET_GO_ENTRIES", 10)
    vectors.fill(200)
    vectors.require_right()
    (part,) = parts_of(vectors)
    query = vectors.query()
    expected = vectors.by_pages(query)
    threads = freeing_threads(part, monkeypatch)

    def search(count: int) -> None:
        """Begin `count` searches, each within the former; the part is dropped within the last."""
        if count == 0:
            drop(vectors)
            return
        left = [count - 1]
        with monkeypatch.context() as patched:
            giving_way(vectors, patched, lambda: search(left.pop()) if left else None)
            assert vectors.search(query) == expected
            finish_freeing()
            assert count == searches_count or not threads, "it is freed while another search uses it"

    search(searches_count)
    tend(vectors)
    finish_freeing()
    assert threads == ["hashrange-vectors-freed_0"]
    assert part.entries.search(query) == []
    vectors.require_right()


@pytest.mark.parametrize(
    ("parts_max", "entries_max", "left"),
    [(4, 10**6, [6, 2, 0]), (99, 81, [7, 4, 1, 0]), (99, 30, [*range(9, -1, -1)])],
)
def test_the_parts_of_a_deleted_table_are_freed_some_at_a_time(
    parts_max: int, entries_max: int, left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten parts of 40 entries are dropped together."""
    monkeypatch.setattr(vector_memory, "LET_GO_PARTS", parts_max)
    monkeypatch.setattr(vector_memory, "LET_GO_ENTRIES", entries_max)
    vectors = Vectors(has_hash=True)
    for tenant in range(10):
        for number in range(40):
            vectors.put(40 * tenant + number, str(tenant))
        vectors.search(vectors.query(tenant=str(tenant)))
    freed: list[None] = []
    for part in parts_of(vectors):
        assert part.entries.count == 40
        weakref.finalize(part.entries, lambda: freed.append(None))
    del part
    wakes: list[None] = []
    vectors.world.embedded.maintenance.on_work(lambda: wakes.append(None))
    vectors.world.request("DeleteTable", TableName=NAME)
    assert wakes
    assert not freed
    counts = []
    while drive(vectors.world.embedded.maintenance.tend_vectors()) is not None:
        finish_freeing()
        counts.append(10 - len(freed))
    assert counts == left
    assert vectors.parts._memory.used_bytes == 0
    vectors.world.close()


def tend(vectors: Vectors) -> None:
    """Do all that there is to do for parts."""
    while drive(vectors.world.embedded.maintenance.tend_vectors()) is not None:
        pass


def freeing_threads(part: stored_part.StoredPart, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads in which the part's entries are freed from now on."""
    threads: list[str] = []
    free = part.entries.free

    def noting() -> None:
        threads.append(threading.current_thread().name)
        free()

    monkeypatch.setattr(part.entries, "free", noting)
    return threads


def finish_freeing() -> None:
    """Wait until the thread has freed what it was given."""
    vector_memory.freeing.submit(int).result()


def test_the_part_that_was_used_least_recently_leaves_first(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = Vectors(has_hash=True)
    vectors.fill(300)
    vectors.search(vectors.query(tenant="t"))
    vectors.search(vectors.query(tenant="u"))
    vectors.search(vectors.query(tenant="t"))
    vectors.parts.limit_bytes = sum(one.counted_bytes for one in parts_of(vectors)) - 1
    (first,) = [one for one in parts_of(vectors) if encode_partition_key("S", "t") in one.prefix]
    vectors.parts.count(first)
    assert [one.prefix for one in parts_of(vectors)] == [first.prefix]
    vectors.world.close()


def test_a_part_that_is_too_large_is_loaded_again_when_its_index_has_shrunk(vectors: Vectors) -> None:
    vectors.fill(400)
    vectors.parts.limit_bytes = 10_000
    read = reads_of(vectors)
    vectors.require_right()
    assert len(vectors.parts) == 0
    first = len(read)
    vectors.require_right()
    assert len(read) == first, "a part that does not fit is loaded for each search"
    for number in range(70, 400):
        vectors.delete(number)
    vectors.parts.limit_bytes = 100_000
    vectors.require_right()
    assert len(vectors.parts) == 1
    assert len(read) > first


def test_a_part_without_memory_is_not_kept(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **_named: Any) -> None:
        raise MemoryError

    vectors.fill(200)
    with monkeypatch.context() as patched:
        patched.setattr(stored_part.StoredPart, "load", fail)
        vectors.require_right()
        assert len(vectors.parts) == 0
    vectors.parts.clear()
    vectors.require_right()
    assert len(vectors.parts) == 1
    with monkeypatch.context() as patched:
        patched.setattr(stored_part.StoredPart, "put_entry", fail)
        for number in range(10):
            vectors.put(number)
    assert len(vectors.parts) == 0
    vectors.require_right()


def test_most_entries_of_a_part_may_go(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES_MAX", 32)
    vectors.fill(400)
    vectors.require_right()
    (full,) = parts_of(vectors)
    for number in range(80, 400):
        vectors.delete(number)
        if number % 60 == 0:
            vectors.require_right()
    vectors.require_right()
    (left,) = parts_of(vectors)
    assert left.counted_bytes < full.counted_bytes / 2


def test_a_deleted_index_or_table_has_no_part(vectors: Vectors) -> None:
    for name, members in (
        ("UpdateTable", {"VectorIndexUpdates": [{"Delete": {"IndexName": "vix"}}]}),
        ("DeleteTable", {}),
    ):
        made = Vectors(has_hash=vectors.has_hash)
        made.fill(200)
        made.require_right()
        assert len(made.parts) == 1
        made.world.request(name, TableName=NAME, **members)
        assert len(made.parts) == 0
        made.world.close()


def test_an_index_that_is_deleted_while_its_part_is_loaded(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_part, "SLICE_ROWS", 5)
    vectors.fill(150)
    for turns in (1, 3, 10):
        made = Vectors(has_hash=vectors.has_hash)
        made.fill(150)
        searching = made.begin(made.query())
        for _ in range(turns):
            searching.send(None)
        made.world.request("DeleteTable", TableName=NAME)
        assert drive(searching) == ([], 0)
        assert len(made.parts) == 0
        made.world.close()


def test_another_engine_has_other_parts(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_part, "SLICE_ROWS", 5)
    vectors.fill(200)
    vectors.require_right()
    site = vectors.world.embedded.site
    searching = vectors.begin(vectors.query(tenant="u"))
    if vectors.has_hash:
        searching.send(None)
    site.health.generation += 1
    site.use(site.engine)
    assert len(vectors.parts) == 0
    if vectors.has_hash:
        with pytest.raises(StorageError, match="had to be reopened meanwhile"):
            drive(searching)
    else:
        drive(searching)
    vectors.require_right()


def test_a_failing_engine_fails_a_search_in_memory(vectors: Vectors) -> None:
    vectors.fill(200)
    vectors.require_right()
    site = vectors.world.embedded.site
    site.engine = faulty = FaultyEngine(site.engine)
    faulty.faults["get"] = [Exception("Corruption: block checksum mismatch")]
    with pytest.raises(StorageError):
        vectors.search(vectors.query())
    assert len(vectors.parts) == 0
    with pytest.raises(StorageError):
        vectors.search(vectors.query())
    site.engine = faulty._engine


def test_without_numpy_all_entries_are_read(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors.fill(100)
    for module in [one for one in sys.modules if one.partition(".")[0] == "numpy"]:
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("blocks", "bounds", "loaded_part"):
        monkeypatch.delitem(sys.modules, f"hashrange.vectors.{module}", raising=False)
    vectors.require_right()
    assert not vectors.world.embedded.vector_searches.may_load
    assert len(vectors.parts) == 0


def parts_of(vectors: Vectors) -> list[stored_part.StoredPart]:
    return [part for group in vectors.parts._groups.values() for part in group.parts.values()]


def reads_of(vectors: Vectors) -> list[Any]:
    """The slices that searches load from now on."""
    slices: list[Any] = []
    load = vectors.world.embedded.vector_searches._load_slice

    async def noting(part: stored_part.StoredPart) -> None:
        slices.append(part.next_key)
        await load(part)

    vectors.world.embedded.vector_searches._load_slice = noting  # type: ignore[method-assign]
    return slices
