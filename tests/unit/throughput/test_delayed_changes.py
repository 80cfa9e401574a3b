"""While a table or index is UPDATING, it has the throughput that it is shown with: that from before the change."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.throughput.test_enforced import ONCE, create, provisioned

DELAY_SECONDS = 60.0
LARGE_KILOBYTES = 20
SETTINGS = Settings(data_dir=None, port=0, throughput="enforced", admin=True, table_state_delay_seconds=DELAY_SECONDS)


@pytest.fixture
def database() -> Iterator[Database]:
    settings = Settings(
        data_dir=None, port=0, throughput="enforced", admin=True, table_state_delay_seconds=DELAY_SECONDS
    )
    with server(settings) as database:
        database.clock.freeze()
        yield database


@pytest.fixture
def client(database: Database) -> Any:
    return database.client(config=ONCE)


def put_new_items(client: Any, kilobytes: int = 1) -> int:
    """How many new items, each with an entry in the index, are accepted."""
    text = "x" * (1024 * kilobytes - 200)
    for count in itertools.count():
        item = {"pk": {"S": str(uuid4())}, "status": {"S": "new"}, "text": {"S": text}}
        try:
            client.put_item(TableName="orders", Item=item)
        except (client.exceptions.ProvisionedThroughputExceededException, client.exceptions.ThrottlingException):
            return count
    raise AssertionError


def writes_in_a_second(database: Database, client: Any) -> int:
    """How many writes are accepted one second after the units were used up: most of them by few large items, which use
    up to LARGE_KILOBYTES more units than there are.
    """
    put_new_items(client, LARGE_KILOBYTES)
    database.clock.advance(LARGE_KILOBYTES)
    put_new_items(client)
    database.clock.advance(1)
    return put_new_items(client)


def test_more_units_are_there_when_the_table_is_active(database: Database, client: Any) -> None:
    create(client, writes=2)
    database.clock.advance(DELAY_SECONDS)
    assert writes_in_a_second(database, client) == 2
    client.update_table(TableName="orders", ProvisionedThroughput=provisioned(1, 10))
    assert client.describe_table(TableName="orders")["Table"]["ProvisionedThroughput"]["WriteCapacityUnits"] == 2
    assert writes_in_a_second(database, client) == 2
    database.clock.advance(DELAY_SECONDS)
    assert writes_in_a_second(database, client) == 10


def test_the_change_is_over_at_the_moment_at_which_it_ends(database: Database, client: Any) -> None:
    create(client, writes=2)
    database.clock.advance(DELAY_SECONDS)
    assert writes_in_a_second(database, client) == 2
    client.update_table(TableName="orders", ProvisionedThroughput=provisioned(1, 9))
    database.clock.advance(DELAY_SECONDS)
    assert writes_in_a_second(database, client) == 9


def test_an_index_keeps_its_units_as_long(database: Database, client: Any) -> None:
    create(client, writes=100, index=(1, 2))
    database.clock.advance(DELAY_SECONDS)
    assert writes_in_a_second(database, client) == 2
    change = {"IndexName": "by-status", "ProvisionedThroughput": provisioned(1, 5)}
    client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=[{"Update": change}])
    assert writes_in_a_second(database, client) == 2
    database.clock.advance(DELAY_SECONDS)
    assert writes_in_a_second(database, client) == 5


def test_a_change_of_mode_takes_effect_when_the_table_is_active(database: Database, client: Any) -> None:
    create(client, writes=2)
    database.clock.advance(DELAY_SECONDS)
    assert writes_in_a_second(database, client) == 2
    client.update_table(TableName="orders", BillingMode="PAY_PER_REQUEST")
    assert writes_in_a_second(database, client) == 2
    database.clock.advance(DELAY_SECONDS)
    put_new_items(client, LARGE_KILOBYTES)
    database.clock.advance(1)
    assert LARGE_KILOBYTES * put_new_items(client, LARGE_KILOBYTES) > 1_000


def test_a_new_server_does_not_end_the_change(tmp_path: Path) -> None:
    with server(SETTINGS) as database:
        client = database.client(config=ONCE)
        create(client, writes=2, index=(1, 3))
        database.clock.advance(DELAY_SECONDS)
        change = {"IndexName": "by-status", "ProvisionedThroughput": provisioned(1, 50)}
        updates = [{"Update": change}]
        client.update_table(
            TableName="orders", ProvisionedThroughput=provisioned(1, 9), GlobalSecondaryIndexUpdates=updates
        )
        database.snapshot().save(tmp_path / "snapshot")
    with server(SETTINGS, snapshot=tmp_path / "snapshot") as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        assert writes_in_a_second(database, client) == 2
        database.clock.advance(DELAY_SECONDS)
        assert writes_in_a_second(database, client) == 9
