"""Which functions does metric math have? Those of the user guide that need no learning and no other service.

Source: CloudWatch user guide, *Functions supported for metric math*.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from hashrange.cloudwatch.math.errors import MathError
from hashrange.cloudwatch.math.values import MathValue, TimeSeries, as_array, as_number, combine, map_value, mapped

Reduce = Callable[[Sequence[float]], float]
Function = Callable[[Sequence[MathValue]], MathValue]
MINUTE_SECONDS = 60


def _reducing(reduce: Reduce) -> Function:
    """A function that makes one number of a series, and one series of an array or of several arguments: point by point."""

    def function(arguments: Sequence[MathValue]) -> MathValue:
        _count(arguments, 1)
        value = arguments[0]
        if isinstance(value, TimeSeries):
            return reduce(list(value.values.values())) if value.values else math.nan
        return _pointwise(as_array(value), reduce)

    return function


def _pointwise(array: Sequence[TimeSeries], reduce: Reduce) -> TimeSeries:
    times = sorted({at for one in array for at in one.values})
    values = {at: reduce([one.values[at] for one in array if at in one.values]) for at in times}
    return TimeSeries("", values, array[0].period_seconds if array else MINUTE_SECONDS)


def _mapping(change: Callable[[float], float | None]) -> Function:
    def function(arguments: Sequence[MathValue]) -> MathValue:
        _count(arguments, 1)
        return map_value(arguments[0], change)

    return function


def _of_series(change: Callable[[TimeSeries], TimeSeries]) -> Function:
    """A function that changes each series for itself."""

    def function(arguments: Sequence[MathValue]) -> MathValue:
        _count(arguments, 1)
        value = arguments[0]
        if isinstance(value, TimeSeries):
            return change(value)
        return tuple(change(one) for one in as_array(value))

    return function


def _of_time(read: Callable[[datetime], float]) -> Function:
    return _of_series(lambda one: one.of({at: read(datetime.fromtimestamp(at, UTC)) for at in one.values}))


def _count(arguments: Sequence[MathValue], *allowed: int) -> None:
    if len(arguments) not in allowed:
        raise MathError(f"{' or '.join(map(str, allowed))} arguments are expected")


def _logarithm(logarithm: Callable[[float], float]) -> Function:
    return _mapping(lambda value: logarithm(value) if value > 0 else None)


def _differences(one: TimeSeries) -> TimeSeries:
    times = list(one.values)
    return one.of({at: one.values[at] - one.values[before] for before, at in pairwise(times)})


def _time_differences(one: TimeSeries) -> TimeSeries:
    times = list(one.values)
    return one.of({at: float(at - before) for before, at in pairwise(times)})


def _rates(one: TimeSeries) -> TimeSeries:
    times = list(one.values)
    return one.of({at: (one.values[at] - one.values[before]) / (at - before) for before, at in pairwise(times)})


def _running_sum(one: TimeSeries) -> TimeSeries:
    total, values = 0.0, {}
    for at, value in one.values.items():
        total += value
        values[at] = total
    return one.of(values)


def _first(arguments: Sequence[MathValue]) -> MathValue:
    _count(arguments, 1)
    return as_array(arguments[0])[0] if as_array(arguments[0]) else ()


def _last(arguments: Sequence[MathValue]) -> MathValue:
    _count(arguments, 1)
    return as_array(arguments[0])[-1] if as_array(arguments[0]) else ()


def _if(arguments: Sequence[MathValue]) -> MathValue:
    """IF(condition, then, else): point by point if the condition is a series; without `else`, points are left out."""
    _count(arguments, 2, 3)
    condition, then = arguments[0], arguments[1]
    otherwise = arguments[2] if len(arguments) == 3 else None
    if isinstance(condition, float):
        if condition:
            return then
        return otherwise if otherwise is not None else _none_of(then)
    chosen = []
    for one in as_array(condition):
        values: dict[int, float] = {}
        for at, truth in one.values.items():
            value = _at(then if truth else otherwise, at)
            if value is not None:
                values[at] = value
        chosen.append(one.of(values))
    return chosen[0] if isinstance(condition, TimeSeries) else tuple(chosen)


def _none_of(value: MathValue) -> MathValue:
    return value.of({}) if isinstance(value, TimeSeries) else ()


def _at(value: MathValue | None, at: int) -> float | None:
    if value is None:
        return None
    if isinstance(value, TimeSeries):
        return value.values.get(at)
    return as_number(value)


def _remove_empty(arguments: Sequence[MathValue]) -> MathValue:
    _count(arguments, 1)
    return tuple(one for one in as_array(arguments[0]) if one.values)


def _metric_count(arguments: Sequence[MathValue]) -> MathValue:
    _count(arguments, 1)
    return float(len(as_array(arguments[0])))


def _datapoint_count(arguments: Sequence[MathValue]) -> MathValue:
    _count(arguments, 1)
    value = arguments[0]
    if isinstance(value, TimeSeries):
        return float(len(value.values))
    return _pointwise(as_array(value), lambda values: float(len(values)))


def _period(arguments: Sequence[MathValue]) -> MathValue:
    _count(arguments, 1)
    return float(as_array(arguments[0])[0].period_seconds)


def _slice(arguments: Sequence[MathValue]) -> MathValue:
    _count(arguments, 2, 3)
    array = as_array(arguments[0])
    places = [int(as_number(one)) for one in arguments[1:]]
    return tuple(array[places[0] : places[1]] if len(places) == 2 else array[: places[0]])


_SORT_KEYS: Mapping[str, Reduce] = {
    "AVG": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
    "SUM": sum,
}


def _sort(arguments: Sequence[MathValue]) -> MathValue:
    """SORT(array, function, order, limit)."""
    _count(arguments, 3, 4)
    reduce = _SORT_KEYS.get(str(arguments[1]))
    if reduce is None or arguments[2] not in ("ASC", "DESC"):
        raise MathError("SORT needs one of AVG, MIN, MAX, SUM, and then ASC or DESC")
    key = reduce
    array = [one for one in as_array(arguments[0]) if one.values]
    array.sort(key=lambda one: key(list(one.values.values())), reverse=arguments[2] == "DESC")
    return tuple(array[: int(as_number(arguments[3]))] if len(arguments) == 4 else array)


def fill(series: TimeSeries, how: MathValue, begin_seconds: int, end_seconds: float) -> TimeSeries:
    """FILL: the series with a value for each period in [begin, end)."""
    times = range(begin_seconds, math.ceil(end_seconds), series.period_seconds)
    if isinstance(how, TimeSeries):
        others = how.values
        return series.of({at: value for at in times if (value := series.values.get(at, others.get(at))) is not None})
    if isinstance(how, str):
        return series.of(_repeated(series, times) if how == "REPEAT" else _interpolated(series, times))
    number = as_number(how)
    return series.of({at: series.values.get(at, number) for at in times})


def _repeated(series: TimeSeries, times: range) -> Mapping[int, float]:
    values: dict[int, float] = {}
    last = None
    for at in times:
        last = series.values.get(at, last)
        if last is not None:
            values[at] = last
    return values


def _interpolated(series: TimeSeries, times: range) -> Mapping[int, float]:
    """Missing values on the straight line between their neighbours; beyond the first and the last one, as these."""
    known = sorted(series.values)
    if not known:
        return {}
    values: dict[int, float] = {}
    place = 0
    for at in times:
        while place < len(known) and known[place] < at:
            place += 1
        if place < len(known) and known[place] == at:
            values[at] = series.values[at]
        elif place in (0, len(known)):
            values[at] = series.values[known[min(place, len(known) - 1)]]
        else:
            before, after = known[place - 1], known[place]
            share = (at - before) / (after - before)
            values[at] = series.values[before] + share * (series.values[after] - series.values[before])
    return values


FUNCTIONS: Mapping[str, Function] = {
    "ABS": _mapping(abs),
    "AVG": _reducing(lambda values: sum(values) / len(values)),
    "CEIL": _mapping(lambda value: float(math.ceil(value))),
    "DATAPOINT_COUNT": _datapoint_count,
    "DATE": _of_time(lambda time: float(time.day)),
    "DAY": _of_time(lambda time: float(time.isoweekday())),
    "DIFF": _of_series(_differences),
    "DIFF_TIME": _of_series(_time_differences),
    "EPOCH": _of_time(lambda time: time.timestamp()),
    "FIRST": _first,
    "FLOOR": _mapping(lambda value: float(math.floor(value))),
    "HOUR": _of_time(lambda time: float(time.hour)),
    "IF": _if,
    "LAST": _last,
    "LOG": _logarithm(math.log),
    "LOG10": _logarithm(math.log10),
    "MAX": _reducing(max),
    "METRIC_COUNT": _metric_count,
    "MIN": _reducing(min),
    "MINUTE": _of_time(lambda time: float(time.minute)),
    "MONTH": _of_time(lambda time: float(time.month)),
    "PERIOD": _period,
    "RATE": _of_series(_rates),
    "REMOVE_EMPTY": _remove_empty,
    "RUNNING_SUM": _of_series(_running_sum),
    "SLICE": _slice,
    "SORT": _sort,
    "STDDEV": _reducing(statistics.pstdev),
    "SUM": _reducing(math.fsum),
    "YEAR": _of_time(lambda time: float(time.year)),
}
"""Functions of their arguments' values alone. FILL, METRICS, SEARCH, TIME_SERIES and INSIGHT_RULE_METRIC need to know the query."""


def _power(one: float, other: float) -> float | None:
    try:
        result = one**other
    except (OverflowError, ZeroDivisionError):
        return None
    return result if isinstance(result, float) else None


OPERATORS: Mapping[str, Callable[[float, float], float | None]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other if other else None,
    "^": _power,
    "==": lambda one, other: float(one == other),
    "!=": lambda one, other: float(one != other),
    "<": lambda one, other: float(one < other),
    "<=": lambda one, other: float(one <= other),
    ">": lambda one, other: float(one > other),
    ">=": lambda one, other: float(one >= other),
    "&&": lambda one, other: float(bool(one) and bool(other)),
    "||": lambda one, other: float(bool(one) or bool(other)),
}


def operate(operator: str, one: MathValue, other: MathValue) -> MathValue:
    """What an operator makes of two values. A quotient by zero leaves a point out."""
    return combine(one, other, OPERATORS[operator])


def negate(value: MathValue) -> MathValue:
    """The value with the other sign."""
    return map_value(value, lambda number: -number)


def finite(value: MathValue) -> MathValue:
    """The value without points that are no finite numbers."""
    if isinstance(value, TimeSeries):
        return mapped(value, lambda number: number if math.isfinite(number) else None)
    if isinstance(value, tuple):
        return tuple(mapped(one, lambda number: number if math.isfinite(number) else None) for one in value)
    return value
