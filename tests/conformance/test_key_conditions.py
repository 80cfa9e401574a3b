"""KeyConditions, the legacy form of the key condition: combined with expressions,
and for indexes with several key attributes.
"""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Item, Value, fresh_key, make_table, number, text
from tests.conformance.propagation import propagated
from tests.support.raw_client import RawClient

MIXED = (
    "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{}}}"
    " Expression parameters: {{{}}}"
)
FILTER = {"FilterExpression": "v > :v", "ExpressionAttributeValues": {":v": number(1)}}


def asked(operator: str, *values: Value) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


@pytest.fixture(scope="module")
def partition(sorted_table: DataTable) -> Value:
    """The partition key of three items."""
    partition = fresh_key()["pk"]
    for place in range(3):
        sorted_table.put({"pk": partition, "sk": text(str(place)), "v": number(place), "w": text("w")})
    return partition


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (FILTER, [{"sk": text("2"), "v": number(2), "w": text("w")}]),
        ({"FilterExpression": "attribute_exists(#v) AND absent = w", "ExpressionAttributeNames": {"#v": "v"}}, []),
        ({"ProjectionExpression": "v"}, [{"v": number(place)} for place in range(3)]),
        ({"ProjectionExpression": "#v", "ExpressionAttributeNames": {"#v": "v"}, "ScanIndexForward": False, "Limit": 1},
         [{"v": number(2)}]),
        (FILTER | {"ProjectionExpression": "w"}, [{"w": text("w")}]),
    ],
)  # fmt: skip
def test_filter_and_projection_may_be_expressions(
    sorted_table: DataTable, partition: Value, members: dict[str, Any], expected: list[Item]
) -> None:
    for _ in range(2):  # the second time the expressions are compiled already
        reply = sorted_table.ask("Query", KeyConditions={"pk": asked("EQ", partition)}, ConsistentRead=True, **members)
        items = [{name: value for name, value in item.items() if name != "pk"} for item in reply["Items"]]
        assert items == expected


def test_a_filter_counts_what_it_looked_at(sorted_table: DataTable, partition: Value) -> None:
    conditions = {"pk": asked("EQ", partition), "sk": asked("GE", text("1"))}
    reply = sorted_table.ask("Query", KeyConditions=conditions, Select="COUNT", ConsistentRead=True, **FILTER)
    assert (reply["Count"], reply["ScannedCount"]) == (1, 2)


@pytest.mark.parametrize(
    ("legacy", "expressions"),
    [
        (["KeyConditions"], ["KeyConditionExpression"]),
        (["KeyConditions"], ["FilterExpression", "KeyConditionExpression"]),
        (["QueryFilter", "KeyConditions"], ["KeyConditionExpression"]),
    ],
)
def test_it_counts_beside_its_own_expression(
    sorted_table: DataTable, legacy: list[str], expressions: list[str]
) -> None:
    assert _mixed(sorted_table, legacy, expressions) == MIXED.format(", ".join(legacy), ", ".join(expressions))


@pytest.mark.parametrize("other", ["AttributesToGet", "QueryFilter", "ConditionalOperator"])
@pytest.mark.parametrize("expression", ["ProjectionExpression", "FilterExpression"])
def test_it_is_not_named_beside_other_expressions(sorted_table: DataTable, other: str, expression: str) -> None:
    assert _mixed(sorted_table, ["KeyConditions", other], [expression]) == MIXED.format(other, expression)


def _mixed(table: DataTable, legacy: list[str], expressions: list[str]) -> str | None:
    members: dict[str, Any] = {
        "KeyConditions": {"pk": asked("EQ", text("a"))}, "QueryFilter": {"a": asked("EQ", text("a"))},
        "AttributesToGet": ["a"], "ConditionalOperator": "AND", "ProjectionExpression": "a",
        "FilterExpression": "attribute_exists(a)", "KeyConditionExpression": "pk = :pk",
    }  # fmt: skip
    return table.refusal("Query", **{name: members[name] for name in legacy + expressions})


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"FilterExpression": "sk = :v", "ExpressionAttributeValues": {":v": text("a")}},
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk",
        ),
        (
            {"FilterExpression": "v > :v AND v < :w", "ExpressionAttributeValues": {":v": number(1)}},
            (
                "Invalid FilterExpression: An expression attribute value used in expression is not defined;"
                " attribute value: :w"
            ),
        ),
        (
            {"ProjectionExpression": "v", "ExpressionAttributeNames": {"#v": "v"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#v}",
        ),
        (
            FILTER | {"ExpressionAttributeValues": {":v": number(1), ":w": number(1)}},
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
        ),
        (
            {"ProjectionExpression": "v", "ExpressionAttributeValues": {":v": number(1)}},
            "ExpressionAttributeValues can only be specified when using expressions",
        ),
        (
            {"ProjectionExpression": "v", "Select": "COUNT"},
            "1 validation error detected: Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
    ],
)
def test_expressions_beside_it_are_checked(sorted_table: DataTable, members: dict[str, Any], message: str) -> None:
    assert sorted_table.refusal("Query", KeyConditions={"pk": asked("EQ", text("a"))}, **members) == message


# --- indexes with several key attributes --------------------------------------------------------


@pytest.fixture(scope="module")
def wide(raw: RawClient) -> DataTable:
    """A table of three items with an index of two partition and three sort key attributes, and one of one each."""
    names = {"wide": ("ab", "cde"), "narrow": ("a", "c")}
    table = make_table(
        raw, "S", definitions={"a": "S", "b": "N", "c": "S", "d": "N", "e": "S"},
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": [{"AttributeName": one, "KeyType": "HASH"} for one in hashes]
                + [{"AttributeName": one, "KeyType": "RANGE"} for one in ranges],
                "Projection": {"ProjectionType": "ALL"},
            }
            for name, (hashes, ranges) in names.items()
        ],
    )  # fmt: skip
    for place in range(3):
        key = {"pk": text(f"wide-{place}")}
        table.put(key | {"a": text("a"), "b": number(1), "c": text("c"), "d": number(place), "e": text("e")})
    propagated(raw)
    return table


WIDE = {"a": asked("EQ", text("a")), "b": asked("EQ", number(1))}
ORDER = (
    "RANGE key attributes {} must have equality conditions specified in the query because a condition is present on key"
    " attribute {}"
)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (WIDE, [0, 1, 2]),
        (WIDE | {"c": asked("BEGINS_WITH", text("c"))}, [0, 1, 2]),
        (WIDE | {"c": asked("EQ", text("c")), "d": asked("GT", number(0))}, [1, 2]),
        (WIDE | {"c": asked("EQ", text("c")), "d": asked("EQ", number(1)), "e": asked("LE", text("e"))}, [1]),
    ],
)
def test_as_many_as_the_index_has_key_attributes(
    wide: DataTable, conditions: dict[str, Any], expected: list[int]
) -> None:
    reply = wide.ask("Query", IndexName="wide", KeyConditions=conditions)
    assert [item["d"] for item in reply["Items"]] == [number(place) for place in expected]


@pytest.mark.parametrize(
    ("index", "conditions", "message"),
    [
        ("wide", {"a": WIDE["a"]}, "Query condition missed key schema element: b"),
        ("wide", WIDE | {"d": asked("EQ", number(1))}, ORDER.format("c", "d")),
        ("wide", WIDE | {"c": asked("GT", text("c")), "e": asked("EQ", text("e"))}, ORDER.format("c, d", "e")),
        ("wide", {}, "Conditions can be of length 1 or 2 only"),
        ("narrow", WIDE | {"c": asked("EQ", text("c"))}, "Conditions can be of length 1 or 2 only"),
        (None, WIDE | {"c": asked("EQ", text("c"))}, "Conditions can be of length 1 or 2 only"),
    ],
)
def test_bad_conditions_of_an_index(
    wide: DataTable, index: str | None, conditions: dict[str, Any], message: str
) -> None:
    members = {} if index is None else {"IndexName": index}
    assert wide.refusal("Query", KeyConditions=conditions, **members) == message


def test_more_than_the_index_has_key_attributes(wide: DataTable) -> None:
    conditions = WIDE | {name: asked("EQ", text("x")) for name in "cdef"}
    message = wide.refusal("Query", IndexName="wide", KeyConditions=conditions) or ""
    assert message.endswith(
        "The number of query conditions (6) exceeds the number of key attributes defined in the schema (5)"
    )
