"""An advance over a store with all its jobs: records, shards and entries bear the times at which they
were due, and two runs are alike.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hashrange.clock import MovableClock
from hashrange.jobs.job import Job
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from tests.support.clocks import SetClock
from tests.unit.jobs.streaming import (
    DAY,
    HOUR,
    ROLL,
    all_records,
    is_open,
    key_of,
    parents_first,
    sequence,
    shards,
    starting,
    switch_on,
)
from tests.unit.jobs.timed import after_some_turns
from tests.unit.jobs.world import World, item

EXPIRES = "expires"
INDEX_DELAY_SECONDS = 7.0


@pytest.fixture
def world_options() -> dict[str, Any]:
    return {"index_delay": lambda: INDEX_DELAY_SECONDS}


@asynccontextmanager
async def at_work(world: World, turns_seed: int = 0) -> AsyncIterator[Callable[[float], Any]]:
    """Run the world's jobs within the context; its value advances service time.

    `turns_seed` determines how many turns of the loop each slice takes.
    """
    listed: list[Job] = [world.job, world.delay_job, world.expiry_job, world.shards_job, world.splits_job]
    jobs = Runner(listed, world.clock, after_some_turns(Random(turns_seed)))
    world.store.maintenance.on_work(jobs.wake)
    jobs.start()
    async with asyncio.timeout(60):
        yield lambda seconds: advance(world.clock, jobs, seconds)  # type: ignore[arg-type]
    await jobs.stop()


def put(world: World, number: int, expires_seconds: float) -> None:
    world.ask("PutItem", Item=item(number) | {EXPIRES: {"N": str(int(expires_seconds))}})


def enable_expiry(world: World) -> None:
    world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES})


def sequence_time(number: int) -> float:
    """Service time of a sequence number as clients see it: its first digits are milliseconds."""
    return number // 10**10 / 1000


def test_each_expired_item_has_its_record_at_its_own_time(world: World) -> None:
    async def scenario() -> None:
        arn = switch_on(world)
        enable_expiry(world)
        start = int(world.clock.service_time())
        dues = {f"o{number}": start + 1 + number * 31 for number in range(100)}
        for number in range(100):
            put(world, number, dues[f"o{number}"])
        async with at_work(world) as advance_by:
            await advance_by(HOUR)
        removed = [record for record in all_records(world, arn) if record["eventName"] == "REMOVE"]
        assert [key_of(one) for one in removed] == list(dues)
        for record in removed:
            assert record["userIdentity"]["PrincipalId"] == "dynamodb.amazonaws.com"
            assert record["dynamodb"]["ApproximateCreationDateTime"] == dues[key_of(record)]
            assert sequence_time(sequence(record)) == dues[key_of(record)]

    asyncio.run(scenario())


def test_each_shard_is_replaced_and_deleted_at_its_own_time(world: World) -> None:
    async def scenario() -> None:
        arn = switch_on(world)
        async with at_work(world) as advance_by:
            await advance_by(0.0)
            (first,) = shards(world, arn)
            began = sequence_time(starting(first))
            await advance_by(DAY)
            found = parents_first(shards(world, arn))
            assert [sequence_time(starting(one)) - began for one in found] == [ROLL * number for number in range(7)]
            assert [is_open(one) for one in found] == [False] * 6 + [True]
            await advance_by(3 * DAY - HOUR)
            found = parents_first(shards(world, arn))
            hours = [(sequence_time(starting(one)) - began) / HOUR for one in found]
            assert hours == [68, 72, 76, 80, 84, 88, 92], "those that ended within the last 24 of 95 hours are left"

    asyncio.run(scenario())


def test_entries_that_follow_from_an_expiry_are_delayed_from_its_time(world: World) -> None:
    """An item expires after five seconds, so its entry is removed after twelve, whatever an advance's end."""

    async def scenario() -> None:
        enable_expiry(world)
        world.create()
        async with at_work(world) as advance_by:
            await advance_by(HOUR)
            start = int(world.clock.service_time())
            await advance_by(start + 1 - world.clock.service_time())
            put(world, 1, start + 60 + 5)
            await advance_by(59.0)
            assert world.entries().keys() == {"o1"}
            await advance_by(5 + INDEX_DELAY_SECONDS - 1)
            assert world.ask("Scan", ConsistentRead=True)["Items"] == []
            assert world.entries().keys() == {"o1"}
            await advance_by(1.0)
            assert world.entries() == {}

    asyncio.run(scenario())


def test_an_index_is_filled_when_its_table_becomes_active(tmp_path: Path) -> None:
    """The index is filled on the way: entries of what expires later are there, and removed, by the end."""

    async def scenario() -> None:
        world = World(tmp_path / "data", delay_seconds=60.0)
        world.put(3)
        world.create()
        async with at_work(world) as advance_by:
            await advance_by(59.0)
            assert world.index()["IndexStatus"] == "CREATING"
            await advance_by(HOUR)
            assert world.index()["IndexStatus"] == "ACTIVE"
            assert world.entries().keys() == {"o0", "o1", "o2"}
        assert world.close() == []

    asyncio.run(scenario())


# --- two runs ----------------------------------------------------------------------------------------


async def played(world: World, chance: Random, turns_seed: int) -> tuple[Any, ...]:
    """Everything that clients see after random writes, and advances by hours, of a table with all features.

    Some items expire at the moment at which a shard is replaced.
    """
    arn = switch_on(world)
    began = world.clock.service_time()
    enable_expiry(world)
    world.create()
    values = count()
    seen: list[Any] = []
    async with at_work(world, turns_seed) as advance_by:
        for _ in range(12):
            now = world.clock.service_time()
            for _ in range(chance.randrange(30)):
                replaced = began + ROLL * ((now - began) // ROLL + 1)
                expires = chance.choice((now, now + 60, now + chance.randrange(10_000), replaced, replaced))
                written = item(chance.randrange(40)) | {EXPIRES: {"N": str(int(expires))}}
                pad = {"v": {"N": str(next(values))}, "pad": {"S": "x" * chance.randrange(400)}}
                world.ask("PutItem", Item=written | pad)
            if chance.random() < 0.3:
                world.ask("DeleteItem", Key={"id": {"S": f"o{chance.randrange(40)}"}})
            await advance_by(chance.choice((0.0, 1.0, 59.5, HOUR, 5 * HOUR)))
            seen.append((world.clock.service_time(), world.ask("Scan")["Items"], world.entries()))
    records = all_records(world, arn)
    return seen, records, shards(world, arn), world.ask("Scan", ConsistentRead=True)


@pytest.mark.parametrize("kind", ["memory", "disk", "suspending"])
@pytest.mark.parametrize("seed", range(4))
def test_two_runs_are_alike(kind: str, seed: int, tmp_path: Path) -> None:
    """Whatever time slices take: here, in each run, other numbers of turns of the loop."""

    def run(number: int) -> tuple[Any, ...]:
        chance = Random(seed)
        clock = MovableClock(SetClock())
        clock.freeze()
        folder = None if kind == "memory" else tmp_path / f"data{number}"
        world = World(
            folder,
            is_suspending=kind == "suspending",
            index_delay=lambda: chance.choice((0.0, 3.0, 60.0)),
            clock=clock,  # type: ignore[arg-type]
            ttl_delay_seconds=chance.choice((0.0, 30.5)),
            partition_size_max_bytes=3_000,
        )
        try:
            return asyncio.run(played(world, chance, turns_seed=number))
        finally:
            assert world.close() == []

    first, second = run(1), run(2)
    assert first == second
    _, records, found, _ = first
    assert len({sequence(record) for record in records}) == len(records) > 100
    assert len(found) > 6
