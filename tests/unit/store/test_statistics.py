"""Statistics of a table and its indexes share one row, which is deleted with the last source of that table only."""

from pathlib import Path

import msgspec
import pytest

from hashrange.errors import StorageCorruption
from hashrange.store.embedded import layout, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.statistics import read_statistics
from hashrange.store.statistics import Statistics
from tests.support.clocks import VirtualClock
from tests.support.samples import statistics_of
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
