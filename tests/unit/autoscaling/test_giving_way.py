"""Descriptions of very many activities and scheduled actions give way: other requests do not wait for them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec

from hashrange.autoscaling.api.scalable_targets import (
    DescribeScalingActivitiesRequest,
    describe_scaling_activities,
)
from hashrange.autoscaling.api.scheduled_actions import (
    DescribeScheduledActionsRequest,
    describe_scheduled_actions,
)
from hashrange.autoscaling.auto_scaling import ACTIVITY_PREFIX, SCHEDULED_PREFIX, TARGET_PREFIX, AutoScaling
from hashrange.autoscaling.records import Activity, ScalableTarget, ScheduledAction, TargetPlace
from hashrange.autoscaling.scaling_job import ScalingJob
from hashrange.aws_services.operation import Caller
from hashrange.store.embedded import open_store
from tests.support.clocks import VIRTUAL_START_SECONDS, VirtualClock
from tests.support.samples import finish
from tests.support.working import calls_of, lines_between_looks
from tests.unit.insights.test_rule_counts import OwnDocuments

TARGETS, ACTIVITIES = 30, 1_000


def test_many_activities_are_described_in_pieces() -> None:
    documents = OwnDocuments()
    for target in range(TARGETS):
        name = f"{ACTIVITY_PREFIX}1/us-east-1/dynamodb:table:WriteCapacityUnits/table/orders{target}"
        kept = [
            Activity(str(place), VIRTUAL_START_SECONDS, VIRTUAL_START_SECONDS, "a", "b", "Successful", "c")
            for place in range(ACTIVITIES)
        ]
        documents.kept[name] = msgspec.json.encode(kept)
    unused: Any = None
    scaling = AutoScaling(documents, VirtualClock(), unused, unused)
    request = DescribeScalingActivitiesRequest(
        ServiceNamespace="dynamodb", ResourceId="table/orders0", ScalableDimension="dynamodb:table:WriteCapacityUnits"
    )
    reply = asyncio.run(describe_scaling_activities(scaling, Caller("1", "us-east-1"), request))
    assert len(reply["ScalingActivities"]) == 50

    def describe() -> None:
        asyncio.run(describe_scaling_activities(scaling, Caller("1", "us-east-1"), request))

    assert lines_between_looks(describe) < 5 * ACTIVITIES


def test_many_scheduled_actions_are_read_listed_and_looked_up_in_pieces() -> None:
    store = open_store(None, VirtualClock(), None)
    places = [TargetPlace("1", "us-east-1", f"table/t{one}", "dynamodb:table:WriteCapacityUnits") for one in range(30)]
    actions = [
        ScheduledAction(places[number % 30], f"a{number}", f"{number:05}", 0.0, "rate(1 day)", due_seconds=9e9)
        for number in range(6_000)
    ]
    finish(store.documents.write({SCHEDULED_PREFIX + one.id: msgspec.json.encode(one) for one in actions}))
    unused: Any = None
    scaling = AutoScaling(store.documents, VirtualClock(), unused, unused)
    assert lines_between_looks(scaling.scheduled.by_path) < 5_000
    request = DescribeScheduledActionsRequest(ServiceNamespace="dynamodb")

    def describe() -> None:
        reply = asyncio.run(describe_scheduled_actions(scaling, Caller("1", "us-east-1"), request))
        assert len(reply["ScheduledActions"]) == 50

    assert lines_between_looks(describe) < 5_000
    assert lines_between_looks(lambda: asyncio.run(ScalingJob(scaling).run_slice())) < 5_000
    assert calls_of(scaling.scheduled_action, places[0], "a60") < 50
    assert calls_of(scaling.scheduled.among, places[0]) < 50
    assert len(scaling.scheduled.among(places[0])) == 200
    found = scaling.scheduled_action(places[0], "a60")
    assert found is not None
    assert found.id == "00060"
    store.close_now()


def test_many_targets_are_read_and_settled_in_pieces() -> None:
    store = open_store(None, VirtualClock(), None)
    places = [
        TargetPlace(f"{number % 3}", "us-east-1", f"table/t{number}", "dynamodb:table:ReadCapacityUnits")
        for number in range(6_000)
    ]
    targets = [ScalableTarget(one, "a", 1, 2, "role", 0.0) for one in places]
    names = [f"{TARGET_PREFIX}{one.account}/{one.region}/{one.dimension}/{one.resource_id}" for one in places]
    finish(store.documents.write(dict(zip(names, map(msgspec.json.encode, targets), strict=True))))
    unused: Any = None
    no_tables: Any = SimpleNamespace(tables={})
    scaling = AutoScaling(store.documents, VirtualClock(), unused, lambda _account, _region: no_tables)
    assert lines_between_looks(scaling.targets.by_path) < 3_000
    assert len(scaling.unsettled) == len(targets)
    assert lines_between_looks(lambda: asyncio.run(ScalingJob(scaling).run_slice())) < 5_000
    assert not scaling.unsettled
    store.close_now()
