"""Query: key conditions, order, filters, Select, start keys."""

import base64
from typing import Any

import pytest

from tests.conformance.item_tables import (
    ENVELOPE,
    INVALID,
    NOT_FOUND,
    NOT_VALID,
    DataTable,
    Item,
    Value,
    fresh_key,
    make_table,
    number,
    text,
)
from tests.support.raw_client import RawClient

LETTERS = ["a", "ab", "abc", "b", "ba", "c", "z"]


def binary(raw: bytes) -> Value:
    return {"B": base64.b64encode(raw).decode()}


@pytest.fixture(scope="module")
def letters(sorted_table: DataTable) -> Value:
    """The partition key of items whose sort keys are LETTERS; `n` counts them, every second item has `even`."""
    partition = fresh_key()["pk"]
    for place, sort in enumerate(LETTERS):
        item = {"pk": partition, "sk": text(sort), "n": number(place), "m": {"M": {"x": number(place), "y": text("y")}}}
        sorted_table.put(item | ({"even": {"BOOL": True}} if place % 2 == 0 else {}))
    return partition


def sort_keys(reply: Any) -> list[str]:
    return [item["sk"]["S"] for item in reply["Items"]]


# --- key conditions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "low", "high", "expected"),
    [
        ("", None, None, LETTERS),
        ("sk = :l", "b", None, ["b"]),
        ("sk = :l", "bb", None, []),
        ("sk < :l", "b", None, ["a", "ab", "abc"]),
        ("sk <= :l", "b", None, ["a", "ab", "abc", "b"]),
        ("sk > :l", "b", None, ["ba", "c", "z"]),
        ("sk >= :l", "b", None, ["b", "ba", "c", "z"]),
        (":l > sk", "b", None, ["a", "ab", "abc"]),
        (":l <= sk", "b", None, ["b", "ba", "c", "z"]),
        ("sk BETWEEN :l AND :h", "ab", "b", ["ab", "abc", "b"]),
        ("sk between :l and :h", "ab", "ab", ["ab"]),
        ("sk BETWEEN :l AND :h", "bb", "bz", []),
        ("begins_with(sk, :l)", "a", None, ["a", "ab", "abc"]),
        ("begins_with ( sk , :l )", "ab", None, ["ab", "abc"]),
        ("begins_with(sk, :l)", "d", None, []),
        ("(sk = :l)", "b", None, ["b"]),
    ],
)
def test_a_key_condition(
    sorted_table: DataTable, letters: Value, condition: str, low: str | None, high: str | None, expected: list[str]
) -> None:
    values = {":pk": letters} | {token: text(v) for token, v in ((":l", low), (":h", high)) if v is not None}
    for whole in (
        [f"pk = :pk AND {condition}", f"{condition} AND :pk = pk"] if condition else ["pk = :pk", "(pk = :pk)"]
    ):
        reply = sorted_table.query(whole, ExpressionAttributeValues=values)
        assert sort_keys(reply) == expected
        assert (reply["Count"], reply["ScannedCount"]) == (len(expected), len(expected))
        assert "LastEvaluatedKey" not in reply
        reply = sorted_table.query(whole, ExpressionAttributeValues=values, ScanIndexForward=False)
        assert sort_keys(reply) == expected[::-1]


STRINGS = ["\u0000", " ", "A", "Z", "a", "a\u0000", "aa", "z", "ß", "ä", "\uffee", "\U0001f600"]
NUMBERS = [
    "-9.9e125", "-1000", "-11", "-10.5", "-10", "-1", "-0.5", "-1e-130", "0", "1e-130", "0.001", "0.01", "0.5", "1",
    "1.5", "2",
    "10", "10.5", "11", "99", "100", "1e38", "9.9e125",
]  # fmt: skip
BINARIES = [
    b"\x00",
    b"\x00\x00",
    b"\x00\x01",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xfe\xff",
    b"\xff",
    b"\xff\x00",
    b"\xff\xff",
]


@pytest.mark.parametrize(
    ("kind", "ordered"),
    [("S", [text(value) for value in STRINGS]), ("N", [number(value) for value in NUMBERS]),
     ("B", [binary(value) for value in BINARIES])],
)  # fmt: skip
def test_sort_keys_are_in_order(raw: RawClient, kind: str, ordered: list[Value]) -> None:
    table = make_table(raw, kind, kind)
    canonical = []
    for position in [*range(1, len(ordered), 2), *range(0, len(ordered), 2)]:
        table.put({"pk": ordered[0], "sk": ordered[position], "place": number(position)})
    values = {":pk": ordered[0]}
    reply = table.query(ExpressionAttributeValues=values)
    assert [int(item["place"]["N"]) for item in reply["Items"]] == list(range(len(ordered)))
    canonical = [item["sk"] for item in reply["Items"]]
    for position, bound in enumerate(ordered):
        for operator, places in (
            ("<", range(position)),
            ("<=", range(position + 1)),
            ("=", [position]),
            (">=", range(position, len(ordered))),
            (">", range(position + 1, len(ordered))),
        ):
            reply = table.query(f"pk = :pk AND sk {operator} :b", ExpressionAttributeValues=values | {":b": bound})
            assert [item["sk"] for item in reply["Items"]] == [canonical[place] for place in places]
    if kind != "N":
        for bound in ordered:
            start = base64.b64decode(bound["B"]) if kind == "B" else bound["S"].encode()
            found = table.query("pk = :pk AND begins_with(sk, :b)", ExpressionAttributeValues=values | {":b": bound})
            raws = [base64.b64decode(v["B"]) if kind == "B" else v["S"].encode() for v in canonical]
            assert [item["sk"] for item in found["Items"]] == [
                v for v, whole in zip(canonical, raws, strict=True) if whole.startswith(start)
            ]


def test_partitions_stay_apart(raw: RawClient) -> None:
    """A Query of a partition key that is the prefix of another one returns no items of the other."""
    table = make_table(raw, "B", "B")
    keys = [b"\x00", b"\x00\x00", b"\xff", b"\xff\xff", b"a", b"ab", b"a" * 2048]
    for partition in keys:
        for sort in keys[:6]:
            table.put({"pk": binary(partition), "sk": binary(sort)})
    for partition in keys:
        reply = table.query(ExpressionAttributeValues={":pk": binary(partition)})
        assert [base64.b64decode(item["sk"]["B"]) for item in reply["Items"]] == sorted(keys[:6])
        last = table.query(
            "pk = :pk AND begins_with(sk, :b)",
            ExpressionAttributeValues={":pk": binary(partition), ":b": binary(b"\xff")},
        )
        assert last["Count"] == 2


def test_a_table_without_sort_key(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    values = {":pk": key["pk"]}
    assert table.query(ExpressionAttributeValues=values) == {
        "Items": [key | {"a": number(1)}],
        "Count": 1,
        "ScannedCount": 1,
    }
    absent = {":pk": fresh_key()["pk"]}
    assert table.query(ExpressionAttributeValues=absent) == {"Items": [], "Count": 0, "ScannedCount": 0}
    assert table.refusal("Query", KeyConditionExpression="pk = :pk AND a = :pk", ExpressionAttributeValues=values) == (
        "Query key condition not supported"
    )


KEY_PREFIX = "Invalid KeyConditionExpression: "
SHAPE = "Invalid condition in KeyConditionExpression: "


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", KEY_PREFIX + "The expression can not be empty;"),
        ("pk =", KEY_PREFIX + 'Syntax error; token: "<EOF>", near: "="'),
        ("((pk = :a))", KEY_PREFIX + "The expression has redundant parentheses;"),
        ("hash = :a", KEY_PREFIX + "Attribute name is a reserved keyword; reserved keyword: hash"),
        ("foo(pk, :a)", KEY_PREFIX + "Invalid function name; function: foo"),
        (
            "#pk = :a",
            KEY_PREFIX + "An expression attribute name used in the document path is not defined; attribute name: #pk",
        ),
        (
            "pk = :x",
            KEY_PREFIX + "An expression attribute value used in expression is not defined; attribute value: :x",
        ),
        (
            "pk = :a AND begins_with(sk, :n)",
            KEY_PREFIX
            + "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
        ),
        (
            "pk = :a AND sk BETWEEN :b AND :a",
            KEY_PREFIX + "The BETWEEN operator requires upper bound to be greater than or equal"
            " to lower bound; lower bound operand: AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}",
        ),
        (
            "pk = :a AND sk BETWEEN :n AND :a",
            KEY_PREFIX + "The BETWEEN operator requires same data type for lower and upper"
            " bounds; lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:a}",
        ),
        (
            "pk = :a AND sk < :null",
            KEY_PREFIX + "Incorrect operand type for operator or function; operator or function: <, operand type: NULL",
        ),
        ("pk = :a OR sk = :a", "Invalid operator used in KeyConditionExpression: OR"),
        ("NOT pk = :a", "Invalid operator used in KeyConditionExpression: NOT"),
        ("pk IN (:a)", "Invalid operator used in KeyConditionExpression: IN"),
        ("pk <> :a", "Invalid operator used in KeyConditionExpression: <>"),
        ("pk = :a AND attribute_exists(sk)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
        ("pk = :a AND contains(sk, :a)", "Invalid operator used in KeyConditionExpression: contains"),
        (
            "pk = :a AND begins_with(:a, sk)",
            SHAPE + "begins_with operator must have the key attribute as its first operand",
        ),
        (
            "pk = :a AND :a BETWEEN sk AND :b",
            SHAPE + "BETWEEN operator must have the key attribute as its first operand",
        ),
        ("size(pk) = :n", "KeyConditionExpressions cannot contain nested operations"),
        ("pk = sk", SHAPE + "Multiple attribute names used in one condition"),
        (":a = :b", SHAPE + "No key attribute specified"),
        ("pk = :a AND sk.a = :a", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (
            "pk = :a AND pk = :b",
            "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
        ),
        (
            "pk = :a AND sk > :a AND x = :a",
            "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
        ),
        ("sk = :a", "Query condition missed key schema element: pk"),
        ("x = :a", "Query condition missed key schema element: pk"),
        ("pk = :a AND x = :a", "Query condition missed key schema element: sk"),
        ("pk > :a", "Query key condition not supported"),
        ("begins_with(pk, :a)", "Query key condition not supported"),
        ("pk BETWEEN :a AND :b", "Query key condition not supported"),
        ("pk = :n", INVALID + "Condition parameter type does not match schema type"),
        ("pk = :a AND sk = :n", INVALID + "Condition parameter type does not match schema type"),
        ("pk = :a AND sk = :null", INVALID + "Condition parameter type does not match schema type"),
        ("pk = :e", NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"),
        (
            "pk = :a AND sk > :e",
            NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: sk",
        ),
        ("pk = :long", INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        (
            "pk = :a AND sk = :long",
            INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        ),
    ],
)
def test_a_bad_key_condition_is_refused(sorted_table: DataTable, condition: str, message: str) -> None:
    values = {
        ":a": text("a"),
        ":b": text("b"),
        ":n": number(1),
        ":null": {"NULL": True},
        ":e": text(""),
        ":long": text("x" * 2049),
    }
    tokens = condition.replace("(", " ").replace(")", " ").replace(",", " ").split()
    members: dict[str, Any] = {"ExpressionAttributeValues": {t: v for t, v in values.items() if t in tokens}}
    if not members["ExpressionAttributeValues"]:
        members = {}
    assert sorted_table.refusal("Query", KeyConditionExpression=condition, **members) == message


@pytest.mark.parametrize(
    ("condition", "is_told_first"),
    [
        ("pk =", True),
        ("pk = :a AND pk = :b", True),
        ("pk = :a AND pk = :b AND sk = :a", True),
        ("pk = :a OR sk = :b", True),
        ("pk > :a", False),
        ("begins_with(pk, :a)", False),
        ("pk = :a AND sk > :b AND x = :a", False),
        ("pk = :a AND sk > :b AND x = :a AND y = :b", False),
        ("x = :a", False),
        ("pk = :a AND x = :b", False),
        ("pk = :n", False),
        ("pk = :e", False),
    ],
)
def test_what_needs_the_key_comes_after_table_and_index(
    sorted_table: DataTable, condition: str, is_told_first: bool
) -> None:
    values = {":a": text("a"), ":b": text("b"), ":n": number(1), ":e": text("")}
    request: dict[str, Any] = {"KeyConditionExpression": condition}
    if condition != "pk =":
        request["ExpressionAttributeValues"] = {token: value for token, value in values.items() if token in condition}
    elsewhere = sorted_table.fault("Query", TableName="missing-table", **request)
    assert (elsewhere == NOT_FOUND) is not is_told_first
    absent = sorted_table.refusal("Query", IndexName="absent", **request)
    assert (absent == "The table does not have the specified index: absent") is not is_told_first
    assert sorted_table.refusal("Query", **request) != absent or is_told_first


def test_expressions_are_checked_before_the_shape_of_the_key_condition(sorted_table: DataTable) -> None:
    """Order: KeyConditionExpression, FilterExpression, ProjectionExpression,
    unused names and values; then the shape.
    """

    def heard(*faults: dict[str, Any]) -> str:
        good = {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": text("a")}}
        request: dict[str, Any] = good
        for fault in faults:
            values = request["ExpressionAttributeValues"] | fault.get("ExpressionAttributeValues", {})
            request = request | fault | {"ExpressionAttributeValues": values}
        return sorted_table.refusal("Query", **request) or ""

    key: dict[str, Any] = {"KeyConditionExpression": "pk ="}
    shape: dict[str, Any] = {"KeyConditionExpression": "pk = :a OR sk = :a"}
    filtering: dict[str, Any] = {"FilterExpression": "a ="}
    projecting: dict[str, Any] = {"ProjectionExpression": "a,"}
    unused: dict[str, Any] = {"ExpressionAttributeValues": {":unused": text("a")}}
    assert heard(key, filtering, projecting, unused).startswith(KEY_PREFIX + "Syntax error")
    assert heard(shape, filtering, projecting, unused).startswith("Invalid FilterExpression: Syntax error")
    assert heard(shape, projecting, unused).startswith("Invalid ProjectionExpression: Syntax error")
    assert heard(shape, unused).startswith(
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"
    )
    assert heard(shape) == "Invalid operator used in KeyConditionExpression: OR"


def test_a_key_condition_is_needed(table: DataTable) -> None:
    message = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    assert table.refusal("Query") == message
    values = {":a": text("a")}
    assert table.refusal("Query", FilterExpression="a = :a", ExpressionAttributeValues=values) == message


# --- filter, projection, Select -----------------------------------------------------------------


def test_a_filter_comes_after_the_read(sorted_table: DataTable, letters: Value) -> None:
    values = {":pk": letters, ":n": number(3)}
    reply = sorted_table.query(FilterExpression="n > :n", ExpressionAttributeValues=values)
    assert sort_keys(reply) == LETTERS[4:]
    assert (reply["Count"], reply["ScannedCount"]) == (3, 7)
    reply = sorted_table.query(FilterExpression="n > :n", ExpressionAttributeValues=values, Limit=3)
    assert (reply["Items"], reply["Count"], reply["ScannedCount"]) == ([], 0, 3)
    assert reply["LastEvaluatedKey"] == {"pk": letters, "sk": text("abc")}


def test_a_filter_is_not_for_keys(sorted_table: DataTable, letters: Value) -> None:
    message = "Filter Expression can only contain non-primary key attributes: Primary key attribute: "
    for path, name in (("pk = :pk", "pk"), ("attribute_exists(sk)", "sk"), ("n = :pk OR begins_with(sk, :pk)", "sk")):
        values = {":pk": letters}
        request = {"KeyConditionExpression": "pk = :pk", "FilterExpression": path, "ExpressionAttributeValues": values}
        assert sorted_table.refusal("Query", **request) == message + name


def test_a_projection(sorted_table: DataTable, letters: Value) -> None:
    reply = sorted_table.query(
        "pk = :pk AND begins_with(sk, :s)", ExpressionAttributeValues={":pk": letters, ":s": text("a")},
        ProjectionExpression="#n, m.x, even", ExpressionAttributeNames={"#n": "n"},
    )  # fmt: skip
    even = {"even": {"BOOL": True}}
    assert reply["Items"] == [
        {"n": number(place), "m": {"M": {"x": number(place)}}} | (even if place % 2 == 0 else {}) for place in range(3)
    ]
    reply = sorted_table.query(ExpressionAttributeValues={":pk": letters}, ProjectionExpression="absent", Limit=2)
    assert reply["Items"] == [{}, {}]
    reply = sorted_table.query(ExpressionAttributeValues={":pk": letters}, ProjectionExpression="even", Limit=2)
    assert reply["Items"] == [even, {}]
    assert reply["Count"] == 2


def test_select(sorted_table: DataTable, letters: Value) -> None:
    whole: dict[str, Any] = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": letters}}
    reply = sorted_table.ask("Query", Select="COUNT", **whole)
    assert reply == {"Count": 7, "ScannedCount": 7}
    reply = sorted_table.ask("Query", Select="COUNT", FilterExpression="attribute_exists(even)", Limit=5, **whole)
    assert reply == {"Count": 3, "ScannedCount": 5, "LastEvaluatedKey": {"pk": letters, "sk": text("ba")}}
    assert sorted_table.ask("Query", Select="ALL_ATTRIBUTES", **whole) == sorted_table.ask("Query", **whole)
    reply = sorted_table.ask("Query", Select="SPECIFIC_ATTRIBUTES", ProjectionExpression="n", **whole)
    assert reply["Items"][1] == {"n": number(1)}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"Select": "COUNT", "ProjectionExpression": "n"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "n"},
            "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES", "ProjectionExpression": "n"},
            "Cannot specify the ProjectionExpression when choosing to get ALL_PROJECTED_ATTRIBUTES",
        ),
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
    ],
)
def test_select_and_projection_must_agree(sorted_table: DataTable, members: dict[str, Any], message: str) -> None:
    values = {":pk": text("a")}
    request = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": values}
    assert sorted_table.refusal("Query", **request, **members) == ENVELOPE + message
    assert sorted_table.refusal("Scan", **members) == ENVELOPE + message


@pytest.mark.parametrize("select", ["COUNT", "ALL_ATTRIBUTES"])
def test_select_and_attributes_to_get_must_agree(sorted_table: DataTable, select: str) -> None:
    chosen = "only the Count" if select == "COUNT" else select
    assert sorted_table.refusal("Scan", Select=select, AttributesToGet=["a"]) == (
        f"{ENVELOPE}Cannot specify the AttributesToGet when choosing to get {chosen}"
    )


# --- start keys ---------------------------------------------------------------------------------

OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
NO_START = "The provided starting key is invalid"


@pytest.mark.parametrize(
    ("start", "condition", "message"),
    [
        ({}, "", NO_START),
        ({"pk": text("p")}, "", NO_START),
        ({"sk": text("b")}, "", NO_START),
        ({"pk": text("p"), "x": text("b")}, "", NO_START),
        ({"pk": text("p"), "sk": text("b"), "x": text("b")}, "", NO_START),
        ({"pk": number(1), "sk": text("b")}, "", NO_START),
        ({"pk": text("p"), "sk": number(1)}, "", NO_START),
        ({"pk": text("other"), "sk": text("b")}, "", OUTSIDE),
        (
            {"pk": text("p"), "sk": text("b")},
            " AND sk > :s",
            "The provided starting key does not match the range key predicate",
        ),
        (
            {"pk": text("p"), "sk": text("c")},
            " AND begins_with(sk, :s)",
            "The provided starting key does not match the range key predicate",
        ),
        (
            {"pk": text("other"), "sk": text("b")},
            " AND sk = :s",
            "The query can return at most one row and cannot be restarted",
        ),
        (
            {"pk": {"S": "p", "N": "1"}, "sk": text("b")},
            "",
            (
                "The provided starting key is invalid: Supplied AttributeValue has"
                " more than one datatypes set, must contain exactly one of the supported datatypes"
            ),
        ),
        (
            {"pk": {}, "sk": text("b")},
            "",
            (
                "The provided starting key is invalid: Supplied AttributeValue is empty, must contain"
                " exactly one of the supported datatypes"
            ),
        ),
        (
            {"pk": {"NULL": False}, "sk": text("b")},
            "",
            "The provided starting key is invalid: "
            + INVALID
            + "Null attribute value types must have the value of true",
        ),
        (
            {"pk": {"SS": []}, "sk": text("b")},
            "",
            "The provided starting key is invalid: " + INVALID + "An string set  may not be empty",
        ),
        (
            {"pk": {"SS": ["b", "a", "b"]}, "sk": text("b")},
            "",
            INVALID + 'Input collection ["a", "b", "b"] contains duplicates.',
        ),
        (
            {"pk": {"BS": ["AA==", "AA=="]}, "sk": text("b")},
            "",
            INVALID + 'Input collection ["AA==","AA=="]of type BS contains duplicates.',
        ),
        ({"pk": {"NS": ["1", "1.0"]}, "sk": text("b")}, "", INVALID + "Input collection contains duplicates."),
        ({"pk": {"N": "bad"}, "sk": text("b")}, "", "The parameter cannot be converted to a numeric value: bad"),
        (
            {"pk": {"NS": ["1e126"]}, "sk": text("b")},
            "",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
    ],
)
def test_a_bad_start_key_is_refused(sorted_table: DataTable, start: Item, condition: str, message: str) -> None:
    values = {":pk": text("p")} | ({":s": text("b")} if condition else {})
    assert (
        sorted_table.refusal(
            "Query",
            KeyConditionExpression="pk = :pk" + condition,
            ExpressionAttributeValues=values,
            ExclusiveStartKey=start,
        )
        == message
    )


def test_a_start_key_need_not_exist(sorted_table: DataTable, letters: Value) -> None:
    start = {"pk": letters, "sk": text("aa")}
    values = {":pk": letters}
    assert sort_keys(sorted_table.query(ExpressionAttributeValues=values, ExclusiveStartKey=start)) == LETTERS[1:]
    reply = sorted_table.query(ExpressionAttributeValues=values, ExclusiveStartKey=start, ScanIndexForward=False)
    assert sort_keys(reply) == ["a"]


# --- indexes, tables, constraints ---------------------------------------------------------------


def test_an_unknown_index(table: DataTable) -> None:
    message = "The table does not have the specified index: absent"
    request = {
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": {":a": text("a")},
        "IndexName": "absent",
    }
    assert table.refusal("Query", **request) == message
    assert table.refusal("Scan", IndexName="absent") == message


def test_constraints_of_members(table: DataTable) -> None:
    assert table.refusal("Query", Limit=0) == (
        ENVELOPE + "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
    )
    assert table.refusal("Query", ConditionalOperator="XOR") == (
        "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
    )
    assert table.refusal(
        "Query", Select="x", IndexName="a", KeyConditions={"a": {}}, QueryFilter={"b": {"ComparisonOperator": "x"}}
    ) == (
        "4 validation errors detected: Value 'x' at 'select' failed to satisfy constraint:"
        " Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES];"
        " Value 'a' at 'indexName' failed to satisfy constraint: Member must have length greater than or equal to 3;"
        " Value 'x' at 'queryFilter.b.member.comparisonOperator' failed to satisfy constraint:"
        " Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE,"
        " BEGINS_WITH, GE, CONTAINS]; Value null at 'keyConditions.a.member.comparisonOperator' failed to satisfy"
        " constraint: Member must not be null"
    )
