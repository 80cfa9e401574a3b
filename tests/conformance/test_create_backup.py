"""CreateBackup: the backup is CREATING in the reply and AVAILABLE soon after, and has what the table was at that
moment.
"""

import re
from typing import Any

import pytest

from tests.conformance.backups import backup_of, item, items_of, restored, status_of, table_with_items
from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient


def test_the_reply_says_creating(client: Any) -> None:
    name = table_with_items(client)
    details = client.create_backup(TableName=name, BackupName="nightly")["BackupDetails"]
    arn = client.describe_table(TableName=name)["Table"]["TableArn"]
    assert set(details) == {
        "BackupArn", "BackupName", "BackupSizeBytes", "BackupStatus", "BackupType", "BackupCreationDateTime",
    }  # fmt: skip
    assert (details["BackupName"], details["BackupStatus"], details["BackupType"]) == ("nightly", "CREATING", "USER")
    assert details["BackupSizeBytes"] > 0
    made_ms = re.fullmatch(re.escape(arn) + r"/backup/([0-9]{14})-[0-9a-f]{8}", details["BackupArn"])
    assert made_ms is not None
    assert abs(int(made_ms[1]) / 1000 - details["BackupCreationDateTime"].timestamp()) < 1


def test_a_small_backup_is_available_in_the_next_call(client: Any) -> None:
    name = table_with_items(client)
    arn = client.create_backup(TableName=name, BackupName="nightly")["BackupDetails"]["BackupArn"]
    assert status_of(client, arn) == "AVAILABLE"


def test_names_are_not_unique_and_a_table_may_be_named_by_its_arn(client: Any) -> None:
    name = table_with_items(client)
    arn = client.describe_table(TableName=name)["Table"]["TableArn"]
    assert backup_of(client, arn) != backup_of(client, name)
    assert len(client.list_backups(TableName=name)["BackupSummaries"]) == 2


def test_later_writes_are_not_in_it(client: Any) -> None:
    name = table_with_items(client)
    arn = backup_of(client, name)
    client.put_item(TableName=name, Item=item(7))
    client.delete_item(TableName=name, Key={"id": {"S": "o0"}, "at": {"S": "t0"}})
    assert items_of(client, restored(client, arn)) == ["o0", "o1", "o2"]


def test_a_missing_table(raw: RawClient, client: Any) -> None:
    assert fault(raw, "CreateBackup", {"TableName": "nothing.here", "BackupName": "one"}) == (
        "TableNotFoundException",
        "Table not found: nothing.here",
    )
    arn = backup_of(client, table_with_items(client))
    assert fault(raw, "CreateBackup", {"TableName": arn, "BackupName": "one"})[0] == "TableNotFoundException"


@pytest.mark.parametrize(
    ("name", "constraint"),
    [
        ("ab", "length greater than or equal to 3"),
        ("x" * 256, "length less than or equal to 255"),
        ("a/b", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
    ],
)
def test_names_are_checked_before_the_table(raw: RawClient, name: str, constraint: str) -> None:
    message = validation(raw, "CreateBackup", {"TableName": "nothing.here", "BackupName": name})
    assert message == (
        f"1 validation error detected: Value '{name}' at 'backupName' failed to satisfy constraint: Member must"
        f" {constraint if constraint.startswith('satisfy') else 'have ' + constraint}"
    )


def test_both_names_are_required(raw: RawClient) -> None:
    assert validation(raw, "CreateBackup", {"BackupName": "one"}) == (
        "The parameter 'TableName' is required but was not present in the request"
    )
    assert validation(raw, "CreateBackup", {"TableName": "nothing.here"}) == (
        "1 validation error detected: Value null at 'backupName' failed to satisfy constraint: Member must not be null"
    )


def test_an_empty_table(client: Any) -> None:
    name = fresh_name()
    client.create_table(**create_request(name))
    client.get_waiter("table_exists").wait(TableName=name)
    arn = backup_of(client, name)
    assert items_of(client, restored(client, arn)) == []
