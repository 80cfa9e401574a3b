"""DescribeAlarmHistory: what has happened to alarms in the last two weeks, newest first unless asked
otherwise; of deleted ones too.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, FormWire, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import check_alarm_choice, check_alarm_length, word_alarm_fault
from hashrange.cloudwatch.alarms.history import HISTORY_KINDS
from hashrange.cloudwatch.api.checks import place_in, token_of
from hashrange.cloudwatch.limits import ALARM_HISTORY_DESCRIBED_MAX, ALARM_HISTORY_SECONDS, ALARM_NAME_LENGTH_MAX
from hashrange.items.steps import sort, walk

KINDS = ("CompositeAlarm", "MetricAlarm", "LogAlarm")
ASKED_KINDS = (*HISTORY_KINDS, "AlarmContributorStateUpdate", "AlarmContributorAction")
"""Kinds of events that may be asked for. Those of contributors do not happen here: alarms have none."""
ORDERS = ("TimestampDescending", "TimestampAscending")


class DescribeAlarmHistoryRequest(msgspec.Struct, frozen=True):
    """Request of DescribeAlarmHistory; all members are filters."""

    AlarmName: str | None = None
    AlarmContributorId: str | None = None
    AlarmTypes: list[str] | None = None
    HistoryItemType: str | None = None
    StartDate: datetime | None = None
    EndDate: datetime | None = None
    MaxRecords: Annotated[int, Meta(ge=1, le=ALARM_HISTORY_DESCRIBED_MAX)] | None = None
    NextToken: str | None = None
    ScanBy: str | None = None


async def describe_alarm_history(
    alarms: Alarms, caller: Caller, request: DescribeAlarmHistoryRequest
) -> Mapping[str, Any]:
    """Returns a page of events; may give way. Raises ServiceError and StorageError."""
    if request.AlarmName is not None:
        check_alarm_length("AlarmName", request.AlarmName, ALARM_NAME_LENGTH_MAX)
    for place, kind in enumerate(request.AlarmTypes or (), 1):
        check_alarm_choice(f"AlarmTypes.{place}", kind, KINDS)
    if request.HistoryItemType is not None:
        check_alarm_choice("HistoryItemType", request.HistoryItemType, ASKED_KINDS)
    if request.ScanBy is not None:
        check_alarm_choice("ScanBy", request.ScanBy, ORDERS)
    begin_seconds = alarms.now_seconds() - ALARM_HISTORY_SECONDS
    if request.StartDate is not None:
        begin_seconds = max(begin_seconds, request.StartDate.timestamp())
    end_seconds = float("inf") if request.EndDate is None else request.EndDate.timestamp()
    kinds = request.AlarmTypes or ["MetricAlarm"]
    found = [
        (item, name, kind)
        for name, history in alarms.history(caller.account, caller.region, request.AlarmName)
        if (kind := "CompositeAlarm" if history.is_composite else "MetricAlarm") in kinds
        and request.AlarmContributorId is None
        for item in walk(history.items)
        if begin_seconds <= item.at_seconds < end_seconds and request.HistoryItemType in (None, item.kind)
    ]
    ordered = sort([(item.at_seconds, number) for number, (item, _, _) in enumerate(walk(found))])
    if request.ScanBy != "TimestampAscending":
        ordered = ordered[::-1]
    begin, size = place_in(request.NextToken), request.MaxRecords or ALARM_HISTORY_DESCRIBED_MAX
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
            for item, name, kind in [found[number] for _, number in ordered[begin : begin + size]]
        ],
        "NextToken": token_of(begin + size) if begin + size < len(found) else None,
    }


OPERATION = Operation(
    "DescribeAlarmHistory", DescribeAlarmHistoryRequest, describe_alarm_history, FormWire(word=word_alarm_fault)
)
