"""What are percentiles of a distribution? Values are counted in buckets whose bounds are a tenth apart,
as CloudWatch does; within one they are taken as spread evenly.

A bucket has a number: 0 for the value zero, greater ones for greater values, negative ones for negative values.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hashrange.items.steps import walk

_LOG_WIDTH = math.log(1.1)
_FIRST = 10_000
"""Number of the bucket that begins at 1. The smallest double has one above 0."""

Distribution = Mapping[int, float]
"""Number of a bucket → how many values lie in it."""


class ValueShare(NamedTuple):
    """Values that lie evenly between two bounds."""

    lower: float
    upper: float
    values: float


def bucket_of(value: float) -> int:
    """Number of the bucket of a value. 0.2 µs."""
    if value > 0:
        return math.floor(math.log(value) / _LOG_WIDTH) + _FIRST
    return 0 if value == 0 else -bucket_of(-value)


def upper_bound(bucket: int) -> float:
    """Value below which all values of the bucket lie; of a bucket of negative values, above which."""
    if bucket == 0:
        return 0.0
    return math.copysign(1.1 ** (abs(bucket) - _FIRST + 1), bucket)


def distribution_of(values: Iterable[tuple[float, float]]) -> Mapping[int, float]:
    """The distribution of values, each with its count."""
    distribution: dict[int, float] = {}
    for value, count in values:
        bucket = bucket_of(value)
        distribution[bucket] = distribution.get(bucket, 0.0) + count
    return distribution


def shares_of(distribution: Distribution, minimum: float, maximum: float) -> list[ValueShare]:
    """The distribution as shares in order of values, none of which goes beyond the least and the greatest value.
    May give way.
    """
    shares = []
    for bucket, count in walk(sorted(distribution.items())):
        if count:
            far = upper_bound(bucket)
            near = far / 1.1
            shares.append(ValueShare(max(min(near, far), minimum), min(max(near, far), maximum), count))
    return shares


def value_at(shares: list[ValueShare], part: float) -> float:
    """The value below which `part` of all values lie, from 0 to 1."""
    rank = part * sum(share.values for share in shares)
    for share in shares:
        if rank <= share.values:
            return share.lower + (share.upper - share.lower) * (rank / share.values)
        rank -= share.values
    return shares[-1].upper


def within(shares: list[ValueShare], lower: float, upper: float) -> list[ValueShare]:
    """The parts of shares whose values are greater than `lower`, and at most `upper`."""
    found = []
    for share in walk(shares):
        low, high = max(share.lower, lower), min(share.upper, upper)
        width = share.upper - share.lower
        if low > high or (width == 0 and share.lower == lower):
            continue
        count = share.values if width == 0 else share.values * (high - low) / width
        found.append(ValueShare(low, high, count))
    return found


def count_of(shares: Iterable[ValueShare]) -> float:
    """How many values the shares have."""
    return sum(share.values for share in shares)


def sum_of(shares: Iterable[ValueShare]) -> float:
    """Sum of the shares' values."""
    return sum(share.values * (share.lower + share.upper) / 2 for share in shares)
