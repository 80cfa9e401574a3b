"""However large a malformed request is: its refusal is short, and no more of it is looked at than the refusal needs."""

import contextlib
import gc
import json
import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

import msgspec
import pytest

from hashrange import steps
from hashrange.errors import ApiError, SerializationException, ValidationException
from hashrange.limits import ECHO_CHARACTERS_MAX, MEMBERS_LOOKED_AT, PATH_KEY_CHARACTERS_MAX, STRUCTURES_MAX
from hashrange.operations.items.batch_get_item import BatchGetItemRequest
from hashrange.operations.registry import OPERATIONS
from hashrange.steps import TOGETHER_MEMBERS, look
from hashrange.wire import faults
from hashrange.wire.faults import explain_object, find_fault
from tests.support.explaining import explain

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


def steps_of(operation_name: str, body: dict[str, Any]) -> int:
    """How many calls of Python functions it takes to find the first fault, whatever it is."""
    steps = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal steps
        steps += event == "call"

    decoded = json.loads(json.dumps(body))
    look()  # counted steps begin anew
    gc.collect()
    gc.disable()  # other tests may have left callbacks there, which would be counted
    sys.setprofile(count)
    try:
        with contextlib.suppress(ApiError):
            explain_object(OPERATIONS[operation_name].request, operation_name, decoded)
    finally:
        sys.setprofile(None)
        gc.enable()
    return steps


TABLE = {"TableName": "Tab"}
ARN = {"ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/Tab"}
MANY: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "actions": ("TransactWriteItems", lambda count: {"TransactItems": [DELETE] * count}),
    "empty actions": ("TransactWriteItems", lambda count: {"TransactItems": [{}] * count}),
    "faulty actions": ("TransactWriteItems", lambda count: {"TransactItems": [{"Delete": {}}] * count}),
    "tables": ("BatchGetItem", lambda count: {"RequestItems": {f"Tab{number}": {} for number in range(count)}}),
    "keys": ("BatchGetItem", lambda count: {"RequestItems": {"Tab": {"Keys": [{"pk": {"S": "1"}}] * count}}}),
    "keys of tables": (
        "BatchGetItem",
        lambda count: {"RequestItems": {f"Tab{number}": {"Keys": [{}] * 200} for number in range(count // 100)}},
    ),
    "writes": ("BatchWriteItem", lambda count: {"RequestItems": {"Tab": [{"DeleteRequest": {"Key": {}}}] * count}}),
    "empty lists": ("BatchWriteItem", lambda count: {"RequestItems": {f"Tab{number}": [] for number in range(count)}}),
    "names to get": ("GetItem", lambda count: TABLE | {"Key": {}, "AttributesToGet": ["a"] * count}),
    "names": ("PutItem", lambda count: TABLE | {"ExpressionAttributeNames": {f"#{n}": "a" for n in range(count)}}),
    "tags": ("TagResource", lambda count: ARN | {"Tags": [{"Key": "a", "Value": "b"}] * count}),
    "faulty tags": ("TagResource", lambda count: ARN | {"Tags": [{}] * count}),
    "tag keys": ("UntagResource", lambda count: ARN | {"TagKeys": ["a"] * count}),
    "definitions": ("CreateTable", lambda count: TABLE | {"AttributeDefinitions": [{}] * count}),
    "key elements": ("CreateTable", lambda count: TABLE | {"KeySchema": [{}] * count}),
    "indexes": ("CreateTable", lambda count: TABLE | {"GlobalSecondaryIndexes": [{}] * count}),
    "projected": (
        "CreateTable",
        lambda count: TABLE | {"LocalSecondaryIndexes": [{"Projection": {"NonKeyAttributes": ["a"] * count}}]},
    ),
    "index updates": ("UpdateTable", lambda count: TABLE | {"GlobalSecondaryIndexUpdates": [{"Delete": {}}] * count}),
    "binaries": ("PutItem", lambda count: TABLE | {"Item": {"a": {"BS": ["AAAA"] * count}}, "ReturnValues": "X"}),
    "statements": ("BatchExecuteStatement", lambda count: {"Statements": [{"Statement": "SELECT"}] * count}),
}


@pytest.mark.parametrize("name", MANY)
def test_more_members_than_allowed_take_no_more_steps(name: str) -> None:
    operation_name, make = MANY[name]
    steps_of(operation_name, make(20_000))  # what is made once: shapes, patterns
    few, many = steps_of(operation_name, make(20_000)), steps_of(operation_name, make(40_000))
    # Texts are looked at many at once: some calls for each 2,048 of them, in which others have their turn.
    assert few <= many <= few + 20_000 // 100
    assert many < 40 * MEMBERS_LOOKED_AT


def test_faults_beyond_those_told_are_not_looked_for() -> None:
    few, many = [
        steps_of("Scan", TABLE | {"ScanFilter": {f"a{number}": {} for number in range(count)}})
        for count in (1_000, 2_000)
    ]
    assert many - few <= 9_000  # cutting, the types of each, and freeing, counted


@pytest.mark.parametrize("nulls", [0, 101, 6_000])
def test_what_is_too_long_stays_so_when_it_is_cut(nulls: int) -> None:
    tables: dict[str, Any] = {f"Null{number}": None for number in range(nulls)}
    tables |= {f"Tab{number}": {"Keys": [{}] * 200} for number in range(101)}
    message = message_of("BatchGetItem", {"RequestItems": tables})
    assert (
        "at 'requestItems' failed to satisfy constraint: Member must have length less than or equal to 100" in message
    )
    assert (
        "'RequestItems.Tab8.member.Keys' failed to satisfy constraint: Member must have length less than or" in message
    )
    assert message.startswith("10 validation errors")


def test_nulls_do_not_make_a_map_too_long() -> None:
    tables: dict[str, Any] = {f"Null{number}": None for number in range(9_999)} | {"Tab": {"Keys": [{}]}}
    text = json.dumps({"RequestItems": tables}).encode()
    assert list(explain(BatchGetItemRequest, "BatchGetItem", text).RequestItems) == ["Tab"]


def test_a_wrong_type_among_the_members_looked_at_still_comes_first() -> None:
    text = json.dumps({"TransactItems": [DELETE] * 4_000 + [1] + [DELETE] * 4_000}).encode()
    with pytest.raises(SerializationException):
        explain(OPERATIONS["TransactWriteItems"].request, "TransactWriteItems", text)


def test_lists_without_a_declared_bound_have_one_of_ours() -> None:
    message = message_of("TagResource", ARN | {"Tags": [{"Key": "a", "Value": "b"}] * (STRUCTURES_MAX + 1)})
    assert message.startswith("1 validation error detected: Value '[Tag(key=a, value=b), Tag(")
    assert message.endswith(
        "...' at 'tags' failed to satisfy constraint: Member must have length less than or equal to 1000"
    )


@pytest.mark.parametrize(
    ("operation_name", "body", "member"),
    [
        ("TransactWriteItems", {"TransactItems": [DELETE] * 20_000}, "TransactItems"),
        ("BatchGetItem", {"RequestItems": {f"Tab{number}": {} for number in range(20_000)}}, "RequestItems"),
    ],
)
def test_what_is_cut_is_freed_in_pieces(
    operation_name: str, body: dict[str, Any], member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = [20_000]
    monkeypatch.setattr(steps, "_look", lambda: lengths.append(len(body[member])))
    with contextlib.suppress(ApiError):
        explain_object(OPERATIONS[operation_name].request, operation_name, body)
    assert lengths[-1] < 10_000
    assert max(before - after for before, after in pairwise(lengths)) <= TOGETHER_MEMBERS


def test_a_refused_request_is_looked_through_and_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(msgspec, "convert")
    request = OPERATIONS["TransactWriteItems"].request
    find_fault(request, "TransactWriteItems", json.dumps({"TransactItems": [DELETE]}).encode())
    with pytest.raises(SerializationException):
        find_fault(request, "TransactWriteItems", b'{"TransactItems":5}')


@pytest.mark.parametrize("select", ["COUNT", "REFUSED"])
def test_what_was_decoded_and_what_was_made_of_it_are_freed_in_pieces(
    select: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, Any]] = []
    for name in ("decode_object", "normalise"):
        monkeypatch.setattr(faults, name, kept(getattr(faults, name), made))
    start = {"a": {"L": [{"N": "1"}] * 3_000}}
    text = json.dumps({"TableName": "music", "ExclusiveStartKey": start, "Select": select})
    with contextlib.suppress(ApiError):
        find_fault(OPERATIONS["Scan"].request, "Scan", text.encode())
    decoded, normalised = made
    assert decoded["ExclusiveStartKey"] == {"a": {"L": []}}
    assert normalised["ExclusiveStartKey"] == {"a": {"L": []}}


def kept(function: Callable[..., dict[str, Any]], made: list[dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The same function; what it returns is kept, too."""

    def keep(*arguments: Any) -> dict[str, Any]:
        made.append(function(*arguments))
        return made[-1]

    return keep
