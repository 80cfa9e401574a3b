"""However large a malformed request is: its error message is short, and only as much is
inspected as the message needs.
"""

import contextlib
import gc
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from hashrange.errors import ApiError, SerializationException, ValidationException
from hashrange.items import steps
from hashrange.items.steps import TOGETHER_MEMBERS, look
from hashrange.limits import MEMBERS_INSPECTED_MAX, MESSAGE_CHARACTERS_MAX, STRINGS_KEPT_MIN, STRUCTURES_MAX
from hashrange.operations.items.batch_get_item import BatchGetItemRequest
from hashrange.operations.registry import OPERATIONS
from hashrange.server.protocols.dynamodb_json.writing import error_body
from hashrange.wire import faults
from hashrange.wire.faults import find_fault, read_slowly
from hashrange.wire.rules import NO_RULES
from tests.support.explaining import explain
from tests.support.working import calls_of

pytestmark = pytest.mark.usefixtures("only_new_garbage")

DELETE = {"Delete": {"TableName": "Tab", "Key": {"pk": {"S": "1"}}}}
MESSAGE_MAX = 10 * (2 * MESSAGE_CHARACTERS_MAX + 500)
"""Characters of ten violations in a message: value, path and sentence. Actual messages are shorter."""


def message_of(operation_name: str, body: dict[str, Any]) -> str:
    """The message of the ValidationException for a body."""
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


def told(operation_name: str, body: dict[str, Any]) -> str:
    """The message in the error body that is sent."""
    reply: dict[str, str] = json.loads(error_body(ValidationException(message_of(operation_name, body))))
    return reply["message"]


NEAR = MESSAGE_CHARACTERS_MAX - 1_000
"""Number of characters that leaves space for the rest of the message."""


def test_a_value_is_told_whole() -> None:
    name = "a" * NEAR
    message = told("PutItem", {"TableName": name, "Item": {}})
    assert f"Value '{name}' at 'tableName' failed to satisfy constraint: Member must have length less" in message


def test_a_list_is_told_whole() -> None:
    names = ["a"] * (NEAR // 3)
    message = told("GetItem", {"TableName": "Tab", "Key": {}, "AttributesToGet": names})
    assert message.endswith(
        f"Value '[{', '.join(names)}]' at 'attributesToGet' failed to satisfy constraint: Member must have length less"
        " than or equal to 255"
    )


def test_a_hundred_and_one_statements_are_told_whole() -> None:
    statements = [{"Statement": "SELECT * FROM t WHERE pk = 'a'", "Parameters": [{"S": "x"}]}] * 101
    message = told("ExecuteTransaction", {"TransactStatements": statements})
    assert message.count("ParameterizedStatement(statement=SELECT * FROM t WHERE pk = 'a', parameters=[") == 101
    assert message.endswith(
        ")]' at 'transactStatements' failed to satisfy constraint: Member must have length less than or equal to 100"
    )


def test_a_key_stands_in_a_path_whole() -> None:
    name = "T" * NEAR
    message = told("BatchGetItem", {"RequestItems": {name: {"Keys": []}}})
    assert f"'RequestItems.{name}.member.Keys'" in message or message.endswith("...")


@pytest.mark.parametrize("length", [MESSAGE_CHARACTERS_MAX, 1_000_000])
def test_a_message_is_told_up_to_a_bound(length: int) -> None:
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("PutItem", {"TableName": "a" * length, "Item": {}}),
        ("GetItem", {"TableName": "Tab", "Key": {}, "AttributesToGet": ["a"] * length}),
        ("Scan", {"TableName": "Tab", "ScanFilter": {"a" * length: {}}}),
    ]
    for operation_name, body in bodies:
        message = told(operation_name, body)
        assert len(message) == MESSAGE_CHARACTERS_MAX + 3
        assert message.endswith("a..." if operation_name != "GetItem" else "...")


@pytest.fixture(autouse=True)
def no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the look of a server that an earlier test has started: its calls would be counted."""
    monkeypatch.setattr(steps, "_look", None)


def steps_of(operation_name: str, body: dict[str, Any]) -> int:
    """The number of calls of Python functions until the first fault is found, of whatever kind."""
    decoded = msgspec.json.decode(msgspec.json.encode(body))
    look()  # restarts the counting of steps
    gc.disable()  # callbacks left by other tests would be counted
    try:
        return calls_of(read_and_refuse, operation_name, decoded)
    finally:
        gc.enable()


def read_and_refuse(operation_name: str, body: dict[str, Any]) -> None:
    """Read a body, which may be refused."""
    with contextlib.suppress(ApiError):
        read_slowly(OPERATIONS[operation_name].request, OPERATIONS[operation_name].wire.rules, b"", body)


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
    count = STRINGS_KEPT_MIN + 10_000
    steps_of(operation_name, make(count // 100))  # creates the cached shapes and patterns
    few, many = steps_of(operation_name, make(count)), steps_of(operation_name, make(count + count // 2))
    # Texts are inspected in groups of 2,048, with some calls for each group, in which it may give way.
    assert few <= many <= few + count // 100
    assert many < 40 * MEMBERS_INSPECTED_MAX + 8 * MESSAGE_CHARACTERS_MAX


def test_faults_beyond_those_told_are_not_looked_for() -> None:
    few, many = [
        steps_of("Scan", TABLE | {"ScanFilter": {f"a{number}": {} for number in range(count)}})
        for count in (1_000, 2_000)
    ]
    assert many - few <= 9_000  # includes cutting, type checks and freeing of each member


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
        ", Tag(key=a, value=b)]' at 'tags' failed to satisfy constraint: Member must have length"
        " less than or equal to 1000"
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
        read_slowly(OPERATIONS[operation_name].request, OPERATIONS[operation_name].wire.rules, b"", body)
    assert lengths[-1] < 10_000
    assert max(before - after for before, after in pairwise(lengths)) <= TOGETHER_MEMBERS


def test_many_values_that_are_read_leniently_are_freed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = [{"NS": [str(number)]} for number in range(20_000)]
    body: dict[str, Any] = {"Statement": "SELECT", "Parameters": list(parameters), "Unknown": [[1]] * 20_000}
    lengths = [20_000]
    monkeypatch.setattr(steps, "_look", lambda: lengths.append(len(body["Parameters"])))
    copied: list[int] = []
    convert = msgspec.convert

    def noting(members: Any, kind: Any) -> Any:
        copied.append(len(members["Parameters"]))
        return convert(members, kind)

    monkeypatch.setattr(msgspec, "convert", noting)
    operation = OPERATIONS["ExecuteStatement"]
    request: Any = read_slowly(operation.request, operation.wire.rules, b"", body)
    assert request.Parameters == parameters
    assert copied == [1]
    assert (body["Parameters"], body["Unknown"]) == ([], [])
    assert max(before - after for before, after in pairwise(lengths)) <= TOGETHER_MEMBERS


def test_texts_that_are_read_leniently_stay() -> None:
    keys = [f"k{number}" for number in range(5_000)]
    operation = OPERATIONS["UntagResource"]
    members = {"ResourceArn": "arn", "TagKeys": list(keys)}
    request: Any = read_slowly(operation.request, operation.wire.rules, b"", members)
    assert request.TagKeys == keys


def test_a_refused_request_is_looked_through_and_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(msgspec, "convert")
    request = OPERATIONS["TransactWriteItems"].request
    find_fault(request, NO_RULES, json.dumps({"TransactItems": [DELETE]}).encode())
    with pytest.raises(SerializationException):
        find_fault(request, NO_RULES, b'{"TransactItems":5}')


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
        find_fault(OPERATIONS["Scan"].request, OPERATIONS["Scan"].wire.rules, text.encode())
    decoded, normalised = made
    assert decoded["ExclusiveStartKey"] == {"a": {"L": []}}
    assert normalised["ExclusiveStartKey"] == {"a": {"L": []}}


def kept(function: Callable[..., dict[str, Any]], made: list[dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The function, with each of its results also added to `made`."""

    def keep(*arguments: Any) -> dict[str, Any]:
        made.append(function(*arguments))
        return made[-1]

    return keep
