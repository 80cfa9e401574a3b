"""Of a long item, reads decode only the attributes that they need, and return the same as of a short one."""

from typing import Any
from uuid import uuid4

import pytest

TEXT = 'x\u00e9"\\' * 5_000
"""A text that makes an item long, with characters that JSON escapes."""
LONG_PARTS: list[dict[str, Any]] = [
    {},
    {"text": {"S": TEXT}},
    {"text": {"L": [{"M": {"number": {"S": TEXT}}}, {"NULL": True}]}},
]
PARTS: dict[str, Any] = {
    "number": {"N": "7"},
    'qu"oted': {"S": "a"},
    "map": {"M": {"inner": {"L": [{"S": "first"}, {"NS": ["0", "1"]}]}, "flag": {"BOOL": True}}},
    "set": {"SS": ["a", "b"]},
}
NAMES = {"#set": "set", "#text": "text", "#number": "number", "#quoted": 'qu"oted', "#map": "map", "#inner": "inner"}
VALUES = {":seven": {"N": "7"}, ":a": {"S": "a"}, ":true": {"BOOL": True}}


class LongItem:
    """A table with one item, short or long."""

    def __init__(self, client: Any, more: dict[str, Any]) -> None:
        self.client = client
        self.table = f"long-{uuid4()}"
        client.create_table(
            TableName=self.table,
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.get_waiter("table_exists").wait(TableName=self.table)
        self.key: dict[str, Any] = {"key": {"S": "k"}}
        self.item = self.key | PARTS | more
        client.put_item(TableName=self.table, Item=self.item)

    def scan(self, **members: Any) -> Any:
        """A consistent Scan."""
        return self.client.scan(TableName=self.table, ConsistentRead=True, **members)

    def select(self, statement: str) -> Any:
        """The items of a consistent SELECT; TABLE in the statement stands for the table."""
        text = statement.replace("TABLE", f'"{self.table}"')
        return self.client.execute_statement(Statement=text, ConsistentRead=True)["Items"]


@pytest.fixture(params=LONG_PARTS, ids=["short", "long text", "long list"])
def stored(client: Any, request: pytest.FixtureRequest) -> LongItem:
    """A stored item."""
    return LongItem(client, request.param)


def used(places: dict[str, Any], expression: str) -> dict[str, Any]:
    """The names or values that an expression uses."""
    return {place: meaning for place, meaning in places.items() if place in expression}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("key", {"key": {"S": "k"}}),
        ("#number, absent", {"number": {"N": "7"}}),
        ("#quoted", {'qu"oted': {"S": "a"}}),
        ("#map.#inner[1]", {"map": {"M": {"inner": {"L": [{"NS": ["0", "1"]}]}}}}),
        (
            "#map.flag, #map.#inner[0], absent[3]",
            {"map": {"M": {"inner": {"L": [{"S": "first"}]}, "flag": {"BOOL": True}}}},
        ),
        ("absent.also", {}),
    ],
)
def test_a_projection_returns_the_same(stored: LongItem, expression: str, expected: dict[str, Any]) -> None:
    client, table = stored.client, stored.table
    expression = expression.replace("key", "#key")
    projected: dict[str, Any] = {"ProjectionExpression": expression}
    if names := used(NAMES | {"#key": "key"}, expression):
        projected["ExpressionAttributeNames"] = names
    get = {"TableName": table, "Key": stored.key, **projected}
    asked = {"Keys": [stored.key], "ConsistentRead": True, **projected}
    assert [
        client.get_item(ConsistentRead=True, **get)["Item"],
        *client.batch_get_item(RequestItems={table: asked})["Responses"][table],
        *stored.scan(**projected)["Items"],
        client.transact_get_items(TransactItems=[{"Get": get}])["Responses"][0].get("Item", {}),
    ] == [expected] * 4


@pytest.mark.parametrize(
    ("expression", "passes_if_text"),
    [
        ("#number = :seven", None),
        ("attribute_not_exists(absent) AND size(#text) > :seven", "S"),
        ("attribute_not_exists(absent) AND size(#text) < :seven", "L"),
        ("contains(#set, :a) AND #map.flag = :true", None),
        ("attribute_exists(#quoted)", None),
        ("attribute_exists(absent)", "never"),
    ],
)
def test_a_filter_decides_the_same(stored: LongItem, expression: str, passes_if_text: str | None) -> None:
    given = {"ExpressionAttributeNames": used(NAMES, expression), "ExpressionAttributeValues": used(VALUES, expression)}
    members = {"FilterExpression": expression} | {name: places for name, places in given.items() if places}
    count = int(passes_if_text is None or passes_if_text in stored.item.get("text", {}))
    whole = stored.scan(**members)
    assert (whole["Count"], whole["Items"]) == (count, [stored.item] * count)
    assert stored.scan(Select="COUNT", **members)["Count"] == count
    assert stored.scan(ProjectionExpression="absent", **members)["Items"] == [{}] * count


def test_legacy_parameters_return_the_same(stored: LongItem) -> None:
    contains = {"AttributeValueList": [{"S": "a"}], "ComparisonOperator": "CONTAINS"}
    part = stored.scan(AttributesToGet=["number"], ScanFilter={"set": contains})
    assert part["Items"] == [{"number": {"N": "7"}}]


def test_a_statement_returns_the_same(stored: LongItem) -> None:
    statement = """SELECT "number", "map"."flag" FROM TABLE WHERE absent IS MISSING AND "number" = 7"""
    assert stored.select(statement) == [{"number": {"N": "7"}, "flag": {"BOOL": True}}]
    assert stored.select("""SELECT * FROM TABLE WHERE "number" = 7""") == [stored.item]
    assert stored.select("""SELECT "number" FROM TABLE WHERE "key" = 'k' AND "number" = 8""") == []
