"""Shards roll over, split with their partitions, and are removed with their records after a day."""

import itertools
from typing import Any

import pytest

from hashrange.items import steps
from hashrange.operations.streams.stream import DescribeStreamRequest, describe_stream
from hashrange.store.embedded import streams
from hashrange.store.embedded.draft import Draft
from tests.support.working import give_way_always
from tests.unit.jobs.streaming import (
    DAY,
    HOUR,
    ROLL,
    all_records,
    begin,
    change,
    described,
    ending,
    is_open,
    pass_time,
    read,
    refused,
    refused_iterator,
    replayed,
    rows,
    sequence,
    shard_records,
    shards,
    starting,
    switch_off,
    switch_on,
    told,
    values,
)
from tests.unit.jobs.world import World, drive, item

PARTITION_BYTES = 4_000


@pytest.fixture
def world_options() -> dict[str, Any]:
    return {"partition_size_max_bytes": PARTITION_BYTES}


# --- successive shards -------------------------------------------------------------------------------


def test_a_shard_is_followed_by_another_after_four_hours(world: World) -> None:
    arn = switch_on(world)
    (first,) = shards(world, arn)
    assert "ParentShardId" not in first
    change(world, 1, 0)
    assert world.tend() == ROLL
    assert pass_time(world, ROLL - 1) == 1
    assert shards(world, arn) == [first]
    for number in range(1, 4):
        pause_seconds = pass_time(world, 1 if number == 1 else ROLL)
        assert pause_seconds == ROLL
        found = shards(world, arn)
        assert len(found) == number + 1
        parent, child = found[-2:]
        assert child["ParentShardId"] == parent["ShardId"]
        assert is_open(child)
        assert starting(parent) < ending(parent) < starting(child)
        change(world, 1, number)
    assert values(world, arn, 1) == [0, 1, 2, 3]
    for shard, records in shard_records(world, arn):
        assert len(records) == 1
        assert starting(shard) <= sequence(records[0])
        assert is_open(shard) or sequence(records[0]) <= ending(shard)


def test_a_long_jump_of_time_is_one_roll(world: World) -> None:
    arn = switch_on(world)
    assert pass_time(world, 3 * ROLL) == ROLL
    assert len(shards(world, arn)) == 2


def test_an_iterator_reads_a_shard_to_its_end_after_it_was_closed(world: World) -> None:
    arn = switch_on(world)
    (first,) = shards(world, arn)
    world.clock.advance(ROLL - 60)
    iterator = begin(world, arn, first["ShardId"], "LATEST")
    change(world, 1, 1)
    assert pass_time(world, 60) == ROLL
    change(world, 1, 2)
    records, following = read(world, iterator)
    assert [told(one)[1] for one in records] == [item(1) | {"v": {"N": "1"}}]
    assert following is None
    assert read(world, begin(world, arn, first["ShardId"], "LATEST")) == ([], None)
    later = begin(
        world, arn, first["ShardId"], "AFTER_SEQUENCE_NUMBER", SequenceNumber=str(ending(shards(world, arn)[0]))
    )
    assert read(world, later) == ([], None)


def test_a_split_gives_a_shard_two_children(world: World) -> None:
    arn = switch_on(world)
    (parent,) = shards(world, arn)
    world.put(20, pad={"S": "x" * 200})
    assert world.split() is None
    one, *others = shards(world, arn)
    assert one["ShardId"] == parent["ShardId"]
    assert not is_open(one)
    assert len(others) == 2
    assert all(child["ParentShardId"] == parent["ShardId"] and is_open(child) for child in others)
    assert all(starting(child) > ending(one) for child in others)
    wanted = {"Type": "CHILD_SHARDS", "ShardId": parent["ShardId"]}
    assert described(world, arn, ShardFilter=wanted)["Shards"] == others
    wanted["ShardId"] = others[0]["ShardId"]
    assert described(world, arn, ShardFilter=wanted)["Shards"] == []
    for number in range(20):
        change(world, number, number)
    counts = [len(records) for _, records in shard_records(world, arn)]
    assert counts[0] == 20
    assert counts[1] + counts[2] == 20
    assert min(counts) > 0
    world.tend()
    pass_time(world, ROLL)
    found = shards(world, arn)
    parents = [one.get("ParentShardId") for one in found]
    assert parents == [None, parent["ShardId"], parent["ShardId"], others[0]["ShardId"], others[1]["ShardId"]]


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_every_items_changes_are_in_order_through_rolls_and_splits(world: World, limit: int) -> None:
    arn = switch_on(world)
    value = 0
    for step in range(6):
        for _ in range(2):
            value += 1
            for number in range(10 * (step + 1)):
                change(world, number, value, size_bytes=150)
            if value % 3 == 0:
                world.ask("DeleteItem", Key={"id": {"S": "o3"}})
        world.split()
        world.clock.advance(ROLL * 0.6)
        if step % 2:
            world.tend()
        if step == 3 and world.data_dir is not None:
            world.restart()
    found = shards(world, arn)
    assert len(found) > 8
    assert len({one["ShardId"] for one in found}) == len(found)
    records = all_records(world, arn, limit)
    items = replayed(records)
    assert items == {one["id"]["S"]: one for one in world.ask("Scan", ConsistentRead=True)["Items"]}
    assert len({one["eventID"] for one in records}) == len({sequence(one) for one in records}) == len(records)
    assert values(world, arn, 1) == list(range(1, value + 1))
    for shard, inside in shard_records(world, arn):
        numbers = [sequence(one) for one in inside]
        assert numbers == sorted(set(numbers))
        assert all(starting(shard) <= number for number in numbers)
        assert is_open(shard) or all(number <= ending(shard) for number in numbers)


# --- expired records and shards ----------------------------------------------------------------------


def test_records_go_after_a_day(world: World) -> None:
    arn = switch_on(world)
    (first,) = shards(world, arn)
    change(world, 1, 1)
    world.clock.advance(HOUR)
    change(world, 1, 2)
    world.clock.advance(HOUR)
    change(world, 1, 3)
    old, middle, young = (str(sequence(one)) for one in all_records(world, arn))
    start = str(starting(first))
    shard_id = first["ShardId"]
    pass_time(world, ROLL - 2 * HOUR)
    pass_time(world, DAY - ROLL)
    assert values(world, arn, 1) == [1, 2, 3], "a day old, and no more"
    soon = begin(world, arn, shard_id, "AT_SEQUENCE_NUMBER", SequenceNumber=old)
    horizon = begin(world, arn, shard_id)
    world.clock.advance(0.001)
    assert values(world, arn, 1) == [2, 3]
    assert [sequence(one) for one in read(world, horizon)[0]] == [int(middle), int(young)]
    assert refused(world, "GetRecords", ShardIterator=soon) == "TrimmedDataAccessException"
    for number in (old, start):
        for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
            code = refused_iterator(world, arn, shard_id, kind, SequenceNumber=number)
            assert code == "TrimmedDataAccessException"
    for kind, left in (("AT_SEQUENCE_NUMBER", 2), ("AFTER_SEQUENCE_NUMBER", 1)):
        iterator = begin(world, arn, shard_id, kind, SequenceNumber=middle)
        assert len(read(world, iterator)[0]) == left
    long_ago = begin(world, arn, shard_id, "AT_TIMESTAMP", Timestamp=world.clock.service_time() - 3 * DAY)
    assert len(read(world, long_ago)[0]) == 2
    pass_time(world, 2 * HOUR)
    assert values(world, arn, 1) == []
    assert shards(world, arn)[0]["ShardId"] == shard_id, "it ended less than a day ago"


def test_whole_shards_go_and_children_forget_their_parent(world: World) -> None:
    arn = switch_on(world)
    change(world, 1, 1)
    assert pass_time(world, ROLL) == ROLL
    first, second = shards(world, arn)
    assert second["ParentShardId"] == first["ShardId"]
    for _ in range(5):
        assert pass_time(world, ROLL) == ROLL
    world.clock.advance(ROLL - 0.001)
    assert [one["ShardId"] for one in shards(world, arn)][:2] == [first["ShardId"], second["ShardId"]]
    assert begin(world, arn, first["ShardId"])
    world.clock.advance(0.001)
    found = shards(world, arn)
    assert found[0]["ShardId"] == second["ShardId"]
    assert "ParentShardId" not in found[0]
    assert refused_iterator(world, arn, first["ShardId"], "TRIM_HORIZON") == "ResourceNotFoundException"
    before = rows(world)
    world.tend()
    assert shards(world, arn)[0]["ShardId"] == second["ShardId"]
    assert rows(world) == before - 1, "a shard and its record have gone, and another has begun"


def test_an_iterator_of_a_shard_that_has_gone(world: World) -> None:
    arn = switch_on(world)
    (first,) = shards(world, arn)
    change(world, 1, 1)
    pass_time(world, ROLL)
    world.clock.advance(DAY - 60)
    iterator = begin(world, arn, first["ShardId"])
    assert pass_time(world, 61) is not None
    assert refused(world, "GetRecords", ShardIterator=iterator) == "TrimmedDataAccessException"


def test_the_latest_of_a_shard_that_was_left_alone_for_days(world: World) -> None:
    """LATEST and TRIM_HORIZON work on a shard older than a day, even when the job has not run since."""
    arn = switch_on(world)
    (first,) = shards(world, arn)
    change(world, 1, 1)
    world.clock.advance(2 * DAY)
    latest = begin(world, arn, first["ShardId"], "LATEST")
    oldest = begin(world, arn, first["ShardId"])
    for iterator in (latest, oldest):
        reply = world.request("GetRecords", ShardIterator=iterator)
        assert reply["Records"] == []
        world.clock.advance(1)
        assert world.request("GetRecords", ShardIterator=reply["NextShardIterator"])["Records"] == []
    world.clock.advance(1)
    change(world, 1, 2)
    for iterator in (latest, reply["NextShardIterator"]):
        assert len(read(world, iterator)[0]) == 1


def test_iterators_are_good_for_a_quarter_of_an_hour(world: World) -> None:
    arn = switch_on(world)
    (first,) = shards(world, arn)
    iterator = begin(world, arn, first["ShardId"])
    world.clock.advance(15 * 60)
    reply = world.request("GetRecords", ShardIterator=iterator)
    world.clock.advance(0.001)
    assert refused(world, "GetRecords", ShardIterator=iterator) == "ExpiredIteratorException"
    assert world.request("GetRecords", ShardIterator=reply["NextShardIterator"])["Records"] == []


def test_a_time_is_compared_with_milliseconds(world: World) -> None:
    arn = switch_on(world)
    (first,) = shards(world, arn)
    times = []
    for value in range(1, 6):
        world.clock.advance(0.25 if value % 2 else 0.001)
        times.append(world.clock.service_time())
        change(world, 1, value)
    for place, at_seconds in enumerate(times):
        iterator = begin(world, arn, first["ShardId"], "AT_TIMESTAMP", Timestamp=at_seconds)
        assert len(read(world, iterator)[0]) == 5 - place
        iterator = begin(world, arn, first["ShardId"], "AT_TIMESTAMP", Timestamp=at_seconds - 0.002)
        assert len(read(world, iterator)[0]) == 5 - max(0, place - place % 2), "the one a millisecond before as well"
    rounded = {one["dynamodb"]["ApproximateCreationDateTime"] for one in all_records(world, arn)}
    assert rounded == {int(times[0])}
    code = refused_iterator(world, arn, first["ShardId"], "AT_TIMESTAMP", Timestamp=world.clock.service_time() + 1)
    assert code == "ValidationException"


# --- very many shards --------------------------------------------------------------------------------


@pytest.fixture
def crowd(world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ARN of a stream of eight shards or more; a slice of the job tends three."""
    monkeypatch.setattr(streams, "SHARDS_TENDED_MAX", 3)
    monkeypatch.setattr(streams, "SHARDS_DROPPED_MAX", 3)
    arn = switch_on(world)
    for number in range(60):
        change(world, number, 0, size_bytes=1_000)
    world.split()
    assert len([one for one in shards(world, arn) if is_open(one)]) >= 8
    return arn


def slices(world: World) -> int:
    """Run the job until nothing is due; returns the number of slices that did something."""
    for count in itertools.count():
        if drive(world.shards_job.run_slice()) != 0.0:
            return count
    raise AssertionError


def test_many_shards_are_replaced_and_deleted_a_few_at_a_time(world: World, crowd: str) -> None:
    items = replayed(all_records(world, crowd))
    before = [one for one in shards(world, crowd) if is_open(one)]
    world.clock.advance(ROLL)
    assert slices(world) >= len(before) / 3
    after = {one["ParentShardId"]: one for one in shards(world, crowd) if is_open(one)}
    assert set(after) >= {one["ShardId"] for one in before}
    change(world, 1, 1, size_bytes=1_000)
    assert replayed(all_records(world, crowd)) != items
    for _ in range(7):
        world.clock.advance(ROLL)
        slices(world)
    assert len(shards(world, crowd)) >= 7 * len(before)
    former = {one["ShardId"] for one in before}
    assert former.isdisjoint(one["ShardId"] for one in shards(world, crowd))


def test_a_stream_of_many_shards_ends_with_the_last_of_them(world: World, crowd: str) -> None:
    switch_off(world)
    world.clock.advance(DAY + ROLL)
    assert slices(world) >= 3
    assert refused(world, "DescribeStream", StreamArn=crowd) == "ResourceNotFoundException"
    assert rows(world) == 0


class Unwalked(dict[int, Any]):
    """Shards of a stream, which nobody may walk over."""

    def _refuse(self) -> Any:
        raise AssertionError("a slice must not look at all shards")

    __iter__ = values = items = keys = _refuse


def test_no_slice_looks_at_all_shards(world: World, crowd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """25 hours of 3,000 shards took four times as long."""
    tend = streams.EmbeddedStreams.tend
    tended: list[streams.EmbeddedStreams] = []

    def tell(self: streams.EmbeddedStreams, draft: Draft) -> float | None:
        tended.append(self)
        return tend(self, draft)

    monkeypatch.setattr(streams.EmbeddedStreams, "tend", tell)
    world.tend()
    (state,) = tended[0].by_id.values()
    before = len(state.shards)
    state.shards = Unwalked(state.shards)
    for _ in range(8):
        world.clock.advance(ROLL)
        slices(world)
    state.shards = dict(dict.items(state.shards))
    assert len(state.shards) > before
    assert {one.number for one in state.shards.values()} == {
        number for numbers in state.of_partition.values() for number in numbers
    }


def test_describing_many_shards_gives_way(world: World, crowd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LOOK_STEPS", 5)
    for _ in range(4):
        world.clock.advance(ROLL)
        slices(world)
    ways, reply = give_way_always(describe_stream(world.scope, DescribeStreamRequest(StreamArn=crowd)))
    assert len(reply["StreamDescription"]["Shards"]) >= 40
    assert ways >= 1
