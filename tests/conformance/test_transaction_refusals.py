"""Which faults refuse a whole transaction, rather than become a cancellation reason,
and in which order are they checked?
"""

from typing import Any

import pytest

from tests.conformance.item_tables import (
    INVALID,
    ITEM_MAX_BYTES,
    NOT_VALID,
    DataTable,
    Item,
    Value,
    fresh_key,
    make_table,
    nested,
    number,
    text,
)
from tests.conformance.tables import validation
from tests.conformance.transactions import (
    FAILED,
    NONE,
    SCHEMA,
    TWICE,
    check,
    delete,
    get,
    invalid,
    put,
    reasons,
    update,
    write,
)
from tests.support.raw_client import RawClient

TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
EMPTY = "The AttributeValue for a key attribute cannot contain an empty {noun} value."
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


def refusal(raw: RawClient, *actions: Any, operation: str = "TransactWriteItems", **members: Any) -> str | None:
    """Message of a ValidationException for the whole request."""
    return validation(raw, operation, {"TransactItems": list(actions)} | members)


def failing(table: DataTable) -> Any:
    """An action that is refused with a reason."""
    return check(table, fresh_key(), "attribute_exists(pk)")


# --- empty values of keys ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def indexed(raw: RawClient) -> DataTable:
    """A table with a global index on a binary and a string attribute, and a local index."""
    projection = {"Projection": {"ProjectionType": "ALL"}}
    return make_table(
        raw, "S", "S", definitions={"b": "B", "s": "S"},
        GlobalSecondaryIndexes=[projection | {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        }],
        LocalSecondaryIndexes=[projection | {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        }],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("key_types", "key", "noun", "name"),
    [
        (("S", None), {"pk": text("")}, "string", "pk"),
        (("B", None), {"pk": {"B": ""}}, "binary", "pk"),
        (("S", "S"), {"pk": text("a"), "sk": text("")}, "string", "sk"),
        (("N", "B"), {"pk": number(1), "sk": {"B": ""}}, "binary", "sk"),
    ],
)
def test_an_empty_key_refuses_the_request(
    raw: RawClient, table: DataTable, key_types: tuple[str, str | None], key: Item, noun: str, name: str
) -> None:
    keyed = make_table(raw, *key_types)
    message = f"{NOT_VALID}{EMPTY.format(noun=noun)} Key: {name}"
    for action in (put(keyed, key), update(keyed, key), delete(keyed, key), check(keyed, key)):
        sound = fresh_key()
        assert refusal(raw, put(table, sound), action) == message
        assert refusal(raw, failing(table), action, failing(table)) == message
        assert table.get(sound) is None
    assert refusal(raw, get(table, fresh_key()), get(keyed, key), operation="TransactGetItems") == message
    wrong = get(table, {"pk": number(1)})
    assert refusal(raw, wrong, get(keyed, key), operation="TransactGetItems") == message


def test_an_empty_key_is_told_after_items_named_twice(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    assert refusal(raw, put(table, {"pk": text("")}), put(table, key), delete(table, key)) == TWICE


@pytest.mark.parametrize(("name", "value", "noun"), [("b", {"B": ""}, "binary"), ("s", text(""), "string")])
def test_an_empty_index_key_refuses_the_request(
    raw: RawClient, table: DataTable, indexed: DataTable, name: str, value: Value, noun: str
) -> None:
    key = fresh_key() | {"sk": text("a")}
    told = refusal(raw, failing(table), put(indexed, key | {name: value})) or ""
    assert told.startswith(
        f"{NOT_VALID}A value specified for a secondary index key is not supported. {EMPTY.format(noun=noun)}"
    )
    attempted = "The update expression attempted to update a secondary index key to a value that is not supported. "
    message = NOT_VALID + attempted + EMPTY.format(noun=noun)
    for expression in (f"SET {name} = :v", f"SET {name} = if_not_exists(elsewhere, :v)"):
        change = update(indexed, key, expression, ExpressionAttributeValues={":v": value})
        assert refusal(raw, failing(table), change) == message
    assert indexed.get(key) is None


def test_other_faults_of_keys_stay_reasons(raw: RawClient, indexed: DataTable) -> None:
    key, other = fresh_key() | {"sk": text("a")}, fresh_key() | {"sk": text("b")}
    found = reasons(raw, put(indexed, key | {"s": number(1)}), put(indexed, other))
    assert [reason["Code"] for reason in found] == ["ValidationError", "None"]
    assert found[0]["Message"].startswith(INVALID + "Type mismatch for Index Key s Expected: S Actual: N IndexName: ")
    long = text("x" * 2049)
    assert reasons(raw, update(indexed, {"pk": long, "sk": text("a")}), delete(indexed, {"pk": text("a")})) == [
        invalid(INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        invalid(SCHEMA),
    ]


def test_an_empty_key_of_a_statement_refuses_the_request(raw: RawClient, table: DataTable) -> None:
    statement = {"Statement": f"DELETE FROM \"{table.name}\" WHERE pk = ''"}
    told = validation(raw, "ExecuteTransaction", {"TransactStatements": [statement]})
    assert told == f"{NOT_VALID}{EMPTY.format(noun='string')} Key: pk"


# --- the request itself -----------------------------------------------------------------------------


def test_an_element_without_an_action(raw: RawClient, table: DataTable) -> None:
    message = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
    assert refusal(raw, {}) == message
    assert refusal(raw, put(table, fresh_key()), {}) == message
    assert refusal(raw, {"Get": {}}) == message


@pytest.mark.parametrize("operation", ["TransactWriteItems", "TransactGetItems"])
def test_a_list_of_no_or_too_many_actions(raw: RawClient, table: DataTable, operation: str) -> None:
    action = put if operation == "TransactWriteItems" else get
    for count, bound in ((0, "greater than or equal to 1"), (101, "less than or equal to 100")):
        actions = [action(table, fresh_key()) for _ in range(count)]
        assert refusal(raw, *actions, operation=operation) == (
            "1 validation error detected: Value at 'TransactItems' failed to satisfy constraint:"
            f" Member must have length {bound}"
        )


def test_an_echo_of_the_request_is_whole(raw: RawClient, table: DataTable) -> None:
    statements = [{"Statement": f"SELECT * FROM \"{table.name}\" WHERE pk = 'key-{number}'"} for number in range(101)]
    told = validation(raw, "ExecuteTransaction", {"TransactStatements": statements}) or ""
    assert told.startswith("1 validation error detected: Value '[ParameterizedStatement(statement=SELECT * FROM ")
    assert all(f"WHERE pk = 'key-{number}'" in told for number in range(101))
    assert told.endswith(
        ")]' at 'transactStatements' failed to satisfy constraint: Member must have length less than or equal to 100"
    )


@pytest.mark.parametrize(
    ("token", "bound"), [("x" * 37, "less than or equal to 36"), ("", "greater than or equal to 1")]
)
def test_a_token_of_a_wrong_length_is_told_alone(raw: RawClient, table: DataTable, token: str, bound: str) -> None:
    message = (
        "1 validation error detected: Value at 'ClientRequestToken' failed to satisfy constraint:"
        f" Member must have length {bound}"
    )
    for members in ({}, {"ReturnConsumedCapacity": "x"}):
        assert refusal(raw, put(table, fresh_key()), ClientRequestToken=token, **members) == message
    assert refusal(raw, ClientRequestToken=token) == message


# --- values and expressions of one action -----------------------------------------------------------


def test_an_empty_name_is_told_before_a_later_actions_depth(raw: RawClient, table: DataTable) -> None:
    nameless = put(table, fresh_key() | {"": text("a")})
    nameless_inside = put(table, fresh_key() | {"m": {"M": {"": text("a")}}})
    deep = put(table, fresh_key() | {"a": nested(33)})
    for action in (nameless, nameless_inside):
        assert refusal(raw, action, deep) == "Empty attribute name"
        assert refusal(raw, deep, action) == TOO_DEEP
    both = put(table, fresh_key() | {"m": {"M": {"": text("a")}}, "z": nested(32)})
    assert refusal(raw, both) == TOO_DEEP


SYNTAX = 'Syntax error; token: "<EOF>", near: "="'
LONG = "a" * 4_097
LONG_UPDATE = "Invalid UpdateExpression: Expression size has exceeded the maximum allowed size;"
LONG_CONDITION = (
    "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; expression size: 4097"
)


def test_an_expression_that_cannot_be_read_is_told_before_the_depth_of_the_key(
    raw: RawClient, table: DataTable
) -> None:
    key = {"pk": nested(33)}
    for text_, message in (("a =", f"Invalid ConditionExpression: {SYNTAX}"), (LONG, LONG_CONDITION)):
        for action in (
            delete(table, key, ConditionExpression=text_),
            check(table, key, text_),
            update(table, key, ConditionExpression=text_),
            put(table, key, ConditionExpression=text_),
        ):
            assert refusal(raw, action) == message
    for text_, message in (("SET a =", f"Invalid UpdateExpression: {SYNTAX}"), (LONG, LONG_UPDATE)):
        assert refusal(raw, update(table, key, text_)) == message
        assert refusal(raw, update(table, key, text_, ConditionExpression=LONG)) == message
    assert refusal(raw, get(table, key, ProjectionExpression="a,,b"), operation="TransactGetItems") == (
        'Invalid ProjectionExpression: Syntax error; token: ",", near: ",,b"'
    )


def test_what_expressions_mean_is_told_after_the_depth_of_the_key(raw: RawClient, table: DataTable) -> None:
    key = {"pk": nested(33)}
    assert refusal(raw, delete(table, key, ConditionExpression="a = :undefined")) == TOO_DEEP
    assert (
        refusal(raw, update(table, key, "SET size = :a SET a = :a", ExpressionAttributeValues={":a": number(1)}))
        == TOO_DEEP
    )
    assert refusal(raw, get(table, key, ProjectionExpression="#a"), operation="TransactGetItems") == TOO_DEEP
    assert refusal(raw, delete(table, {"pk": {"SS": []}}, ConditionExpression="a =")) == (
        INVALID + "An string set  may not be empty"
    )


def test_how_long_an_update_is_too_long_is_not_told(raw: RawClient, table: DataTable) -> None:
    assert refusal(raw, update(table, fresh_key(), LONG)) == LONG_UPDATE
    assert refusal(raw, check(table, fresh_key(), LONG)) == LONG_CONDITION
    current = table.refusal("UpdateItem", Key=fresh_key(), UpdateExpression=LONG) or ""
    assert current.endswith("; expression size: 4097")


@pytest.mark.parametrize("wrap", [nested, lambda levels: {"M": {"m": nested(levels - 1)}}])
def test_values_of_exactly_32_levels_are_refused_bare(raw: RawClient, table: DataTable, wrap: Any) -> None:
    named = f"ExpressionAttributeValues contains invalid value: {TOO_DEEP} for key :a"
    for levels, message in ((32, TOO_DEEP), (33, named), (70, named)):
        values = {"ExpressionAttributeValues": {":a": wrap(levels)}}
        assert refusal(raw, update(table, fresh_key(), "SET a = :a", **values)) == message
        assert refusal(raw, check(table, fresh_key(), "a = :a", **values)) == message


# --- the statement of an update ---------------------------------------------------------------------


def test_a_statement_too_heavy_for_an_item_that_is_not_refuses_the_request(raw: RawClient, table: DataTable) -> None:
    """A statement weighs 3 + 19 + target + value; key and attribute limit it."""
    key = fresh_key()
    rest = ITEM_MAX_BYTES - 2 - len(key["pk"]["S"]) - 1
    for length, is_whole in ((rest, True), (rest + 1, False)):
        large = update(table, key, "SET a = :a", ExpressionAttributeValues={":a": text("x" * length)})
        if is_whole:
            assert refusal(raw, large) == UPDATE_TOO_LARGE
            assert refusal(raw, failing(table), large) == UPDATE_TOO_LARGE
        else:
            assert reasons(raw, failing(table), large) == [FAILED, invalid(UPDATE_TOO_LARGE)]
    assert table.get(key) is None


def test_an_item_too_large_is_a_reason_and_one_of_the_limit_is_none(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    kept = 9_000
    table.put(key | {"b": text("y" * kept)})
    rest = ITEM_MAX_BYTES - 2 - len(key["pk"]["S"]) - 1 - kept - 1
    grown = update(table, key, "SET a = :a", ExpressionAttributeValues={":a": text("x" * (rest + 1))})
    assert reasons(raw, put(table, fresh_key()), grown) == [NONE, invalid(UPDATE_TOO_LARGE)]
    write(raw, update(table, key, "SET a = :a", ExpressionAttributeValues={":a": text("x" * rest)}))
