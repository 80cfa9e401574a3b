"""Backups, restores and recovery are part of the content: restarts and kills keep them, forks, snapshots and restores
of the server carry them, a reset drops them; the admin API and `hashrange inspect` list them.
"""

import json
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.backups.feature import BACKUPS
from hashrange.cli.main import DONE, main
from hashrange.faults.fault import Fault
from hashrange.service.store_opening import _options
from hashrange.settings import Settings
from hashrange.store.embedded import recovery_windows, row_copies
from hashrange.store.embedded.check import check_store
from hashrange.testing import Database, server
from tests.clients.serving import ServerProcess
from tests.conformance.tables import create_request, definitions, keys
from tests.support.waiting import wait_until
from tests.unit.backups.world import ON, large_copies, small_slices

ITEMS = 40
NAME = "orders"
SPECIFICATION = {"PointInTimeRecoverySpecification": ON}


def fill_table(client: Any) -> None:
    """A table with items and recovery."""
    client.create_table(**create_request(NAME, AttributeDefinitions=definitions("id"), KeySchema=keys("id")))
    client.get_waiter("table_exists").wait(TableName=NAME)
    client.update_continuous_backups(TableName=NAME, **SPECIFICATION)
    for number in range(ITEMS):
        client.put_item(TableName=NAME, Item={"id": {"S": str(number)}})


def count_of(client: Any, name: str) -> int:
    return int(client.scan(TableName=name, Select="COUNT", ConsistentRead=True)["Count"])


def made(client: Any) -> str:
    return str(client.create_backup(TableName=NAME, BackupName="nightly")["BackupDetails"]["BackupArn"])


def arns(client: Any) -> list[str]:
    return [one["BackupArn"] for one in client.list_backups(BackupType="ALL")["BackupSummaries"]]


def restored_count(client: Any, arn: str, name: str = "target") -> int:
    def is_available() -> bool:
        details = client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
        return bool(details["BackupStatus"] == "AVAILABLE")

    wait_until(is_available)
    client.restore_table_from_backup(TargetTableName=name, BackupArn=arn)
    wait_until(lambda: client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE")
    count = count_of(client, name)
    client.delete_table(TableName=name)
    return count


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, admin=True)) as opened:
        yield opened


def test_nobody_pays_for_what_is_not_used(database: Database) -> None:
    client = database.client()
    client.create_table(**create_request(NAME))
    client.list_backups()
    database.clock.advance(60)
    database.snapshot().release()
    assert database._process.service.features.loaded(BACKUPS) is None


@pytest.mark.parametrize("is_large", [False, True])
def test_forks_carry_backups_and_what_is_in_progress(
    database: Database, monkeypatch: pytest.MonkeyPatch, *, is_large: bool
) -> None:
    small_slices(monkeypatch)
    if is_large:
        large_copies(monkeypatch)
    client = database.client()
    fill_table(client)
    arn = made(client)
    latest = {"SourceTableName": NAME, "UseLatestRestorableTime": True}
    client.restore_table_to_point_in_time(TargetTableName="to-time", **latest)
    with database.fork() as fork:
        other = fork.client()
        client.put_item(TableName=NAME, Item={"id": {"S": "later"}})
        other.delete_item(TableName=NAME, Key={"id": {"S": "0"}})
        assert restored_count(other, arn) == ITEMS
        wait_until(lambda: other.describe_table(TableName="to-time")["Table"]["TableStatus"] == "ACTIVE")
        assert count_of(other, "to-time") == ITEMS
        other.delete_backup(BackupArn=arn)
    assert arns(client) == [arn]
    assert restored_count(client, arn) == ITEMS


def test_snapshots_bring_backups_back_and_a_reset_drops_them(database: Database) -> None:
    client = database.client()
    fill_table(client)
    arn = made(client)
    snapshot = database.snapshot()
    client.delete_backup(BackupArn=arn)
    client.delete_table(TableName=NAME)
    second = arns(client)
    assert len(second) == 1
    database.restore(snapshot)
    assert arns(client) == [arn]
    assert restored_count(client, arn) == ITEMS
    database.restore(snapshot)
    assert restored_count(client, arn) == ITEMS
    database.reset()
    assert arns(client) == []
    with pytest.raises(ClientError, match="Backup not found"):
        client.describe_backup(BackupArn=arn)
    fill_table(client)
    assert restored_count(client, made(client)) == ITEMS


def test_backups_of_deleted_tables_expire_on_the_clock(database: Database) -> None:
    client = database.client()
    fill_table(client)
    client.delete_table(TableName=NAME)
    assert len(arns(client)) == 1
    database.clock.advance(34 * 86_400)
    assert len(arns(client)) == 1
    database.clock.advance(2 * 86_400)
    assert arns(client) == []


def test_restores_in_turn_take_service_time(database: Database) -> None:
    """An advance of the clock waits for the rows that are still to be moved."""
    client = database.client()
    fill_table(client)
    arn = made(client)
    client.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    database.clock.advance(0)
    assert count_of(client, "target") == ITEMS


def test_other_regions_restore_with_encryption(database: Database) -> None:
    client, other = database.client(region_name="us-east-1"), database.client(region_name="eu-north-1")
    fill_table(client)
    arn = made(client)
    database.clock.advance(0)
    encrypted = {"SSESpecificationOverride": {"Enabled": True, "SSEType": "KMS"}}
    other.restore_table_from_backup(TargetTableName="backed-up", BackupArn=arn, **encrypted)
    source = client.describe_table(TableName=NAME)["Table"]["TableArn"]
    latest = {"SourceTableArn": source, "UseLatestRestorableTime": True}
    other.restore_table_to_point_in_time(TargetTableName="to-time", **latest, **encrypted)
    database.clock.advance(0)
    assert [count_of(other, name) for name in ("backed-up", "to-time")] == [ITEMS, ITEMS]
    assert other.list_backups()["BackupSummaries"] == []
    assert other.describe_table(TableName="to-time")["Table"]["SSEDescription"]["KMSMasterKeyArn"].split(":")[3] == (
        "eu-north-1"
    )


def test_a_restore_may_take_hours(database: Database) -> None:
    client = database.client()
    fill_table(client)
    arn = made(client)
    database.faults.use(Fault("table-states", table="target", seconds=7200))
    client.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    for hours in (0, 1):
        database.clock.advance(3600 * hours)
        target = client.describe_table(TableName="target")["Table"]
        assert (target["TableStatus"], target["RestoreSummary"]["RestoreInProgress"]) == ("CREATING", True)
        with pytest.raises(ClientError, match="BackupInUseException"):
            client.delete_backup(BackupArn=arn)
    database.clock.advance(3600)
    assert count_of(client, "target") == ITEMS
    client.delete_backup(BackupArn=arn)


# --- restarts and kills ---------------------------------------------------------------------------


def client_of(process: ServerProcess) -> Any:
    credentials = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return boto3.client("dynamodb", endpoint_url=process.endpoint, **credentials)


@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGKILL"])
def test_backups_survive_the_end_of_the_process(tmp_path: Path, signal_name: str) -> None:
    process = ServerProcess(tmp_path / "data")
    try:
        client = client_of(process)
        fill_table(client)
        first = made(client)
        window = client.describe_continuous_backups(TableName=NAME)["ContinuousBackupsDescription"]
        second = made(client)
        latest = {"SourceTableName": NAME, "UseLatestRestorableTime": True}
        client.restore_table_to_point_in_time(TargetTableName="to-time", **latest)
        process.process.send_signal(getattr(signal, signal_name))
        process.process.communicate()
        process.start()
        client = client_of(process)
        assert arns(client) == [first, second]
        assert [restored_count(client, arn) for arn in (first, second)] == [ITEMS, ITEMS]
        wait_until(lambda: client.describe_table(TableName="to-time")["Table"]["TableStatus"] == "ACTIVE")
        assert count_of(client, "to-time") == ITEMS
        after = client.describe_continuous_backups(TableName=NAME)["ContinuousBackupsDescription"]
        earliest = [one["PointInTimeRecoveryDescription"]["EarliestRestorableDateTime"] for one in (window, after)]
        assert earliest[0] == earliest[1]
    finally:
        process.stop()
    assert check_store(str(tmp_path / "data")).faults == []


# --- the bound ------------------------------------------------------------------------------------


def test_the_bound_follows_from_the_settings() -> None:
    assert _options(Settings(data_dir=None)).recovery_max_bytes == 256_000_000
    assert _options(Settings()).recovery_max_bytes == 10_000_000_000
    assert _options(Settings(recovery_max_mb=7)).recovery_max_bytes == 7_000_000


def test_at_the_bound_the_earliest_time_moves_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recovery_windows, "MARK_BYTES", 100_000)
    caplog.set_level(logging.WARNING, "hashrange.backups")
    with server(Settings(data_dir=None, port=0, recovery_max_mb=1)) as database:
        client = database.client()
        fill_table(client)

        def earliest() -> float:
            described = client.describe_continuous_backups(TableName=NAME)["ContinuousBackupsDescription"]
            return float(described["PointInTimeRecoveryDescription"]["EarliestRestorableDateTime"].timestamp())

        first = earliest()
        for number in range(20):
            database.clock.advance(10)
            client.put_item(TableName=NAME, Item={"id": {"S": "large"}, "n": {"S": f"{number:0100000d}"}})
        database.clock.advance(0)
        moved = earliest()
        assert first < moved < database.clock.now()
        (*_, message) = caplog.messages
        assert f"(--recovery-max-mb): the table {NAME} can now be restored to times from {moved:.0f}" in message
        source = {"SourceTableName": NAME, "TargetTableName": "target"}
        with pytest.raises(ClientError, match="must be within EarliestRestorableDateTime"):
            client.restore_table_to_point_in_time(RestoreDateTime=int(first), **source)
        client.restore_table_to_point_in_time(RestoreDateTime=int(moved), **source)
        database.clock.advance(0)
        assert count_of(client, "target") == ITEMS + 1


# --- what lists them ------------------------------------------------------------------------------


def ask_admin(database: Database) -> Any:
    with urlopen(f"{database.endpoint}/_hashrange/v1/backups") as reply:
        return json.load(reply)


def test_the_admin_api_lists_them(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_copies, "SLICE_ROWS", 3)
    monkeypatch.setattr(row_copies, "FIRST_SLICES", 1)
    assert ask_admin(database) == {"recovery": [], "backups": [], "restores": []}
    client = database.client()
    fill_table(client)
    arn = made(client)
    database.clock.advance(0)
    client.restore_table_from_backup(TargetTableName="target", BackupArn=arn)
    told = ask_admin(database)
    (recovery,) = told["recovery"]
    assert (recovery["table"], recovery["days"]) == (NAME, 35)
    (backup,) = told["backups"]
    assert (backup["arn"], backup["type"], backup["status"], backup["items"]) == (arn, "USER", "AVAILABLE", ITEMS)
    for restore in told["restores"]:  # none if it is complete by now
        assert (restore["table"], restore["source"], restore["items"]) == ("target", arn, ITEMS)
        assert 0 < restore["items_done"] < ITEMS


Printed = pytest.CaptureFixture[str]


def inspected(folder: Path, capsys: Printed, *words: str) -> list[str]:
    assert main(["inspect", str(folder), *words]) == DONE
    return capsys.readouterr().out.splitlines()


def test_inspect_lists_them(tmp_path: Path, capsys: Printed) -> None:
    folder = tmp_path / "data"
    with server(Settings(data_dir=str(folder), port=0)) as database:
        client = database.client()
        fill_table(client)
        arn = made(client)
    lines = inspected(folder, capsys)
    assert [line.split()[:2] for line in lines if line.startswith("recovery")] == [["recovery", "of"]]
    (row,) = [line.split() for line in lines if arn.rpartition("/")[2] in line]
    assert row[0] == NAME
    assert row[-4:-1] == ["nightly", "AVAILABLE", f"{ITEMS}"]
    with server(Settings(data_dir=str(folder), port=0)) as database:
        database.client().delete_table(TableName=NAME)
    lines = inspected(folder, capsys)
    assert len([line for line in lines if line.startswith(NAME)]) == 2
    assert check_store(str(folder)).faults == []


def test_a_long_record_is_inspected(tmp_path: Path, capsys: Printed) -> None:
    """The description of a table may be so long that the record of its backup is kept in pieces."""
    folder = tmp_path / "data"
    names = [chr(0x1F600 + number) * 255 for number in range(64)]
    projections = [{"ProjectionType": "INCLUDE", "NonKeyAttributes": names[at : at + 3]} for at in range(0, 60, 3)]
    indexes = [
        {"IndexName": f"index-{at}", "KeySchema": keys(names[63]), "Projection": projection}
        for at, projection in enumerate(projections)
    ]
    with server(Settings(data_dir=str(folder), port=0)) as database:
        client = database.client()
        definitions_of = definitions("id", names[63])
        client.create_table(**create_request(NAME, AttributeDefinitions=definitions_of, GlobalSecondaryIndexes=indexes))
        arn = made(client)
        restored_count(client, arn)
    assert any(arn.rpartition("/")[2] in line for line in inspected(folder, capsys))


def test_a_plain_folder_is_inspected_as_before(tmp_path: Path, capsys: Printed) -> None:
    folder = tmp_path / "data"
    with server(Settings(data_dir=str(folder), port=0)) as database:
        database.client().create_table(**create_request(NAME))
    assert len(inspected(folder, capsys)) == 3
