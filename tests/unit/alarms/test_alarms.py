"""Alarms over boto3: states minute by minute, reasons, histories, actions, and composite alarms."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

CPU = {"Namespace": "own", "MetricName": "Load"}
ALARM = {
    "AlarmName": "load",
    **CPU,
    "Statistic": "Average",
    "Period": 60,
    "EvaluationPeriods": 2,
    "Threshold": 10.0,
    "ComparisonOperator": "GreaterThanThreshold",
}


class Receiver:
    """A server on the loopback that keeps what it gets, and answers with `status`."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str]] = []
        self.status = 200
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                owner.received.append((self.headers["Content-Type"], body))
                self.send_response(owner.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def minute(database: Database, *values: float) -> None:
    """Put values, and let a minute end."""
    for value in values:
        database.client("cloudwatch").put_metric_data(
            Namespace="own", MetricData=[{"MetricName": "Load", "Value": value, "Timestamp": database.clock.now()}]
        )
    database.clock.advance(60)


def state(cloudwatch: Any, name: str = "load") -> Any:
    found = cloudwatch.describe_alarms(AlarmNames=[name], AlarmTypes=["MetricAlarm", "CompositeAlarm"])
    (alarm,) = found["MetricAlarms"] + found["CompositeAlarms"]
    return alarm


def events(cloudwatch: Any, **members: Any) -> list[str]:
    """Summaries of the history, oldest first."""
    found = cloudwatch.describe_alarm_history(
        ScanBy="TimestampAscending", AlarmTypes=["MetricAlarm", "CompositeAlarm"], **members
    )
    return [one["HistorySummary"] for one in found["AlarmHistoryItems"]]


def test_states_reasons_and_history(database: Database, cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM)
    assert state(cloudwatch)["StateValue"] == "INSUFFICIENT_DATA"
    minute(database, 5)
    assert state(cloudwatch)["StateValue"] == "OK"
    minute(database, 20)
    assert state(cloudwatch)["StateValue"] == "OK"
    minute(database, 30)
    alarm = state(cloudwatch)
    assert alarm["StateValue"] == "ALARM"
    assert alarm["StateReason"].startswith("Threshold Crossed: 2 out of the last 2 datapoints [30.0 (")
    assert alarm["StateReason"].endswith(
        "were greater than the threshold (10.0) (minimum 2 datapoints for OK -> ALARM transition)."
    )
    data = json.loads(alarm["StateReasonData"])
    assert (data["version"], data["recentDatapoints"], data["threshold"]) == ("1.0", [20.0, 30.0], 10.0)
    minute(database, 1)
    assert state(cloudwatch)["StateValue"] == "OK"
    for _ in range(4):
        minute(database)
    assert state(cloudwatch)["StateValue"] == "INSUFFICIENT_DATA"
    cloudwatch.delete_alarms(AlarmNames=["load"])
    assert events(cloudwatch, AlarmName="load") == [
        'Alarm "load" created',
        "Alarm updated from INSUFFICIENT_DATA to OK",
        "Alarm updated from OK to ALARM",
        "Alarm updated from ALARM to OK",
        "Alarm updated from OK to INSUFFICIENT_DATA",
        'Alarm "load" deleted',
    ]
    database.clock.advance(15 * 86_400)
    assert events(cloudwatch) == []


def test_an_advance_evaluates_every_minute(database: Database, cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM | {"EvaluationPeriods": 1})
    begin = database.clock.now()
    values = (5, 20, 5, 20, 5)
    data = [
        {"MetricName": "Load", "Value": value, "Timestamp": begin + 60 * place} for place, value in enumerate(values)
    ]
    cloudwatch.put_metric_data(Namespace="own", MetricData=data)
    database.clock.advance(300)
    assert events(cloudwatch, HistoryItemType="StateUpdate") == [
        "Alarm updated from INSUFFICIENT_DATA to OK",
        "Alarm updated from OK to ALARM",
        "Alarm updated from ALARM to OK",
        "Alarm updated from OK to ALARM",
        "Alarm updated from ALARM to OK",
    ]


def test_an_update_keeps_the_state_and_replaces_the_rest(database: Database, cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM, AlarmDescription="first", Tags=[{"Key": "team", "Value": "shop"}])
    minute(database, 5)
    cloudwatch.put_metric_alarm(**ALARM | {"Threshold": 1.0})
    alarm = state(cloudwatch)
    assert (alarm["StateValue"], alarm["Threshold"]) == ("OK", 1.0)
    assert "AlarmDescription" not in alarm
    tags = cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"]
    assert tags == [{"Key": "team", "Value": "shop"}]


def test_metric_math_and_percentiles(database: Database, cloudwatch: Any) -> None:
    stat = {"Metric": CPU, "Period": 60, "Stat": "Maximum"}
    queries = [
        {"Id": "m1", "MetricStat": stat, "ReturnData": False},
        {"Id": "e1", "Expression": "m1 * 2", "ReturnData": True},
    ]
    rest = {"EvaluationPeriods": 1, "Threshold": 10.0, "ComparisonOperator": "GreaterThanOrEqualToThreshold"}
    cloudwatch.put_metric_alarm(AlarmName="math", Metrics=queries, **rest)
    percentile = {key: value for key, value in ALARM.items() if key != "Statistic"}
    cloudwatch.put_metric_alarm(
        **percentile | {"AlarmName": "tail", "ExtendedStatistic": "p90", "EvaluationPeriods": 1}
    )
    minute(database, 1, 5)
    assert state(cloudwatch, "math")["StateValue"] == "ALARM"
    assert state(cloudwatch, "tail")["StateValue"] == "OK"
    minute(database, *[4] * 5, *[20] * 5)
    assert state(cloudwatch, "tail")["StateValue"] == "ALARM"


def test_dynamodb_metrics_ignore_missing_data(database: Database, cloudwatch: Any) -> None:
    metric = {
        "Namespace": "AWS/DynamoDB",
        "MetricName": "UserErrors",
        "Statistic": "Sum",
        "TreatMissingData": "breaching",
    }
    cloudwatch.put_metric_alarm(**ALARM | metric | {"Threshold": 0.0, "EvaluationPeriods": 1})
    database.clock.advance(600)
    assert state(cloudwatch)["StateValue"] == "INSUFFICIENT_DATA"
    with pytest.raises(ClientError):
        database.client().get_item(TableName="missing", Key={"pk": {"S": "a"}})
    database.clock.advance(60)
    assert state(cloudwatch)["StateValue"] == "ALARM"
    database.clock.advance(600)
    assert state(cloudwatch)["StateValue"] == "ALARM"


def test_a_url_is_told_of_each_state(database: Database, cloudwatch: Any, receiver: Receiver) -> None:
    cloudwatch.put_metric_alarm(
        **ALARM | {"EvaluationPeriods": 1}, AlarmActions=[receiver.url], OKActions=[receiver.url]
    )
    minute(database, 20)
    minute(database, 20)
    minute(database, 5)
    told = [json.loads(body) for _, body in receiver.received]
    messages = [json.loads(one["Message"]) for one in told]
    assert [one["Type"] for one in told] == ["Notification"] * 2
    assert [(one["OldStateValue"], one["NewStateValue"]) for one in messages] == [
        ("INSUFFICIENT_DATA", "ALARM"),
        ("ALARM", "OK"),
    ]
    assert messages[0]["Trigger"]["MetricName"] == "Load"
    assert [text for text in events(cloudwatch) if "action" in text] == [
        f"Successfully executed action {receiver.url}"
    ] * 2
    cloudwatch.disable_alarm_actions(AlarmNames=["not-there", "load"])
    minute(database, 20)
    cloudwatch.enable_alarm_actions(AlarmNames=["load"])
    minute(database, 5)
    assert len(receiver.received) == 3


def test_an_action_that_fails_is_tried_again_and_told(database: Database, cloudwatch: Any, receiver: Receiver) -> None:
    receiver.status = 500
    topic = "arn:aws:sns:us-east-1:000000000000:alarms"
    cloudwatch.put_metric_alarm(**ALARM | {"EvaluationPeriods": 1}, AlarmActions=[receiver.url, topic])
    minute(database, 20)
    assert len(receiver.received) == 3
    failed = [text for text in events(cloudwatch) if text.startswith("Failed")]
    assert sorted(failed) == [
        (
            f"Failed to execute action {topic}. Received error: there is no SNS here:"
            " start the server with --sns-endpoint URL"
        ),
        f"Failed to execute action {receiver.url}. Received error: status 500",
    ]


def test_a_notification_uses_no_api_of_the_server_itself(database: Database, cloudwatch: Any) -> None:
    """It comes from the server's machine, as requests do for which the admin API is made."""
    own = [
        f"{database.endpoint}{path}"
        for path in ("/_hashrange/v1/reset", "/2015-03-31/functions", "/_hashrange/v1/ready")
    ]
    cloudwatch.put_metric_alarm(**ALARM | {"EvaluationPeriods": 1}, AlarmActions=own)
    minute(database, 20)
    failed = [text for text in events(cloudwatch) if text.startswith("Failed")]
    assert sorted(failed) == sorted(f"Failed to execute action {url}. Received error: status 403" for url in own)


def test_topics_are_published_to(receiver: Receiver) -> None:
    topic = "arn:aws:sns:us-east-1:000000000000:alarms"
    with server(Settings(data_dir=None, sns_endpoint=receiver.url)) as database:
        database.clock.freeze()
        cloudwatch = database.client("cloudwatch")
        cloudwatch.put_metric_alarm(**ALARM, AlarmActions=[topic])
        cloudwatch.set_alarm_state(AlarmName="load", StateValue="ALARM", StateReason="a trial")
        database.clock.advance(0)
        ((kind, body),) = receiver.received
    members = parse_qs(body)
    assert kind.startswith("application/x-www-form-urlencoded")
    assert (members["Action"], members["TopicArn"]) == (["Publish"], [topic])
    assert members["Subject"] == ['ALARM: "load" in US East (N. Virginia)']
    assert json.loads(members["Message"][0])["NewStateReason"] == "a trial"


def test_a_function_is_invoked(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(
        "import boto3\n"
        "def handle(event, context):\n"
        "    item = {'pk': {'S': event['alarmData']['alarmName']}, 'to': {'S': event['alarmData']['state']['value']}}\n"
        "    boto3.client('dynamodb').put_item(TableName='told', Item=item)\n"
    )
    triggers = tmp_path / "triggers.toml"
    triggers.write_text(f'[functions.tell]\ncode = "{tmp_path}"\nhandler = "code.handle"\nruntime = "python3.11"\n')
    with server(Settings(data_dir=None, functions=True, triggers=str(triggers))) as database:
        database.clock.freeze()
        client, cloudwatch = database.client(), database.client("cloudwatch")
        client.create_table(
            TableName="told",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        action = "arn:aws:lambda:us-east-1:000000000000:function:tell"
        cloudwatch.put_metric_alarm(**ALARM, AlarmActions=[action])
        cloudwatch.set_alarm_state(AlarmName="load", StateValue="ALARM", StateReason="a trial")
        database.clock.advance(1)
        assert client.scan(TableName="told")["Items"] == [{"pk": {"S": "load"}, "to": {"S": "ALARM"}}]


def test_composite_alarms_follow_their_rule(database: Database, cloudwatch: Any, receiver: Receiver) -> None:
    for name in ("one", "two", "quiet"):
        cloudwatch.put_metric_alarm(**ALARM | {"AlarmName": name, "MetricName": name, "TreatMissingData": "ignore"})
    cloudwatch.put_composite_alarm(
        AlarmName="both",
        AlarmRule='ALARM(one) AND NOT (OK("two") OR INSUFFICIENT_DATA(two))',
        AlarmActions=[receiver.url],
        ActionsSuppressor="quiet",
        ActionsSuppressorWaitPeriod=60,
        ActionsSuppressorExtensionPeriod=120,
    )
    cloudwatch.put_composite_alarm(AlarmName="top", AlarmRule="ALARM(both)")

    def put(name: str, value: str) -> None:
        cloudwatch.set_alarm_state(AlarmName=name, StateValue=value, StateReason="a trial")

    database.clock.advance(60)
    assert state(cloudwatch, "both")["StateValue"] == "OK"
    for name in ("one", "two", "quiet"):
        put(name, "ALARM")
    database.clock.advance(60)
    assert [state(cloudwatch, name)["StateValue"] for name in ("both", "top")] == ["ALARM", "ALARM"]
    assert state(cloudwatch, "both")["ActionsSuppressedBy"] == "Alarm"
    assert receiver.received == []
    put("quiet", "OK")
    database.clock.advance(60)
    assert state(cloudwatch, "both")["ActionsSuppressedBy"] == "ExtensionPeriod"
    database.clock.advance(180)
    assert "ActionsSuppressedBy" not in state(cloudwatch, "both")
    assert len(receiver.received) == 1
    with pytest.raises(ClientError, match="there are composite alarm"):
        cloudwatch.delete_alarms(AlarmNames=["one"])
    children = cloudwatch.describe_alarms(ChildrenOfAlarmName="both")["MetricAlarms"]
    assert [one["AlarmName"] for one in children] == ["one", "two"]
    parents = cloudwatch.describe_alarms(ParentsOfAlarmName="both")["CompositeAlarms"]
    assert [one["AlarmName"] for one in parents] == ["top"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"AlarmName": "x" * 256},
            "at 'alarmName' failed to satisfy constraint: Member must have length less than or equal to 255",
        ),
        (
            {"EvaluationPeriods": 2, "DatapointsToAlarm": 3},
            "DatapointsToAlarm must be less than or equal to EvaluationPeriods",
        ),
        (
            {"EvaluationPeriods": 0},
            (
                "Value '0' at 'evaluationPeriods' failed to satisfy constraint: Member must have value"
                " greater than or equal to 1"
            ),
        ),
        ({"ComparisonOperator": "GreaterThanUpperThreshold"}, "does not support anomaly detection"),
        (
            {"ComparisonOperator": "Above"},
            "Value 'Above' at 'comparisonOperator' failed to satisfy constraint: Member must satisfy enum value set: [",
        ),
        ({"Period": 61}, "Period must be 10, 20, 30 or a multiple of 60"),
        ({"Period": 600, "EvaluationPeriods": 145}, "EvaluationPeriods * Period must be <= 86400"),
        ({"Period": 3600, "EvaluationPeriods": 169}, "EvaluationPeriods * Period must be <= 604800"),
        ({"ExtendedStatistic": "p99"}, "Statistic and ExtendedStatistic are mutually exclusive"),
        ({"MetricName": None}, "MetricName must not be null"),
        ({"MetricName": "caf\u00e9"}, "MetricName must not contain Non-ASCII characters"),
        ({"Statistic": None}, "Statistic must not be null"),
        ({"Threshold": None}, "Threshold must not be null"),
        ({"Statistic": None, "ExtendedStatistic": "p101"}, "p101"),
        ({"AlarmActions": ["mail"]}, "Invalid action mail"),
        ({"AlarmActions": ["http://127.0.0.1/\r\nsecond line of the log"]}, "Invalid action"),
        (
            {"AlarmActions": ["arn:a"] * 6},
            "at 'alarmActions' failed to satisfy constraint: Member must have length less than or equal to 5",
        ),
        (
            {"AlarmActions": ["arn:" + "a" * 1021]},
            "at 'alarmActions.1.member' failed to satisfy constraint: Member must have length less than",
        ),
        (
            {"TreatMissingData": "guess"},
            "Value 'guess' at 'treatMissingData' failed to satisfy constraint: Member must satisfy enum value set",
        ),
        ({"Unit": "Miles"}, "Value 'Miles' at 'unit' failed to satisfy constraint: Member must satisfy enum value set"),
        (
            {"WarmUpConfiguration": {"WarmUpPeriodDurationInMinutes": 1}},
            "does not support the parameter WarmUpConfiguration",
        ),
        ({"Metrics": [{"Id": "a", "Expression": "b"}]}, "MetricName should not be set if list of Metrics is set."),
        (
            {"Metrics": [{"Id": "a", "Expression": "b"}], "MetricName": None, "Namespace": None, "Period": None},
            "Statistic should not be set if list of Metrics is set.",
        ),
        (
            {
                "Metrics": [{"Id": "a", "Expression": "b"}],
                "Statistic": None,
                "MetricName": None,
                "Namespace": None,
                "Period": None,
            },
            "There is no query with the id b",
        ),
    ],
)
def test_alarms_that_are_refused(database: Database, changes: dict[str, Any], message: str) -> None:
    cloudwatch = database.client("cloudwatch", config=Config(parameter_validation=False))
    members = {name: value for name, value in (ALARM | changes).items() if value is not None}
    with pytest.raises(ClientError) as caught:
        cloudwatch.put_metric_alarm(**members)
    error = caught.value.response["Error"]
    assert (error["Code"], message in error["Message"]) == ("ValidationError", True)
    assert cloudwatch.describe_alarms()["MetricAlarms"] == []


@pytest.mark.parametrize(
    ("operation", "members", "message"),
    [
        (
            "set_alarm_state",
            {"AlarmName": "a", "StateValue": "BAD", "StateReason": ""},
            "Value 'BAD' at 'stateValue' failed to satisfy constraint: Member must satisfy enum value set: [",
        ),
        (
            "set_alarm_state",
            {"AlarmName": "a", "StateReason": ""},
            (
                "1 validation error detected: Value null at 'stateValue' failed to satisfy constraint:"
                " Member must not be null"
            ),
        ),
        (
            "describe_alarms",
            {"MaxRecords": 101},
            (
                "Value '101' at 'maxRecords' failed to satisfy constraint: Member must have value"
                " less than or equal to 100"
            ),
        ),
        (
            "describe_alarms",
            {"AlarmTypes": ["Any"]},
            "Value 'Any' at 'alarmTypes.1.member' failed to satisfy constraint: Member must satisfy enum value set",
        ),
        (
            "describe_alarm_history",
            {"ScanBy": "Any"},
            "Value 'Any' at 'scanBy' failed to satisfy constraint: Member must satisfy enum value set",
        ),
        (
            "delete_alarms",
            {"AlarmNames": ["a"] * 101},
            "at 'alarmNames' failed to satisfy constraint: Member must have length less than or equal to 100",
        ),
        (
            "put_composite_alarm",
            {"AlarmName": "a", "AlarmRule": "TRUE", "ActionsSuppressor": "b"},
            "ActionsSuppressorWaitPeriod must not be null",
        ),
        ("describe_alarms", {"StateValue": {"a": "b"}}, "The value of stateValue cannot be read"),
    ],
)
def test_requests_that_are_refused(database: Database, operation: str, members: dict[str, Any], message: str) -> None:
    cloudwatch = database.client("cloudwatch", config=Config(parameter_validation=False))
    with pytest.raises(ClientError) as caught:
        getattr(cloudwatch, operation)(**members)
    error = caught.value.response["Error"]
    assert (error["Code"], message in error["Message"]) == ("ValidationError", True), error


@pytest.mark.parametrize(
    "rule", ["", "ALARM", "ALARM()", "ALARM(a) AND", "(ALARM(a)", "ALARM(a) ALARM(a)", "WARN(a)", "(" * 200]
)
def test_rules_that_cannot_be_read(cloudwatch: Any, rule: str) -> None:
    with pytest.raises(ClientError):
        cloudwatch.put_composite_alarm(AlarmName="any", AlarmRule=rule or " ")


def test_rules_do_not_lead_back(cloudwatch: Any) -> None:
    cloudwatch.put_composite_alarm(AlarmName="one", AlarmRule="TRUE")
    cloudwatch.put_composite_alarm(AlarmName="two", AlarmRule="ALARM(one)")
    with pytest.raises(ClientError, match="lead back"):
        cloudwatch.put_composite_alarm(AlarmName="one", AlarmRule="ALARM(two)")


def test_alarms_are_listed_in_parts(cloudwatch: Any) -> None:
    for number in range(7):
        cloudwatch.put_metric_alarm(**ALARM | {"AlarmName": f"load-{number}"})
    pages = cloudwatch.get_paginator("describe_alarms").paginate(PaginationConfig={"PageSize": 3})
    assert [[one["AlarmName"] for one in page["MetricAlarms"]] for page in pages] == [
        ["load-0", "load-1", "load-2"],
        ["load-3", "load-4", "load-5"],
        ["load-6"],
    ]
    assert "NextToken" not in cloudwatch.describe_alarms(MaxRecords=7)
    found = cloudwatch.describe_alarms_for_metric(**CPU)["MetricAlarms"]
    assert len(found) == 7
    assert cloudwatch.describe_alarms_for_metric(**CPU, Period=300)["MetricAlarms"] == []


def test_a_restart_goes_on_with_states(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"))
    with server(settings) as database:
        database.client("cloudwatch").put_metric_alarm(**ALARM, TreatMissingData="ignore")
        database.client("cloudwatch").set_alarm_state(AlarmName="load", StateValue="ALARM", StateReason="a trial")
    with server(settings) as database:
        database.clock.freeze()
        database.clock.advance(60 - database.clock.now() % 60)
        cloudwatch = database.client("cloudwatch")
        assert state(cloudwatch)["StateValue"] == "ALARM"
        minute(database, 1)
        minute(database, 1)
        assert state(cloudwatch)["StateValue"] == "OK"


def test_an_account_has_only_so_many_alarms(cloudwatch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.cloudwatch.limits.ALARMS_MAX", 2)
    cloudwatch.put_metric_alarm(**ALARM)
    cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule="ALARM(load)")
    with pytest.raises(ClientError) as refused_metric:
        cloudwatch.put_metric_alarm(**ALARM | {"AlarmName": "third"})
    with pytest.raises(ClientError) as refused_composite:
        cloudwatch.put_composite_alarm(AlarmName="third", AlarmRule="TRUE")
    for refused in (refused_metric, refused_composite):
        assert refused.value.response["Error"]["Code"] == "LimitExceeded"
    cloudwatch.put_metric_alarm(**ALARM | {"Threshold": 20.0})  # replaces one
    cloudwatch.delete_alarms(AlarmNames=["both"])
    cloudwatch.put_metric_alarm(**ALARM | {"AlarmName": "third"})


def test_an_alarm_is_not_replaced_by_one_of_the_other_kind(cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM)
    cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule="ALARM(load)")
    with pytest.raises(ClientError, match="the other kind"):
        cloudwatch.put_composite_alarm(AlarmName="load", AlarmRule="TRUE")
    with pytest.raises(ClientError, match="the other kind"):
        cloudwatch.put_metric_alarm(**ALARM | {"AlarmName": "both"})
