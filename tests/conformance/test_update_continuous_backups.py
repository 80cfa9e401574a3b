"""UpdateContinuousBackups: point-in-time recovery is turned on and off, and its period changed."""

from typing import Any

import pytest

from tests.conformance.backups import OFF, ON
from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def arn(client: Any) -> str:
    return str(client.create_table(**create_request(fresh_name()))["TableDescription"]["TableArn"])


def test_recovery_that_is_off_may_be_turned_off(client: Any, arn: str) -> None:
    for table in (arn, arn.rpartition("/")[2]):
        assert client.update_continuous_backups(TableName=table, **OFF)["ContinuousBackupsDescription"] == {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }


def recovery_of(reply: Any) -> Any:
    return reply["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]


def test_it_is_turned_on_and_off_and_on(client: Any, arn: str) -> None:
    reply = client.update_continuous_backups(TableName=arn, **ON)
    assert reply["ContinuousBackupsDescription"]["ContinuousBackupsStatus"] == "ENABLED"
    first = recovery_of(reply)
    assert (first["PointInTimeRecoveryStatus"], first["RecoveryPeriodInDays"]) == ("ENABLED", 35)
    again = recovery_of(client.update_continuous_backups(TableName=arn, **ON))
    assert again["EarliestRestorableDateTime"] == first["EarliestRestorableDateTime"]
    for _ in range(2):
        off = recovery_of(client.update_continuous_backups(TableName=arn, **OFF))
        assert off == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert recovery_of(client.update_continuous_backups(TableName=arn, **ON))["RecoveryPeriodInDays"] == 35
    client.update_continuous_backups(TableName=arn, **OFF)


def test_the_period_is_changed_in_place(client: Any, arn: str) -> None:
    def period(days: int) -> Any:
        wanted = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days}
        return recovery_of(client.update_continuous_backups(TableName=arn, PointInTimeRecoverySpecification=wanted))

    first, second = period(7), period(1)
    assert (first["RecoveryPeriodInDays"], second["RecoveryPeriodInDays"]) == (7, 1)
    assert first["EarliestRestorableDateTime"] == second["EarliestRestorableDateTime"]
    client.update_continuous_backups(TableName=arn, **OFF)
    assert recovery_of(client.update_continuous_backups(TableName=arn, **ON))["RecoveryPeriodInDays"] == 35
    client.update_continuous_backups(TableName=arn, **OFF)


def test_no_period_without_recovery(raw: RawClient, arn: str) -> None:
    wanted = {"PointInTimeRecoveryEnabled": False, "RecoveryPeriodInDays": 7}
    request = {"TableName": arn, "PointInTimeRecoverySpecification": wanted}
    assert validation(raw, "UpdateContinuousBackups", request) == (
        "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."
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
