"""ListContributorInsights: list the tables and indexes that were ever monitored. Always empty.

Order of checks: member constraints, table name → NextToken (none is valid) → the table exists, if one is named.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.limits import LISTED_MAX
from hashrange.operations.described_table import described_table
from hashrange.operations.empty_lists import refuse_token
from hashrange.operations.lookup import table_name
from hashrange.operations.naming import GIVEN_TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import TableName as NameOrArn


class ListContributorInsightsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page token and page size."""

    TableName: NameOrArn | None = None
    NextToken: str | None = None
    MaxResults: Annotated[int, Meta(ge=-(2**31), le=LISTED_MAX, extra={"shape": "Integer"})] | None = None


async def list_contributor_insights(scope: Scope, request: ListContributorInsightsRequest) -> Reply:
    """Return an empty list without a further page.

    Raises Malformed for an impossible table name, then ValidationException for a NextToken, then
    ResourceNotFoundException for a missing table.
    """
    if request.TableName is not None:
        table_name(request.TableName)
    refuse_token(request.NextToken)
    if request.TableName is not None:
        await described_table(scope, request.TableName)
    return {"ContributorInsightsSummaries": []}


OPERATION = Operation(
    name="ListContributorInsights",
    request=ListContributorInsightsRequest,
    run=list_contributor_insights,
    tables=by_table_name,
    rules=GIVEN_TABLE_NAME_FIRST,
)
