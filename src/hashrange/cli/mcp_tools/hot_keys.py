"""Which partition keys use, or are refused, most of a table's units?
What Contributor Insights has counted in the last day, if it is on.
"""

from typing import Any, NamedTuple

from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.remote import RemoteError

RULE_PREFIX = "DynamoDBContributorInsights-"
KINDS = {"PKC": "units", "PKT": "throttled parts of requests"}
DAY_SECONDS = 86_400
PERIOD_SECONDS = 3_600


class HotKey(NamedTuple):
    """The greatest contributor of a rule."""

    key: str
    """The partition key, as the report words it."""
    counted: float
    of_all: float
    """What all keys have."""
    what: str
    """What is counted."""


def hottest_keys(asking: AskedServer, table: str, now_seconds: float) -> list[HotKey]:
    """The greatest contributor of each rule on partition keys;
    none where Contributor Insights or CloudWatch do not answer.
    """
    try:
        rules = asking.ask("DescribeContributorInsights", TableName=table).get("ContributorInsightsRuleList", ())
        found = [(_kind(rule), rule) for rule in rules]
        return [hot for kind, rule in found if kind in KINDS for hot in _top(asking, rule, KINDS[kind], now_seconds)]
    except RemoteError:
        return []


def _kind(rule: str) -> str:
    return rule.removeprefix(RULE_PREFIX).partition("-")[0]


def _top(asking: AskedServer, rule: str, what: str, now_seconds: float) -> list[HotKey]:
    report: dict[str, Any] = asking.ask(
        "GetInsightRuleReport",
        "cloudwatch",
        RuleName=rule,
        StartTime=now_seconds - DAY_SECONDS,
        EndTime=now_seconds + PERIOD_SECONDS,
        Period=PERIOD_SECONDS,
        MaxContributorCount=1,
    )
    return [
        HotKey(", ".join(map(str, one["Keys"])), one["ApproximateAggregateValue"], report["AggregateValue"], what)
        for one in report["Contributors"]
    ]
