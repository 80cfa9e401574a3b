"""What does an expression of metric math give? A number, a text, a time series, or an array of them; or an error."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from hashrange.cloudwatch.metric_id import MetricId
from hashrange.errors import HashrangeError
from hashrange.items.steps import sort, spend, walk
from hashrange.messages import metric_queries as sentences


class MathError(HashrangeError):
    """The message says what is wrong, without the expression; it stands behind `Error in expression 'e1': `."""


class SeriesOrigin(NamedTuple):
    """Which metric a series shows, and by which statistic."""

    metric: MetricId
    statistic: str


class TimeSeries(msgspec.Struct, frozen=True):
    """Values by the begin of their period in seconds since 1970, in order of time."""

    label: str
    values: Mapping[int, float]
    period_seconds: int
    origin: SeriesOrigin | None = None
    """None: the series was computed from several metrics, or from none."""
    has_dropped: bool = False
    """True if a value was left out because it is no finite number."""

    def of(self, values: Mapping[int, float], *, has_dropped: bool = False) -> "TimeSeries":
        """A series with other values, computed from this one."""
        spend((len(values) >> 2) + 1)
        return TimeSeries(self.label, values, self.period_seconds, self.origin, self.has_dropped or has_dropped)


SeriesArray = tuple[TimeSeries, ...]
"""An array of series, such as `METRICS()` and `[m1, m2]` give."""
MathValue = float | str | TimeSeries | SeriesArray
ChangeValue = Callable[[float], float | None]
"""A function of a number; None leaves a point out."""
ComputeValue = Callable[[float, float], float | None]
"""A function of two numbers; None leaves a point out."""


def map_value(value: MathValue, change: ChangeValue) -> MathValue:
    """The value with each number changed; of a number alone, None is NaN."""
    if isinstance(value, float):
        result = change(value)
        return math.nan if result is None else result
    if isinstance(value, str):
        raise MathError(sentences.NUMBER_EXPECTED)
    return each_series(value, lambda one: mapped(one, change))


def each_series(value: MathValue, change: Callable[[TimeSeries], TimeSeries]) -> TimeSeries | SeriesArray:
    """A series, or each series of an array, changed. Raises MathError for other values."""
    return change(value) if isinstance(value, TimeSeries) else tuple(change(one) for one in as_array(value))


def mapped(series: TimeSeries, change: ChangeValue) -> TimeSeries:
    """The series with each value changed; may give way."""
    return _kept(series, {at: change(value) for at, value in walk(series.values.items())})


def _kept(series: TimeSeries, changed: Mapping[int, float | None]) -> TimeSeries:
    values = {at: value for at, value in walk(changed.items()) if value is not None}
    return series.of(values, has_dropped=len(values) < len(changed))


def combine(one: MathValue, other: MathValue, compute: ComputeValue) -> MathValue:
    """What a function of two numbers makes of two values; arrays go member by member.

    Of series, at each time at which one of them has a point: a missing value counts as 0. Source:
    CloudWatch user guide, *Basic arithmetic functions* and *Comparison and logical operators*.
    """
    if isinstance(one, str) or isinstance(other, str):
        raise MathError(sentences.NUMBER_EXPECTED)
    if isinstance(one, float):
        return map_value(other, lambda value: compute(one, value))
    if isinstance(other, float):
        return map_value(one, lambda value: compute(value, other))
    if isinstance(one, TimeSeries):
        return each_series(other, lambda each: _combined(one, each, compute))
    if isinstance(other, TimeSeries):
        return each_series(one, lambda each: _combined(each, other, compute))
    if len(one) != len(other):
        raise MathError(sentences.LENGTHS_DIFFER)
    return tuple(_combined(left, right, compute) for left, right in zip(one, other, strict=True))


def _combined(one: TimeSeries, other: TimeSeries, compute: ComputeValue) -> TimeSeries:
    left, right = one.values, other.values
    changed = {at: compute(left.get(at, 0.0), right.get(at, 0.0)) for at in walk(times_of((one, other)))}
    label, origin = (one.label, one.origin) if one.origin is not None else (other.label, other.origin)
    both = TimeSeries(
        label,
        {},
        max(one.period_seconds, other.period_seconds),
        origin if None in (one.origin, other.origin) else None,
        one.has_dropped or other.has_dropped,
    )
    return _kept(both, changed)


def times_of(array: Sequence[TimeSeries]) -> Collection[int]:
    """The times at which at least one of the series has a point, in order. May give way."""
    if not array:
        return ()
    first = array[0].values
    if all(_times_in(one) == first.keys() for one in array[1:]):
        return first
    times: set[int] = set()
    for one in array:
        times.update(_times_in(one))
    return sort(times)


def _times_in(series: TimeSeries) -> Collection[int]:
    """The times of a series, about to be passed over in one call; may give way before."""
    spend((len(series.values) >> 4) + 1)
    return series.values.keys()


def as_array(value: MathValue) -> Sequence[TimeSeries]:
    """A series, or an array, as an array. Raises MathError for other values."""
    if isinstance(value, TimeSeries):
        return (value,)
    if isinstance(value, tuple):
        return value
    raise MathError(sentences.SERIES_EXPECTED)


def as_number(value: MathValue) -> float:
    """The number. Raises MathError for other values."""
    if isinstance(value, float):
        return value
    raise MathError(sentences.NUMBER_EXPECTED)


def as_text(value: MathValue) -> str:
    """The text. Raises MathError for other values."""
    if isinstance(value, str):
        return value
    raise MathError(sentences.TEXT_EXPECTED)
