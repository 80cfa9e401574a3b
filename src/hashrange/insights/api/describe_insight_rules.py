"""DescribeInsightRules: the rules of tables and indexes that Contributor Insights watches. DynamoDB manages them."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.cloudwatch.api.checks import place_in, token_of
from hashrange.insights.insights import InsightRule, Insights

RULES_DESCRIBED_MAX = 500


class DescribeInsightRulesRequest(msgspec.Struct, frozen=True):
    """Request of DescribeInsightRules."""

    NextToken: str | None = None
    MaxResults: Annotated[int, Meta(ge=1, le=RULES_DESCRIBED_MAX)] | None = None


async def describe_insight_rules(
    insights: Insights, caller: Caller, request: DescribeInsightRulesRequest
) -> Mapping[str, Any]:
    """Returns some rules, by name. Raises ServiceError."""
    rules = insights.rules(caller)
    begin, size = place_in(request.NextToken), request.MaxResults or RULES_DESCRIBED_MAX
    return {
        "InsightRules": [_described(rule) for rule in rules[begin : begin + size]],
        "NextToken": token_of(begin + size) if begin + size < len(rules) else None,
    }


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


OPERATION = Operation("DescribeInsightRules", DescribeInsightRulesRequest, describe_insight_rules, FORM)
