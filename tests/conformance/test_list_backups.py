"""ListBackups: the backups of a table or of all, in the order in which they were made, in pages, by type and time."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conformance.backups import backup_of, table_with_items
from tests.conformance.tables import fault, fresh_name, tagged_table, validation
from tests.support.raw_client import RawClient


def listed(client: Any, **members: Any) -> list[str]:
    return [one["BackupArn"] for one in client.list_backups(**members)["BackupSummaries"]]


def test_a_summary(client: Any) -> None:
    name = table_with_items(client)
    table = client.describe_table(TableName=name)["Table"]
    arn = backup_of(client, name)
    details = client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
    (summary,) = client.list_backups(TableName=name)["BackupSummaries"]
    assert summary == details | {
        "TableName": name,
        "TableId": table["TableId"],
        "TableArn": table["TableArn"],
    }


def test_they_come_in_the_order_of_making_and_in_pages(client: Any) -> None:
    name = table_with_items(client)
    other = table_with_items(client)
    arns = []
    for number in range(5):
        arns.append(backup_of(client, name, f"backup-{number}"))
        backup_of(client, other)
    assert listed(client, TableName=name) == arns
    found, after = [], None
    while True:
        page = client.list_backups(TableName=name, Limit=2, **({"ExclusiveStartBackupArn": after} if after else {}))
        found.append([one["BackupArn"] for one in page["BackupSummaries"]])
        after = page.get("LastEvaluatedBackupArn")
        if after is None:
            break
    assert found == [arns[:2], arns[2:4], arns[4:]]
    client.delete_backup(BackupArn=arns[1])
    assert listed(client, TableName=name, ExclusiveStartBackupArn=arns[1]) == arns[2:]


def test_backups_outlive_their_table_and_a_successor_of_its_name(client: Any) -> None:
    name = table_with_items(client)
    first = backup_of(client, name)
    client.delete_table(TableName=name)
    client.get_waiter("table_not_exists").wait(TableName=name)
    assert listed(client, TableName=name) == [first]
    table_arn = first.partition("/backup/")[0]
    request = {
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    client.create_table(TableName=name, KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], **request)
    client.get_waiter("table_exists").wait(TableName=name)
    second = backup_of(client, name)
    summaries = client.list_backups(TableName=table_arn)["BackupSummaries"]
    assert [one["BackupArn"] for one in summaries] == [first, second]
    assert len({one["TableArn"] for one in summaries}) == 1
    assert len({one["TableId"] for one in summaries}) == 2


def test_a_range_of_times(client: Any, raw: RawClient) -> None:
    name = table_with_items(client)
    arns = [backup_of(client, name) for _ in range(2)]
    first, second = [
        one["BackupCreationDateTime"] for one in raw("ListBackups", {"TableName": name}).json()["BackupSummaries"]
    ]

    def within(**bounds: float) -> list[str]:
        reply = raw("ListBackups", {"TableName": name} | {f"TimeRange{one}Bound": at for one, at in bounds.items()})
        return [one["BackupArn"] for one in reply.json()["BackupSummaries"]]

    assert within(Lower=first) == arns
    assert within(Lower=second) == arns[1:]
    assert within(Upper=second) == arns[:1]
    assert within(Lower=first, Upper=first) == []
    assert validation(raw, "ListBackups", {"TimeRangeLowerBound": 2, "TimeRangeUpperBound": 1}) == (
        "One or more parameter values were invalid: Time range lower bound must be less than or equal to upper bound"
    )


def test_a_page_begins_behind_a_backup_of_this_region(client: Any, raw: RawClient) -> None:
    arn = backup_of(client, table_with_items(client))
    other = arn.replace(arn.split(":")[3], "eu-north-1")
    assert validation(raw, "ListBackups", {"ExclusiveStartBackupArn": other}) == "Invalid Backup ARN"


def test_types(client: Any) -> None:
    name = table_with_items(client)
    arn = backup_of(client, name)
    assert (
        listed(client, TableName=name, BackupType="USER") == listed(client, TableName=name, BackupType="ALL") == [arn]
    )
    for kind in ("SYSTEM", "AWS_BACKUP"):
        assert listed(client, TableName=name, BackupType=kind) == []


def test_there_are_no_backups(client: Any, raw: RawClient) -> None:
    arn = tagged_table(client)
    for request in ({"TableName": arn}, {"TableName": fresh_name()}, {"TableName": arn, "BackupType": "ALL"}):
        reply = raw("ListBackups", request)
        assert (reply.status, reply.json()) == (200, {"BackupSummaries": []})


def test_every_member_is_taken(client: Any) -> None:
    reply = client.list_backups(
        TableName="nothing.here",
        Limit=100,
        TimeRangeLowerBound=datetime(2026, 1, 1, tzinfo=UTC),
        TimeRangeUpperBound=datetime(2026, 2, 1, 12, 30, 0, 500_000, tzinfo=UTC),
        ExclusiveStartBackupArn="arn:aws:dynamodb:us-east-1:000000000000:table/abc/backup/01234567890123-0123abcd",
        BackupType="AWS_BACKUP",
    )
    assert reply["BackupSummaries"] == []


def test_the_paginator_ends(client: Any) -> None:
    name = table_with_items(client)
    arns = [backup_of(client, name) for _ in range(3)]
    pages = client.get_paginator("list_backups").paginate(TableName=name, PaginationConfig={"PageSize": 1})
    assert [one["BackupArn"] for page in pages for one in page["BackupSummaries"]] == arns


@pytest.mark.parametrize("name", ["", "ab", "x" * 256])
def test_names_have_a_length(raw: RawClient, name: str) -> None:
    assert validation(raw, "ListBackups", {"TableName": name}) == (
        "TableName must be at least 3 characters long and at most 255 characters long"
    )


def test_constraints(raw: RawClient) -> None:
    message = str(
        validation(
            raw,
            "ListBackups",
            {"TableName": "abc;", "Limit": 101, "ExclusiveStartBackupArn": "arn:short", "BackupType": "OLD"},
        )
    )
    assert message == (
        "4 validation errors detected: Value 'abc;' at 'tableName' failed to satisfy constraint: Member must satisfy "
        "regular expression pattern: [a-zA-Z0-9_.-]+; Value '101' at 'limit' failed to satisfy constraint: Member must "
        "have value less than or equal to 100; Value 'arn:short' at 'exclusiveStartBackupArn' failed to satisfy "
        "constraint: Member must have length greater than or equal to 37; Value 'OLD' at 'backupType' failed to "
        "satisfy constraint: Member must satisfy enum value set: [USER, SYSTEM, AWS_BACKUP, ALL]"
    )


@pytest.mark.parametrize("bound", [b"1" + b"0" * 300, b"1e300", b"-1e300", b"1.5"])
def test_times_may_be_any_number(raw: RawClient, bound: bytes) -> None:
    assert raw("ListBackups", b'{"TimeRangeLowerBound":' + bound + b"}").status == 200


def test_times_are_numbers(raw: RawClient) -> None:
    code, message = fault(raw, "ListBackups", {"TimeRangeLowerBound": "2026-01-01"})
    assert (code, message) == ("SerializationException", "STRING_VALUE cannot be converted to Double")
