"""Faults of requests to CloudWatch, Application Auto Scaling and DAX's clusters: only those that name the operation."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from hashrange.aws_services.operation import ServiceError
from hashrange.faults.fault import Fault, FaultsError
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.aws_forms.test_forms import ask
from tests.unit.faults.kit import impatient
from tests.unit.testing.test_inside import alarm

ALARM = alarm("busy")


@pytest.fixture
def database() -> Any:
    with server() as one:
        yield one


def alarms(database: Database) -> list[str]:
    """Names of all alarms."""
    return [one["AlarmName"] for one in impatient(database, "cloudwatch").describe_alarms()["MetricAlarms"]]


def put_alarm(database: Database) -> None:
    """Put the alarm by a client that does not retry."""
    impatient(database, "cloudwatch").put_metric_alarm(**ALARM)


def kinds_met(database: Database) -> list[tuple[str, str]]:
    """Operation and kind of each fault that was met."""
    return [(met.operation, met.kind) for met in database.faults.report]


def test_sdks_retry_what_is_throttled(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # botocore waits for some random time
    database.faults.use(Fault("throttle", operation="PutMetricAlarm", count=2))
    database.client("cloudwatch").put_metric_alarm(**ALARM)
    assert alarms(database) == ["busy"]
    assert kinds_met(database) == [("PutMetricAlarm", "throttle")] * 2


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("cloudwatch", "describe_alarms", "Throttling"),
        ("application-autoscaling", "describe_scalable_targets", "ThrottlingException"),
        ("dax", "describe_clusters", "ThrottlingException"),
    ],
)
def test_a_throttled_request_has_the_services_error(
    database: Database, service: str, operation: str, code: str
) -> None:
    client = impatient(database, service)
    named = client.meta.method_to_api_mapping[operation]
    members = {"ServiceNamespace": "dynamodb"} if service == "application-autoscaling" else {}
    database.faults.use(Fault("throttle", operation=("PutMetricData", named)))
    with pytest.raises(ClientError) as refused:
        getattr(client, operation)(**members)
    error = refused.value.response["Error"]
    assert (error["Code"], error["Message"]) == (code, "Rate exceeded")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize("form", ["json", "cbor", "query"])
def test_a_throttled_request_has_its_code_in_every_form(database: Database, form: str) -> None:
    database.faults.use(Fault("throttle", operation="ListMetrics"))
    status, _, code = ask(database, form, "ListMetrics", {})
    assert (status, code) == (400, "Throttling")


def test_an_error_comes_before_or_after(database: Database) -> None:
    for when, there in (("before", []), ("after", ["busy"])):
        with database.faults.during(Fault("error", operation="PutMetricAlarm", when=when)):  # type: ignore[arg-type]
            with pytest.raises(ClientError) as failed:
                put_alarm(database)
            assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
            assert alarms(database) == there


def test_a_refused_request_meets_nothing_that_comes_after(database: Database) -> None:
    database.faults.use(Fault("error", operation="PutMetricAlarm", when="after"))
    with pytest.raises(ClientError, match="ValidationError"):
        impatient(database, "cloudwatch").put_metric_alarm(**ALARM | {"Period": 7})
    assert kinds_met(database) == []


def test_replies_are_lost(database: Database) -> None:
    lost = [
        Fault("drop", operation="PutMetricAlarm", count=1),
        Fault("half-reply", operation="DescribeAlarms", count=1),
    ]
    database.faults.use(*lost)
    with pytest.raises(ConnectionClosedError):
        put_alarm(database)
    with pytest.raises(ConnectionClosedError):
        alarms(database)
    assert alarms(database) == []
    database.faults.use(Fault("drop", operation="PutMetricAlarm", when="after"))
    with pytest.raises(ConnectionClosedError):
        put_alarm(database)
    assert alarms(database) == ["busy"]


def test_slow_replies_come(database: Database) -> None:
    database.faults.use(Fault("slow", operation="PutMetricAlarm", seconds=0.001))
    put_alarm(database)
    database.call("PutMetricAlarm", ALARM, service="cloudwatch")
    assert kinds_met(database) == [("PutMetricAlarm", "slow")] * 2


def test_calls_without_a_client_meet_the_same(database: Database) -> None:
    database.faults.use(
        Fault("throttle", operation="PutMetricAlarm", count=1),
        Fault("error", operation="PutMetricAlarm", when="after", count=1),
        Fault("drop", operation="DescribeAlarms", count=1),
    )
    with pytest.raises(ServiceError, match="Rate exceeded"):
        database.call("PutMetricAlarm", ALARM, service="cloudwatch")
    assert alarms_without_client(database, ConnectionError) is None
    assert alarms_without_client(database) == []
    with pytest.raises(ServiceError) as failed:
        database.call("PutMetricAlarm", ALARM, service="cloudwatch")
    assert failed.value.code == "InternalServiceFault"
    assert alarms_without_client(database) == ["busy"]


def alarms_without_client(database: Database, expected: type[Exception] | None = None) -> list[str] | None:
    """Names of all alarms; None if the call raises what is expected."""
    if expected is not None:
        with pytest.raises(expected):
            database.call("DescribeAlarms", {}, service="cloudwatch")
        return None
    return [one["AlarmName"] for one in database.call("DescribeAlarms", {}, service="cloudwatch")["MetricAlarms"]]


def test_faults_that_name_no_operation_are_dynamodbs(database: Database) -> None:
    database.faults.use(Fault("error"))
    put_alarm(database)
    assert alarms(database) == ["busy"]
    with pytest.raises(ClientError, match="InternalServerError"):
        impatient(database).list_tables()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("throttle", operation="PutMetrics"), "there is no operation PutMetrics."),
        (Fault("throttle", operation="PutMetricData", table="Orders"), "without the members table, index, key,"),
        (Fault("stale-read", operation="PutMetricData", seconds=1), "kinds drop, error, half-reply, slow, throttle,"),
        (Fault("throttle", operation="PutMetricData", exception="RequestLimitExceeded"), "exception and reason."),
    ],
)
def test_faults_that_no_request_can_meet_are_refused(database: Database, fault: Fault, said: str) -> None:
    with pytest.raises(FaultsError) as refused:
        database.faults.use(fault)
    assert said in str(refused.value)


def test_a_throttled_request_may_be_told_when_to_retry(database: Database) -> None:
    database.faults.use(Fault("throttle", operation="DescribeAlarms", retry_after_ms=40))
    with pytest.raises(ClientError) as caught:
        impatient(database, "cloudwatch").describe_alarms()
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["x-amz-retry-after"] == "40"
    database.faults.use(Fault("throttle", operation="DescribeAlarms"))
    with pytest.raises(ClientError) as caught:
        impatient(database, "cloudwatch").describe_alarms()
    assert "x-amz-retry-after" not in caught.value.response["ResponseMetadata"]["HTTPHeaders"]
