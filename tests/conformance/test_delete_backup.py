"""DeleteBackup: the backup is DELETED in the reply, and gone afterwards; backups of the service's own stay."""

import re
from typing import Any

from tests.conformance.backups import ON, backup_of, items_of, restored, table_with_items
from tests.conformance.tables import fault
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until


def test_it_is_deleted_at_once(raw: RawClient, client: Any) -> None:
    name = table_with_items(client)
    arn, other = backup_of(client, name), backup_of(client, name)
    before = client.describe_backup(BackupArn=arn)["BackupDescription"]
    reply = client.delete_backup(BackupArn=arn)["BackupDescription"]
    before["BackupDetails"]["BackupStatus"] = "DELETED"
    assert reply == before
    for operation in ("DescribeBackup", "DeleteBackup"):
        assert fault(raw, operation, {"BackupArn": arn}) == ("BackupNotFoundException", f"Backup not found: {arn}")
    assert [one["BackupArn"] for one in client.list_backups(TableName=name)["BackupSummaries"]] == [other]
    assert items_of(client, restored(client, other)) == ["o0", "o1", "o2"]


def test_the_backup_of_a_deleted_table_stays(raw: RawClient, client: Any) -> None:
    name = table_with_items(client)
    client.update_continuous_backups(TableName=name, **ON)
    client.delete_table(TableName=name)
    wait_until(lambda: client.list_backups(TableName=name, BackupType="SYSTEM")["BackupSummaries"])
    (summary,) = client.list_backups(TableName=name, BackupType="SYSTEM")["BackupSummaries"]
    arn = summary["BackupArn"]
    assert arn.endswith("-00000000")
    code, message = fault(raw, "DeleteBackup", {"BackupArn": arn})
    assert code == "ValidationException"
    assert re.fullmatch(
        "Invalid Request: User is not allowed to delete the system backup with arn "
        + re.escape(arn)
        + r"\. It will automatically expire on \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
        message or "",
    )
    assert (summary["BackupName"], summary["BackupStatus"]) == (f"{name}$DeletedTableBackup", "AVAILABLE")
    assert round((summary["BackupExpiryDateTime"] - summary["BackupCreationDateTime"]).total_seconds()) == 35 * 86_400
    assert client.list_backups(TableName=name)["BackupSummaries"] == []
    assert items_of(client, restored(client, arn)) == ["o0", "o1", "o2"]
