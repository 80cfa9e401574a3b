"""GetItem: by key, whole or projected."""

from typing import Any

import pytest

from tests.conformance.item_tables import INVALID, NOT_FOUND, DataTable, Item, fresh_key, number, text
from tests.support.raw_client import RawClient

DOCUMENT: Item = {
    "a": text("1"),
    "a.b": text("dotted"),
    "m": {"M": {"x": {"M": {"y": number(1), "z": number(2)}}, "w": text("w"), "l": {"L": [number(9)]}}},
    "l": {"L": [{"M": {"a": number(0), "b": number(1)}}, number(1), {"L": [number(20), number(21)]}, text("three")]},
}
SCHEMA = "The provided key element does not match the schema"
PREFIX = "Invalid ProjectionExpression: "


@pytest.fixture(scope="module")
def document(table: DataTable) -> Item:
    """The key of a stored DOCUMENT."""
    key = fresh_key()
    table.put(key | DOCUMENT)
    return key


def test_an_absent_item_is_no_item(table: DataTable) -> None:
    assert table.ask("GetItem", Key=fresh_key()) == {}
    assert table.ask("GetItem", Key=fresh_key(), ConsistentRead=True, ProjectionExpression="a") == {}


def test_an_item_comes_whole(table: DataTable, document: Item) -> None:
    whole = {"Item": document | DOCUMENT}
    assert table.ask("GetItem", Key=document, ConsistentRead=True) == whole
    for consistent in (None, False):  # an eventually consistent read may miss the item
        assert table.ask("GetItem", Key=document, ConsistentRead=consistent) in ({}, whole)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a", {"a": text("1")}),
        ("a, absent", {"a": text("1")}),
        ("absent", {}),
        ("m.absent, a.b, l[9], l[1][0], s[0]", {}),
        (" m . x\t.y ,\r\nm.w", {"m": {"M": {"x": {"M": {"y": number(1)}}, "w": text("w")}}}),
        ("l.x, m[0]", {}),
        ("m.x.y, m.x.z", {"m": {"M": {"x": {"M": {"y": number(1), "z": number(2)}}}}}),
        ("l[3], l[1]", {"l": {"L": [number(1), text("three")]}}),
        ("l[0].a, l[2][1]", {"l": {"L": [{"M": {"a": number(0)}}, {"L": [number(21)]}]}}),
        ("l[0].a, l[0].b", {"l": {"L": [{"M": {"a": number(0), "b": number(1)}}]}}),
        ("m.l[0]", {"m": {"M": {"l": {"L": [number(9)]}}}}),
        ("l[0].absent, l[1]", {"l": {"L": [number(1)]}}),
    ],
)
def test_a_projection(table: DataTable, document: Item, expression: str, expected: Item) -> None:
    assert table.get(document, ProjectionExpression=expression) == expected


def test_names_stand_for_one_element(table: DataTable, document: Item) -> None:
    names = {"#0": "a.b", "#M_": "m"}
    assert table.get(document, ProjectionExpression="#0, #M_.w", ExpressionAttributeNames=names) == {
        "a.b": text("dotted"), "m": {"M": {"w": text("w")}},
    }  # fmt: skip


def test_attributes_by_name(table: DataTable, document: Item) -> None:
    assert table.get(document, AttributesToGet=["a.b", "pk", "absent", "size"]) == document | {"a.b": text("dotted")}
    assert table.get(document, AttributesToGet=["absent"]) == {}
    assert table.refusal("GetItem", Key=document, AttributesToGet=["a", "b", "a"]) == (
        INVALID + "Duplicate value in attribute name: a"
    )
    assert table.refusal("GetItem", Key=document, AttributesToGet=[]) == (
        "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint:"
        " Member must have length greater than or equal to 1"
    )


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", PREFIX + "The expression can not be empty;"),
        (" \t", PREFIX + 'Syntax error; token: "<EOF>", near: " \t"'),
        ("l[00]", PREFIX + 'Syntax error; token: "0", near: "00]"'),
        ("a,", PREFIX + 'Syntax error; token: "<EOF>", near: ","'),
        ("a b", PREFIX + 'Syntax error; token: "b", near: "a b"'),
        ("a..b", PREFIX + 'Syntax error; token: ".", near: "..b"'),
        ("a[x]", PREFIX + 'Syntax error; token: "x", near: "[x]"'),
        (":a", PREFIX + 'Syntax error; token: ":a", near: ":a"'),
        ("_a", PREFIX + 'Syntax error; token: "_", near: "_a"'),
        ("a, Size", PREFIX + "Attribute name is a reserved keyword; reserved keyword: Size"),
        ("a.size", PREFIX + "Attribute name is a reserved keyword; reserved keyword: size"),
        ("#a", PREFIX + "An expression attribute name used in the document path is not defined; attribute name: #a"),
        (
            "a, a",
            PREFIX
            + "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a],"
            " path two: [a]",
        ),
        (
            "a.b[1], a",
            PREFIX + "Two document paths overlap with each other; must remove or rewrite one of these paths;"
            " path one: [a, b, [1]], path two: [a]",
        ),
        (
            "a.b, a[0]",
            PREFIX + "Two document paths conflict with each other; must remove or rewrite one of these paths;"
            " path one: [a, b], path two: [a, [0]]",
        ),
        ("a" * 4097, PREFIX + "Expression size has exceeded the maximum allowed size; expression size: 4097"),
        ("a" + ".b" * 33, PREFIX + "The document path has too many nesting levels; nesting levels: 33"),
        ("a[99999999999]", PREFIX + "List index is not within the allowable range; index: [99999999999]"),
    ],
)
def test_a_bad_projection_is_refused(table: DataTable, expression: str, message: str) -> None:
    assert table.refusal("GetItem", Key=fresh_key(), ProjectionExpression=expression) == message


def test_longest_and_deepest_projections(table: DataTable) -> None:
    assert table.get(fresh_key(), ProjectionExpression="a" * 4096) is None
    assert table.get(fresh_key(), ProjectionExpression="a" + ".b" * 32) is None


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"ExpressionAttributeNames": {"#a": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        ({"ProjectionExpression": "a", "ExpressionAttributeNames": {}}, "ExpressionAttributeNames must not be empty"),
        (
            {"ProjectionExpression": "a", "ExpressionAttributeNames": {"a": "a"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"',
        ),
        (
            {"ProjectionExpression": "a", "ExpressionAttributeNames": {"#a": "a"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}",
        ),
        (
            {"ProjectionExpression": "a", "AttributesToGet": ["a"]},
            (
                "Can not use both expression and non-expression parameters in the same request:"
                " Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
            ),
        ),
    ],
)
def test_parameters_that_do_not_fit_together(table: DataTable, members: dict[str, Any], message: str) -> None:
    assert table.refusal("GetItem", Key=fresh_key(), **members) == message


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
@pytest.mark.parametrize(
    "key",
    [
        {},
        {"pk": text("a")},
        {"sk": text("a")},
        {"pk": text("a"), "sk": text("a"), "x": text("a")},
        {"pk": text("a"), "other": text("a")},
        {"pk": text("a"), "sk": number(1)},
        {"pk": {"SS": ["a"]}, "sk": text("a")},
        {"pk": {"NULL": True}, "sk": text("a")},
        {"pk": text(""), "sk": number(1)},
    ],
)
def test_a_key_fits_the_schema_exactly(sorted_table: DataTable, operation: str, key: Item) -> None:
    assert sorted_table.refusal(operation, Key=key) == SCHEMA


@pytest.mark.parametrize("path", ["pk.a", "pk[0]", "sk.a[1]"])
def test_a_projection_cannot_look_into_a_key(sorted_table: DataTable, path: str) -> None:
    message = (
        f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: {path[:2]}"
    )
    key = fresh_key() | {"sk": text("a")}
    assert sorted_table.refusal("GetItem", Key=key, ProjectionExpression=path) == message
    assert sorted_table.refusal("Scan", ProjectionExpression=path) == message
    members: dict[str, Any] = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": text("a")}}
    assert sorted_table.refusal("Query", ProjectionExpression=path, **members) == message


@pytest.mark.parametrize("name", ["absent-table", "abc", "x" * 255])
def test_a_table_must_exist(table: DataTable, name: str) -> None:
    assert table.fault("GetItem", Key=fresh_key(), TableName=name) == NOT_FOUND


def test_constraints_of_members(raw: RawClient) -> None:
    reply = raw("GetItem", {"TableName": "a&b", "ReturnConsumedCapacity": "ALL", "AttributesToGet": []})
    assert reply.json()["message"] == (
        "4 validation errors detected: Value 'ALL' at 'returnConsumedCapacity' failed to satisfy constraint:"
        " Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value '[]' at 'attributesToGet' failed to"
        " satisfy constraint: Member must have length greater than or equal to 1;"
        " Value 'a&b' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern:"
        " [a-zA-Z0-9_.-]+; Value null at 'key' failed to satisfy constraint: Member must not be null"
    )
