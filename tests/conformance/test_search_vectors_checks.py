"""SearchVectors: its decoder and its checks, in their order. Sources: vectors.md 8 and 9."""

import json
from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, number, text
from tests.conformance.searches import make_vector_table, search_schema, vector, vector_index
from tests.conformance.tables import INVALID, fault, keys
from tests.support.raw_client import RawClient

ONE = "1 validation error detected: "
TOO_SHORT = "failed to satisfy constraint: Member must have length greater than or equal to"
BAD_VECTOR = (
    "Search vector contains invalid values."
    " All values in the search vector must be a 32-bit floating-point number attribute"
)
VALIDATION, SERIALIZATION = "ValidationException", "SerializationException"
NOT_FOUND = ("ResourceNotFoundException", "Requested resource not found")
WANTED: dict[str, Any] = {"TableName": "no-such-table", "IndexName": "vix", "SearchVector": vector(1, 0, 0), "TopK": 1}


@pytest.fixture(scope="session")
def table(raw: RawClient) -> DataTable:
    """A table with a vector index `plain` without a search schema, and `vix` with one."""
    schema = search_schema("tenant", "kind", "picture")
    types = {"tenant": "S", "kind": "N", "picture": "B"}
    return make_vector_table(raw, vector_index("plain"), vector_index("vix", SearchSchema=schema), **types)


def refused(raw: RawClient, members: dict[str, Any]) -> tuple[str, str | None]:
    return fault(raw, "SearchVectors", members)


def test_without_a_fault_a_missing_table_is_told(raw: RawClient) -> None:
    assert refused(raw, WANTED) == NOT_FOUND
    assert refused(raw, WANTED | {"TableName": "arn:aws:dynamodb:us-east-1:000000000000:table/no-such"}) == NOT_FOUND


# --- the decoder --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "code", "words"),
    [
        ("TableName", None, SERIALIZATION, "invalid type: null, expected a string"),
        ("IndexName", None, SERIALIZATION, "invalid type: null, expected a string"),
        ("SearchVector", None, SERIALIZATION, "invalid type: null, expected a sequence"),
        ("TopK", None, SERIALIZATION, "invalid type: null, expected i32"),
        ("TableName", 1, SERIALIZATION, "invalid type: integer `1`, expected a string"),
        ("TopK", 3.5, SERIALIZATION, "invalid type: floating point `3.5`, expected i32"),
        ("TopK", 2.0, SERIALIZATION, "invalid type: floating point `2.0`, expected i32"),
        ("TopK", "1", SERIALIZATION, 'invalid type: string "1", expected i32'),
        ("TopK", 2**31, VALIDATION, "invalid value: integer `2147483648`, expected i32"),
        ("ReturnConsumedCapacity", 1, SERIALIZATION, "invalid type: integer `1`, expected a string"),
        ("ExpressionAttributeNames", {"#a": None}, SERIALIZATION, "invalid type: null, expected a string"),
    ],
)
def test_a_member_of_another_type(raw: RawClient, name: str, value: Any, code: str, words: str) -> None:
    """The member is the last of the body: the parser stands before the brackets that close it."""
    members = {each: WANTED[each] for each in WANTED if each != name} | {name: value}
    body = json.dumps(members, separators=(",", ":"))
    reply = raw("SearchVectors", body.encode())
    answer = reply.json()
    assert (reply.status, answer["__type"].partition("#")[2]) == (400, code)
    assert answer["message"] == f"{words} at line 1 column {len(body.rstrip('}'))}"


@pytest.mark.parametrize("name", ["IndexName", "SearchVector", "TableName", "TopK"])
def test_a_missing_member_precedes_constraints(raw: RawClient, name: str) -> None:
    members = WANTED | {"IndexName": "ab", "TopK": 0, "TableName": "", "SearchVector": []}
    del members[name]
    body = json.dumps(members).encode()
    reply = raw("SearchVectors", body).json()
    assert reply["__type"].endswith("#ValidationException")
    assert reply["message"] == f"missing field `{name}` at line 1 column {len(body)}"


@pytest.mark.parametrize("value", [None, {}, {"N": "1", "S": "1"}, 1, True, [1]])
@pytest.mark.parametrize("place", ["SearchVector", "ExpressionAttributeValues", "inside"])
def test_what_is_no_attribute_value_has_no_message(raw: RawClient, place: str, value: Any) -> None:
    given: dict[str, dict[str, Any]] = {
        "SearchVector": {"SearchVector": [value]},
        "ExpressionAttributeValues": {"ExpressionAttributeValues": {":v": value}},
        "inside": {"ExpressionAttributeValues": {":v": {"L": [value]}}},
    }
    assert raw("SearchVectors", WANTED | given[place]).json() == {
        "__type": "com.amazon.coral.service#SerializationException"
    }


def test_an_unknown_type_is_told_before_all_constraints(raw: RawClient) -> None:
    code, message = refused(raw, WANTED | {"SearchVector": [{"F": "1"}], "TopK": 1000})
    assert code == VALIDATION
    assert message is not None
    assert message.startswith("unknown variant `F`, expected one of `B`, `BOOL`, `BS`, `DECIMAL`,")
    assert refused(raw, WANTED | {"SearchVector": ["N"]})[0] == SERIALIZATION


@pytest.mark.parametrize("name", ["DECIMAL", "DECIMALSET", "DOUBLE", "DOUBLESET", "INT", "INTSET"])
def test_types_of_the_endpoint_alone(raw: RawClient, name: str) -> None:
    members = {
        "SearchConditionExpression": "a = :v",
        "ExpressionAttributeValues": {":w": {"NS": []}, ":v": {name: "1"}},
    }
    assert refused(raw, WANTED | members) == (VALIDATION, "This type mapping is not supported")
    members["ExpressionAttributeValues"] = {":v": {"M": {"a": {"L": [{name: [1]}]}}}}
    assert refused(raw, WANTED | members) == (VALIDATION, "This type mapping is not supported")
    assert refused(raw, WANTED | {"SearchVector": [{name: "1"}]}) == (VALIDATION, BAD_VECTOR)


def test_null_is_read_as_absent_for_an_optional_member(raw: RawClient) -> None:
    names = (
        "ProjectionExpression",
        "SearchConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
    )
    assert refused(raw, WANTED | dict.fromkeys((*names, "ReturnConsumedCapacity"))) == NOT_FOUND


# --- checks before the table is looked up ---------------------------------------------------------

LADDER: list[tuple[dict[str, Any], str]] = [
    ({"TableName": ""}, f"{ONE}Value at 'TableName' {TOO_SHORT} 1"),
    ({"IndexName": "ab"}, f"{ONE}Value at 'IndexName' {TOO_SHORT} 3"),
    ({"TableName": "ab"}, f"Value 'ab' at 'tableName' {TOO_SHORT} 3"),
    (
        {"ReturnConsumedCapacity": "X"},
        (
            "Value 'X' at 'returnConsumedCapacity' failed to satisfy constraint:"
            " Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
        ),
    ),
    ({"TopK": 101}, "Provided TopK value '101' is out of valid range. The value must be between 1 and 100 inclusive"),
    ({"SearchVector": [{"L": vector(1)}]}, BAD_VECTOR),
    (
        {"ExpressionAttributeValues": {"bad": {"NULL": False}}},
        f"{INVALID}Null attribute value types must have the value of true",
    ),
    (
        {"ExpressionAttributeValues": {"bad": text("x")}},
        'ExpressionAttributeValues contains invalid key: Syntax error; key: "bad"',
    ),
    (
        {"SearchConditionExpression": ""},
        "Invalid SearchConditionExpression: The expression can not be empty;",
    ),
    ({"ProjectionExpression": ""}, "Invalid ProjectionExpression: The expression can not be empty;"),
    (
        {"ExpressionAttributeNames": {"#n": "x"}, "ProjectionExpression": "pk"},
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}",
    ),
    (
        {"ExpressionAttributeValues": {":v": text("x"), ":w": text("y")}, "SearchConditionExpression": "a = :w"},
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
    ),
]


@pytest.mark.parametrize("step", range(len(LADDER)))
def test_each_fault_is_told_and_precedes_the_next(raw: RawClient, step: int) -> None:
    members, message = LADDER[step]
    assert refused(raw, WANTED | members) == (VALIDATION, message)
    for later, _ in LADDER[step + 1 :]:
        if not later.keys() & members.keys():
            assert refused(raw, WANTED | later | members) == (VALIDATION, message)


def test_constraints_are_told_together_without_values(raw: RawClient) -> None:
    members = {"IndexName": "i", "SearchVector": [], "TopK": 0}
    assert refused(raw, WANTED | members) == (
        VALIDATION,
        (
            f"3 validation errors detected: Value at 'IndexName' {TOO_SHORT} 3; Value at 'SearchVector' {TOO_SHORT} 1;"
            " Value at 'TopK' failed to satisfy constraint: Member must have value greater than or equal to 1"
        ),
    )
    assert refused(raw, WANTED | members | {"TableName": ""})[1] == f"{ONE}Value at 'TableName' {TOO_SHORT} 1"
    assert refused(raw, WANTED | members | {"TableName": "a!"})[1] == refused(raw, WANTED | members)[1]


def test_lengths_that_are_too_great(raw: RawClient) -> None:
    too_long = "failed to satisfy constraint: Member must have length less than or equal to"
    assert refused(raw, WANTED | {"IndexName": "i" * 256})[1] == f"{ONE}Value at 'IndexName' {too_long} 255"
    assert (
        refused(raw, WANTED | {"SearchVector": vector(*[1] * 4097)})[1]
        == f"{ONE}Value at 'SearchVector' {too_long} 4096"
    )
    name = "t" * 256
    assert refused(raw, WANTED | {"TableName": name})[1] == f"Value '{name}' at 'tableName' {too_long} 255"


def test_a_table_name_is_told_alone(raw: RawClient) -> None:
    pattern = "failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    assert refused(raw, WANTED | {"TableName": "a!b"}) == (VALIDATION, f"Value 'a!b' at 'tableName' {pattern}")
    assert refused(raw, WANTED | {"TableName": "a!"}) == (VALIDATION, f"Value 'a!' at 'tableName' {TOO_SHORT} 3")


@pytest.mark.parametrize(
    "element", [{"S": "1"}, {"L": []}, {"N": "dog"}, {"N": "NaN"}, {"N": "1e39"}, {"N": ""}, {"NULL": True}]
)
def test_elements_of_the_vector_are_numbers_of_32_bits(raw: RawClient, table: DataTable, element: Any) -> None:
    """Also before the vector's length is compared with the index."""
    assert refused(raw, WANTED | {"SearchVector": [element]}) == (VALIDATION, BAD_VECTOR)
    wanted = WANTED | {"TableName": table.name, "SearchVector": [*vector(1, 2), element]}
    assert refused(raw, wanted) == (VALIDATION, BAD_VECTOR)


def test_more_digits_than_a_float_holds_are_read(table: DataTable) -> None:
    digits = "1.000000059604644775390625000000000000001234567890"
    wanted = {"IndexName": "plain", "SearchVector": vector(digits, "1E-200", "-0"), "TopK": 1}
    assert table.ask("SearchVectors", **wanted) == {"SearchResults": []}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"ExpressionAttributeNames": {}, "ExpressionAttributeValues": {"x": text("")}},
            "ExpressionAttributeNames must not be empty",
        ),
        (
            {"ExpressionAttributeNames": {"x": "a"}, "ExpressionAttributeValues": {}},
            "ExpressionAttributeValues must not be empty",
        ),
        (
            {"ExpressionAttributeNames": {"x": "a"}, "ExpressionAttributeValues": {"y": text("")}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "x"',
        ),
        (
            {"ExpressionAttributeNames": {"#x": "a"}, "ExpressionAttributeValues": {"y": text("")}},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "y"',
        ),
        (
            {"ExpressionAttributeNames": {"#x": "a"}, "ExpressionAttributeValues": {":y": text("")}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {
                "ProjectionExpression": "#x",
                "ExpressionAttributeNames": {"#x": "a"},
                "ExpressionAttributeValues": {":y": text("")},
            },
            "ExpressionAttributeValues can only be specified when using expressions",
        ),
    ],
)
def test_placeholders(raw: RawClient, members: dict[str, Any], message: str) -> None:
    assert refused(raw, WANTED | members) == (VALIDATION, message)


# --- checks of the index --------------------------------------------------------------------------


def test_an_index_that_is_no_vector_index(raw: RawClient, table: DataTable) -> None:
    wanted = WANTED | {"TableName": table.name, "IndexName": "other", "SearchVector": vector(1)}
    assert refused(raw, wanted) == (VALIDATION, "The table does not have the specified index: other")
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "gk")]
    index = {"IndexName": "gsi", "KeySchema": keys("gk"), "Projection": {"ProjectionType": "ALL"}}
    members = {"AttributeDefinitions": definitions, "GlobalSecondaryIndexes": [index], "KeySchema": keys("pk")}
    name = f"{table.name}-gsi"
    assert raw("CreateTable", {"TableName": name, "BillingMode": "PAY_PER_REQUEST"} | members).status == 200
    wanted = WANTED | {"TableName": name, "IndexName": "gsi"}
    assert refused(raw, wanted) == (VALIDATION, "The table does not have the specified index: gsi")


def test_the_vector_has_as_many_dimensions_as_the_index(raw: RawClient, table: DataTable) -> None:
    wanted = WANTED | {"TableName": table.name, "SearchVector": vector(1, 2), "SearchConditionExpression": "pk = :p"}
    wanted["ExpressionAttributeValues"] = {":p": text("x")}
    message = "Input search vector dimension 2 does not match vector index dimension 3"
    assert refused(raw, wanted) == (VALIDATION, message)


NOT_IN_SCHEMA = (
    "SearchConditionExpression must not contain any attributes that is not in SearchSchema. Invalid attribute: "
)


@pytest.mark.parametrize(
    ("condition", "values", "message"),
    [
        ("pk = :a", {":a": text("x")}, f"{NOT_IN_SCHEMA}pk"),
        ("tenant = :a AND embedding = :a", {":a": text("x")}, f"{NOT_IN_SCHEMA}embedding"),
        (None, None, "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
        ("kind = :a", {":a": number(1)}, "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
        (
            "tenant = :a",
            {":a": number(1)},
            "Type of 'tenant' attribute in SearchConditionExpression (N) does not match type in search schema (S)",
        ),
        (
            "tenant = :t AND kind = :a",
            {":t": text("t"), ":a": text("1")},
            "Type of 'kind' attribute in SearchConditionExpression (S) does not match type in search schema (N)",
        ),
        (
            "tenant = :t AND picture = :a",
            {":t": text("t"), ":a": {"BOOL": True}},
            "Type of 'picture' attribute in SearchConditionExpression (BOOL) does not match type in search schema (B)",
        ),
        (
            "tenant = :a",
            {":a": text("")},
            (
                "One or more parameter values are not valid."
                " The AttributeValue for a key attribute cannot contain an empty string value. Key: tenant"
            ),
        ),
    ],
)
def test_what_the_search_schema_does_not_allow(
    raw: RawClient, table: DataTable, condition: str | None, values: Any, message: str
) -> None:
    members = {"SearchConditionExpression": condition, "ExpressionAttributeValues": values}
    assert refused(raw, WANTED | {"TableName": table.name} | members) == (VALIDATION, message)


def test_a_condition_on_an_index_without_a_search_schema(raw: RawClient, table: DataTable) -> None:
    members = {"SearchConditionExpression": "tenant = :a", "ExpressionAttributeValues": {":a": text("x")}}
    wanted = WANTED | {"TableName": table.name, "IndexName": "plain"} | members
    assert refused(raw, wanted) == (VALIDATION, f"{NOT_IN_SCHEMA}tenant")


def test_a_hash_value_that_no_item_can_have(table: DataTable) -> None:
    for value in ("absent", "x" * 2_049, "x" * 300_000):
        members = {"SearchConditionExpression": "tenant = :a", "ExpressionAttributeValues": {":a": text(value)}}
        reply = table.ask("SearchVectors", IndexName="vix", SearchVector=vector(1, 0, 0), TopK=1, **members)
        assert reply == {"SearchResults": []}
