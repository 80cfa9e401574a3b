"""An account's quotas: capacity of tables, indexes and the account while throughput is enforced;
tables that change at the same time.
"""

from typing import Any

import pytest

from hashrange import limits
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.throughput.test_enforced import INDEX, ONCE, provisioned

GUIDE = " Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."


def make(client: Any, name: str = "orders", reads: int = 1, writes: int = 1, **more: Any) -> None:
    if "BillingMode" not in more:
        more["ProvisionedThroughput"] = provisioned(reads, writes)
    attributes = ["pk", "status"] if "GlobalSecondaryIndexes" in more else ["pk"]
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in attributes],
        **more,
    )


def refusal(client: Any, operation: str, **request: Any) -> str:
    """The message of a LimitExceededException."""
    with pytest.raises(client.exceptions.LimitExceededException) as refused:
        make(client, **request) if operation == "make" else getattr(client, operation)(**request)
    return str(refused.value.response["Error"]["Message"])


def enforced(**more: Any) -> Settings:
    return Settings(data_dir=None, port=0, throughput="enforced", admin=True, **more)


def test_a_table_has_at_most_40_000_units() -> None:
    with server(enforced()) as database:
        client = database.client(config=ONCE)
        assert refusal(client, "make", reads=40_001) == (
            "The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in us-east-1."
            " Per table maximum: 40000." + GUIDE
        )
        index = INDEX | {"ProvisionedThroughput": provisioned(1, 50_000)}
        assert refusal(client, "make", GlobalSecondaryIndexes=[index]) == (
            (
                "The requested WriteCapacityUnits for index by-status, 50000, is above the per index maximum for the"
                " account in us-east-1. Per table maximum: 40000."
            )
            + GUIDE
        )
        make(client, writes=40_000)
        above = {"TableName": "orders", "ProvisionedThroughput": provisioned(1, 40_001)}
        assert "WriteCapacityUnits, 40001, is above the per table maximum" in refusal(client, "update_table", **above)


def test_an_account_has_at_most_80_000_units() -> None:
    with server(enforced()) as database:
        client = database.client(config=ONCE)
        make(client, "first", reads=40_000)
        make(client, "second", reads=39_000)
        assert refusal(client, "make", name="third", reads=1_001) == (
            "This request would have caused the ReadCapacityUnits limit to be exceeded for the account in us-east-1."
            " Current ReadCapacityUnits reserved by the account: 79000. Limit: 80000. Requested: 1001." + GUIDE
        )
        make(client, "third", reads=900)
        more = {"TableName": "third", "ProvisionedThroughput": provisioned(1_001, 1)}
        assert "Requested: 101." in refusal(client, "update_table", **more)
        client.delete_table(TableName="first")
        client.update_table(**more)


def test_maxima_and_warm_throughput_have_the_quota_of_a_table() -> None:
    with server(enforced()) as database:
        client = database.client(config=ONCE)
        on_demand = {"BillingMode": "PAY_PER_REQUEST"}
        most = on_demand | {"OnDemandThroughput": {"MaxReadRequestUnits": 40_001}}
        assert refusal(client, "make", **most) == (
            "Subscriber limit exceeded: Requested MaxReadRequestUnits for OnDemandThroughput for table exceeds"
            " TableMaxReadCapacityUnits of the account in region us-east-1"
        )
        warm = {"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 40_001}}
        assert refusal(client, "make", **on_demand, GlobalSecondaryIndexes=[INDEX | warm]) == (
            "Subscriber limit exceeded: Requested WriteUnitsPerSecond for WarmThroughput for index by-status exceeds"
            " TableMaxWriteCapacityUnits of the account in region us-east-1"
        )


def test_capacity_is_not_limited_while_throughput_is_not_enforced() -> None:
    with server(Settings(data_dir=None, port=0)) as database:
        client = database.client(config=ONCE)
        for name in ("first", "second", "third"):
            make(client, name, reads=50_000)


def test_so_many_tables_may_change_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TABLE_CHANGES_MAX", 4)
    monkeypatch.setattr(limits, "INDEXED_CREATIONS_MAX", 2)
    with server(Settings(data_dir=None, port=0, admin=True, table_state_delay_seconds=10.0)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        index = INDEX | {"ProvisionedThroughput": provisioned(1, 1)}
        for name in ("aaa", "bbb"):
            make(client, name, GlobalSecondaryIndexes=[index])
        assert refusal(client, "make", name="ccc", GlobalSecondaryIndexes=[index]) == (
            "Subscriber limit exceeded: There is a limit of 2 indexed tables that can be created simultaneously"
        )
        _change_until_refused(database, client)


def _change_until_refused(database: Database, client: Any) -> None:
    """Go on from two tables that are CREATING; four may change."""
    make(client, "ccc")
    database.clock.advance(5)
    make(client, "ddd")
    expected = "Subscriber limit exceeded: Only 4 tables can be created, updated, or deleted simultaneously"
    assert refusal(client, "make", name="eee") == expected
    database.clock.advance(6)
    make(client, "eee")
    client.update_table(TableName="aaa", ProvisionedThroughput=provisioned(2, 2))
    client.delete_table(TableName="bbb")
    assert refusal(client, "delete_table", TableName="ccc") == expected
    update = {"TableName": "ccc", "ProvisionedThroughput": provisioned(2, 2)}
    assert refusal(client, "update_table", **update) == expected
    database.clock.advance(5)
    client.update_table(**update)
