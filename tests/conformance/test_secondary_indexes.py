"""What do Query and Scan of an index return? Its entries, in its order, with the projected attributes."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.propagation import propagated
from tests.support.raw_client import RawClient

S = "S"
START_KEY = "The provided starting key is invalid"


def key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def index(name: str, keys: list[dict[str, str]], projection: str = "ALL", *names: str) -> dict[str, Any]:
    described: dict[str, Any] = {"ProjectionType": projection}
    if names:
        described["NonKeyAttributes"] = list(names)
    return {"IndexName": name, "KeySchema": keys, "Projection": described}


MULTI_KEYS = [
    {"AttributeName": "country", "KeyType": "HASH"},
    {"AttributeName": "city", "KeyType": "HASH"},
    {"AttributeName": "year", "KeyType": "RANGE"},
    {"AttributeName": "rank", "KeyType": "RANGE"},
]


class Orders:
    """A table of orders with every kind of index, used through raw requests."""

    def __init__(self, raw: RawClient) -> None:
        self.raw = raw
        self.name = "orders-indexes"

    def ask(self, operation: str, **members: Any) -> Any:
        reply = self.raw(operation, {"TableName": self.name} | members)
        assert reply.status == 200, reply.body
        return reply.json()

    def refused(self, operation: str, **members: Any) -> str:
        reply = self.raw(operation, {"TableName": self.name} | members)
        assert reply.status == 400
        body = reply.json()
        assert body["__type"].endswith("#ValidationException"), body
        return str(body["message"])

    def query(self, index_name: str, expression: str, values: dict[str, Any], **members: Any) -> Any:
        return self.ask(
            "Query",
            IndexName=index_name,
            KeyConditionExpression=expression,
            ExpressionAttributeValues=values,
            **members,
        )


@pytest.fixture(scope="module")
def orders(raw: RawClient) -> Iterator[Orders]:
    table = Orders(raw)
    types = {"pk": "S", "sk": "S", "status": "S", "at": "N", "country": "S", "city": "S", "year": "N", "rank": "N"}
    table.ask(
        "CreateTable",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        KeySchema=key_schema("pk", "sk"),
        LocalSecondaryIndexes=[index("by-time", key_schema("pk", "at"), "INCLUDE", "total")],
        GlobalSecondaryIndexes=[
            index("by-status", key_schema("status", "at")),
            index("status-keys", key_schema("status"), "KEYS_ONLY"),
            index("inverted", key_schema("sk", "pk"), "INCLUDE", "total"),
            index("by-place", MULTI_KEYS),
        ],
    )
    for user in ("u1", "u2"):
        for number in range(5):
            item = {
                "pk": {"S": user},
                "sk": {"S": f"o{number}"},
                "at": {"N": str(100 - number * 10)},
                "total": {"N": str(number)},
                "note": {"S": "x" * 100},
            }
            if number % 2 == 0:
                item["status"] = {"S": "open"}
            table.ask("PutItem", Item=item)
    propagated(raw)
    yield table
    table.ask("DeleteTable")


def test_a_global_index_is_sparse_and_in_its_own_order(orders: Orders) -> None:
    page = orders.query("by-status", "#s = :s", {":s": {"S": "open"}}, ExpressionAttributeNames={"#s": "status"})
    assert [item["at"]["N"] for item in page["Items"]] == ["60", "60", "80", "80", "100", "100"]
    assert all("note" in item for item in page["Items"])
    assert page["Count"] == 6


def test_a_range_of_a_global_index(orders: Orders) -> None:
    names = {"#s": "status", "#t": "at"}
    for condition, expected in (
        ("#t > :a", ["100", "100"]),
        ("#t >= :a", ["80", "80", "100", "100"]),
        ("#t < :a", ["60", "60"]),
        ("#t <= :a", ["60", "60", "80", "80"]),
        ("#t = :a", ["80", "80"]),
        ("#t BETWEEN :b AND :a", ["60", "60", "80", "80"]),
    ):
        values = {":s": {"S": "open"}, ":a": {"N": "80"}} | ({":b": {"N": "55"}} if ":b" in condition else {})
        page = orders.query("by-status", f"#s = :s AND {condition}", values, ExpressionAttributeNames=names)
        assert [item["at"]["N"] for item in page["Items"]] == expected, condition


@pytest.mark.parametrize("forward", [True, False])
def test_pages_of_an_index_carry_both_keys_and_lose_nothing_among_ties(orders: Orders, forward: bool) -> None:
    seen: list[tuple[str, str]] = []
    start: dict[str, Any] = {}
    while True:
        page = orders.query(
            "by-status",
            "#s = :s",
            {":s": {"S": "open"}},
            ExpressionAttributeNames={"#s": "status"},
            Limit=1,
            ScanIndexForward=forward,
            **start,
        )
        seen += [(item["pk"]["S"], item["sk"]["S"]) for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        assert set(page["LastEvaluatedKey"]) == {"pk", "sk", "status", "at"}
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert sorted(seen) == sorted({(user, f"o{number}") for user in ("u1", "u2") for number in (0, 2, 4)})


def test_keys_only_and_include_project(orders: Orders) -> None:
    names = {"#s": "status"}
    page = orders.query("status-keys", "#s = :s", {":s": {"S": "open"}}, ExpressionAttributeNames=names)
    assert {frozenset(item) for item in page["Items"]} == {frozenset({"pk", "sk", "status"})}
    page = orders.query("inverted", "sk = :s AND pk = :p", {":s": {"S": "o1"}, ":p": {"S": "u1"}})
    assert page["Items"] == [{"pk": {"S": "u1"}, "sk": {"S": "o1"}, "total": {"N": "1"}}]


def test_a_scan_of_an_index(orders: Orders) -> None:
    assert orders.ask("Scan", IndexName="status-keys")["Count"] == 6
    assert orders.ask("Scan", IndexName="inverted", Limit=3)["Count"] == 3
    counts = [
        orders.ask("Scan", IndexName="inverted", Segment=segment, TotalSegments=4)["Count"] for segment in range(4)
    ]
    assert sum(counts) == 10


def test_a_local_index_fetches_what_it_does_not_project(orders: Orders) -> None:
    values = {":p": {"S": "u1"}}
    page = orders.query("by-time", "pk = :p", values, ReturnConsumedCapacity="INDEXES", ConsistentRead=True)
    assert [item["at"]["N"] for item in page["Items"]] == ["60", "70", "80", "90", "100"]
    assert set(page["Items"][0]) == {"pk", "sk", "at", "total"}
    assert page["ConsumedCapacity"] == {
        "TableName": orders.name,
        "CapacityUnits": 1.0,
        "Table": {"CapacityUnits": 0.0},
        "LocalSecondaryIndexes": {"by-time": {"CapacityUnits": 1.0}},
    }
    page = orders.query(
        "by-time",
        "pk = :p",
        values,
        Select="ALL_ATTRIBUTES",
        ReturnConsumedCapacity="INDEXES",
        Limit=2,
        ConsistentRead=True,
    )
    assert [item["note"]["S"] for item in page["Items"]] == ["x" * 100] * 2
    assert page["ConsumedCapacity"] == {
        "TableName": orders.name,
        "CapacityUnits": 3.0,
        "Table": {"CapacityUnits": 2.0},
        "LocalSecondaryIndexes": {"by-time": {"CapacityUnits": 1.0}},
    }


def test_items_fetched_for_a_local_index_fill_a_page_too(orders: Orders) -> None:
    keys = [{"pk": {"S": "large"}, "sk": {"S": f"{number:02}"}} for number in range(8)]
    for number, key in enumerate(keys):
        orders.ask("PutItem", Item=key | {"at": {"N": str(number)}, "note": {"S": "x" * 399_000}})
    members = {"Select": "ALL_ATTRIBUTES", "ReturnConsumedCapacity": "INDEXES", "ConsistentRead": True}
    counts, units = [], []
    start: dict[str, Any] = {}
    while True:
        page = orders.query("by-time", "pk = :p", {":p": {"S": "large"}}, **members, **start)
        counts.append(page["Count"])
        units.append(page["ConsumedCapacity"]["Table"]["CapacityUnits"])
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert counts == [3, 3, 2]
    assert units == [98.0 * 3, 98.0 * 3, 98.0 * 2]
    for key in keys:
        orders.ask("DeleteItem", Key=key)


@pytest.mark.parametrize("select", [{}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}])
def test_a_filter_on_what_a_local_index_lacks_changes_nothing_of_what_it_returns(
    orders: Orders, select: dict[str, str]
) -> None:
    members = {"FilterExpression": "begins_with(note, :n)", "ReturnConsumedCapacity": "INDEXES", "ConsistentRead": True}
    values = {":n": {"S": "xx"}}
    page = orders.query("by-time", "pk = :p", values | {":p": {"S": "u1"}}, **members, **select)
    assert {frozenset(item) for item in page["Items"]} == {frozenset({"pk", "sk", "at", "total"})}
    assert page["Count"] == 5
    assert page["ConsumedCapacity"]["Table"] == {"CapacityUnits": 5.0}
    page = orders.ask("Scan", IndexName="by-time", ExpressionAttributeValues=values, **members, **select)
    assert {frozenset(item) for item in page["Items"]} == {frozenset({"pk", "sk", "at", "total"})}


def test_what_a_global_index_refuses(orders: Orders) -> None:
    names = {"#s": "status"}
    query = {
        "KeyConditionExpression": "#s = :s",
        "ExpressionAttributeValues": {":s": {"S": "open"}},
        "ExpressionAttributeNames": names,
    }
    assert (
        orders.refused("Query", IndexName="by-status", ConsistentRead=True, **query)
        == "Consistent reads are not supported on global secondary indexes"
    )
    assert orders.refused("Query", IndexName="status-keys", Select="ALL_ATTRIBUTES", **query) == (
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary"
        " index status-keys because its projection type is not ALL"
    )
    assert orders.refused("Query", IndexName="status-keys", ProjectionExpression="note", **query) == (
        "One or more parameter values were invalid: Global secondary index status-keys does not project [note]"
    )


@pytest.mark.parametrize(
    ("index_name", "keys", "wrong"),
    [
        ("by-status", {"status": {"S": "open"}, "at": {"N": "60"}}, {"at": {"S": "60"}}),
        ("by-status", {"status": {"S": "open"}, "at": {"N": "60"}}, {"pk": {"N": "1"}}),
        ("by-status", {"status": {"S": "open"}, "at": {"N": "60"}}, {"sk": {"B": "AQ=="}}),
        ("by-status", {"status": {"S": "open"}, "at": {"N": "60"}}, {"sk": {"N": "1"}, "at": {"S": "60"}}),
        ("by-time", {"at": {"N": "60"}}, {"at": {"S": "60"}}),
        ("by-time", {"at": {"N": "60"}}, {"pk": {"N": "1"}}),
        ("by-time", {"at": {"N": "60"}}, {"sk": {"N": "1"}}),
    ],
)
def test_a_start_key_of_a_wrong_type(
    orders: Orders, index_name: str, keys: dict[str, Any], wrong: dict[str, Any]
) -> None:
    start = {"pk": {"S": "u1"}, "sk": {"S": "o0"}} | keys | wrong
    name = "status" if index_name == "by-status" else "pk"
    query = {
        "KeyConditionExpression": "#k = :k",
        "ExpressionAttributeNames": {"#k": name},
        "ExpressionAttributeValues": {":k": {"S": "open" if name == "status" else "u1"}},
    }
    assert orders.refused("Query", IndexName=index_name, ExclusiveStartKey=start, **query) == START_KEY


def test_several_key_attributes(orders: Orders) -> None:
    for number, (city, year, rank) in enumerate([("x", 1, 1), ("x", 1, 2), ("x", 2, 1), ("y", 1, 1)]):
        place = {"country": {"S": "c"}, "city": {"S": city}, "year": {"N": str(year)}, "rank": {"N": str(rank)}}
        orders.ask("PutItem", Item={"pk": {"S": "place"}, "sk": {"S": str(number)}} | place)
    propagated(orders.raw)
    names = {"#c": "country", "#t": "city", "#y": "year", "#r": "rank"}
    values = {":c": {"S": "c"}, ":t": {"S": "x"}, ":y": {"N": "1"}, ":r": {"N": "1"}}

    def ask(expression: str) -> list[str]:
        used = {
            "ExpressionAttributeNames": {token: name for token, name in names.items() if token in expression},
            "ExpressionAttributeValues": {token: value for token, value in values.items() if token in expression},
        }
        page = orders.ask("Query", IndexName="by-place", KeyConditionExpression=expression, **used)
        return [item["sk"]["S"] for item in page["Items"]]

    assert ask("#c = :c AND #t = :t") == ["0", "1", "2"]
    assert ask("#c = :c AND #t = :t AND #y = :y") == ["0", "1"]
    assert ask("#c = :c AND #t = :t AND #y = :y AND #r > :r") == ["1"]
    refusal = orders.refused(
        "Query",
        IndexName="by-place",
        KeyConditionExpression="#c = :c AND #t = :t AND #y > :y AND #r = :r",
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=values,
    )
    assert refusal == (
        "RANGE key attributes year must have equality conditions specified in the query because a condition is present"
        " on key attribute rank"
    )
    refusal = orders.refused(
        "Query",
        IndexName="by-place",
        KeyConditionExpression="#c = :c",
        ExpressionAttributeNames={"#c": "country"},
        ExpressionAttributeValues={":c": {"S": "c"}},
    )
    assert refusal == "Query condition missed key schema element: city"


def test_writes_charge_the_indexes_that_they_touch(orders: Orders) -> None:
    key = {"pk": {"S": "charge"}, "sk": {"S": "1"}}

    def put(**attributes: Any) -> dict[str, float]:
        reply = orders.ask("PutItem", Item=key | attributes, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        arms = reply.get("GlobalSecondaryIndexes", {}) | reply.get("LocalSecondaryIndexes", {})
        assert reply["CapacityUnits"] == reply["Table"]["CapacityUnits"] + sum(
            arm["CapacityUnits"] for arm in arms.values()
        )
        return {name: arm["CapacityUnits"] for name, arm in arms.items()}

    status, at = {"S": "open"}, {"N": "1"}
    assert put(note={"S": "a"}) == {"inverted": 1.0}
    assert put(note={"S": "b"}) == {}
    assert put(note={"S": "b"}, status=status, at=at) == {"by-status": 1.0, "status-keys": 1.0, "by-time": 1.0}
    assert put(note={"S": "c"}, status=status, at=at) == {"by-status": 1.0}
    assert put(note={"S": "c"}, status=status, at={"N": "2"}) == {"by-status": 2.0, "by-time": 2.0}
    assert put(note={"S": "c"}, status=status, at={"N": "2.0"}) == {}
    assert put(note={"S": "c"}) == {"by-status": 1.0, "status-keys": 1.0, "by-time": 1.0}
    reply = orders.ask("DeleteItem", Key=key, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert reply["GlobalSecondaryIndexes"] == {"inverted": {"CapacityUnits": 1.0}}
