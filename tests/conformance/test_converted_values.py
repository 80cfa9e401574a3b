"""Requests with truth values given as words, with numbers that are cut, or without a required member:
the older layer words their faults.

Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 4 and 5).
"""

from typing import Any

import pytest

from tests.conformance.item_tables import ENVELOPE, INVALID, DataTable, fresh_key, text
from tests.conformance.tables import validation
from tests.support.raw_client import RawClient

NOT_TRUE = INVALID + "Null attribute value types must have the value of true"
SYNTAX = 'Syntax error; token: "<EOF>", near: "="'
WRITES = ["PutItem", "UpdateItem", "DeleteItem"]


def written(operation: str, **attributes: Any) -> dict[str, Any]:
    """A request to write or delete an item with these attributes, valid or not."""
    return {"Item" if operation == "PutItem" else "Key": fresh_key() | attributes}


@pytest.mark.parametrize("operation", [*WRITES, "GetItem"])
@pytest.mark.parametrize("word", ["no", "f", "FALSE", "0", "N"])
def test_a_word_for_false_in_null_is_refused_without_an_envelope(table: DataTable, operation: str, word: str) -> None:
    assert table.refusal(operation, **written(operation, a={"NULL": word})) == NOT_TRUE
    assert table.refusal(operation, **written(operation, a={"M": {"b": {"L": [{"NULL": word}]}}})) == NOT_TRUE
    envelope = "" if operation == "GetItem" else ENVELOPE
    assert table.refusal(operation, **written(operation, a={"NULL": False})) == envelope + NOT_TRUE


@pytest.mark.parametrize("operation", WRITES)
@pytest.mark.parametrize("value", [{"BOOL": "yes"}, {"NULL": "T"}, {"L": [{"M": {"x": {"BOOL": "0"}}}]}])
def test_other_faults_beside_a_word_are_in_the_older_wording(table: DataTable, operation: str, value: Any) -> None:
    own = written(operation)
    faulty = {"ConditionExpression": "a =", "ExpressionAttributeValues": {":a": value}}
    assert table.refusal(operation, **own, **faulty) == "Invalid ConditionExpression: " + SYNTAX
    faulty = {"ConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": {"SS": []}, ":b": value}}
    assert table.refusal(operation, **own, **faulty) == (
        f"ExpressionAttributeValues contains invalid value: {INVALID}An string set  may not be empty for key :a"
    )
    faulty["ReturnConsumedCapacity"] = "x"
    assert table.refusal(operation, **own, **faulty, ReturnValues="y") == (
        "2 validation errors detected: Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint:"
        " Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value 'y' at 'returnValues' failed to satisfy"
        " constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
    )


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_reads_with_a_word_or_a_cut_number_are_in_the_older_wording(table: DataTable, operation: str) -> None:
    bad = {"FilterExpression": "a = :a", "ExpressionAttributeValues": {":a": {"N": ""}, ":pk": text("a")}}
    if operation == "Query":
        bad["KeyConditionExpression"] = "pk = :pk"
    older = (
        "ExpressionAttributeValues contains invalid value: The parameter cannot be converted to"
        " a numeric value for key :a"
    )
    assert table.refusal(operation, **bad) == "The parameter cannot be converted to a numeric value: "
    assert table.refusal(operation, **bad, Limit=1.5) == older
    assert table.refusal(operation, **bad, Limit=1.0) == "The parameter cannot be converted to a numeric value: "
    bad["ExpressionAttributeValues"][":b"] = {"BOOL": "yes"}  # type: ignore[index]
    assert table.refusal(operation, **bad) == older


@pytest.mark.parametrize("word", ["true", "t", "yes", "y", "1", "T", "Yes", "TRUE"])
def test_words_for_true_are_read(table: DataTable, word: str) -> None:
    key = fresh_key()
    table.put(key | {"a": {"BOOL": word}, "b": {"NULL": word}})
    assert table.ask("GetItem", Key=key, ConsistentRead=word)["Item"] == key | {
        "a": {"BOOL": True},
        "b": {"NULL": True},
    }
    for order in (word, "n"):
        values = {":pk": key["pk"]}
        assert table.query(ExpressionAttributeValues=values, ScanIndexForward=order, ConsistentRead=word)["Count"] == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("on", "Unexpected token received from parser"), ("", "Unexpected token received from parser"),
        (1, "NUMBER_VALUE cannot be converted to Boolean"), (1.5, "DECIMAL_VALUE cannot be converted to Boolean"),
        ([], None), (["true"], None), ({}, "Start of structure or map found where not expected"),
    ],
)  # fmt: skip
def test_what_is_no_truth_value(table: DataTable, value: Any, message: str | None) -> None:
    refusal = ("SerializationException", message)
    assert table.fault("GetItem", Key=fresh_key(), ConsistentRead=value) == refusal
    assert table.fault("Query", ScanIndexForward=value) == refusal
    for kind in ("BOOL", "NULL"):
        assert table.fault("PutItem", Item=fresh_key() | {"a": {kind: value}}) == refusal


# --- a required member is missing --------------------------------------------------------------------


def test_a_query_without_its_table_gets_the_older_list(raw: RawClient) -> None:
    assert validation(raw, "Query", {"Limit": 0, "Select": "X"}) == (
        "3 validation errors detected: Value 'X' at 'select' failed to satisfy constraint:"
        " Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES];"
        " Value null at 'tableName' failed to satisfy constraint: Member must not be null;"
        " Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
    )
    unknown = {
        "KeyConditions": {"a": {"ComparisonOperator": "eq"}, "b": {}},
        "TableName": None,
        "ConditionalOperator": "XOR",
    }
    assert (validation(raw, "Query", unknown) or "").startswith(
        "4 validation errors detected: Value null at 'tableName' "
    )


@pytest.mark.parametrize("operation", WRITES)
def test_a_write_without_its_table_gets_the_older_list(raw: RawClient, operation: str) -> None:
    told = validation(raw, operation, written(operation) | {"ReturnValues": "y", "ConditionalOperator": "XOR"})
    returned = (
        "Value 'y' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, "
    )
    assert told is not None
    assert told.startswith("3 validation errors detected: Value null at 'tableName' failed to satisfy constraint: ")
    assert returned in told
    assert "Value 'XOR' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum" in told


def test_a_batch_of_reads_with_a_word_is_in_the_older_wording(table: DataTable) -> None:
    key = fresh_key() | {"a": {"SS": ["b", "a", "b"]}}
    for extra, repeated in (({}, '"a", "b", "b"'), ({"c": {"BOOL": "yes"}}, "b, a, b")):
        batch = {"RequestItems": {table.name: {"Keys": [key | extra]}}}
        assert (
            validation(table.raw, "BatchGetItem", batch)
            == INVALID + f"Input collection [{repeated}] contains duplicates."
        )
        assert (
            table.refusal("GetItem", Key=key | extra) == INVALID + f"Input collection [{repeated}] contains duplicates."
        )
