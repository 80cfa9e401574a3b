"""Reasons and histories of alarms that have much to say: their lengths are those of the service's model."""

import json
from datetime import UTC, datetime
from typing import Any

from hashrange.testing.database import Database
from tests.unit.alarms.test_alarms import ALARM, state


def test_many_datapoints_make_no_long_reason(database: Database, cloudwatch: Any) -> None:
    """Of a day by minutes, as well: the members have the lengths of the service's model."""
    cloudwatch.put_metric_alarm(**ALARM | {"EvaluationPeriods": 1_440, "DatapointsToAlarm": 1})
    now = database.clock.now()
    times = [now - 60 * number for number in range(1_440)]
    for begin in range(0, 1_440, 720):
        data = [{"MetricName": "Load", "Value": 1234.5678901, "Timestamp": at} for at in times[begin : begin + 720]]
        cloudwatch.put_metric_data(Namespace="own", MetricData=data)
    database.clock.advance(60)
    alarm = state(cloudwatch)
    reason = alarm["StateReason"]
    assert reason.startswith(
        "Threshold Crossed: 1440 out of the last 1440 datapoints were greater than the threshold (10.0)."
        " The most recent datapoints which crossed the threshold: [1234.5678901 ("
    )
    assert reason.endswith("] (minimum 1 datapoint for INSUFFICIENT_DATA -> ALARM transition).")
    assert reason.count("1234.5678901") == 5
    assert len(alarm["StateReasonData"]) <= 4_000
    told = json.loads(alarm["StateReasonData"])
    newest = told["evaluatedDatapoints"][0]["timestamp"]
    assert newest == f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%S}.000+0000"
    assert len(told["evaluatedDatapoints"]) == len(told["recentDatapoints"])


def test_data_of_events_is_no_longer_than_the_model_says(cloudwatch: Any) -> None:
    queries: list[dict[str, Any]] = [
        {"Id": f"e{number}", "Expression": "1 + " * 400 + "TIME_SERIES(1)", "Period": 60} for number in range(3)
    ]
    for query in queries[1:]:
        query["ReturnData"] = False
    rest = {"EvaluationPeriods": 1, "Threshold": 10.0, "ComparisonOperator": "GreaterThanThreshold"}
    cloudwatch.put_metric_alarm(AlarmName="load", Metrics=queries, **rest)
    for value, reason, data in (("OK", "x" * 1_023, '"' + "x" * 3_990 + '"'), ("ALARM", "\x00" * 1_023, "{}")):
        cloudwatch.set_alarm_state(AlarmName="load", StateValue=value, StateReason=reason, StateReasonData=data)
    cloudwatch.delete_alarms(AlarmNames=["load"])
    found = cloudwatch.describe_alarm_history(AlarmName="load", ScanBy="TimestampAscending")["AlarmHistoryItems"]
    assert [list(json.loads(one["HistoryData"])) for one in found] == [
        ["version", "type"],
        ["version", "oldState", "newState"],
        ["version", "oldState", "newState"],
        ["version", "type"],
    ]
    assert all(len(one["HistoryData"]) <= 4_095 for one in found)
