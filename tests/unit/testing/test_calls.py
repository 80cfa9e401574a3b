"""`Database.call`: operations with plain values, without a client."""

import pytest

from hashrange.errors import ApiError
from hashrange.testing import server

TABLE = {
    "TableName": "Orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"id": {"S": "1"}}


def test_a_call_sees_what_clients_see() -> None:
    with server() as database:
        database.call("CreateTable", TABLE)
        database.client().put_item(TableName="Orders", Item=KEY | {"data": {"B": b"\x00\xff"}})
        found = database.call("GetItem", {"TableName": "Orders", "Key": KEY, "ConsistentRead": True})
        assert found == {"Item": KEY | {"data": {"B": "AP8="}}}
        assert database.call("PutItem", {"TableName": "Orders", "Item": KEY}) == {}
        assert database.client().scan(TableName="Orders", ConsistentRead=True)["Items"] == [KEY]


def test_regions_have_tables_of_their_own() -> None:
    with server() as database:
        database.call("CreateTable", TABLE, region="eu-west-1")
        assert database.call("ListTables", {})["TableNames"] == []
        assert database.client(region_name="eu-west-1").list_tables()["TableNames"] == ["Orders"]


@pytest.mark.parametrize(
    ("operation", "members", "code"),
    [
        ("GetItem", {"TableName": "Orders", "Key": KEY}, "ResourceNotFoundException"),
        ("GetItem", {"TableName": "Orders"}, "ValidationException"),
        ("PutItem", {"TableName": "Orders", "Item": 1}, "SerializationException"),
        ("GetItems", {}, "UnknownOperationException"),
    ],
)
def test_a_refusal_is_raised(operation: str, members: dict[str, object], code: str) -> None:
    with server() as database, pytest.raises(ApiError) as refused:
        database.call(operation, members)
    assert refused.value.code == code


def test_a_closed_database_says_so() -> None:
    with server() as database:
        pass
    with pytest.raises(RuntimeError):
        database.call("ListTables", {})
