"""Collected constraint violations: paths, rendering, order, the limit of ten, and forms of single operations."""

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from hashrange.errors import ValidationException
from hashrange.operations import shapes
from tests.support.explaining import explain

Name = Annotated[str, Meta(min_length=3, max_length=8, extra={"pattern": shapes.NAME_PATTERN})]


class Element(msgspec.Struct, frozen=True, kw_only=True):
    """A structure nested in others."""

    Name: Name
    SSEType: Literal["HASH", "RANGE"]
    Size: Annotated[int, Meta(ge=1)] | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request with every kind of constraint."""

    Index: Name | None = None
    Number: Annotated[int, Meta(ge=1, le=100)] | None = None
    Elements: Annotated[list[Element], Meta(min_length=1, max_length=2)] | None = None
    Texts: Annotated[list[str], Meta(max_length=1)] | None = None
    Single: Element | None = None
    Requests: Annotated[dict[str, list[Element]], Meta(min_length=1)] | None = None
    Filter: shapes.FilterConditionMap | None = None
    Updates: shapes.AttributeUpdates | None = None
    Anchored: Annotated[str, Meta(pattern="^[a-z]+$")] | None = None
    Flags: Annotated[list[bool], Meta(max_length=1)] | None = None


def message_of(request_type: type[msgspec.Struct], operation_name: str, body: dict[str, Any]) -> str:
    """The message of the ValidationException for a body."""
    with pytest.raises(ValidationException) as caught:
        explain(request_type, operation_name, json.dumps(body).encode())
    assert caught.value.message is not None
    return caught.value.message


def errors_of(body: dict[str, Any]) -> list[str]:
    """The single violations in the message; asserts that its count is right."""
    envelope, _, errors = message_of(Request, "AnyOperation", body).partition(" detected: ")
    parts = errors.split("; ")
    assert envelope == ("1 validation error" if len(parts) == 1 else f"{len(parts)} validation errors")
    return parts


def violation(value: str, path: str, constraint: str) -> str:
    return f"Value {value} at '{path}' failed to satisfy constraint: Member must {constraint}"


OPERATORS = "[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]"
ELEMENT = {"Name": "abc", "SSEType": "HASH"}
SINGLE: list[tuple[dict[str, Any], str]] = [
    ({"Index": "ab"}, violation("'ab'", "index", "have length greater than or equal to 3")),
    ({"Index": "a" * 9}, violation("'aaaaaaaaa'", "index", "have length less than or equal to 8")),
    ({"Index": "a&b"}, violation("'a&b'", "index", f"satisfy regular expression pattern: {shapes.NAME_PATTERN}")),
    ({"Index": "abc\n"}, violation("'abc\n'", "index", f"satisfy regular expression pattern: {shapes.NAME_PATTERN}")),
    ({"Anchored": "A"}, violation("'A'", "anchored", "satisfy regular expression pattern: [a-z]+")),
    ({"Number": 0}, violation("'0'", "number", "have value greater than or equal to 1")),
    ({"Number": 101}, violation("'101'", "number", "have value less than or equal to 100")),
    ({"Elements": []}, violation("'[]'", "elements", "have length greater than or equal to 1")),
    ({"Requests": {}}, violation("'{}'", "requests", "have length greater than or equal to 1")),
    ({"Texts": ["a", "b"]}, violation("'[a, b]'", "texts", "have length less than or equal to 1")),
    ({"Flags": [True, "no"]}, violation("'[true, false]'", "flags", "have length less than or equal to 1")),
    (
        {"Elements": [ELEMENT, ELEMENT | {"Size": 3}, ELEMENT]},
        violation(
            "'[Element(name=abc, sSEType=HASH, size=null), Element(name=abc, sSEType=HASH, size=3), "
            "Element(name=abc, sSEType=HASH, size=null)]'", "elements", "have length less than or equal to 2",
        ),
    ),
    ({"Elements": [ELEMENT, {"Name": "abc"}]}, violation("null", "elements.2.member.sSEType", "not be null")),
    ({"Single": {"SSEType": "HASH"}}, violation("null", "single.name", "not be null")),
    (
        {"Single": ELEMENT | {"SSEType": "hash"}},
        violation("'hash'", "single.sSEType", "satisfy enum value set: [HASH, RANGE]"),
    ),
    (
        {"Requests": {"t": [ELEMENT, ELEMENT | {"Size": 0}]}},
        violation("'0'", "requests.t.member.2.member.size", "have value greater than or equal to 1"),
    ),
    ({"Filter": {"a.b": {}}}, violation("null", "filter.a.b.member.comparisonOperator", "not be null")),
    (
        {"Filter": {"a": {"ComparisonOperator": "eq"}}},
        violation("'eq'", "filter.a.member.comparisonOperator", f"satisfy enum value set: {OPERATORS}"),
    ),
    (
        {"Updates": {"a": {"Action": "SET"}}},
        violation("'SET'", "updates.a.member.action", "satisfy enum value set: [ADD, PUT, DELETE]"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), SINGLE, ids=lambda part: repr(part)[:40])
def test_one_broken_constraint(body: dict[str, Any], expected: str) -> None:
    assert errors_of(body) == [expected]


def test_an_arn_is_exempt_from_the_pattern_of_a_table_name_only() -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/abc"
    assert explain(Read, "GetItem", json.dumps({"TableName": arn, "Key": {}}).encode()).TableName == arn
    assert len(errors_of({"Index": "arn:a"})) == 1


def test_several_constraints_of_one_member_and_of_its_inside_come_in_order() -> None:
    assert errors_of({"Number": 0, "Index": "&", "Elements": [{"Name": "&", "Size": 0}, ELEMENT, ELEMENT]}) == [
        violation("'&'", "index", f"satisfy regular expression pattern: {shapes.NAME_PATTERN}"),
        violation("'&'", "index", "have length greater than or equal to 3"),
        violation("'0'", "number", "have value greater than or equal to 1"),
        violation(
            "'[Element(name=&, sSEType=null, size=0), Element(name=abc, sSEType=HASH, size=null), "
            "Element(name=abc, sSEType=HASH, size=null)]'",
            "elements",
            "have length less than or equal to 2",
        ),
        violation("'&'", "elements.1.member.name", f"satisfy regular expression pattern: {shapes.NAME_PATTERN}"),
        violation("'&'", "elements.1.member.name", "have length greater than or equal to 3"),
        violation("null", "elements.1.member.sSEType", "not be null"),
        violation("'0'", "elements.1.member.size", "have value greater than or equal to 1"),
    ]


def test_ten_are_reported_at_most() -> None:
    errors = errors_of({"Filter": {f"a{number}": {} for number in range(12)}})
    assert errors == [
        violation("null", f"filter.a{number}.member.comparisonOperator", "not be null") for number in range(10)
    ]


# --- forms of single operations -------------------------------------------------------------------


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A data-plane request with a name, a key and optional members."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ReturnValues: shapes.ReturnValue | None = None
    Key: shapes.AttributeMap
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Limit: shapes.PositiveInteger | None = None


SOUND = {"TableName": "abc", "Key": {}}
CAPACITY = violation("'x'", "returnConsumedCapacity", "satisfy enum value set: [INDEXES, TOTAL, NONE]")
RETURN_VALUES = (
    "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD,"
    " ALL_NEW, UPDATE_NEW, NONE]"
)
RETURN_VALUES_GENERAL = violation(
    "'y'", "returnValues", "satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
)
NAME_EMPTY = "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
OPERATOR = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"


@pytest.mark.parametrize("operation_name", ["PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan"])
def test_an_empty_table_name_is_reported_alone(operation_name: str) -> None:
    body = SOUND | {"TableName": "", "ReturnConsumedCapacity": "x"}
    assert message_of(Read, operation_name, body) == f"1 validation error detected: {NAME_EMPTY}"


@pytest.mark.parametrize("operation_name", ["PutItem", "DeleteItem"])
def test_unknown_return_values_are_collected_by_put_and_delete(operation_name: str) -> None:
    body = SOUND | {"ReturnValues": "y", "ReturnConsumedCapacity": "x"}
    assert message_of(Read, operation_name, body) == f"2 validation errors detected: {CAPACITY}; {RETURN_VALUES}"


def test_unknown_return_values_are_reported_alone_by_update() -> None:
    body = SOUND | {"ReturnValues": "y", "ReturnConsumedCapacity": "x"}
    assert message_of(Read, "UpdateItem", body) == f"1 validation error detected: {RETURN_VALUES}"


@pytest.mark.parametrize("operation_name", ["PutItem", "UpdateItem", "DeleteItem", "Query"])
def test_an_unknown_conditional_operator_stands_bare_and_first(operation_name: str) -> None:
    body = SOUND | {"ConditionalOperator": "XOR", "TableName": "", "ReturnValues": "y", "ReturnConsumedCapacity": "x"}
    assert message_of(Read, operation_name, body) == OPERATOR


def test_limit_zero_is_worded_by_query_and_scan_in_forms_of_their_own() -> None:
    least = "Member must have value greater than or equal to 1"
    assert message_of(Read, "Query", SOUND | {"Limit": 0, "ReturnConsumedCapacity": "x"}) == (
        f"2 validation errors detected: {CAPACITY}; Value at 'Limit' failed to satisfy constraint: {least}"
    )
    assert message_of(Read, "Scan", SOUND | {"Limit": 0, "ReturnConsumedCapacity": "x"}) == (
        f"1 validation error detected: Value at 'Limit' failed to satisfy constraint: {least}"
    )
    for number in (0.5, -0.9, 0.0001):
        for operation in ("Query", "Scan"):
            assert message_of(Read, operation, SOUND | {"Limit": number}) == (
                f"1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: {least}"
            )


def test_without_the_key_all_faults_are_joined_in_their_general_form() -> None:
    body = {"ReturnConsumedCapacity": "x", "ReturnValues": "y"}
    assert message_of(Read, "UpdateItem", body) == (
        f"4 validation errors detected: {CAPACITY}; {violation('null', 'tableName', 'not be null')}; "
        f"{RETURN_VALUES_GENERAL}; {violation('null', 'key', 'not be null')}"
    )


# --- maps whose keys and values have constraints --------------------------------------------------


class PutRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A put of an item."""

    Item: shapes.AttributeMap


class DeleteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A delete by key."""

    Key: shapes.AttributeMap


class WriteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A put or delete: faults are reported in the declared order, members are printed in reverse."""

    DeleteRequest: "DeleteRequest | None" = None
    PutRequest: "PutRequest | None" = None


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A request with lists by table name."""

    Lists: Annotated[dict[Name, Annotated[list[WriteRequest], Meta(min_length=1, max_length=2)]], Meta(max_length=3)]


KEYS_OF_LISTS = (
    "Map keys must satisfy constraint: [Member must have length less than or equal to 8, "
    "Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: "
    "[a-zA-Z0-9_.-]+]"
)
VALUES_OF_LISTS = (
    "Map value must satisfy constraint: [Member must have length less than or equal to 2, "
    "Member must have length greater than or equal to 1]"
)
NOTHING = "s={s}, n={n}, b=null, sS=null, nS=null, bS=null, m=null, l=null, nULL=null, bOOL=null"


def about_lists(value: str, constraint: str) -> str:
    return f"Value '{value}' at 'lists' failed to satisfy constraint: {constraint}"


def batch_message(lists: dict[str, Any]) -> str:
    envelope, _, errors = message_of(Batch, "AnyOperation", {"Lists": lists}).partition(" detected: ")
    return errors if envelope == "1 validation error" else f"{envelope}: {errors}"


@pytest.mark.parametrize("key", ["ab", "abcdefghi", "a b"])
def test_keys_of_a_map_are_told_of_the_map(key: str) -> None:
    shown = f"{{{key}=[WriteRequest(putRequest=null, deleteRequest=null)]}}"
    assert batch_message({key: [{}]}) == about_lists(shown, KEYS_OF_LISTS)


def test_lists_of_a_map_are_told_once_of_the_map_with_their_attribute_values() -> None:
    item = {"pk": {"S": "a"}, "n": {"N": "1"}}
    a, n = NOTHING.format(s="a", n="null"), NOTHING.format(s="null", n="1")
    put = (
        f"WriteRequest(putRequest=PutRequest(item={{pk=AttributeValue({a}),"
        f" n=AttributeValue({n})}}), deleteRequest=null)"
    )
    delete = f"WriteRequest(putRequest=null, deleteRequest=DeleteRequest(key={{pk=AttributeValue({a})}}))"
    lists = {
        "one": [{"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": {"pk": {"S": "a"}}}}, {}],
        "two": [],
    }
    none = "WriteRequest(putRequest=null, deleteRequest=null)"
    assert batch_message(lists) == about_lists(f"{{one=[{put}, {delete}, {none}], two=[]}}", VALUES_OF_LISTS)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"B": "AAE="}, "b=java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]"),
        ({"SS": ["b", "a"]}, "sS=[b, a]"),
        ({"BS": ["AAEC"]}, "bS=[java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]]"),
        ({"BOOL": False}, "bOOL=false"),
        ({"NULL": True}, "nULL=true"),
        ({"M": {"x": {"S": "é"}}}, f"m={{x=AttributeValue({NOTHING.format(s='é', n='null')})}}"),
        ({"L": [{"N": "1"}]}, f"l=[AttributeValue({NOTHING.format(s='null', n='1')})]"),
    ],
)
def test_attribute_values_are_printed_whole(value: dict[str, Any], shown: str) -> None:
    message = batch_message({"a": [{"DeleteRequest": {"Key": {"pk": value}}}]})
    member = shown.partition("=")[0]
    parts = [
        shown if name.startswith(f"{member}=") else name for name in NOTHING.format(s="null", n="null").split(", ")
    ]
    assert f"{{pk=AttributeValue({', '.join(parts)})}}" in message


def test_values_nested_without_end_are_not_printed_to_their_end() -> None:
    value: dict[str, Any] = {"S": "innermost"}
    for _ in range(200):
        value = {"L": [value]}
    message = batch_message({"a": [{"DeleteRequest": {"Key": {"pk": value}}}]})
    assert "l=[AttributeValue(" in message
    assert "innermost" not in message


def test_what_is_broken_inside_keeps_its_own_path_and_order() -> None:
    message = batch_message({"one": [{}, {"PutRequest": {}, "DeleteRequest": {}}]})
    assert message == (
        "2 validation errors: "
        "Value null at 'lists.one.member.2.member.deleteRequest.key' failed to satisfy constraint: "
        "Member must not be null; Value null at 'lists.one.member.2.member.putRequest.item' failed to satisfy "
        "constraint: Member must not be null"
    )


class KeysAndAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """The keys and attributes requested of one table."""

    Keys: Annotated[list[shapes.AttributeMap], Meta(min_length=1, max_length=2)]


LENGTH = "failed to satisfy constraint: Member must have length"


class BatchGet(msgspec.Struct, frozen=True, kw_only=True):
    """A reduced BatchGetItem request."""

    RequestItems: Annotated[dict[str, KeysAndAttributes], Meta(min_length=1)]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ({}, f"'RequestItems' {LENGTH} greater than or equal to 1"),
        (
            {"a.{b}": {"Keys": []}},
            f"'RequestItems.a.{{b}}.member.Keys' {LENGTH} greater than or equal to 1",
        ),
        (
            {"a.b": {"Keys": [{}, {}, {}]}},
            f"'RequestItems.a.b.member.Keys' {LENGTH} less than or equal to 100",
        ),
    ],
)
def test_batch_get_item_has_its_own_forms(items: dict[str, Any], expected: str) -> None:
    message = message_of(BatchGet, "BatchGetItem", {"RequestItems": items})
    assert message == f"1 validation error detected: Value at {expected}"


def test_an_empty_batch_write_item_is_told_bare() -> None:
    message = message_of(BatchGet, "BatchWriteItem", {"RequestItems": {}})
    assert message == "The requestItems parameter is required for BatchWriteItem"
