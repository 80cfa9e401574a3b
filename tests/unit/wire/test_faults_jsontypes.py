"""Every declared type with every JSON value that it refuses, and the lenient forms that it accepts."""

import tracemalloc
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from hashrange.errors import SerializationException
from hashrange.operations import shapes
from hashrange.wire.jsontypes import normalise
from hashrange.wire.shape import structure_of

Blob = Annotated[str, Meta(extra={"shape": "Blob"})]


class Element(msgspec.Struct):
    """A structure nested in others."""

    Name: str | None = None


class Numbered(msgspec.Struct):
    """A structure with a number."""

    Limit: Annotated[int, Meta(ge=1, extra={"shape": "Integer"})] | None = None


class Everything(msgspec.Struct):
    """A structure with one member of each declared type."""

    Text: str | None = None
    Flag: bool | None = None
    Short: Annotated[int, Meta(extra={"shape": "Integer"})] | None = None
    Long: int | None = None
    Fraction: float | None = None
    Bytes: Blob | None = None
    Texts: list[str] | None = None
    Names: dict[str, str] | None = None
    Elements: list[Element] | None = None
    ElementMap: dict[str, Element] | None = None
    Single: Element | None = None
    Item: shapes.AttributeMap | None = None
    Items: list[shapes.AttributeMap] | None = None
    Requests: dict[str, list[Element]] | None = None
    Numbers: dict[str, list[Numbered]] | None = None


EVERYTHING = structure_of(Everything)


def refusal(body: dict[str, Any]) -> str | None:
    """The error message for a body, or None if its fault has none; the empty string if it has no fault."""
    try:
        normalise(body, EVERYTHING)
    except SerializationException as error:
        return error.message
    return ""


PACKAGE = "com.amazonaws.dynamodb.v20120810"
START = "Start of structure or map found where not expected"
FIELD = "Unexpected field type"
PAYLOAD = "Unexpected value type in payload"
GENERIC = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base "
    "of loader 'bootstrap')"
)
BASE64 = "only base-64-encoded strings are convertible to bytes"
BASE64_END = "Invalid last non-pad Base64 character dectected"

REFUSALS: list[tuple[str, Any, str | None]] = [
    ("Text", True, "TRUE_VALUE cannot be converted to String"),
    ("Text", False, "FALSE_VALUE cannot be converted to String"),
    ("Text", 23, "NUMBER_VALUE cannot be converted to String"),
    ("Text", -2.3, "DECIMAL_VALUE cannot be converted to String"),
    ("Text", [], "Unrecognized collection type class java.lang.String"),
    ("Text", {}, START),
    ("Flag", "maybe", "Unexpected token received from parser"),
    ("Flag", 1, "NUMBER_VALUE cannot be converted to Boolean"),
    ("Flag", 1.5, "DECIMAL_VALUE cannot be converted to Boolean"),
    ("Flag", "on", "Unexpected token received from parser"),
    ("Flag", "", "Unexpected token received from parser"),
    ("Flag", ["true"], None),
    ("Flag", [], None),
    ("Flag", {}, START),
    ("Short", "1", "STRING_VALUE cannot be converted to Integer"),
    ("Short", True, "TRUE_VALUE cannot be converted to Integer"),
    ("Short", False, "FALSE_VALUE cannot be converted to Integer"),
    ("Short", [1], "Unrecognized collection type class java.lang.Integer"),
    ("Short", {}, START),
    ("Long", "1", "STRING_VALUE cannot be converted to Long"),
    ("Long", True, "TRUE_VALUE cannot be converted to Long"),
    ("Long", [], "Unrecognized collection type class java.lang.Long"),
    ("Long", {}, START),
    ("Fraction", "1", "STRING_VALUE cannot be converted to Double"),
    ("Fraction", [], "Unrecognized collection type class java.lang.Double"),
    *(
        ("Long", value, f"{token} cannot be converted to Long")
        for value, token in (
            (2**63, "NUMBER_VALUE"),
            (-(2**63) - 1, "NUMBER_VALUE"),
            (2.0**63, "DECIMAL_VALUE"),
            (-1e30, "DECIMAL_VALUE"),
            (float("inf"), "DECIMAL_VALUE"),
            (float("-inf"), "DECIMAL_VALUE"),
        )
    ),
    ("Fraction", float("inf"), "DECIMAL_VALUE cannot be converted to Double"),
    ("Fraction", float("-inf"), "DECIMAL_VALUE cannot be converted to Double"),
    ("Fraction", 10**400, "NUMBER_VALUE cannot be converted to Double"),
    ("Bytes", True, BASE64),
    ("Bytes", 12.5, BASE64),
    ("Bytes", [], "Unrecognized collection type class java.nio.ByteBuffer"),
    ("Bytes", {}, START),
    ("Bytes", "abc", "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
    ("Bytes", "a", "Base64 encoded length is expected a multiple of 4 bytes but found: 1"),
    ("Bytes", "a*aa", BASE64_END),
    ("Bytes", "AB==", BASE64_END),
    ("Bytes", "AAB=", BASE64_END),
    ("Bytes", "A===", BASE64_END),
    ("Bytes", "====", BASE64_END),
    ("Bytes", "AA==AAAA", BASE64_END),
    ("Bytes", "AAA\n", BASE64_END),
    ("Texts", "a", FIELD),
    ("Texts", 1, FIELD),
    ("Texts", True, FIELD),
    ("Texts", {}, START),
    ("Texts", [1], "NUMBER_VALUE cannot be converted to String"),
    ("Texts", [None], PAYLOAD),
    ("Names", "a", FIELD),
    ("Names", 1.5, FIELD),
    ("Names", [], "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"),
    ("Names", {"a": []}, "Unrecognized collection type class java.lang.String"),
    ("Elements", ["a"], PAYLOAD),
    ("Elements", [1], PAYLOAD),
    ("Elements", [None], PAYLOAD),
    ("Elements", [[]], f"Unrecognized collection type class {PACKAGE}.Element"),
    ("Elements", [{"Name": 1}], "NUMBER_VALUE cannot be converted to String"),
    ("ElementMap", {"a": True}, PAYLOAD),
    ("ElementMap", {"a": []}, f"Unrecognized collection type class {PACKAGE}.Element"),
    ("ElementMap", [], f"Unrecognized collection type java.util.Map<java.lang.String, {PACKAGE}.Element>"),
    ("Single", "a", FIELD),
    ("Single", 1, FIELD),
    ("Single", [], f"Unrecognized collection type class {PACKAGE}.Element"),
    ("Item", 1, FIELD),
    ("Item", [], f"Unrecognized collection type java.util.Map<java.lang.String, {PACKAGE}.AttributeValue>"),
    ("Item", {"a": "b"}, PAYLOAD),
    ("Item", {"a": []}, f"Unrecognized collection type class {PACKAGE}.AttributeValue"),
    ("Item", {"a": {"S": 1}}, "NUMBER_VALUE cannot be converted to String"),
    ("Item", {"a": {"N": 1}}, "NUMBER_VALUE cannot be converted to String"),
    ("Item", {"a": {"N": 1.5}}, "DECIMAL_VALUE cannot be converted to String"),
    ("Item", {"a": {"B": 1}}, BASE64),
    ("Item", {"a": {"SS": "a"}}, FIELD),
    ("Item", {"a": {"SS": [1]}}, "NUMBER_VALUE cannot be converted to String"),
    ("Item", {"a": {"SS": [None]}}, PAYLOAD),
    ("Item", {"a": {"NS": [[]]}}, "Unrecognized collection type class java.lang.String"),
    ("Item", {"a": {"BS": ["a"]}}, "Base64 encoded length is expected a multiple of 4 bytes but found: 1"),
    ("Item", {"a": {"BOOL": "maybe"}}, "Unexpected token received from parser"),
    ("Item", {"a": {"NULL": 1}}, "NUMBER_VALUE cannot be converted to Boolean"),
    ("Item", {"a": {"L": {}}}, START),
    ("Item", {"a": {"L": [1]}}, PAYLOAD),
    ("Item", {"a": {"M": 1}}, FIELD),
    (
        "Item",
        {"a": {"M": []}},
        f"Unrecognized collection type java.util.Map<java.lang.String, {PACKAGE}.AttributeValue>",
    ),
    ("Item", {"a": {"M": {"b": {"L": [{"S": True}]}}}}, "TRUE_VALUE cannot be converted to String"),
    ("Items", [1], GENERIC),
    ("Items", [[]], f"Unrecognized collection type java.util.Map<java.lang.String, {PACKAGE}.AttributeValue>"),
    ("Requests", {"t": "a"}, GENERIC),
    ("Requests", {"t": {}}, START),
    (
        "Requests",
        [],
        f"Unrecognized collection type java.util.Map<java.lang.String, java.util.List<{PACKAGE}.Element>>",
    ),
]


@pytest.mark.parametrize(("member", "value", "message"), REFUSALS, ids=lambda part: repr(part)[:40])
def test_a_value_of_another_type_is_refused(member: str, value: Any, message: str | None) -> None:
    assert refusal({member: value}) == message


LENIENT: list[tuple[str, Any, Any]] = [
    ("Flag", "true", True),
    ("Flag", "YES", True),
    ("Flag", "1", True),
    ("Flag", "False", False),
    ("Flag", "no", False),
    ("Flag", "0", False),
    ("Short", 1.9, 1),
    ("Short", -0.5, 0),
    ("Long", -1.9, -1),
    ("Short", 7, 7),
    *(("Flag", word, True) for word in ("t", "T", "yes", "y", "Y", "True")),
    *(("Flag", word, False) for word in ("f", "F", "No", "n", "N")),
    ("Short", 2**32, 2**31 - 1),
    ("Short", -(2**40), -(2**31)),
    ("Short", 1e30, 2**31 - 1),
    ("Short", float("-inf"), -(2**31)),
    ("Numbers", {"a": [{"Limit": float("inf")}]}, {"a": [{"Limit": 2**31 - 1}]}),
    ("Long", 1e3, 1000),
    ("Long", 2**63 - 1, 2**63 - 1),
    ("Long", -(2**63), -(2**63)),
    ("Short", 2**31 - 1, 2**31 - 1),
    ("Short", 2147483647.9, 2**31 - 1),
    ("Short", -(2**31), -(2**31)),
    ("Fraction", 1, 1.0),
    ("Fraction", 1e308, 1e308),
    ("Bytes", "", ""),
    ("Bytes", "AA==", "AA=="),
    ("Bytes", "AAA=", "AAA="),
    ("Bytes", "+/zz", "+/zz"),
    ("Names", {"a": None}, {}),
    ("Item", {"a": None}, {"a": {}}),
    ("Item", {"a": {"L": [None]}}, {"a": {"L": [{}]}}),
    ("Item", {"a": {"M": {"b": None}}}, {"a": {"M": {"b": {}}}}),
    ("Item", {"a": {"S": None, "X": 1}}, {"a": {}}),
    ("Single", {"Name": None, "Other": 1}, {}),
    ("ElementMap", {"a": None}, {}),
]


@pytest.mark.parametrize(("member", "value", "expected"), LENIENT, ids=lambda part: repr(part)[:40])
def test_a_lenient_form_is_converted(member: str, value: Any, expected: Any) -> None:
    converted = normalise({member: value}, EVERYTHING)[member]
    assert converted == expected
    assert type(converted) is type(expected)


def test_nulls_and_unknown_members_are_absent() -> None:
    assert normalise(dict.fromkeys(Everything.__struct_fields__) | {"Other": [{}]}, EVERYTHING) == {}


def test_what_is_given_is_not_changed() -> None:
    body = {"Item": {"a": {"S": None, "L": [{"BOOL": "yes"}]}}}
    normalise(body, EVERYTHING)
    assert body == {"Item": {"a": {"S": None, "L": [{"BOOL": "yes"}]}}}


def test_a_large_binary_takes_no_memory_to_check() -> None:
    body = {"Bytes": "AAAA" * 1_000_000}
    tracemalloc.start()
    normalise(body, EVERYTHING)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 100_000
