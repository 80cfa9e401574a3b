"""What does INSIGHT_RULE_METRIC return in metric math? One metric of a rule's report, by period."""

from collections.abc import Mapping

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.math.values import MathError
from hashrange.insights.api.insight_rules import METRICS
from hashrange.insights.insights import Insights
from hashrange.insights.report import RuleReport, metrics_of


def read_insight_rule(
    insights: Insights,
    caller: Caller,
    rule_name: str,
    metric: str,
    begin_seconds: int,
    end_seconds: float,
    period_seconds: int,
) -> Mapping[int, float]:
    """Values by the begin of their period, in seconds since 1970.
    Raises MathError if there is no such rule or metric.
    """
    rule = next((one for one in insights.rules(caller) if one.name == rule_name), None)
    if rule is None or metric not in METRICS:
        raise MathError(f"there is no insight rule {rule_name} with a metric {metric}")
    report = RuleReport(begin_seconds, period_seconds)
    report.read_periods(rule.counts, end_seconds, insights.now_seconds())
    return {at: metrics_of(period)[metric] for at, period in report.periods.items()}
