"""DeleteTable: deletes the table unless it is protected."""

from typing import Any

from tests.conformance.tables import create_request, fresh_name, validation
from tests.support.raw_client import RawClient


def test_a_deleted_table_is_gone_and_the_waiter_sees_it(client: Any) -> None:
    name = fresh_name()
    created = client.create_table(**create_request(name))["TableDescription"]
    deleted = client.delete_table(TableName=name)["TableDescription"]
    assert deleted["TableStatus"] == "DELETING"
    assert deleted["TableId"] == created["TableId"]
    assert "KeySchema" not in deleted
    client.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 0, "MaxAttempts": 1})
    again = client.create_table(**create_request(name))["TableDescription"]
    assert again["TableId"] != created["TableId"]


def test_a_protected_table_stays(raw: RawClient, client: Any) -> None:
    name = fresh_name()
    client.create_table(**create_request(name, DeletionProtectionEnabled=True))
    assert validation(raw, "DeleteTable", {"TableName": name}) == (
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    )
    client.update_table(TableName=name, DeletionProtectionEnabled=False)
    client.delete_table(TableName=name)
