"""The 14 operations through botocore: what they keep, describe and refuse."""

import copy
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.testing.database import Database
from tests.unit.autoscaling.conftest import PLACE, TABLE, Load, activities, follow

SPACE = "dynamodb"
NO_TARGET = (
    "No scalable target {verb} for service namespace: dynamodb, resource ID: table/orders,"
    " scalable dimension: dynamodb:table:WriteCapacityUnits"
)
TRACKING = {
    "TargetValue": 70.0,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
}


def refused(call: Any, **members: Any) -> tuple[str, str]:
    """Code and message of the error."""
    with pytest.raises(ClientError) as caught:
        call(**members)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_targets_are_registered_described_and_deregistered(database: Database, scaling: Any) -> None:
    arn = scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10, Tags={"team": "shop"})[
        "ScalableTargetARN"
    ]
    assert arn.startswith("arn:aws:application-autoscaling:us-east-1:000000000000:scalable-target/")
    assert scaling.register_scalable_target(**PLACE, MaxCapacity=20)["ScalableTargetARN"] == arn
    (target,) = scaling.describe_scalable_targets(ServiceNamespace=SPACE)["ScalableTargets"]
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    assert target.pop("CreationTime") == now.replace(microsecond=now.microsecond // 1000 * 1000)
    assert target == PLACE | {
        "MinCapacity": 5,
        "MaxCapacity": 20,
        "RoleARN": "arn:aws:iam::000000000000:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com"
        "/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable",
        "SuspendedState": {
            "DynamicScalingInSuspended": False,
            "DynamicScalingOutSuspended": False,
            "ScheduledScalingSuspended": False,
        },
        "ScalableTargetARN": arn,
    }
    follow(scaling)
    in_an_hour = datetime.fromtimestamp(database.clock.now() + 3600, UTC)
    scaling.put_scheduled_action(
        **PLACE,
        ScheduledActionName="later",
        Schedule=f"at({in_an_hour:%Y-%m-%dT%H:%M:%S})",
        ScalableTargetAction={"MinCapacity": 6},
    )
    scaling.deregister_scalable_target(**PLACE)
    for what in ("ScalableTargets", "ScalingPolicies", "ScheduledActions"):
        name = "describe_" + {"ScalableTargets": "scalable_targets", "ScalingPolicies": "scaling_policies"}.get(
            what, "scheduled_actions"
        )
        assert getattr(scaling, name)(ServiceNamespace=SPACE)[what] == []
    assert database.client("cloudwatch").describe_alarms()["MetricAlarms"] == []
    assert refused(scaling.deregister_scalable_target, **PLACE) == (
        "ObjectNotFoundException",
        NO_TARGET.format(verb="found"),
    )


def test_registering_brings_the_capacity_within_the_bounds(scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=20, MaxCapacity=100)
    assert load.units() == 20
    scaling.register_scalable_target(**PLACE, MinCapacity=1, MaxCapacity=10)
    assert load.units() == 10
    lowered, raised = activities(scaling)
    assert (raised["Cause"], raised["StatusCode"]) == ("minimum capacity was set to 20", "Successful")
    assert (lowered["Cause"], lowered["Description"]) == (
        "maximum capacity was set to 10",
        "Setting write capacity units to 10.",
    )
    assert raised["EndTime"] >= raised["StartTime"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"MinCapacity": None}, "Minimum capacity and maximum capacity must be given"),
        ({"MinCapacity": 11}, "Maximum capacity cannot be less than minimum capacity"),
        (
            {"MaxCapacity": 2**31},
            (
                "Value '2147483648' at 'maxCapacity' failed to satisfy constraint: Member must have value less"
                " than or equal to 2147483647"
            ),
        ),
        (
            {"MinCapacity": 0},
            (
                "Value '0' at 'minCapacity' failed to satisfy constraint: Member must have value"
                " greater than or equal to 1"
            ),
        ),
        ({"ServiceNamespace": "ecs"}, "Only the service namespace dynamodb is served"),
        ({"ResourceId": "table/missing"}, "DynamoDB table does not exist: table/missing"),
    ],
)
def test_what_cannot_be_registered(scaling: Any, changes: dict[str, Any], words: str) -> None:
    members = PLACE | {"MinCapacity": 5, "MaxCapacity": 10} | changes
    given = {name: value for name, value in members.items() if value is not None}
    code, message = refused(scaling.register_scalable_target, **given)
    assert code == "ValidationException"
    assert words in message


@pytest.mark.parametrize(
    "changes",
    [
        {"ResourceId": "table/orders/index/by-who"},
        {"ResourceId": "orders"},
        {"ResourceId": "table/orders", "ScalableDimension": "dynamodb:index:ReadCapacityUnits"},
        {"ScalableDimension": "ecs:service:DesiredCount"},
    ],
)
def test_a_dimension_that_does_not_fit_is_told_without_its_name(scaling: Any, changes: dict[str, Any]) -> None:
    unsupported = (
        "ValidationException",
        "Unsupported service namespace, resource type or scalable dimension",
    )
    members = PLACE | changes
    assert refused(scaling.register_scalable_target, **members, MinCapacity=5, MaxCapacity=10) == unsupported
    assert refused(scaling.deregister_scalable_target, **members) == unsupported
    assert refused(follow_of(scaling), **members) == unsupported


def follow_of(scaling: Any) -> Any:
    """PutScalingPolicy with all members but the place."""
    return partial(scaling.put_scaling_policy, PolicyName="writes", TargetTrackingScalingPolicyConfiguration=TRACKING)


def test_tables_on_demand_cannot_be_registered_and_those_that_switch_rest(
    database: Database, scaling: Any, load: Load
) -> None:
    client = database.client()
    client.create_table(
        TableName="free",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    members = PLACE | {"ResourceId": "table/free", "MinCapacity": 5, "MaxCapacity": 10}
    code, message = refused(scaling.register_scalable_target, **members)
    assert (code, "PAY_PER_REQUEST" in message) == ("ValidationException", True)
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    follow(scaling)
    client.update_table(TableName="orders", BillingMode="PAY_PER_REQUEST")
    for _ in range(4):
        load.minute(600)
    assert activities(scaling, IncludeNotScaledActivities=True) == []
    client.delete_table(TableName="orders")
    database.clock.advance(3600)
    assert len(scaling.describe_scaling_policies(ServiceNamespace=SPACE)["ScalingPolicies"]) == 1
    assert refused(scaling.register_scalable_target, **PLACE, MinCapacity=5)[1].startswith("DynamoDB table does not")
    client.create_table(**TABLE)
    assert [load.minute(units) for units in (0, 0, 600, 600)] == [5, 5, 5, 15], (
        "the new table has the target of the old one"
    )


def test_policies_are_put_described_and_deleted(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    put = follow(scaling, ScaleInCooldown=60)
    assert ":resource/dynamodb/table/orders:policyName/writes" in put["PolicyARN"]
    assert [one["AlarmName"].split("-")[2] for one in put["Alarms"]] == [
        "AlarmHigh",
        "AlarmLow",
        "ProvisionedCapacityHigh",
        "ProvisionedCapacityLow",
    ]
    again = follow(scaling, 50, DisableScaleIn=True)
    assert again["PolicyARN"] == put["PolicyARN"]
    assert again["Alarms"] == [one for one in put["Alarms"] if "AlarmLow" not in one["AlarmName"]]
    alarms = database.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert sorted(one["AlarmName"] for one in alarms) == sorted(one["AlarmName"] for one in again["Alarms"])
    assert alarms[0]["Threshold"] == 5 * 60 * 0.5
    assert alarms[0]["AlarmActions"] == [put["PolicyARN"]]
    (policy,) = scaling.describe_scaling_policies(ServiceNamespace=SPACE, PolicyNames=["writes", "other"])[
        "ScalingPolicies"
    ]
    assert policy["TargetTrackingScalingPolicyConfiguration"] == TRACKING | {
        "TargetValue": 50.0,
        "DisableScaleIn": True,
    }
    assert policy["Alarms"] == again["Alarms"]
    scaling.delete_scaling_policy(**PLACE, PolicyName="writes")
    assert database.client("cloudwatch").describe_alarms()["MetricAlarms"] == []
    code, message = refused(scaling.delete_scaling_policy, **PLACE, PolicyName="writes")
    assert (code, message.endswith("policy name: writes")) == ("ObjectNotFoundException", True)


CUSTOM = {"Namespace": "shop", "MetricName": "Queue", "Statistic": "Sum"}
QUEUE = {"Metric": {"Namespace": "shop", "MetricName": "Queue"}, "Stat": "Sum"}
SEARCHES = [
    {"Id": "m1", "MetricStat": QUEUE, "ReturnData": False},
    {"Id": "e1", "Expression": "m1 + SUM(SEARCH('{shop} Queue', 'Sum', 60))"},
]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"PolicyType": "StepScaling"}, "Only target tracking scaling policies are supported for DynamoDB."),
        ({"PolicyType": "PredictiveScaling"}, "Only target tracking scaling policies are supported for DynamoDB."),
        ({"PolicyType": "Other"}, "'policyType' failed to satisfy constraint: Member must satisfy enum value set"),
        ({"TargetTrackingScalingPolicyConfiguration": None}, "needs TargetTrackingScalingPolicyConfiguration"),
        ({"PolicyName": "a\nb"}, "'policyName' failed to satisfy constraint: Member must satisfy regular expression"),
        ({"TargetValue": 19.9}, "Target value must be between 20.0 and 90.0"),
        ({"TargetValue": 91}, "Target value must be between 20.0 and 90.0"),
        ({"ScaleInCooldown": -1}, "scaleInCooldown"),
        ({"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}, "does not belong to the scalable dimension"),
        (
            {"PredefinedMetricType": "Nothing"},
            "'targetTrackingScalingPolicyConfiguration.predefinedMetricSpecification.predefinedMetricType' failed",
        ),
        ({"CustomizedMetricSpecification": CUSTOM}, "Exactly one of PredefinedMetricSpecification and"),
        ({"Custom": {"Namespace": "shop"}}, "A customized metric needs Namespace, MetricName and Statistic"),
        (
            {"Custom": CUSTOM | {"Statistic": "p99"}},
            "customizedMetricSpecification.statistic' failed to satisfy constraint",
        ),
        (
            {"Custom": CUSTOM | {"Metrics": SEARCHES}},
            "The members MetricName, Namespace, Statistic of a customized metric cannot",
        ),
        ({"Custom": {"Metrics": SEARCHES}}, "SEARCH is not supported on Metric Alarms."),
        ({"Custom": CUSTOM | {"Unit": "Crate"}}, "Unit must be"),
        ({"Custom": CUSTOM | {"Namespace": "x" * 256}}, "Namespace"),
        ({"Custom": CUSTOM | {"Dimensions": [{"Name": "a", "Value": "1"}, {"Name": "a", "Value": "2"}]}}, "a"),
        ({"Custom": CUSTOM | {"Dimensions": [{"Name": "a", "Value": ""}]}}, "Dimensions.member.1.Value"),
        ({"ScaleOutCooldown": 2**31}, "scaleOutCooldown"),
        ({"Custom": CUSTOM, "TargetValue": 0}, "Target value must be greater than 0."),
        ({"Custom": CUSTOM, "TargetValue": 2.0**361}, "Target value must be between 2^-360 and 2^360."),
        ({"Custom": CUSTOM, "TargetValue": 2.0**-361}, "Target value must be between 2^-360 and 2^360."),
        ({"Custom": {"Metrics": [{"Id": "a", "Expression": "1 +"}]}}, "Error in expression 'a'"),
        ({"Custom": {"Metrics": [{"Id": "a", "Expression": "b + 1"}]}}, "b"),
    ],
)
def test_policies_that_are_refused(scaling: Any, changes: dict[str, Any], words: str) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    tracking: dict[str, Any] = dict(TRACKING)
    members: dict[str, Any] = PLACE | {"PolicyName": "writes", "PolicyType": "TargetTrackingScaling"}
    for name, value in changes.items():
        if name == "PredefinedMetricType":
            tracking["PredefinedMetricSpecification"] = {name: value}
        elif name == "Custom":
            tracking |= {"CustomizedMetricSpecification": value}
            del tracking["PredefinedMetricSpecification"]
        elif name in {"TargetValue", "ScaleInCooldown", "ScaleOutCooldown", "CustomizedMetricSpecification"}:
            tracking[name] = value
        else:
            members[name] = value
    members = {"TargetTrackingScalingPolicyConfiguration": tracking} | members
    given = {name: value for name, value in members.items() if value is not None}
    code, message = refused(scaling.put_scaling_policy, **given)
    assert code == "ValidationException"
    assert words in message
    assert scaling.describe_scaling_policies(ServiceNamespace=SPACE)["ScalingPolicies"] == []


def test_a_policy_needs_a_target_and_a_metric_of_its_own(scaling: Any) -> None:
    members: dict[str, Any] = PLACE | {
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": TRACKING,
    }
    assert refused(scaling.put_scaling_policy, PolicyName="a", **members) == (
        "ObjectNotFoundException",
        NO_TARGET.format(verb="registered"),
    )
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    scaling.put_scaling_policy(PolicyName="a", **members)
    second = (
        "ValidationException",
        "Only one TargetTrackingScaling policy for a given metric specification is allowed.",
    )
    assert refused(scaling.put_scaling_policy, PolicyName="b", **members) == second
    for customized in (CUSTOM, {"Metrics": [{"Id": "m1", "MetricStat": QUEUE}]}):
        members["TargetTrackingScalingPolicyConfiguration"] = {
            "TargetValue": 5.0,
            "CustomizedMetricSpecification": customized,
        }
        scaling.put_scaling_policy(PolicyName=f"{len(customized)}", **members)
        members["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] = 6.0
        assert refused(scaling.put_scaling_policy, PolicyName="b", **members) == second


def test_a_policy_on_metric_math(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    stat = {
        "Metric": {
            "Namespace": "AWS/DynamoDB",
            "MetricName": "ConsumedWriteCapacityUnits",
            "Dimensions": [{"Name": "TableName", "Value": "orders"}],
        },
        "Stat": "Sum",
    }
    scaling.put_scaling_policy(
        **PLACE,
        PolicyName="math",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 200,
            "CustomizedMetricSpecification": {
                "Metrics": [
                    {"Id": "used", "MetricStat": stat, "ReturnData": False},
                    {"Id": "doubled", "Expression": "2 * used"},
                ]
            },
        },
    )
    assert [load.minute(0) for _ in range(5)] == [5] * 5
    assert [load.minute(600) for _ in range(4)] == [5, 5, 30, 100]


def test_members_that_the_api_does_not_have_are_not_kept(database: Database, scaling: Any) -> None:
    """Policies of 0.8 MB each stayed in memory."""
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    dimension: dict[str, Any] = {"Name": "of", "Value": "orders"}
    metric: dict[str, Any] = {"Namespace": "own", "MetricName": "queue", "Dimensions": [dimension]}
    stat: dict[str, Any] = {"Metric": metric, "Stat": "Sum"}
    query: dict[str, Any] = {"Id": "used", "MetricStat": stat, "Label": "queue", "ReturnData": True}
    policy: dict[str, Any] = {
        "PolicyName": "junk",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {
            "TargetValue": 5.0,
            "CustomizedMetricSpecification": {"Metrics": [query]},
            "DisableScaleIn": False,
        },
    }
    wanted = copy.deepcopy(policy)
    for members in (query, stat, metric, dimension):
        members["Junk"] = ["x"]
    database.call("PutScalingPolicy", PLACE | policy, service="application-autoscaling")
    (shown,) = scaling.describe_scaling_policies(ServiceNamespace=SPACE)["ScalingPolicies"]
    assert {name: shown[name] for name in wanted} == wanted
    kept = database.call("DescribeScalingPolicies", {"ServiceNamespace": SPACE}, service="application-autoscaling")
    assert "Junk" not in str(kept)


def test_scheduled_actions_are_put_changed_described_and_deleted(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    begin = datetime.fromtimestamp(database.clock.now() // 1 + 3600, UTC)
    members = PLACE | {"ScheduledActionName": "nightly"}
    scaling.put_scheduled_action(
        **members,
        Schedule="cron(0 3 * * ? *)",
        Timezone="Europe/Berlin",
        StartTime=begin,
        EndTime=begin + timedelta(days=3),
        ScalableTargetAction={"MinCapacity": 10, "MaxCapacity": 20},
    )
    (action,) = scaling.describe_scheduled_actions(ServiceNamespace=SPACE)["ScheduledActions"]
    assert ":resource/dynamodb/table/orders:scheduledActionName/nightly" in action["ScheduledActionARN"]
    assert (action["StartTime"], action["EndTime"]) == (begin, begin + timedelta(days=3))
    assert (action["Schedule"], action["Timezone"]) == ("cron(0 3 * * ? *)", "Europe/Berlin")
    scaling.put_scheduled_action(**members, Schedule="rate(1 hour)")
    (changed,) = scaling.describe_scheduled_actions(
        ServiceNamespace=SPACE, ScheduledActionNames=["nightly"], ResourceId="table/orders"
    )["ScheduledActions"]
    assert changed["ScheduledActionARN"] == action["ScheduledActionARN"]
    assert changed["ScalableTargetAction"] == {"MinCapacity": 10, "MaxCapacity": 20}
    assert "StartTime" not in changed, "times that are not given are deleted"
    scaling.delete_scheduled_action(**members)
    assert refused(scaling.delete_scheduled_action, **members)[0] == "ObjectNotFoundException"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"Schedule": None}, "Schedule must be given"),
        ({"Schedule": "daily"}, "Invalid schedule expression: daily"),
        ({"Schedule": "at(2020-01-01T00:00:00)"}, "The schedule never comes: at(2020-01-01T00:00:00)"),
        ({"Timezone": "Mars/North"}, "Invalid time zone: Mars/North"),
        ({"ScalableTargetAction": None}, "At least one of minimum capacity and maximum capacity should be provided"),
        ({"ScalableTargetAction": {}}, "At least one of minimum capacity and maximum capacity should be provided"),
        ({"ScalableTargetAction": {"MinCapacity": 9, "MaxCapacity": 8}}, "Maximum capacity cannot be less than"),
        ({"ScheduledActionName": "a/b"}, "'scheduledActionName' failed to satisfy constraint"),
        ({"StartTime": 2e9 + 1, "EndTime": 2e9}, "StartTime must be before EndTime."),
    ],
)
def test_scheduled_actions_that_are_refused(scaling: Any, changes: dict[str, Any], words: str) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    members = PLACE | {
        "ScheduledActionName": "one",
        "Schedule": "rate(1 hour)",
        "ScalableTargetAction": {"MinCapacity": 6},
    }
    given = {name: value for name, value in (members | changes).items() if value is not None}
    code, message = refused(scaling.put_scheduled_action, **given)
    assert code == "ValidationException"
    assert words in message


def test_tags_belong_to_targets(scaling: Any) -> None:
    arn = scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10, Tags={"a": "1", "b": "2"})[
        "ScalableTargetARN"
    ]
    scaling.tag_resource(ResourceARN=arn, Tags={"b": "3", "c": "4"})
    scaling.untag_resource(ResourceARN=arn, TagKeys=["a", "nothing"])
    assert scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"b": "3", "c": "4"}
    many = {f"key-{number}": "x" for number in range(49)}
    assert refused(scaling.tag_resource, ResourceARN=arn, Tags=many)[0] == "TooManyTagsException"
    with pytest.raises(scaling.exceptions.ResourceNotFoundException) as caught:
        scaling.list_tags_for_resource(ResourceARN=arn[:-1])
    assert caught.value.response["ResourceName"] == arn[:-1]


def test_a_target_that_exists_is_not_tagged_by_registering_it(scaling: Any) -> None:
    arn = scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10, Tags={"a": "1"})["ScalableTargetARN"]
    for tags in ({"b": "2"}, {"a": "1"}):
        code, message = refused(scaling.register_scalable_target, **PLACE, MaxCapacity=20, Tags=tags)
        assert code == "ValidationException"
        assert message == (
            "The scalable target that you tried to tag already exists."
            " To update tags on an existing scalable target, use the TagResource API."
        )
    assert scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"a": "1"}
    scaling.register_scalable_target(**PLACE, MaxCapacity=20, Tags={})
    (target,) = scaling.describe_scalable_targets(ServiceNamespace=SPACE)["ScalableTargets"]
    assert target["MaxCapacity"] == 20, "a target is changed without tags, and was not changed with them"


@pytest.mark.parametrize("value", ["", " ", "\t\n"])
def test_values_of_tags_are_not_blank(scaling: Any, value: str) -> None:
    blank = ("ValidationException", "Tag values cannot be empty or blank")
    tags = {"a": "1", "b": value}
    register = partial(scaling.register_scalable_target, **PLACE, MinCapacity=5, MaxCapacity=10)
    assert refused(register, Tags=tags) == blank
    assert scaling.describe_scalable_targets(ServiceNamespace=SPACE)["ScalableTargets"] == []
    assert refused(scaling.tag_resource, ResourceARN=register()["ScalableTargetARN"], Tags=tags) == blank


@pytest.mark.parametrize("key", ["aws:a", "AWS:a"])
def test_keys_of_tags_that_begin_with_aws_are_reserved(scaling: Any, key: str) -> None:
    register = partial(scaling.register_scalable_target, **PLACE, MinCapacity=5, MaxCapacity=10)
    code, message = refused(register, Tags={key: "1"})
    assert (code, "aws:" in message) == ("ValidationException", True)
    arn = register(Tags={"aws": "1"})["ScalableTargetARN"]
    assert refused(scaling.tag_resource, ResourceARN=arn, Tags={key: "1"}) == (code, message)
    assert scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"aws": "1"}


def test_lists_come_in_pages(scaling: Any) -> None:
    dimensions = [
        ("table/orders", "dynamodb:table:ReadCapacityUnits"),
        ("table/orders", "dynamodb:table:WriteCapacityUnits"),
        ("table/orders/index/by-who", "dynamodb:index:ReadCapacityUnits"),
        ("table/orders/index/by-who", "dynamodb:index:WriteCapacityUnits"),
    ]
    for resource, dimension in dimensions:
        place = {"ServiceNamespace": SPACE, "ResourceId": resource, "ScalableDimension": dimension}
        scaling.register_scalable_target(**place, MinCapacity=6, MaxCapacity=10)
    paginator = scaling.get_paginator("describe_scalable_targets")
    pages = list(paginator.paginate(ServiceNamespace=SPACE, PaginationConfig={"PageSize": 3}))
    assert [len(page["ScalableTargets"]) for page in pages] == [3, 1]
    targets = [one for page in pages for one in page["ScalableTargets"]]
    assert sorted((one["ResourceId"], one["ScalableDimension"]) for one in targets) == sorted(dimensions)
    pages = scaling.get_paginator("describe_scaling_activities").paginate(
        ServiceNamespace=SPACE, ResourceId="table/orders", PaginationConfig={"PageSize": 1}
    )
    assert [len(page["ScalingActivities"]) for page in pages] == [1, 1]
    call = scaling.describe_scalable_targets
    assert refused(call, ServiceNamespace=SPACE, NextToken="none")[0] == "InvalidNextTokenException"
    assert refused(call, ServiceNamespace=SPACE, MaxResults=51)[0] == "ValidationException"
    assert refused(call, ServiceNamespace=SPACE, ScalableDimension=dimensions[0][1])[0] == "ValidationException"
    one = call(ServiceNamespace=SPACE, ResourceIds=["table/orders"], ScalableDimension=dimensions[0][1])
    assert len(one["ScalableTargets"]) == 1


def test_nothing_is_predicted(scaling: Any) -> None:
    code, message = refused(
        scaling.get_predictive_scaling_forecast,
        **PLACE,
        PolicyName="writes",
        StartTime=datetime(2027, 1, 1, tzinfo=UTC),
        EndTime=datetime(2027, 1, 2, tzinfo=UTC),
    )
    assert (code, message) == ("ValidationException", "Predictive scaling is not supported for DynamoDB.")
