"""How often may throughput decrease, and a table switch to on-demand? Decreases: four at the start of a UTC day, one more each hour.

At most four decreases are saved up, so that there are at most 27 a day, counted separately for a table and each global
index. A table is switched to on-demand at most four times within 24 hours. Pure functions of the earlier changes and
the time. Source: developer guide, quotas page of 2026.
"""

from hashrange.limits import DECREASES_HELD_MAX, SWITCHES_TO_ON_DEMAND_MAX
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
    """Decreases of provisioned throughput that are still allowed at `now_seconds`.

    Each UTC day begins with DECREASES_HELD_MAX; each full hour of UTC adds one, up to this number.
    """
    last = subject.throughput_decreased_at_seconds
    if last is None or not _is_same_day(last, now_seconds):
        return DECREASES_HELD_MAX
    hours = int(now_seconds // SECONDS_PER_HOUR - last // SECONDS_PER_HOUR)
    return min(DECREASES_HELD_MAX, subject.decreases_left + hours)


def next_decrease_at_seconds(now_seconds: float) -> float:
    """Time of the next full hour of UTC, which allows one more decrease."""
    return (now_seconds // SECONDS_PER_HOUR + 1) * SECONDS_PER_HOUR


def recent_switches(table: Table, now_seconds: float) -> tuple[float, ...]:
    """Times of the table's switches to on-demand within the last 24 hours, oldest first."""
    return tuple([at for at in table.switches_to_on_demand_seconds if at > now_seconds - SECONDS_PER_DAY])


def next_switch_at_seconds(recent: tuple[float, ...], now_seconds: float) -> float:
    """Time from which one more switch to on-demand is allowed; `recent` as `recent_switches` returns it."""
    return (
        recent[-SWITCHES_TO_ON_DEMAND_MAX] + SECONDS_PER_DAY
        if len(recent) >= SWITCHES_TO_ON_DEMAND_MAX
        else now_seconds
    )


def _is_same_day(first_seconds: float, second_seconds: float) -> bool:
    return first_seconds // SECONDS_PER_DAY == second_seconds // SECONDS_PER_DAY
