"""Global indexes added to and deleted from a table in use: states, refusals, contents."""

from typing import Any

import pytest

from tests.conformance.propagation import propagated
from tests.conformance.tables import create_request, definitions, fault, fresh_name, index, keys, units, validation
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

ITEMS = 1500
"""Number of items, more than a server may index before the next request comes."""


class Shop:
    """A table with the key `id`, used through raw requests."""

    def __init__(self, raw: RawClient, **members: Any) -> None:
        self.raw = raw
        self.name = fresh_name("online")
        self.ask("CreateTable", **create_request(self.name, **members))

    def ask(self, operation: str, **members: Any) -> Any:
        reply = self.raw(operation, {"TableName": self.name} | members)
        assert reply.status == 200, reply.body
        return reply.json()

    def load(self, items: list[dict[str, Any]]) -> None:
        for start in range(0, len(items), 25):
            requests = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
            reply = self.raw("BatchWriteItem", {"RequestItems": {self.name: requests}})
            assert reply.status == 200, reply.body

    def create(self, name: str, hash_name: str, range_name: str | None = None, **members: Any) -> Any:
        named = [hash_name] if range_name is None else [hash_name, range_name]
        return self.ask(
            "UpdateTable",
            AttributeDefinitions=definitions(*named),
            GlobalSecondaryIndexUpdates=[{"Create": index(name, hash_name, range_name, **members)}],
        )["TableDescription"]

    def delete(self, name: str) -> Any:
        updates = [{"Delete": {"IndexName": name}}]
        return self.ask("UpdateTable", GlobalSecondaryIndexUpdates=updates)["TableDescription"]

    def described(self, name: str) -> Any:
        """The index as DescribeTable returns it, or None."""
        indexes = self.ask("DescribeTable")["Table"].get("GlobalSecondaryIndexes", [])
        return next((one for one in indexes if one["IndexName"] == name), None)

    def wait(self, name: str, status: str | None = "ACTIVE") -> Any:
        """Return the index once it has that state; None: wait until it is deleted."""
        found: Any = None

        def has_come() -> bool:
            nonlocal found
            found = self.described(name)
            return bool((found and found["IndexStatus"]) == status)

        wait_until(has_come)
        return found

    def scan(self, name: str) -> list[dict[str, Any]]:
        """All entries of an index, including those of the last write."""
        propagated(self.raw)
        items: list[dict[str, Any]] = []
        start: dict[str, Any] = {}
        while True:
            page = self.ask("Scan", IndexName=name, **start)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def item(number: int, **attributes: Any) -> dict[str, Any]:
    return {"id": {"S": f"i{number}"}, "kind": {"S": f"k{number % 7}"}, "at": {"S": f"{number:06}"}} | attributes


@pytest.fixture
def shop(raw: RawClient) -> Shop:
    return Shop(raw)


def test_an_index_is_built_while_its_table_is_written(shop: Shop) -> None:
    shop.load([item(number) for number in range(ITEMS)])
    reply = shop.create("by-kind", "kind", "at")
    assert reply["TableStatus"] == "UPDATING"
    (created,) = reply["GlobalSecondaryIndexes"]
    assert created["IndexStatus"] == "CREATING"
    assert created["KeySchema"] == keys("kind", "at")
    expected = {f"i{number}" for number in range(ITEMS)}
    for number in range(0, 200, 2):
        shop.ask("DeleteItem", Key={"id": {"S": f"i{number}"}})
        shop.ask("PutItem", Item=item(ITEMS + number))
        expected = expected - {f"i{number}"} | {f"i{ITEMS + number}"}
    active = shop.wait("by-kind")
    assert "Backfilling" not in active
    entries = shop.scan("by-kind")
    assert {entry["id"]["S"] for entry in entries} == expected
    assert len(entries) == len(expected)
    assert shop.described("by-kind")["ItemCount"] == len(expected)
    page = shop.ask(
        "Query",
        IndexName="by-kind",
        KeyConditionExpression="kind = :k",
        ExpressionAttributeValues={":k": {"S": "k3"}},
    )
    times = [entry["at"]["S"] for entry in page["Items"]]
    assert times == sorted(times)


def test_items_that_do_not_fit_are_left_out(shop: Shop) -> None:
    wrong = [{"N": "1"}, {"S": ""}, {"BOOL": True}, {"S": "x" * 2049}, {"NULL": True}, {"SS": ["a"]}]
    shop.load([item(number, kind=value) for number, value in enumerate(wrong)])
    shop.load([{"id": {"S": "sparse"}}, item(100), item(101, kind={"S": "x" * 2048})])
    shop.create("by-kind", "kind", Projection={"ProjectionType": "KEYS_ONLY"})
    shop.wait("by-kind")
    entries = {entry["id"]["S"]: entry for entry in shop.scan("by-kind")}
    assert entries.keys() == {"i100", "i101"}
    assert entries["i100"].keys() == {"id", "kind"}


def test_writes_are_held_to_the_new_index_at_once(shop: Shop) -> None:
    shop.create("by-kind", "kind")
    wrong = {"TableName": shop.name, "Item": item(1, kind={"N": "1"})}
    assert validation(shop.raw, "PutItem", wrong) == (
        "One or more parameter values were invalid: Type mismatch for Index Key kind Expected: S Actual: N IndexName:"
        " by-kind"
    )


def test_only_one_online_change_at_a_time(shop: Shop) -> None:
    updates = [{"Create": index("one", "kind")}, {"Create": index("two", "kind")}]
    request = {
        "TableName": shop.name,
        "AttributeDefinitions": definitions("kind"),
        "GlobalSecondaryIndexUpdates": updates,
    }
    assert fault(shop.raw, "UpdateTable", request) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
    )
    assert shop.described("one") is None


def test_an_index_is_deleted_and_its_name_is_free(shop: Shop) -> None:
    shop.load([item(number) for number in range(10)])
    shop.create("by-kind", "kind")
    shop.wait("by-kind")
    reply = shop.delete("by-kind")
    assert reply["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    shop.wait("by-kind", None)
    assert shop.ask("DescribeTable")["Table"]["AttributeDefinitions"] == definitions("id")
    read = {"TableName": shop.name, "IndexName": "by-kind"}
    assert fault(shop.raw, "Scan", read)[0] == "ValidationException"
    shop.load([item(number, kind={"N": "5"}) for number in range(3)])
    shop.create("by-kind", "at")
    shop.wait("by-kind")
    assert len(shop.scan("by-kind")) == 10


def test_a_provisioned_index_keeps_its_throughput(raw: RawClient) -> None:
    shop = Shop(raw, BillingMode="PROVISIONED", ProvisionedThroughput=units(5, 5))
    request = {
        "TableName": shop.name,
        "AttributeDefinitions": definitions("kind"),
        "GlobalSecondaryIndexUpdates": [{"Create": index("by-kind", "kind")}],
    }
    assert validation(raw, "UpdateTable", request) == (
        "One or more parameter values were invalid: ProvisionedThroughput is not specified for index: by-kind"
    )
    shop.create("by-kind", "kind", ProvisionedThroughput=units(7, 8))
    throughput = shop.wait("by-kind")["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (7, 8)


def test_limits_count_what_is_there(raw: RawClient) -> None:
    shop = Shop(
        raw,
        GlobalSecondaryIndexes=[index(f"index{number}") for number in range(20)],
    )
    request = {
        "TableName": shop.name,
        "GlobalSecondaryIndexUpdates": [{"Create": index("another")}],
        "AttributeDefinitions": definitions("id"),
    }
    assert fault(raw, "UpdateTable", request) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20",
    )


def test_projected_attributes_are_counted_over_all_indexes(raw: RawClient) -> None:
    def including(name: str, count: int) -> dict[str, Any]:
        names = [f"{name}-{number}" for number in range(count)]
        return index(name, Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": names})

    shop = Shop(raw, GlobalSecondaryIndexes=[including(f"index{number}", 20) for number in range(5)])
    request = {
        "TableName": shop.name,
        "AttributeDefinitions": definitions("id"),
        "GlobalSecondaryIndexUpdates": [{"Create": including("another", 1)}],
    }
    assert "exceeds per-table limit of 100" in str(validation(raw, "UpdateTable", request))
