"""Each item's records come in order, through shards that follow each other, partitions that split, and lanes."""

from typing import Any

import pytest

from tests.unit.jobs.streaming import ROLL, pass_time, switch_off
from tests.unit.triggers.deliveries import Deliveries, Event, fail, image_of


def by_key(events: list[Event]) -> dict[str, list[int]]:
    """The values of each item, in the order of their delivery."""
    found: dict[str, list[int]] = {}
    for event in events:
        for one in event["Records"]:
            image = image_of(one)
            found.setdefault(image["id"]["S"], []).append(int(image["v"]["N"]))
    return found


def test_shards_are_read_one_after_the_other() -> None:
    world = Deliveries()
    world.map()
    for value in range(5):
        world.write(value)
        pass_time(world, ROLL)
    assert world.deliver() is None
    assert world.taken() == [[0], [1], [2], [3], [4]]


def test_a_child_waits_until_its_parent_has_been_handled() -> None:
    world = Deliveries()
    world.map()
    world.functions.answers.extend([fail, fail])
    world.write(1)
    pass_time(world, ROLL)
    world.write(2)
    pause_seconds = world.deliver()
    while pause_seconds is not None:
        pause_seconds = world.pass_time(pause_seconds)
    assert world.taken() == [[1], [1], [1], [2]]


def test_a_roll_over_during_an_invocation() -> None:
    world = Deliveries()
    world.map()

    def roll(_event: Event) -> None:
        pass_time(world, ROLL)
        world.write(2)

    world.functions.answers.append(roll)
    world.write(1)
    assert world.deliver() is None
    assert world.taken() == [[1], [2]]


@pytest.mark.parametrize("rolls", [True, False])
def test_records_written_during_an_invocation_are_not_missed(*, rolls: bool) -> None:
    """What was read ahead before the invocation has no match, and does not tell where the records end."""
    world = Deliveries()
    world.map(batch_size=1, filters=('{"eventName": ["INSERT"]}',))

    def more(_event: Event) -> None:
        world.write(3, key=1)
        if rolls:
            pass_time(world, ROLL)

    world.functions.answers.append(more)
    world.write(1, 2)
    assert world.deliver() is None
    assert world.taken() == [[1], [3]]


@pytest.mark.parametrize("lanes", [1, 3, 10])
def test_the_records_of_an_item_stay_in_order(lanes: int) -> None:
    world = Deliveries(partition_size_max_bytes=4_000)
    world.map(parallelization_factor=lanes, batch_size=7)
    value = 0
    for step in range(6):
        for _ in range(4):
            value += 1
            for key in range(10 * (step + 1)):
                world.write(value, key=key, pad={"S": "x" * 100})
        world.split()
        if step % 2:
            world.deliver()
            pass_time(world, ROLL)
    world.deliver()
    found = by_key(world.functions.events)
    assert len(found) == 60
    assert all(values == list(range(values[0], value + 1)) for values in found.values())
    assert sum(map(len, found.values())) == sum(4 * 10 * (step + 1) for step in range(6))


def test_as_many_batches_of_a_shard_run_together_as_may() -> None:
    world = Deliveries()
    world.map(parallelization_factor=4, batch_size=5)
    for key in range(200):
        world.write(1, key=key)
    world.deliver()
    assert world.functions.most_running == 4
    assert sum(map(len, by_key(world.functions.events).values())) == 200


def test_a_lane_that_fails_holds_only_its_own_items_back() -> None:
    world = Deliveries()
    mapping = world.map(parallelization_factor=5)

    def answer(event: Event) -> Any:
        return fail(event) if any(image_of(one)["id"]["S"] == "o0" for one in event["Records"]) else None

    world.functions.answer = answer
    for key in range(50):
        world.write(1, key=key)
    assert world.deliver() == 0.5
    world.functions.events.clear()
    for key in range(50):
        world.write(2, key=key)
    world.deliver()
    handled = by_key(world.functions.events)
    assert 20 < len(handled) < 50
    assert "o0" not in handled
    world.begin()
    world.functions.events.clear()
    world.functions.answer = None
    world.deliver()
    rest = by_key(world.functions.events)
    assert rest["o0"] == [1, 2]
    assert set(rest).isdisjoint(handled), "what other lanes have handled is not repeated"
    assert mapping.uuid in next(iter(world.checkpoints()))


def test_another_number_of_lanes_repeats_records_but_misses_none() -> None:
    world = Deliveries()
    mapping = world.map(parallelization_factor=5)
    world.functions.answers.append(fail)
    for value in (1, 2):
        for key in range(20):
            world.write(value, key=key)
    world.deliver()
    failed, *handled = world.functions.events
    world.functions.events.clear()
    world.change(mapping, parallelization_factor=2)
    world.deliver()
    again = by_key(world.functions.events)
    assert all(again[key] == [1, 2] for key in by_key([failed]))
    assert all(values == [1, 2] for values in by_key(handled).values())
    assert len(by_key(handled) | again) == 20


def test_a_stream_that_ends_and_another_one() -> None:
    world = Deliveries()
    world.map(parallelization_factor=3)
    for key in range(10):
        world.write(1, key=key)
    switch_off(world)
    world.deliver()
    assert len(by_key(world.functions.events)) == 10
