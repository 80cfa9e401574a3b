"""For how long does a metric keep which resolution, and which periods may a query ask for? Minutes are kept for 15
days, five minutes for 63 days, hours for 455 days.

Source of the times: operations.md 7, *Retention* and *Period*.
"""

import math
from functools import lru_cache
from typing import NamedTuple

DAY_SECONDS = 86_400


class Tier(NamedTuple):
    """One resolution in which cells are kept."""

    period_seconds: int
    kept_seconds: int
    block_seconds: int
    """Stretch of time whose cells share a block: a multiple of the next tier's period."""

    def block_of(self, at_seconds: float) -> int:
        """Number of the block of this time."""
        return int(at_seconds // self.block_seconds)

    def oldest_block(self, now_seconds: float) -> int:
        """Number of the oldest block that still has cells of this resolution; older ones are rolled up."""
        return self.block_of(now_seconds - self.kept_seconds)


MINUTES = Tier(60, 15 * DAY_SECONDS, DAY_SECONDS // 4)
TIERS = (MINUTES, Tier(300, 63 * DAY_SECONDS, 3 * DAY_SECONDS), Tier(3600, 455 * DAY_SECONDS, 35 * DAY_SECONDS))
SHORT_PERIODS_KEPT_SECONDS = 3 * 3600
"""How long datapoints of periods shorter than a minute are shown."""
SECONDS = Tier(1, SHORT_PERIODS_KEPT_SECONDS, 600)
"""Of observations of high resolution only, before they become minutes."""
ALL_TIERS = (SECONDS, *TIERS)


def resolution_at(at_seconds: float, now_seconds: float) -> int:
    """Seconds of the resolution that is kept of this time; times in requests are rounded down to a multiple of it."""
    for tier in TIERS:
        if at_seconds >= now_seconds - tier.kept_seconds:
            return tier.period_seconds
    return TIERS[-1].period_seconds


def first_period(begin_seconds: float, end_seconds: float, period_seconds: int, now_seconds: float) -> int:
    """When the first period of a question begins: at its begin, rounded down to the resolution that is kept of that
    time; below a minute, to the period.

    It is rounded up if there were one more period otherwise: a week has 168 hours at whatever second it begins,
    and the running minute belongs to the last of them.
    """
    step_seconds = resolution_at(begin_seconds, now_seconds)
    if period_seconds < MINUTES.period_seconds:
        step_seconds = period_seconds
    first_seconds = math.floor(begin_seconds / step_seconds) * step_seconds
    if period_seconds > step_seconds:
        periods = math.ceil((end_seconds - begin_seconds) / period_seconds)
        if end_seconds - first_seconds > periods * period_seconds:
            return first_seconds + step_seconds
    return first_seconds


def first_shown(begin_seconds: float, end_seconds: float, period_seconds: int, now_seconds: float) -> int:
    """When the first period of a question begins (`first_period`) that is still shown."""
    first_seconds = first_period(begin_seconds, end_seconds, period_seconds, now_seconds)
    oldest_seconds = now_seconds - _shown_seconds(period_seconds)
    if first_seconds < oldest_seconds:
        first_seconds += math.ceil((oldest_seconds - first_seconds) / period_seconds) * period_seconds
    return first_seconds


@lru_cache(64)
def _shown_seconds(period_seconds: int) -> int:
    """For how long datapoints of a period are shown: as long as a resolution is kept of which
    the period is a multiple.
    """
    kept = [tier.kept_seconds for tier in TIERS if period_seconds % tier.period_seconds == 0]
    return max(kept, default=SHORT_PERIODS_KEPT_SECONDS)


# --- periods of queries ---------------------------------------------------------------------------


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
