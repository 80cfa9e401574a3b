"""How often may throughput decrease, a table switch to on-demand, and its class or encryption change?
Pure functions of the earlier changes and the time.

Decreases are counted separately for a table and each global index: four on a UTC day, then one more an hour after
the last one, so at most 27 a day. A table is switched to on-demand at most four times within 24 hours,
and its class changes at most twice within 30 days. Changes that seem to be in the future count for nothing:
they were made before the clock was set back. Source: service behaviour, captures to October 2026 (decreases, class);
developer guide, quotas page of 2026 (switches).
"""

from hashrange import limits
from hashrange.tables.schema import Index, Table

SECONDS_PER_DAY = 86_400
SECONDS_PER_HOUR = 3_600


def decreases_today(subject: Table | Index, now_seconds: float) -> int:
    """Decreases of provisioned throughput on the UTC day of `now_seconds`."""
    last = subject.throughput_decreased_at_seconds
    if last is None or last // SECONDS_PER_DAY != now_seconds // SECONDS_PER_DAY:
        return 0
    return subject.decreases_today


def next_decrease_at_seconds(subject: Table | Index, now_seconds: float) -> float:
    """Time from which one more decrease of provisioned throughput is allowed; `now_seconds` if it is allowed now."""
    last = subject.throughput_decreased_at_seconds
    if last is None or decreases_today(subject, now_seconds) < limits.DECREASES_AT_ONCE_MAX:
        return now_seconds
    midnight = (now_seconds // SECONDS_PER_DAY + 1) * SECONDS_PER_DAY
    return max(now_seconds, min(last + SECONDS_PER_HOUR, midnight))


def recent_switches(table: Table, now_seconds: float) -> tuple[float, ...]:
    """Times of the table's switches to on-demand within the last 24 hours, oldest first."""
    return _within(table.switches_to_on_demand_seconds, SECONDS_PER_DAY, now_seconds)


def next_switch_at_seconds(recent: tuple[float, ...], now_seconds: float) -> float:
    """Time from which one more switch to on-demand is allowed; `recent` as `recent_switches` returns it."""
    if len(recent) < limits.SWITCHES_TO_ON_DEMAND_MAX:
        return now_seconds
    return recent[-limits.SWITCHES_TO_ON_DEMAND_MAX] + SECONDS_PER_DAY


def recent_class_changes(table: Table, now_seconds: float) -> tuple[float, ...]:
    """Times of the changes of the table's class within the last 30 days, oldest first."""
    return _within(table.class_changes_seconds, limits.TABLE_CLASS_CHANGES_DAYS * SECONDS_PER_DAY, now_seconds)


def recent_encryption_changes(table: Table, now_seconds: float) -> tuple[float, ...]:
    """Times of the changes of the table's encryption in the window that began with the first of them, oldest first."""
    changes = table.encryption_changes_seconds
    is_open = bool(changes) and changes[0] <= now_seconds < changes[0] + limits.ENCRYPTION_WINDOW_SECONDS
    return tuple([at for at in changes if at <= now_seconds]) if is_open else ()


def next_encryption_at_seconds(recent: tuple[float, ...], now_seconds: float) -> float:
    """Time from which one more change of encryption is allowed; `recent` as `recent_encryption_changes` returns it."""
    if len(recent) < limits.ENCRYPTION_CHANGES_AT_ONCE_MAX:
        return now_seconds
    return max(
        now_seconds, min(recent[-1] + limits.ENCRYPTION_CHANGE_SECONDS, recent[0] + limits.ENCRYPTION_WINDOW_SECONDS)
    )


def _within(times_seconds: tuple[float, ...], window_seconds: float, now_seconds: float) -> tuple[float, ...]:
    return tuple([at for at in times_seconds if now_seconds - window_seconds < at <= now_seconds])
