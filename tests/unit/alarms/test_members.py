"""What the operations on alarms refuse as the service does, and what they return of an alarm's kin."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.alarms.test_alarms import ALARM, CPU

METRIC = {"Id": "m1", "MetricStat": {"Metric": CPU, "Period": 60, "Stat": "Sum"}, "ReturnData": False}
MATH = {name: value for name, value in ALARM.items() if name not in {"Namespace", "MetricName", "Statistic", "Period"}}
SEARCH = "SEARCH('{own} Load', 'Sum', 60)"


def refused(call: Any, code: str, **members: Any) -> str:
    """The message with which a call is refused."""
    with pytest.raises(ClientError) as caught:
        call(**members)
    error = caught.value.response["Error"]
    assert error["Code"] == code, error
    return str(error["Message"])


@pytest.fixture
def unchecked(database: Database) -> Any:
    """A client that sends what the model does not allow."""
    return database.client("cloudwatch", config=Config(parameter_validation=False))


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([{"Id": "e1", "Expression": SEARCH, "Period": 60}], "SEARCH is not supported on Metric Alarms."),
        ([METRIC, {"Id": "e1", "Expression": f"m1 + SUM({SEARCH})"}], "SEARCH is not supported on Metric Alarms."),
        ([{"Id": "e1", "Expression": f"SUM({SEARCH})"}], "Period must not be null"),
        ([{"Id": "e1", "Expression": "TIME_SERIES(1)"}], "Period must not be null"),
        ([METRIC, {"Id": "e1", "Expression": "AVG(m1)"}], "Error in expression 'e1': The result of an expression must"),
    ],
)
def test_expressions_that_no_alarm_can_have(cloudwatch: Any, queries: list[Any], message: str) -> None:
    """They were taken, and the alarm stayed in INSUFFICIENT_DATA or did what the service would not."""
    found = refused(cloudwatch.put_metric_alarm, "ValidationError", **MATH, Metrics=queries)
    assert found.startswith(message)


@pytest.mark.parametrize(
    "expression",
    [
        "m1 * 2 - AVG(m1)",
        "IF(m1 > 5, 1, 0)",
        "MAX(m1, m1)",
        "FILL(m1, 0)",
        "FIRST(METRICS())",
        "SUM(METRICS())",
        "-ABS(m1) / PERIOD(m1)",
        "IF(AVG(m1) > 1, m1, 0)",
        "TIME_SERIES(AVG(m1))",
        "AVG([m1, 5])",
    ],
)
def test_expressions_that_give_a_series_are_taken(cloudwatch: Any, expression: str) -> None:
    cloudwatch.put_metric_alarm(**MATH, Metrics=[METRIC, {"Id": "e1", "Expression": expression}])


@pytest.mark.parametrize(
    "expression",
    ["5", "'text'", "SUM(m1)", "2 * MAX(m1)", "METRIC_COUNT(METRICS())", "PERIOD(m1)", "IF(SUM(m1), 1, 0)", "e2"],
)
def test_expressions_that_give_a_number_are_refused(cloudwatch: Any, expression: str) -> None:
    hidden = {"Id": "e2", "Expression": "DATAPOINT_COUNT(m1) + 1", "ReturnData": False}
    queries = [METRIC, hidden, {"Id": "e1", "Expression": expression}]
    assert "time series" in refused(cloudwatch.put_metric_alarm, "ValidationError", **MATH, Metrics=queries)


@pytest.mark.parametrize("period", [1, 5, 45, 90])
def test_periods_of_alarms(cloudwatch: Any, period: int) -> None:
    for served in (10, 20, 30, 60, 120):
        cloudwatch.put_metric_alarm(**ALARM | {"Period": served})
    message = refused(cloudwatch.put_metric_alarm, "ValidationError", **ALARM | {"Period": period})
    assert message == "Period must be 10, 20, 30 or a multiple of 60"


def test_reserved_keys_of_tags_are_refused_when_alarms_are_put(cloudwatch: Any) -> None:
    tags = [{"Key": "aws:cloudformation", "Value": "x"}]
    rest = {"AlarmName": "any", "AlarmRule": "TRUE"}
    for call, members in ((cloudwatch.put_metric_alarm, ALARM), (cloudwatch.put_composite_alarm, rest)):
        assert "must not begin with aws:" in refused(call, "InvalidParameterValue", **members, Tags=tags)


@pytest.mark.parametrize(
    "action", ["arn:", "arn:aws:sns", "arn:aws::us-east-1:000000000000:topic", "arn:aws:sns:us-east-1:000000000000:"]
)
def test_actions_are_whole_arns(cloudwatch: Any, action: str) -> None:
    cloudwatch.put_metric_alarm(**ALARM, AlarmActions=["arn:aws:automate:us-east-1:ec2:stop"])
    message = refused(cloudwatch.put_metric_alarm, "ValidationError", **ALARM, AlarmActions=[action])
    assert message == f"Invalid action {action} in AlarmActions: an action is an ARN or a URL."


def test_topics_of_another_region_are_refused(cloudwatch: Any) -> None:
    far, near = (f"arn:aws:sns:{region}:000000000000:alarms" for region in ("eu-central-1", "us-east-1"))
    rest = {"AlarmName": "any", "AlarmRule": "TRUE"}
    for call, members in ((cloudwatch.put_metric_alarm, ALARM), (cloudwatch.put_composite_alarm, rest)):
        call(**members, AlarmActions=[near])
        message = refused(call, "ValidationError", **members, OKActions=[near, far])
        assert message == "Invalid region eu-central-1 specified. Only us-east-1 is supported."


def test_without_regions_topics_may_be_anywhere(database: Database) -> None:
    topic = {"AlarmActions": ["arn:aws:sns:eu-central-1:000000000000:alarms"]}
    database.client("cloudwatch", region_name="local").put_metric_alarm(**ALARM | topic)
    with server(Settings(data_dir=None, shared_db=True)) as shared:
        shared.client("cloudwatch", region_name="eu-central-1").put_metric_alarm(**ALARM | topic)


def test_kin_is_named_and_not_described_in_full(cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM)
    cloudwatch.put_composite_alarm(AlarmName="any", AlarmRule="ALARM(load)")
    (child,) = cloudwatch.describe_alarms(ChildrenOfAlarmName="any")["MetricAlarms"]
    assert set(child) == {"AlarmName", "AlarmArn", "StateValue", "StateUpdatedTimestamp"}
    (parent,) = cloudwatch.describe_alarms(ParentsOfAlarmName="load")["CompositeAlarms"]
    assert set(parent) == {"AlarmName", "AlarmArn"}
    for members in ({"AlarmNamePrefix": "l"}, {"AlarmTypes": ["MetricAlarm"]}, {"ParentsOfAlarmName": "load"}):
        message = refused(cloudwatch.describe_alarms, "ValidationError", ChildrenOfAlarmName="any", **members)
        assert message.startswith("The parameter ChildrenOfAlarmName can only be used together with")
    assert cloudwatch.describe_alarms(ChildrenOfAlarmName="any", MaxRecords=1)["MetricAlarms"] == [child]


@pytest.mark.parametrize(
    ("operation", "members", "code"),
    [
        ("describe_alarms", {"AlarmNames": [""]}, "ValidationError"),
        ("describe_alarms", {"AlarmNamePrefix": ""}, "ValidationError"),
        ("describe_alarms", {"ActionPrefix": "a" * 1_025}, "ValidationError"),
        ("describe_alarms", {"ParentsOfAlarmName": ""}, "ValidationError"),
        ("describe_alarm_history", {"AlarmName": "a" * 256}, "ValidationError"),
        ("describe_alarm_history", {"HistoryItemType": "Any"}, "ValidationError"),
        ("describe_alarms_for_metric", {**CPU, "Period": 0}, "ValidationError"),
        ("describe_alarms_for_metric", {**CPU, "Statistic": "Any"}, "ValidationError"),
        ("describe_alarms_for_metric", {**CPU, "Unit": "Any"}, "ValidationError"),
        ("list_metrics", {"Dimensions": [{"Name": ""}]}, "InvalidParameterValue"),
        ("list_metrics", {"Dimensions": [{"Name": "a", "Value": "v" * 1_025}]}, "InvalidParameterValue"),
        ("list_metrics", {"OwningAccount": ""}, "InvalidParameterValue"),
    ],
)
def test_filters_have_limits(unchecked: Any, operation: str, members: dict[str, Any], code: str) -> None:
    """A filter that no name can fit found nothing, so that a mistake of the caller looked like an answer."""
    assert refused(getattr(unchecked, operation), code, **members)


def test_events_of_contributors_may_be_asked_for(cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM)
    asked = ({"HistoryItemType": "AlarmContributorStateUpdate"}, {"AlarmContributorId": "a"})
    for members in asked:
        assert cloudwatch.describe_alarm_history(**members)["AlarmHistoryItems"] == []


def test_both_statistics_find_no_alarm(cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM)
    find = cloudwatch.describe_alarms_for_metric
    assert len(find(**CPU, Statistic="Average", Unit="None")["MetricAlarms"]) == 0
    assert len(find(**CPU, Statistic="Average")["MetricAlarms"]) == 1
    assert len(find(**CPU, Statistic="Average", ExtendedStatistic="p90")["MetricAlarms"]) == 0


def test_a_query_of_metrics_insights_is_told_what_works_instead(database: Database) -> None:
    """The error's own example is a search that runs, alone and within the functions that it names."""
    cloudwatch = database.client("cloudwatch")
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    times = {"StartTime": now - timedelta(hours=1), "EndTime": now}

    def ask(expression: str) -> Any:
        return cloudwatch.get_metric_data(MetricDataQueries=[{"Id": "q1", "Expression": expression}], **times)

    message = refused(ask, "ValidationError", expression='SELECT AVG(Load) FROM SCHEMA("own", Host) GROUP BY Host')
    assert message.startswith("Error in expression 'q1': Metrics Insights queries are not supported.")
    found = re.search(r"SEARCH\('.*?', '\w+', \d+\)", message)
    assert found is not None
    for expression in (found[0], f"SUM({found[0]})", f"MAX({found[0]})", f"SORT({found[0]}, AVG, DESC, 10)"):
        assert ask(expression)["ResponseMetadata"]["HTTPStatusCode"] == 200
