"""What one account can name of another one: nothing of its metrics, alarms and scaling policies is shown,
watched or carried out.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.autoscaling.api.scaling_policies import (
    CustomizedMetricMember,
    PutScalingPolicyRequest,
    TrackingMember,
    put_scaling_policy,
)
from hashrange.autoscaling.feature import ALARMS_AND_SCALING
from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.alarms.alarm import AlarmDefinition, Threshold
from hashrange.messages.alarms import HISTORY_ACTION_FAILED
from hashrange.messages.metric_queries import OTHER_ACCOUNT
from hashrange.testing.database import Database

OWN, OTHER = "111111111111", "222222222222"
METRIC = {"Metric": {"Namespace": "Shop", "MetricName": "Orders"}, "Period": 60, "Stat": "Sum"}
ALARM = {"EvaluationPeriods": 1, "Threshold": 1.0, "ComparisonOperator": "GreaterThanOrEqualToThreshold"}
OF_METRIC = {"Namespace": "Shop", "MetricName": "Orders", "Statistic": "Sum", "Period": 60}

ClientOf = Callable[[str, str], Any]


@pytest.fixture
def client_of(database: Database) -> ClientOf:
    """A client of a service for an account."""
    return lambda account, service: database.client(service, aws_access_key_id=account)


@pytest.fixture
def own(client_of: ClientOf) -> Any:
    """CloudWatch of the account that asks; the other account has a metric of the same name."""
    client_of(OTHER, "cloudwatch").put_metric_data(
        Namespace="Shop", MetricData=[{"MetricName": "Orders", "Value": 7.0}]
    )
    return client_of(OWN, "cloudwatch")


def results(database: Database, client: Any, *queries: dict[str, Any]) -> dict[str, Any]:
    """Results by id of their query."""
    now = database.clock.now()
    reply = client.get_metric_data(StartTime=now - 600, EndTime=now + 60, MetricDataQueries=list(queries))
    return {one["Id"]: one for one in reply["MetricDataResults"]}


def test_metrics_of_another_account_are_forbidden(database: Database, own: Any) -> None:
    found = results(
        database,
        own,
        {"Id": "a", "MetricStat": METRIC, "AccountId": OTHER},
        {"Id": "b", "Expression": "a + TIME_SERIES(1)"},
        {"Id": "c", "Expression": "SEARCH('{Shop} Orders', 'Sum', 60)", "AccountId": OTHER},
        {"Id": "d", "Expression": "SUM([TIME_SERIES(1), METRICS()])"},
    )
    for name in "abc":
        assert (found[name]["StatusCode"], found[name]["Values"]) == ("Forbidden", [])
        assert found[name]["Messages"] == [{"Code": "Forbidden", "Value": OTHER_ACCOUNT.format(account=OTHER)}]
    assert set(found["d"]["Values"]) == {1.0}


def test_metrics_of_the_own_account_may_be_named(database: Database, client_of: ClientOf, own: Any) -> None:
    query = {"Id": "a", "MetricStat": METRIC, "AccountId": OTHER}
    found = results(database, client_of(OTHER, "cloudwatch"), query)["a"]
    assert (found["StatusCode"], found["Values"]) == ("Complete", [7.0])


def test_a_search_for_another_account_finds_nothing(database: Database, own: Any) -> None:
    search = f"SEARCH(':aws.AccountId=\"{OTHER}\" Orders', 'Sum', 60)"
    assert results(database, own, {"Id": "a", "Expression": search}) == {}
    assert own.list_metrics(OwningAccount=OTHER, IncludeLinkedAccounts=True)["Metrics"] == []


def test_an_alarm_may_not_watch_another_account(database: Database, own: Any, client_of: ClientOf) -> None:
    queries = [{"Id": "a", "MetricStat": METRIC, "AccountId": OTHER}]
    with pytest.raises(ClientError, match=OTHER_ACCOUNT.format(account=OTHER)):
        own.put_metric_alarm(AlarmName="spy", Metrics=queries, **ALARM)
    client_of(OTHER, "cloudwatch").put_metric_alarm(AlarmName="own", Metrics=queries, **ALARM)


def test_an_alarm_of_an_earlier_version_sees_no_other_account(database: Database, own: Any) -> None:
    own.describe_alarms()  # so that alarms are loaded
    service = database._process.service
    threshold = Threshold("GreaterThanOrEqualToThreshold", 1.0, 1)
    query: dict[str, object] = {"Id": "a", "MetricStat": METRIC, "AccountId": OTHER}
    definition = AlarmDefinition("spy", None, threshold=threshold, queries=[query])
    alarms = service.features.part(ALARMS_AND_SCALING).alarms
    database._process.run(alarms.put, OWN, "us-east-1", definition, {})
    database.clock.advance(180)
    (alarm,) = own.describe_alarms()["MetricAlarms"]
    assert alarm["StateValue"] == "INSUFFICIENT_DATA"


def test_a_policy_with_customized_metrics_may_not_follow_another_account(
    database: Database, client_of: ClientOf
) -> None:
    """Its SDKs have no member for an account, but a request may have it."""
    place = register(client_of, OWN)
    service = database._process.service
    scaling = service.features.part(ALARMS_AND_SCALING).auto_scaling
    for account, is_allowed in ((OTHER, False), (OWN, True)):
        customized = CustomizedMetricMember(Metrics=[{"Id": "a", "MetricStat": METRIC, "AccountId": account}])
        tracking = TrackingMember(50.0, CustomizedMetricSpecification=customized)
        request = PutScalingPolicyRequest(**policy(place, "own"), TargetTrackingScalingPolicyConfiguration=tracking)
        with nullcontext() if is_allowed else pytest.raises(ServiceError, match=OTHER):
            database._process.run(put_scaling_policy, scaling, Caller(OWN, "us-east-1"), request)


def register(client_of: ClientOf, account: str) -> dict[str, str]:
    """Let an account's table be scaled; returns the members that name its target."""
    client_of(account, "dynamodb").create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )
    place = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/orders",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    }
    client_of(account, "application-autoscaling").register_scalable_target(**place, MinCapacity=1, MaxCapacity=100)
    return place


def policy(place: dict[str, str], name: str) -> dict[str, Any]:
    return {**place, "PolicyName": name, "PolicyType": "TargetTrackingScaling"}


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1"])
def test_an_alarm_of_another_account_or_region_executes_no_scaling_policy(
    database: Database, client_of: ClientOf, own: Any, region: str
) -> None:
    """An alarm of the same name as the policy's own raised the capacity of another account's table."""
    place = register(client_of, OTHER)
    tracking = {
        "TargetValue": 50.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
    }
    made = client_of(OTHER, "application-autoscaling").put_scaling_policy(
        **policy(place, "follow"), TargetTrackingScalingPolicyConfiguration=tracking
    )
    name = next(one["AlarmName"] for one in made["Alarms"] if "AlarmHigh" in one["AlarmName"])
    account = OWN if region == "us-east-1" else OTHER
    spy = database.client("cloudwatch", aws_access_key_id=account, region_name=region)
    spy.put_metric_data(Namespace="Shop", MetricData=[{"MetricName": "Orders", "Value": 1e6}])
    spy.put_metric_alarm(AlarmName=name, AlarmActions=[made["PolicyARN"]], **OF_METRIC, **ALARM)
    database.clock.advance(180)
    table = client_of(OTHER, "dynamodb").describe_table(TableName="orders")["Table"]
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 5
    history = spy.describe_alarm_history(AlarmName=name, HistoryItemType="Action")["AlarmHistoryItems"]
    told = HISTORY_ACTION_FAILED.partition(" {")[0]
    assert history
    assert all(one["HistorySummary"].startswith(told) for one in history)


@pytest.mark.parametrize(
    "arn", [f"arn:aws:cloudwatch:us-east-1:{OTHER}:alarm:x", f"arn:aws:cloudwatch:eu-west-1:{OWN}:alarm:x"]
)
def test_a_composite_alarm_names_no_alarm_of_another_account_or_region(database: Database, own: Any, arn: str) -> None:
    """Such an ARN was taken for the own alarm of that name."""
    own.put_metric_alarm(AlarmName="x", **OF_METRIC, **ALARM)
    with pytest.raises(ClientError, match="do not exist"):
        own.put_composite_alarm(AlarmName="both", AlarmRule=f'ALARM("{arn}")')
    suppressed = {"ActionsSuppressorWaitPeriod": 1, "ActionsSuppressorExtensionPeriod": 1}
    own.put_composite_alarm(
        AlarmName="both", AlarmRule=f'ALARM("{arn.replace(OTHER, OWN).replace("eu-west-1", "us-east-1")}")'
    )
    own.put_composite_alarm(AlarmName="both", AlarmRule="ALARM(x)", ActionsSuppressor=arn, **suppressed)
    own.set_alarm_state(AlarmName="x", StateValue="ALARM", StateReason="test")
    database.clock.advance(60)
    (both,) = own.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
    assert both.get("ActionsSuppressedBy") != "Alarm"
