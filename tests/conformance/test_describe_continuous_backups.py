"""DescribeContinuousBackups: whether a table can be restored to a point in time, and to which times."""

from typing import Any

import pytest

from tests.conformance.backups import ON
from tests.conformance.tables import create_request, fault, fresh_name
from tests.support.raw_client import RawClient


def test_recovery_is_disabled_at_first(client: Any) -> None:
    name = fresh_name()
    arn = client.create_table(**create_request(name))["TableDescription"]["TableArn"]
    for table in (name, arn):
        assert client.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"] == {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }


def test_recovery_that_is_on(client: Any, raw: RawClient) -> None:
    name = fresh_name()
    client.create_table(**create_request(name))
    client.update_continuous_backups(TableName=name, **ON)
    described = raw("DescribeContinuousBackups", {"TableName": name}).json()["ContinuousBackupsDescription"]
    assert described["ContinuousBackupsStatus"] == "ENABLED"
    recovery = described["PointInTimeRecoveryDescription"]
    assert (recovery["PointInTimeRecoveryStatus"], recovery["RecoveryPeriodInDays"]) == ("ENABLED", 35)
    earliest, latest = recovery["EarliestRestorableDateTime"], recovery["LatestRestorableDateTime"]
    assert earliest == int(earliest) <= latest == int(latest)


def test_missing_table(raw: RawClient, client: Any) -> None:
    assert fault(raw, "DescribeContinuousBackups", {"TableName": "nothing.here"}) == (
        "TableNotFoundException",
        "Table not found: nothing.here",
    )
    with pytest.raises(client.exceptions.TableNotFoundException):
        client.describe_continuous_backups(TableName="nothing.here")
