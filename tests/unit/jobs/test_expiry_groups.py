"""Items that expire together are deleted in one commit: each once, however often it is queued;
large items in commits of their own.
"""

from contextlib import suppress
from typing import Any

import pytest

from hashrange.store.embedded import layout, upkeep
from hashrange.store.embedded.reading import scan_prefix
from tests.unit.jobs.world import World, item

EXPIRES = "expires"


@pytest.fixture
def world(world: World) -> World:
    """The world with a stream and time to live switched on."""
    world.ask("UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRES})
    while world.expire() == 0.0:
        pass
    return world


def put(world: World, number: int, seconds: float, **more: Any) -> None:
    """Put an item that expires in `seconds` seconds."""
    expires = {"N": str(int(world.clock.service_time() + seconds))}
    world.ask("PutItem", Item=item(number) | {EXPIRES: expires} | more)


def removed(world: World) -> list[str]:
    """Ids of the items that the stream reports as removed by the service."""
    arn = world.ask("DescribeTable")["Table"]["LatestStreamArn"]
    (shard,) = world.ask("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]
    start = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    records = world.ask("GetRecords", ShardIterator=world.ask("GetShardIterator", **start)["ShardIterator"])["Records"]
    gone = [one for one in records if one["eventName"] == "REMOVE"]
    assert all(one["userIdentity"]["Type"] == "Service" for one in gone)
    return [one["dynamodb"]["Keys"]["id"]["S"] for one in gone]


def test_an_item_that_waits_twice_goes_once(world: World) -> None:
    """Items 1 and 2 have outdated queue rows: an already expired item is queued for the next second,
    and its queue row stays when the item is written again."""
    put(world, 2, 10)
    put(world, 1, -5)
    put(world, 1, 20)
    put(world, 3, 1)
    world.clock.advance(30)
    assert len(list(scan_prefix(world.embedded.engine, layout.TIME_TO_LIVE_PREFIX))) == 4
    while world.expire() is not None:
        pass
    assert sorted(removed(world)) == ["o1", "o2", "o3"]
    assert [len([one for one in changes if one.new != one.old]) for changes in world.deletions] == [3, 0]
    assert world.ask("DescribeTable")["Table"]["ItemCount"] == 0


def test_items_that_turn_out_to_be_large_go_one_by_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "GROUP_ITEM_BYTES_MAX", 1 << 20)
    for number in range(upkeep.GROUP_ROWS):
        put(world, number, 5, pad={"S": "x" * 300_000})
    before = world.embedded.position()
    world.clock.advance(5)
    while world.expire() is not None:
        pass
    assert sorted(removed(world)) == sorted(f"o{number}" for number in range(upkeep.GROUP_ROWS))
    assert world.embedded.position() - before >= upkeep.GROUP_ROWS
    assert [len(changes) for changes in world.deletions] == [1] * upkeep.GROUP_ROWS


def test_small_items_go_together(world: World) -> None:
    for number in range(2 * upkeep.GROUP_ROWS):
        put(world, number, 5)
    before = world.embedded.position()
    world.clock.advance(5)
    while world.expire() is not None:
        pass
    assert sorted(removed(world)) == sorted(f"o{number}" for number in range(2 * upkeep.GROUP_ROWS))
    assert world.embedded.position() - before <= 4
    assert [len(changes) for changes in world.deletions] == [upkeep.GROUP_ROWS] * 2


def test_each_deletion_is_told_before_anything_else_runs(world: World) -> None:
    """Else a read in between could show neither the item nor, if it is to be stale, the item as it was."""
    count = 2 * upkeep.GROUP_ROWS
    for number in range(count):
        put(world, number, 5)
    world.clock.advance(5)
    told = []
    expiring = world.expiring()
    with suppress(StopIteration):
        while True:
            expiring.send(None)
            told.append(sum(len(changes) for changes in world.deletions))
            assert len(world.ask("Scan")["Items"]) == count - told[-1]
    assert upkeep.GROUP_ROWS in told
