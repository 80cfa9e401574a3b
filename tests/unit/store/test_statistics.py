"""Statistics of a table and its indexes share one row, which is deleted with the last source of that table only. They
change with the rows, in the same commit.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.errors import StorageCorruption, StorageError
from hashrange.items.types import Key
from hashrange.store.embedded import layout, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.statistics import read_statistics
from hashrange.store.statistics import Statistics
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, statistics_of, table_maker
from tests.unit.jobs.world import World

TABLE, BY_STATUS, BY_N = b"\0\0\0\1\0\0", b"\0\0\0\1\0\1", b"\0\0\0\1\0\2"
COUNT = 5


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A table with two indexes, of which the second has no entries."""
    world = World(tmp_path / "data")
    world.put(COUNT)
    world.create()
    world.finish()
    world.create("by-m", "m")
    world.finish()
    return world


def figures_of(world: World) -> dict[bytes, Statistics]:
    """The statistics that the store reports; asserts that the stored ones are equal."""
    told = {source: statistics_of(world.embedded, source) for source in (TABLE, BY_STATUS, BY_N)}
    stored = read_statistics(world.embedded.engine).get(TABLE[:4], {})
    assert {source: stored.get(source, Statistics(0, 0)) for source in told} == told
    return told


def test_all_sources_of_a_table_share_a_row(world: World) -> None:
    figures = figures_of(world)
    assert figures[TABLE] == figures[BY_STATUS]
    assert (figures[TABLE].item_count, figures[BY_N]) == (COUNT, Statistics(0, 0))
    world.ask("PutItem", Item={"id": {"S": "o1"}, "m": {"S": "x"}})
    assert [one.item_count for one in figures_of(world).values()] == [COUNT, COUNT - 1, 1]
    assert len(read_statistics(world.embedded.engine)) == 1
    assert world.close() == []


def test_an_index_that_is_deleted_takes_its_figures_along_and_no_others(world: World) -> None:
    before = figures_of(world)
    world.delete()
    assert figures_of(world) == before | {BY_STATUS: Statistics(0, 0)}
    assert BY_STATUS not in read_statistics(world.embedded.engine)[TABLE[:4]]
    world.restart()
    assert figures_of(world) == before | {BY_STATUS: Statistics(0, 0)}
    world.put(COUNT + 1)
    assert figures_of(world)[TABLE].item_count == COUNT + 1
    assert world.close() == []


def test_a_table_that_is_deleted_leaves_no_row(world: World) -> None:
    world.request(
        "CreateTable",
        TableName="other",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    world.request("PutItem", TableName="other", Item={"id": {"S": "a"}})
    world.ask("DeleteTable")
    assert set(figures_of(world).values()) == {Statistics(0, 0)}
    assert list(read_statistics(world.embedded.engine)) == [b"\0\0\0\2"]
    assert statistics_of(world.embedded, b"\0\0\0\2\0\0") == Statistics(1, 3)
    assert world.close() == []


@pytest.mark.parametrize("row", [b"", b"\x80\x80", b"\x81", msgspec.msgpack.encode({TABLE: [1]}), b"\0" * 16])
def test_a_row_that_holds_no_figures_is_damage(world: World, row: bytes) -> None:
    world.embedded.engine.put(layout.STATISTICS_PREFIX + b"\0\0\0\1", row)
    world.embedded.close_now()
    with pytest.raises(StorageCorruption, match="a table's statistics cannot be read"):
        open_store(world.data_dir, VirtualClock(), None)


def test_figures_with_those_of_another_table_are_found(world: World) -> None:
    assert world.close() == []
    assert world.data_dir is not None
    engine = open_engine(world.data_dir)
    engine.put(layout.STATISTICS_PREFIX + b"\0\0\0\2", engine.get(layout.STATISTICS_PREFIX + b"\0\0\0\1"))
    engine.close()
    faults = check_store(world.data_dir).faults
    assert faults == [
        f"the statistics of source {source.hex()} stand with those of table 00000002" for source in (TABLE, BY_STATUS)
    ]


# --- tables that no participant follows -------------------------------------------------------------


def test_rows_that_no_participant_follows_are_counted_in_their_own_commit() -> None:
    store = open_store(None, VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("plain")))
    assert table is not None
    first, second = Key(b"%08d" % 1), Key(b"%08d" % 2)
    for key, row, expected in (
        (first, row_of(7), (1, 7)),
        (second, row_of(5), (2, 12)),
        (first, row_of(7, b"{}"), (2, 12)),
        (first, row_of(9), (2, 14)),
        (second, row_of(1), (2, 10)),
        (first, None, (1, 1)),
        (second, None, (0, 0)),
    ):
        finish(store.mutate(table, key, lambda _, row=row: row))  # type: ignore[misc]
        assert statistics_of(store, table.source_id) == expected
        assert read_statistics(store.engine)[table.source_id[:4]][table.source_id] == expected
        assert finish(store.get(table.source_id, key, consistent=True)) == row
    store.close_now()


def test_a_table_that_no_participant_follows_is_split_when_it_has_grown() -> None:
    wakes: list[None] = []
    store = open_store(None, VirtualClock(), None, Options(partition_size_max_bytes=20))
    table = finish(store.catalog.create(table_maker("plain")))
    assert table is not None
    store.maintenance.on_work(lambda: wakes.append(None))
    for number, expected in ((1, set()), (2, set()), (3, {table.source_id}), (4, {table.source_id})):
        finish(store.mutate(table, Key(b"%08d" % number), lambda _: row_of(8)))
        assert store.site.statistics.grown == expected
    assert len(wakes) == 1
    store.close_now()


def test_a_write_that_fails_counts_nothing() -> None:
    class Failing:
        """An engine that writes no batch."""

        def __init__(self, engine: Any) -> None:
            self.engine = engine

        def write(self, batch: object) -> None:
            raise Exception("Corruption: torn")  # noqa: TRY002 - as the engine raises

        def __getattr__(self, name: str) -> Any:
            return getattr(self.engine, name)

    store = open_store(None, VirtualClock(), None, Options(partition_size_max_bytes=1))
    table = finish(store.catalog.create(table_maker("plain")))
    assert table is not None
    store.site.engine = Failing(store.engine)
    with pytest.raises(StorageError):
        finish(store.mutate(table, Key(b"%08d" % 1), lambda _: row_of(7)))
    assert (statistics_of(store, table.source_id), store.site.statistics.grown) == ((0, 0), set())
    store.close_now()
