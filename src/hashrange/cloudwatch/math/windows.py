"""Which functions of metric math fill a stretch of time? FILL, TIME_SERIES, and those that tell the time, such as HOUR.

They have a point for each period of the request, wherever the metrics have points. Source:
CloudWatch user guide, *Functions supported for metric math*.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from hashrange.cloudwatch.limits import METRIC_MATH_PERIODS_MAX
from hashrange.cloudwatch.math.values import MathError, MathValue, TimeSeries
from hashrange.cloudwatch.tiers import first_period, has_points
from hashrange.items.steps import walk
from hashrange.messages import metric_queries as sentences


class Window(NamedTuple):
    """The stretch of time of a request: [begin, end), in seconds since 1970."""

    begin_seconds: float
    end_seconds: float
    now_seconds: float

    def first_seconds(self, period_seconds: int) -> int:
        """Begin of the first period of this length."""
        return first_period(self.begin_seconds, self.end_seconds, period_seconds, self.now_seconds)

    def has_points(self, period_seconds: int) -> bool:
        """False if no metric has points of this period, because the window begins too long ago."""
        return has_points(self.begin_seconds, period_seconds, self.now_seconds)

    def times(self, period_seconds: int) -> range:
        """Begins of all periods of this length. Raises MathError if there are too many."""
        if not self.has_points(period_seconds):
            return range(0)
        times = range(self.first_seconds(period_seconds), math.ceil(self.end_seconds), period_seconds)
        if len(times) > METRIC_MATH_PERIODS_MAX:
            raise MathError(sentences.TOO_MANY_PERIODS.format(most=METRIC_MATH_PERIODS_MAX))
        return times


TIME_FUNCTIONS: Mapping[str, Callable[[datetime], int]] = {
    "DATE": lambda time: time.day,
    "DAY": lambda time: time.isoweekday(),
    "EPOCH": lambda time: int(time.timestamp()),
    "HOUR": lambda time: time.hour,
    "MINUTE": lambda time: time.minute,
    "MONTH": lambda time: time.month,
    "YEAR": lambda time: time.year,
}
"""What a function tells of the begin of each period, in UTC. Days of the week count from Monday, 1."""


def told_times(name: str, series: TimeSeries, times: range) -> TimeSeries:
    """What one of TIME_FUNCTIONS makes of a series: a value for each time, whether the series has
    a point then or not. May give way.
    """
    tell = TIME_FUNCTIONS[name]
    return series.of({at: float(tell(datetime.fromtimestamp(at, UTC))) for at in walk(times)})


def fill(series: TimeSeries, how: MathValue, times: range) -> TimeSeries:
    """FILL: the series with a value for each of these times. `how`: a number, a series, `REPEAT` or `LINEAR`.
    May give way.
    """
    known = series.values
    if isinstance(how, TimeSeries):
        others = how.values
        return series.of({at: value for at in walk(times) if (value := known.get(at, others.get(at))) is not None})
    if isinstance(how, float):
        return series.of({at: known.get(at, how) for at in walk(times)})
    if how not in ("REPEAT", "LINEAR"):
        raise MathError(sentences.FILL_ARGUMENTS)
    return series.of(_repeated(series, times) if how == "REPEAT" else _interpolated(series, times))


def _repeated(series: TimeSeries, times: range) -> Mapping[int, float]:
    """Missing values are those before them; before the first one, there are none."""
    values: dict[int, float] = {}
    last = None
    for at in walk(times):
        last = series.values.get(at, last)
        if last is not None:
            values[at] = last
    return values


def _interpolated(series: TimeSeries, times: range) -> Mapping[int, float]:
    """Missing values lie on the straight line between their neighbours;
    before the first value and after the last one, there are none.
    """
    values: dict[int, float] = {}
    missing: list[int] = []
    before: int | None = None
    for at in walk(times):
        value = series.values.get(at)
        if value is None:
            missing.append(at)
            continue
        if before is not None:
            first = series.values[before]
            slope = (value - first) / (at - before)
            values.update({one: first + slope * (one - before) for one in walk(missing)})
        values[at] = value
        before = at
        missing = []
    return values
