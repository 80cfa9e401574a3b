"""What do queries of metric data give? Each is one metric with a statistic, or an expression of metric math over the others, evaluated for a stretch of time.

GetMetricData, alarms on metric math, and policies with customized metrics ask here. Source: operations.md 7; API reference, *MetricDataQuery*.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.api.checks import (
    DimensionMember,
    check_metric,
    check_one_of,
    dimensions_of,
    invalid_value,
    refuse_value,
)
from hashrange.cloudwatch.limits import METRIC_QUERIES_MAX, METRIC_SEARCH_SERIES_MAX
from hashrange.cloudwatch.math.errors import MathError
from hashrange.cloudwatch.math.functions import FUNCTIONS, fill, finite, negate, operate
from hashrange.cloudwatch.math.search import read_search
from hashrange.cloudwatch.math.tree import MathNode, read_expression
from hashrange.cloudwatch.math.values import MathValue, TimeSeries, as_array, as_number
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics, ReadInsightRule
from hashrange.cloudwatch.periods import has_points, is_period
from hashrange.cloudwatch.statistic import statistic_of
from hashrange.cloudwatch.tiers import first_period
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.messages import metric_queries as sentences

MINUTE_SECONDS = 60
_is_id = re.compile(r"[a-z][A-Za-z0-9_]{0,254}").fullmatch


class MetricMember(msgspec.Struct, frozen=True):
    """The metric of a query."""

    Namespace: str | None = None
    MetricName: str | None = None
    Dimensions: list[DimensionMember] | None = None


class MetricStatMember(msgspec.Struct, frozen=True):
    """One metric with a statistic; `Period` in seconds."""

    Metric: MetricMember
    Period: Annotated[int, Meta(ge=1)]
    Stat: str
    Unit: str | None = None


class MetricDataQuery(msgspec.Struct, frozen=True):
    """One query, with the members of the API. `Period` in seconds, of an expression."""

    Id: str
    MetricStat: MetricStatMember | None = None
    Expression: str | None = None
    Label: str | None = None
    ReturnData: bool | None = None
    Period: Annotated[int, Meta(ge=1)] | None = None
    AccountId: str | None = None


class QueryResult(NamedTuple):
    """One series that a query gives."""

    id: str
    label: str
    values: Mapping[int, float]
    """By the begin of their period in seconds since 1970, in order of time."""
    period_seconds: int


class _Tree(NamedTuple):
    """A query whose expression has been read."""

    query: MetricDataQuery
    node: MathNode | None


class Queries:
    """Queries that may be evaluated together."""

    def __init__(self, queries: Sequence[MetricDataQuery]) -> None:
        """Raises ServiceError for queries that are not valid."""
        self._trees = _read(queries)
        self._returned = [one.Id for one in queries if one.ReturnData is not False]

    @property
    def returned(self) -> Sequence[str]:
        """Ids of the queries whose data is returned."""
        return self._returned

    @property
    def period_seconds(self) -> int:
        """The longest period of any query."""
        periods = [
            one.query.MetricStat.Period if one.query.MetricStat is not None else one.query.Period or 0
            for one in self._trees.values()
        ]
        return max([*periods, MINUTE_SECONDS])

    def evaluate(
        self,
        metrics: Metrics,
        caller: Caller,
        begin_seconds: float,
        end_seconds: float,
        read_insight_rule: ReadInsightRule | None = None,
    ) -> Sequence[QueryResult]:
        """The series of all queries whose data is returned, in their order. Raises ServiceError and StorageError."""
        window = _Window(begin_seconds, end_seconds, metrics.now_seconds())
        evaluation = _Evaluation(self._trees, metrics, caller, window, read_insight_rule)
        results: list[QueryResult] = []
        for query_id in self._returned:
            try:
                results += evaluation.results(query_id)
            except MathError as error:
                raise _expression_error(query_id, error) from None
        return results


class _Window(NamedTuple):
    """The stretch of time of the queries."""

    begin_seconds: float
    end_seconds: float
    now_seconds: float

    def first_seconds(self, period_seconds: int) -> int:
        """Begin of the first period of this length."""
        return first_period(self.begin_seconds, self.end_seconds, period_seconds, self.now_seconds)


def _read(queries: Sequence[MetricDataQuery]) -> dict[str, _Tree]:
    if len(queries) > METRIC_QUERIES_MAX:
        refuse_value(sentences.TOO_MANY_QUERIES.format(most=METRIC_QUERIES_MAX))
    trees: dict[str, _Tree] = {}
    for place, query in enumerate(queries, 1):
        path = f"MetricDataQueries.member.{place}"
        if not _is_id(query.Id):
            refuse_value(sentences.ID_WRONG.format(path=path, id=query.Id[:255]))
        if query.Id in trees:
            refuse_value(sentences.ID_TWICE.format(id=query.Id))
        if (query.MetricStat is None) == (query.Expression is None):
            raise ServiceError("InvalidParameterCombinationException", sentences.ONE_OF_TWO.format(path=path))
        if query.MetricStat is not None:
            _check_metric_stat(query.MetricStat, path)
            trees[query.Id] = _Tree(query, None)
            continue
        try:
            trees[query.Id] = _Tree(query, read_expression(query.Expression or ""))
        except MathError as error:
            raise _expression_error(query.Id, error) from None
        if query.Period is not None and not is_period(query.Period):
            refuse_value(sentences.PERIOD_WRONG.format(path=path))
    _check_references(trees)
    return trees


def _check_metric_stat(stat: MetricStatMember, path: str) -> None:
    for name in ("Namespace", "MetricName"):
        if getattr(stat.Metric, name) is None:
            raise ServiceError(
                "MissingRequiredParameterException",
                sentences.REQUIRED.format(path=f"{path}.MetricStat.Metric.{name}"),
            )
    check_metric(stat.Metric.Namespace or "", stat.Metric.MetricName or "", f"{path}.MetricStat.Metric.")
    dimensions_of(stat.Metric.Dimensions, f"{path}.MetricStat.Metric.Dimensions")
    if statistic_of(stat.Stat) is None:
        refuse_value(sentences.STATISTIC_WRONG.format(path=path, value=stat.Stat[:100]))
    if not is_period(stat.Period):
        refuse_value(sentences.PERIOD_WRONG.format(path=f"{path}.MetricStat"))
    if stat.Unit is not None:
        check_one_of(f"{path}.MetricStat.Unit", stat.Unit, STANDARD_UNITS)


def _check_references(trees: Mapping[str, _Tree]) -> None:
    """Raise ServiceError for an expression that names no query, or that leads back to itself."""
    done: set[str] = set()
    for first in trees:
        path: list[tuple[str, list[str]]] = [(first, _named(trees[first]))]
        while path:
            query_id, left = path[-1]
            if not left or query_id in done:
                done.add(query_id)
                path.pop()
                continue
            name = left.pop()
            if name not in trees:
                raise _expression_error(query_id, MathError(f"there is no query with the id {name}"))
            if any(name == other for other, _ in path):
                raise _expression_error(query_id, MathError("it leads back to itself"))
            path.append((name, _named(trees[name])))


def _named(tree: _Tree) -> list[str]:
    return [] if tree.node is None else list(dict.fromkeys(tree.node.ids()))


def _expression_error(query_id: str, error: MathError) -> ServiceError:
    return invalid_value(sentences.EXPRESSION_WRONG.format(id=query_id, reason=error))


class _Evaluation:
    """Evaluates queries, each once."""

    def __init__(
        self,
        trees: Mapping[str, _Tree],
        metrics: Metrics,
        caller: Caller,
        window: _Window,
        read_insight_rule: ReadInsightRule | None,
    ) -> None:
        self._trees = trees
        self._metrics = metrics
        self._caller = caller
        self._window = window
        self._read_insight_rule = read_insight_rule
        self._values: dict[str, MathValue] = {}

    def results(self, query_id: str) -> list[QueryResult]:
        """The series of one query: an array gives several. Raises MathError and StorageError."""
        query = self._trees[query_id].query
        value = finite(self.value(query_id))
        if isinstance(value, float | str):
            raise MathError("the result of an expression must be a time series")
        array = as_array(value)
        return [
            QueryResult(query_id, _label(query, series, is_alone=len(array) == 1), series.values, series.period_seconds)
            for series in array
        ]

    def value(self, query_id: str) -> MathValue:
        """What a query gives."""
        known = self._values.get(query_id)
        if known is None:
            tree = self._trees[query_id]
            if tree.node is None:
                known = self._of_metric(tree.query)
            else:
                known = self._of_node(tree.node, tree.query)
            self._values[query_id] = known
        return known

    def _of_metric(self, query: MetricDataQuery) -> TimeSeries:
        stat = query.MetricStat
        assert stat is not None
        account = query.AccountId or self._caller.account
        metric = MetricId(
            account,
            self._caller.region,
            stat.Metric.Namespace or "",
            stat.Metric.MetricName or "",
            dimensions_of(stat.Metric.Dimensions),
        )
        return self._series(metric, stat.Stat, stat.Period, metric.name, stat.Unit)

    def _series(
        self, metric: MetricId, stat: str, period_seconds: int, label: str, unit: str | None = None
    ) -> TimeSeries:
        statistic = statistic_of(stat)
        if statistic is None:
            raise MathError(f"there is no statistic {stat}")
        window = self._window
        values: dict[int, float] = {}
        if not has_points(window.begin_seconds, period_seconds, window.now_seconds):
            return TimeSeries(label, values, period_seconds)
        for point in self._metrics.points(metric, window.begin_seconds, window.end_seconds, period_seconds, unit):
            value = statistic(point)
            if value is not None:
                values.setdefault(point.at_seconds, value)
        return TimeSeries(label, values, period_seconds)

    def _of_node(self, node: MathNode, query: MetricDataQuery) -> MathValue:
        if node.kind == "number":
            return float(node.text)
        if node.kind == "text":
            return node.text
        if node.kind == "id":
            return self.value(node.text)
        if node.kind == "unary":
            return negate(self._of_node(node.parts[0], query))
        if node.kind == "binary":
            one, other = (self._of_node(part, query) for part in node.parts)
            return operate(node.text, one, other)
        if node.kind == "list":
            return self._array(node, query)
        return self._of_call(node, query)

    def _array(self, node: MathNode, query: MetricDataQuery) -> MathValue:
        series: list[TimeSeries] = []
        numbers: list[float] = []
        for part in node.parts:
            value = self._of_node(part, query)
            if isinstance(value, float):
                numbers.append(value)
            else:
                series += as_array(value)
        times = sorted({at for one in series for at in one.values})
        period_seconds = series[0].period_seconds if series else MINUTE_SECONDS
        constants = [TimeSeries(str(number), dict.fromkeys(times, number), period_seconds) for number in numbers]
        return (*series, *constants)

    def _of_call(self, node: MathNode, query: MetricDataQuery) -> MathValue:
        if node.text == "METRICS":
            return self._metrics_of(node)
        arguments = [self._of_node(part, query) for part in node.parts]
        if node.text == "FILL":
            return self._fill(arguments)
        if node.text == "TIME_SERIES":
            return self._constant(arguments, query)
        if node.text == "SEARCH":
            return self._search(arguments)
        if node.text == "INSIGHT_RULE_METRIC":
            return self._insight_rule(arguments, query)
        function = FUNCTIONS.get(node.text)
        if function is None:
            raise MathError(f"the function {node.text[:100]} is not supported")
        if node.text in {"MIN", "MAX", "AVG", "SUM", "STDDEV"} and len(arguments) > 1:
            arguments = [self._array(MathNode("list", "", node.parts), query)]
        try:
            return function(arguments)
        except (ValueError, OverflowError, ZeroDivisionError, IndexError) as error:
            raise MathError(f"{node.text} cannot be computed: {error}") from None

    def _metrics_of(self, node: MathNode) -> MathValue:
        """METRICS(): all queries of metrics; METRICS('text'): those whose id contains the text."""
        part = node.parts[0].text if node.parts else ""
        found = [query_id for query_id, tree in self._trees.items() if tree.node is None and part in query_id]
        return tuple(one for query_id in found for one in as_array(self.value(query_id)))

    def _fill(self, arguments: Sequence[MathValue]) -> MathValue:
        if len(arguments) != 2:
            raise MathError("2 arguments are expected")
        window = self._window
        value, how = arguments
        filled = tuple(
            fill(one, how, window.first_seconds(one.period_seconds), window.end_seconds) for one in as_array(value)
        )
        return filled[0] if isinstance(value, TimeSeries) else filled

    def _constant(self, arguments: Sequence[MathValue], query: MetricDataQuery) -> MathValue:
        if len(arguments) != 1:
            raise MathError("1 arguments are expected")
        number, period_seconds = as_number(arguments[0]), query.Period or MINUTE_SECONDS
        times = range(self._window.first_seconds(period_seconds), math.ceil(self._window.end_seconds), period_seconds)
        return TimeSeries("", dict.fromkeys(times, number), period_seconds)

    def _search(self, arguments: Sequence[MathValue]) -> MathValue:
        if len(arguments) not in {2, 3} or not all(isinstance(one, str) for one in arguments[:2]):
            raise MathError("SEARCH needs a search expression, a statistic, and a period")
        period_seconds = int(as_number(arguments[2])) if len(arguments) == 3 else 300
        if not is_period(period_seconds):
            raise MathError("the period must be a multiple of 60")
        search = read_search(str(arguments[0]))
        every = self._metrics.find(self._caller.account, self._caller.region, search.namespace)
        found = [metric for metric in every if search.finds(metric)][:METRIC_SEARCH_SERIES_MAX]
        return tuple(self._series(metric, str(arguments[1]), period_seconds, _search_label(metric)) for metric in found)

    def _insight_rule(self, arguments: Sequence[MathValue], query: MetricDataQuery) -> MathValue:
        if len(arguments) != 2 or not all(isinstance(one, str) for one in arguments):
            raise MathError("INSIGHT_RULE_METRIC needs the names of a rule and of a metric")
        if self._read_insight_rule is None:
            raise MathError(f"there is no insight rule {arguments[0]}")
        period_seconds = query.Period or MINUTE_SECONDS
        window = self._window
        values = self._read_insight_rule(
            self._caller,
            str(arguments[0]),
            str(arguments[1]),
            window.first_seconds(period_seconds),
            window.end_seconds,
            period_seconds,
        )
        return TimeSeries(str(arguments[0]), values, period_seconds)


def _label(query: MetricDataQuery, series: TimeSeries, *, is_alone: bool) -> str:
    if query.Label is not None:
        return query.Label if is_alone else f"{query.Label} {series.label}".strip()
    if query.MetricStat is not None or (not is_alone and series.label):
        return series.label
    return query.Id


def _search_label(metric: MetricId) -> str:
    return " ".join([*(value for _, value in metric.dimensions), metric.name])
