"""Alarms have tags: at most 50, which are added, replaced and removed by the alarm's ARN."""

from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller, FormWire, Operation, ServiceError
from hashrange.cloudwatch.alarms.alarm import AlarmDefinition
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.api.tags import OPERATIONS
from tests.unit.cloudwatch.conftest import World

NAMED = {operation.name: operation for operation in OPERATIONS}
CALLER = Caller("000000000000", "us-east-1")
ARN = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:too: slow"


class Tags:
    """The tags of one alarm."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.alarms = Alarms(world.store.documents, world.clock)
        world.run(self.alarms.put(*CALLER, AlarmDefinition("too: slow", rule="FALSE"), {"a": "1"}))

    def send(self, operation: Operation[FormWire], **members: Any) -> Any:
        """The reply to a request."""
        request = msgspec.convert({"ResourceARN": ARN, **members}, operation.request)
        return self.world.run(operation.run(self.alarms, CALLER, request))

    def add(self, tags: dict[str, str], **members: Any) -> None:
        """Add tags."""
        given = [{"Key": key, "Value": value} for key, value in tags.items()]
        self.send(NAMED["TagResource"], Tags=given, **members)

    def remove(self, *keys: str, **members: Any) -> None:
        """Remove tags."""
        self.send(NAMED["UntagResource"], TagKeys=keys, **members)

    def all(self, **members: Any) -> dict[str, str]:
        """All tags."""
        reply = self.send(NAMED["ListTagsForResource"], **members)
        return {tag["Key"]: tag["Value"] for tag in reply["Tags"]}


def test_tags_are_added_replaced_and_removed(world: World) -> None:
    tags = Tags(world)
    tags.add({"b": "2", "c": ""})
    tags.add({"a": "3"})
    assert tags.all() == {"a": "3", "b": "2", "c": ""}
    tags.remove("a", "c", "other")
    assert tags.all() == {"b": "2"}
    tags.alarms = Alarms(world.store.documents, world.clock)
    assert tags.all() == {"b": "2"}


@pytest.mark.parametrize("tags", [{"": "1"}, {"k" * 129: "1"}, {"k": "v" * 257}, {"aws:k": "1"}])
def test_wrong_tags_are_refused(world: World, tags: dict[str, str]) -> None:
    alarm_tags = Tags(world)
    with pytest.raises(ServiceError) as caught:
        alarm_tags.add({"good": "1", **tags})
    assert caught.value.code == "InvalidParameterValueException"
    assert alarm_tags.all() == {"a": "1"}


def test_an_alarm_has_at_most_50_tags(world: World) -> None:
    tags = Tags(world)
    tags.add({f"key {place}": "1" for place in range(49)})
    with pytest.raises(ServiceError) as caught:
        tags.add({"another": "1"})
    assert caught.value.code == "InvalidParameterValueException"
    tags.add({"a": "2", "key 1": "2"})
    assert len(tags.all()) == 50


@pytest.mark.parametrize(
    ("arn", "code"),
    [
        ("too: slow", "InvalidParameterValueException"),
        ("arn:aws:cloudwatch:us-east-1:000000000000:alarm:other", "ResourceNotFoundException"),
        (ARN.replace("us-east-1", "eu-west-1"), "ResourceNotFoundException"),
        (ARN.replace("000000000000", "111111111111"), "ResourceNotFoundException"),
        ("arn:aws:cloudwatch:us-east-1:000000000000:insight-rule/a", "ResourceNotFoundException"),
    ],
)
def test_tags_of_something_else(world: World, arn: str, code: str) -> None:
    tags = Tags(world)
    for send in (
        lambda: tags.add({}, ResourceARN=arn),
        lambda: tags.remove(ResourceARN=arn),
        lambda: tags.all(ResourceARN=arn),
    ):
        with pytest.raises(ServiceError) as caught:
            send()
        assert caught.value.code == code
        if code == "ResourceNotFoundException":
            assert caught.value.members["ResourceId"] == arn
