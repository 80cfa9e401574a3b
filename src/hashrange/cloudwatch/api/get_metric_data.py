"""GetMetricData: many metrics at once, with metric math over them.

A page has at most MaxDatapoints, one query after the other. The next page continues a metric behind the time that its
token names. Requests with expressions have one page only; what does not fit is left out. Source:
operations.md 7; API reference, *MetricDataResult*.
"""

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timezone
from typing import Any, NamedTuple

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.cloudwatch.api.checks import missing
from hashrange.cloudwatch.limits import METRIC_DATA_POINTS_MAX, METRIC_RESULTS_MAX
from hashrange.cloudwatch.metric_labels import timezone_of
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.queries import Queries, invalid, results_of
from hashrange.cloudwatch.query_evaluation import MetricDataQuery, QueryEvaluation, QueryResult
from hashrange.items.steps import walk
from hashrange.messages import cloudwatch as metric_sentences
from hashrange.messages import metric_queries as sentences

ORDERS = ("TimestampDescending", "TimestampAscending")


class LabelOptionsMember(msgspec.Struct, frozen=True):
    """How labels are shown."""

    Timezone: str | None = None


class GetMetricDataRequest(msgspec.Struct, frozen=True):
    """Request of GetMetricData."""

    MetricDataQueries: list[MetricDataQuery]
    StartTime: datetime
    EndTime: datetime
    NextToken: str | None = None
    ScanBy: str | None = None
    MaxDatapoints: int | None = None
    LabelOptions: LabelOptionsMember | None = None


class _Start(NamedTuple):
    """Where a page begins."""

    place: int = 0
    """Which of the queries that return data, from 0."""
    behind_seconds: int | None = None
    """The time of its last datapoint that has been returned; None: none has been."""


async def get_metric_data(metrics: Metrics, caller: Caller, request: GetMetricDataRequest) -> Mapping[str, Any]:
    """Returns a page of datapoints, the newest of each query first unless asked otherwise.
    Raises ServiceError and StorageError.
    """
    if not request.MetricDataQueries:
        raise missing("MetricDataQueries")
    queries = Queries(request.MetricDataQueries)
    try:
        return _data(metrics, caller, request, queries)
    finally:
        queries.free()


def _data(metrics: Metrics, caller: Caller, request: GetMetricDataRequest, queries: Queries) -> dict[str, Any]:
    begin_seconds, end_seconds = request.StartTime.timestamp(), request.EndTime.timestamp()
    if begin_seconds >= end_seconds:
        raise invalid(sentences.START_IS_END if begin_seconds == end_seconds else sentences.START_NOT_BEFORE_END)
    if request.ScanBy not in (None, *ORDERS):
        raise invalid(sentences.SCAN_BY)
    size = METRIC_DATA_POINTS_MAX if request.MaxDatapoints is None else request.MaxDatapoints
    if not 1 <= size <= METRIC_DATA_POINTS_MAX:
        raise invalid(sentences.MAX_DATAPOINTS.format(most=METRIC_DATA_POINTS_MAX))
    zone = _zone_of(request.LabelOptions)
    if not queries.returned:
        raise invalid(sentences.NONE_RETURNED)
    start = _start_of(request.NextToken, len(queries.returned))
    evaluation = queries.evaluation(metrics, caller, begin_seconds, end_seconds, zone)
    page = _Page(size, is_ascending=request.ScanBy == "TimestampAscending")
    end = _fill(page, queries, evaluation, start)
    token = end and base64.urlsafe_b64encode(msgspec.json.encode(end)).decode()
    too_many = [{"Code": "MaxMetricsExceeded", "Value": sentences.MAX_METRICS}] if evaluation.has_too_many else []
    return {"MetricDataResults": page.results, "Messages": too_many, "NextToken": token}


def _zone_of(options: LabelOptionsMember | None) -> timezone:
    if options is None or options.Timezone is None:
        return UTC
    zone = timezone_of(options.Timezone)
    if zone is None:
        raise invalid(sentences.TIMEZONE)
    return zone


def _start_of(token: str | None, query_count: int) -> _Start:
    """Where the page of a token begins. Raises ServiceError."""
    if token is None:
        return _Start()
    try:
        start = msgspec.json.decode(base64.b64decode(token, altchars=b"-_", validate=True), type=_Start)
    except (ValueError, RecursionError):  # the errors of Base64 and of msgspec are ValueErrors
        start = _Start(-1)
    if not 0 <= start.place < query_count:
        raise ServiceError("InvalidNextToken", metric_sentences.NEXT_TOKEN)
    return start


class _Page:
    """The datapoints of one reply."""

    def __init__(self, size: int, *, is_ascending: bool) -> None:
        self.left = size
        """Datapoints that still fit."""
        self.results: list[dict[str, Any]] = []
        self._is_ascending = is_ascending

    def add(self, result: QueryResult, behind_seconds: int | None) -> int | None:
        """Add the datapoints behind this time; returns the time of the last that fits if not all do.
        May give way.
        """
        times = sorted(result.values, reverse=not self._is_ascending)
        if behind_seconds is not None:
            times = [at for at in walk(times) if (at > behind_seconds) == self._is_ascending and at != behind_seconds]
        shown = times[: self.left]
        self.left -= len(shown)
        is_complete = len(shown) == len(times) and not result.is_left_out
        messages = []
        if result.has_dropped:
            messages.append({"Code": "ArithmeticError", "Value": sentences.VALUES_DROPPED})
        if result.forbidden_account is not None:
            text = sentences.OTHER_ACCOUNT.format(account=result.forbidden_account)
            messages.append({"Code": "Forbidden", "Value": text})
        status = "Complete" if is_complete else "PartialData"
        self.results.append(
            {
                "Id": result.id,
                "Label": result.label,
                "Timestamps": [datetime.fromtimestamp(at, UTC) for at in walk(shown)],
                "Values": [result.values[at] for at in walk(shown)],
                "StatusCode": status if result.forbidden_account is None else "Forbidden",
                "Messages": messages or None,
            }
        )
        return None if is_complete else shown[-1] if shown else behind_seconds


def _fill(page: _Page, queries: Queries, evaluation: QueryEvaluation, start: _Start) -> Sequence[int | None] | None:
    """Add results from `start` on until the page is full; returns where the next page begins, None if there is none."""
    returned: Sequence[str] = queries.returned
    if queries.has_expressions:
        for query_id in returned:
            # There is no next page, so what does not fit is not computed.
            has_room = page.left and len(page.results) < METRIC_RESULTS_MAX
            results = results_of(evaluation, query_id) if has_room else [evaluation.left_out(query_id)]
            for result in results:
                page.add(result, None)
        return None
    behind_seconds = start.behind_seconds
    for place in range(start.place, len(returned)):
        if not page.left:
            return (place, None)
        for result in results_of(evaluation, returned[place]):
            last_seconds = page.add(result, behind_seconds)
            if last_seconds is not None:
                return (place, last_seconds)
        behind_seconds = None
    return None


OPERATION = Operation("GetMetricData", GetMetricDataRequest, get_metric_data, FORM)
