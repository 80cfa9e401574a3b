"""GetShardIterator: the iterator types, and the members that each type needs."""

from typing import Any

import pytest

from tests.conformance.streams import STREAMS, StreamTable, make_stream_table
from tests.conformance.tables import fault, validation
from tests.support.raw_client import RawClient

COUNT = 6
IMPOSSIBLE = "Invalid SequenceNumber for the shard"


@pytest.fixture(scope="module")
def filled(raw: RawClient) -> StreamTable:
    """One item written several times, so that one shard has that many records."""
    table = make_stream_table(raw)
    for number in range(COUNT):
        table.put("item", v={"N": str(number)})
    return table


@pytest.fixture(scope="module")
def shard(filled: StreamTable) -> str:
    (found,) = [one for one in filled.shard_ids() if filled.read(filled.iterator(one))]
    return found


def values(records: list[dict[str, Any]]) -> list[int]:
    return [int(one["dynamodb"]["NewImage"]["v"]["N"]) for one in records]


def numbers(filled: StreamTable) -> list[str]:
    return [one["dynamodb"]["SequenceNumber"] for one in filled.records()]


def test_from_the_oldest(filled: StreamTable, shard: str) -> None:
    assert values(filled.read(filled.iterator(shard))) == list(range(COUNT))


def test_at_and_after_each_record(filled: StreamTable, shard: str) -> None:
    for place, number in enumerate(numbers(filled)):
        at = filled.iterator(shard, "AT_SEQUENCE_NUMBER", SequenceNumber=number)
        after = filled.iterator(shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
        assert values(filled.read(at)) == list(range(place, COUNT))
        assert values(filled.read(after)) == list(range(place + 1, COUNT))


def test_at_the_start_of_the_shard(filled: StreamTable, shard: str) -> None:
    first = next(one for one in filled.described()["Shards"] if one["ShardId"] == shard)["SequenceNumberRange"]
    at = filled.iterator(shard, "AT_SEQUENCE_NUMBER", SequenceNumber=first["StartingSequenceNumber"])
    assert values(filled.read(at)) == list(range(COUNT))


def test_the_latest_is_behind_all_that_there_is(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("before")
    iterators = [table.iterator(one, "LATEST") for one in table.shard_ids()]
    assert [table.read(one) for one in iterators] == [[], [], [], []]
    table.put("after")
    found = [record for one in iterators for record in table.read(one)]
    assert [one["dynamodb"]["Keys"] for one in found] == [{"id": {"S": "after"}}]


def test_from_a_time_long_ago(filled: StreamTable, shard: str) -> None:
    assert values(filled.read(filled.iterator(shard, "AT_TIMESTAMP", Timestamp=0))) == list(range(COUNT))


def test_what_a_type_asks_for(filled: StreamTable, shard: str) -> None:
    def refusal(**members: Any) -> str:
        request = {"StreamArn": filled.arn, "ShardId": shard} | members
        return str(validation(filled.raw, STREAMS + "GetShardIterator", request))

    number = numbers(filled)[0]
    invalid = "One or more parameter values were invalid: "
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        assert refusal(ShardIteratorType=kind) == f"{invalid}SequenceNumber cannot be null"
    assert "Timestamp must be specified" in refusal(ShardIteratorType="AT_TIMESTAMP")
    for kind in ("TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"):
        superfluous = f"{invalid}SequenceNumber should not be passed for this iterator type"
        assert refusal(ShardIteratorType=kind, SequenceNumber=number) == superfluous
    for kind in ("TRIM_HORIZON", "LATEST"):
        assert "Timestamp cannot be" in refusal(ShardIteratorType=kind, Timestamp=1)
    assert "Timestamp cannot be" in refusal(ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=number, Timestamp=1)
    assert "in the future" in refusal(ShardIteratorType="AT_TIMESTAMP", Timestamp=2 * 10**9)
    for wrong in ("x" * 25, "-" + "1" * 24, "\u0661" * 25, "1" * 24 + "."):
        assert refusal(ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=wrong) == IMPOSSIBLE
    assert "'sequenceNumber' failed" in refusal(ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber="1")
    assert (
        "Member must satisfy enum value set: [AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER,"
        " TRIM_HORIZON, LATEST, AT_TIMESTAMP]"
    ) in refusal(ShardIteratorType="NEWEST")


def test_numbers_of_a_day_ago_are_trimmed(filled: StreamTable, shard: str) -> None:
    request = {"StreamArn": filled.arn, "ShardId": shard, "ShardIteratorType": "AT_SEQUENCE_NUMBER"}
    old = str(10**22)  # a time in 2001
    assert fault(filled.raw, STREAMS + "GetShardIterator", request | {"SequenceNumber": old}) == (
        "TrimmedDataAccessException",
        "The data you are trying to access has been trimmed",
    )


@pytest.mark.parametrize("kind", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_a_number_ahead_of_everything_is_of_no_shard(filled: StreamTable, shard: str, kind: str) -> None:
    request = {"StreamArn": filled.arn, "ShardId": shard, "ShardIteratorType": kind}
    last = int(numbers(filled)[-1])
    for ahead in (last + 10**17, last + 10**20, int("9" * 23), int("9" * 40)):
        refused = validation(filled.raw, STREAMS + "GetShardIterator", request | {"SequenceNumber": str(ahead)})
        assert refused == IMPOSSIBLE, ahead
    assert values(filled.read(filled.iterator(shard, kind, SequenceNumber=str(last)))) == [COUNT - 1][: kind[1] == "T"]


def test_a_shard_or_stream_that_is_not_there(filled: StreamTable) -> None:
    request = {"StreamArn": filled.arn, "ShardId": "shardId-00000001414562045508-2bac9cd2"}
    kind = {"ShardIteratorType": "LATEST"}
    code, message = fault(filled.raw, STREAMS + "GetShardIterator", request | kind)
    assert (code, str(message)[:36]) == ("ResourceNotFoundException", "Requested resource not found: Shard:")
    request["StreamArn"] = filled.arn + "0"
    code, message = fault(filled.raw, STREAMS + "GetShardIterator", request | kind)
    assert (code, str(message)[:37]) == ("ResourceNotFoundException", "Requested resource not found: Stream:")
