"""What is kept of many observed values? How many there were, their sum, the least and the greatest,
and for percentiles how many lie in each bucket.
"""

from collections.abc import Mapping
from typing import NamedTuple

Distribution = Mapping[int, float]
"""Number of a bucket → how many values lie in it (`percentiles.py` says which values a bucket has)."""


class StatisticSet(NamedTuple):
    """Statistics of at least one observed value."""

    sample_count: float
    sum: float
    minimum: float
    maximum: float


class Datapoint(NamedTuple):
    """What was observed in one period."""

    at_seconds: int
    """Begin of the period, in seconds since 1970 by service time."""
    unit: str
    """One of the service's standard units, such as `Count`; `None` is a unit too."""
    statistics: StatisticSet
    distribution: Distribution | None = None
    """None: percentiles cannot be told."""


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
