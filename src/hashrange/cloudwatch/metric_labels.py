"""How is a series labelled? `${MAX}`, `${PROP('MetricName')}` and the like in a query's label are
replaced by what they stand for.

Source: CloudWatch user guide, *Using dynamic labels*. (unconfirmed: how numbers and times are written)
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone

from hashrange.cloudwatch.limits import METRIC_LABEL_LENGTH_MAX
from hashrange.cloudwatch.math.values import TimeSeries
from hashrange.items.steps import spend

LABEL_VALUES_MAX = 5
"""Statistical values that one label may show. The others are left as they are written."""
_parts = re.compile(r"\$\{(?:([A-Z_]+)|PROP\('([^']*)'\))\}")
_as_timezone = re.compile(r"([+-])(\d\d)(\d\d)").fullmatch


def _total(values: Mapping[int, float]) -> float:
    try:
        return math.fsum(values.values())
    except OverflowError:
        return math.inf


_VALUES: Mapping[str, Callable[[Mapping[int, float]], float]] = {
    "AVG": lambda values: _total(values) / len(values),
    "FIRST": lambda values: values[min(values)],
    "FIRST_LAST_RANGE": lambda values: abs(values[max(values)] - values[min(values)]),
    "LAST": lambda values: values[max(values)],
    "MAX": lambda values: max(values.values()),
    "MIN": lambda values: min(values.values()),
    "MIN_MAX_RANGE": lambda values: max(values.values()) - min(values.values()),
    "SUM": _total,
}
_TIMES: Mapping[str, Callable[[Mapping[int, float]], int]] = {
    "FIRST_TIME": min,
    "LAST_TIME": max,
    "MAX_TIME": lambda values: max(values, key=values.__getitem__),
    "MIN_TIME": lambda values: min(values, key=values.__getitem__),
}


def timezone_of(text: str) -> timezone | None:
    """The time zone of a request's LabelOptions, such as `+0130`; None if it is not valid."""
    match = _as_timezone(text)
    if match is None or int(match[2]) > 23 or int(match[3]) > 59:
        return None
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-ahead if match[1] == "-" else ahead)


def shown_label(label: str, series: TimeSeries, now_seconds: float, zone: timezone = UTC) -> str:
    """The label with its dynamic parts replaced, for all points of the series, cut if it is too long; may give way.

    A value that the series does not have, or that is no number or time, is `--`.
    """
    if "${" not in label:
        return label[:METRIC_LABEL_LENGTH_MAX]
    left = LABEL_VALUES_MAX

    def replaced(match: re.Match[str]) -> str:
        nonlocal left
        if match[2] is not None:
            return _property(series, match[2], match[0])
        if match[1] == "LABEL":
            return series.label
        if not left:
            return match[0]
        spend(len(series.values) >> 3)
        found = _value(match[1], series.values, now_seconds, zone)
        if found is None:
            return match[0]
        left -= 1
        return found

    return _parts.sub(replaced, label)[:METRIC_LABEL_LENGTH_MAX]


def _property(series: TimeSeries, name: str, text: str) -> str:
    """A property of the series' metric; `text` if there is no such property."""
    if name == "Period":
        return str(series.period_seconds)
    if series.origin is None:
        return text
    metric = series.origin.metric
    known = {
        "AccountId": metric.account,
        "MetricName": metric.name,
        "Namespace": metric.namespace,
        "Region": metric.region,
        "Stat": series.origin.statistic,
    } | {f"Dim.{dimension}": value for dimension, value in metric.dimensions}
    return known.get(name, text)


def _value(name: str, values: Mapping[int, float], now_seconds: float, zone: timezone) -> str | None:
    """What a dynamic part shows; None if there is no such part."""
    if name == "DATAPOINT_COUNT":
        return str(len(values))
    number, time = _VALUES.get(name), _TIMES.get(name)
    if number is not None:
        return _number(number(values)) if values else "--"
    if time is not None:
        return _moment(time(values), zone) if values else "--"
    if name in {"FIRST_LAST_TIME_RANGE", "MIN_MAX_TIME_RANGE"}:
        one, other = (_TIMES[f"{end}_TIME"] for end in name.split("_")[:2])
        return _duration(abs(one(values) - other(values))) if values else "--"
    time = _TIMES.get(name.removesuffix("_RELATIVE"))
    if time is None:
        return None
    return _duration(abs(now_seconds - time(values))) if values else "--"


def _moment(at_seconds: int, zone: timezone) -> str:
    try:
        return f"{datetime.fromtimestamp(at_seconds, zone):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError):  # in this zone, it is before the year 1 or after 9999
        return "--"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "--"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _duration(seconds: float) -> str:
    """A length of time in CloudWatch's short form, such as `1d 2h 5m`."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{count}{unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "m"), (left, "s")) if count]
    return " ".join(parts) or "0s"
