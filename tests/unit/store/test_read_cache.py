"""The read cache: recently read rows are not read again, changed rows are, and the cache stays within its limit."""

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from hashrange.errors import StorageError
from hashrange.items.rows import encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Key, Row
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded import read_cache as room
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.read_cache import PAGES_PER_PARTITION_MAX, REQUESTED_SLOTS, ReadCache
from hashrange.store.interface import Page, TransactionStep
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.read_spans import KeyTerm, query_span, scan_span
from hashrange.tables.schema import Index, IndexProjection, KeySchema
from hashrange.tables.span import Span
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, table_maker

MANY = 1_000_000
INDEXES = (
    Index(
        1, "local", is_global=False, keys=KeySchema(("pk",), ("S",), ("l",), ("S",)), projection=IndexProjection("ALL")
    ),
    Index(2, "global", is_global=True, keys=KeySchema(("g",), ("S",), (), ()), projection=IndexProjection("KEYS_ONLY")),
)


class Counting:
    """An engine that counts its reads."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.reads = 0

    def get(self, *arguments: Any) -> object:
        self.reads += 1
        return self.engine.get(*arguments)

    def iter(self, *arguments: Any) -> object:
        self.reads += 1
        return self.engine.iter(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


class World:
    """A store with one table, with or without indexes."""

    def __init__(self, indexes: tuple[Index, ...] = (), delay_seconds: float | None = None) -> None:
        self.clock = VirtualClock()
        delay = None if delay_seconds is None else lambda: delay_seconds
        self.store: EmbeddedStore = open_store(None, self.clock, None, Options(delay))
        make = table_maker("orders")
        table = finish(self.store.catalog.create(lambda table_id: replace(make(table_id), indexes=indexes)))
        assert table is not None
        self.table: OpenTable = table
        self.sources = [source_of(table), *table.indexes]

    def count(self) -> Counting:
        """Count the engine's reads from now on."""
        self.store.site.engine = counting = Counting(self.store.engine)
        return counting

    def trust(self) -> Counting:
        """Count the engine's reads, and cache rows from their first read on."""
        self.store.site.reads._requested_slots = bytearray(b"\x01") * REQUESTED_SLOTS
        return self.count()

    def key(self, pk: str, sk: str) -> Key:
        return self.table.item_key({"pk": {"S": pk}, "sk": {"S": sk}})

    def put(self, pk: str, sk: str, **attributes: str) -> None:
        finish(self.store.mutate(self.table, self.key(pk, sk), partial(give, row_of(pk, sk, **attributes))))

    def delete(self, pk: str, sk: str) -> None:
        finish(self.store.mutate(self.table, self.key(pk, sk), lambda _: None))

    def get(self, pk: str, sk: str) -> Row | None:
        return finish(self.store.get(self.table.source_id, self.key(pk, sk), consistent=True))

    def query(self, pk: str, source: int = 0, limit: int = MANY, *, is_reverse: bool = False) -> Page:
        span = query_span(self.sources[source], [term(self.sources[source], pk)], is_reverse=is_reverse)
        return finish(self.store.page(self.sources[source].source_id, span, limit, MANY, consistent=True))


def source_of(table: OpenTable) -> ReadSource:
    return ReadSource(table.source_id, None, table.keys, ("pk", "sk"), ("pk", "sk"), None)


def term(source: ReadSource, value: str) -> KeyTerm:
    return KeyTerm(source.keys.partition_names[0], "=", ({"S": value},))


def give(row: Row | None, _old: Row | None) -> Row | None:
    return row


def row_of(pk: str, sk: str, **attributes: str) -> Row:
    item: Item = {name: {"S": value} for name, value in {"pk": pk, "sk": sk, **attributes}.items()}
    return encode_row(item, item_size_bytes(item))


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.store.close_now()


@pytest.fixture
def indexed() -> Iterator[World]:
    made = World(INDEXES, delay_seconds=1.0)
    yield made
    made.store.close_now()


def test_a_row_is_read_twice_and_then_kept(world: World) -> None:
    world.put("p", "a")
    engine = world.count()
    reads = []
    for _ in range(3):
        assert world.get("p", "a") == row_of("p", "a")
        reads.append(engine.reads)
    assert reads == [1, 2, 2]
    assert finish(world.store.snapshot_get([(world.table, world.key("p", "a"))], 10**6)) == [row_of("p", "a")]
    assert engine.reads == 2


def test_a_page_is_read_twice_and_then_kept(world: World) -> None:
    engine = world.count()
    reads = []
    for _ in range(3):
        assert world.query("p").rows == []
        reads.append(engine.reads)
    assert reads == [1, 2, 2]


def test_what_was_asked_for_long_ago_counts_as_new(world: World) -> None:
    row_bytes = len(row_of("p", "a")) + room.ROW_EXTRA_BYTES
    world.store.site.reads = ReadCache(world.store.site.reads.admission, 4 * row_bytes)
    for sk in "abcdea":
        world.put("p", sk)
        world.get("p", sk)
    engine = world.count()
    world.get("p", "a")
    world.get("p", "a")
    assert engine.reads == 1


def test_what_is_not_there_is_asked_for_each_time(world: World) -> None:
    engine = world.count()
    assert [world.get("p", "a") for _ in range(3)] == [None] * 3
    assert engine.reads == 3


def test_a_row_that_is_replaced_again_and_again_is_read_once(world: World) -> None:
    world.put("p", "a")
    engine = world.trust()
    for number in range(5):
        world.put("p", "a", n=str(number))
        assert world.get("p", "a") == row_of("p", "a", n=str(number))
    step = TransactionStep(world.table, world.key("p", "a"), partial(give, row_of("p", "a", n="last")))
    finish(world.store.transact([step], None))
    assert world.get("p", "a") == row_of("p", "a", n="last")
    assert engine.reads == 1


def test_a_row_that_is_kept_stays_so_when_it_is_replaced(world: World) -> None:
    world.trust()
    world.put("p", "a")
    world.get("p", "a")
    world.store.site.reads._requested_slots = bytearray(REQUESTED_SLOTS)
    world.put("p", "a", n="1")
    engine = world.count()
    assert world.get("p", "a") == row_of("p", "a", n="1")
    assert engine.reads == 0


def test_a_new_item_is_kept_when_it_is_read(world: World) -> None:
    world.trust()
    world.put("p", "a")
    assert not world.store.site.reads._entries
    world.get("p", "a")
    assert len(world.store.site.reads._entries) == 1


def test_a_deleted_row_is_gone(world: World) -> None:
    world.trust()
    world.put("p", "a")
    world.get("p", "a")
    world.delete("p", "a")
    assert world.get("p", "a") is None


def test_a_page_is_read_once(world: World) -> None:
    for sk in "abc":
        world.put("p", sk)
    engine = world.trust()
    for _ in range(3):
        assert world.query("p").rows == [row_of("p", sk) for sk in "abc"]
        assert world.query("p", is_reverse=True).rows == [row_of("p", sk) for sk in "cba"]
        assert world.query("p", limit=2).rows == [row_of("p", sk) for sk in "ab"]
        assert world.query("nobody").rows == []
    assert engine.reads == 4


@pytest.mark.parametrize("sk", ["b", "d"])
def test_a_write_to_the_partition_drops_its_pages_only(world: World, sk: str) -> None:
    engine = world.trust()
    for pk in "pq":
        for each in "abc":
            world.put(pk, each)
        world.query(pk)
    world.put("p", sk, n="1")
    expected = {row_of("p", each) for each in "abc" if each != sk} | {row_of("p", sk, n="1")}
    assert set(world.query("p").rows) == expected
    world.delete("p", sk)
    assert set(world.query("p").rows) == {row_of("p", each) for each in "abc" if each != sk}
    reads = engine.reads
    world.query("q")
    assert engine.reads == reads


def test_a_span_of_several_partitions_is_read_each_time(world: World) -> None:
    world.put("p", "a")
    engine = world.trust()
    spans = [scan_span(None, None), scan_span(0, 1), Span(Key(b""), Key(b"\xff"))]
    spans.append(Span(Key(world.key("p", "a")[:5]), Key(world.key("p", "a") + b"\x00")))
    for span in spans:
        for _ in range(2):
            page = finish(world.store.page(world.table.source_id, span, MANY, MANY, consistent=True))
            assert page.rows == [row_of("p", "a")]
    assert engine.reads == 2 * len(spans)


def test_pages_of_indexes_follow_their_entries(indexed: World) -> None:
    indexed.trust()
    indexed.put("p", "a", l="1", g="x")
    finish(indexed.store.maintenance.apply_delayed(10))
    assert [len(indexed.query(value, source).rows) for value, source in (("p", 1), ("x", 2))] == [1, 0]
    indexed.clock.advance(1)
    assert finish(indexed.store.maintenance.apply_delayed(10)) == 0.0
    assert indexed.query("x", 2).rows == [row_of("p", "a", g="x")]
    indexed.put("p", "a", l="2", g="y")
    assert indexed.query("p", 1).rows == [row_of("p", "a", l="2", g="y")]
    assert [len(indexed.query(value, 2).rows) for value in "xy"] == [1, 0]
    indexed.clock.advance(1)
    finish(indexed.store.maintenance.apply_delayed(10))
    assert [len(indexed.query(value, 2).rows) for value in "xy"] == [0, 1]


def test_nothing_is_served_from_here_after_a_failure(world: World) -> None:
    world.trust()
    world.put("p", "a")
    world.get("p", "a")
    world.query("p")
    world.store.site.fail(OSError("the disk is gone"))
    with pytest.raises(StorageError):
        world.get("p", "a")
    with pytest.raises(StorageError):
        world.query("p")


def test_a_dropped_table_has_no_rows(world: World) -> None:
    world.trust()
    world.put("p", "a")
    world.get("p", "a")
    world.query("p")
    assert finish(world.store.catalog.delete(world.table.schema))
    assert world.get("p", "a") is None
    assert world.query("p").rows == []


def test_a_partition_keeps_some_pages_at_most(world: World) -> None:
    engine = world.trust()
    for limit in range(1, PAGES_PER_PARTITION_MAX + 1):
        world.query("p", limit=limit)
    world.query("p", limit=1)
    assert engine.reads == PAGES_PER_PARTITION_MAX
    world.query("p", limit=PAGES_PER_PARTITION_MAX + 1)
    world.query("p", limit=1)
    assert engine.reads == PAGES_PER_PARTITION_MAX + 2


def test_what_is_long_is_read_each_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ENTRY_BYTES_MAX", 1000)
    world.put("p", "a", n="x" * 1000)
    engine = world.trust()
    for _ in range(2):
        world.get("p", "a")
        world.query("p")
    assert engine.reads == 4


def test_the_least_recently_used_leaves_first(world: World) -> None:
    for sk in "abcd":
        world.put("p", sk)
    world.store.site.reads = ReadCache(
        world.store.site.reads.admission, 3 * (len(row_of("p", "a")) + room.ROW_EXTRA_BYTES)
    )
    engine = world.trust()
    for sk in "abcadacd":
        world.get("p", sk)
    assert engine.reads == 4
    world.get("p", "b")
    assert engine.reads == 5


def test_of_pages_too(world: World) -> None:
    world.store.site.reads = ReadCache(world.store.site.reads.admission, 3 * room.PAGE_EXTRA_BYTES)
    engine = world.trust()
    for pk in "abcadacd":
        world.query(pk)
    assert engine.reads == 4
    world.query("b")
    assert engine.reads == 5


@pytest.mark.parametrize("seed", range(20))
def test_random_reads_and_writes_read_what_the_engine_holds(seed: int) -> None:
    chance = random.Random(seed)
    world = World(INDEXES, delay_seconds=chance.choice([None, 1.0]))
    store = world.store
    limit_bytes = chance.choice([2_000, 20_000, 200_000])
    store.site.reads = ReadCache(store.site.reads.admission, limit_bytes)
    bare = ReadCache(store.site.reads.admission, limit_bytes=0)
    if chance.random() < 0.5:
        world.trust()
    for _ in range(600):
        pk, sk = chance.choice("pqr"), chance.choice("abcdef")
        match chance.randrange(8):
            case 0 | 1:
                world.put(
                    pk, sk, l=chance.choice("12"), **({"g": chance.choice("xy")} if chance.random() < 0.7 else {})
                )
            case 2:
                world.delete(pk, sk)
            case 3:
                rows = [None, row_of(pk, sk, l="3", g="x")]
                steps = [
                    TransactionStep(world.table, world.key(pk, each), partial(give, chance.choice(rows)))
                    for each in chance.sample("abcdef", 3)
                ]
                finish(store.transact(steps, None))
            case 4:
                world.clock.advance(chance.random())
                finish(store.maintenance.apply_delayed(chance.randrange(1, 4)))
            case 5:
                assert world.get(pk, sk) == bare.row(store.engine, world.table.source_id + world.key(pk, sk))
            case _:
                source = world.sources[chance.randrange(3)]
                value = chance.choice("xy") if source.keys.partition_names == ("g",) else pk
                span = query_span(source, [term(source, value)], is_reverse=chance.random() < 0.5)
                limit = chance.choice([1, 3, MANY])
                page = finish(store.page(source.source_id, span, limit, MANY, consistent=True))
                assert page == bare.page(store.engine, source.source_id, span, limit, MANY)[0]
        kept = sum(room._size_bytes(entry) for entry in store.site.reads._entries.values())
        assert 0 <= kept == limit_bytes - store.site.reads._left_bytes <= limit_bytes
        assert not bare._entries
    store.close_now()
