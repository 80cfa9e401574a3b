"""Servers that share a store, each with records in its own memory: nothing that one of them notes is lost when others
write the same documents at the same time.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.records import Activity, TargetPlace
from hashrange.cloudwatch.alarms.alarm import AlarmActions, AlarmDefinition, Threshold
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.dax.attribute_lists import AttributeLists
from hashrange.dax.clusters import Clusters
from hashrange.dax.records import ParameterGroup
from hashrange.errors import RecordsChanged
from hashrange.insights.rule_counts import RuleCounts
from hashrange.store.records import again_if_changed
from tests.support.clocks import VirtualClock
from tests.unit.functions.functions_world import MemoryDocuments

TIMES = 6


@pytest.fixture
def documents() -> MemoryDocuments:
    """Documents whose writes suspend before they take place."""
    return MemoryDocuments()


def together(*work: Coroutine[Any, Any, Any]) -> None:
    async def run() -> None:
        await asyncio.gather(*work)

    asyncio.run(run())


def test_alarms_and_their_histories(documents: MemoryDocuments) -> None:
    servers = [Alarms(documents, VirtualClock()) for _ in range(2)]

    def definition(number: int) -> AlarmDefinition:
        return AlarmDefinition("load", str(number), AlarmActions(), Threshold("LessThanThreshold", 1.0, 1))

    together(*[server.put("1", "r", definition(number)) for number in range(TIMES) for server in servers])
    ((_, history),) = servers[0].histories.of("1", "r", "load")
    assert sorted({item.summary for item in history.events()}) == ['Alarm "load" created', 'Alarm "load" updated']
    assert [item.summary for item in history.events()].count('Alarm "load" created') == 1
    assert len(history.items) == 2 * TIMES
    stale = servers[1].get("1", "r", "load")
    assert stale is not None
    together(servers[0].delete("1", "r", ["load"]))
    with pytest.raises(RecordsChanged):
        together(servers[1].change_state(stale, "ALARM", "late", None, 0.0))
    assert servers[1].get("1", "r", "load") is None


def test_scaling_activities(documents: MemoryDocuments) -> None:
    unused: Any = None
    place = TargetPlace("1", "us-east-1", "table/t", "dynamodb:table:WriteCapacityUnits")
    servers = [AutoScaling(documents, VirtualClock(), unused, unused) for _ in range(2)]
    now_seconds = servers[0].now_seconds()
    activities = [Activity(str(one), now_seconds, now_seconds, "a", "b", "Successful", "c") for one in range(TIMES)]
    together(*[server.note(place, one) for one in activities for server in servers])
    assert len(servers[0].activities("1", "us-east-1")) == 2 * TIMES


def test_events_and_groups_of_dax(documents: MemoryDocuments) -> None:
    servers = [Clusters(documents, VirtualClock(), 0.0, None, lambda: None, lambda: None) for _ in range(2)]

    def group(name: str) -> ParameterGroup:
        return ParameterGroup(account="1", region="r", name=name)

    @again_if_changed
    async def create(server: Clusters, name: str) -> None:
        await server.replace(None, group(name), "created")

    together(*[create(servers[number % 2], str(number)) for number in range(TIMES)])
    assert sorted(one.source for one in servers[0].events("1", "r")) == [str(number) for number in range(TIMES)]
    for server in servers:
        with pytest.raises(RecordsChanged):
            together(server.replace(None, group("0"), "created again"))
    assert len(servers[0].events("1", "r")) == TIMES


def test_sizes_of_attribute_lists(documents: MemoryDocuments) -> None:
    servers = [AttributeLists(documents) for _ in range(2)]
    for number, server in enumerate(servers):
        for one in range(TIMES):
            server.define("1", (f"{number}-{one}", "b"))
    expected_bytes = sum(server.size_bytes("1") for server in servers)
    together(*[server.write() for server in servers])
    assert AttributeLists(documents).size_bytes("1") == expected_bytes > 0


def test_counts_of_rules(documents: MemoryDocuments) -> None:
    servers = [RuleCounts(documents, "a/", lambda: None) for _ in range(2)]
    minute = 30_000_000
    for server in servers:
        server.add(b"key", 1, minute)
    together(*[server.save(minute * 60, documents.generation) for server in servers])
    found = RuleCounts(documents, "a/", lambda: None).between(0, (minute + 1) * 60, minute * 60)
    assert [summary.total for _, summary in found] == [2]
