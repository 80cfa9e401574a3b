"""DescribeContributorInsights: return whether the most used keys of a table or global index are monitored; always DISABLED.

Order of checks: names → table exists → the table has the global index.
"""

from typing import Annotated

from msgspec import Meta

from hashrange.errors import ResourceNotFoundException
from hashrange.messages import other_services as say
from hashrange.operations.described_table import TableRequest, described_table
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN


class WatchedRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and optionally one of its global indexes."""

    IndexName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None = None


class DescribeContributorInsightsRequest(WatchedRequest, frozen=True, kw_only=True, gc=False):
    """The table or index to describe."""


async def describe_contributor_insights(scope: Scope, request: DescribeContributorInsightsRequest) -> Reply:
    """The status of monitoring, which is the same for every table and index."""
    return await contributor_insights(scope, request)


async def contributor_insights(scope: Scope, request: WatchedRequest) -> Reply:
    """The reply: monitoring is DISABLED, without rules, mode or time, as it was never enabled.

    Raises ResourceNotFoundException for a missing table or global index, Malformed for an impossible table name.
    """
    table = await described_table(scope, request.TableName)
    reply: Reply = {"TableName": table.name}
    if request.IndexName is not None:
        if not any(index.is_global and index.name == request.IndexName for index in table.indexes):
            raise ResourceNotFoundException(say.INDEX_NOT_FOUND.format(name=table.name, index=request.IndexName))
        reply["IndexName"] = request.IndexName
    reply["ContributorInsightsStatus"] = "DISABLED"
    return reply


OPERATION = Operation(
    name="DescribeContributorInsights",
    request=DescribeContributorInsightsRequest,
    run=describe_contributor_insights,
    tables=by_table_name,
    rules=TABLE_NAME_FIRST,
)
