"""DescribeContributorInsights: return whether the most used keys of a table or global index are watched,
in which mode, and by which rules.

Order of checks: names → table exists, and is not CREATING → the table has the global index.
Source: service behaviour, captures of October 2026.
"""

from typing import Annotated

from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException
from hashrange.messages import other_services as say
from hashrange.messages.requests import INDEX_NAME_LENGTH
from hashrange.messages.tables import TABLE_NOT_FOUND
from hashrange.operations.described_table import TableRequest, described_table
from hashrange.operations.insights.rule_names import rule_names
from hashrange.operations.insights.watching import Watch, find_watch
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.tables.schema import Table
from hashrange.tables.states import status
from hashrange.wire.rules import ConstraintWording, RequestRules


class WatchedRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and optionally one of its global indexes."""

    IndexName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None = None


WATCHED_RULES = RequestRules(
    required=TABLE_NAME_FIRST.required,
    wordings={
        ("indexName", constraint): ConstraintWording(INDEX_NAME_LENGTH, is_bare=True)
        for constraint in ("min_length", "max_length")
    },
)
"""Rule: TableName comes first, and the length of IndexName has a message of its own."""


class DescribeContributorInsightsRequest(WatchedRequest, frozen=True, kw_only=True, gc=False):
    """The table or index to describe."""


async def describe_contributor_insights(scope: Scope, request: DescribeContributorInsightsRequest) -> Reply:
    """The status, and for what has ever been watched its mode, the time of the last change,
    and its rules unless it is switched off.
    """
    table = await watched_table(scope, request)
    watch = find_watch(scope.documents, table, request.IndexName)
    reply = insights_status(scope, table, request.IndexName, watch)
    if watch is not None:
        if watch.is_on:
            reply["ContributorInsightsRuleList"] = rule_names(table, watch)
        reply["LastUpdateDateTime"] = watch.changed_seconds
    return reply


async def watched_table(scope: Scope, request: WatchedRequest) -> Table:
    """The table. Raises ResourceNotFoundException for a missing table or global index,
    Malformed for an impossible table name.
    """
    table = await existing_table(scope, request.TableName)
    if request.IndexName is not None and not any(
        index.is_global and index.name == request.IndexName for index in table.indexes
    ):
        raise ResourceNotFoundException(say.INDEX_NOT_FOUND.format(name=table.name, index=request.IndexName))
    return table


async def existing_table(scope: Scope, name_or_arn: str) -> Table:
    """The table. Raises ResourceNotFoundException also while it is CREATING, Malformed for an impossible table name."""
    table = await described_table(scope, name_or_arn)
    if status(table, scope.clock.service_time()) == "CREATING":
        raise ResourceNotFoundException(TABLE_NOT_FOUND.format(name=table.name))
    return table


def insights_status(scope: Scope, table: Table, index_name: str | None, watch: Watch | None) -> Reply:
    """The members that the replies of all three operations share."""
    reply: Reply = {"TableName": table.name}
    if index_name is not None:
        reply["IndexName"] = index_name
    if watch is None:
        reply["ContributorInsightsStatus"] = "DISABLED"
        return reply
    reply["ContributorInsightsStatus"] = watch.status(scope.clock.service_time())
    reply["ContributorInsightsMode"] = watch.mode
    return reply


OPERATION = Operation(
    "DescribeContributorInsights",
    DescribeContributorInsightsRequest,
    describe_contributor_insights,
    JsonWire(rules=WATCHED_RULES),
    tables=by_table_name,
)
