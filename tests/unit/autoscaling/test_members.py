"""What clients may send that botocore would not let through: wrong types, names that are too long or too many."""

from functools import partial
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import get_session

from hashrange.testing.database import Database
from tests.unit.autoscaling.conftest import PLACE, TABLE
from tests.unit.autoscaling.test_operations import CUSTOM, SPACE, TRACKING, refused


def unchecked(database: Database) -> Any:
    """A client that sends what the service's model forbids."""
    return database.client("application-autoscaling", config=Config(parameter_validation=False))


def test_a_metric_of_the_wrong_type_is_refused(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    for metric in (CUSTOM | {"Unit": {"a": 1}}, CUSTOM | {"Dimensions": [{"Name": 1, "Value": "x"}]}):
        code, _ = refused(
            unchecked(database).put_scaling_policy,
            **PLACE,
            PolicyName="writes",
            TargetTrackingScalingPolicyConfiguration={"TargetValue": 10, "CustomizedMetricSpecification": metric},
        )
        assert code == "SerializationException"
    assert database.client("cloudwatch").describe_alarms()["MetricAlarms"] == []


def test_alarms_of_tables_with_long_names_can_be_described(database: Database, scaling: Any) -> None:
    name = "o" * 255
    database.client().create_table(**TABLE | {"TableName": name})
    place = PLACE | {"ResourceId": f"table/{name}"}
    scaling.register_scalable_target(**place, MinCapacity=5, MaxCapacity=10)
    alarms = scaling.put_scaling_policy(
        **place, PolicyName="writes", TargetTrackingScalingPolicyConfiguration=TRACKING
    )["Alarms"]
    names = [one["AlarmName"] for one in alarms]
    described = database.client("cloudwatch").describe_alarms(AlarmNames=names)["MetricAlarms"]
    assert sorted(one["AlarmName"] for one in described) == sorted(names)
    assert max(map(len, names)) == 255


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("describe_scalable_targets", {"ResourceIds": ["x"] * 51}),
        ("describe_scalable_targets", {"ResourceIds": ["x" * 1601]}),
        ("describe_scaling_policies", {"PolicyNames": ["x"] * 51}),
        ("describe_scaling_policies", {"PolicyNames": [""]}),
        ("describe_scheduled_actions", {"ScheduledActionNames": ["x"] * 51}),
        ("describe_scheduled_actions", {"ResourceId": "x" * 1601}),
    ],
)
def test_names_asked_for_have_limits(database: Database, operation: str, members: dict[str, Any]) -> None:
    code, message = refused(getattr(unchecked(database), operation), ServiceNamespace=SPACE, **members)
    assert code == "ValidationException"
    assert "Member must have length" in message


def test_keys_of_tags_have_limits(database: Database, scaling: Any) -> None:
    arn = scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)["ScalableTargetARN"]
    for keys in (["x"] * 201, ["x" * 129], [""]):
        assert refused(unchecked(database).untag_resource, ResourceARN=arn, TagKeys=keys)[0] == "ValidationException"


def test_a_target_has_at_most_fifty_tags_however_they_are_added(scaling: Any) -> None:
    bounds = PLACE | {"MinCapacity": 5, "MaxCapacity": 10}
    first, others = ({f"{letter}{number}": "x" for number in range(30)} for letter in "ab")
    assert refused(scaling.register_scalable_target, **bounds, Tags=first | others)[0] == "ValidationException"
    arn = scaling.register_scalable_target(**bounds, Tags=first)["ScalableTargetARN"]
    assert refused(scaling.tag_resource, ResourceARN=arn, Tags=others)[0] == "TooManyTagsException"
    assert scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == first


PLACED = ("register_scalable_target", "deregister_scalable_target", "put_scheduled_action", "delete_scheduled_action")
DESCRIBING = (
    "describe_scalable_targets",
    "describe_scaling_policies",
    "describe_scaling_activities",
    "describe_scheduled_actions",
)


@pytest.mark.parametrize("operation", [*PLACED, "put_scaling_policy", "delete_scaling_policy", *DESCRIBING])
def test_an_enumeration_that_does_not_hold_is_told_alike_by_all_operations(database: Database, operation: str) -> None:
    model = get_session().get_service_model("application-autoscaling")
    call = getattr(unchecked(database), operation)
    given: dict[str, Any] = PLACE | {"PolicyName": "writes", "ScheduledActionName": "one"}
    members = {name: given[name] for name in ("ServiceNamespace", "ScalableDimension")}
    names = {
        "deregister_scalable_target": (),
        "put_scaling_policy": ("PolicyName",),
        "delete_scaling_policy": ("PolicyName",),
        "put_scheduled_action": ("ScheduledActionName",),
        "delete_scheduled_action": ("ScheduledActionName",),
    }.get(operation, ())
    members |= {name: given[name] for name in names}
    if operation not in DESCRIBING:
        members["ResourceId"] = PLACE["ResourceId"]

    def fault(value: str, path: str, shape: str) -> str:
        values = ", ".join(model.shape_for(shape).enum)
        return (
            f"Value '{value}' at '{path}' failed to satisfy constraint: Member must satisfy enum value set: [{values}]"
        )

    space = fault("dynamo", "serviceNamespace", "ServiceNamespace")
    dimension = fault("dynamodb:table:Units", "scalableDimension", "ScalableDimension")
    wrong = {"ServiceNamespace": "dynamo"}, {"ScalableDimension": "dynamodb:table:Units"}
    assert [refused(call, **members | one) for one in wrong] == [
        ("ValidationException", f"1 validation error detected: {one}") for one in (space, dimension)
    ]
    assert refused(call, **members | wrong[0] | wrong[1]) == (
        "ValidationException",
        f"2 validation errors detected: {space}; {dimension}",
    )
    assert "Only the service namespace dynamodb is served" in refused(call, **members | {"ServiceNamespace": "ecs"})[1]
    assert refused(call, **members | {"ScalableDimension": "ecs:service:DesiredCount"}) == (
        "ValidationException",
        "Unsupported service namespace, resource type or scalable dimension",
    )


def test_a_metric_type_of_another_service_is_known_and_does_not_fit(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    put = partial(unchecked(database).put_scaling_policy, **PLACE, PolicyName="writes")
    types = get_session().get_service_model("application-autoscaling").shape_for("MetricType").enum
    assert len(types) > 30
    for name in {*types, "Nothing"} - {"DynamoDBWriteCapacityUtilization"}:
        tracking = {"TargetValue": 70, "PredefinedMetricSpecification": {"PredefinedMetricType": name}}
        _, message = refused(put, TargetTrackingScalingPolicyConfiguration=tracking)
        if name in types:
            assert message.startswith(f"The metric type {name} does not belong to the scalable dimension")
        else:
            assert message.endswith(f"Member must satisfy enum value set: [{', '.join(types)}]")
