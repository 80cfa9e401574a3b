"""A feed records what a stream of both images would, in the same commits,
for a Kinesis destination; no client sees it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.errors import ResourceNotFoundException
from hashrange.items.rows import decode_row
from hashrange.store.embedded import layout
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.kinesis_destinations import FEED_PREFIX, FeedTarget
from hashrange.tables.stream_records import decode_record, keys_of
from hashrange.tables.streams import ALL_IMAGES, Stream
from tests.unit.jobs.streaming import (
    DAY,
    HOUR,
    ROLL,
    all_records,
    begin,
    change,
    key_of,
    pass_time,
    refused,
    refused_iterator,
    switch_on,
    told,
)
from tests.unit.jobs.world import World, drive

ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
MANY = 10_000
Engine = Any


@pytest.fixture(params=["embedded", "suspending"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    is_suspending = request.param == "suspending"
    return allow(World(tmp_path / "data", is_suspending=is_suspending, partition_size_max_bytes=2000))


def allow(world: World) -> World:
    """Let destinations be enabled; nothing is ever sent."""
    world.scope.settings = msgspec.structs.replace(world.settings, kinesis_endpoint="http://127.0.0.1:1")
    return world


def enable(world: World, **members: Any) -> None:
    world.ask("EnableKinesisStreamingDestination", StreamArn=ARN, **members)


def conclude(world: World, state: str) -> None:
    """What the job does once it knows whether the data stream exists."""
    table = table_of(world)
    destination = msgspec.structs.replace(table.kinesis_destinations[-1], state=state)
    assert drive(
        world.store.catalog.replace(table, msgspec.structs.replace(table, kinesis_destinations=(destination,)))
    )


def table_of(world: World) -> Any:
    found = world.store.catalog.find(world.scope.account, world.scope.region, "orders")
    assert found is not None
    return found.schema


def feed_of(world: World) -> Stream:
    (feed,) = world.store.streams.feeds()
    return feed


def feed_changes(world: World, feed: Stream) -> list[tuple[str, Any, Any]]:
    """(key, old image, new image) of each record of a feed, shard by shard in the order of their numbers."""
    found: list[tuple[str, Any, Any]] = []
    for shard in world.store.streams.shards(feed):
        page = drive(world.store.streams.records(shard, 0, MANY, 2**30))
        assert page.is_end
        for sequence, row in page.records:
            assert shard.first <= sequence <= (shard.last or sequence)
            record = decode_record(row, ALL_IMAGES, ("id",))
            old, new = [None if one is None else decode_row(one) for one in (record.old, record.new)]
            found.append((str(keys_of(record, ("id",))["id"]["S"]), old, new))
    return found


def test_a_feed_has_the_changes_of_a_stream_with_both_images(world: World) -> None:
    """Through rolls, splits and a restart; records of both are rows of the same commits."""
    stream = switch_on(world)
    enable(world)
    for number in range(6):
        change(world, number, 1, size_bytes=400)
    assert world.split() is None
    for number in range(6):
        change(world, number, 2)
    pass_time(world, ROLL)
    change(world, 1, 3)
    world.restart()
    allow(world)
    world.ask("DeleteItem", Key={"id": {"S": "o1"}})
    change(world, 1, 3)
    change(world, 1, 3)  # no change
    streamed = sorted([(key_of(one), *told(one)) for one in all_records(world, stream)], key=repr)
    assert len(streamed) == 15
    assert sorted(feed_changes(world, feed_of(world)), key=repr) == streamed
    assert len(world.store.streams.shards(feed_of(world))) == 5
    assert world.close() == []


def test_no_client_sees_a_feed(world: World) -> None:
    enable(world)
    feed = feed_of(world)
    assert feed.label.startswith(FEED_PREFIX)
    assert world.ask("ListStreams")["Streams"] == []
    assert world.request("ListStreams")["Streams"] == []
    described = world.described()
    assert "LatestStreamArn" not in described
    assert "StreamSpecification" not in described
    assert world.store.streams.find(feed.account, feed.region, "orders", feed.label) is None
    shard = world.store.streams.shards(feed)[0].shard_id
    assert refused(world, "DescribeStream", StreamArn=feed.arn) == "ValidationException"
    assert refused_iterator(world, feed.arn, shard, "TRIM_HORIZON") == "ValidationException"
    stream = switch_on(world)
    assert [one["StreamArn"] for one in world.ask("ListStreams")["Streams"]] == [stream]
    own = world.store.streams.shards(world.store.streams.of(feed.account, feed.region)[0])[0].shard_id
    forged = begin(world, stream, own).replace(stream, feed.arn)
    assert refused(world, "GetRecords", ShardIterator=forged) == "ValidationException"


def test_a_feed_knows_where_its_records_go(world: World) -> None:
    """Also after the table is gone."""
    enable(world)
    assert feed_of(world).target == FeedTarget(ARN, None, is_found=False)
    conclude(world, "ACTIVE")
    assert feed_of(world).target == FeedTarget(ARN, None, is_found=True)
    precision = {"ApproximateCreationDateTimePrecision": "MICROSECOND"}
    world.ask("UpdateKinesisStreamingDestination", StreamArn=ARN, UpdateKinesisStreamingConfiguration=precision)
    target = FeedTarget(ARN, "MICROSECOND", is_found=True)
    assert feed_of(world).target == target
    world.restart()
    assert feed_of(world).target == target
    world.ask("DeleteTable")
    with pytest.raises(ResourceNotFoundException):
        world.ask("DescribeTable")
    assert (feed_of(world).target, feed_of(world).is_on) == (target, False)
    assert world.close() == []


def test_a_feed_whose_destination_failed_goes_nowhere(world: World) -> None:
    enable(world)
    change(world, 1, 1)
    conclude(world, "ENABLE_FAILED")
    assert (feed_of(world).target, feed_of(world).is_on) == (None, False)
    change(world, 1, 2)
    assert len(feed_changes(world, feed_of(world))) == 1
    world.restart()
    assert feed_of(world).target is None
    assert world.close() == []


def test_a_feed_ends_with_its_destination_and_is_kept_for_a_day(world: World) -> None:
    enable(world)
    conclude(world, "ACTIVE")
    change(world, 1, 1)
    world.ask("DisableKinesisStreamingDestination", StreamArn=ARN)
    change(world, 1, 2)
    feed = feed_of(world)
    assert (feed.is_on, len(feed_changes(world, feed))) == (False, 1)
    enable(world)
    assert [one.is_on for one in world.store.streams.feeds()] == [False, True]
    pass_time(world, DAY - HOUR)
    assert len(world.store.streams.feeds()) == 2
    pass_time(world, HOUR + 1)
    assert [one.is_on for one in world.store.streams.feeds()] == [True]
    assert world.close() == []


def test_a_failed_commit_leaves_neither_item_nor_record(world: World) -> None:
    enable(world)
    change(world, 1, 1)
    with pytest.raises(Exception, match="Transaction"):
        world.request(
            "TransactWriteItems",
            TransactItems=[
                {"Put": {"TableName": "orders", "Item": {"id": {"S": "o2"}}}},
                {
                    "ConditionCheck": {
                        "TableName": "orders",
                        "Key": {"id": {"S": "o1"}},
                        "ConditionExpression": "attribute_not_exists(id)",
                    }
                },
            ],
        )
    assert [key for key, _, _ in feed_changes(world, feed_of(world))] == ["o1"]


# --- damage ---------------------------------------------------------------------------------------


def change_feed(engine: Engine, **members: Any) -> None:
    stream = layout.decode_stream(engine.get(layout.stream_key(1)))
    engine.put(layout.stream_key(1), layout.encode_stream(msgspec.structs.replace(stream, **members)))


def drop_last_record(engine: Engine) -> None:
    engine.delete(list(scan_prefix(engine, layout.LOG_PREFIX))[-1][0])


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda engine: change_feed(engine, target=None), "do not go where table orders says"),
        (lambda engine: change_feed(engine, label="kinesis/other"), "is not as table orders describes it"),
        (lambda engine: change_feed(engine, view_type="KEYS_ONLY"), "is not as table orders describes it"),
        (lambda engine: change_feed(engine, purpose="readers"), "its table is gone or has none"),
        (lambda engine: engine.delete(layout.stream_key(1)), "0 of its streams are on"),
        (lambda engine: engine.delete(layout.shard_key(1, 1)), "belongs to no shard of a stream"),
        (drop_last_record, "which is another one"),
    ],
    ids=["target", "label", "view type", "purpose", "stream", "shard", "record"],
)
def test_check_finds_damage(tmp_path: Path, damage: Callable[[Engine], None], found: str) -> None:
    world = allow(World(tmp_path / "data"))
    enable(world)
    conclude(world, "ACTIVE")
    for value in range(3):
        change(world, 1, value)
    assert world.close() == []
    assert world.data_dir is not None
    engine = open_engine(world.data_dir)
    damage(engine)
    engine.close()
    faults = check_store(world.data_dir, clock=world.clock).faults
    assert any(found in one for one in faults), faults
