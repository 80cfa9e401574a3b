"""What tests of backups and restores share."""

from typing import Any

from tests.conformance.propagation import propagated
from tests.conformance.tables import create_request, definitions, fresh_name, index, keys
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

ON = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
OFF = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}}


def item(number: int, **attributes: Any) -> dict[str, Any]:
    """An item of `table_with_items`."""
    return {"id": {"S": f"o{number}"}, "at": {"S": f"t{number}"}, "who": {"S": f"w{number % 2}"}} | attributes


def table_with_items(client: Any, **members: Any) -> str:
    """The name of a new table with a local and a global index, and three items."""
    name = fresh_name()
    request = create_request(
        name,
        AttributeDefinitions=definitions("id", "at", "who"),
        KeySchema=keys("id", "at"),
        LocalSecondaryIndexes=[index("local", "id", "who")],
        GlobalSecondaryIndexes=[index("global", "who")],
    )
    client.create_table(**(request | members))
    client.get_waiter("table_exists").wait(TableName=name)
    for number in range(3):
        client.put_item(TableName=name, Item=item(number))
    return name


def backup_of(client: Any, table: str, name: str = "nightly") -> str:
    """The ARN of a new backup, which is AVAILABLE."""
    arn = str(client.create_backup(TableName=table, BackupName=name)["BackupDetails"]["BackupArn"])
    wait_until(lambda: status_of(client, arn) == "AVAILABLE")
    return arn


def status_of(client: Any, arn: str) -> str:
    """The state of a backup."""
    return str(client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"])


def restored(client: Any, arn: str, **overrides: Any) -> str:
    """The name of a table that has been restored from a backup, once it is ACTIVE."""
    name = fresh_name("restored")
    client.restore_table_from_backup(TargetTableName=name, BackupArn=arn, **overrides)
    client.get_waiter("table_exists").wait(TableName=name)
    return name


def items_of(client: Any, table: str) -> list[str]:
    """The ids of a table's items, sorted."""
    found = client.scan(TableName=table, ConsistentRead=True)["Items"]
    return sorted(one["id"]["S"] for one in found)


def entries_of(raw: RawClient, client: Any, table: str, index_name: str) -> list[str]:
    """The ids of the items with an entry in a global index, sorted."""
    propagated(raw)
    return sorted(one["id"]["S"] for one in client.scan(TableName=table, IndexName=index_name)["Items"])
