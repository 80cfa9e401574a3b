"""GetMetricData: many metrics at once, with metric math over them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, ServiceError, ServiceOperation
from hashrange.cloudwatch.api.checks import missing, read_next_token, refuse_value, token_of
from hashrange.cloudwatch.limits import METRIC_DATA_POINTS_MAX
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.queries import MetricDataQuery, Queries, QueryResult
from hashrange.messages import cloudwatch as metric_sentences
from hashrange.messages import metric_queries as sentences

ORDERS = ("TimestampDescending", "TimestampAscending")


class GetMetricDataRequest(msgspec.Struct, frozen=True):
    """Request of GetMetricData."""

    MetricDataQueries: list[MetricDataQuery]
    StartTime: datetime
    EndTime: datetime
    NextToken: str | None = None
    ScanBy: str | None = None
    MaxDatapoints: int | None = None
    LabelOptions: dict[str, Any] | None = None


async def get_metric_data(metrics: Metrics, caller: Caller, request: GetMetricDataRequest) -> Mapping[str, Any]:
    """Returns a page of datapoints, the newest of each query first unless asked otherwise. Raises ServiceError and StorageError."""
    if not request.MetricDataQueries:
        raise missing("MetricDataQueries")
    queries = Queries(request.MetricDataQueries)
    begin_seconds, end_seconds = request.StartTime.timestamp(), request.EndTime.timestamp()
    if begin_seconds >= end_seconds:
        refuse_value(sentences.START_NOT_BEFORE_END)
    if request.ScanBy not in (None, *ORDERS):
        refuse_value(sentences.SCAN_BY)
    size = METRIC_DATA_POINTS_MAX if request.MaxDatapoints is None else request.MaxDatapoints
    if not 1 <= size <= METRIC_DATA_POINTS_MAX:
        refuse_value(sentences.MAX_DATAPOINTS.format(most=METRIC_DATA_POINTS_MAX))
    if not queries.returned:
        refuse_value(sentences.NONE_RETURNED)
    results = queries.evaluate(metrics, caller, begin_seconds, end_seconds, metrics.read_insight_rule)
    begin = _begin_of(request.NextToken)
    page, end = _page(results, begin, size, is_ascending=request.ScanBy == "TimestampAscending")
    total = sum(len(one.values) for one in results)
    return {"MetricDataResults": page, "Messages": [], "NextToken": token_of(end) if end < total else None}


def _begin_of(token: str | None) -> int:
    """Number of datapoints that earlier pages have had. Raises ServiceError."""
    if token is None:
        return 0
    begin = read_next_token(token)
    if not isinstance(begin, int) or isinstance(begin, bool) or begin < 0:
        raise ServiceError("InvalidNextToken", metric_sentences.NEXT_TOKEN)
    return begin


def _page(
    results: Sequence[QueryResult], begin: int, size: int, *, is_ascending: bool
) -> tuple[list[dict[str, Any]], int]:
    """The datapoints from `begin` on, at most `size`, query after query; and where the next page begins."""
    page = []
    place, end = 0, begin + size
    for result in results:
        points = sorted(result.values.items(), reverse=not is_ascending)
        first, last = max(begin - place, 0), max(min(end - place, len(points)), 0)
        shown = points[first:last]
        is_here = bool(shown) or (not points and begin <= place < end)
        place += len(points)
        if is_here:
            page.append(
                {
                    "Id": result.id,
                    "Label": result.label,
                    "Timestamps": [datetime.fromtimestamp(at, UTC) for at, _ in shown],
                    "Values": [value for _, value in shown],
                    "StatusCode": "Complete" if last == len(points) else "PartialData",
                }
            )
    return page, min(end, place)


OPERATION = ServiceOperation("GetMetricData", GetMetricDataRequest, get_metric_data)
