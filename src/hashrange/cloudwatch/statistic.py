"""What is a statistic? Of many observed values, a `StatisticSet` and a distribution are kept; the name of a statistic,
`Sum`, `p99.9`, `TM(10%:90%)` …, becomes a function of these.

Source: operations.md 7; CloudWatch user guide, *Statistics definitions*.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from hashrange.cloudwatch.percentiles import Distribution, ValueShare, count_of, shares_of, sum_of, value_at, within
from hashrange.items.steps import walk

# --- what is kept of observed values ---------------------------------------------------------------


class StatisticSet(NamedTuple):
    """Statistics of at least one observed value."""

    sample_count: float
    sum: float
    minimum: float
    maximum: float


def of_value(value: float, count: float = 1.0) -> StatisticSet:
    """The statistics of one value that was observed `count` times."""
    return StatisticSet(count, value * count, value, value)


def merged(one: StatisticSet, other: StatisticSet) -> StatisticSet:
    """The statistics of all values of both."""
    return StatisticSet(
        one.sample_count + other.sample_count,
        one.sum + other.sum,
        min(one.minimum, other.minimum),
        max(one.maximum, other.maximum),
    )


class Cell(NamedTuple):
    """What was observed in one period of a series."""

    statistics: StatisticSet
    distribution: Distribution | None = None
    """None: percentiles cannot be told."""


class Datapoint(NamedTuple):
    """What was observed of a metric in one period, in one unit."""

    at_seconds: int
    """Begin of the period, in seconds since 1970 by service time."""
    unit: str
    """One of the service's standard units, such as `Count`; `None` is a unit too."""
    statistics: StatisticSet
    distribution: Distribution | None = None
    """None: percentiles cannot be told."""


# --- what names of statistics mean ------------------------------------------------------------------

Statistic = Callable[[Cell | Datapoint], float | None]
"""The value of what was observed, which is finite; None if it cannot be told, as for percentiles of statistic sets.
May give way.
"""

_SIMPLE: dict[str, Callable[[StatisticSet], float]] = {
    "SampleCount": lambda one: one.sample_count,
    "Average": lambda one: one.sum / one.sample_count,
    "Sum": lambda one: one.sum,
    "Minimum": lambda one: one.minimum,
    "Maximum": lambda one: one.maximum,
}
SIMPLE_STATISTICS = tuple(_SIMPLE)
NAME_LENGTH_MAX = 100
"""Characters of a statistic's name, 512 of which are remembered: our own bound."""
_as_percentile = re.compile(r"p(\d{1,2}(?:\.\d{1,10})?|100(?:\.0{1,10})?)").fullmatch
_as_short = re.compile(r"(tm|wm|tc|ts)(\d{1,2}(?:\.\d{1,10})?|100)").fullmatch
_as_range = re.compile(r"(TM|WM|TC|TS|PR)\(([0-9.]*)(%?):([0-9.]*)(%?)\)", re.IGNORECASE).fullmatch


def _finite(value: float) -> float | None:
    """The value, unless it is greater than numbers are: SampleCount may be as small as a number can be."""
    return value if math.isfinite(value) else None


class _Range(NamedTuple):
    """Values that a trimmed statistic looks at."""

    kind: str
    """`tm`, `wm`, `tc`, `ts` or `pr`."""
    lower: float
    upper: float
    is_percent: bool


def statistic_of(name: str) -> Statistic | None:
    """The statistic of this name; None if there is none.
    Of names, only `IQM` and those with brackets may be written in any case.
    """
    return _statistic_of(name) if len(name) <= NAME_LENGTH_MAX else None


@lru_cache(512)
def _statistic_of(name: str) -> Statistic | None:
    simple = _SIMPLE.get(name)
    if simple is not None:
        return lambda point: _finite(simple(point.statistics)) if point.statistics.sample_count else None
    percentile = _as_percentile(name)
    if percentile is not None:
        part = float(percentile[1]) / 100
        return lambda point: _of_shares(point, lambda shares: value_at(shares, part))
    given = _range_of(name)
    return None if given is None else (lambda point: _of_shares(point, lambda shares: _trimmed(shares, given)))


def _range_of(name: str) -> _Range | None:
    if name.lower() == "iqm":
        return _Range("tm", 25.0, 75.0, is_percent=True)
    short = _as_short(name)
    if short is not None:
        return _Range(short[1], 0.0, float(short[2]), is_percent=True)
    match = _as_range(name)
    if match is None:
        return None
    kind, lower_text, lower_sign, upper_text, upper_sign = match.groups()
    signs = {sign for text, sign in ((lower_text, lower_sign), (upper_text, upper_sign)) if text}
    is_percent = signs == {"%"}
    least, most = (0.0, 100.0) if is_percent else (-math.inf, math.inf)
    try:
        lower = float(lower_text) if lower_text else least
        upper = float(upper_text) if upper_text else most
    except ValueError:
        return None
    if len(signs) != 1 or lower > upper:
        return None  # neither bound, or one in percent and the other not
    if is_percent and (kind.lower() == "pr" or upper > most):
        return None
    return _Range(kind.lower(), lower, upper, is_percent)


def _of_shares(point: Cell | Datapoint, compute: Callable[[list[ValueShare]], float | None]) -> float | None:
    """What a function makes of the datapoint's distribution; None if it has none, unless all its values are the same.

    None also if a value is negative: the service has no percentiles then.
    """
    observed = point.statistics
    if observed.minimum < 0:
        return None
    if point.distribution:
        return compute(shares_of(point.distribution, observed.minimum, observed.maximum))
    if observed.minimum == observed.maximum and observed.sample_count:
        return compute([ValueShare(observed.minimum, observed.maximum, observed.sample_count)])
    return None


def _trimmed(shares: list[ValueShare], given: _Range) -> float | None:
    lower, upper = given.lower, given.upper
    if given.is_percent:
        lower, upper = value_at(shares, lower / 100), value_at(shares, upper / 100)
    inner = _inner(shares, given, lower, upper)
    count = count_of(inner)
    if given.kind == "tc":
        return count
    if given.kind == "pr":
        return 100 * count / count_of(shares)
    if given.kind == "ts":
        return sum_of(inner)
    if given.kind == "wm":
        return _winsorized(shares, lower, upper)
    return sum_of(inner) / count if count else None


def _inner(shares: list[ValueShare], given: _Range, lower: float, upper: float) -> list[ValueShare]:
    """The values that count: for percents, exactly that part of all values, even if many are the same."""
    if not given.is_percent:
        return within(shares, lower, upper)
    total = count_of(shares)
    skip = total * given.lower / 100
    take = total * given.upper / 100 - skip
    found = []
    for share in walk(shares):
        left_out = min(skip, share.values)
        skip -= left_out
        taken = min(take, share.values - left_out)
        if taken > 0:
            take -= taken
            width = share.upper - share.lower
            low = share.lower + width * left_out / share.values
            found.append(ValueShare(low, low + width * taken / share.values, taken))
    return found


def _winsorized(shares: list[ValueShare], lower: float, upper: float) -> float:
    """The mean after values beyond the bounds have been set to the bounds."""
    total = count_of(shares)
    moved = sum(
        share.values * (min(max(share.lower, lower), upper) + min(max(share.upper, lower), upper)) / 2
        for share in walk(shares)
    )
    return moved / total
