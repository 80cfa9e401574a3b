"""Replies of items whose JSON is 47 times their item size: Hashrange's own bound of 32 MB, over sockets."""

from typing import Any

from tests.conformance.item_tables import DataTable, fresh_key, text
from tests.conformance.tables import validation
from tests.conformance.transactions import TOO_LARGE, get
from tests.support.raw_client import RawClient

ITEMS = 10
NUMBERS = {"L": [{"N": "1E-130"}] * 27_000}
"""A value with 3.8 MB of JSON; its item has 82 KB, so all ten items fit on a page, and in a transaction."""


def test_no_reply_is_longer_than_its_bound(raw: RawClient, sorted_table: DataTable) -> None:
    partition = fresh_key()
    keys: list[dict[str, Any]] = [partition | {"sk": text(str(place))} for place in range(ITEMS)]
    for key in keys:
        sorted_table.put(key | {"v": NUMBERS})
    name = sorted_table.name
    asked = {
        "TableName": name,
        "ConsistentRead": True,
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": {":a": partition["pk"]},
    }
    first = raw("Query", asked)
    assert len(first.body) < 37_000_000
    page = first.json()
    rest = raw("Query", asked | {"ExclusiveStartKey": page["LastEvaluatedKey"]}).json()
    assert [item["sk"] for item in page["Items"] + rest["Items"]] == [key["sk"] for key in keys]
    assert validation(raw, "TransactGetItems", {"TransactItems": [get(sorted_table, key) for key in keys]}) == TOO_LARGE
    statements = [
        {"Statement": f"SELECT * FROM \"{name}\" WHERE pk='{key['pk']['S']}' AND sk='{key['sk']['S']}'"} for key in keys
    ]
    assert validation(raw, "ExecuteTransaction", {"TransactStatements": statements}) == TOO_LARGE
    told = raw("BatchExecuteStatement", {"Statements": [one | {"ConsistentRead": True} for one in statements]})
    assert len(told.body) < 37_000_000
    responses = told.json()["Responses"]
    assert ["Item" in one for one in responses] == [True] * 9 + [False]
    assert responses[9]["Error"]["Code"] == "ThrottlingError"
