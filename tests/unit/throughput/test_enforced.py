"""Who uses more than a table has is throttled, with the service's exceptions and reasons;
time gives units back. Through boto3.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import Database, server

ONCE = Config(retries={"total_max_attempts": 1})
INDEX = {
    "IndexName": "by-status",
    "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        yield database


@pytest.fixture
def client(database: Database) -> Any:
    return database.client(config=ONCE)


def provisioned(reads: int, writes: int) -> dict[str, Any]:
    return {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}


def create(client: Any, reads: int = 1, writes: int = 1, index: tuple[int, int] | None = None, **more: Any) -> str:
    attributes = ["pk"] if index is None else ["pk", "status"]
    if index is not None:
        more["GlobalSecondaryIndexes"] = [INDEX | {"ProvisionedThroughput": provisioned(*index)}]
    if "BillingMode" not in more:
        more["ProvisionedThroughput"] = provisioned(reads, writes)
    created = client.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        **more,
    )
    return str(created["TableDescription"]["TableArn"])


def put(client: Any, number: int = 0, **attributes: str) -> Any:
    item = {"pk": {"S": str(number)}, **{name: {"S": value} for name, value in attributes.items()}}
    return client.put_item(TableName="orders", Item=item)


def put_until_throttled(client: Any, most: int = 5_000, **attributes: str) -> tuple[int, dict[str, Any]]:
    """Returns the number of writes that were accepted, and the reply to the first one that was not."""
    for count in range(most):
        try:
            put(client, count, **attributes)
        except ClientError as error:
            return count, error.response
    raise AssertionError("nothing was throttled")


def reasons(response: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = response.get("ThrottlingReasons") or response["throttlingReasons"]
    return found


def test_a_provisioned_table_gives_its_burst_and_then_its_rate(database: Database, client: Any) -> None:
    arn = create(client, writes=1)
    count, response = put_until_throttled(client)
    assert count == 300
    assert response["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert reasons(response) == [{"reason": "TableWriteProvisionedThroughputExceeded", "resource": arn}]
    database.clock.advance(3)
    assert put_until_throttled(client)[0] == 3
    database.clock.advance(3_600)
    assert put_until_throttled(client)[0] == 300


def test_reads_have_units_of_their_own(database: Database, client: Any) -> None:
    create(client, reads=1, writes=1)
    put(client)
    key = {"pk": {"S": "0"}}
    for _ in range(600):  # half a unit each
        client.get_item(TableName="orders", Key=key)
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException) as refused:
        client.get_item(TableName="orders", Key=key)
    assert reasons(refused.value.response)[0]["reason"] == "TableReadProvisionedThroughputExceeded"
    put(client)


def test_a_page_is_admitted_whole_and_paid_afterwards(database: Database, client: Any) -> None:
    create(client, reads=1, writes=1_000)
    for number in range(30):
        put(client, number, text="x" * 40_000)
    used = client.scan(TableName="orders", ConsistentRead=True, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert used["CapacityUnits"] == pytest.approx(256, abs=20)
    client.scan(TableName="orders", ConsistentRead=True)
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        client.scan(TableName="orders", Limit=1)
    shown = database.client(config=ONCE).describe_table(TableName="orders")
    assert shown["Table"]["TableStatus"] == "ACTIVE"


def test_an_index_without_units_holds_up_its_table(database: Database, client: Any) -> None:
    arn = create(client, writes=100, index=(1, 1))
    count, response = put_until_throttled(client, status="new")
    assert count == 300
    assert reasons(response) == [
        {"reason": "IndexWriteProvisionedThroughputExceeded", "resource": f"{arn}/index/by-status"}
    ]
    put(client, 1_000_000)  # an item without an entry
    assert "Item" not in client.get_item(TableName="orders", Key={"pk": {"S": str(count)}})


def test_a_batch_returns_what_is_not_admitted(database: Database, client: Any) -> None:
    create(client, reads=1, writes=1)
    for number in range(290):
        put(client, number)
    puts = [{"PutRequest": {"Item": {"pk": {"S": str(number)}}}} for number in range(25)]
    left = client.batch_write_item(RequestItems={"orders": puts})["UnprocessedItems"]
    assert len(left["orders"]) == 15
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        client.batch_write_item(RequestItems=left)


def test_a_transaction_names_the_action(database: Database, client: Any) -> None:
    create(client, writes=1)
    put_until_throttled(client)
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.transact_write_items(
            TransactItems=[{"Put": {"TableName": "orders", "Item": {"pk": {"S": str(number)}}}} for number in "ab"]
        )
    codes = [one["Code"] for one in cancelled.value.response["CancellationReasons"]]
    assert codes == ["ProvisionedThroughputExceeded", "ProvisionedThroughputExceeded"]


def test_a_hot_key_throttles_although_the_table_has_room(database: Database, client: Any) -> None:
    arn = create(client, writes=10_000)
    for _ in range(1_000):
        put(client)
    with pytest.raises(ClientError) as refused:
        put(client)
    response: Any = refused.value.response
    assert response["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert reasons(response) == [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": arn}]


def test_a_maximum_on_demand_is_a_hard_limit(database: Database, client: Any) -> None:
    arn = create(
        client,
        BillingMode="PAY_PER_REQUEST",
        OnDemandThroughput={"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 5},
    )
    database.clock.advance(1_000)
    count, response = put_until_throttled(client)
    assert count == 5
    assert response["Error"]["Code"] == "ThrottlingException"
    assert reasons(response) == [{"reason": "TableWriteMaxOnDemandThroughputExceeded", "resource": arn}]


def test_a_refused_condition_uses_units_too(database: Database, client: Any) -> None:
    create(client, writes=1)
    for _ in range(300):
        with pytest.raises(client.exceptions.ConditionalCheckFailedException):
            client.put_item(TableName="orders", Item={"pk": {"S": "a"}}, ConditionExpression="attribute_exists(pk)")
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        put(client)


def test_a_table_that_is_changed_keeps_what_its_buckets_hold(database: Database, client: Any) -> None:
    create(client, writes=1)
    put_until_throttled(client)
    client.update_table(TableName="orders", ProvisionedThroughput=provisioned(1, 2))
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        put(client)
    database.clock.advance(10)
    assert put_until_throttled(client)[0] == 20
