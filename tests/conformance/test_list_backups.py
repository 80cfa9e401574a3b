"""ListBackups: an empty page for every valid request, and the validation of its members."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conformance.tables import fault, tagged_table, validation
from tests.support.raw_client import RawClient


def test_there_are_no_backups(client: Any, raw: RawClient) -> None:
    arn = tagged_table(client)
    for request in ({}, {"TableName": arn}, {"TableName": "nothing.here"}, {"BackupType": "ALL"}):
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
    assert len(list(client.get_paginator("list_backups").paginate())) == 1


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
