"""BatchWriteItem: puts and deletes of several tables, checked as a whole before the first is written;
figures, refusals.
"""

from typing import Any

import pytest

from tests.conformance.batches import delete, put, read, sized, write
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
from tests.conformance.propagation import propagated
from tests.conformance.tables import index
from tests.support.raw_client import RawClient

DONE: dict[str, Any] = {"UnprocessedItems": {}}
SCHEMA = "The provided key element does not match the schema"
DUPLICATES = "Provided list of item keys contains duplicates"
EMPTY_KEY = f"{NOT_VALID}The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
ONE_ERROR = "1 validation error detected: "


@pytest.fixture(scope="module")
def indexed(raw: RawClient) -> DataTable:
    """A table with the keys `pk`, `sk`, a local index by `l` (S) and a global one by `g` (N)."""
    return make_table(
        raw,
        "S",
        "S",
        definitions={"l": "S", "g": "N"},
        LocalSecondaryIndexes=[index("local", "pk", "l")],
        GlobalSecondaryIndexes=[index("global", "g")],
    )


def refusal(table: DataTable, *requests: Any, **members: Any) -> str | None:
    return table.refusal("BatchWriteItem", RequestItems={table.name: list(requests)}, **members)


# --- what is written ------------------------------------------------------------------------------


def test_items_are_put_and_deleted_in_several_tables(table: DataTable, sorted_table: DataTable) -> None:
    old, new, gone = fresh_key() | {"a": number(1)}, fresh_key() | {"b": {"SS": ["y", "x"]}}, fresh_key()
    other = fresh_key() | {"sk": text("s"), "m": {"M": {}}}
    assert write(table, put(old), put(gone)) == DONE
    reply = table.ask(
        "BatchWriteItem",
        RequestItems={
            table.name: [put({"pk": old["pk"]}), delete(gone), put(new), delete(fresh_key())],
            sorted_table.name: [put(other)],
        },
    )
    assert reply == DONE
    assert table.get({"pk": old["pk"]}) == {"pk": old["pk"]}
    assert table.get(gone) is None
    assert table.get({"pk": new["pk"]}) == new | {"b": {"SS": ["x", "y"]}}
    assert sorted_table.get({"pk": other["pk"], "sk": other["sk"]}) == other


def test_numbers_are_normalised(table: DataTable) -> None:
    key = fresh_key()
    write(table, put(key | {"n": number("1.500"), "l": {"L": [number("1e2")]}}))
    assert read(table, key) == [key | {"n": number("1.5"), "l": {"L": [number(100)]}}]


def test_a_table_may_be_named_by_its_arn(table: DataTable) -> None:
    key = fresh_key()
    assert table.ask("BatchWriteItem", RequestItems={table.arn: [put(key)]}) == DONE
    assert table.get(key) == key


def test_twenty_five_items_of_the_greatest_size_are_written(table: DataTable) -> None:
    items = [sized(fresh_key(), ITEM_MAX_BYTES) for _ in range(25)]
    assert write(table, *map(put, items)) == DONE
    assert read(table, *[{"pk": item["pk"]} for item in items]) == items


def test_indexes_follow(indexed: DataTable) -> None:
    key = fresh_key() | {"sk": text("s")}
    item = key | {"l": text("local"), "g": number(987)}
    write(indexed, put(item))
    condition = {"ExpressionAttributeValues": {":g": number(987)}, "IndexName": "global"}
    propagated(indexed.raw)
    assert indexed.query("g = :g", **condition)["Items"] == [item]
    write(indexed, delete(key))
    propagated(indexed.raw)
    assert indexed.query("g = :g", **condition)["Items"] == []


# --- figures --------------------------------------------------------------------------------------


def test_each_write_is_rounded_up_by_itself(table: DataTable, sorted_table: DataTable) -> None:
    first, second = fresh_key(), fresh_key()
    table.put(sized(first, 3000))
    requests = {
        table.name: [put(first), put(sized(second, 1025)), delete(fresh_key())],
        sorted_table.name: [put(fresh_key() | fresh_key("sk"))],
    }
    reply = table.ask("BatchWriteItem", RequestItems=requests, ReturnConsumedCapacity="TOTAL")
    assert reply["ConsumedCapacity"] == [
        {"TableName": table.name, "CapacityUnits": 6.0},
        {"TableName": sorted_table.name, "CapacityUnits": 1.0},
    ]
    assert reply["UnprocessedItems"] == {}
    assert "ConsumedCapacity" not in write(table, put(fresh_key()), ReturnConsumedCapacity="NONE")


def test_indexes_have_their_own_figures(indexed: DataTable) -> None:
    pk = fresh_key()
    items = [pk | {"sk": text(str(place)), "g": number(place)} for place in range(2)]
    items.append(pk | {"sk": text("both"), "l": text("l"), "g": number(3)})
    reply = write(indexed, *map(put, items), ReturnConsumedCapacity="INDEXES")
    assert reply["ConsumedCapacity"] == [
        {
            "TableName": indexed.name,
            "CapacityUnits": 7.0,
            "Table": {"CapacityUnits": 3.0},
            "GlobalSecondaryIndexes": {"global": {"CapacityUnits": 3.0}},
            "LocalSecondaryIndexes": {"local": {"CapacityUnits": 1.0}},
        }
    ]


def test_item_collections_are_told_of_tables_with_local_indexes(table: DataTable, indexed: DataTable) -> None:
    pk, other = fresh_key(), fresh_key()
    requests = {
        table.name: [put(fresh_key())],
        indexed.name: [put(pk | {"sk": text("a")}), delete(pk | {"sk": text("b")}), put(other | {"sk": text("a")})],
    }
    reply = table.ask("BatchWriteItem", RequestItems=requests, ReturnItemCollectionMetrics="SIZE")
    assert reply["ItemCollectionMetrics"] == {
        indexed.name: [
            {"ItemCollectionKey": pk, "SizeEstimateRangeGB": [0.0, 1.0]},
            {"ItemCollectionKey": other, "SizeEstimateRangeGB": [0.0, 1.0]},
        ]
    }
    assert write(table, put(fresh_key()), ReturnItemCollectionMetrics="SIZE") == DONE
    assert write(indexed, put(pk | {"sk": text("a")}), ReturnItemCollectionMetrics="NONE") == DONE


# --- refusals: nothing is written -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (
            put({"pk": text("a")}) | delete({"pk": text("a")}),
            (
                "Supplied AttributeValue has more than one datatypes set, must contain exactly one"
                " of the supported datatypes"
            ),
        ),
        (put({}), SCHEMA),
        (put({"a": text("b")}), SCHEMA),
        (put({"pk": number(1)}), SCHEMA),
        (delete({}), SCHEMA),
        (delete({"pk": number(1)}), SCHEMA),
        (delete({"pk": text("a"), "b": text("b")}), SCHEMA),
        (put({"pk": text("")}), EMPTY_KEY),
        (delete({"pk": text("")}), EMPTY_KEY),
        (put({"pk": text("x" * 2049)}), f"{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        (
            put({"pk": text("a"), "x": {"SS": ["b", "a", "b"]}}),
            f"{INVALID}Input collection [b, a, b] contains duplicates.",
        ),
        (put({"pk": text("a"), "x": {"NS": ["1", "1.0"]}}), "Input collection contains duplicates"),
        (put({"pk": text("a"), "x": {"N": ""}}), "The parameter cannot be converted to a numeric value"),
        (delete({"pk": {"NULL": False}}), f"{INVALID}Null attribute value types must have the value of true"),
    ],
)
def test_a_faulty_request_refuses_the_batch_in_older_words(table: DataTable, request_: Any, expected: str) -> None:
    key = fresh_key()
    assert refusal(table, put(key), request_) == expected
    assert table.get(key) is None


def test_an_item_is_held_against_its_greatest_size(table: DataTable) -> None:
    item = sized(fresh_key(), ITEM_MAX_BYTES)
    assert write(table, put(item)) == DONE
    larger = sized({"pk": item["pk"]}, ITEM_MAX_BYTES + 1)
    assert refusal(table, put(larger)) == "Item size has exceeded the maximum allowed size"
    assert table.get({"pk": item["pk"]}) == item


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"g": text("x")}, f"{INVALID}Type mismatch for Index Key g Expected: N Actual: S IndexName: global"),
        (
            {"l": text("")},
            (
                f"{NOT_VALID}A value specified for a secondary index key is not supported. "
                "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: "
                "local, IndexKey: l"
            ),
        ),
    ],
)
def test_keys_of_indexes_are_checked(indexed: DataTable, attributes: Item, expected: str) -> None:
    first, second = fresh_key() | {"sk": text("a")}, fresh_key() | {"sk": text("a")}
    assert refusal(indexed, put(first), put(second | attributes)) == expected
    assert indexed.get(first) is None


def test_repeated_keys_are_refused(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    for second in (put(key), put(key | {"a": text("b")}), delete(key)):
        assert refusal(table, put(key), put(fresh_key()), second) == DUPLICATES
    assert refusal(table, delete(key), delete(key)) == DUPLICATES
    assert refusal(table, put(key), put({}), delete(key)) == DUPLICATES
    by_two_names = {table.name: [put(key)], table.arn: [delete(key)]}
    assert table.refusal("BatchWriteItem", RequestItems=by_two_names) == DUPLICATES
    numbers = make_table(raw, "N")
    assert refusal(numbers, put({"pk": number(1)}), put({"pk": number("1.0")})) == DUPLICATES
    other = make_table(raw)
    assert table.ask("BatchWriteItem", RequestItems={table.name: [put(key)], other.name: [put(key)]}) == DONE


def test_more_than_twenty_five_requests_are_refused(table: DataTable, sorted_table: DataTable) -> None:
    requests = {table.name: [put(fresh_key()) for _ in range(25)]}
    too_many = "Too many items requested for the BatchWriteItem call"
    both = requests | {sorted_table.name: [put(fresh_key() | fresh_key("sk"))]}
    assert table.refusal("BatchWriteItem", RequestItems=both) == too_many
    assert table.ask("BatchWriteItem", RequestItems=requests) == DONE


def test_a_missing_table_refuses_the_batch(table: DataTable) -> None:
    key = fresh_key()
    requests = {table.name: [put(key)], "no-such-table": [put(key), put(key)]}
    assert table.fault("BatchWriteItem", RequestItems=requests) == NOT_FOUND
    assert table.get(key) is None


# --- constraints ----------------------------------------------------------------------------------

PRINTED = "AttributeValue(s={s}, n={n}, b=null, sS=null, nS=null, bS=null, m=null, l=null, nULL=null, bOOL=null)"
LISTS = (
    "Map value must satisfy constraint: [Member must have length less than or equal to 25, "
    "Member must have length greater than or equal to 1]"
)
NAMES = (
    "Map keys must satisfy constraint: [Member must have length less than or equal to 255, "
    "Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: "
    "[a-zA-Z0-9_.-]+]"
)


def test_too_long_a_list_is_told_with_all_that_it_holds(table: DataTable) -> None:
    items: list[Item] = [{"pk": text(str(place)), "n": number(place)} for place in range(25)]
    printed = [
        f"WriteRequest(putRequest=PutRequest(item={{pk={PRINTED.format(s=place, n='null')}, "
        f"n={PRINTED.format(s='null', n=place)}}}), deleteRequest=null)"
        for place in range(25)
    ]
    printed.append(
        f"WriteRequest(putRequest=null, deleteRequest=DeleteRequest(key={{pk={PRINTED.format(s='a', n='null')}}}))"
    )
    message = table.refusal("BatchWriteItem", RequestItems={"abc": [*map(put, items), delete({"pk": text("a")})]})
    assert message == (
        f"{ONE_ERROR}Value '{{abc=[{', '.join(printed)}]}}' at 'requestItems' failed to satisfy constraint: {LISTS}"
    )


@pytest.mark.parametrize(
    ("request_items", "expected"),
    [
        (None, f"{ONE_ERROR}Value null at 'requestItems' failed to satisfy constraint: Member must not be null"),
        ({}, "The requestItems parameter is required for BatchWriteItem"),
        ({"abc": []}, f"{ONE_ERROR}Value '{{abc=[]}}' at 'requestItems' failed to satisfy constraint: {LISTS}"),
        (
            {"a c": [{}]},
            (
                f"{ONE_ERROR}Value '{{a c=[WriteRequest(putRequest=null, deleteRequest=null)]}}' at 'requestItems' "
                f"failed to satisfy constraint: {NAMES}"
            ),
        ),
        *[
            (
                {name: [{}]},
                (
                    f"{ONE_ERROR}Value '{{{name}=[WriteRequest(putRequest=null, deleteRequest=null)]}}' at "
                    f"'requestItems' failed to satisfy constraint: {NAMES}"
                ),
            )
            for name in ("a", "ab", "x" * 256, "x" * 1025)
        ],
        (
            {"abc": [{"PutRequest": {}, "DeleteRequest": {}}]},
            (
                "2 validation errors detected: Value null at 'requestItems.abc.member.1.member.deleteRequest.key' "
                "failed to satisfy constraint: Member must not be null; "
                "Value null at 'requestItems.abc.member.1.member.putRequest.item' "
                "failed to satisfy constraint: Member must not be null"
            ),
        ),
    ],
)
def test_constraints_have_their_own_forms(table: DataTable, request_items: Any, expected: str) -> None:
    assert table.refusal("BatchWriteItem", RequestItems=request_items) == expected


def test_both_enumerations_are_reported_before_everything_of_the_operation(table: DataTable) -> None:
    message = table.refusal(
        "BatchWriteItem",
        RequestItems={"no-such-table": [put({}), put({})]},
        ReturnConsumedCapacity="x",
        ReturnItemCollectionMetrics="y",
    )
    assert message == BOTH_ENUMERATIONS


CAPACITY_UNKNOWN = (
    "Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint: "
    "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
)
METRICS_UNKNOWN = (
    "Value 'y' at 'returnItemCollectionMetrics' failed to satisfy constraint: Member must satisfy enum value set:"
    " [SIZE, NONE]"
)
BOTH_ENUMERATIONS = f"2 validation errors detected: {CAPACITY_UNKNOWN}; {METRICS_UNKNOWN}"


@pytest.mark.parametrize("request_items", [{"bad!name": [put({})]}, {"ab": [put({})]}, {"x" * 256: [put({})]}, {}])
def test_enumerations_are_told_without_what_is_wrong_with_the_map(table: DataTable, request_items: Any) -> None:
    beside: dict[str, Any] = {"RequestItems": request_items, "ReturnConsumedCapacity": "x"}
    assert table.refusal("BatchWriteItem", **beside) == ONE_ERROR + CAPACITY_UNKNOWN
    beside["ReturnItemCollectionMetrics"] = "y"
    assert table.refusal("BatchWriteItem", **beside) == BOTH_ENUMERATIONS


@pytest.mark.parametrize(("length", "is_name"), [(255, True), (256, False)])
def test_a_name_has_at_most_255_characters_but_an_arn_may_have_more(
    table: DataTable, length: int, *, is_name: bool
) -> None:
    name = "x" * length
    heard = table.fault("BatchWriteItem", RequestItems={name: [put(fresh_key())]})
    assert heard == NOT_FOUND if is_name else heard[0] == "ValidationException"
    arn = table.arn.rpartition("/")[0] + "/" + name
    assert table.fault("BatchWriteItem", RequestItems={arn: [put(fresh_key())]}) == NOT_FOUND
