"""A table or index whose throughput is raised above what its partitions serve gets more of them,
as has one that was made before.
"""

from pathlib import Path

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.throughput.admin import buckets_of
from tests.unit.throughput.test_account_quotas import enforced, make
from tests.unit.throughput.test_enforced import INDEX, ONCE, provisioned


def partitions(database: Database) -> tuple[int, int]:
    """How many the table has, and its index."""
    database.clock.advance(1)
    shown = buckets_of(database, "orders")
    return len(shown["table"]["writes"]["partitions"]), len(shown["indexes"]["by-status"]["writes"]["partitions"])


def test_more_provisioned_units_have_more_partitions_and_fewer_keep_them() -> None:
    with server(enforced()) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        make(client, GlobalSecondaryIndexes=[INDEX | {"ProvisionedThroughput": provisioned(1, 1)}])
        assert partitions(database) == (1, 1)
        client.update_table(TableName="orders", ProvisionedThroughput=provisioned(6_000, 2_500))
        assert partitions(database) == (5, 1)
        change = {"IndexName": "by-status", "ProvisionedThroughput": provisioned(1, 1_500)}
        client.update_table(TableName="orders", GlobalSecondaryIndexUpdates=[{"Update": change}])
        assert partitions(database) == (5, 2)
        client.update_table(TableName="orders", ProvisionedThroughput=provisioned(1, 1))
        assert partitions(database) == (5, 2)


def test_warm_throughput_has_its_partitions() -> None:
    with server(enforced()) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        make(client, BillingMode="PAY_PER_REQUEST", GlobalSecondaryIndexes=[INDEX])
        assert partitions(database) == (4, 4)
        warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 9_000}
        client.update_table(TableName="orders", WarmThroughput=warm)
        assert partitions(database) == (9, 4)


def test_a_table_that_was_made_before_gets_its_partitions_when_it_is_opened(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    index = INDEX | {"ProvisionedThroughput": provisioned(1, 1)}
    with server(Settings(data_dir=folder, port=0, admin=True)) as database:
        make(database.client(config=ONCE), reads=1, writes=50_000, GlobalSecondaryIndexes=[index])
    with server(Settings(data_dir=folder, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        assert partitions(database) == (51, 1)
        client = database.client(config=ONCE)  # what is above the quota of a table may stay so
        client.update_table(TableName="orders", ProvisionedThroughput=provisioned(2, 50_000))
