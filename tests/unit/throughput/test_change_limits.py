"""How often a table may change: counts over restarts, copies, a clock that is set back,
and requests at the same time.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from hashrange import limits
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.throughput.test_account_quotas import make, refusal
from tests.unit.throughput.test_enforced import INDEX, ONCE, provisioned

DAY_SECONDS = 86_400
CLASSES = ("STANDARD_INFREQUENT_ACCESS", "STANDARD")
DECREASES = "Provisioned throughput decreases are limited"
SWITCHES = "Update to PayPerRequest mode are limited to 4 times"
CLASS_CHANGES = "Updates to TableClass are limited to 2 times"


def opened(folder: Path | None = None, delay_seconds: float = 0.0) -> AbstractContextManager[Database]:
    data_dir = None if folder is None else str(folder)
    return server(Settings(data_dir=data_dir, port=0, table_state_delay_seconds=delay_seconds))


def switch(client: Any, reads: int = 50) -> None:
    """On demand, and back."""
    client.update_table(TableName="orders", BillingMode="PAY_PER_REQUEST")
    client.update_table(TableName="orders", BillingMode="PROVISIONED", ProvisionedThroughput=provisioned(reads, reads))


def decrease(client: Any) -> None:
    units = client.describe_table(TableName="orders")["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"]
    client.update_table(TableName="orders", ProvisionedThroughput=provisioned(units - 1, 50))


def change_all(client: Any) -> None:
    """Change the table as often as it may."""
    for table_class in CLASSES:
        client.update_table(TableName="orders", TableClass=table_class)
    for _ in range(limits.SWITCHES_TO_ON_DEMAND_MAX):
        switch(client)
    for _ in range(limits.DECREASES_AT_ONCE_MAX):
        decrease(client)


def assert_refused(client: Any, *, may_decrease: bool = False) -> None:
    """No change is allowed; with `may_decrease`, decreases are left out."""
    table = {"TableName": "orders"}
    assert CLASS_CHANGES in refusal(client, "update_table", **table, TableClass=CLASSES[0])
    assert SWITCHES in refusal(client, "update_table", **table, BillingMode="PAY_PER_REQUEST")
    if not may_decrease:
        assert DECREASES in refusal(client, "update_table", **table, ProvisionedThroughput=provisioned(1, 1))


def test_counts_survive_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path / "data") as database:
        client = database.client(config=ONCE)
        make(client, reads=50, writes=50)
        change_all(client)
    with opened(tmp_path / "data") as database:
        assert_refused(database.client(config=ONCE), may_decrease=True)  # midnight may have passed
        database.clock.advance(30 * DAY_SECONDS)
        change_all(database.client(config=ONCE))


def test_changes_before_the_clock_was_set_back_count_for_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "data") as database:
        database.clock.advance(100 * DAY_SECONDS)
        client = database.client(config=ONCE)
        make(client, reads=50, writes=50)
        change_all(client)
    with opened(tmp_path / "data") as database:
        change_all(database.client(config=ONCE))


def test_counts_belong_to_copies() -> None:
    with opened() as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        make(client, reads=50, writes=50)
        before = database.snapshot()
        change_all(client)
        assert_refused(client)
        after = database.snapshot()
        with database.fork() as fork:
            assert_refused(fork.client(config=ONCE))
        database.restore(before)
        change_all(client)
        database.restore(after)
        assert_refused(client)
        database.reset()
        make(client, reads=50, writes=50)
        change_all(client)


def test_an_account_has_so_many_tables_and_no_request_slips_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TABLES_MAX", 5)
    with opened() as database:
        client = database.client(config=ONCE)

        def attempt(number: int) -> bool:
            try:
                make(client, f"table-{number}")
            except client.exceptions.LimitExceededException:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(16))) == 5
        assert refusal(client, "make", name="another") == (
            "Subscriber limit exceeded: There is a limit of 5 tables per subscriber"
        )
        other = database.client(config=ONCE, region_name="eu-west-1")
        make(other, "another")
        client.delete_table(TableName=client.list_tables()["TableNames"][0])
        make(client, "another")


def test_tables_whose_time_to_live_changes_count_among_those_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TABLE_CHANGES_MAX", 2)
    with opened(delay_seconds=10.0) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        for name in ("aaa", "bbb"):
            make(client, name)
        database.clock.advance(11)
        make(client, "ccc")
        database.clock.advance(11)
        specification = {"Enabled": True, "AttributeName": "expires"}
        for name in ("aaa", "bbb"):
            client.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)
        expected = "Subscriber limit exceeded: Only 2 tables can be created, updated, or deleted simultaneously"
        third = {"TableName": "ccc", "TimeToLiveSpecification": specification}
        assert refusal(client, "update_time_to_live", **third) == expected
        assert refusal(client, "make", name="ddd") == expected
        database.clock.advance(11)
        client.update_time_to_live(**third)


def test_the_quota_of_the_account_counts_added_indexes_and_switches() -> None:
    settings = Settings(data_dir=None, port=0, throughput="enforced")
    with server(settings) as database:
        client = database.client(config=ONCE)
        make(client, "first", reads=40_000)
        make(client, "second", BillingMode="PAY_PER_REQUEST")
        make(client, "orders", reads=30_000)
        create = {"Create": INDEX | {"ProvisionedThroughput": provisioned(10_001, 1)}}
        added = {
            "TableName": "orders",
            "AttributeDefinitions": [{"AttributeName": "status", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [create],
        }
        assert "Current ReadCapacityUnits reserved by the account: 70000. Limit: 80000. Requested: 10001." in refusal(
            client, "update_table", **added
        )
        back = {"TableName": "second", "BillingMode": "PROVISIONED"}
        assert "Requested: 10001." in refusal(
            client, "update_table", **back, ProvisionedThroughput=provisioned(10_001, 1)
        )
        client.update_table(**back, ProvisionedThroughput=provisioned(10_000, 1))
        client.update_table(TableName="second", BillingMode="PAY_PER_REQUEST")
        create["Create"]["ProvisionedThroughput"] = provisioned(10_000, 1)
        client.update_table(**added)


def test_describe_limits_says_what_is_enforced() -> None:
    settings = Settings(data_dir=None, port=0, throughput="enforced")
    with server(settings) as database:
        client = database.client(config=ONCE)
        said = client.describe_limits()
        reads, writes = said["TableMaxReadCapacityUnits"], said["TableMaxWriteCapacityUnits"]
        refusal(client, "make", reads=reads + 1)
        refusal(client, "make", writes=writes + 1)
        for number in range(said["AccountMaxReadCapacityUnits"] // reads):
            make(client, f"full-{number}", reads=reads, writes=1)
        refusal(client, "make", name="one-more")
