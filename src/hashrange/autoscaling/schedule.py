"""When is a scheduled action due? `at(2027-01-01T00:00:00)`, `rate(5 minutes)`,
`cron(0 8 ? * MON-FRI *)`, in a time zone.

Source: Application Auto Scaling user guide, *Schedule recurring scaling actions using cron expressions*.
"""

import calendar
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hashrange.errors import HashrangeError
from hashrange.messages import autoscaling as sentences

YEAR_MIN, YEAR_MAX = 1970, 2199
"""Years that a cron expression may name."""
_END_SECONDS = datetime(YEAR_MAX + 1, 1, 2, tzinfo=UTC).timestamp()
"""From here on, the last of these years is over in all time zones."""
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_RATE_SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
_is_moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII).fullmatch
_call = re.compile(r"(at|rate|cron)\((.*)\)").fullmatch
_as_rate = re.compile(r"([1-9]\d{0,8}) (minute|hour|day)(s?)").fullmatch


class ScheduleError(HashrangeError):
    """The schedule cannot be read; the message is the service's."""


class Schedule(NamedTuple):
    """A schedule that has been read."""

    next_after: Callable[[float], float | None]
    """Time of the first occurrence after a moment, both in seconds since 1970; None: there is none."""
    recurs: bool = True
    """False: it has a single occurrence, that of an `at` expression."""


def zone_of(name: str | None) -> tzinfo:
    """The time zone of this name. Raises ScheduleError."""
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(sentences.TIMEZONE.format(name=name)) from None


def check_schedule(text: str) -> None:
    """Raise ScheduleError for an expression that can be read here but that the service does not know.

    A cron expression has one `?`, for the days of the month or for those of the week, and no steps of days of the week.
    Schedules of earlier versions may break these rules, so that `read_schedule` does not check them. Source:
    EventBridge user guide, *Cron expressions reference*.
    """
    match = _call(text.strip())
    if match is None or match[1] == "rate":
        return
    is_known = bool(_is_moment(match[2].strip())) if match[1] == "at" else _is_known_cron(match[2])
    if not is_known:
        raise ScheduleError(sentences.SCHEDULE.format(schedule=text))


def _is_known_cron(text: str) -> bool:
    fields = text.split()
    if len(fields) != 6:
        return False
    _, _, days, _, weekdays, _ = fields
    return text.count("?") == 1 and "?" in {days, weekdays} and "/" not in weekdays


def read_schedule(text: str, zone: tzinfo, begin_seconds: float) -> Schedule:
    """The schedule of a text. `begin_seconds`: from which rates are counted. Raises ScheduleError."""
    match = _call(text.strip())
    if match is None:
        raise ScheduleError(sentences.SCHEDULE.format(schedule=text))
    try:
        if match[1] == "at":
            return _at(match[2], zone)
        return _rate(match[2], begin_seconds) if match[1] == "rate" else _cron(match[2], zone)
    except (ValueError, OverflowError):
        raise ScheduleError(sentences.SCHEDULE.format(schedule=text)) from None


def _at(text: str, zone: tzinfo) -> Schedule:
    moment_seconds = datetime.strptime(text.strip(), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=zone).timestamp()
    return Schedule(lambda after_seconds: moment_seconds if moment_seconds > after_seconds else None, recurs=False)


def _rate(text: str, begin_seconds: float) -> Schedule:
    match = _as_rate(text.strip())
    if match is None or (match[1] == "1") == bool(match[3]):
        raise ValueError(text)
    period_seconds = int(match[1]) * _RATE_SECONDS[match[2]]

    def next_after(after_seconds: float) -> float:
        periods = max(0, int((after_seconds - begin_seconds) // period_seconds)) + 1
        return begin_seconds + periods * period_seconds

    return Schedule(next_after)


class _Cron(NamedTuple):
    minutes: frozenset[int]
    hours: frozenset[int]
    is_day: Callable[[date], bool]
    years: frozenset[int]


def _cron(text: str, zone: tzinfo) -> Schedule:
    minutes, hours, days, months, weekdays, years = text.split()
    if (days == "?") == (weekdays == "?") and not (days == "*" and weekdays == "*"):
        raise ValueError(text)
    chosen_months = _numbers(months, 1, 12, _MONTHS, 1)
    is_month_day, is_weekday = _month_days(days), _weekdays(weekdays)
    cron = _Cron(
        _numbers(minutes, 0, 59),
        _numbers(hours, 0, 23),
        lambda day: day.month in chosen_months and is_month_day(day) and is_weekday(day),
        _numbers(years, YEAR_MIN, YEAR_MAX),
    )
    return Schedule(lambda after_seconds: _next_of(cron, zone, after_seconds))


def _next_of(cron: _Cron, zone: tzinfo, after_seconds: float) -> float | None:
    if after_seconds >= _END_SECONDS:
        return None
    moments = (
        _next_on(day, cron, zone, after_seconds)
        for day in _days(cron, datetime.fromtimestamp(after_seconds, zone).date())
    )
    return next((moment for moment in moments if moment is not None), None)


def _days(cron: _Cron, first: date) -> Iterator[date]:
    """The days of the schedule from `first` on. Years that begin on the same weekday and have as many days are alike:
    if one has none, the others are skipped.
    """
    barren: set[tuple[int, bool]] = set()
    for year in sorted(one for one in cron.years if one >= first.year):
        begin, end = max(first, date(year, 1, 1)), date(year + 1, 1, 1)
        kind = end.weekday(), calendar.isleap(year)
        is_barren = True
        for place in range(0 if kind in barren else (end - begin).days):
            day = begin + timedelta(days=place)
            if cron.is_day(day):
                is_barren = False
                yield day
        if is_barren and year > first.year:
            barren.add(kind)


def _next_on(day: date, cron: _Cron, zone: tzinfo, after_seconds: float) -> float | None:
    """The first moment of a day that is later than `after_seconds`."""
    for hour in sorted(cron.hours):
        if _moment(day, hour, 59, zone) <= after_seconds:
            continue
        moments = [_moment(day, hour, minute, zone) for minute in cron.minutes]  # not in order where a clock skips some
        if later := [one for one in moments if one > after_seconds]:
            return min(later)
    return None


def _moment(day: date, hour: int, minute: int, zone: tzinfo) -> float:
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).timestamp()


def _numbers(field: str, least: int, most: int, names: tuple[str, ...] = (), first: int = 0) -> frozenset[int]:
    """The numbers of a field: `*`, lists, ranges, and steps such as `0/15`."""
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text) if slash else 1
        if step < 1:
            raise ValueError(field)
        if span in {"*", "?"}:
            low, high = least, most
        else:
            low_text, dash, high_text = span.partition("-")
            low = _number(low_text, names, first)
            high = _number(high_text, names, first) if dash else (most if slash else low)
        if not least <= low <= most or not least <= high <= most:
            raise ValueError(field)
        spanned = range(low, high + 1) if low <= high else [*range(low, most + 1), *range(least, high + 1)]
        found.update(spanned[::step])
    return frozenset(found)


def _number(text: str, names: tuple[str, ...] = (), first: int = 0) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + first
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(text)
    return int(text)


def _month_days(field: str) -> Callable[[date], bool]:
    """Days of a month: also `L`, its last, and `15W`, the weekday that is nearest to the 15th."""
    if field == "L":
        return lambda day: day.day == calendar.monthrange(day.year, day.month)[1]
    if field.endswith("W"):
        wanted = _number(field[:-1])
        if not 1 <= wanted <= 31:
            raise ValueError(field)
        return lambda day: day.day == _nearest_weekday(day.year, day.month, wanted)
    numbers = _numbers(field, 1, 31)
    return lambda day: day.day in numbers


def _nearest_weekday(year: int, month: int, wanted: int) -> int | None:
    last = calendar.monthrange(year, month)[1]
    if wanted > last:
        return None
    weekday = date(year, month, wanted).weekday()
    if weekday == 5:
        return wanted - 1 if wanted > 1 else wanted + 2
    if weekday == 6:
        return wanted + 1 if wanted < last else wanted - 2
    return wanted


def _weekdays(field: str) -> Callable[[date], bool]:
    """Days of a week, Sunday being 1: also `6L`, the last Friday, and `2#1`, the first Monday of a month."""
    if field == "L":
        field = "7"
    if field.endswith("L"):
        wanted = _number(field[:-1], _WEEKDAYS, 1)
        return lambda day: _weekday(day) == wanted and (day + timedelta(days=7)).month != day.month
    if "#" in field:
        wanted_text, _, place_text = field.partition("#")
        wanted, place = _number(wanted_text, _WEEKDAYS, 1), _number(place_text)
        if not 1 <= wanted <= 7 or not 1 <= place <= 5:
            raise ValueError(field)
        return lambda day: _weekday(day) == wanted and (day.day - 1) // 7 + 1 == place
    numbers = _numbers(field, 1, 7, _WEEKDAYS, 1)
    return lambda day: _weekday(day) in numbers


def _weekday(day: date) -> int:
    return day.isoweekday() % 7 + 1
