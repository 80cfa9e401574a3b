"""Records reach their function: all of them, in order, in batches, each only once unless the server was killed."""

import json
from pathlib import Path

import pytest

from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, TRIGGER_PASSED_RECORDS_MAX
from hashrange.messages import triggers as messages
from tests.unit.jobs.streaming import DAY, pass_time, shards, switch_off
from tests.unit.jobs.world import TABLE
from tests.unit.triggers.deliveries import FUNCTION, Deliveries, fail

INSERTS = '{"eventName": ["INSERT"]}'


@pytest.mark.parametrize("kind", ["memory", "disk", "suspending"])
def test_records_come_in_order_in_one_batch(tmp_path: Path, kind: str) -> None:
    world = Deliveries(None if kind == "memory" else tmp_path / "data", is_suspending=kind == "suspending")
    mapping = world.map()
    assert world.deliver() is None
    assert world.taken() == []
    assert world.result(mapping) == "No records processed"
    world.write(1, 2, 3)
    assert world.deliver() is None
    assert world.taken() == [[1, 2, 3]]
    assert world.result(mapping) == "OK"
    world.write(4)
    if kind == "memory":
        world.begin()
    else:
        world.restart()
    assert world.deliver() is None
    assert world.taken() == [[4]]
    assert world.close() == []


def test_the_event_is_that_of_the_service() -> None:
    world = Deliveries()
    world.map()
    world.write(1)
    world.deliver()
    (event,) = world.functions.events
    (record,) = event["Records"]
    content = record.pop("dynamodb")
    assert record == {
        "eventID": record["eventID"],
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "eventSourceARN": world.arn,
    }
    assert content == {
        "ApproximateCreationDateTime": int(world.clock.service_time()),
        "Keys": {"id": {"S": "o0"}},
        "NewImage": {"id": {"S": "o0"}, "v": {"N": "1"}},
        "SequenceNumber": content["SequenceNumber"],
        "SizeBytes": 11,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    ((arn, request_id),) = world.functions.requests
    assert arn == FUNCTION
    assert len(request_id) == 36


# --- where it begins ----------------------------------------------------------------------------------


def test_trim_horizon_begins_with_the_oldest_record_that_can_be_read() -> None:
    world = Deliveries()
    world.write(1)
    world.clock.advance(DAY / 2)
    world.write(2)
    world.clock.advance(DAY / 2 + 1)
    world.write(3)
    world.map()
    world.deliver()
    assert world.taken() == [[2, 3]]


def test_latest_begins_with_what_is_written_after_the_creation() -> None:
    world = Deliveries()
    world.write(1)
    world.map(starting_position="LATEST")
    world.write(2)
    world.begin()
    world.deliver()
    assert world.taken() == [[2]]


def test_latest_takes_no_records_of_shards_that_ended_before() -> None:
    world = Deliveries()
    world.write(1)
    pass_time(world, 4 * 3600)
    world.write(2)
    world.map(starting_position="LATEST")
    world.write(3)
    world.deliver()
    assert world.taken() == [[3]]


def test_records_of_a_day_ago_are_skipped() -> None:
    world = Deliveries()
    mapping = world.map()
    mapping = world.change(mapping, is_enabled=False)
    world.write(1)
    world.clock.advance(DAY + 1)
    world.write(2)
    world.change(mapping, is_enabled=True)
    world.deliver()
    assert world.taken() == [[2]]


# --- batches ------------------------------------------------------------------------------------------


def test_batches_have_at_most_their_size() -> None:
    world = Deliveries()
    world.map(batch_size=4)
    world.write(*range(10))
    world.deliver()
    assert world.taken() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_batch_may_have_ten_thousand_records() -> None:
    world = Deliveries()
    world.map(batch_size=10_000)
    world.write(*range(2_500))
    world.deliver()
    assert world.taken() == [list(range(2_500))]


def test_a_batch_is_no_longer_than_a_payload_may_be() -> None:
    world = Deliveries()
    world.map()
    payloads: list[int] = []
    invoke = world.functions.invoke

    async def measured(arn: str, payload: bytes, request_id: str) -> object:
        payloads.append(len(payload))
        return await invoke(arn, payload, request_id)

    world.functions.invoke = measured  # type: ignore[assignment,method-assign]
    world.begin()
    for value in range(11):
        world.write(value, pad={"S": "x" * 380_000})
    world.deliver()
    taken = world.taken()
    assert [value for batch in taken for value in batch] == list(range(11))
    assert len(taken) == 2
    assert max(payloads) <= INVOCATION_PAYLOAD_BYTES_MAX
    assert min(payloads[:-1]) > INVOCATION_PAYLOAD_BYTES_MAX - 800_000, "each is as full as it can be"


def test_a_record_that_no_payload_can_hold_is_given_up() -> None:
    """The JSON of numbers like 1E-130 is far longer than their size as the service counts it."""
    world = Deliveries()
    mapping = world.map(destination_arn="arn:aws:sqs:us-east-1:000000000000:failed")
    numbers = {"L": [{"N": f"{number}E-130"} for number in range(1, 25_000)]}
    world.write(1, numbers=numbers)
    world.write(2, numbers=numbers)
    world.write(3)
    world.deliver()
    (failed,) = world.destinations.failed
    assert failed.document["DDBStreamBatchInfo"]["batchSize"] == 1
    context = failed.document["requestContext"]
    assert (context["approximateInvokeCount"], context["condition"]) == (0, "RetryAttemptsExhausted")
    assert "responseContext" not in failed.document
    assert world.taken()[-1] == [3]
    assert world.result(mapping) == "OK"


def test_a_batching_window_waits_for_more_records() -> None:
    world = Deliveries()
    world.map(batching_window_seconds=10, batch_size=5)
    assert world.deliver() is None
    world.write(1)
    assert world.deliver() == 10
    world.clock.advance(4)
    world.write(2)
    assert world.deliver() == 6
    assert world.taken() == []
    assert world.pass_time(6) is None
    assert world.taken() == [[1, 2]]
    world.clock.advance(100)
    world.write(3)
    assert world.deliver() == 10, "the next window begins with the next record"
    world.write(4, 5, 6, 7)
    assert world.deliver() is None
    assert world.taken() == [[3, 4, 5, 6, 7]]


def test_a_window_does_not_wait_at_the_end_of_a_shard() -> None:
    world = Deliveries()
    world.map(batching_window_seconds=300)
    world.write(1)
    world.deliver()
    pass_time(world, 4 * 3600)
    world.write(2)
    assert world.deliver() == 300
    assert world.taken() == [[1]]


# --- filters ------------------------------------------------------------------------------------------


def test_records_that_do_not_match_are_passed_over() -> None:
    world = Deliveries()
    mapping = world.map(filters=(INSERTS,), batch_size=2)
    world.write(1, 2, key=1)
    world.write(3, key=2)
    world.write(4, 5, key=3)
    world.deliver()
    assert world.taken() == [[1, 3], [4]]
    world.write(6, key=3)
    world.deliver()
    world.change(mapping, filters=())
    world.deliver()
    assert world.taken() == [], "what was passed over is not looked at again"


def test_positions_are_stored_though_no_record_matches() -> None:
    world = Deliveries()
    world.map(filters=(INSERTS,))
    world.write(*range(TRIGGER_PASSED_RECORDS_MAX // 2))
    world.deliver()
    (first,) = world.checkpoints().values()
    world.taken()
    world.write(*range(TRIGGER_PASSED_RECORDS_MAX))
    world.deliver()
    assert world.taken() == []
    (second,) = world.checkpoints().values()
    assert second["next"] > first["next"]


def test_invalid_filters_deliver_nothing_and_say_so() -> None:
    world = Deliveries()
    mapping = world.map(filters=("{",))
    world.write(1)
    assert world.deliver() is None
    assert world.taken() == []
    assert world.result(mapping) == messages.FILTERS_INVALID
    world.change(mapping, filters=())
    world.deliver()
    assert world.taken() == [[1]]


# --- several mappings, and none -----------------------------------------------------------------------


def test_several_functions_read_one_stream_independently() -> None:
    world = Deliveries()
    world.functions.answer_of["bad"] = fail
    good, bad = world.map(), world.map(function_arn="bad")
    for value in range(3):
        world.write(value)
        world.deliver()
    results = [
        [one["dynamodb"]["NewImage"]["v"]["N"] for one in event["Records"]]
        for (arn, _), event in zip(world.functions.requests, world.functions.events, strict=True)
        if arn == FUNCTION
    ]
    assert results == [["0"], ["1"], ["2"]]
    assert (world.result(good), world.result(bad)) == (messages.OK, messages.FUNCTION_CALL_FAILED)


def test_mappings_are_no_readers_of_the_stream() -> None:
    world = Deliveries()
    for _ in range(5):
        world.map()
    world.write(1)
    world.deliver()
    for _ in range(3):
        iterator = world.request(
            "GetShardIterator",
            StreamArn=world.arn,
            ShardId=shards(world, world.arn)[0]["ShardId"],
            ShardIteratorType="TRIM_HORIZON",
        )["ShardIterator"]
        assert len(world.request("GetRecords", ShardIterator=iterator)["Records"]) == 1
    assert world.taken() == [[1]] * 5


def test_an_ended_stream_is_read_to_its_end() -> None:
    world = Deliveries()
    mapping = world.map(batch_size=1)
    world.write(1, 2)
    switch_off(world)
    world.write(3)
    assert world.deliver() is None
    assert world.taken() == [[1], [2]]
    assert world.result(mapping) == messages.STREAM_ENDED


def test_mappings_of_a_deleted_table_do_not_hear_of_the_next_one() -> None:
    world = Deliveries()
    old = world.map()
    world.write(1)
    world.deliver()
    world.ask("DeleteTable")
    world.clock.advance(1)
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    world.ask(
        "CreateTable",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification=stream,
    )
    world.taken()
    world.write(2)
    world.deliver()
    assert world.taken() == []
    assert world.result(old) == messages.STREAM_ENDED
    arn = world.ask("DescribeTable", TableName=TABLE)["Table"]["LatestStreamArn"]
    world.map(stream_arn=arn)
    world.deliver()
    assert world.taken() == [[2]]


def test_a_stream_that_is_gone_is_reported() -> None:
    world = Deliveries()
    mapping = world.map()
    other = world.map(stream_arn="arn:aws:sqs:us-east-1:000000000000:queue")
    world.write(1)
    world.deliver()
    assert len(world.checkpoints()) == 1
    switch_off(world)
    pass_time(world, DAY + 1)
    world.begin()
    world.deliver()
    assert world.checkpoints() == {}
    assert world.result(mapping) == world.result(other) == messages.STREAM_MISSING


def test_checkpoints_of_deleted_shards_go_too() -> None:
    world = Deliveries()
    world.map()
    for value in range(10):
        world.write(value)
        world.deliver()
        pass_time(world, 4 * 3600)
    world.deliver()
    assert len(world.checkpoints()) <= 7
    assert [one for batch in world.taken() for one in batch] == list(range(10))


def test_payloads_are_json_of_nothing_but_the_event() -> None:
    world = Deliveries()
    world.map()
    world.write(1, text={"S": 'é"\\\n'})
    world.deliver()
    assert "é" in json.dumps(world.functions.events, ensure_ascii=False)
