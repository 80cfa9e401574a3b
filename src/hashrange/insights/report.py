"""What does a rule report of a stretch of time? The greatest contributors with their values in each period,
and numbers over all contributors.

A report of a day may take a second, and gives way meanwhile.
"""

import heapq
from collections.abc import Mapping, Sequence

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.math.values import MathError
from hashrange.insights.insights import Insights
from hashrange.insights.rule_counts import RuleCounts
from hashrange.insights.summary import Contributor, Merged
from hashrange.items.steps import spend, walk
from hashrange.messages.metric_queries import NO_INSIGHT_METRIC

METRICS = ("UniqueContributors", "MaxContributorValue", "SampleCount", "Sum", "Minimum", "Maximum", "Average")
SUMMARY_STEPS = 40
"""Steps of adding a summary to two others, without those for its contributors."""


class RuleReport:
    """What a rule has counted in periods that follow one another."""

    def __init__(self, begin_seconds: int, period_seconds: int) -> None:
        self._begin_seconds, self._period_seconds = begin_seconds, period_seconds
        self.whole = Merged()
        self.periods: dict[int, Merged] = {}
        """By the begin of the period in seconds since 1970, in order of time."""

    def read(self, counts: RuleCounts, end_seconds: float, now_seconds: float, *, has_whole: bool = True) -> None:
        """Add all that was counted before `end_seconds`, to the whole only if `has_whole`; may give way.
        Raises StorageError.
        """
        for at_seconds, summary in counts.between(self._begin_seconds, end_seconds, now_seconds):
            spend(SUMMARY_STEPS + (len(summary.contributors) >> 1))
            if has_whole:
                self.whole.add(summary)
            place = int(at_seconds - self._begin_seconds) // self._period_seconds
            self.periods.setdefault(self._begin_seconds + place * self._period_seconds, Merged()).add(summary)

    def top(self, most: int, *, by_maximum: bool) -> Sequence[Contributor]:
        """The contributors with the greatest sums, or with the greatest value in one period;
        greatest first. May give way.
        """
        if not by_maximum:
            return self.whole.top(most)
        greatest: dict[bytes, float] = {}
        for period in self.periods.values():
            for one in period.top(most):
                greatest[one.key] = max(one.counted, greatest.get(one.key, 0.0))
        sums = self.whole.counts
        ordered = heapq.nsmallest(most, walk(greatest), key=lambda key: (-greatest[key], -sums[key], key))
        return [Contributor(key, sums[key], 0.0) for key in ordered]

    def values(self, key: bytes) -> Mapping[int, float]:
        """What a contributor has counted in each period in which it occurs."""
        return {at: period.counts[key] for at, period in walk(self.periods.items()) if key in period.counts}


def metrics_of(period: Merged) -> Mapping[str, float]:
    """Numbers over the contributors of a period.
    For rules of DynamoDB, only MaxContributorValue and Maximum mean something.
    """
    counts = period.counts.values()
    unique = float(period.unique_keys)
    return {
        "UniqueContributors": unique,
        "MaxContributorValue": max(counts, default=0.0),
        "SampleCount": unique,
        "Sum": period.total,
        "Minimum": min(counts, default=0.0),
        "Maximum": max(counts, default=0.0),
        "Average": period.total / unique if unique else 0.0,
    }


def read_insight_rule(
    insights: Insights,
    caller: Caller,
    rule_name: str,
    metric: str,
    begin_seconds: int,
    end_seconds: float,
    period_seconds: int,
) -> Mapping[int, float]:
    """What INSIGHT_RULE_METRIC returns in metric math: values by the begin of their period, in seconds since 1970.
    Raises MathError if there is no such rule or metric.
    """
    rule = insights.rule(caller, rule_name)
    if rule is None or metric not in METRICS:
        raise MathError(NO_INSIGHT_METRIC.format(rule=rule_name, metric=metric))
    report = RuleReport(begin_seconds, period_seconds)
    report.read(rule.counts, end_seconds, insights.now_seconds(), has_whole=False)
    return {at: metrics_of(period)[metric] for at, period in report.periods.items()}
