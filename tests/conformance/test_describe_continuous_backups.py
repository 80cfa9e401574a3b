"""DescribeContinuousBackups: no table has point-in-time recovery."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, fault, fresh_name
from tests.support.raw_client import RawClient


def test_recovery_is_disabled(client: Any) -> None:
    name = fresh_name()
    arn = client.create_table(**create_request(name))["TableDescription"]["TableArn"]
    for table in (name, arn):
        assert client.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"] == {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }


def test_missing_table(raw: RawClient, client: Any) -> None:
    assert fault(raw, "DescribeContinuousBackups", {"TableName": "nothing.here"}) == (
        "TableNotFoundException",
        "Table not found: nothing.here",
    )
    with pytest.raises(client.exceptions.TableNotFoundException):
        client.describe_continuous_backups(TableName="nothing.here")
