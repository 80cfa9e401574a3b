"""The documents that Kinesis gets: to the byte like those that users of the service have published."""

import base64
import json
import re
from typing import Any

import msgspec
import pytest

from hashrange.items.row_layout import is_packed
from hashrange.items.types import Row
from hashrange.tables.kinesis_destinations import FeedTarget
from hashrange.tables.schema import KeySchema, TimePrecision
from hashrange.tables.stream_records import RecordParts, decode_record
from hashrange.tables.streams import ALL_IMAGES, SEQUENCE_COUNTER_BITS, Stream
from hashrange.triggers.kinesis.change_records import change_json, change_template, creation_time, partition_key_of
from hashrange.triggers.kinesis.client import OutgoingRecord, encode_put
from tests.unit.triggers.kinesis_world import KinesisWorld, in_world

MILLISECONDS = 1_721_011_165_891
FEED = Stream(
    1, 1, "000000000000", "us-east-2", "flight", "kinesis/1", KeySchema(("id",), ("S",)), "NEW_AND_OLD_IMAGES", 0.0
)
PARTS = RecordParts(
    "MODIFY", False, 69, b'{"id":{"S":"3"}}', b',"NewImage":{"id":{"S":"3"}},"OldImage":{"id":{"S":"3"},"a":{"S":"x"}}'
)


def document(
    precision: TimePrecision | None = None, parts: RecordParts = PARTS, counter: int = 550, feed: Stream = FEED
) -> str:
    template = change_template(feed, FeedTarget("arn", precision, is_found=True))
    return change_json(template, (MILLISECONDS << SEQUENCE_COUNTER_BITS) + counter, parts).decode()


def test_a_document_has_the_service_s_members_in_its_order() -> None:
    found = document()
    event_id = json.loads(found)["eventID"]
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", event_id)
    assert found == (
        f'{{"awsRegion":"us-east-2","eventID":"{event_id}","eventName":"MODIFY","userIdentity":null,'
        '"recordFormat":"application/json","tableName":"flight",'
        '"dynamodb":{"ApproximateCreationDateTime":1721011165891,"Keys":{"id":{"S":"3"}},"NewImage":{"id":{"S":"3"}},'
        '"OldImage":{"id":{"S":"3"},"a":{"S":"x"}},"SizeBytes":69},"eventSource":"aws:dynamodb"}'
    )


@pytest.mark.parametrize(
    ("precision", "expected"), [("MICROSECOND", 1_721_011_165_891_550), ("MILLISECOND", 1_721_011_165_891)]
)
def test_a_precision_is_told(precision: TimePrecision, expected: int) -> None:
    content = json.loads(document(precision))["dynamodb"]
    assert content["ApproximateCreationDateTime"] == expected
    assert list(content)[-2:] == ["SizeBytes", "ApproximateCreationDateTimePrecision"]
    assert content["ApproximateCreationDateTimePrecision"] == precision


def test_microseconds_never_leave_their_millisecond() -> None:
    first = MILLISECONDS << SEQUENCE_COUNTER_BITS
    times = [creation_time(first + counter, "MICROSECOND") for counter in (0, 1, 999, 1000, 2**32 - 1, 2**32)]
    assert [one - MILLISECONDS * 1000 for one in times] == [0, 1, 999, 999, 999, 1000]


def test_deletions_by_time_to_live_name_the_service() -> None:
    found = json.loads(document(parts=PARTS._replace(is_by_time_to_live=True)))
    assert found["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_an_event_id_belongs_to_one_change() -> None:
    other = msgspec.structs.replace(FEED, label="kinesis/2")
    found = [document(), document("MICROSECOND"), document(counter=551), document(feed=other)]
    first, again, *others = [json.loads(one)["eventID"] for one in found]
    assert first == again
    assert len({first, *others}) == 3


def test_all_changes_of_an_item_have_its_partition_key() -> None:
    one, other = [partition_key_of(b'{"id":{"S":"%b"}}' % name) for name in (b"a", b"b")]
    assert re.fullmatch("[0-9A-F]{32}", one)
    assert one == partition_key_of(b'{"id":{"S":"a"}}') != other


def test_the_body_of_a_request() -> None:
    data_stream = "arn:aws:kinesis:us-east-1:1:stream/a"
    records = [OutgoingRecord(1, "k1", b"\x00first"), OutgoingRecord(2, "k2", b"")]
    assert json.loads(encode_put(data_stream, records)) == {
        "StreamName": "a",
        "StreamARN": "arn:aws:kinesis:us-east-1:1:stream/a",
        "Records": [
            {"Data": base64.b64encode(b"\x00first").decode(), "PartitionKey": "k1"},
            {"Data": "", "PartitionKey": "k2"},
        ],
    }
    assert encode_put(data_stream, [records[1]]).decode() == (
        '{"StreamName":"a","StreamARN":"arn:aws:kinesis:us-east-1:1:stream/a","Records":[{"Data":"",'
        '"PartitionKey":"k2"}]}'
    )


def test_documents_of_real_changes() -> None:
    """An insertion, an update and a deletion; numbers, sets, nested and binary values, and keys that need escapes."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        key = {"id": {"S": 'quote " and \u00fc\n'}}
        item = key | {
            "n": {"N": "1.50"},
            "ns": {"NS": ["2", "1"]},
            "b": {"B": "AAE="},
            "m": {"M": {"l": {"L": [{"BOOL": True}, {"NULL": True}]}}},
        }
        world.ask("PutItem", Item=item)
        world.ask("UpdateItem", Key=key, UpdateExpression="REMOVE m, ns")
        world.ask("DeleteItem", Key=key)
        await world.deliver_all()
        inserted, modified, removed = world.kinesis.changes()
        names = [one["eventName"] for one in (inserted, modified, removed)]
        assert names == ["INSERT", "MODIFY", "REMOVE"]
        first = inserted["dynamodb"]["NewImage"]
        assert first == item | {"n": {"N": "1.5"}, "ns": {"NS": ["2", "1"]}}
        second: Any = {name: first[name] for name in ("id", "n", "b")}
        assert modified["dynamodb"]["OldImage"] == first
        assert modified["dynamodb"]["NewImage"] == removed["dynamodb"]["OldImage"] == second
        assert "OldImage" not in inserted["dynamodb"]
        assert "NewImage" not in removed["dynamodb"]
        assert {json.dumps(one["dynamodb"]["Keys"]) for one in (inserted, modified, removed)} == {json.dumps(key)}
        sizes = [one["dynamodb"]["SizeBytes"] for one in (inserted, modified, removed)]
        assert sizes[1] == sizes[0] + sizes[2] - (len(key["id"]["S"].encode()) + 2)
        assert len({one.partition_key for one in world.kinesis.records["changes"]}) == 1

    in_world(test)


def test_packed_images_are_unpacked() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        numbers = {"L": [{"N": "1E-130"}] * 2_000}
        world.ask("PutItem", Item={"id": {"S": "many"}, "numbers": numbers})
        (shard,) = world.store.streams.shards(world.store.streams.feeds()[0])
        page = await world.store.streams.records(shard, 0, 10, 2**20)
        stored = decode_record(page.records[0][1], ALL_IMAGES, ("id",))
        assert is_packed(Row(stored.new or b""))
        await world.deliver_all()
        (change,) = world.kinesis.changes()
        assert change["dynamodb"]["NewImage"]["numbers"]["L"][7] == {"N": "0." + "0" * 129 + "1"}

    in_world(test)
