"""ListContributorInsights: list the tables and global indexes that are watched, with the status of each;
those that are DISABLED are left out.

Order of checks: member constraints, table name → NextToken → the table exists, if one is named.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.limits import LISTED_MAX
from hashrange.messages import other_services as say
from hashrange.operations.insights.describe_contributor_insights import existing_table, insights_status
from hashrange.operations.insights.watching import is_of, kept_watches
from hashrange.operations.lookup import table_name
from hashrange.operations.naming import GIVEN_TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import TableName as NameOrArn


class ListContributorInsightsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page token and page size."""

    TableName: NameOrArn | None = None
    NextToken: str | None = None
    MaxResults: Annotated[int, Meta(ge=-(2**31), le=LISTED_MAX, extra={"shape": "Integer"})] | None = None


async def list_contributor_insights(scope: Scope, request: ListContributorInsightsRequest) -> Reply:
    """Return a page of tables and indexes, in order of their names.

    Raises Malformed for an impossible table name, then ValidationException for a NextToken, then
    ResourceNotFoundException for a missing table.
    """
    name = None if request.TableName is None else table_name(request.TableName)
    after = _place(request.NextToken)
    if request.TableName is not None:
        await existing_table(scope, request.TableName)
    found = []
    for watch in kept_watches(scope.documents).by_path().values():
        table = scope.tables.get(watch.table_name)
        is_here = (watch.account, watch.region) == (scope.account, scope.region)
        if table is None or not is_here or name not in (None, watch.table_name):
            continue
        if is_of(watch, table.schema) and watch.status(scope.clock.service_time()) != "DISABLED":
            found.append(insights_status(scope, table.schema, watch.index_name, watch))
    size = request.MaxResults if request.MaxResults is not None and request.MaxResults > 0 else LISTED_MAX
    reply: Reply = {"ContributorInsightsSummaries": found[after : after + size]}
    if after + size < len(found):
        reply["NextToken"] = str(after + size)
    return reply


def _place(token: str | None) -> int:
    """Where the page begins. Raises ValidationException."""
    if token is None:
        return 0
    if not token.isdecimal() or len(token) > 9:
        raise ValidationException(say.NEXT_TOKEN_INVALID)
    return int(token)


OPERATION = Operation(
    "ListContributorInsights",
    ListContributorInsightsRequest,
    list_contributor_insights,
    JsonWire(rules=GIVEN_TABLE_NAME_FIRST),
    tables=by_table_name,
)
