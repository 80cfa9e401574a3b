"""Which state do datapoints mean? M out of N of them breach the threshold; for those that are missing,
the alarm says what they count as.

The reasons are the service's. Source: CloudWatch user guide, *Configuring how alarms treat
missing data*; operations.md 7.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from hashrange.cloudwatch.alarms.alarm import COMPARISONS, StateValue, Threshold, stamp_of
from hashrange.messages import alarms as sentences

_as_percentile = re.compile(r"p([0-9.]+)").fullmatch
MORE_PERIODS = 2
"""Periods before the evaluated ones that are looked at while some of these are missing.
The user guide shows 5 for 3; the rest is our own model."""

SHOWN_MAX = 5
"""Datapoints that a reason shows. From as many on, it has other words. Source: reports of users."""
TOLD_MAX = 30
"""Datapoints in StateReasonData, which has at most 4,000 characters: our own bound. Each takes about 100."""

Observed = tuple[float, float | None]
"""Begin of a period in seconds since 1970, and its value; None: it is missing."""


class Verdict(NamedTuple):
    """The result of an evaluation."""

    state: StateValue
    evaluated: Sequence[Observed]
    """The datapoints that decided, newest first."""
    missing: int
    """How many more the alarm evaluates."""


def looked_at(threshold: Threshold) -> int:
    """How many periods an evaluation looks at."""
    return threshold.evaluation_periods + MORE_PERIODS


def judge(threshold: Threshold, observed: Sequence[Observed], before: StateValue) -> Verdict | None:
    """The state that the periods mean, `looked_at` of them, oldest first; None:
    the alarm stays in the state `before`.
    """
    evaluated = [one for one in reversed(observed) if one[1] is not None][: threshold.evaluation_periods]
    missing = threshold.evaluation_periods - len(evaluated)
    breaching = sum(_breaches(threshold, value) for _, value in evaluated)
    state = _state(threshold, before, breaching, len(evaluated), missing)
    return None if state is None else Verdict(state, evaluated, missing)


def _breaches(threshold: Threshold, value: float | None) -> bool:
    _, is_breach = COMPARISONS[threshold.comparison]
    return value is not None and is_breach(value, threshold.value)


def _state(threshold: Threshold, before: StateValue, breaching: int, known: int, missing: int) -> StateValue | None:
    needed = threshold.breaches_needed
    if not missing or threshold.missing_data == "notBreaching":
        return "ALARM" if breaching >= needed else "OK"
    if threshold.missing_data == "breaching":
        return "ALARM" if breaching + missing >= needed else "OK"
    if threshold.missing_data == "ignore":
        if breaching >= needed:
            return "ALARM"
        return "OK" if breaching < known else None
    if not known:
        return "INSUFFICIENT_DATA"
    return "ALARM" if breaching >= min(needed, known) else "OK"


def samples_needed(statistic: str) -> float:
    """Values that a percentile needs to be significant; 0: any number will do, and for other statistics.

    Source: CloudWatch user guide, *Percentile-based alarms and low data samples*.
    """
    match = _as_percentile(statistic)
    percentile = 0.0 if match is None else float(match[1])
    if not 0 < percentile < 100:
        return 0.0
    return 1_000 / min(percentile, 100 - percentile)


def reason_of(threshold: Threshold, verdict: Verdict, before: StateValue) -> str:
    """StateReason of an alarm that was in the state `before`."""
    state, evaluated, missing = verdict
    if state == "INSUFFICIENT_DATA":
        return sentences.UNKNOWN_ONE if missing == 1 else sentences.UNKNOWN_MANY.format(count=missing)
    if not evaluated:
        treated = {"breaching": "Breaching", "notBreaching": "NonBreaching"}.get(
            threshold.missing_data or "", "Missing"
        )
        one = missing == 1
        return sentences.NONE_RECEIVED.format(
            count=missing,
            periods="period" if one else "periods",
            datapoints="datapoint was" if one else "datapoints were",
            treated=treated,
        )
    deciding = [one for one in evaluated if _breaches(threshold, one[1]) == (state == "ALARM")] or list(evaluated)
    shown = ", ".join(f"{value!r} ({_time(at_seconds)})" for at_seconds, value in deciding[:SHOWN_MAX])
    needed = (
        threshold.breaches_needed if state == "ALARM" else threshold.evaluation_periods - threshold.breaches_needed + 1
    )
    sentence = sentences.CROSSED if len(deciding) < SHOWN_MAX else sentences.CROSSED_MANY
    return sentence.format(
        count=len(deciding),
        evaluated=len(evaluated),
        shown=shown,
        were="was" if len(deciding) == 1 else "were",
        no="" if state == "ALARM" else "not ",
        crossed="crossed" if state == "ALARM" else "did not cross",
        comparison=COMPARISONS[threshold.comparison][0],
        threshold=repr(threshold.value),
        needed=needed,
        datapoints="datapoint" if needed == 1 else "datapoints",
        before=before,
        state=state,
    )


def _time(at_seconds: float) -> str:
    return f"{datetime.fromtimestamp(at_seconds, UTC):%d/%m/%y %H:%M:%S}"


def reason_data(
    threshold: Threshold,
    verdict: Verdict,
    now_seconds: float,
    statistic: str | None,
    unit: str | None,
    period_seconds: int,
) -> str:
    """StateReasonData: JSON of what decided, with the newest datapoints."""
    begin_seconds = min((at_seconds for at_seconds, _ in verdict.evaluated), default=now_seconds)
    told = verdict.evaluated[:TOLD_MAX]
    data = {
        "version": "1.0",
        "queryDate": stamp_of(now_seconds),
        "startDate": stamp_of(begin_seconds),
        "unit": unit,
        "statistic": statistic,
        "period": period_seconds,
        "recentDatapoints": [value for _, value in reversed(told)],
        "threshold": threshold.value,
        "evaluatedDatapoints": [{"timestamp": stamp_of(at_seconds), "value": value} for at_seconds, value in told],
    }
    return msgspec.json.encode({name: value for name, value in data.items() if value is not None}).decode()
