"""Which queries of metric data are valid? Each is one metric with a statistic,
or an expression of metric math over the others.

GetMetricData, alarms on metric math, and policies with customized metrics ask here. Source:
operations.md 7; API reference, *MetricDataQuery*.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, timezone

from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.api.checks import check_metric, check_one_of, dimensions_of
from hashrange.cloudwatch.limits import (
    METRIC_LABEL_LENGTH_MAX,
    METRIC_MATH_AT_ONCE_MAX,
    METRIC_MATH_POINTS_MAX,
    METRIC_QUERIES_MAX,
)
from hashrange.cloudwatch.math.functions import MINUTE_SECONDS
from hashrange.cloudwatch.math.program import MathKind, ids_in, math_kind_of, read_expression
from hashrange.cloudwatch.math.values import MathError
from hashrange.cloudwatch.math.windows import Window
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.query_evaluation import (
    CheckedQuery,
    MetricDataQuery,
    MetricStatMember,
    QueryEvaluation,
    QueryResult,
)
from hashrange.cloudwatch.statistic import statistic_of
from hashrange.cloudwatch.tiers import is_period
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.items.steps import spend
from hashrange.messages import metric_queries as sentences

_is_id = re.compile(r"[a-z][A-Za-z0-9_]{0,254}").fullmatch

STEPS_FREED = 10
"""Steps of an expression that are freed in a microsecond."""


class Queries:
    """Queries that may be evaluated together."""

    def __init__(self, queries: Sequence[MetricDataQuery]) -> None:
        """Raises ServiceError for queries that are not valid, with a line for each fault of a member."""
        self._by_id = _checked(queries)
        try:
            self._order = _in_order(self._by_id)
        except ServiceError:
            self.free()
            raise
        """The ids, each after those that its expression names."""
        self.returned: Sequence[str] = [one.Id for one in queries if one.ReturnData is not False]
        """Ids of the queries whose data is returned."""
        self.has_expressions = any(query.program for query in self._by_id.values())

    def free(self) -> None:
        """Free the expressions one after the other; may give way. Nothing may be asked afterwards."""
        _free(self._by_id)

    @property
    def functions(self) -> frozenset[str]:
        """Names of all functions that the expressions call."""
        return frozenset[str]().union(*[query.functions for query in self._by_id.values()])

    @property
    def has_period(self) -> bool:
        """False if no query has a period of its own."""
        return any(one.own_period_seconds for one in self._by_id.values())

    @property
    def period_seconds(self) -> int:
        """The longest period of any query."""
        return max([MINUTE_SECONDS, *[one.own_period_seconds or 0 for one in self._by_id.values()]])

    def check_accounts(self, caller: Caller) -> None:
        """Raise ServiceError if a query is about another account's metrics."""
        for query in self._by_id.values():
            if query.given.AccountId not in (None, caller.account):
                raise invalid(sentences.OTHER_ACCOUNT.format(account=query.given.AccountId))

    def check_series(self, query_id: str) -> None:
        """Raise ServiceError if a query gives a number or a text, whatever the data are."""
        kinds: dict[str, MathKind] = {}
        for one in self._order:
            program = self._by_id[one].program
            kinds[one] = math_kind_of(program, kinds) if program else "series"
        if kinds[query_id] in {"number", "text"}:
            raise _expression_error(query_id, MathError(sentences.NOT_A_SERIES))

    def evaluation(
        self,
        metrics: Metrics,
        caller: Caller,
        begin_seconds: float,
        end_seconds: float,
        zone: timezone = UTC,
        points_max: int = METRIC_MATH_POINTS_MAX,
    ) -> QueryEvaluation:
        """An evaluation for [begin, end), which computes what it is asked for. `zone`: of times in labels."""
        window = Window(begin_seconds, end_seconds, metrics.now_seconds())
        return QueryEvaluation(self._by_id, self._order, self.returned, metrics, caller, window, zone, points_max)

    def evaluate(
        self, metrics: Metrics, caller: Caller, begin_seconds: float, end_seconds: float
    ) -> Sequence[QueryResult]:
        """The series of all queries whose data is returned, in their order; may give way.
        Raises ServiceError and StorageError.
        """
        evaluation = self.evaluation(metrics, caller, begin_seconds, end_seconds, points_max=METRIC_MATH_AT_ONCE_MAX)
        return [result for query_id in self.returned for result in results_of(evaluation, query_id)]


def results_of(evaluation: QueryEvaluation, query_id: str) -> Sequence[QueryResult]:
    """The series of one query; may give way. Raises ServiceError and StorageError."""
    try:
        return evaluation.results(query_id)
    except MathError as error:
        raise _expression_error(query_id, error) from None


def invalid(message: str) -> ServiceError:
    """The error for queries that are not valid: GetMetricData returns another code than the older
    operations. Source: reports of users.
    """
    return ServiceError("ValidationError", message)


def _expression_error(query_id: str, error: MathError) -> ServiceError:
    return invalid(sentences.EXPRESSION_WRONG.format(id=query_id, reason=error))


def _free(queries: dict[str, CheckedQuery]) -> None:
    """Free queries whose expressions have up to a million steps together."""
    while queries:
        spend(1 + len(queries.popitem()[1].program) // STEPS_FREED)


def _checked(queries: Sequence[MetricDataQuery]) -> dict[str, CheckedQuery]:
    """The queries by their ids. Raises ServiceError."""
    if len(queries) > METRIC_QUERIES_MAX:
        raise invalid(sentences.TOO_MANY_QUERIES.format(most=METRIC_QUERIES_MAX))
    faults = [
        fault
        for place, query in enumerate(queries, 1)
        for fault in _faults_of(query, f"MetricDataQueries.member.{place}")
    ]
    if faults:
        raise invalid("\n".join(faults))
    checked: dict[str, CheckedQuery] = {}
    for query in queries:
        try:
            if query.Id in checked:
                raise invalid(sentences.ID_TWICE)
            checked[query.Id] = _read(query)
        except ServiceError:
            _free(checked)
            raise
    return checked


def _faults_of(query: MetricDataQuery, path: str) -> Iterator[str]:
    """Sentences for all faults of a query's members."""
    spend(5)
    if not _is_id(query.Id):
        yield sentences.ID_WRONG.format(path=path, id=query.Id[:255])
    if query.Label is not None and len(query.Label) > METRIC_LABEL_LENGTH_MAX:
        yield sentences.LABEL_LONG.format(path=path, most=METRIC_LABEL_LENGTH_MAX)
    if (query.MetricStat is None) == (query.Expression is None):
        yield sentences.ONE_OF_TWO.format(path=path)
        return
    if query.MetricStat is not None:
        yield from _stat_faults(query.MetricStat, f"{path}.MetricStat", path)
    elif query.Period is not None and not is_period(query.Period):
        yield sentences.PERIOD_WRONG.format(path=path)


def _stat_faults(stat: MetricStatMember, stat_path: str, path: str) -> Iterator[str]:
    missing = [name for name in ("Namespace", "MetricName") if getattr(stat.Metric, name) is None]
    for name in missing:
        yield sentences.REQUIRED.format(path=f"{stat_path}.Metric.{name}")
    try:
        if not missing:
            check_metric(stat.Metric.Namespace or "", stat.Metric.MetricName or "", f"{stat_path}.Metric.")
        dimensions_of(stat.Metric.Dimensions, f"{stat_path}.Metric.Dimensions")
        check_one_of(f"{stat_path}.Unit", stat.Unit, STANDARD_UNITS)
    except ServiceError as error:
        yield error.message
    if statistic_of(stat.Stat) is None:
        yield sentences.STATISTIC_WRONG.format(path=path, value=stat.Stat[:100])
    if not is_period(stat.Period):
        yield sentences.PERIOD_WRONG.format(path=stat_path)


def _read(query: MetricDataQuery) -> CheckedQuery:
    """A query whose members are valid. Raises ServiceError for its expression."""
    if query.Expression is None:
        return CheckedQuery(query)
    try:
        program = read_expression(query.Expression)
    except MathError as error:
        raise _expression_error(query.Id, error) from None
    spend(len(program) >> 2)
    functions = frozenset([step.text for step in program if step.kind == "call"])
    return CheckedQuery(query, program, tuple(dict.fromkeys(ids_in(program))), functions)


def _in_order(queries: Mapping[str, CheckedQuery]) -> Sequence[str]:
    """The ids, each after those that its expression names.
    Raises ServiceError if it names none, or leads back to itself.
    """
    ordered: dict[str, None] = {}
    for first in queries:
        open_ids = {first: iter(queries[first].needs)} if first not in ordered else {}
        while open_ids:
            query_id, left = next(reversed(open_ids.items()))
            name = next(left, None)
            if name is None:
                ordered[query_id] = None
                del open_ids[query_id]
            elif name in open_ids:
                raise _expression_error(query_id, MathError(sentences.IN_A_CIRCLE))
            elif name not in ordered:
                if name not in queries:
                    raise _expression_error(query_id, MathError(sentences.NO_SUCH_QUERY.format(id=name[:255])))
                open_ids[name] = iter(queries[name].needs)
    return list(ordered)
