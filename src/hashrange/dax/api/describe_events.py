"""DescribeEvents: what has happened to clusters and groups: of the last day, unless asked otherwise."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import PartRequest, bad_value, part_of_records, refuse_dax
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import EVENT_DAY_SECONDS, EVENT_MINUTES_MAX
from hashrange.dax.records import EVERYONE, EventSubject
from hashrange.messages import dax as sentences


class DescribeEventsRequest(PartRequest, frozen=True):
    """Request of DescribeEvents."""

    SourceName: str | None = None
    SourceType: str | None = None
    StartTime: datetime | None = None
    EndTime: datetime | None = None
    Duration: int | None = None


async def describe_events(clusters: Clusters, caller: Caller, request: DescribeEventsRequest) -> Mapping[str, Any]:
    """Returns a page of events, oldest first. Raises ServiceError and StorageError."""
    kinds = get_args(EventSubject)
    if request.SourceType is not None and request.SourceType not in kinds:
        bad_value(sentences.ONE_OF, name="SourceType", values=", ".join(kinds), value=request.SourceType[:100])
    if request.SourceName is not None and request.SourceType is None:
        refuse_dax("InvalidParameterCombinationException", sentences.EVENT_SOURCE)
    begin_seconds, end_seconds = _times(request, clusters.now_seconds())
    events = [*clusters.events(caller.account, caller.region), *clusters.events(EVERYONE, EVERYONE)]
    every = [
        {
            "SourceName": event.source,
            "SourceType": event.source_type,
            "Message": event.message,
            "Date": datetime.fromtimestamp(event.at_seconds, UTC),
        }
        for event in sorted(events, key=lambda event: event.at_seconds)
        if begin_seconds <= event.at_seconds <= end_seconds
        and request.SourceType in (None, event.source_type)
        and request.SourceName in (None, event.source)
    ]
    page, token = part_of_records(every, request)
    return {"Events": page, **token}


def _times(request: DescribeEventsRequest, now_seconds: float) -> tuple[float, float]:
    begin, end, minutes = request.StartTime, request.EndTime, request.Duration
    if minutes is not None and not 1 <= minutes <= EVENT_MINUTES_MAX:
        bad_value(sentences.EVENT_DURATION, most=EVENT_MINUTES_MAX)
    if begin is not None and end is not None and minutes is not None:
        refuse_dax("InvalidParameterCombinationException", sentences.EVENT_TIMES)
    seconds = EVENT_DAY_SECONDS if minutes is None else minutes * 60
    if begin is not None:
        begin_seconds = begin.timestamp()
        end_seconds = end.timestamp() if end is not None else begin_seconds + seconds if minutes else now_seconds
    else:
        end_seconds = now_seconds if end is None else end.timestamp()
        begin_seconds = end_seconds - seconds
    if begin_seconds > end_seconds:
        refuse_dax("InvalidParameterCombinationException", sentences.EVENT_TIMES)
    return begin_seconds, end_seconds


OPERATION = Operation("DescribeEvents", DescribeEventsRequest, describe_events, FORM)
