"""An attribute that is a key of several indexes: which of them does a refusal name?
The alphabetically first, in every operation.
"""

from typing import Any

import pytest

from tests.conformance import partiql
from tests.conformance.item_tables import INVALID, NOT_VALID, DataTable, Item, fresh_key, make_table, number, text
from tests.conformance.transactions import put, reasons, update
from tests.support.raw_client import RawClient

MISMATCH = INVALID + "Type mismatch for Index Key x Expected: S Actual: N IndexName: {}"
EMPTY = (
    NOT_VALID
    + "A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot"
    " contain an empty string value. IndexName: {}, IndexKey: x"
)
SET_X: dict[str, Any] = {"UpdateExpression": "SET x = :x", "ExpressionAttributeValues": {":x": number(1)}}
EVERYTHING = {"ProjectionType": "ALL"}


def global_index(name: str, partition: str = "x") -> dict[str, Any]:
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    if partition != "x":
        keys.append({"AttributeName": "x", "KeyType": "RANGE"})
    return {"IndexName": name, "KeySchema": keys, "Projection": EVERYTHING}


def local_index(name: str) -> dict[str, Any]:
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "x", "KeyType": "RANGE"}]
    return {"IndexName": name, "KeySchema": keys, "Projection": EVERYTHING}


def indexed_by(raw: RawClient, local_names: list[str], global_names: list[str]) -> DataTable:
    """A table whose indexes share the key attribute `x`; the last global one has it as its sort key."""
    *others, last = global_names
    return make_table(
        raw, "S", "S", definitions={"x": "S", "y": "S"},
        LocalSecondaryIndexes=[local_index(name) for name in local_names],
        GlobalSecondaryIndexes=[*[global_index(name) for name in others], global_index(last, "y")],
    )  # fmt: skip


@pytest.fixture(scope="module", params=[
    (["lsi1"], ["gsi1"], "gsi1"),
    (["zzz", "bbb"], ["yyy", "ccc"], "bbb"),
    (["bbb"], ["ccc", "aaa"], "aaa"),
    (["aaa"], ["ZZZ", "mmm"], "ZZZ"),
], ids=lambda names: names[2])  # fmt: skip
def shared(request: pytest.FixtureRequest, raw: RawClient) -> tuple[DataTable, str]:
    """The table, and the index name that refusals must report."""
    local_names, global_names, first = request.param
    return indexed_by(raw, local_names, global_names), first


def keyed() -> Item:
    return fresh_key() | {"sk": text("a")}


def test_a_wrong_type_in_single_writes(shared: tuple[DataTable, str]) -> None:
    table, first = shared
    message = MISMATCH.format(first)
    assert table.refusal("PutItem", Item=keyed() | {"x": number(1)}) == message
    assert table.refusal("UpdateItem", Key=keyed(), **SET_X) == message
    assert table.refusal("UpdateItem", Key=keyed(), AttributeUpdates={"x": {"Value": number(1)}}) == message


def test_a_wrong_type_in_a_batch(raw: RawClient, shared: tuple[DataTable, str]) -> None:
    table, first = shared
    writes = {table.name: [{"PutRequest": {"Item": keyed() | {"x": number(1)}}}]}
    reply = raw("BatchWriteItem", {"RequestItems": writes})
    assert reply.json()["message"] == MISMATCH.format(first)


def test_a_wrong_type_in_a_transaction(raw: RawClient, shared: tuple[DataTable, str]) -> None:
    table, first = shared
    reason = {"Code": "ValidationError", "Message": MISMATCH.format(first)}
    members = {"ExpressionAttributeValues": SET_X["ExpressionAttributeValues"]}
    found = reasons(raw, put(table, keyed() | {"x": number(1)}), update(table, keyed(), "SET x = :x", **members))
    assert found == [reason, reason]


def test_a_wrong_type_in_a_statement(shared: tuple[DataTable, str]) -> None:
    table, first = shared
    insert = "INSERT INTO {t} VALUE {'pk': 'shared', 'sk': 'a', 'x': 1}"
    assert partiql.refused(table, insert) == MISMATCH.format(first)
    table.put({"pk": text("shared"), "sk": text("a")})
    change = "UPDATE {t} SET x = 1 WHERE pk = 'shared' AND sk = 'a'"
    assert partiql.refused(table, change) == MISMATCH.format(first)


def test_an_empty_value(shared: tuple[DataTable, str]) -> None:
    table, first = shared
    assert table.refusal("PutItem", Item=keyed() | {"x": text("")}) == EMPTY.format(first)


def test_an_index_that_is_added_takes_its_place(raw: RawClient) -> None:
    table = indexed_by(raw, ["lsi1"], ["gsi1"])
    table.ask(
        "UpdateTable",
        AttributeDefinitions=[{"AttributeName": "x", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": global_index("added")}],
    )
    assert table.refusal("PutItem", Item=keyed() | {"x": number(1)}) == MISMATCH.format("added")
