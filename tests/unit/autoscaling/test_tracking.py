"""Target tracking: a load that grows is followed after two minutes, one that falls is given back after fifteen."""

import math
import random
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.autoscaling.conftest import PLACE, TABLE, Load, activities, at_minute, follow


def test_a_load_that_triples_is_followed_and_given_back(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    follow(scaling)
    assert [load.minute(200) for _ in range(3)] == [5, 5, 5]
    assert [load.minute(600) for _ in range(3)] == [5, 15, 15]  # 10 units a second at 70 %
    assert [load.minute(200) for _ in range(16)] == [15] * 14 + [5, 5]  # 3.3 a second, and the minimum is 5
    newest, first = activities(scaling)
    assert newest["Description"] == "Setting write capacity units to 5."
    assert first["StatusMessage"] == (
        "Successfully set write capacity units to 15. Change successfully fulfilled by dynamodb."
    )
    assert first["Cause"].startswith("monitor alarm TargetTracking-table/orders-AlarmHigh-")


def test_the_maximum_bounds_and_the_reason_is_told(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=8)
    follow(scaling)
    assert [load.minute(600) for _ in range(4)] == [5, 8, 8, 8]
    assert len(activities(scaling)) == 1
    database.client("cloudwatch").set_alarm_state(
        AlarmName=scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"][0]["Alarms"][0][
            "AlarmName"
        ],
        StateValue="OK",
        StateReason="again",
    )
    load.minute(600)
    (newest, _) = activities(scaling, IncludeNotScaledActivities=True)
    assert newest["NotScaledReasons"] == [
        {"Code": "AlreadyAtMaxCapacity", "MaxCapacity": 8, "MinCapacity": 5, "CurrentCapacity": 8}
    ]


def test_suspended_scaling_waits(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(
        **PLACE, MinCapacity=5, MaxCapacity=100, SuspendedState={"DynamicScalingOutSuspended": True}
    )
    follow(scaling)
    assert [load.minute(600) for _ in range(4)] == [5, 5, 5, 5]
    scaling.register_scalable_target(**PLACE, SuspendedState={"DynamicScalingOutSuspended": False})
    assert load.minute(600) == 15
    scaling.register_scalable_target(**PLACE, SuspendedState={"DynamicScalingInSuspended": True})
    assert [load.minute(0) for _ in range(17)] == [15] * 17
    scaling.register_scalable_target(**PLACE, SuspendedState={"DynamicScalingInSuspended": False})
    assert load.minute(0) == 5


def test_a_policy_may_never_scale_in(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    alarms = follow(scaling, DisableScaleIn=True)["Alarms"]
    assert not any("AlarmLow" in one["AlarmName"] for one in alarms)
    assert [load.minute(600) for _ in range(2)] == [5, 15]
    assert {load.minute(0) for _ in range(17)} == {15}


def test_cooldowns_hold_up(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    follow(scaling, ScaleOutCooldown=300, ScaleInCooldown=3600)
    assert [load.minute(600) for _ in range(2)] == [5, 15]
    assert [load.minute(1200) for _ in range(5)] == [15, 29, 29, 29, 29], "more is added meanwhile, if more is needed"
    assert [load.minute(600) for _ in range(16)] == [29] * 14 + [15, 15]
    assert {load.minute(0) for _ in range(40)} == {15}, "the cooldown of lowering lasts an hour"
    assert [load.minute(1200) for _ in range(3)] == [15, 29, 29]
    assert [load.minute(600) for _ in range(16)] == [29] * 14 + [15, 15], "raising has ended the cooldown of lowering"


def test_a_manual_change_is_noticed(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    follow(scaling)
    given = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 50}
    database.client().update_table(TableName="orders", ProvisionedThroughput=given)
    assert [load.minute(600) for _ in range(16)][-1] == 15


def test_decreases_have_their_limit(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    follow(scaling)
    client = database.client()
    for units in (50, 49, 48, 47, 46):
        given = {"ReadCapacityUnits": 5, "WriteCapacityUnits": units}
        client.update_table(TableName="orders", ProvisionedThroughput=given)
    assert {load.minute(0) for _ in range(15)} == {46}
    newest = activities(scaling)[0]
    assert newest["StatusCode"] == "Failed"
    assert newest["StatusMessage"].startswith("Failed to set write capacity units to 5. Reason: ")
    for _ in range(70):
        load.minute(0)
    assert load.units() == 5


def test_an_index_is_followed_for_itself(database: Database, scaling: Any) -> None:
    place = PLACE | {
        "ResourceId": "table/orders/index/by-who",
        "ScalableDimension": "dynamodb:index:WriteCapacityUnits",
    }
    scaling.register_scalable_target(**place, MinCapacity=5, MaxCapacity=100)
    scaling.put_scaling_policy(
        **place,
        PolicyName="index",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 50,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
        },
    )
    client = database.client()
    for number in range(2):
        for place_in in range(6):
            item = {"pk": {"S": f"{number}-{place_in}"}, "who": {"S": "ann"}, "text": {"S": "x" * 102_300}}
            client.put_item(TableName="orders", Item=item)
        database.clock.advance(60)
    table = client.describe_table(TableName="orders")["Table"]
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 20
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 5


def test_a_metric_of_ones_own_is_followed(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    own = {"Namespace": "shop", "MetricName": "Queue", "Statistic": "Average"}
    scaling.put_scaling_policy(
        **PLACE,
        PolicyName="queue",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={"TargetValue": 10, "CustomizedMetricSpecification": own},
    )
    cloudwatch = database.client("cloudwatch")
    units = []
    for value in (8, 8, 8, 30, 30, 30, 10):
        cloudwatch.put_metric_data(
            Namespace="shop", MetricData=[{"MetricName": "Queue", "Value": value, "Timestamp": database.clock.now()}]
        )
        units.append(load.minute(0))
    assert units == [5, 5, 5, 5, 5, 15, 15]


def test_a_target_that_needs_endless_capacity_gives_the_maximum(database: Database, scaling: Any, load: Load) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    stat = {"Metric": {"Namespace": "shop", "MetricName": "Queue"}, "Stat": "Average"}
    metrics = [
        {"Id": "queue", "MetricStat": stat, "ReturnData": False},
        {"Id": "cube", "Expression": "queue * queue * queue"},
    ]
    scaling.put_scaling_policy(
        **PLACE,
        PolicyName="queue",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 1e-100,
            "CustomizedMetricSpecification": {"Metrics": metrics},
        },
    )
    cloudwatch = database.client("cloudwatch")
    for _ in range(4):
        cloudwatch.put_metric_data(
            Namespace="shop", MetricData=[{"MetricName": "Queue", "Value": 1e100, "Timestamp": database.clock.now()}]
        )
        units = load.minute(0)
    assert units == 100


class Queue:
    """A policy that follows a metric of one's own, beside the one that follows the use of the table's writes."""

    def __init__(self, database: Database, scaling: Any, load: Load, **cooldowns: int) -> None:
        self._database, self._load = database, load
        self._cloudwatch = database.client("cloudwatch")
        scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
        follow(scaling)
        own = {"Namespace": "shop", "MetricName": "Queue", "Statistic": "Average"}
        scaling.put_scaling_policy(
            **PLACE,
            PolicyName="queue",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={
                "TargetValue": 10,
                "CustomizedMetricSpecification": own,
                **cooldowns,
            },
        )

    def minutes(self, count: int, length: float, used: int) -> int:
        """Minutes in which the queue has this length and so many units are written;
        returns the provisioned units after them.
        """
        for _ in range(count):
            self._cloudwatch.put_metric_data(
                Namespace="shop",
                MetricData=[{"MetricName": "Queue", "Value": length, "Timestamp": self._database.clock.now()}],
            )
            units = self._load.minute(used)
        return units


def test_capacity_is_lowered_only_if_all_policies_would_lower_it(database: Database, scaling: Any, load: Load) -> None:
    queue = Queue(database, scaling, load)
    assert queue.minutes(1, 100, 0) == 50
    assert queue.minutes(30, 9.5, 0) == 50, "the queue is as long as it should be"
    assert queue.minutes(14, 4, 0) == 50
    assert queue.minutes(1, 4, 0) == 20, "the queue needs more than the writes"
    newest, _ = activities(scaling)
    assert newest["Cause"].endswith("triggered policy queue")
    follow(scaling, DisableScaleIn=True)
    assert queue.minutes(15, 2, 0) == 5, "a policy that lowers nothing is not asked"


def test_each_policy_may_raise_the_capacity(database: Database, scaling: Any, load: Load) -> None:
    queue = Queue(database, scaling, load)
    assert queue.minutes(20, 1, 100) == 5
    assert queue.minutes(2, 1, 600) == 15


def test_an_increase_is_not_repeated_before_it_takes_effect(database: Database, scaling: Any, load: Load) -> None:
    queue = Queue(database, scaling, load, ScaleOutCooldown=300)
    assert [queue.minutes(1, 30, 0) for _ in range(3)] == [15, 15, 15], "three times as many as there were"
    assert queue.minutes(1, 60, 0) == 30, "six times as many as there were at first"
    assert queue.minutes(3, 60, 0) == 30
    assert queue.minutes(2, 20, 0) == 60, "the cooldown is over"


class Simulated:
    """Target tracking as one would write it down: a list of minutes, and a loop over it."""

    def __init__(self, minimum: int, maximum: int, target: float) -> None:
        self.minimum, self.maximum, self.target = minimum, maximum, target
        self.units = minimum
        self.minutes: list[int] = []
        self.is_low = self.is_high = False

    def minute(self, used: int) -> int:
        self.minutes.append(used)
        high, low = self.units * 60 * self.target / 100, self.units * 60 * (self.target - 20) / 100
        wanted = self.units
        if len(self.minutes) >= 2 and min(self.minutes[-2:]) > high:
            wanted = max(self.units, self._needed(self.minutes[-1]))
        elif len(self.minutes) >= 15 and max(self.minutes[-15:]) < low:
            wanted = min(self.units, self._needed(max(self.minutes[-15:])))
        self.units = min(max(wanted, self.minimum), self.maximum)
        return self.units

    def _needed(self, used: int) -> int:
        return max(1, math.ceil(used / 60 / (self.target / 100) - 1e-9))


@pytest.mark.parametrize("seed", range(3))
def test_random_loads_against_a_simulation(seed: int) -> None:
    rng = random.Random(seed)
    target, maximum = rng.choice((40.0, 50.0, 70.0, 85.0)), rng.choice((20, 100))
    with server(Settings(data_dir=None)) as database:
        at_minute(database)
        database.client().create_table(**TABLE)
        scaling = database.client("application-autoscaling")
        scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=maximum)
        follow(scaling, target)
        load, expected = Load(database), Simulated(5, maximum, target)
        found, simulated, decreases = [], [], 0
        used = 200
        for _ in range(90):
            if rng.random() < 0.1:
                used = 100 * rng.randint(0, 30)
            before = expected.units
            simulated.append(expected.minute(used))
            found.append(load.minute(used))
            decreases += simulated[-1] < before
            if decreases == 4:
                break  # the next ones would have to wait
        assert found == simulated
