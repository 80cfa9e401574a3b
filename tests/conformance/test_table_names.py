"""TableName of the data plane: a name of 3 to 255 characters, or an ARN, which may be longer."""

from typing import Any

import pytest

from tests.conformance.item_tables import NOT_FOUND, DataTable, text
from tests.conformance.tables import fault, validation
from tests.support.raw_client import RawClient

KEY = {"pk": text("a")}
BODIES: dict[str, dict[str, Any]] = {
    "GetItem": {"Key": KEY},
    "PutItem": {"Item": KEY},
    "UpdateItem": {"Key": KEY},
    "DeleteItem": {"Key": KEY},
    "Query": {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": text("a")}},
    "Scan": {},
}
ACTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "Get": ("TransactGetItems", {"Key": KEY}),
    "Put": ("TransactWriteItems", {"Item": KEY}),
    "Delete": ("TransactWriteItems", {"Key": KEY}),
    "Update": ("TransactWriteItems", {"Key": KEY, "UpdateExpression": "REMOVE a"}),
    "ConditionCheck": ("TransactWriteItems", {"Key": KEY, "ConditionExpression": "attribute_exists(pk)"}),
}
LONG = "x" * 256
AT_MOST_255 = "failed to satisfy constraint: Member must have length less than or equal to 255"
AT_LEAST_3 = "failed to satisfy constraint: Member must have length greater than or equal to 3"
CAPACITY = (
    "Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set:"
    " [INDEXES, TOTAL, NONE]"
)
PATTERN = "failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"


def arn_of(table: DataTable, name: str) -> str:
    return table.arn.rpartition("/")[0] + "/" + name


@pytest.mark.parametrize("operation", BODIES)
@pytest.mark.parametrize("name", [LONG, "x" * 1024, "x" * 1025, ":arn:" + LONG])
def test_a_longer_name_is_refused(raw: RawClient, operation: str, name: str) -> None:
    expected = f"Value '{name}' at 'tableName' {AT_MOST_255}"
    if ":" in name and operation != "Scan":
        expected = f"2 validation errors detected: Value '{name}' at 'tableName' {PATTERN}; {expected}"
    else:
        expected = f"1 validation error detected: {expected}"
    assert validation(raw, operation, BODIES[operation] | {"TableName": name}) == expected


@pytest.mark.parametrize("operation", BODIES)
def test_a_longer_name_is_told_with_other_constraints(raw: RawClient, operation: str) -> None:
    body = BODIES[operation] | {"TableName": LONG, "ReturnConsumedCapacity": "x"}
    texts = [
        CAPACITY,
        f"Value '{LONG}' at 'tableName' {AT_MOST_255}",
    ]
    if operation == "Scan":
        texts.reverse()
    assert validation(raw, operation, body) == "2 validation errors detected: " + "; ".join(texts)


@pytest.mark.parametrize("operation", BODIES)
@pytest.mark.parametrize("name", ["a", "ab", "a!"])
def test_a_shorter_name_is_refused(raw: RawClient, operation: str, name: str) -> None:
    expected = f"Value '{name}' at 'tableName' {AT_LEAST_3}"
    if "!" in name and operation != "Scan":
        expected = f"2 validation errors detected: Value '{name}' at 'tableName' {PATTERN}; {expected}"
    else:
        expected = f"1 validation error detected: {expected}"
    assert validation(raw, operation, BODIES[operation] | {"TableName": name}) == expected


@pytest.mark.parametrize("action", ACTIONS)
def test_a_shorter_name_in_a_transaction(raw: RawClient, action: str) -> None:
    operation, members = ACTIONS[action]
    path = f"transactItems.1.member.{action[0].lower()}{action[1:]}.tableName"
    request = {"TransactItems": [{action: members | {"TableName": "ab"}}]}
    assert validation(raw, operation, request) == f"1 validation error detected: Value 'ab' at '{path}' {AT_LEAST_3}"


@pytest.mark.parametrize("operation", BODIES)
def test_longest_name_and_longer_arn_are_looked_up(table: DataTable, operation: str) -> None:
    for name in ("x" * 255, arn_of(table, "x" * 255), arn_of(table, LONG)):
        assert fault(table.raw, operation, BODIES[operation] | {"TableName": name}) == NOT_FOUND


@pytest.mark.parametrize("operation", BODIES)
def test_an_arn_is_bounded_too(raw: RawClient, operation: str) -> None:
    arn = "arn:" + "x" * 1021
    assert validation(raw, operation, BODIES[operation] | {"TableName": arn}) == (
        f"1 validation error detected: Value '{arn}' at 'tableName' failed to satisfy constraint: "
        "Member must have length less than or equal to 1024"
    )


@pytest.mark.parametrize("action", ACTIONS)
def test_a_longer_name_in_a_transaction(table: DataTable, action: str) -> None:
    operation, members = ACTIONS[action]
    path = f"transactItems.1.member.{action[0].lower()}{action[1:]}.tableName"
    request = {"TransactItems": [{action: members | {"TableName": LONG}}]}
    assert validation(table.raw, operation, request) == (
        f"1 validation error detected: Value '{LONG}' at '{path}' {AT_MOST_255}"
    )
    for name in ("x" * 255, arn_of(table, "x" * 255)):
        request = {"TransactItems": [{action: members | {"TableName": name}}]}
        assert fault(table.raw, operation, request) == NOT_FOUND
