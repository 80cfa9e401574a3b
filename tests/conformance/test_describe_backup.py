"""DescribeBackup: what a backup has recorded of its table, as it was; and the ARNs that name none."""

from typing import Any

import pytest

from tests.conformance.backups import ON, backup_of, table_with_items
from tests.conformance.tables import create_request, fault, fresh_name, index, keys, units, validation
from tests.support.raw_client import RawClient

ENCRYPTED = {"Enabled": True, "SSEType": "KMS"}


def described(client: Any, arn: str) -> Any:
    return client.describe_backup(BackupArn=arn)["BackupDescription"]


def test_a_plain_table(client: Any) -> None:
    name = fresh_name()
    table = client.create_table(**create_request(name))["TableDescription"]
    client.get_waiter("table_exists").wait(TableName=name)
    backup = described(client, backup_of(client, name))
    assert backup["SourceTableDetails"] == {
        "TableName": name,
        "TableId": table["TableId"],
        "TableArn": table["TableArn"],
        "TableSizeBytes": 0,
        "KeySchema": keys("id"),
        "TableCreationDateTime": table["CreationDateTime"],
        "ProvisionedThroughput": units(0, 0),
        "ItemCount": 0,
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert backup["SourceTableFeatureDetails"] == {}
    assert backup["BackupDetails"]["BackupSizeBytes"] == 0


def test_everything_that_is_recorded(client: Any) -> None:
    name = table_with_items(
        client,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(3, 4),
        GlobalSecondaryIndexes=[index("global", "who", ProvisionedThroughput=units(5, 6))],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        SSESpecification=ENCRYPTED,
        Tags=[{"Key": "a", "Value": "b"}],
        DeletionProtectionEnabled=True,
        TableClass="STANDARD_INFREQUENT_ACCESS",
    )
    client.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    client.update_continuous_backups(TableName=name, **ON)
    backup = described(client, backup_of(client, name))
    features = backup["SourceTableFeatureDetails"]
    assert features["LocalSecondaryIndexes"] == [index("local", "id", "who")]
    assert features["GlobalSecondaryIndexes"] == [index("global", "who", ProvisionedThroughput=units(5, 6))]
    assert features["StreamDescription"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    assert features["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    assert features["SSEDescription"]["SSEType"] == "KMS"
    assert set(features) == {
        "LocalSecondaryIndexes", "GlobalSecondaryIndexes", "StreamDescription", "TimeToLiveDescription",
        "SSEDescription",
    }  # fmt: skip
    details = backup["SourceTableDetails"]
    assert (details["ProvisionedThroughput"], details["BillingMode"]) == (units(3, 4), "PROVISIONED")
    assert (details["ItemCount"], details["TableSizeBytes"]) == (3, backup["BackupDetails"]["BackupSizeBytes"])


def test_maxima_on_demand(client: Any) -> None:
    maximum = {"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": 8}
    name = table_with_items(client, OnDemandThroughput=maximum)
    assert described(client, backup_of(client, name))["SourceTableDetails"]["OnDemandThroughput"] == maximum


def test_a_later_change_of_the_table_does_not_show(client: Any) -> None:
    name = table_with_items(client)
    arn = backup_of(client, name)
    before = described(client, arn)
    client.update_table(TableName=name, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "global"}}])
    assert described(client, arn) == before
    client.get_waiter("table_exists").wait(TableName=name)
    client.delete_table(TableName=name)
    assert described(client, arn) == before


def test_the_region_in_an_arn_is_not_looked_at(client: Any) -> None:
    arn = backup_of(client, table_with_items(client))
    other = arn.replace(arn.split(":")[3], "eu-north-1")
    assert described(client, other)["BackupDetails"]["BackupArn"] == other


@pytest.mark.parametrize("operation", ["DescribeBackup", "DeleteBackup", "RestoreTableFromBackup"])
def test_arns_that_name_no_backup(raw: RawClient, client: Any, operation: str) -> None:
    arn = backup_of(client, table_with_items(client))
    more = {"TargetTableName": "nothing.here"} if operation == "RestoreTableFromBackup" else {}
    for missing in (arn[:-8] + "0123abcd", arn.replace("/backup/", "-other/backup/")):
        assert fault(raw, operation, {"BackupArn": missing} | more) == (
            "BackupNotFoundException",
            f"Backup not found: {missing}",
        )
    for none in (arn.partition("/backup/")[0], "", "x" * 40, arn + "x" * 1024, arn + "/1"):
        assert validation(raw, operation, {"BackupArn": none} | more) == "Invalid Backup ARN"
    other = arn.replace(arn.split(":")[4], "999999999999")
    assert fault(raw, operation, {"BackupArn": other} | more) == ("AccessDeniedException", "Access is denied")


def test_an_arn_is_required(raw: RawClient) -> None:
    assert validation(raw, "DescribeBackup", {}) == (
        "1 validation error detected: Value null at 'backupArn' failed to satisfy constraint: Member must not be null"
    )
