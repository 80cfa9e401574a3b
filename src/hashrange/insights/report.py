"""What does a rule report of a stretch of time? The greatest contributors with their values in each period, and numbers over all contributors."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from hashrange.insights.rule_counts import KEYS_KEPT, RuleCounts
from hashrange.insights.sketch import Sketch, merged_sketch

_read_keys = msgspec.json.Decoder(list[str]).decode


class ReportedContributor(NamedTuple):
    """One contributor."""

    keys: list[str]
    total: float
    values: Mapping[int, float]
    """By the begin of the period in seconds since 1970."""


class RuleReport(NamedTuple):
    """What a rule has counted."""

    total: float
    """Of all contributors; exact."""
    unique_keys: int
    contributors: list[ReportedContributor]
    """Greatest first, as many as a sketch keeps."""
    metrics: Mapping[int, Mapping[str, float]]
    """By the begin of the period: name of a metric → value."""


def report_of(counts: RuleCounts, begin_seconds: int, end_seconds: float, period_seconds: int) -> RuleReport:
    """The report of [begin, end) in periods of this length, which begin at `begin_seconds`."""
    by_period: dict[int, list[Sketch]] = {}
    for at_seconds, sketch in counts.between(begin_seconds, end_seconds):
        place = int(at_seconds - begin_seconds) // period_seconds
        by_period.setdefault(begin_seconds + place * period_seconds, []).append(sketch)
    periods = {at: merged_sketch(sketches, KEYS_KEPT) for at, sketches in by_period.items()}
    whole = merged_sketch(periods.values(), KEYS_KEPT)
    values: dict[bytes, dict[int, float]] = {}
    for at, sketch in periods.items():
        for one in sketch.top(KEYS_KEPT):
            values.setdefault(one.key, {})[at] = one.counted
    contributors = [
        ReportedContributor(_read_keys(one.key), one.counted, values[one.key]) for one in whole.top(KEYS_KEPT)
    ]
    return RuleReport(
        whole.total, whole.unique_keys, contributors, {at: _metrics_of(sketch) for at, sketch in periods.items()}
    )


def _metrics_of(sketch: Sketch) -> Mapping[str, float]:
    """For rules of DynamoDB, only MaxContributorValue and Maximum mean something."""
    counts = [one.counted for one in sketch.top(sketch.unique_keys)]
    unique = float(sketch.unique_keys)
    return {
        "UniqueContributors": unique,
        "MaxContributorValue": max(counts, default=0.0),
        "SampleCount": unique,
        "Sum": sketch.total,
        "Minimum": min(counts, default=0.0),
        "Maximum": max(counts, default=0.0),
        "Average": sketch.total / unique if unique else 0.0,
    }
