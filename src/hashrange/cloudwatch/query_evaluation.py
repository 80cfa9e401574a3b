"""What do queries of metric data give for a stretch of time? Series, each computed once and only if it is needed;
how much their expressions may compute is bounded.

Source: operations.md 7; API reference, *MetricDataQuery*; CloudWatch user guide, *Metric math syntax and functions*.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timezone
from typing import NamedTuple

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.api.checks import DimensionMember, IntegerFromOne, dimensions_of
from hashrange.cloudwatch.limits import METRIC_MATH_HELD_MAX, METRIC_RESULTS_MAX, METRIC_SEARCH_SERIES_MAX
from hashrange.cloudwatch.math.functions import FUNCTIONS, MINUTE_SECONDS, OPERATORS, REDUCING_FUNCTIONS, finite
from hashrange.cloudwatch.math.program import MathProgram, MathStep
from hashrange.cloudwatch.math.search import read_search
from hashrange.cloudwatch.math.searched_metrics import SearchedMetrics
from hashrange.cloudwatch.math.values import (
    MathError,
    MathValue,
    SeriesOrigin,
    TimeSeries,
    as_array,
    as_number,
    as_text,
    combine,
    map_value,
    times_of,
)
from hashrange.cloudwatch.math.windows import TIME_FUNCTIONS, Window, fill, told_times
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_labels import shown_label
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import statistic_of
from hashrange.cloudwatch.tiers import is_period
from hashrange.items.steps import spend, walk
from hashrange.messages import metric_queries as sentences

ChangeSeries = Callable[[TimeSeries, range], TimeSeries]
"""A function of a series, and of the times at which it is to have values."""
READ_POINTS = 4
"""A datapoint that is read costs as much as this many that are computed."""


class MetricMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metric of a query."""

    Namespace: str | None = None
    MetricName: str | None = None
    Dimensions: list[DimensionMember] | None = None


class MetricStatMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric with a statistic; `Period` in seconds."""

    Metric: MetricMember
    Period: IntegerFromOne
    Stat: str
    Unit: str | None = None


class MetricDataQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """One query, with the members of the API. `Period` in seconds, of an expression."""

    Id: str
    MetricStat: MetricStatMember | None = None
    Expression: str | None = None
    Label: str | None = None
    ReturnData: bool | None = None
    Period: IntegerFromOne | None = None
    AccountId: str | None = None


class CheckedQuery(NamedTuple):
    """A query that is valid, with its expression read."""

    given: MetricDataQuery
    program: MathProgram = ()
    """The steps of the expression; none for a metric."""
    needs: Sequence[str] = ()
    """Ids of the queries that the expression names."""
    functions: frozenset[str] = frozenset()
    """Names of the functions that the expression calls."""

    @property
    def own_period_seconds(self) -> int | None:
        """The period of the metric, or of what the expression has without one of its own; None: it is not given."""
        return (self.given.MetricStat or self.given).Period


class QueryResult(NamedTuple):
    """One series that a query gives."""

    id: str
    label: str
    values: Mapping[int, float]
    """By the begin of their period in seconds since 1970, in order of time."""
    period_seconds: int
    has_dropped: bool = False
    """True if a value was left out because it is no finite number."""
    is_left_out: bool = False
    """True if the values were not computed, because there is no room for them."""
    forbidden_account: str | None = None
    """The account whose metrics the query, or one that it names, asks for, and may not read."""


class MathBudget:
    """How much the expressions of one request may still compute, and hold."""

    def __init__(self, points_max: int) -> None:
        self._most = self._left = points_max
        self._held = 0

    def spend(self, points: int) -> None:
        """Count datapoints that are about to be computed. Raises MathError if they are too many."""
        self._left -= points
        if self._left < 0:
            raise MathError(sentences.TOO_MUCH_WORK.format(most=self._most))

    def expect(self, points: int) -> None:
        """Raise MathError if there is no room for `count` datapoints."""
        if self._held + points > METRIC_MATH_HELD_MAX:
            raise MathError(sentences.TOO_MUCH_HELD.format(most=METRIC_MATH_HELD_MAX))

    def hold(self, points: int) -> None:
        """Count datapoints that are held from now on; negative: no longer. Raises MathError if they are too many."""
        self.expect(points)
        self._held += points


def points_in(value: MathValue) -> int:
    """How many datapoints a value has; each series counts as one more."""
    if isinstance(value, float | str):
        return 0
    return sum(len(one.values) + 1 for one in as_array(value))


class QueryEvaluation:
    """Evaluates the queries of one request."""

    def __init__(
        self,
        queries: Mapping[str, CheckedQuery],
        order: Sequence[str],
        returned: Sequence[str],
        metrics: Metrics,
        caller: Caller,
        window: Window,
        zone: timezone,
        points_max: int,
    ) -> None:
        """`order`: the ids of the queries, each after those that its expression names. `returned`: those whose data is
        returned, for each of which `results` is called once. `zone`: of times in labels. `points_max`: datapoints that
        the expressions may work on.
        """
        self.window = window
        self.has_too_many = False
        """True if searches have found more series than they may give, or an array has more."""
        self._queries = queries
        self._order = order
        self._metrics = metrics
        self._caller = caller
        self._zone = zone
        self._budget = MathBudget(points_max)
        self._keeps_values = any(query.program for query in queries.values())
        self._values: dict[str, MathValue] = {}
        self._uses = _uses(queries, returned)
        """How often what each query gives will still be used."""
        self._uses_metrics = any("METRICS" in query.functions for query in queries.values())
        self._searched: dict[str | None, SearchedMetrics] = {}
        """Namespace → its metrics; None: all."""
        self._searched_left = METRIC_SEARCH_SERIES_MAX
        """Series that searches may still give."""
        self._forbidden: dict[str, str] = {}
        """Queries that ask for another account's metrics, and those that name these → that account."""
        for query_id in order:
            query = queries[query_id]
            if query.given.AccountId not in (None, caller.account):
                self._forbidden[query_id] = query.given.AccountId
            elif needed := next((one for one in query.needs if one in self._forbidden), None):
                self._forbidden[query_id] = self._forbidden[needed]

    def results(self, query_id: str) -> list[QueryResult]:
        """The series of one query: an array gives several. Raises MathError and StorageError."""
        query = self._queries[query_id]
        if (account := self._forbidden.get(query_id)) is not None:
            return [QueryResult(query_id, query.given.Label or query_id, {}, MINUTE_SECONDS, forbidden_account=account)]
        for needed in self._needed(query_id):
            self._keep(needed)
        value = self.value_of(query_id) if self._keeps_values else self._computed(query)
        if isinstance(value, float | str):
            raise MathError(sentences.NOT_A_SERIES)
        array = as_array(value)
        shown = array[:METRIC_RESULTS_MAX]
        self.has_too_many |= len(shown) < len(array)
        results = [self._result(query, finite(one), is_alone=len(array) == 1) for one in walk(shown)]
        self._used(query_id)
        return results

    def left_out(self, query_id: str) -> QueryResult:
        """The result of a query whose values are not computed, because the reply is full."""
        if query_id in self._forbidden:
            return self.results(query_id)[0]
        return QueryResult(
            query_id, self._queries[query_id].given.Label or query_id, {}, MINUTE_SECONDS, is_left_out=True
        )

    def _result(self, query: CheckedQuery, series: TimeSeries, *, is_alone: bool) -> QueryResult:
        label = shown_label(_label(query, series, is_alone=is_alone), series, self.window.now_seconds, self._zone)
        return QueryResult(query.given.Id, label, series.values, series.period_seconds, series.has_dropped)

    def _needed(self, query_id: str) -> list[str]:
        """Expressions that are not computed yet and lead to this one, in the order in which they can be computed."""
        needed, left = set[str](), [query_id]
        while left:
            one = left.pop()
            if one not in needed and one not in self._values and self._queries[one].program:
                spend(1)
                needed.add(one)
                left += self._queries[one].needs
        return [one for one in self._order if one in needed] if needed else []

    def _computed(self, query: CheckedQuery) -> MathValue:
        stat = query.given.MetricStat
        if stat is None:
            return _Program(self, self._budget, query.own_period_seconds or MINUTE_SECONDS).value(query.program)
        dimensions = dimensions_of(stat.Metric.Dimensions)
        metric = MetricId(*self._caller, stat.Metric.Namespace or "", stat.Metric.MetricName or "", dimensions)
        return self._series(metric, stat.Stat, stat.Period, metric.name, stat.Unit)

    def _series(
        self, metric: MetricId, name: str, period_seconds: int, label: str, unit: str | None = None
    ) -> TimeSeries:
        statistic = statistic_of(name)
        if statistic is None:
            raise MathError(sentences.NO_SUCH_STATISTIC.format(name=name[:100]))
        window = self.window
        values: dict[int, float] = {}
        if window.has_points(period_seconds):
            points = self._metrics.points(metric, window.begin_seconds, window.end_seconds, period_seconds, unit)
            if self._keeps_values:
                self._budget.spend(len(points) * READ_POINTS)
            for point in points:
                spend(1)
                value = statistic(point)
                if value is not None:
                    values.setdefault(point.at_seconds, value)
        return TimeSeries(label, values, period_seconds, SeriesOrigin(metric, name))

    def _keep(self, query_id: str) -> MathValue:
        query = self._queries[query_id]
        value = self._values[query_id] = self._computed(query)
        self._budget.hold(points_in(value))
        for needed in query.needs:
            self._used(needed)
        return value

    def _used(self, query_id: str) -> None:
        """Note that what a query gives has been used once; forget it after the last time.
        METRICS() may use any metric again.
        """
        self._uses[query_id] -= 1
        if not self._uses[query_id] and (self._queries[query_id].program or not self._uses_metrics):
            value = self._values.pop(query_id, None)
            if value is not None:
                self._budget.hold(-points_in(value))

    # --- what expressions ask for ----------------------------------------------------------------

    def value_of(self, query_id: str) -> MathValue:
        """What a query gives; an expression has been computed before those that name it."""
        known = self._values.get(query_id)
        if known is None:
            assert not self._queries[query_id].program, "expressions are computed in their order"
            known = self._keep(query_id)
        return known

    def metrics_with(self, part: str) -> Sequence[TimeSeries]:
        """Series of all queries of metrics whose id contains `part`."""
        metrics = [query_id for query_id, one in self._queries.items() if not one.program]
        found = [one for one in metrics if part in one and one not in self._forbidden]
        self._budget.spend(len(found))
        return [series for one in found for series in as_array(self.value_of(one))]

    def search(self, expression: str, statistic: str, period_seconds: int) -> Sequence[TimeSeries]:
        """Series of all metrics that a search expression finds, at most METRIC_SEARCH_SERIES_MAX
        in all searches of the request.
        """
        if not is_period(period_seconds):
            raise MathError(sentences.SEARCH_PERIOD)
        search = read_search(expression)
        found = search.found_in(self._searched_metrics(search.namespace))
        shown = found[: self._searched_left]
        self._searched_left -= len(shown)
        self.has_too_many |= len(shown) < len(found)
        return [self._series(metric, statistic, period_seconds, _search_label(metric)) for metric in shown]

    def _searched_metrics(self, namespace: str | None) -> SearchedMetrics:
        """The caller's metrics of a namespace, None: of all, for all searches of the request."""
        known = self._searched.get(namespace)
        if known is None:
            metrics = self._metrics.find(self._caller.account, self._caller.region, namespace)
            known = self._searched[namespace] = SearchedMetrics(metrics, self._budget.spend)
        return known

    def insight_rule(self, rule: str, metric: str, period_seconds: int) -> TimeSeries:
        """One metric of an insight rule."""
        read_rule = self._metrics.insight_rules()
        if read_rule is None:
            raise MathError(sentences.NO_INSIGHT_RULE.format(name=rule[:100]))
        window = self.window
        values = read_rule(
            self._caller, rule, metric, window.first_seconds(period_seconds), window.end_seconds, period_seconds
        )
        self._budget.spend(len(values))
        return TimeSeries(rule, values, period_seconds)


def _uses(queries: Mapping[str, CheckedQuery], returned: Sequence[str]) -> Counter[str]:
    """How often what each query gives is used: once by each expression that leads to what is returned,
    and once if it is returned.
    """
    uses, left = Counter(returned), list(returned)
    seen = set(returned)
    while left:
        needs = queries[left.pop()].needs
        spend(len(needs) + 1)
        uses.update(needs)
        left += [one for one in needs if one not in seen]
        seen.update(needs)
    return uses


def _label(query: CheckedQuery, series: TimeSeries, *, is_alone: bool) -> str:
    """The label of a series before its dynamic parts are replaced."""
    label = query.given.Label
    if label is not None:
        return label if is_alone or "${" in label else f"{label} {series.label}".strip()
    if not query.program or (not is_alone and series.label):
        return series.label
    return query.given.Id


def _search_label(metric: MetricId) -> str:
    return " ".join([*(value for _, value in metric.dimensions), metric.name])


# --- one expression --------------------------------------------------------------------------------


class _Program:
    """Evaluates the steps of one expression: each takes values from a stack and puts its own there."""

    def __init__(self, world: QueryEvaluation, budget: MathBudget, period_seconds: int) -> None:
        """`period_seconds`: of what has no period of its own, such as TIME_SERIES."""
        self._world = world
        self._budget = budget
        self._period_seconds = period_seconds
        self._stack: list[MathValue] = []

    def value(self, program: MathProgram) -> MathValue:
        """What the program gives. Raises MathError and StorageError."""
        for step in program:
            spend(2)
            value = self._done(step)
            self._budget.hold(points_in(value))
            self._stack.append(value)
        (value,) = self._taken(1)
        return value

    def _done(self, step: MathStep) -> MathValue:
        """The value of one step; its operands leave the stack."""
        if step.kind == "number":
            return float(step.text)
        if step.kind == "text":
            return step.text
        if step.kind == "id":
            return self._world.value_of(step.text)
        if step.kind == "negate":
            (value,) = self._taken(1)
            return map_value(value, lambda number: -number)
        if step.kind == "operate":
            one, other = self._taken(2)
            return combine(one, other, OPERATORS[step.text])
        if step.kind == "list":
            return self._array(self._taken(step.value_count))
        return self._called(step.text, self._taken(step.value_count))

    def _taken(self, count: int) -> list[MathValue]:
        """The last values of the stack. What is computed of them is paid for: their own points,
        and if an array meets another series, all pairs.
        """
        place = len(self._stack) - count
        values, self._stack[place:] = self._stack[place:], []
        points = sum(map(points_in, values))
        self._budget.hold(-points)
        self._budget.spend(points)
        arrays = [as_array(value) for value in values if not isinstance(value, float | str)]
        if len(arrays) > 1 and any(len(array) > 1 for array in arrays):
            pairs = max(map(len, arrays)) * max((len(one.values) for array in arrays for one in array), default=0)
            self._budget.expect(pairs)
            self._budget.spend(pairs)
        return values

    def _array(self, values: Sequence[MathValue]) -> MathValue:
        """Series, arrays and numbers as one array; a number is a series with a point wherever
        another one has a point.
        """
        known = [one for value in values if not isinstance(value, float | str) for one in as_array(value)]
        times = list(times_of(known))
        constant_points = len(times) * sum(isinstance(value, float) for value in values)
        self._budget.expect(constant_points)
        self._budget.spend(constant_points)
        period_seconds = max((one.period_seconds for one in known), default=self._period_seconds)
        array: list[TimeSeries] = []
        for value in walk(values):
            if isinstance(value, float):
                array.append(TimeSeries(str(value), dict.fromkeys(walk(times), value), period_seconds))
            else:
                array += as_array(value)
        return tuple(array)

    def _called(self, name: str, arguments: list[MathValue]) -> MathValue:
        if name == "METRICS":
            part = as_text(arguments[0]) if arguments else ""
            return tuple(self._world.metrics_with(part))
        if name in TIME_FUNCTIONS:
            return self._for_each(arguments[0], lambda one, times: told_times(name, one, times))
        if name == "FILL":
            return self._for_each(arguments[0], lambda one, times: fill(one, arguments[1], times))
        if name == "TIME_SERIES":
            number, times = as_number(arguments[0]), self._world.window.times(self._period_seconds)
            self._budget.spend(len(times))
            return TimeSeries("", dict.fromkeys(walk(times), number), self._period_seconds)
        if name == "SEARCH":
            return tuple(self._searched(arguments))
        if name == "INSIGHT_RULE_METRIC":
            return self._world.insight_rule(as_text(arguments[0]), as_text(arguments[1]), self._period_seconds)
        if name in REDUCING_FUNCTIONS and len(arguments) > 1:
            arguments = [self._array(arguments)]
        return FUNCTIONS[name](arguments)

    def _searched(self, arguments: Sequence[MathValue]) -> Sequence[TimeSeries]:
        period = as_number(arguments[2]) if len(arguments) == 3 else float(self._period_seconds)
        if not period.is_integer():
            raise MathError(sentences.SEARCH_PERIOD)
        return self._world.search(as_text(arguments[0]), as_text(arguments[1]), int(period))

    def _for_each(self, value: MathValue, change: ChangeSeries) -> MathValue:
        """A series, or each series of an array, changed for all periods of the window."""
        if isinstance(value, TimeSeries):
            return self._for_one(value, change)
        array = as_array(value)
        self._budget.expect(sum(len(self._world.window.times(one.period_seconds)) for one in array))
        return tuple(self._for_one(one, change) for one in array)

    def _for_one(self, series: TimeSeries, change: ChangeSeries) -> TimeSeries:
        times = self._world.window.times(series.period_seconds)
        self._budget.spend(len(times))
        return change(series, times)
