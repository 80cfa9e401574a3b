"""What a notification says of its alarm: as the service's notifications that users quote."""

from typing import Any

import msgspec
import pytest

from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmDefinition, Suppressor, Threshold, WatchedMetric
from hashrange.cloudwatch.alarms.alarms import AlarmAction
from hashrange.cloudwatch.alarms.notification import lambda_event, notification_of, subject_of
from hashrange.testing.database import Database
from tests.unit.alarms.test_alarms import ALARM, state


def told(definition: AlarmDefinition, region: str = "us-east-1") -> AlarmAction:
    alarm = Alarm("000000000000", region, definition, 1_800_000_000.0, state="ALARM", reason="a trial")
    previous = msgspec.structs.replace(alarm, state="OK", reason="all is well", updated_seconds=1_799_999_000.0)
    return AlarmAction(alarm, "arn:aws:sns:us-east-1:000000000000:alarms", previous, 1_800_000_060.5)


def test_an_alarm_on_a_metric() -> None:
    metric = WatchedMetric("AWS/Usage", "CallCount", "Average", 300, (("Type", "API"),))
    threshold = Threshold("GreaterThanThreshold", 1.0, 1)
    assert notification_of(told(AlarmDefinition("calls", threshold=threshold, metric=metric))) == {
        "AlarmName": "calls",
        "AlarmDescription": None,
        "AWSAccountId": "000000000000",
        "AlarmConfigurationUpdatedTimestamp": "2027-01-15T08:00:00.000+0000",
        "NewStateValue": "ALARM",
        "NewStateReason": "a trial",
        "StateChangeTime": "2027-01-15T08:01:00.500+0000",
        "Region": "US East (N. Virginia)",
        "AlarmArn": "arn:aws:cloudwatch:us-east-1:000000000000:alarm:calls",
        "OldStateValue": "OK",
        "OKActions": [],
        "AlarmActions": [],
        "InsufficientDataActions": [],
        "Trigger": {
            "MetricName": "CallCount",
            "Namespace": "AWS/Usage",
            "StatisticType": "Statistic",
            "Statistic": "AVERAGE",
            "Unit": None,
            "Dimensions": [{"value": "API", "name": "Type"}],
            "Period": 300,
            "EvaluationPeriods": 1,
            "ComparisonOperator": "GreaterThanThreshold",
            "Threshold": 1.0,
            "TreatMissingData": "",
            "EvaluateLowSampleCountPercentile": "",
        },
    }


def test_settings_of_the_threshold_are_told_as_they_were_given() -> None:
    threshold = Threshold("LessThanThreshold", 1.0, 3, 2, "missing", "ignore")
    metric = WatchedMetric("own", "Load", "p90", 60)
    trigger = notification_of(told(AlarmDefinition("load", threshold=threshold, metric=metric)))["Trigger"]
    assert trigger["DatapointsToAlarm"] == 2
    assert trigger["TreatMissingData"] == "missing"
    assert trigger["EvaluateLowSampleCountPercentile"] == "ignore"
    assert (trigger["StatisticType"], trigger["ExtendedStatistic"]) == ("ExtendedStatistic", "p90")


def test_an_alarm_on_metric_math() -> None:
    metric = {"Namespace": "own", "MetricName": "Hosts", "Dimensions": [{"Name": "Group", "Value": "a"}]}
    queries: list[dict[str, object]] = [
        {"Id": "e1", "Expression": "100 * m1"},
        {"Id": "m1", "MetricStat": {"Metric": metric, "Period": 300, "Stat": "Average"}, "ReturnData": False},
    ]
    threshold = Threshold("LessThanThreshold", 65.0, 5)
    trigger = notification_of(told(AlarmDefinition("hosts", threshold=threshold, queries=queries)))["Trigger"]
    assert trigger["Period"] == 300
    told_metric = {"Namespace": "own", "MetricName": "Hosts", "Dimensions": [{"value": "a", "name": "Group"}]}
    assert trigger["Metrics"] == [
        {"Id": "e1", "Expression": "100 * m1", "ReturnData": True},
        {"Id": "m1", "MetricStat": {"Metric": told_metric, "Period": 300, "Stat": "Average"}, "ReturnData": False},
    ]


def test_a_function_is_told_of_both_states_and_the_metric() -> None:
    metric = WatchedMetric("own", "Load", "Sum", 60, (("Host", "a"),), "Count")
    definition = AlarmDefinition("load", threshold=Threshold("GreaterThanThreshold", 1.0, 1), metric=metric)
    action = told(definition)
    previous = msgspec.structs.replace(action.previous, reason_data="{}")
    assert lambda_event(action._replace(previous=previous)) == {
        "source": "aws.cloudwatch",
        "alarmArn": "arn:aws:cloudwatch:us-east-1:000000000000:alarm:load",
        "accountId": "000000000000",
        "time": "2027-01-15T08:01:00.500+0000",
        "region": "us-east-1",
        "alarmData": {
            "alarmName": "load",
            "state": {"value": "ALARM", "reason": "a trial", "timestamp": "2027-01-15T08:01:00.500+0000"},
            "previousState": {
                "value": "OK",
                "reason": "all is well",
                "reasonData": "{}",
                "timestamp": "2027-01-15T07:43:20.000+0000",
            },
            "configuration": {
                "metrics": [
                    {
                        "id": "m1",
                        "metricStat": {
                            "metric": {"namespace": "own", "name": "Load", "dimensions": {"Host": "a"}},
                            "period": 60,
                            "stat": "Sum",
                            "unit": "Count",
                        },
                        "returnData": True,
                    }
                ]
            },
        },
    }


def test_a_function_is_told_of_metric_math_and_of_rules() -> None:
    metric = {"Namespace": "own", "MetricName": "Hosts", "Dimensions": [{"Name": "Group", "Value": "a"}]}
    queries: list[dict[str, object]] = [
        {"Id": "e1", "Expression": "100 * m1", "Label": "share"},
        {"Id": "m1", "MetricStat": {"Metric": metric, "Period": 300, "Stat": "Average"}, "ReturnData": False},
    ]
    math = AlarmDefinition("hosts", "all", threshold=Threshold("LessThanThreshold", 65.0, 5), queries=queries)
    told_metric = {"namespace": "own", "name": "Hosts", "dimensions": {"Group": "a"}}
    assert lambda_event(told(math))["alarmData"]["configuration"] == {
        "description": "all",
        "metrics": [
            {"id": "e1", "expression": "100 * m1", "label": "share", "returnData": True},
            {"id": "m1", "metricStat": {"metric": told_metric, "period": 300, "stat": "Average"}, "returnData": False},
        ],
    }
    composite = AlarmDefinition("any", rule="ALARM(a)", suppressor=Suppressor("b", 20, 30))
    assert lambda_event(told(composite))["alarmData"]["configuration"] == {
        "alarmRule": "ALARM(a)",
        "actionsSuppressor": "b",
        "actionsSuppressorWaitPeriod": 20,
        "actionsSuppressorExtensionPeriod": 30,
    }


@pytest.mark.parametrize(
    ("region", "name"),
    [("us-west-2", "US West (Oregon)"), ("eu-central-1", "EU (Frankfurt)"), ("mars-north-1", "mars-north-1")],
)
def test_regions_are_called_by_their_names(region: str, name: str) -> None:
    action = told(AlarmDefinition("any", rule="TRUE"), region)
    assert notification_of(action)["Region"] == name
    assert subject_of(action) == f'ALARM: "any" in {name}'


@pytest.mark.parametrize("given", [None, "missing", "ignore"])
def test_how_missing_data_count_is_described_as_it_was_given(
    database: Database, cloudwatch: Any, given: str | None
) -> None:
    cloudwatch.put_metric_alarm(**ALARM, **({} if given is None else {"TreatMissingData": given}))
    assert state(cloudwatch).get("TreatMissingData") == given
