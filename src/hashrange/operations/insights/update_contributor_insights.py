"""UpdateContributorInsights: switch monitoring of a table's or global index's most used keys on or off. Switching on is not supported yet.

Order of checks: names, member constraints → table exists → the table has the global index → the request is supported.
"""

from typing import Literal

from hashrange.errors import UnsupportedOperationException
from hashrange.messages import other_services as say
from hashrange.operations.insights.describe_contributor_insights import WatchedRequest, contributor_insights
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply


class UpdateContributorInsightsRequest(WatchedRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, optionally a global index, the action and its mode."""

    ContributorInsightsAction: Literal["ENABLE", "DISABLE"]
    ContributorInsightsMode: Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"] | None = None


async def update_contributor_insights(scope: Scope, request: UpdateContributorInsightsRequest) -> Reply:
    """Accept DISABLE, which changes nothing; raises UnsupportedOperationException for ENABLE.

    Raises ResourceNotFoundException for a missing table or global index, Malformed for an impossible table name.
    """
    reply = await contributor_insights(scope, request)
    if request.ContributorInsightsAction == "ENABLE":
        raise UnsupportedOperationException(say.OPERATION_NOT_SUPPORTED_YET.format(operation=OPERATION.name))
    return reply


OPERATION = Operation(
    name="UpdateContributorInsights",
    request=UpdateContributorInsightsRequest,
    run=update_contributor_insights,
    tables=by_table_name,
    writes=True,
    rules=TABLE_NAME_FIRST,
)
