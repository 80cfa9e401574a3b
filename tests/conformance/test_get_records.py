"""GetRecords: pages, limits, and invalid iterators; for the contents of records see `test_stream_records.py`."""

import random
from typing import Any

import pytest

from tests.conformance.streams import STREAMS, ask_stream, make_stream_table, pages
from tests.conformance.tables import fault, validation
from tests.support.raw_client import RawClient


def test_an_iterator_can_be_used_again_and_goes_on_where_it_ends(raw: RawClient) -> None:
    table = make_stream_table(raw)
    iterators = [table.iterator(one) for one in table.shard_ids()]
    replies = [ask_stream(raw, "GetRecords", ShardIterator=one) for one in iterators]
    assert all(one["Records"] == [] and one["NextShardIterator"] for one in replies)
    for number in range(20):
        table.put(f"key-{number}")
    for reply, iterator in zip(replies, iterators, strict=True):
        records = table.read(reply["NextShardIterator"])
        assert records == table.read(iterator) == table.read(iterator)
    assert sum(len(table.read(one)) for one in iterators) == 20


def test_pages_of_few_records_give_each_once_and_in_order(raw: RawClient) -> None:
    table = make_stream_table(raw)
    for number in range(7):
        table.put("one", v={"N": str(number)})
    (shard,) = [one for one in table.shard_ids() if table.read(table.iterator(one))]
    found = list(pages(raw, table.iterator(shard), Limit=2))
    assert [len(page) for page in found] == [2, 2, 2, 1]
    assert [one["dynamodb"]["NewImage"]["v"]["N"] for page in found for one in page] == list("0123456")


def test_a_page_holds_1_mb_and_one_record_at_least(raw: RawClient) -> None:
    table = make_stream_table(raw)
    for number in range(5):
        table.put("large", v={"S": "x" * 390_000}, n={"N": str(number)})
    (shard,) = [
        one for one in table.shard_ids() if ask_stream(raw, "GetRecords", ShardIterator=table.iterator(one))["Records"]
    ]
    found = list(pages(raw, table.iterator(shard)))
    assert [len(page) for page in found] == [1, 1, 1, 1, 1] or [len(page) for page in found] == [2, 1, 1, 1]
    assert [one["dynamodb"]["NewImage"]["n"]["N"] for page in found for one in page] == list("01234")


def test_a_closed_shard_ends(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("a")
    raw("UpdateTable", {"TableName": table.name, "StreamSpecification": {"StreamEnabled": False}})
    count = 0
    for shard in table.shard_ids():
        reply = ask_stream(raw, "GetRecords", ShardIterator=table.iterator(shard))
        assert "NextShardIterator" not in reply
        count += len(reply["Records"])
    assert count == 1


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_limits(raw: RawClient, limit: int) -> None:
    assert "'limit' failed" in str(validation(raw, STREAMS + "GetRecords", {"ShardIterator": "x", "Limit": limit}))


def test_what_is_no_iterator(raw: RawClient) -> None:
    table = make_stream_table(raw)
    iterator = table.iterator(table.shard_ids()[0])
    chance = random.Random(1)
    texts = [
        "x",
        "|1|",
        iterator[:-1],
        iterator + "A",
        iterator.replace("|1|", "|2|"),
        "x" + iterator,
        iterator.upper(),
    ]
    for _ in range(200):
        place = chance.randrange(len(iterator))
        texts.append(iterator[:place] + chance.choice("aZ0=/|é ") + iterator[place + 1 :])
    for text in texts:
        if text != iterator:
            assert validation(raw, STREAMS + "GetRecords", {"ShardIterator": text}) == "Invalid ShardIterator", text
    assert "'shardIterator' failed" in str(validation(raw, STREAMS + "GetRecords", {"ShardIterator": ""}))
    assert "'shardIterator' failed" in str(validation(raw, STREAMS + "GetRecords", {}))


def test_wrong_types(raw: RawClient) -> None:
    bodies: list[dict[str, Any]] = [
        {"ShardIterator": 5},
        {"ShardIterator": "x", "Limit": "many"},
        {"ShardIterator": ["x"]},
    ]
    for body in bodies:
        assert fault(raw, STREAMS + "GetRecords", body)[0] == "SerializationException"
