"""What is told and refused while backups are made, tables are restored, and states of tables take time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange import limits
from hashrange.errors import ApiError
from hashrange.jobs.job import AT_ONCE
from hashrange.settings import Settings
from hashrange.store.row_copies import row_copies_of
from tests.support.working import lines_between_looks
from tests.unit.backups.world import ALL, LATEST, OFF, ON, backup_of, backups, fill, items_of, refused, small_slices
from tests.unit.jobs.world import TABLE, World, drive

DELAY_SECONDS = 5.0
DAY_SECONDS = 86_400.0


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A table with items and recovery, whose states take no time; rows are moved three at a time."""
    small_slices(monkeypatch)
    made = World(tmp_path / "data")
    fill(made)
    yield made
    made.copy()
    assert made.close() == []


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The same, but states take DELAY_SECONDS."""
    small_slices(monkeypatch)
    made = World(tmp_path / "data", delay_seconds=DELAY_SECONDS)
    made.clock.advance(DELAY_SECONDS)
    fill(made)
    yield made
    made.copy()
    assert made.close() == []


def described(world: World, name: str) -> Any:
    return world.request("DescribeTable", TableName=name)["Table"]


def recovery_of(world: World, name: str = TABLE) -> Any:
    reply = world.request("DescribeContinuousBackups", TableName=name)["ContinuousBackupsDescription"]
    return reply["PointInTimeRecoveryDescription"]


# --- recovery -------------------------------------------------------------------------------------


def test_backups_are_enabled_some_seconds_after_a_table_is_active(tmp_path: Path) -> None:
    world = World(tmp_path / "data", delay_seconds=DELAY_SECONDS)
    request = {"TableName": TABLE, "PointInTimeRecoverySpecification": ON}
    later = f"Backups are being enabled for the table: {TABLE}. Please retry later"
    status = world.ask("DescribeContinuousBackups")["ContinuousBackupsDescription"]["ContinuousBackupsStatus"]
    assert status == "DISABLED"
    assert refused(world, "UpdateContinuousBackups", **request) == ("ContinuousBackupsUnavailableException", later)
    assert refused(world, "CreateBackup", TableName=TABLE, BackupName="one") == (
        "ContinuousBackupsUnavailableException",
        later,
    )
    world.clock.advance(limits.BACKUPS_ENABLED_SECONDS)
    status = world.ask("DescribeContinuousBackups")["ContinuousBackupsDescription"]["ContinuousBackupsStatus"]
    assert status == "ENABLED"
    world.request("UpdateContinuousBackups", **request)
    assert world.close() == []


def test_the_window_grows_up_to_the_period(world: World) -> None:
    first = recovery_of(world)
    world.clock.advance(40 * DAY_SECONDS)
    last = recovery_of(world)
    assert last["EarliestRestorableDateTime"] == int(world.clock.service_time() - 35 * DAY_SECONDS)
    assert last["LatestRestorableDateTime"] == int(world.clock.service_time())
    assert last["EarliestRestorableDateTime"] > first["EarliestRestorableDateTime"]
    world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON | {"RecoveryPeriodInDays": 1})
    assert recovery_of(world)["EarliestRestorableDateTime"] == int(world.clock.service_time() - DAY_SECONDS)


def test_the_latest_time_lags(world: World) -> None:
    world.scope.settings = msgspec.structs.replace(world.settings, recovery_lag_seconds=300.0)
    world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=OFF)
    world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
    window = recovery_of(world)
    assert window["EarliestRestorableDateTime"] == window["LatestRestorableDateTime"]
    world.clock.advance(1)
    world.ask("DeleteItem", Key={"id": {"S": "o0"}})
    world.clock.advance(1)
    world.request("RestoreTableToPointInTime", TargetTableName="first", **LATEST)
    world.clock.advance(300)
    assert recovery_of(world)["LatestRestorableDateTime"] == int(world.clock.service_time()) - 300
    world.request("RestoreTableToPointInTime", TargetTableName="second", **LATEST)
    world.copy()
    assert (items_of(world, "first"), items_of(world, "second")) == (ALL, ALL - {"o0"})


def test_a_period_says_since_when_not_until_when(world: World) -> None:
    early, late = recovery_of(world)["EarliestRestorableDateTime"], int(world.clock.service_time())
    for at in (early - 1, late + 1):
        code, message = refused(
            world, "RestoreTableToPointInTime", SourceTableName=TABLE, TargetTableName="target", RestoreDateTime=at
        )
        assert code == "InvalidRestoreTimeException"
        assert str(message).count("Z'") == 3


# --- backups --------------------------------------------------------------------------------------


def test_a_backup_that_is_being_made(world: World) -> None:
    arn = world.ask("CreateBackup", BackupName="one")["BackupDetails"]["BackupArn"]
    details = world.request("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]
    assert details["BackupStatus"] == "CREATING"
    in_use = ("BackupInUseException", f"Backup is being created: {arn}")
    assert refused(world, "DeleteBackup", BackupArn=arn) == in_use
    assert refused(world, "RestoreTableFromBackup", BackupArn=arn, TargetTableName="target") == in_use
    world.put(2, n={"N": "9"})
    world.ask("DeleteItem", Key={"id": {"S": "o7"}})
    world.copy()
    (summary,) = world.request("ListBackups")["BackupSummaries"]
    assert summary["BackupStatus"] == "AVAILABLE"
    world.request("RestoreTableFromBackup", BackupArn=arn, TargetTableName="target")
    world.copy()
    assert items_of(world, "target") == ALL
    assert {one["n"]["N"] for one in world.request("Scan", TableName="target")["Items"]} == set("01234567")


def test_money_is_neither_made_nor_lost(world: World) -> None:
    """Transfers between items run while a backup is made and restored: its sum is that of one moment."""
    for number in range(8):
        world.ask("PutItem", Item={"id": {"S": f"o{number}"}, "n": {"N": "100"}})
    arn, slices = world.ask("CreateBackup", BackupName="one")["BackupDetails"]["BackupArn"], 0
    add = {"UpdateExpression": "ADD n :n", "TableName": TABLE}

    def transfer(number: int) -> None:
        steps = [
            {"Update": add | {"Key": {"id": {"S": f"o{place % 8}"}}, "ExpressionAttributeValues": {":n": {"N": units}}}}
            for place, units in ((number, "-7"), (number * 5 + 3, "7"))
        ]
        world.request("TransactWriteItems", TransactItems=steps)

    while drive(world.copying.run_slice()) == AT_ONCE:
        transfer(slices)
        slices += 1
    world.request("RestoreTableFromBackup", BackupArn=arn, TargetTableName="target")
    while drive(world.copying.run_slice()) == AT_ONCE:
        transfer(slices)
        slices += 1
    assert slices > 3
    assert [one["n"]["N"] for one in world.request("Scan", TableName="target")["Items"]] == ["100"] * 8
    assert sum(int(one["n"]["N"]) for one in world.ask("Scan")["Items"]) == 800


def test_several_backups_are_made_in_turn(world: World) -> None:
    arns = [world.ask("CreateBackup", BackupName="many")["BackupDetails"]["BackupArn"] for _ in range(3)]
    seen = []
    while drive(world.copying.run_slice()) == AT_ONCE:
        seen.append(world.copying._turns._last)
    assert len(set(seen[:3])) == 3
    assert backups(world) == arns


def test_many_backups_are_settled_in_pieces(world: World) -> None:
    """A new content of the store, such as a fork's, begins with it."""
    for _ in range(30):
        backup_of(world)

    def settle() -> None:
        world.copying._settled_generation = None
        assert drive(world.copying.run_slice()) is None

    settle()
    assert lines_between_looks(settle) < 1_500


def test_what_an_operation_sees_to_is_left_alone(world: World) -> None:
    """An operation may wait for a stalled engine between its commits, and the job runs meanwhile."""
    arn = world.ask("CreateBackup", BackupName="one")["BackupDetails"]["BackupArn"]
    (owner,) = row_copies_of(world.store).owners()
    with row_copies_of(world.store).attending(owner):
        assert drive(world.copying.run_slice()) is None
    assert drive(world.copying.run_slice()) == AT_ONCE
    world.copy()
    world.request("DeleteBackup", BackupArn=arn)
    now_ms = int(world.clock.service_time() * 1000)
    with row_copies_of(world.store).attending(f"backup/000000000000/us-east-1/{now_ms:014d}-0123abcd"):
        other = world.ask("CreateBackup", BackupName="two")["BackupDetails"]["BackupArn"]
    assert other.rpartition("/")[2].startswith(f"{now_ms + 1:014d}-")


def test_the_backup_of_a_deleted_table(slow: World) -> None:
    slow.ask("DeleteTable")
    made_at = slow.clock.service_time()
    assert backups(slow) == []
    assert recovery_of(slow) == {"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 35}
    slow.clock.advance(DELAY_SECONDS)
    assert backups(slow, "USER") == []
    (arn,) = backups(slow, "SYSTEM")
    slow.create_table()
    slow.request("RestoreTableFromBackup", BackupArn=arn, TargetTableName="target")
    slow.copy()
    slow.clock.advance(DELAY_SECONDS)
    assert items_of(slow, "target") == ALL
    assert slow.copy() == pytest.approx(made_at + limits.SYSTEM_BACKUP_SECONDS - slow.clock.service_time())
    slow.clock.advance(limits.SYSTEM_BACKUP_SECONDS)
    assert slow.copy() is None
    assert backups(slow) == []
    assert dict(row_copies_of(slow.store).kept()) == {}
    assert items_of(slow, "target") == ALL


def test_no_backup_remains_if_recovery_is_turned_off(slow: World) -> None:
    slow.ask("DeleteTable")
    slow.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=OFF)
    assert refused(slow, "UpdateContinuousBackups", TableName=TABLE, PointInTimeRecoverySpecification=ON)[0] == (
        "TableNotFoundException"
    )
    slow.clock.advance(DELAY_SECONDS)
    assert slow.request("ListTables")["TableNames"] == []
    assert backups(slow) == []
    assert dict(row_copies_of(slow.store).kept()) == {}


def test_a_table_that_is_being_deleted_is_not_backed_up(slow: World) -> None:
    slow.ask("DeleteTable")
    not_found = ("TableNotFoundException", f"Table not found: {TABLE}")
    assert refused(slow, "CreateBackup", TableName=TABLE, BackupName="one") == not_found
    assert refused(slow, "RestoreTableToPointInTime", TargetTableName="target", **LATEST) == not_found


# --- restores -------------------------------------------------------------------------------------


def test_a_table_that_is_being_restored(slow: World) -> None:
    arn = backup_of(slow)
    slow.request("RestoreTableFromBackup", BackupArn=arn, TargetTableName="target")
    for is_complete in (False, True):
        if is_complete:
            slow.copy()
        require_restoring(slow, arn)
    slow.clock.advance(DELAY_SECONDS)
    assert (described(slow, "target")["TableStatus"], items_of(slow, "target")) == ("ACTIVE", ALL)
    assert "RestoreSummary" not in described(slow, "target")
    slow.request("UpdateTable", TableName="target", DeletionProtectionEnabled=True)
    slow.request("DeleteBackup", BackupArn=arn)
    assert items_of(slow, "target") == ALL


def require_restoring(world: World, arn: str) -> None:
    """All that is told and refused of the table `target`, which is being restored from a backup."""
    target = described(world, "target")
    assert (target["TableStatus"], target["RestoreSummary"]["SourceBackupArn"]) == ("CREATING", arn)
    table_arn = target["TableArn"]
    time_to_live = {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "t"}}
    for operation, members in (
        ("GetItem", {"TableName": "target", "Key": {"id": {"S": "o0"}}}),
        ("PutItem", {"TableName": "target", "Item": {"id": {"S": "o0"}}}),
        ("UpdateTable", {"TableName": "target", "DeletionProtectionEnabled": True}),
        ("UpdateTimeToLive", {"TableName": "target"} | time_to_live),
        ("DescribeTimeToLive", {"TableName": "target"}),
        ("TagResource", {"ResourceArn": table_arn, "Tags": [{"Key": "a", "Value": "b"}]}),
        ("UntagResource", {"ResourceArn": table_arn, "TagKeys": ["a"]}),
        ("ListTagsOfResource", {"ResourceArn": table_arn}),
    ):
        assert refused(world, operation, **members)[0] == "ResourceNotFoundException", operation
    for operation, members in (
        ("DescribeContinuousBackups", {}),
        ("UpdateContinuousBackups", {"PointInTimeRecoverySpecification": ON}),
        ("CreateBackup", {"BackupName": "one"}),
    ):
        assert refused(world, operation, TableName="target", **members) == (
            "TableNotFoundException",
            "Table not found: target",
        )
    assert refused(world, "DeleteTable", TableName="target")[0] == "ResourceInUseException"
    assert refused(world, "CreateTable", **minimal("target"))[0] == "ResourceInUseException"
    assert refused(world, "RestoreTableFromBackup", BackupArn=arn, TargetTableName="other") == (
        "BackupInUseException",
        f"Backup is being used to restore another table: {arn}",
    )
    assert refused(world, "DeleteBackup", BackupArn=arn) == (
        "BackupInUseException",
        f"Backup is being used to restore table: {arn}",
    )
    other = backup_of(world, "another")
    assert refused(world, "RestoreTableFromBackup", BackupArn=other, TargetTableName="target") == (
        "TableInUseException",
        f"Table: target is already being restored from backup: {arn}",
    )


def minimal(name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def test_a_source_may_be_deleted_while_it_is_restored(world: World) -> None:
    world.request("RestoreTableToPointInTime", TargetTableName="target", **LATEST)
    world.ask("DeleteTable")
    world.copy()
    assert items_of(world, "target") == ALL


def test_fifty_restores_at_once(slow: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RESTORES_MAX", 3)
    for number in range(3):
        slow.request("RestoreTableToPointInTime", TargetTableName=f"target-{number}", **LATEST)
    assert refused(slow, "RestoreTableToPointInTime", TargetTableName="one-more", **LATEST) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Only 3 restore operations can be done simultaneously",
    )
    slow.copy()
    slow.clock.advance(DELAY_SECONDS)
    slow.request("RestoreTableToPointInTime", TargetTableName="one-more", **LATEST)


def test_quotas_of_tables(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TABLES_MAX", 1)
    code, message = refused(world, "RestoreTableToPointInTime", TargetTableName="target", **LATEST)
    assert (code, str(message)[:10]) == ("LimitExceededException", "Subscriber")
    monkeypatch.setattr(limits, "TABLES_MAX", 2)
    world.scope.settings = Settings(throughput="enforced")
    units = {"ReadCapacityUnits": 50_000, "WriteCapacityUnits": 1}
    with pytest.raises(ApiError, match="50000"):
        world.request(
            "RestoreTableToPointInTime",
            TargetTableName="target",
            BillingModeOverride="PROVISIONED",
            ProvisionedThroughputOverride=units,
            **LATEST,
        )
