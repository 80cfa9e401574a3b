"""CloudWatch's operations on insight rules that read: DescribeInsightRules, GetInsightRuleReport.
DynamoDB manages its rules, so that they cannot be changed there.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import FORM, Caller, FormWire, Operation, ServiceError, bound
from hashrange.aws_services.paging import part_from
from hashrange.cloudwatch.api.checks import IntegerFromOne, check_one_of, place_in, refuse_value
from hashrange.insights.insights import InsightRule, Insights
from hashrange.insights.report import METRICS, RuleReport, metrics_of
from hashrange.messages import cloudwatch as sentences

RULES_DESCRIBED_MAX = 500


class DescribeInsightRulesRequest(msgspec.Struct, frozen=True):
    """Request of DescribeInsightRules."""

    NextToken: str | None = None
    MaxResults: Annotated[int, Meta(ge=1, le=RULES_DESCRIBED_MAX)] | None = None


async def describe_insight_rules(
    insights: Insights, caller: Caller, request: DescribeInsightRulesRequest
) -> Mapping[str, Any]:
    """DescribeInsightRules: the rules of tables and indexes that Contributor Insights watches. DynamoDB manages them.

    Returns some rules, by name. Raises ServiceError.
    """
    rules = insights.rules(caller)
    page, token = part_from(rules, place_in(request.NextToken), request.MaxResults or RULES_DESCRIBED_MAX)
    return {"InsightRules": [_described(rule) for rule in page], "NextToken": token}


def _described(rule: InsightRule) -> dict[str, Any]:
    counted = "ConsumedThroughputUnits" if rule.kind.endswith("C") else "ThrottleCount"
    definition = {
        "Schema": {"Name": "DynamoDBContributorInsights", "Version": 1},
        "AggregateOn": "Sum",
        "Contribution": {"Keys": rule.key_labels, "ValueOf": counted},
    }
    return {
        "Name": rule.name,
        "State": "ENABLED",
        "Schema": '{"Name": "DynamoDBContributorInsights", "Version": 1}',
        "Definition": msgspec.json.encode(definition).decode(),
        "ManagedRule": True,
    }


CONTRIBUTORS_MAX = 25
"""Contributors in a report of a rule of DynamoDB. Source: global-tables-backup.md 8."""
CONTRIBUTORS_USUAL = 10
ORDERS = ("Sum", "Maximum")


class GetInsightRuleReportRequest(msgspec.Struct, frozen=True):
    """Request of GetInsightRuleReport. `Period` in seconds."""

    RuleName: str
    StartTime: datetime
    EndTime: datetime
    Period: IntegerFromOne
    MaxContributorCount: int | None = None
    Metrics: list[str] | None = None
    OrderBy: str | None = None


async def get_insight_rule_report(
    insights: Insights, caller: Caller, request: GetInsightRuleReportRequest
) -> Mapping[str, Any]:
    """GetInsightRuleReport: who has contributed most to a rule in a stretch of time, and how much in each period.

    Returns the contributors, greatest first.
    Their values are at most the sketch's error too great. Raises ServiceError.
    """
    most = CONTRIBUTORS_USUAL if request.MaxContributorCount is None else request.MaxContributorCount
    if not 1 <= most <= CONTRIBUTORS_MAX:
        refuse_value(sentences.TOO_MANY_CONTRIBUTORS.format(most=CONTRIBUTORS_MAX))
    if request.Period % 60:
        refuse_value(sentences.REPORT_PERIOD)
    if request.OrderBy is not None:
        check_one_of("OrderBy", request.OrderBy, ORDERS)
    for place, name in enumerate(request.Metrics or (), 1):
        check_one_of(f"Metrics.{place}", name, METRICS)
    if request.StartTime >= request.EndTime:
        refuse_value(sentences.START_NOT_BEFORE_END)
    rule = insights.rule(caller, request.RuleName)
    if rule is None:
        raise ServiceError("ResourceNotFoundException", sentences.NO_SUCH_RULE.format(name=request.RuleName[:128]))
    begin_seconds = int(request.StartTime.timestamp() // 60 * 60)
    report = RuleReport(begin_seconds, request.Period)
    report.read(rule.counts, request.EndTime.timestamp(), insights.now_seconds())
    return {
        "KeyLabels": rule.key_labels,
        "AggregationStatistic": "SUM",
        "AggregateValue": report.whole.total,
        "ApproximateUniqueCount": report.whole.unique_keys,
        "Contributors": _contributors(rule, report, most, by_maximum=request.OrderBy == "Maximum"),
        "MetricDatapoints": _metrics(report, request.Metrics or ()),
    }


def _contributors(rule: InsightRule, report: RuleReport, most: int, *, by_maximum: bool) -> list[dict[str, Any]]:
    return [
        {
            "Keys": rule.source.scalars(one.key, rule.kind),
            "ApproximateAggregateValue": one.counted,
            "Datapoints": [
                {"Timestamp": datetime.fromtimestamp(at, UTC), "ApproximateValue": value}
                for at, value in report.values(one.key).items()
            ],
        }
        for one in report.top(most, by_maximum=by_maximum)
    ]


def _metrics(report: RuleReport, names: Sequence[str]) -> list[dict[str, Any]] | None:
    if not names:
        return None
    shown = []
    for at, period in report.periods.items():
        metrics = metrics_of(period)
        shown.append({"Timestamp": datetime.fromtimestamp(at, UTC), **{name: metrics[name] for name in names}})
    return shown


OPERATIONS = (
    Operation("DescribeInsightRules", DescribeInsightRulesRequest, describe_insight_rules, FORM),
    Operation("GetInsightRuleReport", GetInsightRuleReportRequest, get_insight_rule_report, FORM),
)


def insight_operations(insights: Insights) -> Sequence[Operation[FormWire]]:
    """The operations on these insights."""
    return bound(OPERATIONS, insights)
