"""RestoreTableToPointInTime: a table with the items that another one had, and the order of the checks."""

from typing import Any

import pytest

from tests.conformance.backups import OFF, ON, entries_of, item, items_of, table_with_items
from tests.conformance.tables import fault, fresh_name, index, units, validation
from tests.support.raw_client import RawClient

LATEST = {"UseLatestRestorableTime": True}
ONE_TIME = "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"
ONE_SOURCE = "Must provide exactly one of: sourceTableArn, sourceTableName"


@pytest.fixture(scope="module")
def source(client: Any) -> str:
    name = table_with_items(client)
    client.update_continuous_backups(TableName=name, **ON)
    return name


def arn_of(client: Any, name: str) -> str:
    return str(client.describe_table(TableName=name)["Table"]["TableArn"])


def restored(client: Any, **members: Any) -> str:
    name = fresh_name("restored")
    client.restore_table_to_point_in_time(TargetTableName=name, **members)
    client.get_waiter("table_exists").wait(TableName=name)
    return name


def test_the_table_is_creating_in_the_reply(client: Any, source: str) -> None:
    name = fresh_name("restored")
    reply = client.restore_table_to_point_in_time(SourceTableName=source, TargetTableName=name, **LATEST)
    described = reply["TableDescription"]
    assert described["TableStatus"] == "CREATING"
    summary = described["RestoreSummary"]
    assert (summary["SourceTableArn"], summary["RestoreInProgress"]) == (arn_of(client, source), True)
    assert summary["RestoreDateTime"].microsecond == 0
    assert "SourceBackupArn" not in summary
    client.get_waiter("table_exists").wait(TableName=name)
    assert "RestoreSummary" not in client.describe_table(TableName=name)["Table"]


def test_the_latest_time_is_now(client: Any, raw: RawClient) -> None:
    name = table_with_items(client)
    client.update_continuous_backups(TableName=name, **ON)
    client.put_item(TableName=name, Item=item(7))
    client.delete_item(TableName=name, Key={"id": {"S": "o0"}, "at": {"S": "t0"}})
    for named in ({"SourceTableName": name}, {"SourceTableArn": arn_of(client, name)}):
        target = restored(client, **named, **LATEST)
        assert items_of(client, target) == ["o1", "o2", "o7"]
        assert entries_of(raw, client, target, "global") == ["o1", "o2", "o7"]


def test_the_earliest_time_is_that_of_the_switch(client: Any) -> None:
    name = table_with_items(client)
    reply = client.update_continuous_backups(TableName=name, **ON)
    recovery = reply["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    target = restored(client, SourceTableName=name, RestoreDateTime=recovery["EarliestRestorableDateTime"])
    assert items_of(client, target) == ["o0", "o1", "o2"]


def test_overrides(client: Any, raw: RawClient, source: str) -> None:
    target = restored(
        client,
        SourceTableName=source,
        **LATEST,
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units(1, 2),
        GlobalSecondaryIndexOverride=[index("other", "who", ProvisionedThroughput=units(3, 4))],
        LocalSecondaryIndexOverride=[],
    )
    described = client.describe_table(TableName=target)["Table"]
    assert described["ProvisionedThroughput"] | units(1, 2) == described["ProvisionedThroughput"]
    assert "LocalSecondaryIndexes" not in described
    assert entries_of(raw, client, target, "other") == ["o0", "o1", "o2"]


def test_the_order_of_checks(client: Any, raw: RawClient) -> None:
    name = table_with_items(client)
    request: dict[str, Any] = {"TargetTableName": name}

    def refusal(**members: Any) -> tuple[str, str | None]:
        return fault(raw, "RestoreTableToPointInTime", request | members)

    assert refusal() == ("ValidationException", ONE_TIME)
    assert refusal(UseLatestRestorableTime=False) == ("ValidationException", ONE_TIME)
    assert refusal(RestoreDateTime=1, **LATEST) == ("ValidationException", ONE_TIME)
    assert refusal(RestoreDateTime=1) == ("ValidationException", ONE_SOURCE)
    both = {"SourceTableName": name, "SourceTableArn": arn_of(client, name)}
    assert refusal(RestoreDateTime=1, **both) == ("ValidationException", ONE_SOURCE)
    assert refusal(RestoreDateTime=1, SourceTableName="nothing.here") == (
        "TableNotFoundException",
        "Table not found: nothing.here",
    )
    assert refusal(RestoreDateTime=1, SourceTableName=name) == (
        "PointInTimeRecoveryUnavailableException",
        f"Point in time recovery is not enabled for table '{name}'",
    )
    client.update_continuous_backups(TableName=name, **ON)
    code, message = refusal(RestoreDateTime=1, SourceTableName=name)
    assert code == "InvalidRestoreTimeException"
    assert str(message).startswith("RestoreDateTime '1970-01-01T00:00:01Z' must be within EarliestRestorableDateTime '")
    assert refusal(SourceTableName=name, **LATEST) == ("TableAlreadyExistsException", f"Table already exists: {name}")
    client.update_continuous_backups(TableName=name, **OFF)


@pytest.mark.parametrize("time", [0, -1e300, 1e300, 4e10, 253402300800])
def test_times_outside_of_the_window(raw: RawClient, source: str, time: float) -> None:
    request = {"SourceTableName": source, "TargetTableName": fresh_name(), "RestoreDateTime": time}
    assert fault(raw, "RestoreTableToPointInTime", request)[0] == "InvalidRestoreTimeException"


def test_arns_of_others(client: Any, raw: RawClient, source: str) -> None:
    arn = arn_of(client, source)
    request = {"TargetTableName": fresh_name()} | LATEST

    def refusal(source_arn: str, **members: Any) -> tuple[str, str | None]:
        return fault(raw, "RestoreTableToPointInTime", request | {"SourceTableArn": source_arn} | members)

    code, message = refusal(arn.replace(arn.split(":")[4], "999999999999"))
    assert code == "ValidationException"
    assert str(message).startswith("This action is only supported by accounts that match the resource owner")
    other = arn.replace(arn.split(":")[3], "eu-north-1")
    assert refusal(other)[1] == "SSESpecificationOverride must be specified when a table of another Region is restored"
    assert refusal(other, SSESpecificationOverride={"Enabled": True}) == (
        "TableNotFoundException",
        f"Table not found: {source}",
    )
    assert refusal("nothing")[0] == "ValidationException"


def test_a_table_that_was_restored_can_be_restored(client: Any, source: str) -> None:
    first = restored(client, SourceTableName=source, **LATEST)
    client.update_continuous_backups(TableName=first, **ON)
    assert items_of(client, restored(client, SourceTableName=first, **LATEST)) == ["o0", "o1", "o2"]


def test_names_are_checked(raw: RawClient) -> None:
    message = validation(raw, "RestoreTableToPointInTime", {"TargetTableName": "a;c", "SourceTableName": "ab"})
    assert message == (
        "2 validation errors detected: Value 'ab' at 'sourceTableName' failed to satisfy constraint: Member must have"
        " length greater than or equal to 3; Value 'a;c' at 'targetTableName' failed to satisfy constraint: Member must"
        " satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
