"""RestoreTableFromBackup: a table with the items of a backup, and what the request may override."""

from typing import Any

import pytest

from tests.conformance.backups import backup_of, entries_of, items_of, restored, table_with_items
from tests.conformance.tables import create_request, fault, fresh_name, index, keys, units, validation
from tests.support.raw_client import RawClient

NO_MATCH = (
    "Index {} does not match a secondary index that existed in the source table and cannot be created during the"
    " restore operation"
)
PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(3, 4)}
WITH_UNITS = {"GlobalSecondaryIndexes": [index("global", "who", ProvisionedThroughput=units(5, 6))]}


def table(client: Any, name: str) -> Any:
    return client.describe_table(TableName=name)["Table"]


def global_names(client: Any, name: str) -> list[str]:
    return [one["IndexName"] for one in table(client, name).get("GlobalSecondaryIndexes", [])]


def test_the_table_is_creating_in_the_reply(client: Any) -> None:
    source = table_with_items(client)
    arn = backup_of(client, source)
    backup = client.describe_backup(BackupArn=arn)["BackupDescription"]
    name = fresh_name("restored")
    described = client.restore_table_from_backup(TargetTableName=name, BackupArn=arn)["TableDescription"]
    assert (described["TableName"], described["TableStatus"]) == (name, "CREATING")
    assert described["RestoreSummary"] == {
        "SourceBackupArn": arn,
        "SourceTableArn": backup["SourceTableDetails"]["TableArn"],
        "RestoreDateTime": backup["BackupDetails"]["BackupCreationDateTime"],
        "RestoreInProgress": True,
    }
    client.get_waiter("table_exists").wait(TableName=name)
    after = table(client, name)
    assert "RestoreSummary" not in after
    assert (after["TableStatus"], after["ItemCount"]) == ("ACTIVE", 3)
    assert after["TableId"] != backup["SourceTableDetails"]["TableId"]


def test_items_and_indexes_come_along(client: Any, raw: RawClient) -> None:
    source = table_with_items(client)
    name = restored(client, backup_of(client, source))
    assert (
        client.scan(TableName=name, ConsistentRead=True)["Items"]
        == (client.scan(TableName=source, ConsistentRead=True)["Items"])
    )
    assert entries_of(raw, client, name, "global") == ["o0", "o1", "o2"]
    local = client.query(
        TableName=name,
        IndexName="local",
        ConsistentRead=True,
        KeyConditionExpression="id = :id",
        ExpressionAttributeValues={":id": {"S": "o1"}},
    )
    assert local["Count"] == 1
    client.put_item(TableName=name, Item={"id": {"S": "new"}, "at": {"S": "t"}, "who": {"S": "w0"}})
    assert "new" in entries_of(raw, client, name, "global")


def test_what_a_restored_table_does_not_have(client: Any) -> None:
    source = table_with_items(
        client,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        Tags=[{"Key": "a", "Value": "b"}],
        DeletionProtectionEnabled=True,
        TableClass="STANDARD_INFREQUENT_ACCESS",
        SSESpecification={"Enabled": True, "SSEType": "KMS"},
    )
    client.update_time_to_live(TableName=source, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    name = restored(client, backup_of(client, source))
    after = table(client, name)
    assert not {"StreamSpecification", "LatestStreamArn", "TableClassSummary"} & set(after)
    assert after["DeletionProtectionEnabled"] is False
    assert after["SSEDescription"]["SSEType"] == "KMS"
    assert client.list_tags_of_resource(ResourceArn=after["TableArn"])["Tags"] == []
    assert client.describe_time_to_live(TableName=name)["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    recovery = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_it_is_restored_as_it_was_recorded(client: Any) -> None:
    source = table_with_items(client, **PROVISIONED, **WITH_UNITS)
    arn = backup_of(client, source)
    client.update_table(TableName=source, ProvisionedThroughput=units(9, 9))
    client.delete_table(TableName=source)
    client.get_waiter("table_not_exists").wait(TableName=source)
    after = table(client, restored(client, arn))
    assert after["ProvisionedThroughput"] | units(3, 4) == after["ProvisionedThroughput"]
    (found,) = after["GlobalSecondaryIndexes"]
    assert found["ProvisionedThroughput"] | units(5, 6) == found["ProvisionedThroughput"]


def test_a_backup_is_restored_more_than_once_and_under_the_old_name(client: Any) -> None:
    source = table_with_items(client)
    arn = backup_of(client, source)
    restored(client, arn)
    client.delete_table(TableName=source)
    client.get_waiter("table_not_exists").wait(TableName=source)
    client.restore_table_from_backup(TargetTableName=source, BackupArn=arn)
    client.get_waiter("table_exists").wait(TableName=source)
    assert items_of(client, source) == ["o0", "o1", "o2"]
    assert backup_of(client, source).partition("/backup/")[0] == arn.partition("/backup/")[0]


def test_an_existing_target(raw: RawClient, client: Any) -> None:
    source = table_with_items(client)
    arn = backup_of(client, source)
    assert fault(raw, "RestoreTableFromBackup", {"TargetTableName": source, "BackupArn": arn}) == (
        "TableAlreadyExistsException",
        f"Table already exists: {source}",
    )


# --- overrides ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_demand(client: Any) -> str:
    return backup_of(client, table_with_items(client))


@pytest.fixture(scope="module")
def provisioned(client: Any) -> str:
    return backup_of(client, table_with_items(client, **PROVISIONED, **WITH_UNITS))


def refused(raw: RawClient, arn: str, **members: Any) -> str | None:
    return validation(
        raw, "RestoreTableFromBackup", {"TargetTableName": fresh_name("restored"), "BackupArn": arn} | members
    )


def test_an_index_may_take_another_name(client: Any, raw: RawClient, on_demand: str) -> None:
    name = restored(client, on_demand, GlobalSecondaryIndexOverride=[index("renamed", "who")])
    assert global_names(client, name) == ["renamed"]
    assert entries_of(raw, client, name, "renamed") == ["o0", "o1", "o2"]
    assert [one["IndexName"] for one in table(client, name)["LocalSecondaryIndexes"]] == ["local"]


def test_an_empty_list_drops_the_indexes(client: Any, on_demand: str) -> None:
    name = restored(client, on_demand, GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[])
    described = table(client, name)
    assert not {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"} & set(described)
    assert [one["AttributeName"] for one in described["AttributeDefinitions"]] == ["id", "at"]


def test_an_index_that_was_not_there(raw: RawClient, on_demand: str) -> None:
    for members in (
        {"GlobalSecondaryIndexOverride": [index("global", "at")]},
        {"GlobalSecondaryIndexOverride": [index("global", "who", Projection={"ProjectionType": "KEYS_ONLY"})]},
        {"LocalSecondaryIndexOverride": [index("global", "id", "at")]},
        {"GlobalSecondaryIndexOverride": [index("first", "who"), index("global", "who")]},
    ):
        assert refused(raw, on_demand, **members) == NO_MATCH.format("global")


def test_one_name_for_two_indexes(raw: RawClient, on_demand: str) -> None:
    members = {
        "GlobalSecondaryIndexOverride": [index("one", "who")],
        "LocalSecondaryIndexOverride": [index("one", "id", "who")],
    }
    assert refused(raw, on_demand, **members) == (
        "One or more parameter values were invalid: Duplicate index name: one"
    )


def test_names_of_indexes(raw: RawClient, on_demand: str) -> None:
    assert "at 'globalSecondaryIndexOverride.1.member.indexName'" in str(
        refused(raw, on_demand, GlobalSecondaryIndexOverride=[index("a;b", "who")])
    )


def test_from_provisioned_to_on_demand(client: Any, provisioned: str) -> None:
    described = table(client, restored(client, provisioned, BillingModeOverride="PAY_PER_REQUEST"))
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    (found,) = described["GlobalSecondaryIndexes"]
    for subject in (described, found):
        assert subject["ProvisionedThroughput"] | units(0, 0) == subject["ProvisionedThroughput"]


def test_from_on_demand_to_provisioned(client: Any, raw: RawClient, on_demand: str) -> None:
    mode = {"BillingModeOverride": "PROVISIONED"}
    assert refused(raw, on_demand, **mode) == (
        "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"
    )
    with_units = mode | {"ProvisionedThroughputOverride": units(7, 8)}
    no_units = "Must specify provisioned throughput for index global"
    assert refused(raw, on_demand, **with_units) == no_units
    assert refused(raw, on_demand, **with_units, GlobalSecondaryIndexOverride=[index("global", "who")]) == no_units
    both = [index("global", "who", ProvisionedThroughput=units(1, 2))]
    described = table(client, restored(client, on_demand, **with_units, GlobalSecondaryIndexOverride=both))
    assert described["ProvisionedThroughput"] | units(7, 8) == described["ProvisionedThroughput"]
    assert "BillingModeSummary" not in described
    (found,) = described["GlobalSecondaryIndexes"]
    assert found["ProvisionedThroughput"] | units(1, 2) == found["ProvisionedThroughput"]


def test_the_throughput_of_the_table_does_not_reach_indexes(client: Any, provisioned: str) -> None:
    described = table(client, restored(client, provisioned, ProvisionedThroughputOverride=units(7, 8)))
    assert described["ProvisionedThroughput"] | units(7, 8) == described["ProvisionedThroughput"]
    (found,) = described["GlobalSecondaryIndexes"]
    assert found["ProvisionedThroughput"] | units(5, 6) == found["ProvisionedThroughput"]


def test_units_against_the_billing_mode(raw: RawClient, on_demand: str, provisioned: str) -> None:
    maximum = {"MaxReadRequestUnits": 5}
    to_on_demand = {"BillingModeOverride": "PAY_PER_REQUEST"}
    to_provisioned = {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units(1, 1)}
    with_units = {"GlobalSecondaryIndexOverride": [index("global", "who", ProvisionedThroughput=units(1, 1))]}
    both = [index("global", "who", ProvisionedThroughput=units(1, 1), OnDemandThroughput=maximum)]
    cases: list[tuple[str, dict[str, Any], str]] = [
        (
            on_demand,
            {"ProvisionedThroughputOverride": units(1, 1)},
            "ProvisionedThroughput unless BillingMode is PROVISIONED",
        ),
        (
            provisioned,
            {"OnDemandThroughputOverride": maximum},
            "OnDemandThroughput unless BillingMode is PAY_PER_REQUEST",
        ),
        (
            provisioned,
            to_on_demand | {"ProvisionedThroughputOverride": units(1, 1)},
            "ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST",
        ),
        (
            provisioned,
            to_on_demand | with_units,
            "ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST for index global",
        ),
        (
            on_demand,
            to_provisioned | {"OnDemandThroughputOverride": maximum},
            "OnDemandThroughput if BillingMode is overridden to PROVISIONED",
        ),
        (
            on_demand,
            to_provisioned | {"GlobalSecondaryIndexOverride": both},
            "OnDemandThroughput if BillingMode is overridden to PROVISIONED for index global",
        ),
    ]
    for arn, members, told in cases:
        assert refused(raw, arn, **members) == f"Cannot override {told}"


def test_maxima_on_demand(client: Any, on_demand: str) -> None:
    maximum = {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 6}
    name = restored(client, on_demand, OnDemandThroughputOverride=maximum)
    assert table(client, name)["OnDemandThroughput"] == maximum
    assert table(client, restored(client, backup_of(client, name)))["OnDemandThroughput"] == maximum


def test_encryption(client: Any, raw: RawClient, on_demand: str) -> None:
    name = restored(client, on_demand, SSESpecificationOverride={"Enabled": True, "SSEType": "KMS"})
    assert table(client, name)["SSEDescription"]["SSEType"] == "KMS"
    assert "AES256" in str(refused(raw, on_demand, SSESpecificationOverride={"Enabled": True, "SSEType": "AES256"}))


def test_a_backup_of_another_region_needs_encryption(raw: RawClient, on_demand: str) -> None:
    other = on_demand.replace(on_demand.split(":")[3], "eu-north-1")
    assert refused(raw, other) == (
        "SSESpecificationOverride must be specified when a table of another Region is restored"
    )
    request = {
        "TargetTableName": fresh_name("restored"),
        "BackupArn": other,
        "SSESpecificationOverride": {"Enabled": True},
    }
    assert fault(raw, "RestoreTableFromBackup", request) == ("BackupNotFoundException", f"Backup not found: {other}")


def test_names_are_required_and_checked(raw: RawClient, on_demand: str) -> None:
    assert validation(raw, "RestoreTableFromBackup", {"TargetTableName": "ab", "BackupArn": on_demand}) == (
        "1 validation error detected: Value 'ab' at 'targetTableName' failed to satisfy constraint: Member must have"
        " length greater than or equal to 3"
    )
    for missing in ("TargetTableName", "BackupArn"):
        request = {"TargetTableName": "nothing.here", "BackupArn": on_demand}
        del request[missing]
        assert f"at '{missing[0].lower() + missing[1:]}'" in str(validation(raw, "RestoreTableFromBackup", request))


def test_an_empty_table(client: Any) -> None:
    name = fresh_name()
    client.create_table(**create_request(name, KeySchema=keys("id")))
    client.get_waiter("table_exists").wait(TableName=name)
    after = table(client, restored(client, backup_of(client, name)))
    assert (after["ItemCount"], after["KeySchema"]) == (0, keys("id"))
