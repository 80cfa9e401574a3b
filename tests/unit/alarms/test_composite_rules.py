"""The rule of a composite alarm is read when it is put, and not again by those who ask for its
parents, children or state.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.alarms import composite_rules
from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmDefinition, StateValue, Threshold, WatchedMetric
from hashrange.cloudwatch.alarms.alarm_job import AlarmEvaluation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api import put_composite_alarm
from hashrange.cloudwatch.alarms.rule import RuleNode, read_rule
from hashrange.cloudwatch.api.registry import ALARM_OPERATIONS
from hashrange.cloudwatch.metrics import Metrics
from tests.support.clocks import VirtualClock
from tests.support.working import give_way_always
from tests.unit.alarms.test_math_alarms import done
from tests.unit.functions.functions_world import MemoryDocuments

CALLER = Caller("1", "us-east-1")
OPERATIONS = {operation.name: operation for operation in ALARM_OPERATIONS}


class RuleWorld:
    """Alarms of a store in memory, and the rules that have been read."""

    def __init__(self) -> None:
        self.documents, self.clock = MemoryDocuments(), VirtualClock()
        self.read: list[str] = []
        self.open()

    def open(self) -> None:
        """Open the store, for the first time or again."""
        self.alarms = Alarms(self.documents, self.clock)
        self.evaluation = AlarmEvaluation(self.alarms, Metrics(self.documents, self.clock), self.clock)

    def ask(self, operation: str, **members: Any) -> Any:
        """The reply of an operation."""
        served = OPERATIONS[operation]
        return done(served.run(self.alarms, CALLER, msgspec.convert(members, served.request)))

    def put(self, name: str, rule: str) -> None:
        """Put a composite alarm."""
        self.ask("PutCompositeAlarm", AlarmName=name, AlarmRule=rule)

    def kin(self, **members: str | int) -> list[str]:
        """Names of the alarms that are parents or children."""
        reply = self.ask("DescribeAlarms", **members)
        return [one["AlarmName"] for one in [*reply["CompositeAlarms"], *reply["MetricAlarms"]]]

    def alarm(self, name: str) -> Alarm:
        """The alarm of this name."""
        alarm = self.alarms.get(*CALLER, name)
        assert alarm is not None
        return alarm

    def change(self, name: str, state: StateValue) -> None:
        """Put an alarm into a state."""
        done(self.alarms.change_state(self.alarm(name), state, "", None, self.clock.service_time()))

    def pass_minute(self) -> None:
        """Let a minute end, and evaluate all alarms."""
        self.clock.advance(60)
        while done(self.evaluation.run_slice()) == 0:
            pass


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> RuleWorld:
    """Metric alarms `a` and `b`, and composite alarms `one`, `two` and `three`."""
    world = RuleWorld()

    def counted(text: str, account: str, region: str) -> RuleNode:
        world.read.append(text)
        return read_rule(text, account, region)

    for module in (composite_rules, put_composite_alarm):
        monkeypatch.setattr(module, "read_rule", counted)
    metric, threshold = (
        WatchedMetric("own", "Load", "Sum", 60),
        Threshold("GreaterThanThreshold", 1.0, 1, missing_data="ignore"),
    )
    for name in "ab":
        done(world.alarms.put(*CALLER, AlarmDefinition(name, threshold=threshold, metric=metric)))
    world.put("one", "ALARM(a) OR OK(a)")
    world.put("two", "ALARM(b)")
    world.put("three", "ALARM(one) AND ALARM(a)")
    done(world.evaluation.run_slice())
    return world


def test_a_rule_is_read_once(world: RuleWorld) -> None:
    """DescribeAlarms took 7.5 s to find the parents of one alarm among 300 with long rules, each time."""
    assert len(world.read) == 3
    for _ in range(2):
        assert world.kin(ParentsOfAlarmName="a") == ["one", "three"]
        assert world.kin(ParentsOfAlarmName="a", MaxRecords=1) == ["one"]
        assert world.kin(ChildrenOfAlarmName="three") == ["one", "a"]
        assert world.kin(ChildrenOfAlarmName="a") == world.kin(ChildrenOfAlarmName="none") == []
        with pytest.raises(ServiceError, match="a"):
            world.ask("DeleteAlarms", AlarmNames=["a"])
        world.pass_minute()
    assert len(world.read) == 3
    world.change("a", "ALARM")
    world.pass_minute()
    assert (world.alarm("one").state, world.alarm("two").state, world.alarm("three").state) == ("ALARM", "OK", "ALARM")
    with pytest.raises(ServiceError, match="lead back"):
        world.put("one", "ALARM(three)")
    assert world.read[3:] == ["ALARM(three)"]


def test_rules_are_read_once_after_a_start(world: RuleWorld) -> None:
    world.open()
    world.read.clear()
    done(world.evaluation.run_slice())
    for _ in range(2):
        assert world.kin(ParentsOfAlarmName="a") == ["one", "three"]
        world.pass_minute()
    assert len(world.read) == 3


def test_a_replaced_rule_counts_and_a_deleted_one_is_forgotten(world: RuleWorld) -> None:
    world.put("one", "ALARM(b)")
    assert world.kin(ParentsOfAlarmName="b") == ["one", "two"]
    assert world.kin(ParentsOfAlarmName="a") == ["three"]
    for name in ("three", "two", "one"):
        world.ask("DeleteAlarms", AlarmNames=[name])
    assert world.kin(ParentsOfAlarmName="b") == []
    assert (world.alarms.rules._known, world.alarms.rules._characters) == ({}, 0)


def test_rules_are_forgotten_with_the_content(world: RuleWorld) -> None:
    world.documents.generation += 1
    world.documents.content.clear()
    assert world.kin(ParentsOfAlarmName="a") == []
    assert (world.alarms.rules._known, world.alarms.rules._characters) == ({}, 0)


def test_a_tree_without_room_is_made_again_only_after_a_change(
    world: RuleWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees take memory, and there may be 5,000 alarms with rules of 10,240 characters."""
    monkeypatch.setattr(composite_rules, "TREES_CHARACTERS_MAX", 20)
    world.open()
    world.pass_minute()
    world.pass_minute()
    world.read.clear()
    world.pass_minute()
    assert world.read == []
    assert world.alarms.rules._characters <= 20
    world.change("a", "ALARM")
    world.pass_minute()
    assert (world.alarm("one").state, world.alarm("three").state) == ("ALARM", "ALARM")
    assert set(world.read) == {"ALARM(one) AND ALARM(a)"}


@pytest.mark.parametrize("change", ["delete", "replace"])
def test_nothing_is_kept_of_a_rule_that_goes_while_it_is_read(change: str) -> None:
    world = RuleWorld()
    done(world.alarms.put(*CALLER, AlarmDefinition("any", rule="FALSE OR " * 1_000 + "TRUE")))
    old = world.alarm("any")

    def changed() -> None:
        if change == "delete":
            done(world.alarms.delete(*CALLER, ["any"]))
        else:
            done(world.alarms.put(*CALLER, AlarmDefinition("any", rule="ALARM(b)")))

    changes: list[Callable[[], None]] = [changed]

    async def watched() -> Any:
        return world.alarms.rules.watched_by(old)

    _, names = give_way_always(watched(), lambda: changes.pop()() if changes else None)
    assert not changes
    assert names == ()
    assert (world.alarms.rules._known, world.alarms.rules._characters) == ({}, 0)
