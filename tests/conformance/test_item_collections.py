"""The size limit of item collections in tables with local indexes, to the byte, for every kind of write.

The server of this file has a limit of 1,000 bytes instead of 10 GB, so these tests run only
against a server that they start.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import boto3
import pytest

from hashrange.operations.registry import ALL_OPERATIONS
from tests.conformance.item_tables import DataTable, Item, fresh_key, make_table, number, text
from tests.conformance.tables import fault
from tests.conformance.transactions import NONE, check, delete, invalid, put, reasons, update, write
from tests.support import signing
from tests.support.raw_client import RawClient
from tests.support.servers import ThreadServer
from tests.support.stores import STORES

LIMIT_BYTES = 1_000
TOO_LARGE = ("ItemCollectionSizeLimitExceededException", "Collection size exceeded.")
TOO_LARGE_REASON = {"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."}
CONDITION_FAILED = ("ConditionalCheckFailedException", "The conditional request failed")

LOCAL = {
    "IndexName": "local",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
GLOBAL = {
    "IndexName": "global",
    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


@pytest.fixture(scope="module", params=list(STORES))
def server(request: pytest.FixtureRequest) -> Iterator[ThreadServer]:
    if request.config.getoption("--endpoint", default=None) is not None:
        pytest.skip("another server's limit is not ours to set")
    running = ThreadServer(partial(STORES[request.param], LIMIT_BYTES), ALL_OPERATIONS)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def raw_limited(server: ThreadServer) -> RawClient:
    return RawClient("127.0.0.1", server.port, signing.REGION, signing.ACCESS_KEY, signing.SECRET_KEY)


@pytest.fixture(scope="module")
def table(raw_limited: RawClient) -> DataTable:
    """A table with keys `pk` and `sk`, a local index on `l` (keys only) and a global index on `g` (all attributes)."""
    return make_table(
        raw_limited,
        "S",
        "S",
        definitions={"l": "S", "g": "S"},
        LocalSecondaryIndexes=[LOCAL],
        GlobalSecondaryIndexes=[GLOBAL],
    )


def sized(pk: Item, sort: str, size_bytes: int, **attributes: Any) -> Item:
    """An item of this many bytes, with no entry in the local index unless an attribute gives it one."""
    item = pk | {"sk": text(sort)} | attributes
    held = sum(len(name) + len(value["S"]) for name, value in item.items())
    return item | {"a": text("x" * (size_bytes - held - 1))}


def filled(table: DataTable, size_bytes: int = 900) -> Item:
    """The partition key of a new collection with one item, whose sort key is `first`."""
    pk = fresh_key()
    table.put(sized(pk, "first", size_bytes))
    return pk


def stored(table: DataTable, pk: Item) -> list[str]:
    """Sort keys of the items in a collection."""
    reply = table.query(ExpressionAttributeValues={":pk": pk["pk"]}, ConsistentRead=True)
    return [item["sk"]["S"] for item in reply["Items"]]


# --- single writes --------------------------------------------------------------------------------


def test_a_collection_may_reach_its_limit_and_not_a_byte_more(table: DataTable) -> None:
    pk = filled(table)
    assert table.fault("PutItem", Item=sized(pk, "second", 101)) == TOO_LARGE
    assert stored(table, pk) == ["first"]
    table.put(sized(pk, "second", 100))
    assert table.fault("PutItem", Item=pk | {"sk": text("3")}) == TOO_LARGE
    table.put(sized(fresh_key(), "other", LIMIT_BYTES))
    assert stored(table, pk) == ["first", "second"]


def test_entries_of_local_indexes_count_and_those_of_global_ones_do_not(table: DataTable) -> None:
    pk = fresh_key()
    entry_bytes = len("pk") + len(pk["pk"]["S"]) + len("sk") + len("first") + len("l") + len("ll")
    local = {"l": text("ll"), "g": text("gg")}
    assert table.fault("PutItem", Item=sized(pk, "first", LIMIT_BYTES - entry_bytes + 1, **local)) == TOO_LARGE
    table.put(sized(pk, "first", LIMIT_BYTES - entry_bytes, **local))
    table.update(pk | {"sk": text("first")}, "REMOVE l")
    table.put(sized(pk, "first", LIMIT_BYTES, g=text("gg")))


def test_an_update_must_not_grow_a_collection_beyond_its_limit(table: DataTable) -> None:
    pk = filled(table)
    key = pk | {"sk": text("first")}
    added = {"UpdateExpression": "SET b = :b"}
    values = {":b": text("x" * 100)}
    assert table.fault("UpdateItem", Key=key, ExpressionAttributeValues=values, **added) == TOO_LARGE
    assert "b" not in (table.get(key) or {})
    table.update(key, ExpressionAttributeValues={":b": text("x" * 99)}, **added)
    assert table.fault("UpdateItem", Key=pk | {"sk": text("new")}) == TOO_LARGE
    table.update(key, "SET a = :a", ExpressionAttributeValues={":a": text("")})
    table.update(pk | {"sk": text("new")})


def test_an_entry_alone_can_be_too_much(table: DataTable) -> None:
    pk = filled(table, LIMIT_BYTES)
    key = pk | {"sk": text("first")}
    members = {"UpdateExpression": "SET l = a, a = :none", "ExpressionAttributeValues": {":none": text("")}}
    assert table.fault("UpdateItem", Key=key, **members) == TOO_LARGE
    assert (
        table.query(ExpressionAttributeValues={":pk": pk["pk"]}, IndexName="local", ConsistentRead=True)["Count"] == 0
    )


def test_what_frees_room_or_needs_none_passes(table: DataTable) -> None:
    pk = filled(table)
    table.put(sized(pk, "second", 100))
    table.put(sized(pk, "first", 900, b=text("x")))
    table.put(sized(pk, "first", 800))
    table.put(sized(pk, "third", 100))
    table.ask("DeleteItem", Key=pk | {"sk": text("first")})
    table.put(sized(pk, "first", 800))
    assert table.fault("PutItem", Item=pk | {"sk": text("4")}) == TOO_LARGE
    for sort in ("first", "second", "third", "none"):
        table.ask("DeleteItem", Key=pk | {"sk": text(sort)})
    table.put(sized(pk, "all", LIMIT_BYTES))


def test_tables_without_local_indexes_have_no_limit(raw_limited: RawClient) -> None:
    plain = make_table(raw_limited, "S", "S", definitions={"g": "S"}, GlobalSecondaryIndexes=[GLOBAL])
    pk = fresh_key()
    for sort in "ab":
        plain.put(sized(pk, sort, LIMIT_BYTES, g=text("g")))
    assert stored(plain, pk) == ["a", "b"]


def test_a_failed_condition_is_heard_first(table: DataTable) -> None:
    pk = filled(table)
    members = {"ConditionExpression": "attribute_exists(b)"}
    assert table.fault("PutItem", Item=sized(pk, "first", 1_100), **members) == CONDITION_FAILED
    key = {"Key": pk | {"sk": text("first")}, "UpdateExpression": "SET b = :b"}
    values = {"ExpressionAttributeValues": {":b": text("x" * 100)}}
    assert table.fault("UpdateItem", **key, **values, **members) == CONDITION_FAILED


def test_a_wrong_operand_is_heard_first(table: DataTable) -> None:
    pk = filled(table)
    members = {"UpdateExpression": "SET b = :b, c = a + :n"}
    values = {"ExpressionAttributeValues": {":b": text("x" * 100), ":n": number(1)}}
    code, message = table.fault("UpdateItem", Key=pk | {"sk": text("first")}, **members, **values)
    assert code == "ValidationException"
    assert message == "An operand in the update expression has an incorrect data type"


def test_a_table_deleted_and_made_again_begins_at_nothing(table: DataTable) -> None:
    members = create(table.name + "-again")
    pk = fresh_key()
    for _ in range(2):
        assert table.raw("CreateTable", members).status == 200
        again = DataTable(table.raw, members["TableName"], "")
        again.put(sized(pk, "first", LIMIT_BYTES))
        assert again.fault("PutItem", Item=pk | {"sk": text("2")}) == TOO_LARGE
        again.ask("DeleteTable")


def create(name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "l")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "LocalSecondaryIndexes": [LOCAL],
        "BillingMode": "PAY_PER_REQUEST",
    }


def test_boto3_raises_its_own_class(server: ThreadServer, table: DataTable) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name=signing.REGION,
        aws_access_key_id=signing.ACCESS_KEY,
        aws_secret_access_key=signing.SECRET_KEY,
    )
    pk = filled(table)
    with pytest.raises(client.exceptions.ItemCollectionSizeLimitExceededException, match="Collection size exceeded"):
        client.put_item(TableName=table.name, Item=sized(pk, "second", 101))
    reply = client.put_item(TableName=table.name, Item=sized(pk, "second", 100), ReturnItemCollectionMetrics="SIZE")
    assert reply["ItemCollectionMetrics"] == {"ItemCollectionKey": pk, "SizeEstimateRangeGB": [0.0, 1.0]}
    client.close()


# --- batches --------------------------------------------------------------------------------------


def batch(table: DataTable, *requests: Any) -> dict[str, Any]:
    return {"RequestItems": {table.name: list(requests)}}


def test_a_batch_ends_where_a_collection_would_be_too_large(table: DataTable) -> None:
    pk = filled(table)
    puts = [{"PutRequest": {"Item": sized(pk, f"next-{place}", 40)}} for place in range(4)]
    assert fault(table.raw, "BatchWriteItem", batch(table, *puts)) == TOO_LARGE
    assert stored(table, pk) == ["first", "next-0", "next-1"]


def test_a_batch_may_make_room_first(table: DataTable) -> None:
    pk = filled(table)
    requests = batch(
        table,
        {"DeleteRequest": {"Key": pk | {"sk": text("first")}}},
        {"PutRequest": {"Item": sized(pk, "second", 900)}},
        {"DeleteRequest": {"Key": pk | {"sk": text("none")}}},
    )
    assert table.ask("BatchWriteItem", **requests) == {"UnprocessedItems": {}}
    assert stored(table, pk) == ["second"]


# --- transactions ---------------------------------------------------------------------------------


def test_a_transaction_is_cancelled_for_a_collection_that_would_be_too_large(table: DataTable) -> None:
    pk, other = filled(table), filled(table)
    actions = [
        put(table, sized(pk, "second", 60)),
        put(table, sized(other, "second", 100)),
        check(table, pk | {"sk": text("first")}),
        update(table, pk | {"sk": text("third")}, ExpressionAttributeValues={":a": text("x" * 40)}),
        delete(table, pk | {"sk": text("none")}),
    ]
    expected = [TOO_LARGE_REASON, NONE, NONE, TOO_LARGE_REASON, NONE]
    assert reasons(table.raw, *actions) == expected
    assert reasons(table.raw, *actions, ClientRequestToken=pk["pk"]["S"]) == expected
    assert (stored(table, pk), stored(table, other)) == (["first"], ["first"])
    write(table.raw, *actions[:2], ClientRequestToken=pk["pk"]["S"])
    assert (stored(table, pk), stored(table, other)) == (["first", "second"], ["first", "second"])


def test_a_transaction_counts_as_a_whole(table: DataTable) -> None:
    pk = filled(table)
    write(table.raw, put(table, sized(pk, "second", 900)), delete(table, pk | {"sk": text("first")}))
    assert stored(table, pk) == ["second"]
    actions = [put(table, sized(pk, "third", 200)), update(table, pk | {"sk": text("second")}, "SET a = :a")]
    actions[1]["Update"]["ExpressionAttributeValues"] = {":a": text("x" * 700)}
    write(table.raw, *actions)
    reply = table.raw("TransactWriteItems", {
        "TransactItems": [delete(table, pk | {"sk": text("third")})], "ReturnItemCollectionMetrics": "SIZE",
    })  # fmt: skip
    assert reply.json() == {
        "ItemCollectionMetrics": {table.name: [{"ItemCollectionKey": pk, "SizeEstimateRangeGB": [0.0, 1.0]}]}
    }


def test_other_reasons_of_a_transaction_are_heard_first(table: DataTable) -> None:
    pk = filled(table)
    found = reasons(
        table.raw,
        put(table, sized(pk, "second", 200)),
        check(table, pk | {"sk": text("none")}),
        update(table, pk | {"sk": text("first")}, "SET b = a + :n", ExpressionAttributeValues={":n": number(1)}),
    )
    assert found == [
        NONE,
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
        invalid("An operand in the update expression has an incorrect data type"),
    ]
