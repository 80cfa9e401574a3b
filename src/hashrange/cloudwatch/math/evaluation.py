"""What do the steps of an expression give? Each takes values from a stack and puts its own there;
how much they may compute is bounded.

Source: CloudWatch user guide, *Metric math syntax and functions*.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from hashrange.cloudwatch.limits import METRIC_MATH_HELD_MAX
from hashrange.cloudwatch.math.functions import FUNCTIONS, OPERATORS, REDUCING_FUNCTIONS
from hashrange.cloudwatch.math.program import MathProgram, MathStep
from hashrange.cloudwatch.math.values import (
    MathError,
    MathValue,
    TimeSeries,
    as_array,
    as_number,
    as_text,
    combine,
    map_value,
    times_of,
)
from hashrange.cloudwatch.math.windows import TIME_FUNCTIONS, Window, fill, told_times
from hashrange.items.steps import spend, walk
from hashrange.messages import metric_queries as sentences

ChangeSeries = Callable[[TimeSeries, range], TimeSeries]
"""A function of a series, and of the times at which it is to have values."""


class MathWorld(Protocol):
    """What an expression may know beside its own values. All raise MathError and StorageError."""

    window: Window

    def value_of(self, query_id: str) -> MathValue:
        """What another query gives."""
        ...

    def metrics_with(self, part: str) -> Sequence[TimeSeries]:
        """Series of all queries of metrics whose id contains `part`."""
        ...

    def search(self, expression: str, statistic: str, period_seconds: int) -> Sequence[TimeSeries]:
        """Series of all metrics that a search expression finds."""
        ...

    def insight_rule(self, rule: str, metric: str, period_seconds: int) -> TimeSeries:
        """One metric of an insight rule."""
        ...


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


class Evaluation:
    """Evaluates one program."""

    def __init__(self, world: MathWorld, budget: MathBudget, period_seconds: int) -> None:
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
                array.append(TimeSeries(str(value), dict.fromkeys(times, value), period_seconds))
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
            return TimeSeries("", dict.fromkeys(times, number), self._period_seconds)
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
