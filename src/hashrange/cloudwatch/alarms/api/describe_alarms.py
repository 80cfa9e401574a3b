"""DescribeAlarms: the alarms of an account and Region, by name, kind, state, action, or kinship."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, FormWire, Operation, ServiceError
from hashrange.cloudwatch.alarms.alarm import STATES, Alarm
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import (
    check_alarm_choice,
    check_alarm_count,
    check_alarm_length,
    refuse_alarm,
    word_alarm_fault,
)
from hashrange.cloudwatch.alarms.description import describe_alarm
from hashrange.cloudwatch.api.checks import place_in, token_of
from hashrange.cloudwatch.limits import ALARM_ACTION_LENGTH_MAX, ALARM_NAME_LENGTH_MAX, ALARMS_DESCRIBED_MAX
from hashrange.items.steps import walk
from hashrange.messages import alarms as sentences

KIN = ("ChildrenOfAlarmName", "ParentsOfAlarmName")
"""Filters that a request has alone, whose replies have few members of each alarm.
Source: API reference, *DescribeAlarms*."""
KINDS = ("CompositeAlarm", "MetricAlarm", "LogAlarm")


class DescribeAlarmsRequest(msgspec.Struct, frozen=True):
    """Request of DescribeAlarms; all members are filters. Without AlarmTypes, only metric alarms are described."""

    AlarmNames: list[str] | None = None
    AlarmNamePrefix: str | None = None
    AlarmTypes: list[str] | None = None
    ChildrenOfAlarmName: str | None = None
    ParentsOfAlarmName: str | None = None
    StateValue: str | None = None
    ActionPrefix: str | None = None
    MaxRecords: Annotated[int, Meta(ge=1, le=ALARMS_DESCRIBED_MAX)] | None = None
    NextToken: str | None = None


async def describe_alarms(alarms: Alarms, caller: Caller, request: DescribeAlarmsRequest) -> Mapping[str, Any]:
    """Returns a page of alarms, in order of their names. Raises ServiceError."""
    _check(request)
    found = [alarm for alarm in walk(_candidates(alarms, caller, request)) if _fits(alarm, request)]
    begin, size = place_in(request.NextToken), request.MaxRecords or ALARMS_DESCRIBED_MAX // 2
    page = found[begin : begin + size]
    return {
        "MetricAlarms": [_described(alarm, request) for alarm in page if not alarm.definition.is_composite],
        "CompositeAlarms": [_described(alarm, request) for alarm in page if alarm.definition.is_composite],
        "NextToken": token_of(begin + size) if begin + size < len(found) else None,
    }


def _described(alarm: Alarm, request: DescribeAlarmsRequest) -> Mapping[str, Any]:
    described = describe_alarm(alarm)
    if request.ParentsOfAlarmName is not None:
        return {name: described[name] for name in ("AlarmName", "AlarmArn")}
    if request.ChildrenOfAlarmName is not None:
        return {name: described[name] for name in ("AlarmName", "AlarmArn", "StateValue", "StateUpdatedTimestamp")}
    return described


def _check(request: DescribeAlarmsRequest) -> None:
    for path in ("AlarmNamePrefix", "ChildrenOfAlarmName", "ParentsOfAlarmName"):
        if getattr(request, path) is not None:
            check_alarm_length(path, getattr(request, path), ALARM_NAME_LENGTH_MAX)
    if request.ActionPrefix is not None:
        check_alarm_length("ActionPrefix", request.ActionPrefix, ALARM_ACTION_LENGTH_MAX)
    for path in KIN:
        others = {*request.__struct_fields__} - {path, "MaxRecords", "NextToken"}
        if getattr(request, path) is not None and any(getattr(request, one) is not None for one in others):
            refuse_alarm(sentences.KIN_AND_OTHERS.format(path=path))
    if request.AlarmNames is not None and request.AlarmNamePrefix is not None:
        raise ServiceError("InvalidParameterCombinationException", sentences.NAMES_AND_PREFIX)
    check_alarm_count("AlarmNames", request.AlarmNames or (), ALARMS_DESCRIBED_MAX)
    for place, name in enumerate(request.AlarmNames or (), 1):
        check_alarm_length(f"AlarmNames.{place}", name, ALARM_NAME_LENGTH_MAX)
    for place, kind in enumerate(request.AlarmTypes or (), 1):
        check_alarm_choice(f"AlarmTypes.{place}", kind, KINDS)
    if request.StateValue is not None:
        check_alarm_choice("StateValue", request.StateValue, STATES)


def _candidates(alarms: Alarms, caller: Caller, request: DescribeAlarmsRequest) -> list[Alarm]:
    """The alarms that the request's names and kinship lead to."""
    every = alarms.of(caller.account, caller.region)
    if request.ChildrenOfAlarmName is not None:
        parent = alarms.get(caller.account, caller.region, request.ChildrenOfAlarmName)
        if parent is None or not parent.definition.is_composite:
            return []
        names = set(alarms.rules.watched_by(parent))
        return [alarm for alarm in walk(every) if alarm.name in names]
    if request.ParentsOfAlarmName is not None:
        return [
            alarm
            for alarm in walk(every)
            if alarm.definition.is_composite and request.ParentsOfAlarmName in alarms.rules.watched_by(alarm)
        ]
    kinds = request.AlarmTypes or ["MetricAlarm"]
    return [
        alarm
        for alarm in walk(every)
        if ("CompositeAlarm" if alarm.definition.is_composite else "MetricAlarm") in kinds
    ]


def _fits(alarm: Alarm, request: DescribeAlarmsRequest) -> bool:
    actions = alarm.definition.actions
    every_action = (*actions.ok, *actions.alarm, *actions.insufficient_data)
    return (
        (request.AlarmNames is None or alarm.name in request.AlarmNames)
        and alarm.name.startswith(request.AlarmNamePrefix or "")
        and request.StateValue in (None, alarm.state)
        and (request.ActionPrefix is None or any(one.startswith(request.ActionPrefix) for one in every_action))
    )


OPERATION = Operation("DescribeAlarms", DescribeAlarmsRequest, describe_alarms, FormWire(word=word_alarm_fault))
