"""UpdateContributorInsights: switch watching of a table's or global index's most used keys on or off, or change its mode.

Order of checks: names, member constraints → table exists → the table has the global index. What is so already is accepted, and changes nothing.
"""

from typing import Literal

import msgspec

from hashrange.operations.insights.describe_contributor_insights import (
    WatchedRequest,
    insights_status,
    watched_table,
)
from hashrange.operations.insights.watching import USUAL_MODE, Watch, WatchMode, find_watch, keep_watch
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply


class UpdateContributorInsightsRequest(WatchedRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, optionally a global index, the action and its mode."""

    ContributorInsightsAction: Literal["ENABLE", "DISABLE"]
    ContributorInsightsMode: WatchMode | None = None


async def update_contributor_insights(scope: Scope, request: UpdateContributorInsightsRequest) -> Reply:
    """Switch, and return the status, which says ENABLING or DISABLING as long as states of tables last.

    Raises ResourceNotFoundException for a missing table or global index, Malformed for an impossible table name.
    """
    table = await watched_table(scope, request)
    now_seconds = scope.clock.service_time()
    before = find_watch(scope.documents, table, request.IndexName)
    is_on = request.ContributorInsightsAction == "ENABLE"
    mode = request.ContributorInsightsMode or (USUAL_MODE if before is None else before.mode)
    was_on = before is not None and before.is_on
    if is_on == was_on and (not is_on or (before is not None and before.mode == mode)):
        return insights_status(scope, table, request.IndexName, before)
    settled_seconds = now_seconds + scope.state_delay(table.name)
    if before is None:
        before = Watch(
            table.account,
            table.region,
            table.name,
            table.table_id,
            request.IndexName,
            mode,
            now_seconds,
            now_seconds,
            settled_seconds,
        )
    watch = msgspec.structs.replace(
        before,
        mode=mode,
        since_seconds=before.since_seconds if was_on else now_seconds,
        changed_seconds=now_seconds,
        settled_seconds=settled_seconds,
        is_on=is_on,
    )
    await keep_watch(scope, table, watch)
    reply = insights_status(scope, table, request.IndexName, watch)
    reply["ContributorInsightsStatus"] = "ENABLING" if is_on else "DISABLING"
    return reply


OPERATION = Operation(
    name="UpdateContributorInsights",
    request=UpdateContributorInsightsRequest,
    run=update_contributor_insights,
    tables=by_table_name,
    writes=True,
    rules=TABLE_NAME_FIRST,
)
