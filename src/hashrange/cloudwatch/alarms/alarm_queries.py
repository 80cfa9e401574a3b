"""Which queries may an alarm on metric math have, and what do they give? Exactly one of them returns data,
the one that is compared with the threshold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.alarms.alarm import Alarm, Threshold
from hashrange.cloudwatch.alarms.evaluation import Observed, looked_at
from hashrange.cloudwatch.limits import ALARM_QUERIES_MAX, ALARM_SECONDS_MAX
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.queries import Queries
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
from hashrange.messages import alarms as alarm_sentences
from hashrange.messages import metric_queries as sentences


def check_queries(caller: Caller, queries: Sequence[MetricDataQuery], threshold: Threshold) -> None:
    """Raise ServiceError unless an alarm of this caller may have these queries."""
    check_query_count(len(queries))
    expressions = sum(query.Expression is not None for query in queries)
    if max(expressions, len(queries) - expressions) > ALARM_QUERIES_MAX:
        raise _too_many_queries()
    read = Queries(queries)
    if len(read.returned) != 1:
        raise ServiceError("ValidationError", sentences.ALARM_RETURNS_ONE)
    if not read.has_period:
        raise ServiceError("ValidationError", alarm_sentences.NULL.format(path="Period"))
    if "SEARCH" in read.functions:
        raise ServiceError("ValidationError", sentences.ALARM_SEARCHES)
    read.check_series(read.returned[0])
    read.check_accounts(caller)
    if read.period_seconds * threshold.evaluation_periods > ALARM_SECONDS_MAX:
        raise ServiceError("ValidationError", alarm_sentences.WINDOW_TOO_LONG.format(most=ALARM_SECONDS_MAX))


def check_query_count(count: int) -> None:
    """Raise ServiceError if so many queries are too many, whether they are metrics or expressions."""
    if count > 2 * ALARM_QUERIES_MAX:
        raise _too_many_queries()


def _too_many_queries() -> ServiceError:
    return ServiceError("ValidationError", sentences.ALARM_QUERIES.format(most=ALARM_QUERIES_MAX))


def read_queries(queries: Sequence[Mapping[str, Any]]) -> list[MetricDataQuery]:
    """The queries that members of the API mean. Raises ServiceError."""
    try:
        return msgspec.convert(list(queries), list[MetricDataQuery])
    except msgspec.ValidationError as error:
        raise ServiceError("ValidationError", str(error)) from None


def kept_queries(queries: Sequence[MetricDataQuery]) -> list[dict[str, object]]:
    """The queries as an alarm keeps them: members of the API, and no others that a request may have."""
    kept: list[dict[str, object]] = msgspec.to_builtins(queries)
    return kept


def observed_by(metrics: Metrics, alarm: Alarm, end_seconds: float) -> tuple[Sequence[Observed], int]:
    """Values of the periods that an evaluation looks at, oldest first, and the length of a period. Raises StorageError.

    May give way. A query that cannot be evaluated, because of what other queries give, has no values.
    """
    threshold, queries = alarm.definition.threshold, alarm.definition.queries
    assert threshold is not None
    assert queries is not None
    read = Queries(read_queries(queries))
    period_seconds = read.period_seconds
    begin_seconds = int(end_seconds) - looked_at(threshold) * period_seconds
    caller = Caller(alarm.account, alarm.region)
    try:
        results = read.evaluate(metrics, caller, begin_seconds, end_seconds)
    except ServiceError:
        results = []
    values = results[0].values if results else {}
    times = range(begin_seconds, int(end_seconds), period_seconds)
    return [(float(at_seconds), values.get(at_seconds)) for at_seconds in times], period_seconds
