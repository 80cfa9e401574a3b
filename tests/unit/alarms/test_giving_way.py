"""Requests about very many alarms, or about those with very long rules and histories, give way:
other requests do not wait for them.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.alarms import history
from hashrange.cloudwatch.alarms.alarm import AlarmDefinition, Threshold, WatchedMetric
from hashrange.cloudwatch.alarms.alarm_job import AlarmEvaluation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.describe_alarms import DescribeAlarmsRequest, describe_alarms
from hashrange.cloudwatch.alarms.histories import HISTORY_PREFIX
from hashrange.cloudwatch.alarms.history import History, HistoryItem
from hashrange.cloudwatch.api.registry import ALARM_OPERATIONS
from hashrange.cloudwatch.metrics import Metrics
from hashrange.errors import StorageCorruption
from hashrange.items import steps
from tests.support.clocks import VirtualClock
from tests.support.working import give_way_always, lines_between_looks
from tests.unit.alarms.test_math_alarms import done
from tests.unit.functions.functions_world import MemoryDocuments

ALARMS, EVENTS = 500, 2_000
CALLER = Caller("1", "us-east-1")
RULE = " OR ".join([f"ALARM(a{number})" for number in range(100)] + ["FALSE"] * 900)
OPERATIONS = {operation.name: operation for operation in ALARM_OPERATIONS}


@pytest.fixture
def alarms() -> Alarms:
    """Many alarms, of which ten have long rules, and thirty long histories."""
    documents, clock = MemoryDocuments(), VirtualClock()
    alarms = Alarms(documents, clock)
    metric, threshold = WatchedMetric("own", "Load", "Sum", 60), Threshold("GreaterThanThreshold", 1.0, 1)
    for number in range(ALARMS):
        done(alarms.put(*CALLER, AlarmDefinition(f"a{number}", threshold=threshold, metric=metric)))
    for number in range(10):
        done(alarms.put(*CALLER, AlarmDefinition(f"c{number}", rule=RULE)))
    event = msgspec.json.encode(HistoryItem(clock.service_time(), "StateUpdate", "changed", "{}"))
    for number in range(30):
        documents.content[history_name(f"a{number}")] = msgspec.json.encode(
            History(items=[msgspec.Raw(event)] * EVENTS)
        )
    return alarms


def history_name(alarm: str) -> str:
    return f"{HISTORY_PREFIX}{CALLER.account}/{CALLER.region}/{alarm}"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("DescribeAlarms", {}),
        ("DescribeAlarms", {"ParentsOfAlarmName": "a1"}),
        ("DescribeAlarms", {"ChildrenOfAlarmName": "c1"}),
        ("DescribeAlarmsForMetric", {"Namespace": "own", "MetricName": "Load"}),
        ("DescribeAlarms", {"AlarmTypes": ["MetricAlarm"] * 20_000}),
        ("DescribeAlarmHistory", {}),
        ("DescribeAlarmHistory", {"AlarmName": "a1"}),
        ("DeleteAlarms", {"AlarmNames": ["a498", "a499"]}),
        ("PutCompositeAlarm", {"AlarmName": "new", "AlarmRule": RULE}),
    ],
)
def test_no_request_holds_up_others(alarms: Alarms, operation: str, members: dict[str, Any]) -> None:
    """Each rule took 3 ms to read, and DescribeAlarms reads those of all alarms;
    histories were read at once, whatever was asked for.
    """
    served = OPERATIONS[operation]
    request = msgspec.convert(members, served.request)
    assert lines_between_looks(lambda: done(served.run(alarms, CALLER, request))) < 15_000


def test_each_kind_is_compared_once_however_often_it_is_asked_for(alarms: Alarms) -> None:
    """Each of 5,000 alarms was compared with each of 150,000 kinds."""
    compared: list[None] = []

    class Kind(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            compared.append(None)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    request = DescribeAlarmsRequest(AlarmTypes=[Kind("CompositeAlarm") for _ in range(100)])
    assert len(done(describe_alarms(alarms, CALLER, request))["CompositeAlarms"]) == 10
    assert len(compared) < 2 * ALARMS


def test_the_history_of_one_alarm_reads_no_other(alarms: Alarms, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: MemoryDocuments, _prefix: str) -> Any:
        raise AssertionError("the histories of all alarms were read")

    monkeypatch.setattr(MemoryDocuments, "below", refuse)
    served = OPERATIONS["DescribeAlarmHistory"]
    reply = done(served.run(alarms, CALLER, msgspec.convert({"AlarmName": "a40"}, served.request)))
    assert [one["HistorySummary"] for one in reply["AlarmHistoryItems"]] == ['Alarm "a40" created']


def test_a_new_event_reads_no_former_one(alarms: Alarms, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history of 4 MB was decoded and encoded whenever an alarm changed its state: one step of 16 to 29 ms."""
    reads: list[bytes] = []
    monkeypatch.setattr(history, "_decode", reads.append)
    served = OPERATIONS["SetAlarmState"]
    asked = {"AlarmName": "a1", "StateValue": "OK", "StateReason": "well"}
    done(served.run(alarms, CALLER, msgspec.convert(asked, served.request)))
    assert not reads
    monkeypatch.undo()
    served = OPERATIONS["DescribeAlarmHistory"]
    reply = done(served.run(alarms, CALLER, msgspec.convert({"AlarmName": "a1"}, served.request)))
    summaries = [one["HistorySummary"] for one in reply["AlarmHistoryItems"]]
    assert summaries == ["Alarm updated from INSUFFICIENT_DATA to OK", *["changed"] * 99]


def test_a_long_history_is_decoded_event_by_event(alarms: Alarms, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 4 MB was decoded in one step of 12 ms."""
    document = alarms._gone.documents.get(history_name("a1"))
    assert document is not None
    looks: list[int] = []
    reads: list[bytes] = []
    decode = history._decode

    def noted(one: bytes) -> HistoryItem:
        reads.append(one)
        return decode(one)

    monkeypatch.setattr(history, "_decode", noted)
    monkeypatch.setattr(steps, "_look", lambda: looks.append(len(reads)))
    served = OPERATIONS["DescribeAlarmHistory"]
    done(served.run(alarms, CALLER, msgspec.convert({"AlarmName": "a1"}, served.request)))
    assert len(reads) == EVENTS
    assert max(after - before for before, after in pairwise(looks)) <= steps.LOOK_STEPS + 1


def test_a_damaged_event_is_told(alarms: Alarms) -> None:
    documents = alarms._gone.documents
    assert isinstance(documents, MemoryDocuments)
    documents.content[history_name("a1")] = b'{"items": [{"at_seconds": "soon"}]}'
    asked = {"DescribeAlarmHistory": {}, "SetAlarmState": {"StateValue": "OK", "StateReason": "well"}}
    for operation, members in asked.items():
        served = OPERATIONS[operation]
        request = msgspec.convert({"AlarmName": "a1", **members}, served.request)
        with pytest.raises(StorageCorruption, match="an event in the history of an alarm cannot be read"):
            done(served.run(alarms, CALLER, request))


@pytest.mark.parametrize("change", ["delete", "replace"])
def test_a_composite_alarm_that_changes_while_its_rule_is_read_stays_so(change: str) -> None:
    documents, clock = MemoryDocuments(), VirtualClock()
    alarms = Alarms(documents, clock)
    done(alarms.put(*CALLER, AlarmDefinition("any", rule="FALSE OR " * 1_000 + "TRUE")))
    evaluation = AlarmEvaluation(alarms, Metrics(documents, clock), clock)
    done(evaluation.run_slice())
    clock.advance(60)

    def changed() -> None:
        if change == "delete":
            done(alarms.delete(*CALLER, ["any"]))
        else:
            done(alarms.put(*CALLER, AlarmDefinition("any", rule="FALSE")))

    changes: list[Callable[[], None]] = [changed]
    give_way_always(evaluation.run_slice(), lambda: changes.pop()() if changes else None)
    assert not changes
    alarm = alarms.get(*CALLER, "any")
    assert (alarm is None) == (change == "delete")
    if alarm is not None:
        assert alarm.definition.rule == "FALSE"
