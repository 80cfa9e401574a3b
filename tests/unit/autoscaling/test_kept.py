"""What is kept over restarts, snapshots and resets, and what is tried again: bounds that could not be held,
and failures that are noted once.
"""

from pathlib import Path
from typing import Any

import pytest

from hashrange.autoscaling.api import members
from hashrange.autoscaling.auto_scaling import ACTIVITY_PREFIX
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.autoscaling.conftest import PLACE, TABLE, Load, activities, at_minute, follow

SPACE = "dynamodb"


def lower_four_times(database: Database, units: int) -> None:
    """Use up the decreases of the day that are there at once; the last one leaves `units`."""
    for more in (4, 3, 2, 1, 0):
        given = {"ReadCapacityUnits": 5, "WriteCapacityUnits": units + more}
        database.client().update_table(TableName="orders", ProvisionedThroughput=given)


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    with server(settings) as database:
        at_minute(database)
        database.client().create_table(**TABLE)
        scaling = database.client("application-autoscaling")
        scaling.register_scalable_target(**PLACE, MinCapacity=6, MaxCapacity=100, Tags={"team": "shop"})
        follow(scaling)
        scaling.put_scheduled_action(
            **PLACE, ScheduledActionName="hourly", Schedule="rate(1 hour)", ScalableTargetAction={"MinCapacity": 30}
        )
        before = described(scaling)
    with server(settings) as database:
        scaling = database.client("application-autoscaling")
        assert described(scaling) == before
        database.clock.advance(3700)
        assert Load(database).units() == 30


def test_blank_tags_of_an_earlier_version_are_kept(scaling: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(members, "check_target_tags", lambda _: None)
        arn = scaling.register_scalable_target(**PLACE, MinCapacity=6, MaxCapacity=100, Tags={"old": ""})[
            "ScalableTargetARN"
        ]
    scaling.tag_resource(ResourceARN=arn, Tags={"team": "shop"})
    scaling.register_scalable_target(**PLACE, MaxCapacity=50)
    assert scaling.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"old": "", "team": "shop"}


def described(scaling: Any) -> list[Any]:
    """All that the operations describe."""
    return [
        scaling.describe_scalable_targets(ServiceNamespace=SPACE)["ScalableTargets"],
        scaling.describe_scaling_policies(ServiceNamespace=SPACE)["ScalingPolicies"],
        scaling.describe_scheduled_actions(ServiceNamespace=SPACE)["ScheduledActions"],
        activities(scaling),
    ]


def test_snapshots_and_forks_have_it_and_a_reset_forgets_it(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    follow(scaling)
    before = described(scaling)
    snapshot = database.snapshot()
    load.minute(600)
    with database.fork() as fork:
        in_fork = Load(fork)
        assert [in_fork.minute(600) for _ in range(2)] == [15, 15]
        assert len(activities(fork.client("application-autoscaling"))) == 1
    assert load.units() == 5
    scaling.deregister_scalable_target(**PLACE)
    database.restore(snapshot)
    database.clock.freeze()
    assert described(scaling) == before
    assert [load.minute(600) for _ in range(3)] == [5, 15, 15]
    database.reset()
    assert described(scaling) == [[], [], [], []]


def test_a_maximum_is_held_as_soon_as_a_decrease_is_allowed(database: Database, scaling: Any, load: Load) -> None:
    lower_four_times(database, 50)
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=10)
    assert load.units() == 50
    database.clock.advance(1800)
    (failed,) = activities(scaling)
    assert failed["StatusCode"] == "Failed"
    assert failed["StatusMessage"].startswith(
        "Failed to set write capacity units to 10. Reason: Subscriber limit exceeded: Provisioned throughput decreases"
    )
    database.clock.advance(1860)
    assert load.units() == 10
    assert [one["StatusCode"] for one in activities(scaling)] == ["Successful", "Failed"]


def test_a_busy_table_is_scaled_once_it_is_active() -> None:
    with server(Settings(data_dir=None, table_state_delay_seconds=20.0)) as database:
        at_minute(database)
        database.client().create_table(**TABLE)
        scaling = database.client("application-autoscaling")
        scaling.register_scalable_target(**PLACE, MinCapacity=20, MaxCapacity=100)
        assert Load(database).units() == 5
        assert activities(scaling) == []
        database.clock.advance(42)  # the table's creation, and its update
        assert Load(database).units() == 20


def test_activities_are_kept_for_six_weeks(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=20, MaxCapacity=100)
    scaling.deregister_scalable_target(**PLACE)
    database.clock.advance(41 * 86_400)
    assert len(activities(scaling)) == 1
    database.clock.advance(2 * 86_400)
    assert activities(scaling) == []


def test_old_activities_go_whoever_they_belonged_to(database: Database, scaling: Any) -> None:
    client = database.client()
    for number in range(3):
        client.create_table(**TABLE | {"TableName": f"run{number}"})
        place = PLACE | {"ResourceId": f"table/run{number}"}
        scaling.register_scalable_target(**place, MinCapacity=6, MaxCapacity=9)
        scaling.deregister_scalable_target(**place)
        client.delete_table(TableName=f"run{number}")
        assert kept_activities(database) == number + 1
    scaling.register_scalable_target(**PLACE, MinCapacity=6, MaxCapacity=9)
    database.clock.advance(41 * 86_400)
    scaling.register_scalable_target(**PLACE, MinCapacity=7, MaxCapacity=9)
    assert kept_activities(database) == 4
    database.clock.advance(3 * 86_400)
    assert kept_activities(database) == 1, "the present target has a later one"
    assert len(activities(scaling)) == 1
    database.clock.advance(400 * 86_400)
    assert kept_activities(database) == 0


def test_old_activities_go_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    with server(settings) as database:
        at_minute(database)
        database.client().create_table(**TABLE)
        database.client("application-autoscaling").register_scalable_target(**PLACE, MinCapacity=6, MaxCapacity=9)
        assert kept_activities(database) == 1
    with server(settings) as database:
        database.clock.advance(60 * 86_400)
        assert kept_activities(database) == 0


def kept_activities(database: Database) -> int:
    """How many lists of activities are stored."""
    documents = database._process.service.store.documents
    return len(database._process.run(lambda: list(documents.below(ACTIVITY_PREFIX))))
