"""The operations that describe alarms: DescribeAlarms, DescribeAlarmsForMetric, DescribeAlarmHistory."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation, ServiceError
from hashrange.aws_services.paging import part_from
from hashrange.cloudwatch import limits
from hashrange.cloudwatch.alarms.alarm import STATES, Alarm
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import ALARM_FORM, ALARM_MEMBERS, refuse_alarm
from hashrange.cloudwatch.alarms.description import describe_alarm
from hashrange.cloudwatch.alarms.history import HISTORY_KINDS
from hashrange.cloudwatch.api.checks import DimensionMember, IntegerFromOne, check_metric, dimensions_of, place_in
from hashrange.cloudwatch.statistic import SIMPLE_STATISTICS
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.items.steps import sort, walk
from hashrange.messages import alarms as sentences

KIN = ("ChildrenOfAlarmName", "ParentsOfAlarmName")
"""Filters that a request has alone, whose replies have few members of each alarm.
Source: API reference, *DescribeAlarms*."""
KINDS = ("CompositeAlarm", "MetricAlarm", "LogAlarm")
ASKED_KINDS = (*HISTORY_KINDS, "AlarmContributorStateUpdate", "AlarmContributorAction")
"""Kinds of events that may be asked for. Those of contributors do not happen here: alarms have none."""
ORDERS = ("TimestampDescending", "TimestampAscending")


class DescribeAlarmsRequest(msgspec.Struct, frozen=True):
    """Request of DescribeAlarms; all members are filters. Without AlarmTypes, only metric alarms are described."""

    AlarmNames: list[str] | None = None
    AlarmNamePrefix: str | None = None
    AlarmTypes: list[str] | None = None
    ChildrenOfAlarmName: str | None = None
    ParentsOfAlarmName: str | None = None
    StateValue: str | None = None
    ActionPrefix: str | None = None
    MaxRecords: Annotated[int, Meta(ge=1, le=limits.ALARMS_DESCRIBED_MAX)] | None = None
    NextToken: str | None = None


async def describe_alarms(alarms: Alarms, caller: Caller, request: DescribeAlarmsRequest) -> Mapping[str, Any]:
    """DescribeAlarms: the alarms of an account and Region, by name, kind, state, action, or kinship.

    Returns a page of alarms, in order of their names. Raises ServiceError.
    """
    _check(request)
    found = [alarm for alarm in walk(_candidates(alarms, caller, request)) if _fits(alarm, request)]
    page, token = part_from(found, place_in(request.NextToken), request.MaxRecords or limits.ALARMS_DESCRIBED_MAX // 2)
    return {
        "MetricAlarms": [_described(alarm, request) for alarm in page if not alarm.definition.is_composite],
        "CompositeAlarms": [_described(alarm, request) for alarm in page if alarm.definition.is_composite],
        "NextToken": token,
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
        ALARM_MEMBERS.check_length(path, getattr(request, path), limits.ALARM_NAME_LENGTH_MAX)
    ALARM_MEMBERS.check_length("ActionPrefix", request.ActionPrefix, limits.ALARM_ACTION_LENGTH_MAX)
    for path in KIN:
        others = {*request.__struct_fields__} - {path, "MaxRecords", "NextToken"}
        if getattr(request, path) is not None and any(getattr(request, one) is not None for one in others):
            refuse_alarm(sentences.KIN_AND_OTHERS.format(path=path))
    if request.AlarmNames is not None and request.AlarmNamePrefix is not None:
        raise ServiceError("InvalidParameterCombinationException", sentences.NAMES_AND_PREFIX)
    ALARM_MEMBERS.check_count("AlarmNames", request.AlarmNames or (), limits.ALARMS_DESCRIBED_MAX)
    for place, name in enumerate(request.AlarmNames or (), 1):
        ALARM_MEMBERS.check_length(f"AlarmNames.{place}", name, limits.ALARM_NAME_LENGTH_MAX)
    _check_kinds(request.AlarmTypes)
    ALARM_MEMBERS.check_choice("StateValue", request.StateValue, STATES)


def _check_kinds(kinds: Sequence[str] | None) -> None:
    for place, kind in enumerate(walk(kinds or ()), 1):
        ALARM_MEMBERS.check_choice(f"AlarmTypes.{place}", kind, KINDS)


def _kind(*, is_composite: bool) -> str:
    return "CompositeAlarm" if is_composite else "MetricAlarm"


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
    kinds = set(request.AlarmTypes or ("MetricAlarm",))
    return [alarm for alarm in walk(every) if _kind(is_composite=alarm.definition.is_composite) in kinds]


def _fits(alarm: Alarm, request: DescribeAlarmsRequest) -> bool:
    actions = alarm.definition.actions
    every_action = (*actions.ok, *actions.alarm, *actions.insufficient_data)
    return (
        (request.AlarmNames is None or alarm.name in request.AlarmNames)
        and alarm.name.startswith(request.AlarmNamePrefix or "")
        and request.StateValue in (None, alarm.state)
        and (request.ActionPrefix is None or any(one.startswith(request.ActionPrefix) for one in every_action))
    )


class DescribeAlarmsForMetricRequest(msgspec.Struct, frozen=True):
    """Request of DescribeAlarmsForMetric; what is not given may be anything, except dimensions:
    without any, the metric has none.
    """

    MetricName: str
    Namespace: str
    Dimensions: list[DimensionMember] | None = None
    Statistic: str | None = None
    ExtendedStatistic: str | None = None
    Period: IntegerFromOne | None = None
    Unit: str | None = None


async def describe_alarms_for_metric(
    alarms: Alarms, caller: Caller, request: DescribeAlarmsForMetricRequest
) -> Mapping[str, Any]:
    """DescribeAlarmsForMetric: the alarms that watch one metric.

    Returns the alarms in order of their names. Raises ServiceError.
    """
    check_metric(request.Namespace, request.MetricName)
    dimensions = dimensions_of(request.Dimensions)
    ALARM_MEMBERS.check_choice("Statistic", request.Statistic, SIMPLE_STATISTICS)
    ALARM_MEMBERS.check_choice("Unit", request.Unit, STANDARD_UNITS)
    return {
        "MetricAlarms": [
            describe_alarm(alarm)
            for alarm in walk(alarms.of(caller.account, caller.region))
            if (metric := alarm.definition.metric) is not None
            and (metric.namespace, metric.name) == (request.Namespace, request.MetricName)
            and tuple(tuple(one) for one in metric.dimensions) == dimensions
            and request.Statistic in (None, metric.statistic)
            and request.ExtendedStatistic in (None, metric.statistic)
            and request.Period in (None, metric.period_seconds)
            and request.Unit in (None, metric.unit)
        ]
    }


class DescribeAlarmHistoryRequest(msgspec.Struct, frozen=True):
    """Request of DescribeAlarmHistory; all members are filters."""

    AlarmName: str | None = None
    AlarmContributorId: str | None = None
    AlarmTypes: list[str] | None = None
    HistoryItemType: str | None = None
    StartDate: datetime | None = None
    EndDate: datetime | None = None
    MaxRecords: Annotated[int, Meta(ge=1, le=limits.ALARM_HISTORY_DESCRIBED_MAX)] | None = None
    NextToken: str | None = None
    ScanBy: str | None = None


async def describe_alarm_history(
    alarms: Alarms, caller: Caller, request: DescribeAlarmHistoryRequest
) -> Mapping[str, Any]:
    """DescribeAlarmHistory: what has happened to alarms in the last two weeks, newest first unless asked
    otherwise; of deleted ones too.

    Returns a page of events; may give way. Raises ServiceError and StorageError.
    """
    ALARM_MEMBERS.check_length("AlarmName", request.AlarmName, limits.ALARM_NAME_LENGTH_MAX)
    _check_kinds(request.AlarmTypes)
    ALARM_MEMBERS.check_choice("HistoryItemType", request.HistoryItemType, ASKED_KINDS)
    ALARM_MEMBERS.check_choice("ScanBy", request.ScanBy, ORDERS)
    begin_seconds = alarms.now_seconds() - limits.ALARM_HISTORY_SECONDS
    if request.StartDate is not None:
        begin_seconds = max(begin_seconds, request.StartDate.timestamp())
    end_seconds = float("inf") if request.EndDate is None else request.EndDate.timestamp()
    kinds = set(request.AlarmTypes or ("MetricAlarm",))
    found = [
        (item, name, kind)
        for name, history in alarms.histories.of(caller.account, caller.region, request.AlarmName)
        if (kind := _kind(is_composite=history.is_composite)) in kinds and request.AlarmContributorId is None
        for item in history.events()
        if begin_seconds <= item.at_seconds < end_seconds and request.HistoryItemType in (None, item.kind)
    ]
    ordered = sort([(item.at_seconds, number) for number, (item, _, _) in enumerate(walk(found))])
    if request.ScanBy != "TimestampAscending":
        ordered = ordered[::-1]
    page, token = part_from(
        ordered, place_in(request.NextToken), request.MaxRecords or limits.ALARM_HISTORY_DESCRIBED_MAX
    )
    return {
        "AlarmHistoryItems": [
            {
                "AlarmName": name,
                "AlarmType": kind,
                "Timestamp": datetime.fromtimestamp(item.at_seconds, UTC),
                "HistoryItemType": item.kind,
                "HistorySummary": item.summary,
                "HistoryData": item.data,
            }
            for item, name, kind in [found[number] for _, number in page]
        ],
        "NextToken": token,
    }


OPERATIONS = (
    Operation("DescribeAlarms", DescribeAlarmsRequest, describe_alarms, ALARM_FORM),
    Operation("DescribeAlarmsForMetric", DescribeAlarmsForMetricRequest, describe_alarms_for_metric, ALARM_FORM),
    Operation("DescribeAlarmHistory", DescribeAlarmHistoryRequest, describe_alarm_history, ALARM_FORM),
)
