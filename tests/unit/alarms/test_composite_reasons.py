"""Why is a composite alarm in its state? Its reasons name the alarm that made it so, in the service's words."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmActions, AlarmDefinition
from hashrange.cloudwatch.alarms.composite_rules import composite_reason
from hashrange.testing.database import Database
from tests.unit.alarms.test_alarms import ALARM, state

ARN = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:"


def begin(database: Database, cloudwatch: Any, rule: str, *names: str) -> None:
    """A composite alarm `both` that has been evaluated."""
    for name in names:
        cloudwatch.put_metric_alarm(**ALARM | {"AlarmName": name, "TreatMissingData": "ignore"})
    cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule=rule)
    database.clock.advance(60)


def told(cloudwatch: Any) -> tuple[str, list[tuple[str, str]]]:
    """The reason, and the alarms with their states in its data."""
    alarm = state(cloudwatch, "both")
    data = json.loads(alarm["StateReasonData"])
    assert set(data) == {"triggeringAlarms"}
    return alarm["StateReason"], [
        (one["arn"].removeprefix(ARN), one["state"]["value"]) for one in data["triggeringAlarms"]
    ]


def test_a_new_alarm_tells_of_all_that_it_looks_at(database: Database, cloudwatch: Any) -> None:
    begin(database, cloudwatch, "ALARM(one) OR ALARM(two) OR ALARM(one)", "one", "two")
    unknown = "INSUFFICIENT_DATA"
    assert told(cloudwatch) == (
        f"{ARN}both was created and its alarm rule evaluates to OK",
        [("one", unknown), ("two", unknown)],
    )


def test_later_it_tells_of_the_alarm_that_has_changed(database: Database, cloudwatch: Any) -> None:
    begin(database, cloudwatch, "ALARM(one) OR ALARM(two)", "one", "two")
    cloudwatch.set_alarm_state(AlarmName="two", StateValue="OK", StateReason="a trial")
    database.clock.advance(60)
    at = datetime.fromtimestamp(database.clock.now(), UTC)
    cloudwatch.set_alarm_state(AlarmName="one", StateValue="ALARM", StateReason="a trial")
    database.clock.advance(60)
    reason, alarms = told(cloudwatch)
    assert reason.startswith(f"{ARN}one transitioned to ALARM at ")
    assert reason.endswith(f", {at:%Y %H:%M:%S} UTC")
    assert alarms == [("one", "ALARM")]


def test_days_are_written_in_words() -> None:
    one = Alarm(
        "000000000000",
        "us-east-1",
        AlarmDefinition("one", None, AlarmActions()),
        0.0,
        "ALARM",
        transitioned_seconds=1_658_505_465.394,
    )
    both = msgspec.structs.replace(one, definition=AlarmDefinition("both", None, AlarmActions()), state="OK")
    reason, data = composite_reason(both, "ALARM", [msgspec.structs.replace(one, transitioned_seconds=5.0), one])
    assert reason == f"{ARN}one transitioned to ALARM at Friday 22 July, 2022 15:57:45 UTC"
    assert data == (
        f'{{"triggeringAlarms":[{{"arn":"{ARN}one","state":{{"value":"ALARM",'
        f'"timestamp":"2022-07-22T15:57:45.394+0000"}}}}]}}'
    )


def test_a_new_rule_tells_that_it_is_new(database: Database, cloudwatch: Any) -> None:
    begin(database, cloudwatch, "ALARM(one)", "one")
    cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule="INSUFFICIENT_DATA(one)")
    database.clock.advance(60)
    assert told(cloudwatch)[0] == f"{ARN}both was updated and its alarm rule evaluates to ALARM"
    cloudwatch.put_composite_alarm(AlarmName="both", AlarmRule="FALSE")
    database.clock.advance(60)
    assert told(cloudwatch) == (f"{ARN}both was updated and its alarm rule evaluates to OK", [])


def test_data_have_an_end(database: Database, cloudwatch: Any) -> None:
    names = [f"{number:02}" + "n" * 250 for number in range(20)]
    begin(database, cloudwatch, " OR ".join(f"ALARM({name})" for name in names), *names)
    assert 8 < len(told(cloudwatch)[1]) < 20
    assert len(state(cloudwatch, "both")["StateReasonData"]) <= 4_000
