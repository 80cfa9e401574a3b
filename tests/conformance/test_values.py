"""Attribute values in requests and replies: which are accepted, in which form they are returned,
which are refused and how.
"""

import base64
from typing import Any

import pytest

from tests.conformance.item_tables import (
    ENVELOPE,
    INVALID,
    ITEM_MAX_BYTES,
    DataTable,
    Item,
    Value,
    fresh_key,
    nested,
    number,
    text,
)
from tests.conformance.tables import validation

NOT_CONVERTIBLE = "The parameter cannot be converted to a numeric value: "
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
DEEP_VALUE = f"ExpressionAttributeValues contains invalid value: {TOO_DEEP} for key :v"
DIGITS = "9" * 38


def binary(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def stored(table: DataTable, value: Value) -> Value:
    """The value as it is returned after being stored."""
    key = fresh_key()
    table.put(key | {"v": value})
    item = table.get(key)
    assert item is not None
    assert item["pk"] == key["pk"]
    return item["v"]


def members(value: Value) -> Any:
    """The members of a set, without order."""
    ((kind, content),) = value.items()
    return kind, sorted(content)


@pytest.mark.parametrize(
    "value",
    [
        {"S": ""},
        {"S": '\u0000\u0001\x7f"\\/'},
        {"S": "häßlich \U0001f600 \u2028 e\u0301"},
        {"N": "-12.5"},
        {"B": ""},
        {"B": binary(bytes(range(256)))},
        {"BOOL": True},
        {"BOOL": False},
        {"NULL": True},
        {"L": []},
        {"M": {}},
        {"L": [{"S": ""}, {"N": "1"}, {"B": ""}, {"NULL": True}, {"BOOL": False}, {"L": []}, {"M": {}}, {"SS": [""]}]},
        {"M": {"a.b": {"M": {"#": {"M": {"SIZE": {"NS": ["1"]}}}}}, "ß\U0001f600": {"BS": [""]}}},
        {"SS": [""]},
        {"BS": [""]},
        nested(31),
        {"M": {"m": nested(30)}},
    ],
)
def test_a_value_comes_back_as_it_was(table: DataTable, value: Value) -> None:
    assert stored(table, value) == value


@pytest.mark.parametrize(
    "value",
    [
        {"SS": ["b", "a", "ä", "\U0001f600", "\uffff"]},
        {"NS": ["10", "9", "-1", "0.5"]},
        {"BS": [binary(b"\xff"), binary(b"\x00\x01"), binary(b"")]},
    ],
)
def test_a_set_comes_back_in_whatever_order(table: DataTable, value: Value) -> None:
    assert members(stored(table, value)) == members(value)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1.0", "1"), ("+1", "1"), ("01", "1"), ("1e0", "1"), (".1e1", "1"), ("1.50", "1.5"), (".5", "0.5"),
        ("0.50", "0.5"), ("5.", "5"), ("1E3", "1000"), ("1.e5", "100000"), ("-0", "0"), ("0.000", "0"),
        ("0e125", "0"), ("0e-130", "0"), ("1E125", "1" + "0" * 125), ("1E-130", "0." + "0" * 129 + "1"),
        ("-1e-130", "-0." + "0" * 129 + "1"), (DIGITS + "e88", DIGITS + "0" * 88),
        ("9." + "9" * 37 + "E+125", DIGITS + "0" * 88), ("-" + DIGITS, "-" + DIGITS),
        ("000" + DIGITS + "000", DIGITS + "000"), ("0." + "0" * 10 + DIGITS, "0." + "0" * 10 + DIGITS),
        ("1" + "0" * 60, "1" + "0" * 60), ("0" * 3000 + "7", "7"), ("1e+0000000000000000000000002", "100"),
    ],
)  # fmt: skip
def test_a_number_comes_back_canonical(table: DataTable, written: str, canonical: str) -> None:
    assert stored(table, {"N": written}) == {"N": canonical}
    assert stored(table, {"L": [{"NS": [written]}]}) == {"L": [{"NS": [canonical]}]}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        *[
            (bad, NOT_CONVERTIBLE + bad)
            for bad in (
                "",
                " ",
                "1 ",
                " 1",
                "1+2",
                "1.2.3",
                "1e",
                "e1",
                ".",
                "+",
                "--1",
                "NaN",
                "Infinity",
                "0x1",
                "1_0",
                "١",
                "1e1.0",
                "1,5",
            )
        ],
        ("1e126", OVERFLOW),
        ("-1e126", OVERFLOW),
        ("0e126", OVERFLOW),
        ("1" + "0" * 126, OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("0e-131", UNDERFLOW),
        ("-1e-131", UNDERFLOW),
        ("1e999999999999", OVERFLOW),
        ("1" * 39, TOO_PRECISE),
        ("1." + "1" * 38, TOO_PRECISE),
        ("-0." + "1" * 39, TOO_PRECISE),
    ],
)
def test_a_bad_number_is_refused(table: DataTable, written: str, message: str) -> None:
    for value in ({"N": written}, {"NS": [written]}, {"M": {"m": {"L": [{"N": written}]}}}):
        assert table.refusal("PutItem", Item=fresh_key() | {"v": value}) == ENVELOPE + message


EMPTY_SETS: list[tuple[Value, str]] = [
    ({"SS": []}, INVALID + "An string set  may not be empty"),
    ({"NS": []}, INVALID + "An number set  may not be empty"),
    ({"BS": []}, INVALID + "Binary sets should not be empty"),
]
REPEATS = [
    (
        {"SS": ["b", "a", "b"]},
        INVALID + 'Input collection ["a", "b", "b"] contains duplicates.',
        INVALID + "Input collection [b, a, b] contains duplicates.",
    ),
    (
        {"SS": ["c", "a", "a", "z", "b"]},
        INVALID + 'Input collection ["a", "c", "a", "z", "b"] contains duplicates.',
        INVALID + "Input collection [c, a, a, z, b] contains duplicates.",
    ),
    (
        {"BS": ["/w==", "AA==", "AA=="]},
        INVALID + 'Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
        INVALID + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
    ),
    (
        {"NS": ["1", "2", "1.0"]},
        INVALID + "Input collection contains duplicates.",
        "Input collection contains duplicates",
    ),
]


@pytest.mark.parametrize(("value", "message"), [*EMPTY_SETS, *[(value, current) for value, current, _ in REPEATS]])
def test_a_bad_set_is_refused(table: DataTable, value: Value, message: str) -> None:
    for inside in (value, {"L": [value]}, {"M": {"m": value}}):
        assert table.refusal("PutItem", Item=fresh_key() | {"v": inside}) == ENVELOPE + message
        assert table.refusal("GetItem", Key=fresh_key() | {"v": inside}) == message


@pytest.mark.parametrize(("value", "_current", "older"), REPEATS)
def test_the_older_layer_words_repeats_otherwise(table: DataTable, value: Value, _current: str, older: str) -> None:
    condition = {
        "TableName": table.name, "Key": fresh_key(), "ConditionExpression": "a = :v",
        "ExpressionAttributeValues": {":v": value},
    }  # fmt: skip
    assert validation(table.raw, "TransactWriteItems", {"TransactItems": [{"ConditionCheck": condition}]}) == (
        f"ExpressionAttributeValues contains invalid value: {older} for key :v"
    )


@pytest.mark.parametrize(
    ("value", "message", "is_enveloped"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes", False),
        (
            {"S": "a", "N": "1"},
            (
                "Supplied AttributeValue has more than one datatypes set, must contain exactly one"
                " of the supported datatypes"
            ),
            False,
        ),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true", True),
        ({"S": "a", "N": "bad"}, NOT_CONVERTIBLE + "bad", True),
        ({"S": "a", "SS": []}, INVALID + "An string set  may not be empty", True),
        ({"S": "a", "NULL": False, "SS": []}, INVALID + "Null attribute value types must have the value of true", True),
        ({"S": "a", "L": [{"N": "bad"}]}, NOT_CONVERTIBLE + "bad", True),
        (nested(32), TOO_DEEP, True),
        ({"M": {"m": nested(31)}}, TOO_DEEP, True),
    ],
)
def test_a_bad_value_is_refused(table: DataTable, value: Value, message: str, is_enveloped: bool) -> None:
    expected = ENVELOPE + message if is_enveloped else message
    assert table.refusal("PutItem", Item=fresh_key() | {"v": value}) == expected
    refusal = table.refusal(
        "UpdateItem", Key=fresh_key(), UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": value}
    )
    assert refusal == expected
    assert table.refusal("GetItem", Key=fresh_key() | {"v": value}) == message


def test_a_null_type_counts_as_absent(table: DataTable) -> None:
    assert stored(table, {"S": "a", "N": None, "SS": None}) == {"S": "a"}


def test_unknown_members_of_a_value_are_ignored(table: DataTable) -> None:
    assert stored(table, {"S": "a", "X": 5}) == {"S": "a"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"S": True}, "TRUE_VALUE cannot be converted to String"),
        ({"S": False}, "FALSE_VALUE cannot be converted to String"),
        ({"S": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"N": 1.5}, "DECIMAL_VALUE cannot be converted to String"),
        ({"S": []}, "Unrecognized collection type class java.lang.String"),
        ({"S": {}}, "Start of structure or map found where not expected"),
        ({"BOOL": "x"}, "Unexpected token received from parser"),
        ({"BOOL": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
        ({"BOOL": 1.5}, "DECIMAL_VALUE cannot be converted to Boolean"),
        ({"B": True}, "only base-64-encoded strings are convertible to bytes"),
        ({"B": []}, "Unrecognized collection type class java.nio.ByteBuffer"),
        ({"B": "abc"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ({"B": "=+/="}, "Invalid last non-pad Base64 character dectected"),
        ({"SS": "a"}, "Unexpected field type"),
        ({"SS": {}}, "Start of structure or map found where not expected"),
        ({"L": "a"}, "Unexpected field type"),
        ({"M": "a"}, "Unexpected field type"),
        ({"L": ["a"]}, "Unexpected value type in payload"),
        ("a", "Unexpected value type in payload"),
        ([], "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"),
    ],
)
def test_wrong_json_types_are_refused(table: DataTable, value: Any, message: str) -> None:
    assert table.fault("PutItem", Item=fresh_key() | {"v": value}) == ("SerializationException", message)


@pytest.mark.parametrize(
    ("written", "meant"), [("true", True), ("NO", False), ("1", True), ("0", False), ("Yes", True)]
)
def test_a_truth_value_may_be_a_string(table: DataTable, written: str, meant: bool) -> None:
    assert stored(table, {"BOOL": written}) == {"BOOL": meant}


NAMELESS: list[Item] = [{"": text("a")}, {"m": {"M": {"": text("a")}}}, {"l": {"L": [{"M": {"": text("a")}}]}}]


@pytest.mark.parametrize("attributes", NAMELESS)
def test_an_attribute_needs_a_name(table: DataTable, attributes: Item) -> None:
    nameless = "Empty attribute name"
    assert table.refusal("PutItem", Item=fresh_key() | attributes) == ENVELOPE + nameless
    assert table.refusal("GetItem", Key=fresh_key() | attributes) == nameless
    write = {"PutRequest": {"Item": fresh_key() | attributes}}
    assert validation(table.raw, "BatchWriteItem", {"RequestItems": {table.name: [write]}}) == nameless


@pytest.mark.parametrize("levels", [32, 62, 63, 100])
def test_an_empty_name_of_an_attribute_is_told_before_nesting_too_deep(table: DataTable, levels: int) -> None:
    item = fresh_key() | {"d": nested(levels), "": text("a")}
    nameless = "Empty attribute name"
    envelope = ENVELOPE if levels <= 62 else ""
    assert table.refusal("PutItem", Item=item) == envelope + nameless
    assert table.refusal("DeleteItem", Key=item) == envelope + nameless
    assert table.refusal("UpdateItem", Key=item) == envelope + nameless
    assert table.refusal("GetItem", Key=item) == nameless
    for requests in ({"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": item}}):
        assert validation(table.raw, "BatchWriteItem", {"RequestItems": {table.name: [requests]}}) == nameless
    assert validation(table.raw, "BatchGetItem", {"RequestItems": {table.name: {"Keys": [item]}}}) == nameless
    for action in ({"Put": {"Item": item}}, {"Delete": {"Key": item}}):
        ((kind, members),) = action.items()
        transaction = {"TransactItems": [{kind: members | {"TableName": table.name}}]}
        assert validation(table.raw, "TransactWriteItems", transaction) == nameless
    for nested_too in (item | {"m": {"M": {"": text("a")}}}, fresh_key() | {"m": {"M": {"": text("a")}}} | item):
        assert table.refusal("GetItem", Key=nested_too) == nameless
    inside = {"M": {"": text("a"), "d": nested(levels)}}
    assert table.refusal("PutItem", Item=fresh_key() | {"m": inside}) == (ENVELOPE if levels < 62 else "") + TOO_DEEP


def test_an_empty_name_inside_a_map_is_told_after_nesting_too_deep(table: DataTable) -> None:
    nameless = {"M": {"": text("a")}}
    for attributes in ({"a": nameless, "b": nested(32)}, {"a": nested(40), "b": nameless}, {"a": nested(32, nameless)}):
        assert table.refusal("PutItem", Item=fresh_key() | attributes) == ENVELOPE + TOO_DEEP
    assert (
        table.refusal("PutItem", Item=fresh_key() | {"a": nameless, "b": nested(31)})
        == ENVELOPE + "Empty attribute name"
    )
    values = {":v": {"L": [nameless, nested(32)]}}
    assert table.refusal(
        "UpdateItem", Key=fresh_key(), UpdateExpression="SET v = :v", ExpressionAttributeValues=values
    ) == (ENVELOPE + TOO_DEEP)


@pytest.mark.parametrize(("levels", "older"), [(32, TOO_DEEP), (33, DEEP_VALUE), (62, DEEP_VALUE), (63, DEEP_VALUE)])
def test_the_older_layer_names_the_token_of_a_value_beyond_33_levels(table: DataTable, levels: int, older: str) -> None:
    values = {":v": nested(levels)}
    condition = {
        "TableName": table.name,
        "Key": fresh_key(),
        "ConditionExpression": "a = :v",
        "ExpressionAttributeValues": values,
    }
    assert validation(table.raw, "TransactWriteItems", {"TransactItems": [{"ConditionCheck": condition}]}) == older
    assert table.refusal("Scan", FilterExpression="a = :v", ExpressionAttributeValues=values) == TOO_DEEP


@pytest.mark.parametrize(
    ("written", "current", "older"),
    [
        ("1e2147483647", OVERFLOW, UNDERFLOW),
        ("-1e2147483647", OVERFLOW, UNDERFLOW),
        ("1e2147483646", OVERFLOW, OVERFLOW),
        ("1e2147483648", OVERFLOW, NOT_CONVERTIBLE + "1e2147483648"),
        ("1e-2147483647", UNDERFLOW, UNDERFLOW),
    ],
)
def test_the_older_layer_counts_exponents_in_32_bits(table: DataTable, written: str, current: str, older: str) -> None:
    item = fresh_key() | {"n": number(written)}
    assert table.refusal("PutItem", Item=item) == ENVELOPE + current
    for actual in (item, fresh_key() | {"n": {"NS": [written]}}):
        write = {"RequestItems": {table.name: [{"PutRequest": {"Item": actual}}]}}
        assert validation(table.raw, "BatchWriteItem", write) == older
        put = {"TransactItems": [{"Put": {"TableName": table.name, "Item": actual}}]}
        assert validation(table.raw, "TransactWriteItems", put) == older
    statement = {
        "Statement": f"INSERT INTO \"{table.name}\" VALUE {{'pk': ?, 'n': ?}}",
        "Parameters": [text("a"), number(written)],
    }
    assert validation(table.raw, "ExecuteStatement", statement) == older


def test_the_size_of_a_string_is_that_of_its_utf_16(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"s": text("é𝄞")})
    members: dict[str, Any] = {"ExpressionAttributeValues": {":n": number(3)}}
    table.update(key, "SET a = :n", ConditionExpression="size(s) = :n", **members)


def filled(table: DataTable, value: Value, size_bytes: int) -> dict[str, Value]:
    """An item of exactly the maximum size, whose attribute `v` is a value of `size_bytes`."""
    key = fresh_key()
    rest = ITEM_MAX_BYTES - 2 - len(key["pk"]["S"]) - 1 - size_bytes - 1
    return key | {"v": value, "x": text("x" * rest)}


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        (text("abc"), 3),
        (text("ä\U0001f600"), 6),
        ({"B": binary(b"12345")}, 5),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bcd", ""]}, 4),
        ({"NS": ["1", "-42"]}, 5),
        ({"BS": [binary(b"1"), binary(b"23")]}, 3),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [text("ab"), {"NULL": True}]}, 3 + 3 + 2),
        ({"M": {"name": text("ab")}}, 3 + 1 + 4 + 2),
        ({"L": [{"M": {"n": {"L": []}}}]}, 3 + 1 + 3 + 1 + 1 + 3),
        *[
            ({"N": written}, size)
            for written, size in [
                ("0", 1),
                ("1", 2),
                ("12", 2),
                ("123", 3),
                ("1234", 3),
                ("123456", 4),
                ("100", 2),
                ("1010", 3),
                ("15", 2),
                ("1.5", 3),
                ("3.14159", 5),
                ("100.5", 4),
                ("0.15", 2),
                ("1E125", 2),
                ("-42", 3),
                ("-0", 1),
                ("1" * 38, 20),
            ]
        ],
    ],
)
def test_sizes_to_the_byte(table: DataTable, value: Value, size_bytes: int) -> None:
    item = filled(table, value, size_bytes)
    table.put(item)
    item["x"] = text(item["x"]["S"] + "x")
    assert table.refusal("PutItem", Item=item) == "Item size has exceeded the maximum allowed size"


def test_names_count_in_utf8(table: DataTable) -> None:
    item = filled(table, text(""), 6) | {"ä\U0001f600": text("")}
    del item["v"]
    item["x"] = text(item["x"]["S"] + "x")
    table.put(item)
    item["x"] = text(item["x"]["S"] + "x")
    assert table.refusal("PutItem", Item=item) == "Item size has exceeded the maximum allowed size"


def test_an_item_too_large_is_refused_before_the_table_is_looked_up(table: DataTable) -> None:
    item = fresh_key() | {"x": text("x" * ITEM_MAX_BYTES)}
    assert (
        table.refusal("PutItem", Item=item, TableName="absent-table")
        == "Item size has exceeded the maximum allowed size"
    )


@pytest.mark.parametrize("levels", [33, 61, 100, 500, 5_000, 100_000])
def test_any_depth_is_refused_or_no_json(table: DataTable, levels: int) -> None:
    """A body of any depth is refused as too deep, or as unreadable JSON, never with an internal error."""
    body = (
        f'{{"TableName": "{table.name}", "Item": {{"pk": {{"S": "deep"}}, "v": '
        + '{"L": [' * levels + '{"S": "x"}' + "]}" * levels + "}}"
    )  # fmt: skip
    reply = table.raw("PutItem", body.encode())
    assert reply.status == 400, reply.body
    code = reply.json()["__type"].partition("#")[2]
    assert code == "SerializationException" or TOO_DEEP in reply.json()["message"]
    if levels <= 100:
        assert code == "ValidationException"
