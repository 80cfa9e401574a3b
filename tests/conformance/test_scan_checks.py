"""Scan's checks in the newer of its two validation layers: the first stage that fails answers, in this order.

Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 5). 20 of 33 Regions answer like this.
"""

from typing import Any

import pytest

from tests.conformance.item_tables import ENVELOPE, INVALID, NOT_FOUND, DataTable, make_table, number, text
from tests.conformance.tables import fault, fresh_name, validation
from tests.support.raw_client import RawClient

Members = dict[str, Any]

AT_LEAST = "Value at '{}' failed to satisfy constraint: Member must have value greater than or equal to {}"
AT_MOST = "Value at '{}' failed to satisfy constraint: Member must have value less than or equal to {}"
EMPTY_NAME = "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
SHORT_NAME = (
    "Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3"
)
PATTERN = (
    "Value 'a!b' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern:"
    " [a-zA-Z0-9_.-]+"
)
CAPACITY = (
    "Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set:"
    " [INDEXES, TOTAL, NONE]"
)
SELECT = (
    "Value 'X' at 'select' failed to satisfy constraint: Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES,"
    " COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
)
OPERATORS = "IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS"
INVALID_KEY = "The provided starting key is invalid"
INVALID_OPERATOR = INVALID + "Invalid comparison operator"
UNEQUAL_SEGMENT = "The Segment parameter is zero-based and must be less than parameter TotalSegments"
FILTER = {"ComparisonOperator": "EQ", "AttributeValueList": [text("a")]}


def told(*texts: str) -> str:
    """The message that joins these sentences."""
    count = "1 validation error" if len(texts) == 1 else f"{len(texts)} validation errors"
    return f"{count} detected: " + "; ".join(texts)


@pytest.fixture(scope="module")
def plain(raw: RawClient) -> DataTable:
    """A table without indexes."""
    return make_table(raw, "S", "S")


@pytest.fixture(scope="module")
def indexed(raw: RawClient) -> DataTable:
    """A table with the global indexes `slim` and `wide`, of which `slim` projects keys only."""
    return make_table(
        raw,
        definitions={"gk": "S", "wk": "N"},
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
                "Projection": {"ProjectionType": projection},
            }
            for name, key, projection in (("wide", "wk", "ALL"), ("slim", "gk", "KEYS_ONLY"))
        ],
    )


def test_1_a_required_member_is_missing(raw: RawClient) -> None:
    members: Members = {
        "Select": "X", "Limit": 0, "Segment": -1, "TotalSegments": 0, "ReturnConsumedCapacity": "x",
        "ConditionalOperator": "XOR", "ScanFilter": {"a": {"ComparisonOperator": "eq"}, "b": {}},
    }  # fmt: skip
    null = "Value null at 'tableName' failed to satisfy constraint: Member must not be null"
    older = "Value '{}' at '{}' failed to satisfy constraint: Member must {}"
    assert validation(raw, "Scan", members) == told(
        SELECT,
        older.format(0, "totalSegments", "have value greater than or equal to 1"),
        CAPACITY,
        null,
        older.format("XOR", "conditionalOperator", "satisfy enum value set: [OR, AND]"),
        older.format("eq", "scanFilter.a.member.comparisonOperator", f"satisfy enum value set: [{OPERATORS}]"),
        "Value null at 'scanFilter.b.member.comparisonOperator' failed to satisfy constraint: Member must not be null",
        older.format(-1, "segment", "have value greater than or equal to 0"),
        older.format(0, "limit", "have value greater than or equal to 1"),
    )
    assert validation(raw, "Scan", {"Limit": 0}) == told(
        null, older.format(0, "limit", "have value greater than or equal to 1")
    )
    assert validation(raw, "Scan", {"TableName": "ab", "Limit": 0, "ScanFilter": {"b": {}}}) == told(
        SHORT_NAME,
        "Value null at 'scanFilter.b.member.comparisonOperator' failed to satisfy constraint: Member must not be null",
        older.format(0, "limit", "have value greater than or equal to 1"),
    )


@pytest.mark.parametrize(
    ("members", "texts"),
    [
        ({"Limit": 0}, [AT_LEAST.format("Limit", 1)]),
        ({"Segment": -1}, [AT_LEAST.format("Segment", 0)]),
        ({"Segment": 1_000_000, "TotalSegments": 1}, [AT_MOST.format("Segment", 999_999)]),
        ({"Segment": 0, "TotalSegments": 0}, [AT_LEAST.format("TotalSegments", 1)]),
        ({"Segment": 0, "TotalSegments": 1_000_001}, [AT_MOST.format("TotalSegments", 1_000_000)]),
        ({"TableName": ""}, [EMPTY_NAME]),
        (
            {"TotalSegments": 0, "TableName": "", "Segment": -1, "Limit": -1, "ReturnConsumedCapacity": "x"},
            [
                AT_LEAST.format("Limit", 1),
                AT_LEAST.format("Segment", 0),
                EMPTY_NAME,
                AT_LEAST.format("TotalSegments", 1),
            ],
        ),
        ({"Limit": 0, "TableName": "ab", "Select": "X"}, [AT_LEAST.format("Limit", 1)]),
    ],
)
def test_2_numbers_and_an_empty_name_are_told_together(plain: DataTable, members: Members, texts: list[str]) -> None:
    assert plain.refusal("Scan", **members) == told(*texts)


@pytest.mark.parametrize(
    ("members", "texts"),
    [
        ({"TableName": "ab"}, [SHORT_NAME]),
        ({"TableName": "ab", "ReturnConsumedCapacity": "x"}, [SHORT_NAME, CAPACITY]),
        ({"TableName": "a!b", "ReturnConsumedCapacity": "x"}, [PATTERN, CAPACITY]),
        ({"TableName": "!!"}, [SHORT_NAME.replace("'ab'", "'!!'")]),
        ({"ReturnConsumedCapacity": "x", "Select": "X"}, [CAPACITY]),
        (
            {"ReturnConsumedCapacity": "x", "ScanFilter": {"a": FILTER}, "FilterExpression": "a =",
             "ConditionalOperator": "AND"},
            [CAPACITY],
        ),
    ],
)  # fmt: skip
def test_3_the_name_and_the_consumed_capacity(plain: DataTable, members: Members, texts: list[str]) -> None:
    assert plain.refusal("Scan", **members) == told(*texts)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {
                "ScanFilter": {"a": {"ComparisonOperator": "eq"}},
                "ConditionalOperator": "XOR",
                "FilterExpression": "a =",
            },
            (
                "Can not use both expression and non-expression parameters in the same request:"
                " Non-expression parameters: {ScanFilter, ConditionalOperator} Expression parameters:"
                " {FilterExpression}"
            ),
        ),
        ({"ConditionalOperator": "AND"}, "ConditionalOperator cannot be used without Filter or Expected"),
        ({"ConditionalOperator": "XOR"}, "ConditionalOperator cannot be used without Filter or Expected"),
        (
            {"ConditionalOperator": "AND", "ScanFilter": {}},
            "ConditionalOperator cannot be used without Filter or Expected",
        ),
        (
            {"ConditionalOperator": "OR", "ScanFilter": {"a": {"ComparisonOperator": "eq"}}},
            "ConditionalOperator can only be used when Filter or Expected has two or more elements",
        ),
        (
            {"ConditionalOperator": "XOR", "ScanFilter": {"a": FILTER, "b": FILTER}},
            "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]",
        ),
        ({"ScanFilter": {"a": {"ComparisonOperator": "eq"}}}, INVALID_OPERATOR),
        ({"ScanFilter": {"a": {"ComparisonOperator": "EQUAL", "AttributeValueList": [number("x")]}}}, INVALID_OPERATOR),
        (
            {
                "ScanFilter": {
                    "a": {"ComparisonOperator": "EQ", "AttributeValueList": [number("x")]},
                    "b": {"ComparisonOperator": ""},
                }
            },
            INVALID_OPERATOR,
        ),
        ({"ScanFilter": {"a": {"ComparisonOperator": "eq"}}, "Select": "X", "Segment": 0}, INVALID_OPERATOR),
    ],
)
def test_4_legacy_parameters(plain: DataTable, members: Members, message: str) -> None:
    assert plain.refusal("Scan", **members) == message


def filtered(value: Any) -> Members:
    return {"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": value}}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (filtered(number("abc")), "The parameter cannot be converted to a numeric value: abc"),
        (filtered(number("")), "The parameter cannot be converted to a numeric value: "),
        (filtered({"M": {"": text("a")}}), "Empty attribute name"),
        (filtered({"SS": ["b", "a", "b"]}), INVALID + 'Input collection ["a", "b", "b"] contains duplicates.'),
        (filtered({"NS": ["1", "1.0"]}), INVALID + "Input collection contains duplicates."),
        (filtered({}), "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (
            {"ExpressionAttributeValues": {":v": text("a")}},
            "ExpressionAttributeValues can only be specified when using expressions",
        ),
        (
            {"FilterExpression": "a =", "Select": "X", "Segment": 0},
            'Invalid FilterExpression: Syntax error; token: "<EOF>", near: "="',
        ),
    ],
)  # fmt: skip
def test_5_expressions_and_their_values(plain: DataTable, members: Members, message: str) -> None:
    assert plain.refusal("Scan", **members) == message


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"Select": "X", "Segment": 1, "TotalSegments": 1}, SELECT),
        ({"Select": "count"}, SELECT.replace("'X'", "'count'")),
        (
            {"Select": "SPECIFIC_ATTRIBUTES", "Segment": 0},
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "a", "TableName": "missing-table"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "AttributesToGet": ["a"]},
            "Cannot specify the AttributesToGet when choosing to get ALL_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
    ],
)  # fmt: skip
def test_6_select(plain: DataTable, members: Members, message: str) -> None:
    assert plain.refusal("Scan", **members) == ENVELOPE + message


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"Segment": 5, "TotalSegments": 5}, UNEQUAL_SEGMENT),
        ({"Segment": 5, "TotalSegments": 5, "TableName": "missing-table"}, UNEQUAL_SEGMENT),
        (
            {"Segment": 0, "IndexName": "missing"},
            (
                "The TotalSegments parameter is required but was not present in the request when"
                " Segment parameter is present"
            ),
        ),
        (
            {"TotalSegments": 1, "ExclusiveStartKey": {}},
            (
                "The Segment parameter is required but was not present in the request when"
                " parameter TotalSegments is present"
            ),
        ),
    ],
)
def test_7_segments(plain: DataTable, members: Members, message: str) -> None:
    assert plain.refusal("Scan", **members) == message


def test_8_the_table_then_the_index_then_what_it_returns(raw: RawClient, indexed: DataTable) -> None:
    assert fault(raw, "Scan", {"TableName": fresh_name("none"), "IndexName": "missing"}) == NOT_FOUND
    start = {"ExclusiveStartKey": {"pk": text("a")}}
    assert indexed.refusal("Scan", IndexName="missing", Select="ALL_ATTRIBUTES", **start) == (
        "The table does not have the specified index: missing"
    )
    assert indexed.refusal("Scan", IndexName="slim", Select="ALL_ATTRIBUTES", **start) == (
        INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index slim because its projection"
        " type is not ALL"
    )


TYPE_MISMATCH = INVALID + "Type mismatch for Index Key {} Expected: {} Actual: {} IndexName: {}"


@pytest.mark.parametrize(
    ("index", "start", "message"),
    [
        ("slim", {}, INVALID_KEY),
        ("slim", {"pk": text("a")}, INVALID_KEY),
        ("slim", {"pk": text("a"), "gk": text("a"), "x": text("a")}, INVALID_KEY),
        ("slim", {"pk": text("a"), "gk": number(1)}, TYPE_MISMATCH.format("gk", "S", "N", "slim")),
        ("slim", {"pk": number(1), "gk": text("a")}, TYPE_MISMATCH.format("pk", "S", "N", "slim")),
        ("wide", {"pk": text("a"), "wk": text("a")}, TYPE_MISMATCH.format("wk", "N", "S", "wide")),
        (None, {"pk": number(1)}, TYPE_MISMATCH.format("pk", "S", "N", "slim")),
        (None, {"pk": text("a"), "gk": number(1)}, TYPE_MISMATCH.format("gk", "S", "N", "slim")),
        (None, {"pk": text("a"), "wk": text("a")}, TYPE_MISMATCH.format("wk", "N", "S", "wide")),
        (None, {"pk": text("a"), "gk": text("a")}, INVALID_KEY),
        (None, {"x": text("a")}, INVALID_KEY),
    ],
)  # fmt: skip
def test_8_start_keys_of_a_table_with_indexes(
    indexed: DataTable, index: str | None, start: Members, message: str
) -> None:
    members: Members = {} if index is None else {"IndexName": index}
    assert indexed.refusal("Scan", ExclusiveStartKey=start, **members) == message


@pytest.mark.parametrize(
    "start",
    [{}, {"pk": text("a")}, {"pk": number(1), "sk": text("a")}, {"pk": text("a"), "sk": text("a"), "x": text("a")}],
)
def test_8_start_keys_of_a_table_without_indexes(plain: DataTable, start: Members) -> None:
    assert plain.refusal("Scan", ExclusiveStartKey=start) == INVALID_KEY
