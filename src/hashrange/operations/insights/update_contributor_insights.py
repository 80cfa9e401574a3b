"""UpdateContributorInsights: switch watching of a table's or global index's most used keys on or off,
or change its mode.

Order of checks: names, member constraints → table exists → the table has the global index.
What is so already is accepted, and changes nothing. ENABLE without a mode means ACCESSED_AND_THROTTLED_KEYS,
also for what is watched in the other mode; DISABLE keeps the mode (unconfirmed).
"""

from typing import Literal

from hashrange.aws_services.operation import Operation
from hashrange.operations.insights.describe_contributor_insights import (
    WATCHED_RULES,
    WatchedRequest,
    insights_status,
    watched_table,
)
from hashrange.operations.insights.watching import (
    USUAL_MODE,
    Watch,
    WatchMode,
    find_watch,
    index_id_of,
    keep_watch,
    kept_watches,
)
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import JsonWire, Scope
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
    mode = request.ContributorInsightsMode or USUAL_MODE
    was_on = before is not None and before.is_on
    if is_on == was_on and (not is_on or (before is not None and before.mode == mode)):
        scope.see_watches()  # the request that switched it may have failed before this
        return insights_status(scope, table, request.IndexName, before)
    watch = Watch(
        table.account,
        table.region,
        table.name,
        table.table_id,
        request.IndexName,
        index_id_of(table, request.IndexName) or 0,
        before.mode if before is not None and not is_on else mode,
        before.since_ms if before is not None and was_on else _free_ms(scope, now_seconds),
        changed_seconds=now_seconds,
        settled_seconds=now_seconds + scope.state_delay(table.name),
        is_on=is_on,
    )
    await keep_watch(scope, watch)
    reply = insights_status(scope, table, request.IndexName, watch)
    reply["ContributorInsightsStatus"] = "ENABLING" if is_on else "DISABLING"
    return reply


def _free_ms(scope: Scope, now_seconds: float) -> int:
    """Now, in milliseconds since 1970, or the next millisecond in which nothing began to be watched."""
    taken = {watch.since_ms for watch in kept_watches(scope.documents).by_path().values()}
    now_ms = int(now_seconds * 1000)
    while now_ms in taken:
        now_ms += 1
    return now_ms


OPERATION = Operation(
    "UpdateContributorInsights",
    UpdateContributorInsightsRequest,
    update_contributor_insights,
    JsonWire(rules=WATCHED_RULES),
    tables=by_table_name,
    writes=True,
)
