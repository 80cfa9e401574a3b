"""Descriptions of very many activities give way: other requests do not wait for them."""

import asyncio
from typing import Any

import msgspec

from hashrange.autoscaling.api.describe_scaling_activities import (
    DescribeScalingActivitiesRequest,
    describe_scaling_activities,
)
from hashrange.autoscaling.auto_scaling import ACTIVITY_PREFIX, AutoScaling
from hashrange.autoscaling.records import Activity
from hashrange.aws_services.operation import Caller
from hashrange.clock import VIRTUAL_START_SECONDS, VirtualClock
from tests.support.working import lines_between_looks
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
    request = DescribeScalingActivitiesRequest("dynamodb", "table/orders0", "dynamodb:table:WriteCapacityUnits")
    reply = asyncio.run(describe_scaling_activities(scaling, Caller("1", "us-east-1"), request))
    assert len(reply["ScalingActivities"]) == 50

    def describe() -> None:
        asyncio.run(describe_scaling_activities(scaling, Caller("1", "us-east-1"), request))

    assert lines_between_looks(describe) < 5 * ACTIVITIES
