"""What a restore or reset gives out afterwards, it has never given out before:
shard ids and sequence numbers of a stream's ARN.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.store.copying import copying_of
from hashrange.store.streams import NOTHING_HEARD
from tests.unit.jobs.streaming import HOUR, all_records, change, sequence, shards, switch_on
from tests.unit.jobs.world import World


def given_out(world: World, arn: str) -> tuple[set[str], set[int]]:
    """The ids of a stream's shards, and the sequence numbers of its records and of its shards' ends."""
    found = shards(world, arn)
    ends: list[Any] = [text for one in found for text in one["SequenceNumberRange"].values()]
    return {one["ShardId"] for one in found}, {*map(int, ends), *(sequence(one) for one in all_records(world, arn))}


def go_on(world: World, value: int) -> None:
    """Replace the shard, and write to the shard that follows."""
    world.clock.advance(5 * HOUR)
    world.tend()
    change(world, 1, value)


@pytest.fixture(params=["memory", "disk", "restarted", "killed"])
def kind(request: pytest.FixtureRequest) -> str:
    """Where the content is, and what happens behind each restore."""
    return str(request.param)


@pytest.fixture
def clock() -> Any:
    """A clock that stands still, except that it is moved, and returns to the time of a restored snapshot."""
    clock = MovableClock(SystemClock())
    clock.freeze()
    return clock


@pytest.fixture
def world(kind: str, clock: Any, tmp_path: Path) -> World:
    return World(None if kind == "memory" else tmp_path / "data", clock=clock)


def restored(world: World, kind: str, checkpoint: Any) -> Any:
    """Restore the checkpoint; then, in some kinds, start again, which ends checkpoints.
    Returns one of the same content.
    """
    copying_of(world.store).restore(checkpoint)
    if kind not in {"restarted", "killed"}:
        return checkpoint
    world.restart() if kind == "restarted" else world.kill()
    return None if checkpoint is None else asyncio.run(copying_of(world.store).checkpoint())


def test_shards_that_follow_after_a_restore_are_others(world: World, kind: str, clock: Any) -> None:
    arn = switch_on(world)
    change(world, 1, 0)
    state = clock.state
    checkpoint = asyncio.run(copying_of(world.store).checkpoint())
    kept = given_out(world, arn)
    seen: list[tuple[set[str], set[int]]] = []
    for value in range(3):
        go_on(world, value)
        ids, numbers = given_out(world, arn)
        new = ids - kept[0], numbers - kept[1]
        assert len(new[0]) == 1
        for former in seen:
            assert new[0].isdisjoint(former[0])
            assert new[1].isdisjoint(former[1])
            assert min(new[1]) > max(former[1])
        seen.append(new)
        if value < 2:
            clock.go_to(state)
            checkpoint = restored(world, kind, checkpoint)
            assert given_out(world, arn)[0] == kept[0]


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_stream_of_the_same_label_has_other_shards(world: World, kind: str, clock: Any, *, is_reset: bool) -> None:
    """At the same moment of frozen time, the same table's stream is switched on again: its ARN is the same."""
    checkpoint = None if is_reset else asyncio.run(copying_of(world.store).checkpoint())
    seen: list[tuple[str, set[str], set[int]]] = []
    for value in range(3):
        if value:
            checkpoint = restored(world, kind, checkpoint)
            if is_reset:
                world.create_table()
        arn = switch_on(world)
        change(world, 1, value)
        seen.append((arn, *given_out(world, arn)))
    assert len({arn for arn, _, _ in seen}) == 1
    assert len(set.union(*[ids for _, ids, _ in seen])) == 3
    assert len(set.union(*[numbers for _, _, numbers in seen])) == 6


def test_whoever_follows_a_stream_looks_at_all_its_shards_after_a_restore(world: World, kind: str) -> None:
    """Its records may be others now, also in shards in which nothing has changed since they were copied."""
    switch_on(world)
    go_on(world, 0)
    checkpoint = asyncio.run(copying_of(world.store).checkpoint())
    change(world, 1, 1)
    world.store.when_durable(world.store.position(), lambda _error: None)
    (stream,) = world.store.streams.of("0" * 12, "us-east-1")
    known = asyncio.run(world.store.streams.changed_shards(stream, NOTHING_HEARD))
    assert known is not None
    assert asyncio.run(world.store.streams.changed_shards(stream, known.mark)) is None
    lasts = [asyncio.run(world.store.streams.last_of_shard(one)) for one in world.store.streams.shards(stream)]
    restored(world, kind, checkpoint)
    streams = world.store.streams
    (stream,) = streams.of("0" * 12, "us-east-1")
    all_shards = streams.shards(stream)
    assert len(all_shards) == 2
    world.store.when_durable(world.store.position(), lambda _error: None)
    changed = asyncio.run(streams.changed_shards(stream, known.mark))
    assert changed is not None
    assert sorted(changed.shards) == sorted(all_shards)
    assert changed.mark > known.mark
    assert min(asyncio.run(streams.last_of_shard(one)) for one in all_shards) > max(lasts)


def test_a_store_without_streams_is_restored_as_it_was(world: World) -> None:
    checkpoint = asyncio.run(copying_of(world.store).checkpoint())
    rows = checkpoint.rows(None, 10**9)
    copying_of(world.store).restore(checkpoint)
    assert asyncio.run(copying_of(world.store).checkpoint()).rows(None, 10**9) == rows
