"""Code that is loaded when it is first needed, and cannot be: requests get errors or go on,
jobs fail and are tried again, and nothing hangs.
"""

import http.client
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.autoscaling.feature import ALARMS_AND_SCALING
from hashrange.autoscaling.scaling_job import ScalingJob
from hashrange.cloudwatch.alarms.alarm import Alarm
from hashrange.cloudwatch.alarms.alarm_job import AlarmEvaluation, MinuteValues
from hashrange.settings import Settings
from hashrange.testing import Database, server

ONCE = Config(retries={"total_max_attempts": 1})
CBOR_PATH = "/service/GraniteServiceVersion20100801/operation/ListMetrics"
REQUESTS: dict[str, tuple[str, str, bytes | None, dict[str, str]]] = {
    "query": (
        "POST",
        "/",
        b"Action=ListMetrics&Version=2010-08-01",
        {"content-type": "application/x-www-form-urlencoded"},
    ),
    "json": (
        "POST",
        "/",
        b"{}",
        {"x-amz-target": "GraniteServiceVersion20100801.ListMetrics", "content-type": "application/x-amz-json-1.0"},
    ),
    "scaling": (
        "POST",
        "/",
        b"{}",
        {
            "x-amz-target": "AnyScaleFrontendService.DescribeScalableTargets",
            "content-type": "application/x-amz-json-1.1",
        },
    ),
    "cbor": ("POST", CBOR_PATH, b"", {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}),
    "metrics": ("GET", "/metrics", None, {}),
}
FORMS_LOADED = (
    "hashrange.server.protocols.aws_forms.protocol",
    "hashrange.autoscaling.alarm_actions",
    "hashrange.insights.insights",
)
LOADED_FOR = {
    "query": FORMS_LOADED,
    "json": FORMS_LOADED,
    "scaling": FORMS_LOADED,
    "cbor": (*FORMS_LOADED, "cbor2"),
    "metrics": ("hashrange.server.exposition.prometheus",),
}
CASES = [(form, module) for form, modules in LOADED_FOR.items() for module in modules]


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, admin=True)) as opened:
        yield opened


@contextmanager
def unloadable(module: str) -> Iterator[None]:
    """Every import of a module fails within the context."""
    with pytest.MonkeyPatch.context() as blocked:
        blocked.setitem(sys.modules, module, None)  # what makes `import` fail
        yield


def answered(database: Database, form: str) -> int:
    """Status of the reply to one of `REQUESTS`, over a socket."""
    method, path, body, headers = REQUESTS[form]
    connection = http.client.HTTPConnection(database.endpoint.removeprefix("http://"), timeout=20)
    try:
        connection.request(method, path, body, headers)
        with connection.getresponse() as response:
            response.read()
            return response.status
    finally:
        connection.close()


def put_alarm(database: Database, name: str = "quiet") -> None:
    """An alarm that goes off after a minute without data."""
    database.client("cloudwatch").put_metric_alarm(
        AlarmName=name,
        Namespace="shop",
        MetricName="Orders",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="LessThanThreshold",
        TreatMissingData="breaching",
    )


def states(database: Database) -> list[str]:
    described = database.client("cloudwatch").describe_alarms()["MetricAlarms"]
    return [one["StateValue"] for one in described]


@pytest.mark.parametrize(("form", "module"), CASES)
def test_a_request_gets_an_error_and_the_next_one_an_answer(database: Database, form: str, module: str) -> None:
    with unloadable(module):
        assert answered(database, form) in (
            400,
            500,
        )  # 400: refused for want of a signature before the module is needed
        if module != "cbor2":
            assert answered(database, form) == 500
        assert database.client(config=ONCE).list_tables()["TableNames"] == []
        database.clock.advance(60)
    assert answered(database, form) == (200 if form == "metrics" else 400)


@pytest.mark.parametrize("module", FORMS_LOADED)
def test_boto3_gets_an_error(database: Database, module: str) -> None:
    client = database.client("cloudwatch", config=ONCE)
    with unloadable(module):
        for _ in range(2):
            with pytest.raises(ClientError) as refused:
                client.list_metrics()
            assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert client.list_metrics()["Metrics"] == []


def test_without_the_cbor_library_a_request_in_cbor_gets_an_error(database: Database) -> None:
    assert answered(database, "cbor") == 400
    with unloadable("cbor2"):
        assert answered(database, "cbor") == 500
        assert answered(database, "query") == 400
    assert answered(database, "cbor") == 400


def test_an_advance_raises_what_a_job_could_not_load_and_the_next_one_works(database: Database) -> None:
    put_alarm(database)
    database.clock.freeze()
    with unloadable("hashrange.autoscaling.alarm_actions"):
        fork = database.fork()
        before = fork.clock.now()
        for _ in range(2):
            with pytest.raises(ModuleNotFoundError):
                fork.clock.advance(60)
        assert fork.clock.now() == before + 120
        assert fork.client(config=ONCE).list_tables()["TableNames"] == []
    with fork:
        fork.clock.advance(180)
        assert states(fork) == ["ALARM"]


def test_an_alarm_is_evaluated_without_any_request_after_a_failed_import(database: Database) -> None:
    put_alarm(database)
    database.clock.freeze()
    with unloadable("hashrange.autoscaling.alarm_actions"):
        fork = database.fork()
        with pytest.raises(ModuleNotFoundError):
            fork.clock.advance(60)
    with fork:
        fork.clock.advance(120)
        assert fork._process.service.features.loaded(ALARMS_AND_SCALING) is not None
        (history,) = fork.client("cloudwatch").describe_alarm_history(HistoryItemType="StateUpdate")[
            "AlarmHistoryItems"
        ]
        assert history["Timestamp"].timestamp() <= fork.clock.now()


@pytest.mark.parametrize("job", [AlarmEvaluation, ScalingJob])
def test_an_advance_raises_the_error_of_the_first_slice_and_the_next_one_works(
    database: Database, monkeypatch: pytest.MonkeyPatch, job: Any
) -> None:
    put_alarm(database)
    database.clock.freeze()
    run_slice, is_broken = job.run_slice, [True]

    async def fail_at_first(one: object) -> float | None:
        if is_broken:
            raise RuntimeError("no such luck")
        due_seconds: float | None = await run_slice(one)
        return due_seconds

    monkeypatch.setattr(job, "run_slice", fail_at_first)
    fork = database.fork()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no such luck"):
            fork.clock.advance(60)
    assert answered(fork, "query") == 400
    is_broken.clear()
    with fork:
        fork.clock.advance(180)
        assert states(fork) == ["ALARM"]


@pytest.mark.parametrize("failing", ["quiet-1", "quiet-4"])
def test_an_alarm_that_cannot_be_evaluated_holds_up_no_other(
    database: Database, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    names = [f"quiet-{number}" for number in range(5)]
    for name in names:
        put_alarm(database, name)
    client = database.client("cloudwatch")
    client.put_composite_alarm(AlarmName="both", AlarmRule="ALARM(quiet-0) AND ALARM(quiet-2)")
    database.clock.freeze()
    evaluate = AlarmEvaluation._evaluate

    async def fail_for_one(job: AlarmEvaluation, alarm: Alarm, minute: MinuteValues, end_seconds: float) -> None:
        if alarm.name == failing:
            raise RuntimeError("no such luck")
        await evaluate(job, alarm, minute, end_seconds)

    with monkeypatch.context() as broken:
        broken.setattr(AlarmEvaluation, "_evaluate", fail_for_one)
        for _ in range(4):
            with pytest.raises(RuntimeError, match="no such luck"):
                database.clock.advance(60)
        assert states(database) == ["INSUFFICIENT_DATA" if name == failing else "ALARM" for name in names]
        (both,) = client.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
        assert both["StateValue"] == "ALARM"
    database.clock.advance(120)
    assert states(database) == ["ALARM"] * 5


def test_a_watch_whose_counting_cannot_be_loaded_is_refused_and_begins_with_the_next_try(database: Database) -> None:
    client = database.client(config=ONCE)
    client.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    enable = {"TableName": "orders", "ContributorInsightsAction": "ENABLE"}
    with unloadable("hashrange.insights.insights"):
        with pytest.raises(client.exceptions.InternalServerError):
            client.update_contributor_insights(**enable)
        client.put_item(TableName="orders", Item={"id": {"S": "a"}})
        database.clock.advance(60)
    client.update_contributor_insights(**enable)
    client.put_item(TableName="orders", Item={"id": {"S": "b"}})
    (rule, *_) = database.client("cloudwatch").describe_insight_rules()["InsightRules"]
    now = database.clock.now()
    report = database.client("cloudwatch").get_insight_rule_report(
        RuleName=rule["Name"], StartTime=now - 3600, EndTime=now + 60, Period=60
    )
    assert len(report["Contributors"]) == 1


def test_an_advance_over_http_hears_of_the_failed_job(database: Database) -> None:
    put_alarm(database)
    database.clock.freeze()
    with unloadable("hashrange.autoscaling.alarm_actions"), database.fork() as fork:
        assert asked_to_advance(fork) == 500
    with database.fork() as fork:
        assert asked_to_advance(fork) == 200


def asked_to_advance(database: Database) -> int:
    connection = http.client.HTTPConnection(database.endpoint.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", "/_hashrange/v1/clock/advance", b'{"seconds": 60}')
        with connection.getresponse() as response:
            body = response.read()
            return response.status if response.status != 404 else pytest.fail(body.decode())
    finally:
        connection.close()
