"""A delay of index entries begins and ends for all tables at the same moment, however many there are; meanwhile other
work has its turn.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from hashrange.store.interface import DelayOf, local_maintenance_of
from tests.support.working import give_way_always
from tests.unit.jobs.world import World

DELAY_SECONDS = 5.0
TABLES = 60


@pytest.fixture
def world() -> World:
    """Many tables with a global index, of which one is a stream's as well, and one without."""
    world = World(None)
    for number in range(TABLES):
        members: dict[str, Any] = {}
        if number == 1:
            members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
        world.request(
            "CreateTable",
            TableName=f"table-{number}",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "x")],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-x",
                    "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            **members,
        )
    return world


def put(world: World, value: int, *tables: int) -> None:
    """Put an item, whose index entry changes with it, in one table, or in each of several by one transaction."""
    item = {"id": {"S": "one"}, "x": {"S": f"x{value}"}}
    if len(tables) == 1:
        world.request("PutItem", TableName=f"table-{tables[0]}", Item=item)
        return
    puts = [{"Put": {"TableName": f"table-{number}", "Item": item}} for number in tables]
    world.request("TransactWriteItems", TransactItems=puts)


def entry(world: World, table: int) -> str | None:
    """What the only entry in the index of a table is for; None: there is none."""
    found = world.request("Scan", TableName=f"table-{table}", IndexName="by-x")["Items"]
    assert len(found) <= 1, "the entry of a former item has stayed"
    return found[0]["x"]["S"] if found else None


def change(world: World, draw: DelayOf | None, between: Callable[[], None] = lambda: None) -> int:
    """Set or end the delay; returns how often this gave way."""

    async def set_delay() -> None:
        maintenance = local_maintenance_of(world.store)
        with maintenance.ready_for_delay(is_wanted=draw is not None):
            maintenance.delay_index_entries(draw, DELAY_SECONDS)

    return give_way_always(set_delay(), between)[0]


def after_delay(*_: object) -> float:
    return DELAY_SECONDS


def put_all(world: World, value: int) -> None:
    for number in range(TABLES):
        put(world, value, number)


def test_a_delay_that_begins_or_ends_gives_way_between_tables(world: World) -> None:
    """Each table that had been written to was opened anew in one step: 50 to 80 ms for 5,000."""
    assert change(world, after_delay) <= 1, "no table has been written to"
    assert change(world, None) <= 1
    put_all(world, 0)
    assert change(world, after_delay) > 2
    put_all(world, 1)
    assert change(world, lambda *_: 1.0) <= 1, "the tables are ready"
    assert change(world, None) <= 1, "as long as entries wait, others do too"
    world.apply()
    assert change(world, after_delay) > 2
    put_all(world, 2)
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert change(world, None) > 2
    assert [entry(world, number) for number in range(TABLES)] == ["x2"] * TABLES


def test_no_entry_is_late_before_all_tables_are_ready(world: World) -> None:
    """A commit of two tables, one ready and one not, would lose the entry of one of them."""
    put_all(world, 0)
    turns = 0

    def transact() -> None:
        nonlocal turns
        turns += 1
        put(world, turns, 0, TABLES - 1)
        assert [entry(world, 0), entry(world, TABLES - 1)] == [f"x{turns}"] * 2

    assert change(world, after_delay, transact) == turns > 2
    put(world, 98, 0)
    put(world, 99, 0, TABLES - 1)
    assert [entry(world, 0), entry(world, TABLES - 1)] == [f"x{turns}"] * 2
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert [entry(world, 0), entry(world, TABLES - 1)] == ["x99"] * 2


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_written_meanwhile_is_indexed(world: World, seed: int) -> None:
    """Writes, transactions of several tables, applied entries, and other beginnings and ends of a delay."""
    chance, values, held = Random(seed), [0] * TABLES, False
    put_all(world, 0)

    def write() -> None:
        tables = chance.sample(range(TABLES), chance.choice((1, 1, 2, 5)))
        value = max(values) + 1
        before = [entry(world, number) for number in tables]
        put(world, value, *tables)
        after = [entry(world, number) for number in tables]
        assert after in (before, [f"x{value}"] * len(tables)), "all entries of a commit wait, or none"
        for number in tables:
            values[number] = value

    def do_something() -> None:
        nonlocal held
        kind = chance.random()
        if kind < 0.05 and not held:
            held = True
            change(world, chance.choice((after_delay, None)), write)
            held = False
        elif kind < 0.2:
            world.clock.advance(chance.choice((1.0, DELAY_SECONDS)))
            world.apply()
        else:
            write()

    for _ in range(12):
        draw = chance.choice((after_delay, after_delay, None))
        change(world, draw, do_something)
        for number in chance.sample(range(TABLES), 3):
            before = entry(world, number)
            values[number] = max(values) + 1
            put(world, values[number], number)
            if draw is not None:
                assert entry(world, number) == before, "from the end of the change on, entries wait"
        if chance.random() < 0.5:
            world.clock.advance(DELAY_SECONDS)
            world.apply()
    change(world, None)
    world.apply()
    assert [entry(world, number) for number in range(TABLES)] == [f"x{value}" for value in values]
