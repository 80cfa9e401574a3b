"""How much work is a stream of many shards for a mapping? About as much as there is new:
what is counted grows with the shards, not with their square.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.items import steps
from hashrange.store.embedded import streams as embedded_streams
from hashrange.tables.streams import sequence_text
from hashrange.triggers.consumers import Consumer, News
from tests.support.working import give_way_always
from tests.unit.jobs.streaming import DAY, ROLL, is_open, pass_time, shards
from tests.unit.jobs.world import drive
from tests.unit.triggers.deliveries import Deliveries

TENDED = 3
"""Shards that one commit replaces or deletes in these tests."""


class Counted:
    """Calls for shards and records of the stream of a world, counted."""

    def __init__(self, world: Deliveries, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looked = 0
        """Shards that were returned by looks for shards."""
        self.reads = 0
        """Reads of records."""
        streams = world.store.streams
        records = streams.records

        async def counted_records(*arguments: Any) -> Any:
            self.reads += 1
            return await records(*arguments)

        monkeypatch.setattr(streams, "records", counted_records)
        all_shards, changed_shards = streams.shards, streams.changed_shards

        def counted_shards(*arguments: Any) -> Any:
            found = all_shards(*arguments)
            self.looked += len(found)
            return found

        async def counted_changes(*arguments: Any) -> Any:
            found = await changed_shards(*arguments)
            self.looked += 0 if found is None else len(found.shards)
            return found

        monkeypatch.setattr(streams, "shards", counted_shards)
        monkeypatch.setattr(streams, "changed_shards", counted_changes)

    def take(self) -> tuple[int, int]:
        """Both numbers since the last call."""
        found = self.looked, self.reads
        self.looked = self.reads = 0
        return found


def crowd(monkeypatch: pytest.MonkeyPatch, items: int = 100) -> tuple[Deliveries, int]:
    """A world whose stream has many open shards, of each of which records have been delivered;
    and the number of these shards.
    """
    monkeypatch.setattr(embedded_streams, "SHARDS_TENDED_MAX", TENDED)
    world = Deliveries(partition_size_max_bytes=4_000)
    for key in range(items):
        world.write(1, key=key, pad={"S": "x" * 1_000})
    world.split()
    world.map()
    world.deliver()
    for key in range(items):
        world.write(2, key=key)
    world.deliver()
    assert sum(map(len, world.taken())) == 2 * items
    return world, sum(map(is_open, shards(world, world.arn)))


def rolled(world: Deliveries) -> Iterator[None]:
    """Let all shards that are due be replaced or deleted, in one commit after the other."""
    while drive(world.shards_job.run_slice()) == 0.0:
        yield


def test_a_look_after_each_commit_is_about_what_the_commit_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    world, count = crowd(monkeypatch)
    assert count >= 20
    counted = Counted(world, monkeypatch)
    for _ in range(3):
        world.clock.advance(ROLL)
        for _ in rolled(world):
            world.deliver()
        looked, reads = counted.take()
        assert looked == 2 * count, "each parent and each child once"
        assert reads <= 3 * count


def test_shards_that_end_together_are_work_for_each_of_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one that has been read to its end lets its child begin, and concerns no other shard."""
    world, count = crowd(monkeypatch)
    counted = Counted(world, monkeypatch)
    for _ in range(3):
        pass_time(world, ROLL)
    world.deliver()
    looked, reads = counted.take()
    assert looked == 4 * count
    assert reads <= 5 * count


def test_a_record_is_work_for_its_shard_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = crowd(monkeypatch)
    counted = Counted(world, monkeypatch)
    for value in range(3, 8):
        world.write(value, key=7)
        world.deliver()
        assert counted.take() == (1, 2), "the second read finds that there is no more"
    assert world.taken() == [[3], [4], [5], [6], [7]]


def test_deleted_shards_are_forgotten_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    world, count = crowd(monkeypatch)
    assert len(world.checkpoints()) >= count / 2
    counted = Counted(world, monkeypatch)
    world.clock.advance(DAY + ROLL)
    for _ in rolled(world):
        world.deliver()
    world.clock.advance(DAY)
    for _ in rolled(world):
        world.deliver()
    world.write(3)
    world.deliver()
    assert world.taken() == [[3]]
    assert len(world.checkpoints()) == 1, "those of deleted shards are deleted"
    looked, _ = counted.take()
    assert looked <= 5 * count


def test_the_first_look_at_many_shards_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    world, count = crowd(monkeypatch)
    (consumer,) = world.delivery._roster.consumers.values()
    again = Consumer(consumer.mapping, consumer.stream, {}, "", world.clock, None)
    monkeypatch.setattr(steps, "LOOK_STEPS", 5)

    async def look() -> News:
        streams = world.store.streams
        changed = await streams.changed_shards(again.stream, again.heard)
        assert changed is not None
        return again.look_for_shards(streams, changed)

    ways, found = give_way_always(look())
    assert len(found.shards) == 1, "the shard of all others' ancestor"
    (shard, *_) = found.shards
    last = drive(world.store.streams.last_of_shard(shard.shard))
    latest = world.mapping(starting_position="LATEST", starting_sequence=sequence_text(last + 1))
    again = Consumer(latest, consumer.stream, {}, "", world.clock, None)
    ways, found = give_way_always(look())
    assert len(found.shards) == count
    assert ways >= count / 2


def test_every_lane_has_its_turn_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    world, count = crowd(monkeypatch)
    turns = 0

    async def deliver_beside_others() -> None:
        loop = asyncio.get_running_loop()

        def turn() -> None:
            nonlocal turns
            turns += 1
            loop.call_soon(turn)

        turn()
        await world.delivery.run_slice()

    pass_time(world, ROLL)
    asyncio.run(deliver_beside_others())
    assert turns >= count


def test_shards_that_came_and_went_between_two_looks_hold_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    world, count = crowd(monkeypatch)
    (consumer,) = world.delivery._roster.consumers.values()
    before = set(consumer.shards)
    pass_time(world, ROLL)
    pass_time(world, DAY + ROLL)
    world.write(3, key=7)
    world.deliver()
    assert world.taken() == [[3]]
    world.deliver()
    assert before.isdisjoint(consumer.shards)
    assert len(consumer.shards) == count
    assert len(world.checkpoints()) == 1
