"""UpdateContinuousBackups: backups that are off may be turned off; turning them on is not implemented."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient

OFF = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}}
ON = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}


@pytest.fixture(scope="module")
def arn(client: Any) -> str:
    return str(client.create_table(**create_request(fresh_name()))["TableDescription"]["TableArn"])


def test_recovery_that_is_off_may_be_turned_off(client: Any, arn: str) -> None:
    for table in (arn, arn.rpartition("/")[2]):
        assert client.update_continuous_backups(TableName=table, **OFF)["ContinuousBackupsDescription"] == {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }


def test_recovery_cannot_be_turned_on_yet(raw: RawClient, arn: str) -> None:
    assert fault(raw, "UpdateContinuousBackups", {"TableName": arn} | ON) == (
        "UnsupportedOperationException",
        "Hashrange does not support UpdateContinuousBackups yet.",
    )


@pytest.mark.parametrize("members", [ON, OFF])
def test_a_missing_table_is_told_first(raw: RawClient, members: dict[str, Any]) -> None:
    assert fault(raw, "UpdateContinuousBackups", {"TableName": "nothing.here"} | members) == (
        "TableNotFoundException",
        "Table not found: nothing.here",
    )


def test_constraints(raw: RawClient, arn: str) -> None:
    assert validation(raw, "UpdateContinuousBackups", {"TableName": arn}) == (
        "1 validation error detected: Value null at 'pointInTimeRecoverySpecification' failed to satisfy constraint: "
        "Member must not be null"
    )
    specification = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 36}
    request = {"TableName": "nothing.here", "PointInTimeRecoverySpecification": specification}
    assert validation(raw, "UpdateContinuousBackups", request) == (
        "1 validation error detected: Value '36' at 'pointInTimeRecoverySpecification.recoveryPeriodInDays' "
        "failed to satisfy constraint: Member must have value less than or equal to 35"
    )
    assert validation(raw, "UpdateContinuousBackups", ON) == (
        "The parameter 'TableName' is required but was not present in the request"
    )
