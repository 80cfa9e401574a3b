"""What a description shows of a table's units and billing mode while it is UPDATING for them. Source:
service behaviour, captures to October 2026.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

DELAY_SECONDS = 5.0
KEY = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
}


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, table_state_delay_seconds=DELAY_SECONDS)) as database:
        database.clock.freeze()
        yield database


def created(database: Database, units: int = 1) -> Any:
    """A client of a database with an ACTIVE table, whose one index has the same units."""
    client = database.client()
    provisioned = {"ReadCapacityUnits": units, "WriteCapacityUnits": units}
    index = {"IndexName": "by-id", "KeySchema": KEY["KeySchema"], "Projection": {"ProjectionType": "ALL"}}
    client.create_table(
        TableName="Orders",
        **KEY,
        ProvisionedThroughput=provisioned,
        GlobalSecondaryIndexes=[index | {"ProvisionedThroughput": provisioned}],
    )
    database.clock.advance(DELAY_SECONDS)
    return client


def described(client: Any) -> Any:
    return client.describe_table(TableName="Orders")["Table"]


def units(subject: Any) -> tuple[int, int, int]:
    """Read and write units, and the warm read units, of a table's or index's description."""
    given = subject["ProvisionedThroughput"]
    return given["ReadCapacityUnits"], given["WriteCapacityUnits"], subject["WarmThroughput"]["ReadUnitsPerSecond"]


def test_units_are_the_former_ones_until_the_table_is_active(database: Database) -> None:
    client = created(database)
    more = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}
    replied = client.update_table(TableName="Orders", ProvisionedThroughput=more)["TableDescription"]
    shown = described(client)
    assert [(units(one), one["TableStatus"]) for one in (replied, shown)] == [((1, 1, 1), "UPDATING")] * 2
    assert shown["ProvisionedThroughput"]["LastIncreaseDateTime"].timestamp() == pytest.approx(database.clock.now())
    assert shown["WarmThroughput"]["Status"] == "ACTIVE"
    database.clock.advance(DELAY_SECONDS)
    assert (units(described(client)), described(client)["TableStatus"]) == ((3, 2, 3), "ACTIVE")


def test_units_of_an_index_are_the_former_ones_until_it_is_active(database: Database) -> None:
    client = created(database)
    more = {"IndexName": "by-id", "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 7}}
    client.update_table(TableName="Orders", GlobalSecondaryIndexUpdates=[{"Update": more}])
    assert units(described(client)["GlobalSecondaryIndexes"][0]) == (1, 1, 1)
    assert units(described(client)) == (1, 1, 1)
    database.clock.advance(DELAY_SECONDS)
    assert units(described(client)["GlobalSecondaryIndexes"][0]) == (7, 7, 7)


def test_another_change_shows_no_former_units(database: Database) -> None:
    client = created(database)
    client.update_table(TableName="Orders", ProvisionedThroughput={"ReadCapacityUnits": 3, "WriteCapacityUnits": 3})
    database.clock.advance(DELAY_SECONDS)
    client.update_table(TableName="Orders", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    assert (units(described(client)), described(client)["TableStatus"]) == ((3, 3, 3), "UPDATING")


def test_a_switch_to_on_demand_is_dated_once_the_table_is_active(database: Database) -> None:
    client = created(database, 2)
    switched_at_seconds = database.clock.now()
    replied = client.update_table(TableName="Orders", BillingMode="PAY_PER_REQUEST")["TableDescription"]
    database.clock.advance(1)
    for one in (replied, described(client)):
        assert one["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
        assert units(one) == (0, 0, 2)
        decreased_at = one["ProvisionedThroughput"]["LastDecreaseDateTime"]
        assert decreased_at.timestamp() == pytest.approx(switched_at_seconds)
        assert one["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    database.clock.advance(DELAY_SECONDS)
    shown = described(client)
    told = shown["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"].timestamp()
    assert told == pytest.approx(switched_at_seconds + DELAY_SECONDS)
    assert units(shown) == (0, 0, 12_000)
    assert "LastDecreaseDateTime" not in shown["ProvisionedThroughput"]


def test_a_switch_back_keeps_the_date_of_the_switch_to_on_demand(database: Database) -> None:
    client = created(database)
    client.update_table(TableName="Orders", BillingMode="PAY_PER_REQUEST")
    database.clock.advance(DELAY_SECONDS)
    told = described(client)["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"]
    provisioned = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    client.update_table(
        TableName="Orders",
        BillingMode="PROVISIONED",
        ProvisionedThroughput=provisioned,
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-id", "ProvisionedThroughput": provisioned}}],
    )
    summary = described(client)["BillingModeSummary"]
    assert summary == {"BillingMode": "PROVISIONED", "LastUpdateToPayPerRequestDateTime": told}
    assert units(described(client)) == (1, 1, 12_000)
