"""The stream records of writes: their events and images, which are the same for every kind of write."""

from typing import Any

import pytest

from tests.conformance.streams import StreamTable, make_stream_table, told
from tests.support.raw_client import RawClient

VIEWS = ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]


def item(key: str, number: int | None = None) -> dict[str, Any]:
    return {"id": {"S": key}} | ({} if number is None else {"n": {"N": str(number)}})


def test_a_record_member_by_member(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("k\u00e9y", n={"N": "1.0"}, b={"B": "AAE="})
    (record,) = table.records()
    content = record.pop("dynamodb")
    event_id = record.pop("eventID")
    assert len(event_id) == 32
    assert set(event_id) <= set("0123456789abcdef")
    assert record == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": table.arn.split(":")[3],
    }
    assert content.pop("SequenceNumber").isdigit()
    assert isinstance(content.pop("ApproximateCreationDateTime"), int)
    key = {"id": {"S": "k\u00e9y"}}
    assert content == {
        "Keys": key,
        "NewImage": key | {"n": {"N": "1"}, "b": {"B": "AAE="}},
        "SizeBytes": (2 + 4) + (2 + 4) + (1 + 2) + (1 + 2),
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }


@pytest.mark.parametrize("view_type", VIEWS)
def test_views(raw: RawClient, view_type: str) -> None:
    table = make_stream_table(raw, view_type)
    table.put("a", n={"N": "1"})
    table.put("a", n={"N": "2"})
    table.delete("a")
    has_new, has_old = "NEW" in view_type, "OLD" in view_type
    expected = [
        ("INSERT", None, item("a", 1)),
        ("MODIFY", item("a", 1), item("a", 2)),
        ("REMOVE", item("a", 2), None),
    ]
    assert told(table.records()) == [
        (event, old if has_old else None, new if has_new else None) for event, old, new in expected
    ]
    key_bytes, image_bytes = 3, 3 + 3
    sizes = [one["dynamodb"]["SizeBytes"] for one in table.records()]
    assert sizes == [
        key_bytes + image_bytes * ((old is not None and has_old) + (new is not None and has_new))
        for _, old, new in expected
    ]
    assert {one["dynamodb"]["StreamViewType"] for one in table.records()} == {view_type}
    assert all(one["dynamodb"]["Keys"] == item("a") for one in table.records())


def test_an_item_that_is_only_its_key_has_images(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("a")
    table.delete("a")
    assert told(table.records()) == [("INSERT", None, item("a")), ("REMOVE", item("a"), None)]


def test_what_changes_nothing_is_not_told(raw: RawClient) -> None:
    table = make_stream_table(raw)
    first = {"m": {"M": {"a": {"N": "1"}, "b": {"N": "2"}}}, "s": {"SS": ["x", "y"]}, "n": {"N": "10"}}
    table.put("a", **first)
    table.put("a", m={"M": {"b": {"N": "2.0"}, "a": {"N": "1"}}}, s={"SS": ["y", "x"]}, n={"N": "1e1"})
    update = {"TableName": table.name, "Key": item("a")}
    table.ask("UpdateItem", **update, UpdateExpression="SET n = :n", ExpressionAttributeValues={":n": {"N": "10"}})
    table.ask("UpdateItem", **update)
    table.delete("missing")
    table.ask("UpdateItem", TableName=table.name, Key=item("missing"), UpdateExpression="REMOVE x")
    requests: list[Any] = [{"DeleteRequest": {"Key": item("missing")}}, {"PutRequest": {"Item": item("a") | first}}]
    table.ask("BatchWriteItem", RequestItems={table.name: requests})
    check = {"TableName": table.name, "Key": item("a"), "ConditionExpression": "attribute_exists(id)"}
    table.ask("TransactWriteItems", TransactItems=[{"ConditionCheck": check}])
    assert [one["eventName"] for one in table.of("a")] == ["INSERT"]


def test_an_update_of_nothing_but_the_key_makes_an_item(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.ask("UpdateItem", TableName=table.name, Key=item("new"))
    assert told(table.records()) == [("INSERT", None, item("new"))]


def plainly(table: StreamTable) -> None:
    table.put("a", n={"N": "1"})
    table.put("b", n={"N": "1"})
    table.ask(
        "UpdateItem",
        TableName=table.name,
        Key=item("a"),
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": {"N": "2"}},
    )
    table.delete("b")


def in_batches(table: StreamTable) -> None:
    for requests in (
        [{"PutRequest": {"Item": item("a", 1)}}, {"PutRequest": {"Item": item("b", 1)}}],
        [{"PutRequest": {"Item": item("a", 2)}}, {"DeleteRequest": {"Key": item("b")}}],
    ):
        table.ask("BatchWriteItem", RequestItems={table.name: requests})


def in_transactions(table: StreamTable) -> None:
    name = {"TableName": table.name}
    table.ask(
        "TransactWriteItems",
        TransactItems=[{"Put": name | {"Item": item("a", 1)}}, {"Put": name | {"Item": item("b", 1)}}],
    )
    update = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "2"}}}
    table.ask(
        "TransactWriteItems",
        TransactItems=[{"Update": name | {"Key": item("a")} | update}, {"Delete": name | {"Key": item("b")}}],
    )


def by_statements(table: StreamTable) -> None:
    for statement in (
        f"INSERT INTO \"{table.name}\" VALUE {{'id': 'a', 'n': 1}}",
        f"INSERT INTO \"{table.name}\" VALUE {{'id': 'b', 'n': 1}}",
        f"UPDATE \"{table.name}\" SET n = 2 WHERE id = 'a'",
        f"DELETE FROM \"{table.name}\" WHERE id = 'b'",
    ):
        table.ask("ExecuteStatement", Statement=statement)


def by_transactions_of_statements(table: StreamTable) -> None:
    for statements in (
        [f"INSERT INTO \"{table.name}\" VALUE {{'id': '{key}', 'n': 1}}" for key in "ab"],
        [f"UPDATE \"{table.name}\" SET n = 2 WHERE id = 'a'", f"DELETE FROM \"{table.name}\" WHERE id = 'b'"],
    ):
        table.ask("ExecuteTransaction", TransactStatements=[{"Statement": one} for one in statements])


@pytest.mark.parametrize("write", [in_batches, in_transactions, by_statements, by_transactions_of_statements])
def test_every_way_of_writing_tells_the_same(raw: RawClient, write: Any) -> None:
    usual, other = make_stream_table(raw), make_stream_table(raw)
    plainly(usual)
    write(other)
    for key in ("a", "b"):
        assert told(other.of(key)) == told(usual.of(key))
        sizes = [[one["dynamodb"]["SizeBytes"] for one in table.of(key)] for table in (usual, other)]
        assert sizes[0] == sizes[1]
    assert len(other.records()) == 4


def test_changes_of_an_item_are_in_one_shard_and_in_order(raw: RawClient) -> None:
    table = make_stream_table(raw, "NEW_IMAGE")
    for number in range(5):
        for key in "abcdefgh":
            table.put(key, n={"N": str(number)})
    homes: dict[str, set[str]] = {}
    for shard in table.shard_ids():
        seen: dict[str, list[str]] = {}
        for record in table.read(table.iterator(shard)):
            image = record["dynamodb"]["NewImage"]
            seen.setdefault(image["id"]["S"], []).append(image["n"]["N"])
            homes.setdefault(image["id"]["S"], set()).add(shard)
        assert all(numbers == list("01234") for numbers in seen.values())
    assert all(len(shards) == 1 for shards in homes.values())
    assert len(set().union(*homes.values())) > 1
    ids = [one["eventID"] for one in table.records()]
    assert len(ids) == len(set(ids)) == 40


def test_a_refused_transaction_leaves_nothing(raw: RawClient) -> None:
    table = make_stream_table(raw)
    name = {"TableName": table.name}
    refused = {"ConditionCheck": name | {"Key": item("c"), "ConditionExpression": "attribute_exists(id)"}}
    assert raw("TransactWriteItems", {"TransactItems": [{"Put": name | {"Item": item("a")}}, refused]}).status == 400
    assert table.records() == []
