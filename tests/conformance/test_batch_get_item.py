"""BatchGetItem: items of several tables by key, what does not fit, figures, refusals."""

from typing import Any

import pytest

from tests.conformance.batches import put, read, sized, write
from tests.conformance.item_tables import (
    INVALID,
    ITEM_MAX_BYTES,
    NOT_FOUND,
    NOT_VALID,
    DataTable,
    Item,
    fresh_key,
    make_table,
    number,
    text,
)
from tests.support.raw_client import RawClient

SCHEMA = "The provided key element does not match the schema"
DUPLICATES = "Provided list of item keys contains duplicates"
LENGTH = "failed to satisfy constraint: Member must have length"
ONE_ERROR = "1 validation error detected: "


@pytest.fixture(scope="module")
def number_table(raw: RawClient) -> DataTable:
    """A table with the partition key `pk`, a number."""
    return make_table(raw, "N")


def refusal(table: DataTable, entry: Any, **members: Any) -> str | None:
    return table.refusal("BatchGetItem", RequestItems={table.name: entry}, **members)


# --- what comes back ------------------------------------------------------------------------------


def test_items_come_by_table_in_the_order_of_their_keys(table: DataTable, sorted_table: DataTable) -> None:
    first = [fresh_key() | {"n": number(position)} for position in range(3)]
    second = [fresh_key() | fresh_key("sk") | {"m": {"M": {"a": text("é")}}} for _ in range(2)]
    write(table, *map(put, first))
    write(sorted_table, *map(put, second))
    asked = {
        sorted_table.name: {"Keys": [{name: item[name] for name in ("sk", "pk")} for item in reversed(second)]},
        table.name: {"Keys": [{"pk": item["pk"]} for item in first]},
    }
    for entry in asked.values():
        entry["ConsistentRead"] = True  # type: ignore[assignment]
    reply = table.ask("BatchGetItem", RequestItems=asked)
    assert reply == {
        "Responses": {table.name: first, sorted_table.name: second[::-1]},
        "UnprocessedKeys": {},
    }
    assert list(reply["Responses"]) == [sorted_table.name, table.name]


def test_absent_items_are_not_there_and_every_table_has_its_list(table: DataTable, sorted_table: DataTable) -> None:
    item = fresh_key()
    table.put(item)
    asked = {
        table.name: {"Keys": [fresh_key(), item, fresh_key()], "ConsistentRead": True},
        sorted_table.name: {"Keys": [fresh_key() | fresh_key("sk")]},
    }
    reply = table.ask("BatchGetItem", RequestItems=asked)
    assert reply["Responses"] == {table.name: [item], sorted_table.name: []}


def test_each_table_has_its_own_projection(table: DataTable, sorted_table: DataTable) -> None:
    item = fresh_key() | {"a": text("1"), "m": {"M": {"x": number(1), "y": number(2)}}, "l": {"L": [number(1)]}}
    other = item | {"sk": text("s")}
    table.put(item)
    sorted_table.put(other)
    asked = {
        table.name: {
            "Keys": [{"pk": item["pk"]}],
            "ProjectionExpression": "#m.y, l[0], absent",
            "ExpressionAttributeNames": {"#m": "m"},
            "ConsistentRead": True,
        },
        sorted_table.name: {
            "Keys": [{"pk": other["pk"], "sk": other["sk"]}],
            "ProjectionExpression": "sk, a, absent",
            "ConsistentRead": True,
        },
    }
    assert table.ask("BatchGetItem", RequestItems=asked)["Responses"] == {
        table.name: [{"m": {"M": {"y": number(2)}}, "l": {"L": [number(1)]}}],
        sorted_table.name: [{"sk": text("s"), "a": text("1")}],
    }


def test_a_batch_mixes_no_legacy_parameters_and_expressions(table: DataTable, sorted_table: DataTable) -> None:
    """Nor may different entries mix them, whichever table comes first and whatever other fault an entry has."""
    mixed = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )
    expression = {"Keys": [fresh_key()], "ProjectionExpression": "a"}
    legacy = {"Keys": [fresh_key() | {"sk": text("s")}], "AttributesToGet": ["a"]}
    plain = {"Keys": [fresh_key()]}
    for asked in (
        {table.name: expression, sorted_table.name: legacy},
        {sorted_table.name: legacy, table.name: expression},
        {table.name: expression | {"Keys": [{"pk": {"SS": []}}]}, "no-such-table": plain, sorted_table.name: legacy},
    ):
        assert table.refusal("BatchGetItem", RequestItems=asked) == mixed
    both = {table.name: plain | {"AttributesToGet": ["a"]}, sorted_table.name: legacy}
    assert table.ask("BatchGetItem", RequestItems=both)["Responses"] == {table.name: [], sorted_table.name: []}


def test_a_projection_that_matches_nothing_leaves_an_empty_item(table: DataTable) -> None:
    item = fresh_key()
    table.put(item)
    assert read(table, item, fresh_key(), ProjectionExpression="absent") == [{}]


def test_a_table_may_be_named_by_its_arn(table: DataTable) -> None:
    item = fresh_key() | {"a": number(1)}
    table.put(item)
    asked = {table.arn: {"Keys": [{"pk": item["pk"]}], "ConsistentRead": True}}
    assert table.ask("BatchGetItem", RequestItems=asked) == {"Responses": {table.arn: [item]}, "UnprocessedKeys": {}}


def test_numbers_in_keys_are_compared_by_value(number_table: DataTable) -> None:
    number_table.put({"pk": number("1.50"), "a": text("x")})
    assert read(number_table, {"pk": number("15e-1")}) == [{"pk": number("1.5"), "a": text("x")}]


def test_a_hundred_keys_are_answered(table: DataTable) -> None:
    keys = [fresh_key() for _ in range(100)]
    for start in range(0, 100, 25):
        write(table, *map(put, keys[start : start + 25]))
    assert read(table, *keys) == keys


# --- what does not fit ----------------------------------------------------------------------------


def test_sixteen_megabytes_fit_and_the_rest_is_unprocessed(raw: RawClient, table: DataTable) -> None:
    large, small = make_table(raw), make_table(raw)
    keys = [fresh_key() for _ in range(42)]
    for start in range(0, 42, 14):
        write(large, *[put(sized(key, ITEM_MAX_BYTES)) for key in keys[start : start + 14]])
    last = fresh_key()
    small.put(last)
    kept = {
        "ProjectionExpression": "#k",
        "ExpressionAttributeNames": {"#k": "pk"},
        "ConsistentRead": True,
    }
    asked = {
        large.name: {"Keys": keys} | kept,
        small.name: {"Keys": [last], "ProjectionExpression": "pk", "ConsistentRead": True},
    }
    reply = table.ask("BatchGetItem", RequestItems=asked, ReturnConsumedCapacity="TOTAL")
    assert reply["Responses"] == {large.name: keys[:40], small.name: []}
    assert reply["UnprocessedKeys"] == {large.name: {"Keys": keys[40:]} | kept, small.name: asked[small.name]}
    assert reply["ConsumedCapacity"] == [{"TableName": large.name, "CapacityUnits": 4000.0}]
    rest = table.ask("BatchGetItem", RequestItems=reply["UnprocessedKeys"])
    assert rest == {"Responses": {large.name: keys[40:], small.name: [last]}, "UnprocessedKeys": {}}


def test_whole_items_fill_the_reply_to_the_same_limit(raw: RawClient) -> None:
    large = make_table(raw)
    items = [sized(fresh_key(), ITEM_MAX_BYTES) for _ in range(40)]
    room = 16 * 1024 * 1024 - 40 * ITEM_MAX_BYTES
    fitting, over = sized(fresh_key(), room), sized(fresh_key(), room + 1)
    for start in range(0, 40, 20):
        write(large, *map(put, items[start : start + 20]))
    write(large, put(fitting), put(over))
    keys = [{"pk": item["pk"]} for item in items]
    for last, is_fitting in ((fitting, True), (over, False)):
        key = {"pk": last["pk"]}
        asked = {large.name: {"Keys": [*keys, key], "ConsistentRead": True}}
        reply = large.ask("BatchGetItem", RequestItems=asked)
        assert reply["Responses"][large.name] == items + [last] * is_fitting
        unprocessed = {} if is_fitting else {large.name: {"Keys": [key], "ConsistentRead": True}}
        assert reply["UnprocessedKeys"] == unprocessed


def test_one_megabyte_of_one_partition_fits(sorted_table: DataTable) -> None:
    pk, other = fresh_key(), fresh_key()
    mega = 1024 * 1024
    sizes = [ITEM_MAX_BYTES, ITEM_MAX_BYTES, mega - 2 * ITEM_MAX_BYTES + 1, mega - 2 * ITEM_MAX_BYTES]
    one, two, over, three = [sized(pk | {"sk": text(str(place))}, size) for place, size in enumerate(sizes)]
    late = sized(pk | {"sk": text("late")}, 20)
    first, last = (sized(other | {"sk": text(sort)}, ITEM_MAX_BYTES) for sort in ("first", "last"))
    items = [first, one, two, over, last, three, late]
    write(sorted_table, *map(put, items[:4]))
    write(sorted_table, *map(put, items[4:]))
    keys = [{"pk": item["pk"], "sk": item["sk"]} for item in items]
    missing = pk | {"sk": text("missing")}
    asked = {sorted_table.name: {"Keys": [missing, *keys], "ConsistentRead": True}}
    reply = sorted_table.ask("BatchGetItem", RequestItems=asked)
    assert reply["Responses"][sorted_table.name] == [first, one, two, last, three]
    assert reply["UnprocessedKeys"] == {sorted_table.name: {"Keys": [keys[3], keys[6]], "ConsistentRead": True}}


# --- figures --------------------------------------------------------------------------------------


def test_each_item_is_rounded_up_by_itself(table: DataTable, sorted_table: DataTable) -> None:
    items = [sized(fresh_key(), size) for size in (4096, 4097, 10)]
    write(table, *map(put, items))
    keys = [{"pk": item["pk"]} for item in items]
    asked = {
        table.name: {"Keys": [*keys, fresh_key()], "ConsistentRead": True, "ProjectionExpression": "pk"},
        sorted_table.name: {"Keys": [fresh_key() | fresh_key("sk")]},
    }
    reply = table.ask("BatchGetItem", RequestItems=asked, ReturnConsumedCapacity="TOTAL")
    assert reply["ConsumedCapacity"] == [
        {"TableName": table.name, "CapacityUnits": 5.0},
        {"TableName": sorted_table.name, "CapacityUnits": 0.5},
    ]
    reply = table.ask("BatchGetItem", RequestItems=asked, ReturnConsumedCapacity="INDEXES")
    assert reply["ConsumedCapacity"][0] == {
        "TableName": table.name,
        "CapacityUnits": 5.0,
        "Table": {"CapacityUnits": 5.0},
    }
    for quiet in ("NONE", None):
        reply = table.ask("BatchGetItem", RequestItems=asked, ReturnConsumedCapacity=quiet)
        assert "ConsumedCapacity" not in reply


# --- refusals -------------------------------------------------------------------------------------


def test_more_than_a_hundred_keys_are_refused(table: DataTable, sorted_table: DataTable) -> None:
    keys = [fresh_key() for _ in range(101)]
    assert refusal(table, {"Keys": keys}) == (
        f"{ONE_ERROR}Value at 'RequestItems.{table.name}.member.Keys' {LENGTH} less than or equal to 100"
    )
    asked = {
        table.name: {"Keys": keys[:100]},
        sorted_table.name: {"Keys": [fresh_key() | fresh_key("sk")]},
    }
    assert table.refusal("BatchGetItem", RequestItems=asked) == "Too many items requested for the BatchGetItem call"


def test_repeated_keys_are_refused(table: DataTable, sorted_table: DataTable, number_table: DataTable) -> None:
    key = fresh_key()
    both = fresh_key() | fresh_key("sk")
    assert refusal(table, {"Keys": [key, fresh_key(), key]}) == DUPLICATES
    assert refusal(sorted_table, {"Keys": [both, dict(reversed(both.items()))]}) == DUPLICATES
    assert refusal(number_table, {"Keys": [{"pk": number(1)}, {"pk": number("1.0")}]}) == DUPLICATES
    asked = {table.name: {"Keys": [key]}, table.arn: {"Keys": [key]}}
    assert table.refusal("BatchGetItem", RequestItems=asked) == DUPLICATES


def test_one_key_value_in_two_tables_is_no_repetition(raw: RawClient, table: DataTable) -> None:
    other, key = make_table(raw), fresh_key()
    reply = table.ask("BatchGetItem", RequestItems={table.name: {"Keys": [key]}, other.name: {"Keys": [key]}})
    assert reply["Responses"] == {table.name: [], other.name: []}


@pytest.mark.parametrize("key", [{}, {"sk": text("a")}, {"pk": number(1)}, {"pk": text("a"), "extra": text("b")}])
def test_keys_that_do_not_fit_are_refused(table: DataTable, key: Item) -> None:
    assert refusal(table, {"Keys": [fresh_key(), key]}) == SCHEMA


def test_key_values_are_checked(table: DataTable) -> None:
    empty = f"{NOT_VALID}The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
    assert refusal(table, {"Keys": [{"pk": text("")}]}) == empty
    long = f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"
    assert refusal(table, {"Keys": [{"pk": text("x" * 2049)}]}) == long


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            {"AttributesToGet": ["a"], "ProjectionExpression": "a"},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
            ),
        ),
        (
            {"ExpressionAttributeNames": {"#a": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        ({"AttributesToGet": ["a", "b", "a"]}, f"{INVALID}Duplicate value in attribute name: a"),
        (
            {"ProjectionExpression": "a", "ExpressionAttributeNames": {"#a": "a"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}",
        ),
        ({"ProjectionExpression": ""}, "Invalid ProjectionExpression: The expression can not be empty;"),
        (
            {"ProjectionExpression": "pk.a"},
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk",
        ),
        ({"Keys": [{"pk": {"NS": []}}]}, f"{INVALID}An number set  may not be empty"),
        ({"Keys": [{"pk": {"N": ""}}]}, "The parameter cannot be converted to a numeric value: "),
        (
            {"Keys": [{"pk": {"SS": ["b", "a", "b"]}}]},
            f'{INVALID}Input collection ["a", "b", "b"] contains duplicates.',
        ),
        (
            {"Keys": [{"pk": {}}]},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
    ],
)
def test_what_one_table_is_asked_for_is_checked_in_bare_words(table: DataTable, entry: Any, expected: str) -> None:
    message = refusal(table, {"Keys": [{"pk": text("a")}]} | entry)
    assert message == expected


def test_a_missing_table_is_not_found_beside_another(table: DataTable) -> None:
    asked = {table.name: {"Keys": [fresh_key()]}, "no-such-table": {"Keys": [fresh_key()]}}
    assert table.fault("BatchGetItem", RequestItems=asked) == NOT_FOUND
    foreign = table.arn.replace("us-east-1", "eu-west-1")
    assert table.fault("BatchGetItem", RequestItems={foreign: {"Keys": [fresh_key()]}}) == NOT_FOUND


KEY_OF_A = {"pk": text("a")}
NAMES_OF_TABLES = (
    "Map keys must satisfy constraint: [Member must have length less than or equal to 255, "
    "Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: "
    "[a-zA-Z0-9_.-]+]"
)


@pytest.mark.parametrize(
    ("request_items", "expected"),
    [
        (None, "Value null at 'requestItems' failed to satisfy constraint: Member must not be null"),
        ({}, f"Value at 'RequestItems' {LENGTH} greater than or equal to 1"),
        (
            {"abc": {}},
            "Value null at 'requestItems.abc.member.keys' failed to satisfy constraint: Member must not be null",
        ),
        ({"a.c": {"Keys": []}}, f"Value at 'RequestItems.a.c.member.Keys' {LENGTH} greater than or equal to 1"),
        (
            {"abc": {"Keys": [KEY_OF_A], "AttributesToGet": []}},
            f"Value '[]' at 'requestItems.abc.member.attributesToGet' {LENGTH} greater than or equal to 1",
        ),
        *[
            (
                {name: {"Keys": [KEY_OF_A], "ConsistentRead": True}},
                (
                    f"""Value '{{"{name}":{{"Keys":[{{"pk":{{"S":"a"}}}}],"ConsistentRead":true}}}}' at """
                    """'requestItems' """
                    f"failed to satisfy constraint: {NAMES_OF_TABLES}"
                ),
            )
            for name in ("a c", "bad!name", "a", "ab", "x" * 256, "x" * 1025)
        ],
    ],
)
def test_constraints_have_their_own_forms(table: DataTable, request_items: Any, expected: str) -> None:
    assert table.refusal("BatchGetItem", RequestItems=request_items) == f"{ONE_ERROR}{expected}"


def test_names_of_tables_are_told_before_enumerations(table: DataTable) -> None:
    items = {"abc": {"Keys": []}, "b d": {"Keys": [{"pk": {"M": {'"é': {"B": "AA=="}, "l": {"L": []}}}}]}}
    message = table.refusal("BatchGetItem", RequestItems=items, ReturnConsumedCapacity="x")
    echo = """{"abc":{"Keys":[]},"b d":{"Keys":[{"pk":{"M":{"\\"é":{"B":"AA=="},"l":{"L":[]}}}}]}}"""
    assert message == (
        f"3 validation errors detected: Value '{echo}' at 'requestItems' failed to satisfy constraint: "
        f"{NAMES_OF_TABLES}; Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint: "
        f"Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value at 'RequestItems.abc.member.Keys' {LENGTH} "
        "greater than or equal to 1"
    )


def test_a_name_has_at_most_255_characters_but_an_arn_may_have_more(table: DataTable) -> None:
    name = "x" * 255
    arn = table.arn.rpartition("/")[0] + "/" + name
    for one in (name, arn, arn + "x"):
        assert table.fault("BatchGetItem", RequestItems={one: {"Keys": [fresh_key()]}}) == NOT_FOUND


def test_constraints_are_collected(table: DataTable) -> None:
    message = table.refusal(
        "BatchGetItem", RequestItems={"abc": {"Keys": [], "AttributesToGet": []}}, ReturnConsumedCapacity="x"
    )
    assert message == (
        "3 validation errors detected: Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint: "
        "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; "
        f"Value at 'RequestItems.abc.member.Keys' {LENGTH} greater than or equal to 1; "
        f"Value '[]' at 'requestItems.abc.member.attributesToGet' {LENGTH} greater than or equal to 1"
    )
