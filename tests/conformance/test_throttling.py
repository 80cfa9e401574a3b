"""Who uses more than there is is throttled, with the exceptions and reasons of errors.md 9:
each exception, each limit, every kind of request.

These tests start servers of their own, which enforce throughput and whose time stands still, over both kinds of store.
"""

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.clock import SystemClock
from hashrange.messages import throttling as say
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.support import signing
from tests.support.clocks import VirtualClock
from tests.support.servers import ThreadServer
from tests.support.stores import STORES

PROVISIONED, ON_DEMAND, ACCOUNT = (
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
)
INDEX = {
    "IndexName": "by-status",
    "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
LARGE = "x" * 100_000


class Place:
    """A server whose time moves only by `advance`, and a client that never tries again."""

    def __init__(self, server: ThreadServer, clock: VirtualClock) -> None:
        self._server, self._clock = server, clock
        self.client: Any = boto3.client(
            "dynamodb",
            endpoint_url=server.endpoint,
            region_name=signing.REGION,
            aws_access_key_id=signing.ACCESS_KEY,
            aws_secret_access_key=signing.SECRET_KEY,
            config=Config(retries={"total_max_attempts": 1}),
        )
        self.arn = ""

    def advance(self, seconds: float) -> None:
        self._server.call(self._clock.advance, seconds)

    def create(self, units: tuple[int, int] | None, index: dict[str, Any] | None = None, **more: Any) -> None:
        """Make the table `orders` with these read and write units; None: on demand.
        `index`: of its global index, beyond its keys.
        """
        client, attributes = self.client, ["pk"] if index is None else ["pk", "status"]
        if client.list_tables()["TableNames"]:
            client.delete_table(TableName="orders")
        if index is not None:
            more["GlobalSecondaryIndexes"] = [INDEX | index]
        if units is None:
            more["BillingMode"] = "PAY_PER_REQUEST"
        else:
            more["ProvisionedThroughput"] = of(*units)
        made = client.create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in attributes],
            **more,
        )
        self.arn = made["TableDescription"]["TableArn"]

    def put(self, key: str = "a", **attributes: str) -> None:
        item = {"pk": {"S": key}} | {name: {"S": value} for name, value in attributes.items()}
        self.client.put_item(TableName="orders", Item=item)

    def get(self, key: str = "a") -> dict[str, Any]:
        got: dict[str, Any] = self.client.get_item(TableName="orders", Key={"pk": {"S": key}}, ConsistentRead=True)
        return got

    def statement(self, text: str) -> dict[str, Any]:
        done: dict[str, Any] = self.client.execute_statement(Statement=text, ConsistentRead=text.startswith("SELECT"))
        return done

    def use_up_writes(self) -> None:
        """Use up the write units of a table that has one a second, and 92 more, by an item of 98 units."""
        assert self.until_refused(lambda: self.put("used", text=LARGE))[0] == 4

    def propagate(self) -> None:
        """Return once every write is in the global indexes."""
        self._server.propagate()

    def until_refused(self, request: Callable[[], object], most: int = 2_000) -> tuple[int, ClientError]:
        """Repeat a request; returns how often it was admitted, and the error of the first one that was not."""
        for count in range(most):
            try:
                request()
            except ClientError as error:
                return count, error
        raise AssertionError("nothing was throttled")

    def requires(self, error: ClientError, code: str, reason: str, index: str | None = None) -> None:
        """Check an error's code, reason and resource."""
        response: Any = error.response
        member = "throttlingReasons" if code == ON_DEMAND else "ThrottlingReasons"
        resource = self.arn if index is None else f"{self.arn}/index/{index}"
        assert response["Error"]["Code"] == code
        assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
        assert response[member] == [{"reason": reason, "resource": resource}]


@pytest.fixture(scope="module", params=list(STORES))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.config.getoption("--endpoint", default=None) is not None:
        pytest.skip("another server's capacity takes too long to use up")
    clock, settings = VirtualClock(SystemClock().wall_time()), Settings(data_dir=None, port=0, throughput="enforced")
    server = ThreadServer(STORES[request.param], ALL_OPERATIONS, clock, settings)
    server.call(server.service.features.put_in_front)
    made = Place(server, clock)
    yield made
    made.client.close()
    server.stop()


def of(reads: int, writes: int) -> dict[str, int]:
    return {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}


def codes(error: ClientError) -> list[str]:
    response: Any = error.response
    return [one["Code"] for one in response["CancellationReasons"]]


# --- provisioned ----------------------------------------------------------------------------------


def test_the_301st_write_of_a_table_with_one_unit(place: Place) -> None:
    place.create((1, 1))
    count, error = place.until_refused(place.put)
    assert count == 300
    place.requires(error, PROVISIONED, "TableWriteProvisionedThroughputExceeded")
    assert error.response["Error"]["Message"] == say.TABLE_PROVISIONED
    place.get()
    place.advance(2)
    assert place.until_refused(place.put)[0] == 2


@pytest.mark.parametrize("kind", ["delete", "update", "INSERT", "DELETE"])
def test_every_kind_of_write(place: Place, kind: str) -> None:
    place.create((1, 1))
    place.use_up_writes()
    key = {"pk": {"S": "b"}}
    writes: dict[str, Callable[[], object]] = {
        "delete": lambda: place.client.delete_item(TableName="orders", Key=key),
        "update": lambda: place.client.update_item(TableName="orders", Key=key),
        "INSERT": lambda: place.statement("INSERT INTO orders VALUE {'pk': 'b'}"),
        "DELETE": lambda: place.statement("DELETE FROM orders WHERE pk = 'b'"),
    }
    count, error = place.until_refused(writes[kind])
    assert count == 0
    place.requires(error, PROVISIONED, "TableWriteProvisionedThroughputExceeded")


@pytest.mark.parametrize("kind", ["get", "query", "scan", "SELECT one", "SELECT all"])
def test_every_kind_of_read(place: Place, kind: str) -> None:
    place.create((1, 100))
    place.put("a", text=LARGE)
    query = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "a"}}}
    common = {"TableName": "orders", "ConsistentRead": True}
    reads: dict[str, Callable[[], object]] = {
        "get": place.get,
        "query": lambda: place.client.query(**query, **common),
        "scan": lambda: place.client.scan(**common),
        "SELECT one": lambda: place.statement("SELECT * FROM orders WHERE pk = 'a'"),
        "SELECT all": lambda: place.statement("SELECT * FROM orders"),
    }
    count, error = place.until_refused(reads[kind])
    assert count == 12  # 25 units each: the last one is admitted while there is one
    place.requires(error, PROVISIONED, "TableReadProvisionedThroughputExceeded")
    place.put()


def test_an_index_that_is_read_too_much(place: Place) -> None:
    place.create((100, 100), index={"ProvisionedThroughput": of(1, 100)})
    place.put("a", status="new", text="x" * 195_000)
    place.propagate()
    scan = {"TableName": "orders", "IndexName": "by-status"}
    count, error = place.until_refused(lambda: place.client.scan(**scan))
    assert count == 13  # 24 units each
    place.requires(error, PROVISIONED, "IndexReadProvisionedThroughputExceeded", "by-status")
    place.client.scan(TableName="orders")


def test_an_index_that_is_written_too_much_holds_up_its_table(place: Place) -> None:
    place.create((100, 100), index={"ProvisionedThroughput": of(1, 1)})
    numbers, text = iter(range(1_000)), "x" * 9_900
    count, error = place.until_refused(lambda: place.put(str(next(numbers)), status="new", text=text))
    assert count == 30  # 10 units each
    place.requires(error, PROVISIONED, "IndexWriteProvisionedThroughputExceeded", "by-status")
    assert error.response["Error"]["Message"] == say.INDEX_PROVISIONED
    assert "Item" not in place.get("30")
    place.put("other")  # without an entry
    place.put("0", status="new", text=text)  # the entry stays as it is
    change = {"TableName": "orders", "Key": {"pk": {"S": "0"}}, "UpdateExpression": "REMOVE #s"}
    removed = place.until_refused(lambda: place.client.update_item(**change, ExpressionAttributeNames={"#s": "status"}))
    assert removed[0] == 0
    with pytest.raises(ClientError) as cancelled:
        place.client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": "orders", "Item": {"pk": {"S": "x"}}}},
                {"Put": {"TableName": "orders", "Item": {"pk": {"S": "y"}, "status": {"S": "new"}}}},
            ]
        )
    assert codes(cancelled.value) == ["None", "ProvisionedThroughputExceeded"]
    assert cancelled.value.response["CancellationReasons"][1]["Message"] == say.INDEX_PROVISIONED
    assert "Item" not in place.get("x")


def test_a_hot_key(place: Place) -> None:
    place.create((100, 9_000))
    count, error = place.until_refused(lambda: place.put("a", text="x" * 99_000))  # 97 units
    assert count == 11
    place.requires(error, PROVISIONED, "TableWriteKeyRangeThroughputExceeded")
    place.advance(1.07)
    place.put()


def test_a_page_is_admitted_whole(place: Place) -> None:
    """Also with the items that a local index lacks, which are read one by one."""
    client, keys = place.client, [("pk", "HASH"), ("sk", "RANGE")]
    if client.list_tables()["TableNames"]:
        client.delete_table(TableName="orders")
    client.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "day")],
        ProvisionedThroughput=of(1, 1_000),
        LocalSecondaryIndexes=[
            {
                "IndexName": "by-day",
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "day", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    for number in range(20):
        item = {"pk": {"S": "a"}, "sk": {"S": str(number)}, "day": {"S": "d"}, "text": {"S": LARGE}}
        client.put_item(TableName="orders", Item=item)
        place.advance(1)
    query = {
        "TableName": "orders",
        "IndexName": "by-day",
        "Select": "ALL_ATTRIBUTES",
        "ConsistentRead": True,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "a"}},
    }
    page = client.query(**query, ReturnConsumedCapacity="TOTAL")
    assert (page["Count"], page["ConsumedCapacity"]["CapacityUnits"]) == (11, 276)
    assert client.query(**query)["Count"] == 11  # 24 units are left for the first of its reads
    assert place.until_refused(lambda: client.query(**query))[0] == 0
    place.advance(252)
    assert place.until_refused(lambda: client.query(**query))[0] == 0
    place.advance(1)
    assert client.query(**query)["Count"] == 11


# --- on demand ------------------------------------------------------------------------------------


def test_a_hot_key_on_demand(place: Place) -> None:
    place.create(None)
    count, error = place.until_refused(lambda: place.put("a", text="x" * 99_000))
    assert count == 11
    place.requires(error, ON_DEMAND, "TableWriteKeyRangeThroughputExceeded")
    assert error.response["Error"]["Message"] == say.TABLE_ON_DEMAND
    with pytest.raises(ClientError) as cancelled:
        place.client.transact_write_items(TransactItems=[{"Put": {"TableName": "orders", "Item": {"pk": {"S": "a"}}}}])
    assert codes(cancelled.value) == ["ThrottlingError"]


@pytest.mark.parametrize("kind", ["reads", "writes", "index reads", "index writes"])
def test_a_maximum_on_demand(place: Place, kind: str) -> None:
    most = {"OnDemandThroughput": {"MaxReadRequestUnits": 3, "MaxWriteRequestUnits": 3}}
    is_index = kind.startswith("index")
    place.create(None, index=most if is_index else {}, **({} if is_index else most))
    place.advance(100)
    numbers = iter(range(1_000))
    scan = {"TableName": "orders", "IndexName": "by-status"}
    requests: dict[str, Callable[[], object]] = {
        "reads": place.get,
        "writes": place.put,
        "index reads": lambda: place.client.scan(**scan),
        "index writes": lambda: place.put(str(next(numbers)), status="new"),
    }
    count, error = place.until_refused(requests[kind])
    assert count == (6 if kind == "index reads" else 3)
    side = ("Index" if is_index else "Table") + ("Read" if kind.endswith("reads") else "Write")
    place.requires(error, ON_DEMAND, f"{side}MaxOnDemandThroughputExceeded", "by-status" if is_index else None)
    assert error.response["Error"]["Message"] == say.MAXIMUM_ON_DEMAND
    place.advance(1)
    requests[kind]()


def test_the_quota_of_a_table_on_demand(place: Place) -> None:
    place.create(None, WarmThroughput={"ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 4_000})
    for number in range(9):
        place.put(str(number), text="x" * 110_000)
    scan = {"TableName": "orders", "Select": "COUNT", "ConsistentRead": True}
    count, error = place.until_refused(lambda: place.client.scan(**scan))
    assert count == 166  # 242 units each
    place.requires(error, ACCOUNT, "TableReadAccountLimitExceeded")
    assert error.response["Error"]["Message"] == say.ACCOUNT_LIMIT


# --- several items --------------------------------------------------------------------------------


def test_a_batch_of_writes(place: Place) -> None:
    place.create((1, 1))
    place.put("a", text="x" * 296_400)  # 290 units
    puts = [{"PutRequest": {"Item": {"pk": {"S": str(number)}}}} for number in range(25)]
    left = place.client.batch_write_item(RequestItems={"orders": puts})["UnprocessedItems"]["orders"]
    assert len(left) == 15
    error = place.until_refused(lambda: place.client.batch_write_item(RequestItems={"orders": puts}))[1]
    place.requires(error, PROVISIONED, "TableWriteProvisionedThroughputExceeded")
    found = [number for number in range(25) if "Item" in place.get(str(number))]
    left_keys = {one["PutRequest"]["Item"]["pk"]["S"] for one in left}
    assert len(found) == 10
    assert not left_keys & {str(number) for number in found}


def test_a_batch_of_reads(place: Place) -> None:
    place.create((1, 1))
    place.put("a", text="x" * 241_000)
    for _ in range(5):
        place.get()  # 59 units
    keys = [{"pk": {"S": str(number)}} for number in range(20)]
    asked = {"orders": {"Keys": keys, "ConsistentRead": True}}
    left = place.client.batch_get_item(RequestItems=asked)["UnprocessedKeys"]["orders"]
    assert len(left["Keys"]) == 15
    assert left["ConsistentRead"] is True
    error = place.until_refused(lambda: place.client.batch_get_item(RequestItems=asked))[1]
    place.requires(error, PROVISIONED, "TableReadProvisionedThroughputExceeded")


def test_a_batch_of_statements(place: Place) -> None:
    place.create((1, 1))
    place.put("a", text="x" * 306_000)  # 299 units
    statements = [{"Statement": f"INSERT INTO orders VALUE {{'pk': 'b{number}'}}"} for number in range(3)]
    replies = place.client.batch_execute_statement(Statements=statements)["Responses"]
    errors = [reply.get("Error", {}).get("Code") for reply in replies]
    assert sorted(errors, key=str) == [None, "ProvisionedThroughputExceeded", "ProvisionedThroughputExceeded"]


def test_transactions(place: Place) -> None:
    place.create((1, 1))
    place.use_up_writes()
    place.advance(92)
    assert place.until_refused(lambda: place.get("used"))[0] == 12  # 25 units each
    puts = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in "xy"]
    gets = [{"Get": {"TableName": "orders", "Key": {"pk": {"S": key}}}} for key in "xy"]
    for request in (
        lambda: place.client.transact_write_items(TransactItems=puts),
        lambda: place.client.transact_get_items(TransactItems=gets),
    ):
        count, error = place.until_refused(request)
        assert count == 0
        assert codes(error) == ["ProvisionedThroughputExceeded"] * 2
    place.advance(1)
    place.client.transact_write_items(TransactItems=puts)  # four units, as there is one
    place.advance(3)
    assert place.until_refused(place.put)[0] == 0
    place.advance(1)
    place.put()


# --- what refused requests use --------------------------------------------------------------------


def test_a_refused_condition_uses_the_units_of_the_item(place: Place) -> None:
    place.create((1, 1))
    place.put("a", text="x" * 99_000)  # 97 units
    put = {"TableName": "orders", "Item": {"pk": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(pk)"}
    for _ in range(3):
        with pytest.raises(ClientError) as refused:
            place.client.put_item(**put)
        assert refused.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
    assert place.until_refused(lambda: place.client.put_item(**put))[0] == 0
    place.advance(89)
    place.put("b")


def test_a_throttled_request_uses_nothing(place: Place) -> None:
    place.create((1, 10), index={"ProvisionedThroughput": of(1, 1)})
    place.put("a", status="s", text="x" * 390_000)  # 381 units of table and index
    for number in range(50):
        assert place.until_refused(lambda: place.put(str(number), status="s"))[0] == 0  # noqa: B023 - is called at once
    place.advance(82)
    place.put("b", status="s")
