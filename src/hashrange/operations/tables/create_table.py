"""CreateTable: create a table.

Order of checks: member constraints (slow path) → TableName is a name or a table's ARN → checks of the request alone
(`create_table_checks`) → the resource policy → unimplemented members → the name is free → the account's quota of
tables → its other quotas (`account_quotas`). The reply says CREATING; the table is ACTIVE after the configured delay;
with a delay of zero, the next call already finds it ACTIVE.
"""

from typing import Any

import msgspec

from hashrange import limits
from hashrange.errors import LimitExceededException, ResourceInUseException, ValidationException
from hashrange.messages import tables as say
from hashrange.messages.requests import TABLE_NAME_REQUIRED
from hashrange.operations.lookup import find_table, purge_gone_tables, require_own_arn, table_name
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.policies.document import read_document, stored_form
from hashrange.operations.policies.resource_policies import next_revision
from hashrange.operations.reply import Reply
from hashrange.operations.streams.stream import with_free_label
from hashrange.operations.tables.account_quotas import check_capacity, check_changes
from hashrange.operations.tables.create_table_checks import check_creation, refuse_unimplemented_members
from hashrange.operations.tables.created_table import make_table
from hashrange.operations.tables.requests import TABLE_CLASS, CreateTableRequest
from hashrange.tables.description import described_sources, table_description
from hashrange.tables.schema import ResourcePolicy, Table
from hashrange.wire.rules import RequestRules, RequiredMember

LATER_MEMBERS = ("GlobalTableSourceArn", "GlobalTableSettingsReplicationMode")
"""Members that are refused, in this order."""


async def create_table(scope: Scope, request: CreateTableRequest) -> Reply:
    """Store the table and describe it as CREATING."""
    name = table_name(request.TableName)
    if name == request.TableName and name.startswith("arn:"):
        raise ValidationException(say.ARN_NOT_TABLE.format(arn=name))
    if name != request.TableName and not scope.settings.shared_db:
        require_own_arn(scope, request.TableName, "CreateTable")
    check_creation(request)
    document = None
    if request.ResourcePolicy is not None:
        document = stored_form(read_document(request.ResourcePolicy, "table"))
    refuse_unimplemented_members(request, *LATER_MEMBERS)
    await purge_gone_tables(scope)
    if name in scope.tables:
        raise ResourceInUseException(say.TABLE_EXISTS.format(name=name))
    if len(scope.tables) >= limits.TABLES_MAX:
        raise LimitExceededException(say.TOO_MANY_TABLES.format(limit=limits.TABLES_MAX))
    now_seconds = scope.clock.service_time()
    active_at_seconds = now_seconds + scope.state_delay(name, "CreateTable")

    planned = make_table(request, name, 0, scope.account, scope.region, now_seconds, active_at_seconds)
    check_changes(scope, planned)
    check_capacity(scope, None, planned)

    def make(table_id: int) -> Table:
        table = make_table(request, name, table_id, scope.account, scope.region, now_seconds, active_at_seconds)
        table = with_free_label(scope, table, now_seconds)
        if document is None:
            return table
        return msgspec.structs.replace(table, policy=ResourcePolicy(document, next_revision(None, now_seconds)))

    while (opened := await scope.store.catalog.create(make)) is None:
        if await find_table(scope, name) is not None:  # one that is gone by now has been removed
            raise ResourceInUseException(say.TABLE_EXISTS.format(name=name))
    table = opened.schema
    statistics = await scope.store.statistics(described_sources(table))
    description = table_description(table, now_seconds, statistics, "CREATING")
    _show_warm(description, request)
    return {"TableDescription": description}


def _show_warm(description: dict[str, Any], request: CreateTableRequest) -> None:
    """Show warm throughput that is requested as UPDATING, which it is in the reply only,
    and none that is not requested.
    """
    if request.WarmThroughput is None:
        del description["WarmThroughput"]
    else:
        description["WarmThroughput"]["Status"] = "UPDATING"
    asked = {index.IndexName for index in request.GlobalSecondaryIndexes or () if index.WarmThroughput is not None}
    for index in description.get("GlobalSecondaryIndexes", ()):
        if index["IndexName"] in asked:
            index["WarmThroughput"]["Status"] = "UPDATING"


_RULES = RequestRules(
    required=RequiredMember("TableName", TABLE_NAME_REQUIRED, collects_short_names=True), wordings=TABLE_CLASS
)
OPERATION = table_operation("CreateTable", create_table, _RULES, writes=True)
