"""However large a malformed request is: its refusal is short, and no more of it is looked at than the refusal needs."""

import json
from typing import Any

import pytest

from hashrange.errors import ValidationException
from hashrange.limits import ECHO_CHARACTERS_MAX, PATH_KEY_CHARACTERS_MAX
from hashrange.operations.registry import OPERATIONS
from hashrange.wire.faults import explain

DELETE = {"Delete": {"TableName": "Tab", "Key": {"pk": {"S": "1"}}}}
MESSAGE_MAX = 10 * (ECHO_CHARACTERS_MAX + PATH_KEY_CHARACTERS_MAX + 500)
"""Characters of ten violations: value, path and sentence."""


def message_of(operation_name: str, body: dict[str, Any]) -> str:
    """The message of the ValidationException."""
    with pytest.raises(ValidationException) as caught:
        explain(OPERATIONS[operation_name].request, operation_name, json.dumps(body).encode())
    assert caught.value.message is not None
    return caught.value.message


LARGE: list[tuple[str, dict[str, Any]]] = [
    ("TransactWriteItems", {"TransactItems": [DELETE] * 2_000}),
    ("TransactWriteItems", {"TransactItems": [{"Delete": {}}] * 2_000}),
    ("BatchGetItem", {"RequestItems": {f"Tab{number}": {"Keys": [{"pk": {"S": "1"}}]} for number in range(2_000)}}),
    ("BatchGetItem", {"RequestItems": {"T" * 100_000: {}}}),
    ("BatchGetItem", {"RequestItems": {"T" * 100_000: {"Keys": []}}}),
    ("BatchWriteItem", {"RequestItems": {"Tab": [{"DeleteRequest": {"Key": {"pk": {"S": "1"}}}}] * 2_000}}),
    ("BatchWriteItem", {"RequestItems": {"T" * 100_000: [{"DeleteRequest": {}}] * 20}}),
    ("PutItem", {"TableName": "T" * 100_000, "Item": {}}),
    ("GetItem", {"TableName": "Tab", "Key": {}, "AttributesToGet": ["a"] * 20_000}),
    ("Scan", {"TableName": "Tab", "ScanFilter": {"a" * 100_000: {}}}),
]


@pytest.mark.parametrize(("operation_name", "body"), LARGE)
def test_a_refusal_is_short_however_large_the_request(operation_name: str, body: dict[str, Any]) -> None:
    assert len(message_of(operation_name, body)) <= MESSAGE_MAX


def test_a_value_is_told_up_to_a_bound() -> None:
    longest = "a" * ECHO_CHARACTERS_MAX
    for text, told in ((longest, longest), (longest + "b", longest + "...")):
        message = message_of("PutItem", {"TableName": text, "Item": {}})
        assert message.startswith(f"1 validation error detected: Value '{told}' at 'tableName' failed")


def test_a_list_is_told_up_to_a_bound() -> None:
    told = ("a, " * ECHO_CHARACTERS_MAX)[: ECHO_CHARACTERS_MAX - 1]
    message = message_of("GetItem", {"TableName": "Tab", "Key": {}, "AttributesToGet": ["a"] * ECHO_CHARACTERS_MAX})
    assert message.startswith(f"1 validation error detected: Value '[{told}...' at 'attributesToGet' failed")


def test_a_key_stands_in_a_path_up_to_a_bound() -> None:
    told = "T" * PATH_KEY_CHARACTERS_MAX + "..."
    assert f"'RequestItems.{told}.member.Keys'" in message_of(
        "BatchGetItem", {"RequestItems": {"T" * 9_999: {"Keys": []}}}
    )
