"""ReturnConsumedCapacity: figures and shapes; ReturnItemCollectionMetrics."""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Item, Value, fresh_key, make_table, number, text
from tests.support.raw_client import RawClient


def sized(size_bytes: int, key: Item | None = None) -> Item:
    """An item with this many bytes in total."""
    item = key or fresh_key()
    used = sum(len(name) + len(value["S"]) for name, value in item.items())
    return item | {"x": text("x" * (size_bytes - used - 1))}


def units(table: DataTable, reply: Any) -> float:
    """The TOTAL figure of a reply, after checking its shape."""
    consumed = reply["ConsumedCapacity"]
    assert consumed.keys() == {"TableName", "CapacityUnits"}
    assert consumed["TableName"] == table.name
    figure = consumed["CapacityUnits"]
    assert isinstance(figure, float)
    return figure


def consumed(table: DataTable, operation: str, **members: Any) -> float:
    return units(table, table.ask(operation, ReturnConsumedCapacity="TOTAL", **members))


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [(100, 1), (4095, 1), (4096, 1), (4097, 2), (8192, 2), (8193, 3), (409_600, 100)],
)
def test_reads_of_one_item_count_4_kb(table: DataTable, size_bytes: int, expected: int) -> None:
    item = sized(size_bytes)
    key = {"pk": item["pk"]}
    table.put(key | {"y": item["x"]})  # a later eventually consistent read may still return this item
    table.put(item)
    for members in ({}, {"ProjectionExpression": "absent"}, {"AttributesToGet": ["pk"]}):
        assert consumed(table, "GetItem", Key=key, ConsistentRead=True, **members) == expected
        assert consumed(table, "GetItem", Key=key, **members) == expected / 2
        assert consumed(table, "GetItem", Key=key, ConsistentRead=False, **members) == expected / 2


def test_an_absent_item_costs_the_least(table: DataTable) -> None:
    assert consumed(table, "GetItem", Key=fresh_key()) == 0.5
    assert consumed(table, "GetItem", Key=fresh_key(), ConsistentRead=True) == 1
    assert consumed(table, "DeleteItem", Key=fresh_key()) == 1
    assert consumed(table, "UpdateItem", Key=fresh_key(), UpdateExpression="REMOVE a") == 1


@pytest.mark.parametrize(
    ("size_bytes", "expected"), [(100, 1), (1024, 1), (1025, 2), (2048, 2), (2049, 3), (409_600, 400)]
)
def test_writes_count_1_kb(table: DataTable, size_bytes: int, expected: int) -> None:
    item = sized(size_bytes)
    key = {"pk": item["pk"]}
    assert consumed(table, "PutItem", Item=item) == expected
    assert consumed(table, "PutItem", Item=item) == expected
    assert consumed(table, "UpdateItem", Key=key) == expected
    assert consumed(table, "UpdateItem", Key=key, UpdateExpression="REMOVE absent") == expected
    assert consumed(table, "DeleteItem", Key=key) == expected


def test_writes_count_the_larger_of_old_and_new(table: DataTable) -> None:
    key = fresh_key()
    table.put(sized(5000, key))
    assert consumed(table, "PutItem", Item=sized(100, key)) == 5
    assert consumed(table, "PutItem", Item=sized(3000, key)) == 3
    values = {":v": text("v" * 2000)}
    assert consumed(table, "UpdateItem", Key=key, UpdateExpression="SET y = :v", ExpressionAttributeValues=values) == 5
    assert consumed(table, "UpdateItem", Key=key, UpdateExpression="REMOVE x, y") == 5
    assert consumed(table, "UpdateItem", Key=key, UpdateExpression="SET y = :v", ExpressionAttributeValues=values) == 2


def test_sizes_go_by_the_formula(table: DataTable) -> None:
    """Numbers, sets and containers are counted by the item size rules."""
    key = fresh_key()
    values: dict[str, Value] = {
        "n": number("123456"),
        "s": {"SS": ["ab", "c"]},
        "l": {"L": [number(1), {"M": {"k": {"NULL": True}}}]},
        "t": {"BOOL": True},
    }
    known = 2 + len(key["pk"]["S"]) + (1 + 4) + (1 + 3) + (1 + 3 + (1 + 2) + (1 + 3 + (1 + 1 + 1))) + (1 + 1)
    rest = 1024 - known - 1
    assert consumed(table, "PutItem", Item=key | values | {"x": text("x" * rest)}) == 1
    assert consumed(table, "PutItem", Item=key | values | {"x": text("x" * (rest + 1))}) == 2


def test_pages_are_rounded_once(raw: RawClient) -> None:
    table = make_table(raw, "S", "S")
    values = {":pk": text("p")}
    for sort in range(9):
        table.put(sized(1000, {"pk": text("p"), "sk": text(str(sort))}))
    for limit, expected in ((None, 3), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)):
        for members in (
            {},
            {"Select": "COUNT"},
            {"ProjectionExpression": "sk"},
            {"FilterExpression": "attribute_not_exists(x)"},
        ):
            query = {
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": values,
                "Limit": limit,
                **members,
            }
            assert consumed(table, "Query", **query) == expected / 2
            assert consumed(table, "Query", ConsistentRead=True, **query) == expected
            assert consumed(table, "Scan", Limit=limit, **members) == expected / 2
            assert consumed(table, "Scan", Limit=limit, ConsistentRead=True, **members) == expected


def test_empty_pages_cost_the_least(raw: RawClient) -> None:
    table = make_table(raw)
    query = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": text("p")}}
    assert consumed(table, "Query", **query) == 0.5
    assert consumed(table, "Query", ConsistentRead=True, **query) == 1
    assert consumed(table, "Scan") == 0.5
    assert consumed(table, "Scan", ConsistentRead=True) == 1


def requests() -> dict[str, dict[str, Any]]:
    key = fresh_key()
    return {
        "PutItem": {"Item": key},
        "GetItem": {"Key": key},
        "UpdateItem": {"Key": key},
        "DeleteItem": {"Key": key},
        "Scan": {"Limit": 1},
        "Query": {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": key["pk"]}},
    }


def test_shapes(table: DataTable) -> None:
    for operation, members in requests().items():
        for none in (None, "NONE"):
            assert "ConsumedCapacity" not in table.ask(operation, ReturnConsumedCapacity=none, **members)
        figure = consumed(table, operation, **members)
        reply = table.ask(operation, ReturnConsumedCapacity="INDEXES", **members)
        assert reply["ConsumedCapacity"] == {
            "TableName": table.name, "CapacityUnits": figure, "Table": {"CapacityUnits": figure},
        }  # fmt: skip
        by_arn = table.ask(operation, ReturnConsumedCapacity="TOTAL", TableName=table.arn, **members)
        assert by_arn["ConsumedCapacity"] == {"TableName": table.arn, "CapacityUnits": figure}


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan"])
def test_another_wish_is_refused(table: DataTable, operation: str) -> None:
    message = (
        "Value 'ALL' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set:"
        " [INDEXES, TOTAL, NONE]"
    )
    members = requests()[operation]
    assert (
        table.refusal(operation, ReturnConsumedCapacity="ALL", **members) == "1 validation error detected: " + message
    )


def test_a_failed_condition_tells_no_capacity(table: DataTable) -> None:
    request = {
        "TableName": table.name,
        "ReturnConsumedCapacity": "TOTAL",
        "ConditionExpression": "attribute_exists(pk)",
    }
    body = table.raw("PutItem", request | {"Item": fresh_key()}).json()
    assert body.keys() == {"__type", "message"}


# --- item collections ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_local_index(raw: RawClient) -> DataTable:
    schema = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]
    index = {"IndexName": "local", "KeySchema": schema, "Projection": {"ProjectionType": "KEYS_ONLY"}}
    return make_table(raw, "S", "S", definitions={"l": "S"}, LocalSecondaryIndexes=[index])


def test_collections_are_measured_only_with_local_indexes(table: DataTable, with_local_index: DataTable) -> None:
    key = fresh_key() | {"sk": text("a")}
    expected = {"ItemCollectionKey": {"pk": key["pk"]}, "SizeEstimateRangeGB": [0.0, 1.0]}
    for operation, members in (("PutItem", {"Item": key}), ("UpdateItem", {"Key": key}), ("DeleteItem", {"Key": key})):
        reply = with_local_index.ask(operation, ReturnItemCollectionMetrics="SIZE", **members)
        assert reply == {"ItemCollectionMetrics": expected}
        for none in (None, "NONE"):
            assert with_local_index.ask(operation, ReturnItemCollectionMetrics=none, **members) == {}
        plain = {name: {"pk": value["pk"]} for name, value in members.items()}
        assert table.ask(operation, ReturnItemCollectionMetrics="SIZE", **plain) == {}


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_another_measure_is_refused(table: DataTable, operation: str) -> None:
    assert table.refusal(operation, ReturnItemCollectionMetrics="x", **requests()[operation]) == (
        "1 validation error detected: Value 'x' at 'returnItemCollectionMetrics' failed to satisfy constraint:"
        " Member must satisfy enum value set: [SIZE, NONE]"
    )


def several(name: str, key: Item, token: str) -> dict[str, dict[str, Any]]:
    """Requests about several items that name their table by `name`."""
    return {
        "BatchWriteItem": {"RequestItems": {name: [{"PutRequest": {"Item": key}}]}},
        "BatchGetItem": {"RequestItems": {name: {"Keys": [key]}}},
        "TransactWriteItems": {
            "TransactItems": [{"Put": {"TableName": name, "Item": key}}],
            "ClientRequestToken": token,
        },
        "TransactGetItems": {"TransactItems": [{"Get": {"TableName": name, "Key": key}}]},
    }


def test_figures_name_a_table_as_the_request_does(with_local_index: DataTable) -> None:
    table = with_local_index
    key = fresh_key() | {"sk": text("a")}
    for name in (table.name, table.arn):
        for operation, members in several(name, key, token=f"{table.name[-20:]}-{len(name)}").items():
            for _ in range(2):
                more = {} if "Get" in operation else {"ReturnItemCollectionMetrics": "SIZE"}
                reply = table.raw(operation, {"ReturnConsumedCapacity": "TOTAL"} | more | members).json()
                (consumed_here,) = reply["ConsumedCapacity"]
                assert consumed_here["TableName"] == name
                assert list(reply.get("ItemCollectionMetrics", {name: []})) == [name]
