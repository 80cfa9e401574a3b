"""In which order are the members of a number set listed?
By value by some operations, as a Java hash set by the others.
"""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Item, make_table, number, text
from tests.conformance.partiql import failure, items, statement
from tests.conformance.streams import make_stream_table
from tests.support.raw_client import RawClient

BY_VALUE = ["1", "2", "3", "100"]
HASHED = ["3", "100", "2", "1"]
"""The hash of 100, as 1E+2, falls into the bucket of 3."""
SETS: dict[str, Any] = {
    "ns": {"NS": BY_VALUE},
    "l": {"L": [{"M": {"deep": {"NS": BY_VALUE}}}]},
    "text": text('"NS":["1","2"]'),
}
HASHED_SETS = SETS | {"ns": {"NS": HASHED}, "l": {"L": [{"M": {"deep": {"NS": HASHED}}}]}}
KEY = {"pk": text("a"), "sk": text("b")}
WHERE = "WHERE pk = 'a' AND sk = 'b'"
NEVER = {"ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


@pytest.fixture
def table(raw: RawClient) -> DataTable:
    made = make_table(raw, "S", "S")
    made.put(KEY | SETS)
    return made


def found(item: Item) -> Item:
    """The item without its key."""
    return {name: value for name, value in item.items() if name not in KEY}


def test_reads_and_single_writes_list_by_value(table: DataTable) -> None:
    requests = {table.name: {"Keys": [KEY], "ConsistentRead": True}}
    batch = table.raw("BatchGetItem", {"RequestItems": requests}).json()["Responses"][table.name]
    query = table.ask(
        "Query", ConsistentRead=True, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": text("a")}
    )["Items"]
    ordered = table.ask("PutItem", Item=KEY | HASHED_SETS, ReturnValues="ALL_OLD")["Attributes"]
    again = table.ask("GetItem", Key=KEY, ConsistentRead=True)["Item"]
    changed = table.ask(
        "UpdateItem",
        Key=KEY,
        UpdateExpression="ADD ns :more",
        ExpressionAttributeValues={":more": {"NS": ["-1"]}},
        ReturnValues="UPDATED_NEW",
    )["Attributes"]
    refusal = table.raw("PutItem", {"TableName": table.name, "Item": KEY} | NEVER).json()["Item"]
    for item in (*batch, *query, ordered, again):
        assert found(item) == SETS
    assert changed == {"ns": {"NS": ["-1", *BY_VALUE]}}
    assert found(refusal) == SETS | changed


@pytest.mark.parametrize(
    "members", [{}, {"FilterExpression": "attribute_exists(ns)"}, {"ProjectionExpression": "ns, l, #t"}]
)
def test_scan_lists_as_a_hash_set(table: DataTable, members: dict[str, Any]) -> None:
    if "ProjectionExpression" in members:
        members = members | {"ExpressionAttributeNames": {"#t": "text"}}
    (item,) = table.ask("Scan", ConsistentRead=True, **members)["Items"]
    assert found(item) == HASHED_SETS


def test_statements_list_as_a_hash_set(table: DataTable) -> None:
    for text_of in (f"SELECT * FROM {{t}} {WHERE}", "SELECT * FROM {t}", "SELECT ns, l, text FROM {t} WHERE pk = 'a'"):
        (item,) = items(table, text_of)
        assert found(item) == HASHED_SETS
    (item,) = items(table, f"UPDATE {{t}} SET x = 1 {WHERE} RETURNING ALL OLD *")
    assert found(item) == HASHED_SETS
    (item,) = items(table, f"UPDATE {{t}} SET y = << 2, 1 >> {WHERE} RETURNING MODIFIED NEW *")
    assert item == {"y": {"NS": ["2", "1"]}}
    refused = table.raw(
        "ExecuteStatement",
        statement(table, f"DELETE FROM {{t}} {WHERE} AND x = 2") | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"},
    )
    assert found(refused.json()["Item"]) == HASHED_SETS | {"x": number(1), "y": {"NS": ["2", "1"]}}
    assert failure(table, f"DELETE FROM {{t}} {WHERE} AND x = 2")[0] == "ConditionalCheckFailedException"


def test_batches_of_statements_list_as_a_hash_set(table: DataTable) -> None:
    asked = [statement(table, f"SELECT * FROM {{t}} {WHERE}") | {"ConsistentRead": True}]
    (read,) = table.raw("BatchExecuteStatement", {"Statements": asked}).json()["Responses"]
    assert found(read["Item"]) == HASHED_SETS
    refused = statement(table, f"DELETE FROM {{t}} {WHERE} AND ns = 2") | {
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
    }
    (answer,) = table.raw("BatchExecuteStatement", {"Statements": [refused]}).json()["Responses"]
    assert found(answer["Error"]["Item"]) == HASHED_SETS
    removed = statement(table, f"DELETE FROM {{t}} {WHERE} RETURNING ALL OLD *")
    (answer,) = table.raw("BatchExecuteStatement", {"Statements": [removed]}).json()["Responses"]
    assert found(answer["Item"]) == HASHED_SETS


def test_transactions_and_their_reasons_list_as_a_hash_set(table: DataTable) -> None:
    get = {"Get": {"TableName": table.name, "Key": KEY}}
    (read,) = table.raw("TransactGetItems", {"TransactItems": [get]}).json()["Responses"]
    assert found(read["Item"]) == HASHED_SETS
    get["Get"]["ProjectionExpression"] = "ns"
    (read,) = table.raw("TransactGetItems", {"TransactItems": [get]}).json()["Responses"]
    assert read["Item"] == {"ns": {"NS": HASHED}}
    asked = [statement(table, f"SELECT * FROM {{t}} {WHERE}")]
    (read,) = table.raw("ExecuteTransaction", {"TransactStatements": asked}).json()["Responses"]
    assert found(read["Item"]) == HASHED_SETS
    put = {"Put": {"TableName": table.name, "Item": KEY} | NEVER}
    (reason,) = table.raw("TransactWriteItems", {"TransactItems": [put]}).json()["CancellationReasons"]
    assert found(reason["Item"]) == HASHED_SETS
    refused = statement(table, f"DELETE FROM {{t}} {WHERE} AND ns = 2") | {
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
    }
    (reason,) = table.raw("ExecuteTransaction", {"TransactStatements": [refused]}).json()["CancellationReasons"]
    assert found(reason["Item"]) == HASHED_SETS


def test_records_of_streams_list_as_a_hash_set(raw: RawClient) -> None:
    table = make_stream_table(raw)
    table.put("a", **SETS)
    table.put("a", **SETS, n=number(1))
    first, second = [record["dynamodb"] for record in table.of("a")]
    key = {"id": text("a")}
    assert first["NewImage"] == second["OldImage"] == key | HASHED_SETS
    assert second["NewImage"] == key | HASHED_SETS | {"n": number(1)}
