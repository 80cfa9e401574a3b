"""Backups, restores, exports, imports and bulk puts that take hours of service time, on purpose."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from hashrange.faults.fault import Fault, FaultsError
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from hashrange.transfers import flows
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.unit.faults.kit import ARN, code_of, impatient, make_music, put_songs, refusal, songs

HOUR = 3600.0
BUCKET = "bucket"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database whose clock stands, with a table that can be exported."""
    monkeypatch.setattr(flows, "SILENT_SECONDS_MAX", PATIENCE_SECONDS)
    (tmp_path / "s3" / BUCKET / "in").mkdir(parents=True)
    (tmp_path / "s3" / BUCKET / "in" / "1").write_bytes(b'{"Item":{"pk":{"S":"b"}}}\n')
    with server(Settings(data_dir=None, port=0, admin=True, s3_folder=str(tmp_path / "s3"))) as database:
        client = impatient(database)
        make_music(client)
        put_songs(client, "a")
        client.update_continuous_backups(
            TableName="music", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        database.clock.freeze()
        yield database


def backup(client: Any) -> str:
    return str(client.create_backup(TableName="music", BackupName="nightly")["BackupDetails"]["BackupArn"])


def backup_status(client: Any, arn: str) -> str:
    return str(client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"])


def table_status(client: Any, name: str = "copy") -> str:
    return str(client.describe_table(TableName=name)["Table"]["TableStatus"])


def begin_export(client: Any) -> str:
    return str(
        client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET, S3Prefix="out")["ExportDescription"][
            "ExportArn"
        ]
    )


def begin_import(client: Any) -> str:
    return str(
        client.import_table(
            S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
            InputFormat="DYNAMODB_JSON",
            TableCreationParameters={
                "TableName": "copy",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )["ImportTableDescription"]["ImportArn"]
    )


def begin_bulk_put(client: Any) -> str:
    return str(
        client.start_bulk_put_items(
            TableName="music",
            InputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
            OutputS3Configuration={"S3Bucket": BUCKET, "OutputType": ["ERROR"]},
        )["BulkOperationDescription"]["BulkOperationArn"]
    )


def test_a_backup_takes_hours(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("long-operations", operation="CreateBackup", seconds=2 * HOUR))
    arn = backup(client)
    database.clock.advance(2 * HOUR - 1)
    assert backup_status(client, arn) == "CREATING"
    assert code_of(client.delete_backup, BackupArn=arn) == "BackupInUseException"
    put_songs(client, "later")
    database.clock.advance(1)
    assert backup_status(client, arn) == "AVAILABLE"
    client.restore_table_from_backup(TargetTableName="copy", BackupArn=arn)
    assert songs(database, "copy") == {"a"}


@pytest.mark.parametrize("operation", ["RestoreTableFromBackup", "RestoreTableToPointInTime"])
def test_a_restore_takes_hours(database: Database, operation: str) -> None:
    client = impatient(database)
    arn = backup(client)
    fault = Fault("long-operations", operation=operation, seconds=4 * HOUR, table="copy")
    database.faults.use(fault)
    if operation == "RestoreTableFromBackup":
        client.restore_table_from_backup(TargetTableName="copy", BackupArn=arn)
    else:
        client.restore_table_to_point_in_time(
            SourceTableName="music", TargetTableName="copy", UseLatestRestorableTime=True
        )
    database.clock.advance(4 * HOUR - 1)
    assert table_status(client) == "CREATING"
    assert client.describe_table(TableName="copy")["Table"]["RestoreSummary"]["RestoreInProgress"]
    assert code_of(client.scan, TableName="copy") == "ResourceNotFoundException"
    (met,) = database.faults.report
    assert (met.kind, met.operation, met.table) == ("long-operations", operation, "copy")
    database.clock.advance(1)
    assert table_status(client) == "ACTIVE"
    assert songs(database, "copy") == {"a"}


def test_what_lasts_is_listed(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("long-operations", seconds=HOUR))
    backup(client)
    client.restore_table_to_point_in_time(SourceTableName="music", TargetTableName="copy", UseLatestRestorableTime=True)
    with urlopen(f"{database.endpoint}/_hashrange/v1/backups") as reply:
        told = json.load(reply)
    assert [(one["status"], one["items"], one["items_done"]) for one in told["backups"]] == [("CREATING", 1, 1)]
    assert [(one["table"], one["items_done"]) for one in told["restores"]] == [("copy", 1)]

    def counted() -> dict[str, float]:
        with urlopen(f"{database.endpoint}/metrics") as reply:
            text = reply.read().decode()
        found = re.findall(r'^hashrange_backups{.*kind="(\w+)".*status="(\w+)".*} (.*)$', text, re.MULTILINE)
        return {f"{kind} {status}": float(number) for kind, status, number in found}

    assert counted() == {"backup CREATING": 1, "restore CREATING": 1}
    database.clock.advance(HOUR)
    assert counted() == {"backup AVAILABLE": 1}


def test_exports_imports_and_bulk_puts_take_hours(database: Database, tmp_path: Path) -> None:
    client = impatient(database)
    database.faults.use(Fault("long-operations", seconds=3 * HOUR))
    export, imported, bulk_put = begin_export(client), begin_import(client), begin_bulk_put(client)

    def statuses() -> list[str]:
        return [
            client.describe_export(ExportArn=export)["ExportDescription"]["ExportStatus"],
            client.describe_import(ImportArn=imported)["ImportTableDescription"]["ImportStatus"],
            client.describe_bulk_operation(BulkOperationArn=bulk_put)["BulkOperationDescription"][
                "BulkOperationStatus"
            ],
        ]

    database.clock.advance(3 * HOUR - 1)
    assert statuses() == ["IN_PROGRESS"] * 3
    assert client.list_tables()["TableNames"] == ["music"]
    assert not list((tmp_path / "s3").rglob("manifest-*"))
    assert len(list((tmp_path / "s3" / BUCKET / "out").rglob("*.gz"))) == 1, "the data is there"
    database.clock.advance(1)
    assert statuses() == ["COMPLETED"] * 3
    described = client.describe_export(ExportArn=export)["ExportDescription"]
    assert (described["EndTime"] - described["StartTime"]).total_seconds() == pytest.approx(3 * HOUR, abs=1)
    assert songs(database, "copy") == {"b"}
    assert songs(database) == {"a", "b"}


def test_one_that_lasts_can_be_cancelled_and_one_that_fails_does_not_last(database: Database) -> None:
    client = impatient(database)
    database.faults.use(
        Fault("long-operations", seconds=HOUR), Fault("error", operation="GetObject", code="AccessDenied", skip=1)
    )
    arn = begin_bulk_put(client)

    def described() -> Any:
        return client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]

    wait_until(lambda: described()["ProcessedItemCount"] == 1)
    client.cancel_bulk_operation(BulkOperationArn=arn)
    wait_until(lambda: described()["BulkOperationStatus"] == "CANCELLED")
    failing = begin_import(client)
    wait_until(lambda: client.describe_import(ImportArn=failing)["ImportTableDescription"]["ImportStatus"] == "FAILED")


def test_what_has_begun_lasts_though_the_faults_are_gone(database: Database) -> None:
    client = impatient(database)
    with database.faults.during(Fault("long-operations", seconds=HOUR, count=1)):
        first, second = backup(client), backup(client)
    database.clock.advance(1)
    assert [backup_status(client, arn) for arn in (first, second)] == ["CREATING", "AVAILABLE"]


def test_forks_and_snapshots_have_what_lasts(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("long-operations", seconds=HOUR))
    arn = backup(client)
    client.restore_table_to_point_in_time(SourceTableName="music", TargetTableName="copy", UseLatestRestorableTime=True)
    export = begin_export(client)

    def statuses(found: Database) -> list[str]:
        of = impatient(found)
        told = of.describe_export(ExportArn=export)["ExportDescription"]
        return [backup_status(of, arn), table_status(of), told["ExportStatus"]]

    lasting, ended = ["CREATING", "CREATING", "IN_PROGRESS"], ["AVAILABLE", "ACTIVE", "COMPLETED"]
    snapshot = database.snapshot()
    with database.fork() as fork:
        fork.clock.advance(HOUR - 1)
        assert statuses(fork) == lasting
        fork.clock.advance(1)
        assert statuses(fork) == ended
    assert statuses(database) == lasting
    database.clock.advance(HOUR)
    assert statuses(database) == ended
    database.restore(snapshot)
    assert statuses(database) == lasting
    database.clock.advance(HOUR)
    assert statuses(database) == ended


def test_a_started_server_goes_on_and_one_at_an_earlier_time_lets_it_end(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"), port=0)
    with server(settings) as database:
        client = impatient(database)
        make_music(client)
        database.faults.use(Fault("long-operations", seconds=HOUR))
        first = backup(client)
        database.clock.advance(1000 * HOUR)
        second = backup(client)
        assert [backup_status(client, arn) for arn in (first, second)] == ["AVAILABLE", "CREATING"]
        third = Fault("long-operations", seconds=24 * HOUR)
    with server(settings) as database:
        database.clock.advance(0)
        assert backup_status(impatient(database), second) == "AVAILABLE", "the clock is where it was at first"
        database.faults.use(third)
        arn = backup(impatient(database))
    with server(settings) as database:
        database.clock.advance(0)
        assert backup_status(impatient(database), arn) == "CREATING"
        database.clock.advance(24 * HOUR)
        assert backup_status(impatient(database), arn) == "AVAILABLE"


def test_other_operations_do_not_last(database: Database) -> None:
    with pytest.raises(FaultsError, match="operations that last are CreateBackup, ExportTableToPointInTime,"):
        database.faults.use(Fault("long-operations", operation="CreateTable", seconds=1))
    with pytest.raises(FaultsError, match="needs the member seconds"):
        database.faults.use(Fault("long-operations"))
    database.faults.use(Fault("long-operations", seconds=HOUR, table="other"))
    assert backup_status(impatient(database), backup(impatient(database))) == "AVAILABLE"
    assert refusal(impatient(database).describe_export, ExportArn=f"{ARN}/export/01")["Error"]["Code"]
