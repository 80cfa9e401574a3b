"""DescribeStream: its description of a stream and its shards, also when the stream has ended."""

from typing import Any

import pytest

from tests.conformance.streams import STREAMS, StreamTable, answer, ask_stream, make_stream_table
from tests.conformance.tables import fault, validation
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def shared(raw: RawClient) -> StreamTable:
    return make_stream_table(raw, "KEYS_ONLY")


def switch(table: StreamTable, view_type: str | None) -> Any:
    stream = {"StreamEnabled": view_type is not None}
    if view_type is not None:
        stream |= {"StreamViewType": view_type}  # type: ignore[dict-item]
    return answer(table.raw, "UpdateTable", {"TableName": table.name, "StreamSpecification": stream})


def test_all_members(shared: StreamTable) -> None:
    described = shared.described()
    shards = described.pop("Shards")
    assert isinstance(described.pop("CreationRequestDateTime"), float | int)
    assert described == {
        "StreamArn": shared.arn,
        "StreamLabel": shared.arn.rpartition("/")[2],
        "StreamStatus": "ENABLED",
        "StreamViewType": "KEYS_ONLY",
        "TableName": shared.name,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }
    for shard in shards:
        assert shard.keys() == {"ShardId", "SequenceNumberRange"}
        assert shard["SequenceNumberRange"].keys() == {"StartingSequenceNumber"}
        assert 28 <= len(shard["ShardId"]) <= 65
        assert 21 <= len(shard["SequenceNumberRange"]["StartingSequenceNumber"]) <= 40


def test_shards_in_pages(shared: StreamTable) -> None:
    all_ids = shared.shard_ids()
    found: list[str] = []
    start: dict[str, str] = {}
    while True:
        page = shared.described(Limit=1, **start)
        found += [one["ShardId"] for one in page["Shards"]]
        if "LastEvaluatedShardId" not in page:
            break
        start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
    assert found == all_ids


def test_switched_off_it_is_described_and_read_and_all_its_shards_have_an_end(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("a")
    switch(table, None)
    described = table.described()
    assert described["StreamStatus"] == "DISABLED"
    assert all("EndingSequenceNumber" in one["SequenceNumberRange"] for one in described["Shards"])
    table.put("b")
    assert [one["dynamodb"]["Keys"] for one in table.records()] == [{"id": {"S": "a"}}]


def test_switched_on_again_it_is_another_one(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("old")
    switch(table, None)
    arn = switch(table, "KEYS_ONLY")["TableDescription"]["LatestStreamArn"]
    assert arn != table.arn
    table.put("new")
    again = table._replace(arn=arn)
    assert [one["dynamodb"]["Keys"]["id"]["S"] for one in again.records()] == ["new"]
    assert [one["dynamodb"]["Keys"]["id"]["S"] for one in table.records()] == ["old"]
    assert again.described()["StreamViewType"] == "KEYS_ONLY"
    listed = ask_stream(raw, "ListStreams", TableName=table.name)["Streams"]
    assert [one["StreamArn"] for one in listed] == [arn, table.arn]  # the newest first


def test_it_outlives_its_table_and_one_of_the_same_name_has_another(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("a")
    answer(raw, "DeleteTable", {"TableName": table.name})
    assert table.described()["StreamStatus"] == "DISABLED"
    assert len(table.records()) == 1
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    schema = {"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]}
    keys = {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}
    made = answer(raw, "CreateTable", {"TableName": table.name, "StreamSpecification": stream} | schema | keys)
    assert made["TableDescription"]["LatestStreamArn"] != table.arn
    assert len(table.records()) == 1


def test_children_of_a_shard_that_has_none(shared: StreamTable) -> None:
    shard_filter = {"Type": "CHILD_SHARDS", "ShardId": shared.shard_ids()[0]}
    assert shared.described(ShardFilter=shard_filter)["Shards"] == []


ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/{name}/stream/2026-10-01T12:00:00.123"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, "'streamArn' failed to satisfy constraint: Member must not be null"),
        ({"StreamArn": "short"}, "Member must have length greater than or equal to 37"),
        ({"StreamArn": "x" * 40}, f"Invalid StreamArn: {'x' * 40}"),
        ({"StreamArn": ARN, "Limit": 0}, "'limit' failed to satisfy constraint: Member must have value greater than"),
        ({"StreamArn": ARN, "Limit": 101}, "'limit' failed to satisfy constraint: Member must have value less than"),
        ({"StreamArn": ARN, "ExclusiveStartShardId": "x"}, "'exclusiveStartShardId' failed"),
        ({"StreamArn": ARN, "ShardFilter": {}}, "'shardFilter.type' failed"),
        ({"StreamArn": ARN, "ShardFilter": {"Type": "CHILD_SHARDS"}}, "'shardFilter.shardId' failed"),
        ({"StreamArn": ARN, "ShardFilter": {"Type": "X", "ShardId": "x" * 30}}, "'shardFilter.type' failed"),
    ],
)
def test_faults(raw: RawClient, request_: dict[str, Any], expected: str) -> None:
    assert expected in str(validation(raw, STREAMS + "DescribeStream", request_))


def test_a_stream_that_is_not_there(raw: RawClient, shared: StreamTable) -> None:
    for arn in (
        ARN.format(name="nowhere"),
        ARN.format(name=shared.name),
        shared.arn.replace("us-east-1", "eu-west-1"),
        shared.arn.replace("000000000000", "111111111111"),
    ):
        assert fault(raw, STREAMS + "DescribeStream", {"StreamArn": arn}) == (
            "ResourceNotFoundException",
            f"Requested resource not found: Stream: {arn} not found",
        )
