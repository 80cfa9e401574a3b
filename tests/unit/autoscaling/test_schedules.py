"""Schedules: when `at`, `rate` and `cron` are due, in their time zone, and what scheduled actions do."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from hashrange.autoscaling.api import scheduled_actions
from hashrange.autoscaling.schedule import ScheduleError, check_schedule, read_schedule, zone_of
from hashrange.testing.database import Database
from tests.unit.autoscaling.conftest import PLACE, Load, activities


def occurrences(text: str, zone: str | None, after: str, count: int = 3) -> list[str]:
    """The next times of a schedule, in UTC."""
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC).timestamp()
    schedule = read_schedule(text, zone_of(zone), moment)
    found: list[str] = []
    for _ in range(count):
        following = schedule.next_after(moment)
        if following is None:
            break
        moment = following
        found.append(f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        ("at(2027-03-01T08:00:00)", None, "2027-01-01", ["2027-03-01 08:00"]),
        ("at(2027-03-01T08:00:00)", "Europe/Berlin", "2027-01-01", ["2027-03-01 07:00"]),
        ("at(2027-03-01T08:00:00)", None, "2028-01-01", []),
        ("rate(5 minutes)", None, "2027-01-01", ["2027-01-01 00:05", "2027-01-01 00:10", "2027-01-01 00:15"]),
        ("rate(1 day)", None, "2027-01-01", ["2027-01-02 00:00", "2027-01-03 00:00", "2027-01-04 00:00"]),
        ("cron(0 8 * * ? *)", None, "2027-01-01T09:00", ["2027-01-02 08:00", "2027-01-03 08:00", "2027-01-04 08:00"]),
        (
            "cron(0 8 ? * MON-FRI *)",
            None,
            "2027-01-01T09:00",
            ["2027-01-04 08:00", "2027-01-05 08:00", "2027-01-06 08:00"],
        ),
        ("cron(0/20 9 ? * 2 *)", None, "2027-01-01", ["2027-01-04 09:00", "2027-01-04 09:20", "2027-01-04 09:40"]),
        ("cron(0 0 L * ? *)", None, "2027-01-01", ["2027-01-31 00:00", "2027-02-28 00:00", "2027-03-31 00:00"]),
        ("cron(0 0 15W * ? *)", None, "2027-05-01", ["2027-05-14 00:00", "2027-06-15 00:00", "2027-07-15 00:00"]),
        ("cron(0 0 ? * 6L *)", None, "2027-01-01", ["2027-01-29 00:00", "2027-02-26 00:00", "2027-03-26 00:00"]),
        ("cron(0 0 ? * 2#1 *)", None, "2027-01-01", ["2027-01-04 00:00", "2027-02-01 00:00", "2027-03-01 00:00"]),
        ("cron(0 0 29 FEB ? *)", None, "2027-01-01", ["2028-02-29 00:00", "2032-02-29 00:00", "2036-02-29 00:00"]),
        ("cron(30 8 28-29 3 ? 2027)", "Europe/Berlin", "2027-01-01", ["2027-03-28 06:30", "2027-03-29 06:30"]),
        ("cron(0 12 1 1 ? 2020)", None, "2027-01-01", []),
        ("cron(0 0 1 1 ? 2040,2199)", None, "2027-01-01", ["2040-01-01 00:00", "2199-01-01 00:00"]),
        ("cron(0 0 ? 2 2#5 *)", None, "2027-01-01", ["2044-02-29 00:00", "2072-02-29 00:00", "2112-02-29 00:00"]),
        ("cron(0 0 31 2,4,6,9,11 ? *)", None, "2027-01-01", []),
        ("cron(59 23 31 12 ? 2199)", "Pacific/Pago_Pago", "2199-12-31", ["2200-01-01 10:59"]),
        (
            "cron(10,30 2 4 10 ? 2026)",  # the clock goes from 02:00 to 02:30
            "Australia/Lord_Howe",
            "2026-10-03",
            ["2026-10-03 15:30", "2026-10-03 15:40"],
        ),
        ("cron(30 2 8 3 ? 2026)", "America/New_York", "2026-03-08", ["2026-03-08 07:30"]),
        ("cron(30 1 1 11 ? 2026)", "America/New_York", "2026-11-01", ["2026-11-01 05:30"]),
        ("cron(* * * * ? *)", "Pacific/Kiritimati", "9999-12-31T23:59:59", []),
    ],
)
def test_next_times(text: str, zone: str | None, after: str, expected: list[str]) -> None:
    assert occurrences(text, zone, after) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "at(tomorrow)",
        "rate(5 minute)",
        "rate(1 minutes)",
        "rate(0 minutes)",
        "cron(0 8 * * *)",
        "cron(60 8 * * ? *)",
        "cron(0 8 ? * ? *)",
        "cron(0 8 1 13 ? *)",
        "cron(0 8 x * ? *)",
        "cron(0 8 1/0 * ? *)",
        "at(9999-99-99T00:00:00)",
        "cron(0 0 1_5W * ? *)",
        "cron(٣ 0 * * ? *)",
        "cron(0/+5 0 * * ? *)",
    ],
)
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(ScheduleError):
        read_schedule(text, UTC, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "cron(0 8 * * * *)",
        "cron(0 8 1 * MON *)",
        "cron(0 8 ? * ? *)",
        "cron(? 8 * * ? *)",
        "cron(0 ? * * ? *)",
        "cron(0 8 1 ? ? *)",
        "cron(0 8 * * ? ?)",
        "cron(0 8 ?,3 * MON *)",
        "cron(0 8 ?/2 * MON *)",
        "cron(0 8 ? * MON/2 *)",
        "cron(0 8 ? * 3#1,6#3 *)",
        "cron(0 8 * * ?)",
        "at(2027-3-1T8:0:0)",
        "at(٢027-03-01T08:00:00)",
    ],
)
def test_schedules_that_the_service_does_not_know_are_not_put(scaling: Any, text: str) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    put = partial(
        scaling.put_scheduled_action, **PLACE, ScheduledActionName="one", ScalableTargetAction={"MinCapacity": 6}
    )
    put(Schedule="cron(0 8 * * ? *)")
    with pytest.raises(scaling.exceptions.ValidationException) as caught:
        put(Schedule=text)
    assert caught.value.response["Error"]["Message"].startswith(f"Invalid schedule expression: {text}")
    put()


@pytest.mark.parametrize("field", ["*", "?", "1-15", "1,15", "1/2", "*/2", "L", "3W"])
def test_days_of_months_have_these_wildcards(field: str) -> None:
    check_schedule(f"cron(0/5 8-18 {field} JAN,3 {'MON-FRI' if field == '?' else '?'} 2027-2030)")


@pytest.mark.parametrize("field", ["*", "?", "2-6", "SUN,SAT", "L", "6L", "2#1"])
def test_days_of_weeks_have_these_wildcards(field: str) -> None:
    check_schedule(f"cron(0 8 {'*' if field == '?' else '?'} * {field} *)")


def test_a_schedule_of_an_earlier_version_is_executed(
    database: Database, scaling: Any, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    with monkeypatch.context() as earlier:
        earlier.setattr(scheduled_actions, "check_schedule", lambda _: None)
        scaling.put_scheduled_action(
            **PLACE,
            ScheduledActionName="daily",
            Schedule="cron(0 8 * * * *)",
            ScalableTargetAction={"MinCapacity": 20},
        )
    scaling.put_scheduled_action(**PLACE, ScheduledActionName="daily", ScalableTargetAction={"MinCapacity": 30})
    database.clock.advance(86_400)
    assert load.units() == 30
    assert len(scaling.describe_scheduled_actions(ServiceNamespace="dynamodb")["ScheduledActions"]) == 1


def test_zones_have_names() -> None:
    for name in ("Nowhere", "../etc", ""):
        with pytest.raises(ScheduleError):
            zone_of(name)


def test_an_action_changes_bounds_and_capacity_each_day(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    for name, hour, least in (("morning", 8, 20), ("evening", 20, 5)):
        scaling.put_scheduled_action(
            **PLACE,
            ScheduledActionName=name,
            Schedule=f"cron(0 {hour} * * ? *)",
            Timezone="Asia/Tokyo",
            ScalableTargetAction={"MinCapacity": least, "MaxCapacity": 2 * least},
        )
    tokyo = timedelta(hours=9)
    now = datetime.fromtimestamp(database.clock.now(), UTC) + tokyo
    database.clock.advance((now.replace(hour=12, minute=0) + timedelta(days=1) - now).total_seconds())
    assert load.units() == 20
    database.clock.advance(12 * 3600)
    assert load.units() == 10, "the maximum of the evening"
    told = [(one["Description"], one["Cause"], one["StatusMessage"]) for one in activities(scaling)[:2]]
    assert told == [
        (
            "Setting write capacity units to 10.",
            "maximum capacity was set to 10",
            "Successfully set write capacity units to 10. Change successfully fulfilled by dynamodb.",
        ),
        (
            "Setting min capacity to 5 and max capacity to 10",
            "scheduled action name evening was triggered",
            "Successfully set min capacity to 5 and max capacity to 10",
        ),
    ]
    assert ["EndTime" in one for one in activities(scaling)[:2]] == [True, False]


@pytest.mark.parametrize(("action", "bounds"), [({"MinCapacity": 20}, (20, 10)), ({"MaxCapacity": 3}, (5, 3))])
def test_an_action_whose_one_bound_crosses_the_other_changes_nothing(
    database: Database, scaling: Any, load: Load, action: dict[str, int], bounds: tuple[int, int]
) -> None:
    """The bounds were exchanged: a minimum of 20 below a maximum of 10 became 10 to 20, and the capacity 10."""
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    scaling.put_scheduled_action(
        **PLACE, ScheduledActionName="crossed", Schedule="rate(1 minute)", ScalableTargetAction=action
    )
    database.clock.advance(300)
    assert load.units() == 5
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (5, 10)
    (activity,) = activities(scaling)
    assert activity["StatusCode"] == "Failed"
    assert activity["StatusMessage"] == (
        f"Failed to set min capacity to {bounds[0]} and max capacity to {bounds[1]}."
        " Reason: Maximum capacity cannot be less than minimum capacity"
    )


def test_an_action_that_finds_its_bounds_set_is_no_activity(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    scaling.put_scheduled_action(
        **PLACE, ScheduledActionName="often", Schedule="rate(1 minute)", ScalableTargetAction={"MaxCapacity": 20}
    )
    database.clock.advance(600)
    assert [one["Description"] for one in activities(scaling)] == ["Setting min capacity to 5 and max capacity to 20"]


@pytest.mark.parametrize("schedule", ["rate(1 hour)", "cron(0 16 * * ? *)", "cron(0 0 31 2 ? *)"])
def test_an_action_that_recurs_is_executed_at_its_start_time(
    database: Database, scaling: Any, load: Load, schedule: str
) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=50)
    noon = datetime.fromtimestamp(round(database.clock.now()), UTC)
    scaling.put_scheduled_action(
        **PLACE,
        ScheduledActionName="from-three",
        Schedule=schedule,
        StartTime=noon + timedelta(hours=3),
        ScalableTargetAction={"MinCapacity": 20},
    )
    database.clock.advance(3 * 3600 - 60)
    assert load.units() == 5
    database.clock.advance(120)
    assert load.units() == 20
    scaling.register_scalable_target(**PLACE, MinCapacity=30)
    database.clock.advance(3600)
    ends = schedule.startswith("cron(0 0 31 2")
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    assert target["MinCapacity"] == (30 if ends else 20), "the next time is that of the schedule"
    assert len(scaling.describe_scheduled_actions(ServiceNamespace="dynamodb")["ScheduledActions"]) == (not ends)


def test_a_start_time_may_be_at_the_end_of_time(scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    for schedule in ("rate(1 day)", "cron(0 0 * * ? *)"):
        scaling.put_scheduled_action(
            **PLACE,
            ScheduledActionName="late",
            Schedule=schedule,
            Timezone="Pacific/Kiritimati",
            StartTime=datetime(9999, 12, 31, tzinfo=UTC),
            ScalableTargetAction={"MinCapacity": 6},
        )


def test_one_time_actions_end_and_suspended_ones_do_nothing(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(
        **PLACE, MinCapacity=5, MaxCapacity=50, SuspendedState={"ScheduledScalingSuspended": True}
    )
    for minutes, least in ((10, 20), (20, 30)):
        due = datetime.fromtimestamp(database.clock.now() + 60 * minutes, UTC)
        scaling.put_scheduled_action(
            **PLACE,
            ScheduledActionName=f"once-{minutes}",
            Schedule=f"at({due:%Y-%m-%dT%H:%M:%S})",
            ScalableTargetAction={"MinCapacity": least},
        )
    database.clock.advance(600)
    assert load.units() == 5
    scaling.register_scalable_target(**PLACE, SuspendedState={"ScheduledScalingSuspended": False})
    database.clock.advance(600)
    assert load.units() == 30
    assert scaling.describe_scheduled_actions(ServiceNamespace="dynamodb")["ScheduledActions"] == []
