"""The operations that switch Contributor Insights: UpdateContributorInsights, DescribeContributorInsights,
ListContributorInsights.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hashrange.errors import RecordsChanged, ResourceNotFoundException, ValidationException
from hashrange.items.steps import spend
from hashrange.limits import LISTED_MAX
from hashrange.messages import other_services as say
from hashrange.messages.requests import INDEX_NAME_LENGTH
from hashrange.operations.insights import watching
from hashrange.operations.lookup import TableRequest, existing_table, table_name
from hashrange.operations.naming import GIVEN_TABLE_NAME_FIRST, TABLE_NAME_FIRST, table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.shapes import TableName as NameOrArn
from hashrange.tables.schema import Table
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


async def describe_contributor_insights(scope: Scope, request: WatchedRequest) -> Reply:
    """DescribeContributorInsights: return whether the most used keys of a table or global index are watched,
    in which mode, and by which rules.

    Order of checks: names → table exists, and is not CREATING → the table has the global index.
    Source: service behaviour, captures of October 2026.

    The status, and for what has ever been watched its mode, the time of the last change,
    and its rules unless it is switched off.
    """
    table = await watched_table(scope, request)
    watch = watching.find_watch(scope.documents, table, request.IndexName)
    reply = insights_status(scope, table, request.IndexName, watch)
    if watch is not None:
        if watch.is_on:
            reply["ContributorInsightsRuleList"] = [
                watching.rule_name(kind, watch) for kind in watching.rule_kinds(table, watch)
            ]
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


def insights_status(scope: Scope, table: Table, index_name: str | None, watch: watching.Watch | None) -> Reply:
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


class UpdateContributorInsightsRequest(WatchedRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, optionally a global index, the action and its mode."""

    ContributorInsightsAction: Literal["ENABLE", "DISABLE"]
    ContributorInsightsMode: watching.WatchMode | None = None


async def update_contributor_insights(scope: Scope, request: UpdateContributorInsightsRequest) -> Reply:
    """UpdateContributorInsights: switch watching of a table's or global index's most used keys on or off,
    or change its mode.

    Order of checks: names, member constraints → table exists → the table has the global index.
    What is so already is accepted, and changes nothing. ENABLE without a mode means ACCESSED_AND_THROTTLED_KEYS,
    also for what is watched in the other mode; DISABLE keeps the mode (unconfirmed).

    Switch, and return the status, which says ENABLING or DISABLING as long as states of tables last.

    Raises ResourceNotFoundException for a missing table or global index, Malformed for an impossible table name.
    """
    table = await watched_table(scope, request)
    now_seconds = scope.clock.service_time()
    before = watching.find_watch(scope.documents, table, request.IndexName)
    is_on = request.ContributorInsightsAction == "ENABLE"
    mode = request.ContributorInsightsMode or watching.USUAL_MODE
    was_on = before is not None and before.is_on
    if is_on == was_on and (not is_on or (before is not None and before.mode == mode)):
        scope.see_watches(table)  # the request that switched it may have failed before this
        return insights_status(scope, table, request.IndexName, before)
    watch = watching.Watch(
        table.account,
        table.region,
        table.name,
        table.table_id,
        request.IndexName,
        watching.index_id_of(table, request.IndexName) or 0,
        before.mode if before is not None and not is_on else mode,
        before.since_ms if before is not None and was_on else scope.begin_times.free_ms(now_seconds),
        changed_seconds=now_seconds,
        settled_seconds=now_seconds + scope.state_delay(table.name, "UpdateContributorInsights"),
        is_on=is_on,
    )
    await _keep_watch(scope, table, watch, before)
    reply = insights_status(scope, table, request.IndexName, watch)
    reply["ContributorInsightsStatus"] = "ENABLING" if is_on else "DISABLING"
    return reply


async def _keep_watch(scope: Scope, table: Table, watch: watching.Watch, before: watching.Watch | None) -> None:
    """Keep a watch of a table or its index, instead of `before`, and let it be followed. Raises StorageError, and
    RecordsChanged if it is no longer as it was `before`.
    """
    watches = watching.kept_watches(scope.documents)
    if watching.find_watch(scope.documents, table, watch.index_name) != before:
        raise RecordsChanged
    await watches.write(watches.updated(lambda _: watch, *watching.watch_path(watch)))
    scope.begin_times.change(None if before is None else before.since_ms, watch.since_ms)
    scope.see_watches(table)


class ListContributorInsightsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One table or all, page token and page size."""

    TableName: NameOrArn | None = None
    NextToken: str | None = None
    MaxResults: Annotated[int, Meta(ge=-(2**31), le=LISTED_MAX, extra={"shape": "Integer"})] | None = None


WATCH_STEPS = 6
"""Steps that the summary of a watch takes."""


async def list_contributor_insights(scope: Scope, request: ListContributorInsightsRequest) -> Reply:
    """ListContributorInsights: list the tables and global indexes that are watched, with the status of each;
    those that are DISABLED are left out.

    Order of checks: member constraints, table name → NextToken → the table exists, if one is named.

    Return a page of tables and indexes, in order of their names.

    Raises Malformed for an impossible table name, then ValidationException for a NextToken, then
    ResourceNotFoundException for a missing table.
    """
    name = None if request.TableName is None else table_name(request.TableName)
    after = _place(request.NextToken)
    if request.TableName is not None:
        await existing_table(scope, request.TableName)
    found = []
    for watch in list(watching.kept_watches(scope.documents).by_path().values()):
        spend(WATCH_STEPS)
        table = scope.tables.get(watch.table_name)
        is_here = (watch.account, watch.region) == (scope.account, scope.region)
        if table is None or not is_here or name not in (None, watch.table_name):
            continue
        if watching.is_of(watch, table.schema) and watch.status(scope.clock.service_time()) != "DISABLED":
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


OPERATIONS = (
    table_operation("DescribeContributorInsights", describe_contributor_insights, WATCHED_RULES),
    table_operation("UpdateContributorInsights", update_contributor_insights, WATCHED_RULES, writes=True),
    table_operation("ListContributorInsights", list_contributor_insights, GIVEN_TABLE_NAME_FIRST),
)
