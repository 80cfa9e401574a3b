"""Which functions does metric math have? Those of the user guide that need no learning and no other service.

Source: CloudWatch user guide, *Functions supported for metric math* and *Using IF expressions*.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from hashrange.cloudwatch.math.values import (
    MathError,
    MathValue,
    TimeSeries,
    as_array,
    as_number,
    each_series,
    map_value,
    mapped,
    times_of,
)
from hashrange.items.steps import spend, walk
from hashrange.messages import metric_queries as sentences

Reduce = Callable[[Sequence[float]], float]
Function = Callable[[Sequence[MathValue]], MathValue]
MINUTE_SECONDS = 60


# --- functions of a series that give a number, and of an array that give a series ---


def _reducing(reduce: Reduce, *, counts_missing: bool = False) -> Function:
    """A function of all values of a series; of an array, of the values of its series at each time.
    `counts_missing`: missing ones are 0.
    """

    def function(arguments: Sequence[MathValue]) -> MathValue:
        value = arguments[0]
        if isinstance(value, TimeSeries):
            spend((len(value.values) >> 3) + 1)
            return reduce(list(value.values.values())) if value.values else math.nan
        array = as_array(value)
        found: dict[int, float] = {}
        for at in times_of(array):
            spend((len(array) >> 3) + 1)
            values = [one.values[at] for one in array if at in one.values]
            if counts_missing:
                values += [0.0] * (len(array) - len(values))
            found[at] = reduce(values)
        period_seconds = max((one.period_seconds for one in array), default=MINUTE_SECONDS)
        return TimeSeries("", found, period_seconds, has_dropped=any(one.has_dropped for one in array))

    return function


def _sum(values: Sequence[float]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # infinite values
        return math.nan


def _average(values: Sequence[float]) -> float:
    return _sum(values) / len(values)


def _standard_deviation(values: Sequence[float]) -> float:
    """Of all values, not of a sample. (unconfirmed)"""
    mean = _average(values)
    return math.sqrt(_sum([(value - mean) * (value - mean) for value in values]) / len(values))


# --- functions of each value ---


def _mapping(change: Callable[[float], float | None]) -> Function:
    return lambda arguments: map_value(arguments[0], change)


def _logarithm(logarithm: Callable[[float], float]) -> Function:
    return _mapping(lambda value: logarithm(value) if value > 0 else None)


def _whole(change: Callable[[float], int]) -> Function:
    return _mapping(lambda value: float(change(value)) if math.isfinite(value) else None)


# --- functions of each series ---


def _of_series(change: Callable[[TimeSeries], Mapping[int, float]]) -> Function:
    """A function that changes each series for itself."""
    return lambda arguments: each_series(arguments[0], lambda one: one.of(change(one)))


def _of_neighbours(compute: Callable[[float, int], float]) -> Function:
    """A function of the difference of each value from the one before, and of the seconds between both."""
    return _of_series(
        lambda one: {
            at: compute(one.values[at] - one.values[before], at - before) for before, at in pairwise(walk(one.values))
        }
    )


def _running_sum(one: TimeSeries) -> Mapping[int, float]:
    total, values = 0.0, {}
    for at, value in walk(one.values.items()):
        total += value
        values[at] = total
    return values


# --- functions of arrays ---


def _of_array(compute: Callable[[Sequence[TimeSeries]], MathValue]) -> Function:
    return lambda arguments: compute(as_array(arguments[0]))


def _period(array: Sequence[TimeSeries]) -> MathValue:
    if len(array) != 1:
        raise MathError(sentences.SERIES_EXPECTED)
    return float(array[0].period_seconds)


def _slice(arguments: Sequence[MathValue]) -> MathValue:
    """SLICE(array, begin) or SLICE(array, begin, end)."""
    array = as_array(arguments[0])
    begin = _place(arguments[1], len(array))
    end = _place(arguments[2], len(array)) if len(arguments) == 3 else len(array)
    return tuple(array[begin:end])


def _place(value: MathValue, most: int) -> int:
    number = as_number(value)
    return 0 if math.isnan(number) else int(min(max(number, 0.0), most))


_SORT_KEYS: Mapping[str, Reduce] = {"AVG": _average, "MIN": min, "MAX": max, "SUM": _sum}


def _sort(arguments: Sequence[MathValue]) -> MathValue:
    """SORT(array, function, order) or SORT(array, function, order, limit). Series without points come last."""
    reduce, order = _SORT_KEYS.get(str(arguments[1])), arguments[2]
    if reduce is None or order not in ("ASC", "DESC"):
        raise MathError(sentences.SORT_ARGUMENTS)
    array = as_array(arguments[0])
    keys: list[float] = []
    for one in walk(array):
        spend(len(one.values) >> 4)
        key = reduce(list(one.values.values())) if one.values else math.inf
        keys.append(-key if one.values and order == "DESC" else key)
    ordered = [array[place] for place in sorted(range(len(array)), key=keys.__getitem__)]
    return tuple(ordered if len(arguments) == 3 else ordered[: _place(arguments[3], len(array))])


def choose(arguments: Sequence[MathValue]) -> MathValue:
    """The value of IF. A condition that is a series is looked at point by point, and only its points count.

    Where it is true, a point that is missing in `then` is 0; where it is false,
    one that is missing in `else` is left out.
    """
    condition, then = arguments[0], arguments[1]
    otherwise = arguments[2] if len(arguments) == 3 else None
    if isinstance(condition, float):
        if condition:
            return then
        return otherwise if otherwise is not None else _nothing_like(then)
    return each_series(condition, lambda one: _chosen(one, then, otherwise))


def _nothing_like(value: MathValue) -> MathValue:
    return value.of({}) if isinstance(value, TimeSeries) else ()


def _chosen(condition: TimeSeries, then: MathValue, otherwise: MathValue | None) -> TimeSeries:
    values: dict[int, float] = {}
    for at, truth in walk(condition.values.items()):
        value = _at(then if truth else otherwise, at)
        if value is None and truth:
            value = 0.0
        if value is not None:
            values[at] = value
    return condition.of(values)


def _at(value: MathValue | None, at: int) -> float | None:
    if value is None:
        return None
    if isinstance(value, TimeSeries):
        return value.values.get(at)
    return as_number(value)


FUNCTIONS: Mapping[str, Function] = {
    "ABS": _mapping(abs),
    "AVG": _reducing(_average, counts_missing=True),
    "CEIL": _whole(math.ceil),
    "DATAPOINT_COUNT": _reducing(lambda values: float(len(values))),
    "DIFF": _of_neighbours(lambda difference, _: difference),
    "DIFF_TIME": _of_neighbours(lambda _, seconds: float(seconds)),
    "FIRST": _of_array(lambda array: array[0] if array else ()),
    "FLOOR": _whole(math.floor),
    "IF": choose,
    "LAST": _of_array(lambda array: array[-1] if array else ()),
    "LOG": _logarithm(math.log),
    "LOG10": _logarithm(math.log10),
    "MAX": _reducing(max),
    "METRIC_COUNT": _of_array(lambda array: float(len(array))),
    "MIN": _reducing(min),
    "PERIOD": _of_array(_period),
    "RATE": _of_neighbours(lambda difference, seconds: difference / seconds),
    "REMOVE_EMPTY": _of_array(lambda array: tuple(one for one in array if one.values)),
    "RUNNING_SUM": _of_series(_running_sum),
    "SLICE": _slice,
    "SORT": _sort,
    "STDDEV": _reducing(_standard_deviation),
    "SUM": _reducing(_sum),
}
"""Functions of their arguments' values alone. The others, such as FILL, METRICS and SEARCH,
need to know the request."""
REDUCING_FUNCTIONS = frozenset({"AVG", "MAX", "MIN", "STDDEV", "SUM"})
"""Functions that take several arguments like one array of them."""
REFUSED_FUNCTIONS = frozenset({"ANOMALY_DETECTION_BAND", "DB_PERF_INSIGHTS", "LAMBDA", "SERVICE_QUOTA"})
"""Functions of the service that need a trained model, or another service."""
ARGUMENT_COUNTS: Mapping[str, tuple[int, ...]] = (
    dict.fromkeys(FUNCTIONS, (1,))
    | dict.fromkeys(REDUCING_FUNCTIONS, ())
    | dict.fromkeys(("DATE", "DAY", "EPOCH", "HOUR", "MINUTE", "MONTH", "TIME_SERIES", "YEAR"), (1,))
    | {"FILL": (2,), "IF": (2, 3), "INSIGHT_RULE_METRIC": (2,), "METRICS": (0, 1), "SEARCH": (2, 3)}
    | {"SLICE": (2, 3), "SORT": (3, 4)}
)
"""Every function, and how many arguments it takes; empty: one or more."""


def check_count(name: str, count: int) -> None:
    """Raise MathError if the function does not take this many arguments."""
    counts = ARGUMENT_COUNTS[name]
    is_right = count in counts if counts else count > 0
    if not is_right:
        shown = " or ".join(map(str, counts)) or "1 or more"
        raise MathError(sentences.ARGUMENTS_WRONG.format(name=name, counts=shown))


# --- operators ---


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
"""What an operator makes of two numbers. A quotient by zero leaves a point out."""


def finite(series: TimeSeries) -> TimeSeries:
    """The series without points that are not finite numbers."""
    if all(map(math.isfinite, walk(series.values.values()))):
        return series
    return mapped(series, lambda number: number if math.isfinite(number) else None)
