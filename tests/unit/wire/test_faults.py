"""The slow path as a whole: which fault is reported first, and the request that results if there is none."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from hashrange.errors import ApiError, SerializationException, ValidationException
from hashrange.operations import shapes
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.wire.faults import decode_object
from hashrange.wire.shape import Shape, structure_of
from tests.support.explaining import explain


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request of a data-plane operation."""

    TableName: shapes.TableName
    Key: shapes.AttributeMap
    ConsistentRead: bool | None = None
    Limit: shapes.PositiveInteger | None = None
    AttributesToGet: shapes.AttributeNameList | None = None
    Expected: shapes.ExpectedAttributeMap | None = None


class TableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request of a control-plane operation."""

    BillingMode: Annotated[str, Meta(max_length=3)] | None = None
    TableName: shapes.WholeTableName


def fault_of(request_type: type[msgspec.Struct], operation_name: str, body: bytes | dict[str, Any]) -> ApiError:
    """The error that the slow path raises for a body."""
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    with pytest.raises(ApiError) as caught:
        explain(request_type, operation_name, body)
    return caught.value


NOT_JSON = [
    b"",
    b"{",
    b"hello",
    b'{"a":1,}',
    b'{"a":NaN}',
    b'{"a":Infinity}',
    b'{"a":1e400,"b":NaN}',
    b'{"a":1e400',
    b'{"a":"\xff"}',
    b"\xff",
    b'{"a":"\\ud800"}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b"{} {}",
    b'{"a":1e400,"b":"\\ud800"}',
    b'{"a":1e400,"\\uDFFF":1}',
    b'{"a":1e400,"b":["\\ude00\\ud83d"]}',
    b'{"b":"\\ud800","a":1' + b"0" * 1_100_000 + b"}",
    b"{\x00}",
    '{"a":"b"}'.encode("utf-16"),
]


@pytest.mark.parametrize("body", NOT_JSON, ids=lambda body: repr(body[:20]))
def test_a_body_that_is_no_json_is_refused_without_a_message(body: bytes) -> None:
    error = fault_of(ReadRequest, "GetItem", body)
    assert isinstance(error, SerializationException)
    assert error.message is None


@pytest.mark.parametrize("body", [b"[]", b"null", b"3", b'"text"', b"true", b"1e400"])
def test_a_body_that_is_no_object_is_refused_without_a_message(body: bytes) -> None:
    error = fault_of(ReadRequest, "GetItem", body)
    assert isinstance(error, SerializationException)
    assert error.message is None


def test_whole_surrogate_pairs_and_escaped_backslashes_are_well_formed_beside_any_number() -> None:
    body = rb'{"a":1e400,"b":"\ud83d\ude00","c":"\\ud800","d":"\uD83D\uDE00"}'
    assert decode_object(body) == {"a": float("inf"), "b": "\U0001f600", "c": r"\ud800", "d": "\U0001f600"}


def test_numbers_beyond_every_range_are_well_formed() -> None:
    body = (
        b'{"a":1e400,"b":-1e400,"c":' + b"9" * 500 + b',"d":-' + b"9" * 5000 + b',"e":123456789012345678901234567890}'
    )
    infinite = float("inf")
    largest = 10**400  # integers stay exact, unlike numbers with an exponent
    assert decode_object(body) == {
        "a": infinite, "b": -infinite, "c": largest, "d": -largest, "e": 123456789012345678901234567890,
    }  # fmt: skip


def test_of_a_repeated_member_the_last_counts() -> None:
    request = explain(
        ReadRequest, "GetItem", b'{"TableName":"abc","TableName":"abd","Key":{"k":{"S":"x"},"k":{"S":"y"}}}'
    )
    assert (request.TableName, request.Key) == ("abd", {"k": {"S": "y"}})


def test_a_sound_request_comes_back_with_lenient_forms_undone() -> None:
    body = {
        "TableName": "abc",
        "Key": {"k": {"S": "x", "N": None, "Unknown": 1}, "l": {"BOOL": "Yes"}},
        "ConsistentRead": "TRUE",
        "Limit": 2.9,
        "AttributesToGet": None,
        "Unknown": {"any": ["thing"]},
        "Expected": {"e": {"Exists": "0", "Value": None, "Unknown": 1}, "f": None},
    }
    request = explain(ReadRequest, "GetItem", json.dumps(body).encode())
    assert request == ReadRequest(
        TableName="abc",
        Key={"k": {"S": "x"}, "l": {"BOOL": True}},
        ConsistentRead=True,
        Limit=2,
        Expected={"e": {"Exists": False}},
    )


@pytest.mark.parametrize("number", [b"1e400", b"2147483649", b"2147483648.5", b"9" * 5000])
def test_an_integer_is_held_to_32_bits(number: bytes) -> None:
    for sign, held in ((b"", 2**31 - 1), (b"-", -(2**31))):
        body = b'{"TableName":"abc","Key":{},"Limit":%b}' % (sign + number)
        if sign:
            error = fault_of(ReadRequest, "GetItem", body)
            assert error.message == (
                f"1 validation error detected: Value '{held}' at 'limit' failed to satisfy constraint: Member must have"
                " value greater than or equal to 1"
            )
        else:
            assert explain(ReadRequest, "GetItem", body).Limit == held


def numbers_of(shape: Shape, path: str) -> Iterator[tuple[str, Shape]]:
    """The paths of all numbers that a request may contain."""
    if shape.kind in ("Integer", "Long", "Double"):
        yield path, shape
    if shape.member is not None:
        yield from numbers_of(shape.member, path)
    for member in shape.members:
        yield from numbers_of(member.shape, f"{path}.{member.name}")


def test_the_fast_decoder_takes_no_integer_beyond_its_range() -> None:
    numbers = dict(
        pair
        for operation in ALL_OPERATIONS.values()
        for pair in numbers_of(structure_of(operation.request), operation.name)
    )
    assert numbers["Query.Limit"].kind == "Integer"
    for path, shape in numbers.items():
        if shape.kind == "Integer":
            assert shape.bounds.minimum is not None, path
            assert shape.bounds.minimum >= -(2**31), path
            assert shape.bounds.maximum is not None, path
            assert shape.bounds.maximum < 2**31, path


@pytest.mark.parametrize("levels", [32, 63, 64, 65, 200, 450])
def test_deeply_nested_values_are_left_to_the_check_of_the_item(levels: int) -> None:
    body = b'{"TableName":"abc","Key":{"k":' + b'{"L":[' * levels + b'{"S":"x"}' + b"]}" * levels + b"}}"
    value = explain(ReadRequest, "GetItem", body).Key["k"]
    for _ in range(levels):
        (value,) = value["L"]
    assert value == {"S": "x"}


def test_a_wrong_type_comes_before_a_broken_constraint() -> None:
    error = fault_of(ReadRequest, "GetItem", {"Limit": 0, "ConsistentRead": 3})
    assert (error.code, error.message) == ("SerializationException", "NUMBER_VALUE cannot be converted to Boolean")


def test_of_two_wrong_types_the_first_in_the_document_is_reported() -> None:
    assert (
        fault_of(ReadRequest, "GetItem", {"Limit": "a", "TableName": 3}).message
        == "STRING_VALUE cannot be converted to Integer"
    )
    assert (
        fault_of(ReadRequest, "GetItem", {"TableName": 3, "Limit": "a"}).message
        == "NUMBER_VALUE cannot be converted to String"
    )


CONTROL_PLANE = ["CreateTable", "UpdateTable", "DeleteTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"]


@pytest.mark.parametrize("operation_name", CONTROL_PLANE)
@pytest.mark.parametrize("body", [{}, {"TableName": None}, {"BillingMode": "too long"}])
def test_the_control_plane_asks_for_the_table_name_before_all_constraints(
    operation_name: str, body: dict[str, Any]
) -> None:
    error = fault_of(TableRequest, operation_name, body)
    assert isinstance(error, ValidationException)
    assert error.message == "The parameter 'TableName' is required but was not present in the request"


@pytest.mark.parametrize("operation_name", [name for name in CONTROL_PLANE if name != "CreateTable"])
@pytest.mark.parametrize("name", ["", "ab", "a" * 256, "&" * 256, "&&"])
def test_the_control_plane_checks_the_length_of_the_name_before_all_constraints(operation_name: str, name: str) -> None:
    error = fault_of(TableRequest, operation_name, {"TableName": name, "BillingMode": "too long"})
    assert error.message == "TableName must be at least 3 characters long and at most 255 characters long"


def test_create_table_collects_a_name_that_is_too_short() -> None:
    error = fault_of(TableRequest, "CreateTable", {"TableName": "ab", "BillingMode": "long"})
    assert error.message == (
        "2 validation errors detected: "
        "Value 'long' at 'billingMode' failed to satisfy constraint: Member must have length less than or equal to 3; "
        "Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3"
    )
    assert fault_of(TableRequest, "CreateTable", {"TableName": "a" * 256}).message == (
        "TableName must be at least 3 characters long and at most 255 characters long"
    )


def test_the_control_plane_takes_arns_of_any_length_up_to_1024() -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/" + "a" * 255
    assert explain(TableRequest, "DescribeTable", json.dumps({"TableName": arn}).encode()).TableName == arn
    for name in ("a", "a" * 256):
        assert fault_of(TableRequest, "DescribeTable", {"TableName": arn[:-255] + name}).message == (
            "TableName must be at least 3 characters long and at most 255 characters long"
        )
    too_long = "arn:" + "a" * 1021
    assert fault_of(TableRequest, "DescribeTable", {"TableName": too_long}).message == (
        f"1 validation error detected: Value '{too_long}' at 'tableName' failed to satisfy constraint: "
        "Member must have length less than or equal to 1024"
    )


class TagRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request of the tag operations."""

    ResourceArn: str
    TagKeys: list[str]


@pytest.mark.parametrize("operation_name", ["TagResource", "UntagResource", "ListTagsOfResource"])
def test_tag_operations_ask_for_the_arn_before_all_constraints(operation_name: str) -> None:
    assert fault_of(TagRequest, operation_name, {}).message == "Invalid TableArn"
    assert fault_of(TagRequest, operation_name, {"ResourceArn": "x"}).message == (
        "1 validation error detected: Value null at 'tagKeys' failed to satisfy constraint: Member must not be null"
    )


def test_very_long_numbers_of_a_large_body_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Converting one number of 4,000 digits would take 0.1 ms."""
    number, megabyte = b"7" * 4000, 1 << 20
    body = b'{"a":[' + b",".join([number] * (megabyte // 4000 + 1)) + b'],"b":"x"}'
    text = json.dumps({"a": number.decode() * 300}).encode()
    values = decode_object(body), decode_object(text)
    monkeypatch.delattr(msgspec.json, "decode")
    assert decode_object(body) == values[0]
    assert set(values[0]["a"]) == {10**400}
    with pytest.raises(AttributeError):  # digits inside a text are no number
        decode_object(text)
