"""Streams start and end with their table's settings and stay readable for a day afterwards;
the job rests while it has nothing to do.
"""

from pathlib import Path
from typing import Any

import pytest

from hashrange.errors import ApiError, StorageCorruption
from hashrange.jobs.job import AT_ONCE
from hashrange.store.embedded import layout, stream_reads
from hashrange.store.embedded.reading import scan_prefix
from tests.support.rows_read import note_rows_read
from tests.unit.jobs.streaming import (
    DAY,
    HOUR,
    ROLL,
    all_records,
    begin,
    change,
    described,
    is_open,
    pass_time,
    refused,
    rows,
    switch_off,
    switch_on,
    values,
)
from tests.unit.jobs.world import TABLE, World, drive


@pytest.fixture
def world_options() -> dict[str, Any]:
    return {"partition_size_max_bytes": 4_000}


# --- ended streams -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_stream_that_has_ended_is_readable_for_a_day(world: World, is_deleted: bool) -> None:
    arn = switch_on(world)
    change(world, 1, 1)
    pass_time(world, HOUR)
    change(world, 1, 2)
    if is_deleted:
        world.ask("DeleteTable")
    else:
        switch_off(world)
        change(world, 1, 3)
    description = described(world, arn)
    assert description["StreamStatus"] == "DISABLED"
    assert not any(is_open(one) for one in description["Shards"])
    assert values(world, arn, 1) == [1, 2]
    assert world.tend() == pytest.approx(DAY, abs=0.002)
    world.clock.advance(DAY - 1)
    assert values(world, arn, 1) == [2]
    assert [one["StreamArn"] for one in world.ask("ListStreams")["Streams"]] == [arn]
    if world.data_dir is not None:
        world.restart()
    assert world.tend() == pytest.approx(1, abs=0.002)
    iterator = begin(world, arn, description["Shards"][0]["ShardId"])
    world.clock.advance(1)
    for _ in range(2):
        assert refused(world, "DescribeStream", StreamArn=arn) == "ResourceNotFoundException"
        assert refused(world, "GetRecords", ShardIterator=iterator) == "ResourceNotFoundException"
        assert world.ask("ListStreams")["Streams"] == []
        assert world.request("ListStreams")["Streams"] == []
        assert world.tend() is None
    assert rows(world) == 0


def test_streams_of_the_same_moment_have_different_labels(world: World) -> None:
    arns = []
    for value in range(4):
        arns.append(switch_on(world))
        change(world, 1, value)
        switch_off(world)
    assert len(set(arns)) == 4
    assert [values(world, arn, 1) for arn in arns] == [[0], [1], [2], [3]]
    world.ask("DeleteTable")
    world.ask("CreateTable", **CREATED)
    arns.append(world.described()["LatestStreamArn"])
    assert len(set(arns)) == 5
    assert sorted(arns, reverse=True) == [one["StreamArn"] for one in world.ask("ListStreams")["Streams"]]
    assert world.tend() == pytest.approx(ROLL, abs=0.002)


CREATED: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}


def test_another_change_of_the_table_in_the_moment_of_its_stream(world: World) -> None:
    """Another change of the table in the same millisecond keeps the stream."""
    arn = switch_on(world)
    world.ask("UpdateTable", DeletionProtectionEnabled=True)
    assert world.described()["LatestStreamArn"] == arn
    assert described(world, arn)["StreamStatus"] == "ENABLED"
    world.ask("UpdateTable", DeletionProtectionEnabled=False)
    world.ask("CreateTable", TableName="second", **CREATED)
    arn = world.ask("DescribeTable", TableName="second")["Table"]["LatestStreamArn"]
    world.create()
    world.ask("UpdateTable", TableName="second", DeletionProtectionEnabled=True)
    assert world.ask("DescribeTable", TableName="second")["Table"]["LatestStreamArn"] == arn
    assert len(world.request("ListStreams")["Streams"]) == 2
    world.finish()


def test_states_that_last(tmp_path: Path) -> None:
    world = World(tmp_path / "data", delay_seconds=20.0)
    arn = switch_on(world)
    assert described(world, arn)["StreamStatus"] == "ENABLING"
    world.clock.advance(19.9)
    assert described(world, arn)["StreamStatus"] == "ENABLING"
    world.restart()
    world.clock.advance(0.2)
    assert described(world, arn)["StreamStatus"] == "ENABLED"
    change(world, 1, 1)
    switch_off(world)
    assert described(world, arn)["StreamStatus"] == "DISABLING"
    world.clock.advance(20)
    assert described(world, arn)["StreamStatus"] == "DISABLED"
    assert values(world, arn, 1) == [1]
    assert world.close() == []


# --- the job ----------------------------------------------------------------------------------------


def test_there_is_nothing_to_do_without_streams(world: World) -> None:
    assert world.tend() is None
    change(world, 1, 1)
    assert rows(world) == 0


def test_the_job_asks_for_the_next_due_moment(world: World) -> None:
    first = switch_on(world)
    world.clock.advance(HOUR)
    world.ask("CreateTable", TableName="second", **CREATED)
    assert world.tend() == ROLL - HOUR
    assert pass_time(world, ROLL - HOUR) == HOUR
    assert pass_time(world, HOUR) == ROLL - HOUR
    switch_off(world)
    for _ in range(4):
        assert pass_time(world, ROLL) is not None
    pause_seconds = world.tend()
    assert pause_seconds is not None
    dues = []
    while refused_or_none(world, first) is None:
        pause_seconds = pass_time(world, pause_seconds)
        assert pause_seconds is not None
        assert pause_seconds > 0
        dues.append(pause_seconds)
    assert len(dues) < 20, "never in vain"


def refused_or_none(world: World, arn: str) -> str | None:
    try:
        described(world, arn)
    except ApiError as error:
        return error.code
    return None


def test_a_hundred_idle_streams_rest(world: World) -> None:
    for number in range(100):
        world.ask("CreateTable", TableName=f"table{number}", **CREATED)
    assert drive(world.shards_job.run_slice()) == ROLL
    world.clock.advance(ROLL - 1)
    assert drive(world.shards_job.run_slice()) == 1
    world.clock.advance(1)
    slices = 0
    while drive(world.shards_job.run_slice()) == AT_ONCE:
        slices += 1
    assert slices == 100
    assert len(world.request("ListStreams", Limit=100)["Streams"]) == 100
    assert TABLE not in {one["TableName"] for one in world.request("ListStreams")["Streams"]}


def test_a_stream_among_many_is_found_by_its_name(world: World) -> None:
    """Streams are found after other streams were removed, and after a restart."""
    for number in range(3):
        for name in ("table0", "table1"):
            world.ask("CreateTable", TableName=name, **CREATED)
        arns = [one["StreamArn"] for one in world.request("ListStreams")["Streams"]]
        assert len(arns) == 2
        assert [described(world, arn)["StreamArn"] for arn in arns] == arns
        for name in ("table0", "table1"):
            world.ask("DeleteTable", TableName=name)
        pass_time(world, DAY - number * HOUR)
        if world.data_dir is not None:
            world.restart()
        pass_time(world, number * HOUR)
        assert [refused(world, "DescribeStream", StreamArn=arn) for arn in arns] == ["ResourceNotFoundException"] * 2
    assert rows(world) == 0
    assert not world.embedded.streams._streams.by_name, "nothing is kept of what is gone"


def test_no_more_large_records_are_read_than_a_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading is bounded by bytes: the two images of a record may have 6 MB of JSON."""
    world = World(tmp_path / "data")
    world.ask("UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    for number in range(12):
        world.ask("PutItem", Item={"id": {"S": "a"}, "n": {"N": str(number)}, "text": {"S": "x" * 300_000}})
    read_rows = note_rows_read(monkeypatch, stream_reads)
    (stream,) = world.scope.store.streams.of("000000000000", "us-east-1")
    (shard,) = world.scope.store.streams.shards(stream)
    page = drive(world.scope.store.streams.records(shard, 0, 1_000, 1 << 20))
    assert len(page.records) == 2
    assert len(read_rows) <= 4
    monkeypatch.undo()
    assert world.close() == []


@pytest.mark.parametrize("record", [b"", b"\x03", b"\x03\x01\x00", bytes((3, 8)) + bytes(8)])
def test_a_spoilt_record_is_the_operators_matter(world: World, record: bytes) -> None:
    arn = switch_on(world)
    change(world, 1, 0)
    (engine_key,) = [one for one, _ in scan_prefix(world.embedded.engine, layout.LOG_PREFIX)]
    world.embedded.engine.put(engine_key, record)
    with pytest.raises(StorageCorruption, match="stream record"):
        all_records(world, arn)
    change(world, 1, 1)
    assert world.ask("GetItem", Key={"id": {"S": "o1"}}, ConsistentRead=True)["Item"]["v"] == {"N": "1"}
    world.embedded.engine.delete(engine_key)
    assert values(world, arn, 1) == [1]
