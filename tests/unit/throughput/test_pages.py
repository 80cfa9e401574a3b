"""Pages and partitions: a Scan uses the units of every partition that it reads, a segment or a Query those of its
own, and each is throttled by them.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.throughput.admin import buckets_of

SERVED = 3_000
"""Read units that a partition has at once."""
ONCE = Config(retries={"total_max_attempts": 1})


@pytest.fixture
def database() -> Iterator[Database]:
    """A database with a table of two partitions, and 200 items of 3 KB in 100 collections."""
    with server(Settings(data_dir=None, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client()
        client.create_table(
            TableName="music",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
            ],
            ProvisionedThroughput={"ReadCapacityUnits": 5_000, "WriteCapacityUnits": 1},
        )
        for number in range(200):
            item = {"pk": {"S": f"{number % 100}"}, "sk": {"N": str(number)}, "text": {"S": "x" * 1_000}}
            client.put_item(TableName="music", Item=item)
        yield database


def used(database: Database) -> list[float]:
    """Read units that each partition has given."""
    partitions: dict[str, float] = buckets_of(database, "music")["table"]["reads"]["partitions"]
    return [SERVED - left for left in partitions.values()]


def scan(database: Database, **members: Any) -> float:
    reply = database.client().scan(TableName="music", ConsistentRead=True, ReturnConsumedCapacity="TOTAL", **members)
    units: float = reply["ConsumedCapacity"]["CapacityUnits"]
    return units


def test_a_scan_uses_units_of_all_partitions(database: Database) -> None:
    units = scan(database)
    one, other = used(database)
    assert one + other == pytest.approx(units, rel=0.05)
    assert one == pytest.approx(other, rel=0.2)


def test_a_segment_and_a_query_use_those_of_their_partition(database: Database) -> None:
    units = scan(database, Segment=0, TotalSegments=2)
    assert used(database) == pytest.approx([units, 0])
    units = scan(database, Segment=1, TotalSegments=2)
    assert used(database)[1] == pytest.approx(units)
    before = used(database)
    reply = database.client().query(
        TableName="music",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "7"}},
        ScanIndexForward=False,
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    more = [after - now for after, now in zip(used(database), before, strict=True)]
    assert sorted(more) == pytest.approx([0, reply["ConsumedCapacity"]["CapacityUnits"]])


def test_a_segment_is_throttled_by_its_partition_alone(database: Database) -> None:
    client = database.client(config=ONCE)
    segment = {"TableName": "music", "ConsistentRead": True, "TotalSegments": 2}
    reply: Any = None
    for _ in range(SERVED):
        try:
            client.scan(**segment, Segment=0)
        except ClientError as error:
            reply = error.response
            break
    assert reply["ThrottlingReasons"][0]["reason"] == "TableReadKeyRangeThroughputExceeded"
    client.scan(**segment, Segment=1)


def test_a_page_of_many_small_items_uses_no_more_of_its_partition(database: Database) -> None:
    client = database.client()
    for number in range(400):
        database.clock.advance(1)
        client.put_item(TableName="music", Item={"pk": {"S": "many"}, "sk": {"N": str(number)}})
    before = used(database)
    reply = client.query(
        TableName="music",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "many"}},
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    assert reply["Count"] == 400
    more = [after - now for after, now in zip(used(database), before, strict=True)]
    assert sorted(more) == pytest.approx([0, reply["ConsumedCapacity"]["CapacityUnits"]])


def test_a_statement_of_several_partition_keys_uses_of_partitions_what_it_reports(database: Database) -> None:
    statement = "SELECT * FROM music WHERE pk IN ['1', '2', '3', '4', 'none']"
    reply = database.client().execute_statement(
        Statement=statement, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
    )
    assert reply["ConsumedCapacity"]["CapacityUnits"] == 5
    assert sum(used(database)) == pytest.approx(5)
