"""How often may provisioned throughput decrease? Four times at the start of a UTC day, plus once each hour; at most four are saved up.

That is 27 a day, counted separately for a table and each global index. Pure functions of the last decrease and the
time. Source: developer guide, quotas page of 2026.
"""

from hashrange.limits import DECREASES_HELD_MAX
from hashrange.tables.schema import Index, Table

SECONDS_PER_DAY = 86_400
SECONDS_PER_HOUR = 3_600


def decreases_today(subject: Table | Index, now_seconds: float) -> int:
    """Decreases of provisioned throughput on the UTC day of `now_seconds`."""
    last = subject.throughput_decreased_at_seconds
    if last is None or not _is_same_day(last, now_seconds):
        return 0
    return subject.decreases_today


def decreases_left(subject: Table | Index, now_seconds: float) -> int:
    """Decreases of provisioned throughput that are still allowed at `now_seconds`; each full hour of UTC adds one."""
    last = subject.throughput_decreased_at_seconds
    if last is None or not _is_same_day(last, now_seconds):
        return DECREASES_HELD_MAX
    hours = int(now_seconds // SECONDS_PER_HOUR - last // SECONDS_PER_HOUR)
    return min(DECREASES_HELD_MAX, subject.decreases_left + hours)


def next_decrease_at_seconds(now_seconds: float) -> float:
    """Time of the next full hour of UTC, which allows one more decrease."""
    return (now_seconds // SECONDS_PER_HOUR + 1) * SECONDS_PER_HOUR


def _is_same_day(first_seconds: float, second_seconds: float) -> bool:
    return first_seconds // SECONDS_PER_DAY == second_seconds // SECONDS_PER_DAY
