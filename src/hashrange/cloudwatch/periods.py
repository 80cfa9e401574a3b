"""Which periods may a query ask for, and where does the first one begin? It depends on how long ago the query begins.

Source: operations.md 7, *Period* and *StartTime*.
"""

import math

from hashrange.cloudwatch.tiers import DAY_SECONDS

SHORT_PERIODS_SECONDS = (1, 5, 10, 20, 30)
"""Periods below a minute, which exist for metrics of high resolution."""
_HOUR_SECONDS = 3600


def is_period(period_seconds: int) -> bool:
    """True if a query may ask for periods of this length."""
    return period_seconds in SHORT_PERIODS_SECONDS or (period_seconds > 0 and period_seconds % 60 == 0)


def resolution_seconds(begin_seconds: float, now_seconds: float) -> int:
    """The shortest period that is kept of this time."""
    age_seconds = now_seconds - begin_seconds
    if age_seconds < 15 * DAY_SECONDS:
        return 60
    return 300 if age_seconds < 63 * DAY_SECONDS else _HOUR_SECONDS


def first_period_begin(begin_seconds: float, now_seconds: float) -> int:
    """The begin of the first period: rounded down to a minute, to five minutes if it is 15 days ago, to an hour if it is 63 days ago."""
    step_seconds = resolution_seconds(begin_seconds, now_seconds)
    return math.floor(begin_seconds / step_seconds) * step_seconds


def has_points(begin_seconds: float, period_seconds: int, now_seconds: float) -> bool:
    """False if periods of this length are not kept for as long."""
    return period_seconds % resolution_seconds(begin_seconds, now_seconds) == 0
