"""ActionConfiguration: which of an alarm's tags are told with its state, what is kept of it, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.cloudwatch.alarms.alarm import ActionConfiguration, Alarm, AlarmDefinition, TagsPropagation, Threshold
from hashrange.cloudwatch.alarms.alarms import AlarmAction
from hashrange.cloudwatch.alarms.notification import lambda_event, notification_of
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.alarms.test_alarms import ALARM

TAGS = {"team": "shop", "env": "test", "cost": "1"}
PROPAGATION = {"AlarmTagsPropagation": {"Enabled": True, "IncludedTagKeys": ["team", "absent"]}}
COMPOSITE = {"AlarmName": "whole", "AlarmRule": "TRUE"}


def tags_told(configuration: ActionConfiguration | None, tags: dict[str, str]) -> tuple[Any, Any]:
    """The tags in the message of a notification and in a function's event; None: neither has any."""
    definition = AlarmDefinition("load", rule="TRUE", action_configuration=configuration)
    alarm = Alarm("000000000000", "us-east-1", definition, 1.0, state="ALARM", tags=tags)
    told = AlarmAction(alarm, "arn:aws:sns:us-east-1:000000000000:alarms", alarm, 2.0)
    message, event = notification_of(told), lambda_event(told)["alarmData"]
    assert ("AlarmTags" in message, "alarmTags" in event) == ("AlarmTagsStatus" in message, "alarmTagsStatus" in event)
    if "AlarmTags" in message:
        assert (message["AlarmTagsStatus"], event["alarmTagsStatus"]) == ("SUCCESS", "SUCCESS")
    return message.get("AlarmTags"), event.get("alarmTags")


@pytest.mark.parametrize(
    ("propagation", "keys"),
    [
        (TagsPropagation(True), ["team", "env", "cost"]),
        (TagsPropagation(True, IncludedTagKeys=["env", "team", "absent"]), ["team", "env"]),
        (TagsPropagation(True, ExcludedTagKeys=["env", "absent"]), ["team", "cost"]),
        (TagsPropagation(True, IncludedTagKeys=["absent"]), []),
    ],
)
def test_tags_are_told_to_topics_and_functions(propagation: TagsPropagation, keys: list[str]) -> None:
    assert tags_told(ActionConfiguration(propagation), TAGS) == (
        [{"Key": key, "Value": TAGS[key]} for key in keys],
        [{"key": key, "value": TAGS[key]} for key in keys],
    )


@pytest.mark.parametrize("propagation", [None, TagsPropagation(False), TagsPropagation(False, IncludedTagKeys=["env"])])
def test_tags_are_not_told_by_default(propagation: TagsPropagation | None) -> None:
    for configuration in (None, ActionConfiguration(propagation)):
        assert tags_told(configuration, TAGS) == (None, None)


def test_an_alarm_without_tags_tells_none() -> None:
    assert tags_told(ActionConfiguration(TagsPropagation(True)), {}) == ([], [])


# --- the operations --------------------------------------------------------------------------------


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        yield database


@pytest.fixture
def cloudwatch(database: Database) -> Any:
    return database.client("cloudwatch")


def configurations(cloudwatch: Any) -> list[Any]:
    """ActionConfiguration of each alarm, None for one that has none."""
    described = cloudwatch.describe_alarms(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
    return [one.get("ActionConfiguration") for one in described["MetricAlarms"] + described["CompositeAlarms"]]


@pytest.mark.parametrize(
    "configuration",
    [
        PROPAGATION,
        {"AlarmTagsPropagation": {"Enabled": False}},
        {"AlarmTagsPropagation": {"Enabled": True, "ExcludedTagKeys": ["x" * 128] * 50}},
        {},
    ],
)
def test_both_kinds_of_alarms_have_it_until_they_are_put_without_it(cloudwatch: Any, configuration: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM, ActionConfiguration=configuration)
    cloudwatch.put_composite_alarm(**COMPOSITE, ActionConfiguration=configuration)
    assert configurations(cloudwatch) == [configuration, configuration]
    cloudwatch.disable_alarm_actions(AlarmNames=[ALARM["AlarmName"], "whole"])
    assert configurations(cloudwatch) == [configuration, configuration]
    cloudwatch.put_metric_alarm(**ALARM)
    cloudwatch.put_composite_alarm(**COMPOSITE)
    assert configurations(cloudwatch) == [None, None]


def test_alarms_of_a_metric_and_histories_tell_it(cloudwatch: Any) -> None:
    cloudwatch.put_metric_alarm(**ALARM, ActionConfiguration=PROPAGATION)
    (found,) = cloudwatch.describe_alarms_for_metric(MetricName=ALARM["MetricName"], Namespace=ALARM["Namespace"])[
        "MetricAlarms"
    ]
    assert found["ActionConfiguration"] == PROPAGATION
    (created,) = cloudwatch.describe_alarm_history(AlarmName=ALARM["AlarmName"])["AlarmHistoryItems"]
    assert json.loads(created["HistoryData"])["createdAlarm"]["ActionConfiguration"] == PROPAGATION


@pytest.mark.parametrize(
    ("propagation", "message"),
    [
        ({"IncludedTagKeys": ["a"]}, "actionConfiguration.alarmTagsPropagation.enabled"),
        (
            {"Enabled": True, "IncludedTagKeys": ["a"], "ExcludedTagKeys": ["b"]},
            "IncludedTagKeys and ExcludedTagKeys are mutually exclusive",
        ),
        ({"Enabled": False, "IncludedTagKeys": ["a"], "ExcludedTagKeys": ["b"]}, "mutually exclusive"),
        ({"Enabled": True, "IncludedTagKeys": []}, "Member must have length greater than or equal to 1"),
        ({"Enabled": True, "ExcludedTagKeys": ["a"] * 51}, "Member must have length less than or equal to 50"),
        ({"Enabled": True, "ExcludedTagKeys": ["a", ""]}, "excludedTagKeys.2.member"),
        ({"Enabled": True, "IncludedTagKeys": ["a" * 129]}, "Member must have length less than or equal to 128"),
        ({"Enabled": "perhaps"}, "actionConfiguration.alarmTagsPropagation.enabled"),
    ],
)
def test_what_is_refused(database: Database, propagation: dict[str, Any], message: str) -> None:
    unchecked = database.client("cloudwatch", config=Config(parameter_validation=False))
    configuration = {"AlarmTagsPropagation": propagation}
    for put, members in ((unchecked.put_metric_alarm, ALARM), (unchecked.put_composite_alarm, COMPOSITE)):
        with pytest.raises(ClientError) as caught:
            put(**members, ActionConfiguration=configuration)
        assert message in caught.value.response["Error"]["Message"]
    assert configurations(unchecked) == []


def test_restarts_and_snapshots_keep_it(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    with server(settings) as database:
        database.client("cloudwatch").put_metric_alarm(**ALARM, ActionConfiguration=PROPAGATION)
    with server(settings) as database:
        cloudwatch = database.client("cloudwatch")
        assert configurations(cloudwatch) == [PROPAGATION]
        snapshot = database.snapshot()
        cloudwatch.put_metric_alarm(**ALARM)
        database.restore(snapshot)
        assert configurations(cloudwatch) == [PROPAGATION]
        with database.fork() as fork:
            assert configurations(fork.client("cloudwatch")) == [PROPAGATION]


def test_alarms_of_earlier_versions_have_none() -> None:
    definition = AlarmDefinition("load", threshold=Threshold("LessThanThreshold", 1.0, 1))
    assert b"action_configuration" not in msgspec.json.encode(definition)
    assert msgspec.json.decode(b'{"name": "load"}', type=AlarmDefinition).action_configuration is None
