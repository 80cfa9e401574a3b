"""What does an expression of metric math give? A number, a text, a time series, or an array of time series."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from hashrange.cloudwatch.math.errors import MathError


class TimeSeries(msgspec.Struct, frozen=True):
    """Values by the begin of their period in seconds since 1970, in order of time."""

    label: str
    values: Mapping[int, float]
    period_seconds: int

    def of(self, values: Mapping[int, float]) -> "TimeSeries":
        """A series with other values."""
        return TimeSeries(self.label, values, self.period_seconds)


SeriesArray = tuple[TimeSeries, ...]
"""An array of series, such as `METRICS()` and `[m1, m2]` give."""
MathValue = float | str | TimeSeries | SeriesArray


def map_value(value: MathValue, change: Callable[[float], float | None]) -> MathValue:
    """The value with each number changed; None leaves a point out."""
    if isinstance(value, TimeSeries):
        return mapped(value, change)
    if isinstance(value, tuple):
        return tuple(mapped(one, change) for one in value)
    if isinstance(value, str):
        raise MathError("a text is no number")
    result = change(value)
    if result is None:
        raise MathError("the result is no number")
    return result


def mapped(series: TimeSeries, change: Callable[[float], float | None]) -> TimeSeries:
    """The series with each value changed; None leaves a point out."""
    changed = {at: change(value) for at, value in series.values.items()}
    return series.of({at: value for at, value in changed.items() if value is not None})


def combine(one: MathValue, other: MathValue, compute: Callable[[float, float], float | None]) -> MathValue:
    """What a function of two numbers makes of two values: of series where both have a point; arrays go member by member."""
    if isinstance(one, str) or isinstance(other, str):
        raise MathError("a text is no number")
    if isinstance(one, float):
        number = one
        return map_value(other, lambda value: compute(number, value))
    if isinstance(other, float):
        second = other
        return map_value(one, lambda value: compute(value, second))
    if isinstance(one, TimeSeries) and isinstance(other, TimeSeries):
        return _combined(one, other, compute)
    if isinstance(one, TimeSeries):
        series = one
        return tuple(_combined(series, each, compute) for each in as_array(other))
    if isinstance(other, TimeSeries):
        series = other
        return tuple(_combined(each, series, compute) for each in as_array(one))
    if len(one) != len(other):
        raise MathError("arrays of different lengths cannot be combined")
    return tuple(_combined(left, right, compute) for left, right in zip(one, other, strict=True))


def _combined(one: TimeSeries, other: TimeSeries, compute: Callable[[float, float], float | None]) -> TimeSeries:
    pairs = {at: compute(value, other.values[at]) for at, value in one.values.items() if at in other.values}
    return one.of({at: value for at, value in pairs.items() if value is not None})


def as_array(value: MathValue) -> Sequence[TimeSeries]:
    """A series, or an array, as an array. Raises MathError for other values."""
    if isinstance(value, TimeSeries):
        return (value,)
    if isinstance(value, tuple):
        return value
    raise MathError("a time series is expected")


def as_number(value: MathValue) -> float:
    """The number. Raises MathError for other values."""
    if isinstance(value, float):
        return value
    raise MathError("a number is expected")
