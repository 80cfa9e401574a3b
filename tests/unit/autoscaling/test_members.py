"""What clients may send that botocore would not let through: wrong types, names that are too long or too many."""

from typing import Any

import pytest
from botocore.config import Config

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
    arn = scaling.register_scalable_target(**bounds, Tags=first)["ScalableTargetARN"]
    assert refused(scaling.register_scalable_target, **bounds, Tags=others)[0] == "ValidationException"
    assert refused(scaling.tag_resource, ResourceARN=arn, Tags=others)[0] == "TooManyTagsException"
    assert scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == first
