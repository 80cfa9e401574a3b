"""What does each test of the suites do? It creates a table, writes ten items and reads ten."""

from typing import Any

import pytest

each_of_50 = pytest.mark.parametrize("number", range(50))
ITEMS = 10


def create_write_read(client: Any, number: int) -> None:
    """Use a table that no other test has, because some suites share one server."""
    table = f"orders-{number}"
    client.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "order", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "order", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for order in range(ITEMS):
        key = {"customer": {"S": "customer-7"}, "order": {"N": str(order)}}
        client.put_item(TableName=table, Item=key | {"status": {"S": "PLACED"}, "total": {"N": "12.5"}})
    for order in range(ITEMS):
        key = {"customer": {"S": "customer-7"}, "order": {"N": str(order)}}
        item = client.get_item(TableName=table, Key=key)["Item"]
        assert item == key | {"status": {"S": "PLACED"}, "total": {"N": "12.5"}}
