"""Which periods may a query ask for? Source: operations.md 7, *Period*."""

from hashrange.cloudwatch.tiers import SHORT_PERIODS_KEPT_SECONDS, resolution_at

SHORT_PERIODS_SECONDS = (1, 5, 10, 20, 30)
"""Periods below a minute, which exist for metrics of high resolution."""


def is_period(period_seconds: int) -> bool:
    """True if a query may ask for periods of this length."""
    return period_seconds in SHORT_PERIODS_SECONDS or (period_seconds > 0 and period_seconds % 60 == 0)


def has_points(begin_seconds: float, period_seconds: int, now_seconds: float) -> bool:
    """False if a query begins so long ago that periods of this length are not kept of that time:
    then it has no datapoints at all.
    """
    if period_seconds in SHORT_PERIODS_SECONDS:
        return begin_seconds >= now_seconds - SHORT_PERIODS_KEPT_SECONDS
    return period_seconds % resolution_at(begin_seconds, now_seconds) == 0
