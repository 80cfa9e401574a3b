"""UpdateTable: change a table's billing mode, throughput, indexes, stream, encryption, class and protection.

Order of checks: name → a change is requested → checks of the request alone (`update_table_checks`) → the table exists →
it may change now (`running_changes`) → checks against the table (`update_table_checks`, then `updated_table` for
decreases of throughput, switches to on-demand and changes of class, encryption and protection) → the account's quotas
(`account_quotas`) → unimplemented members. The reply says what is UPDATING (`update_reply`).

A created index is CREATING, and a job makes its entries. Without a state delay this request makes the first entries, so
that a small table's index is ACTIVE in the next call.
"""

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException
from hashrange.messages import tables as say
from hashrange.operations.lookup import find_table, table_name
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streams.stream import with_free_label
from hashrange.operations.tables.account_quotas import check_capacity, check_changes
from hashrange.operations.tables.create_table_checks import refuse_unimplemented_members
from hashrange.operations.tables.requests import TABLE_CLASS, UpdateTableRequest
from hashrange.operations.tables.running_changes import is_dropped, require_changeable
from hashrange.operations.tables.update_reply import described_drop, described_update
from hashrange.operations.tables.update_table_checks import check_against_table, check_table_update
from hashrange.operations.tables.updated_table import created_index, updated_table
from hashrange.tables.description import described_sources
from hashrange.tables.source_id import make_source_id
from hashrange.tables.states import may_backfill, without_gone_indexes
from hashrange.wire.rules import RequestRules

FIRST_BACKFILL_ROWS = 256
"""Maximum rows for which the request itself makes entries of a new index; about 2 ms."""
_LATER_MEMBERS = (
    "ReplicaUpdates",
    "MultiRegionConsistency",
    "GlobalTableWitnessUpdates",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
    "VectorIndexUpdates",
)
"""Members that are refused, in this order."""


async def update_table(scope: Scope, request: UpdateTableRequest) -> Reply:
    """Store the changed table and describe it."""
    name = table_name(request.TableName)
    check_table_update(request)
    while True:
        table = await find_table(scope, request.TableName)
        if table is None:
            raise ResourceNotFoundException(say.TABLE_NOT_FOUND.format(name=name))
        now_seconds = scope.clock.service_time()
        if is_dropped(request, table, now_seconds):
            dropped_statistics = await scope.store.statistics(described_sources(table))
            return {"TableDescription": described_drop(table, now_seconds, dropped_statistics)}
        require_changeable(request, table, now_seconds)
        check_against_table(request, table, now_seconds)
        until_seconds = now_seconds + scope.state_delay(table.name)
        new = updated_table(request, table, now_seconds, until_seconds)
        check_changes(scope)
        check_capacity(scope, table, new)
        if request.StreamSpecification is not None:
            new = with_free_label(scope, new, now_seconds)
        refuse_unimplemented_members(request, *_LATER_MEMBERS)
        statistics = await scope.store.statistics(described_sources(new))
        description = described_update(request, table, new, now_seconds, statistics)
        stored = without_gone_indexes(new, now_seconds)
        if await scope.store.catalog.replace(table, stored):
            created = created_index(request, stored)
            if created is not None and may_backfill(stored, now_seconds):
                await _backfill_first(scope, make_source_id(stored.table_id, created.index_id))
            return {"TableDescription": description}


async def _backfill_first(scope: Scope, source_id: bytes) -> None:
    """Make the first entries of the index `source_id`, as a slice of the index backfill job would."""
    maintenance = scope.maintenance
    await maintenance.backfill(source_id, maintenance.lease(), FIRST_BACKFILL_ROWS)


OPERATION = Operation(
    "UpdateTable",
    UpdateTableRequest,
    update_table,
    JsonWire(rules=RequestRules(required=TABLE_NAME_FIRST.required, wordings=TABLE_CLASS)),
    tables=by_table_name,
    writes=True,
)
