"""UpdateTable: change a table's billing mode, throughput, indexes, stream, encryption, class and protection.

Order of checks: name → a change is requested → checks of the request alone (`update_table_checks`) → the table exists →
it may change now (`running_changes`) → checks against the table (`update_table_checks`, then `updated_table` for
decreases of throughput, switches to on-demand and changes of class, encryption and protection) → the account's quotas
(`account_quotas`) → unimplemented members. The reply says what is UPDATING: the table, or its index, encryption or warm
throughput; some members are as they were, and ended maxima are -1.

A created index is CREATING, and a job makes its entries. Without a state delay this request makes the first entries, so
that a small table's index is ACTIVE in the next call.
"""

from typing import Any

import msgspec

from hashrange.errors import ResourceNotFoundException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.lookup import find_whole_table, table_name
from hashrange.operations.naming import TABLE_NAME_FIRST, table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streams.stream import with_free_label
from hashrange.operations.tables.account_quotas import check_capacity, check_changes
from hashrange.operations.tables.create_table_checks import refuse_unimplemented_members
from hashrange.operations.tables.members import OnDemandThroughput
from hashrange.operations.tables.requests import TABLE_CLASS, UpdateTableRequest
from hashrange.operations.tables.running_changes import is_dropped, require_changeable
from hashrange.operations.tables.throughput_checks import given_units
from hashrange.operations.tables.update_table_checks import check_against_table, check_table_update, makes_updating
from hashrange.operations.tables.updated_table import updated_table
from hashrange.operations.tables.vector_update_checks import created_vector_indexes
from hashrange.tables.change_quotas import decreases_today
from hashrange.tables.description import (
    StatisticsBySource,
    describe_encryption,
    described_sources,
    table_description,
    warm_units,
)
from hashrange.tables.schema import Index, Table, Throughput
from hashrange.tables.source_id import make_source_id
from hashrange.tables.states import Status, may_backfill, without_gone_indexes
from hashrange.wire.rules import RequestRules

FIRST_BACKFILL_ROWS = 256
"""Maximum rows for which the request itself makes entries of a new index; about 2 ms."""
ALLOCATION_SHARE = 0.2
"""Part of `vector_index_delay_seconds` for which a table is UPDATING when a vector index is added to it."""
LATER_MEMBERS = (
    "ReplicaUpdates",
    "MultiRegionConsistency",
    "GlobalTableWitnessUpdates",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
)
"""Members that are refused, in this order."""


async def update_table(scope: Scope, request: UpdateTableRequest) -> Reply:
    """Store the changed table and describe it."""
    name = table_name(request.TableName)
    check_table_update(request)
    while True:
        table = await find_whole_table(scope, request.TableName)
        if table is None:
            raise ResourceNotFoundException(say.TABLE_NOT_FOUND.format(name=name))
        now_seconds = scope.clock.service_time()
        if is_dropped(request, table, now_seconds):
            dropped_statistics = await scope.store.statistics(described_sources(table))
            return {"TableDescription": described_drop(table, now_seconds, dropped_statistics)}
        require_changeable(request, table, now_seconds)
        check_against_table(request, table, now_seconds)
        until_seconds = now_seconds + scope.state_delay(table.name, "UpdateTable")
        vector_seconds = scope.settings.vector_index_delay_seconds if created_vector_indexes(request) else 0.0
        until_seconds = max(until_seconds, now_seconds + vector_seconds * ALLOCATION_SHARE)
        new = updated_table(request, table, now_seconds, until_seconds, now_seconds + vector_seconds)
        check_changes(scope)
        check_capacity(scope, table, new)
        if request.StreamSpecification is not None:
            new = with_free_label(scope, new, now_seconds)
        refuse_unimplemented_members(request, *LATER_MEMBERS)
        statistics = await scope.store.statistics(described_sources(new))
        description = described_update(request, table, new, now_seconds, statistics)
        stored = without_gone_indexes(new, now_seconds)
        if await scope.store.catalog.replace(table, stored):
            if table.next_index_id < stored.next_index_id and may_backfill(stored, now_seconds):
                source_id, maintenance = make_source_id(stored.table_id, table.next_index_id), scope.maintenance
                await maintenance.backfill(source_id, FIRST_BACKFILL_ROWS)
            return {"TableDescription": description}


# --- the reply ------------------------------------------------------------------------------------


def described_update(
    request: UpdateTableRequest, old: Table, new: Table, now_seconds: float, statistics: StatisticsBySource
) -> dict[str, Any]:
    """TableDescription of the reply to `request`, which has made `new` of `old`."""
    shown = _with_former_units(new, old, now_seconds)
    shown_status: Status | None = "UPDATING" if makes_updating(request) else None
    if request.SSESpecification is not None:
        shown_status = "ACTIVE"  # whatever else the table is UPDATING for
    description = table_description(shown, now_seconds, statistics, shown_status)
    _show_updating_parts(description, request, old, new)
    if new.switched_to_on_demand_at_seconds != old.switched_to_on_demand_at_seconds:
        description["BillingModeSummary"].pop("LastUpdateToPayPerRequestDateTime", None)
    _show_ended_maxima(description, request)
    return description


def described_drop(table: Table, now_seconds: float, statistics: StatisticsBySource) -> dict[str, Any]:
    """TableDescription of the reply to a switch to on-demand that is dropped (`running_changes`):
    as if it took place.
    """
    indexes = tuple(msgspec.structs.replace(index, throughput=None) for index in table.indexes)
    switched = msgspec.structs.replace(
        table, billing_mode="PAY_PER_REQUEST", throughput=Throughput(0, 0), indexes=indexes
    )
    return table_description(switched, now_seconds, statistics, "UPDATING")


def _show_updating_parts(description: dict[str, Any], request: UpdateTableRequest, old: Table, new: Table) -> None:
    """Show encryption, warm throughput and indexes that the request changes as UPDATING."""
    if request.SSESpecification is not None:
        description["SSEDescription"] = describe_encryption(new if old.sse_type is None else old, "UPDATING")
    if warm_units(new) != warm_units(old):
        description["WarmThroughput"]["Status"] = "UPDATING"
    former = {index.name: index for index in old.indexes}
    raised = {
        index.name
        for index in new.indexes
        if index.is_global and index.name in former and warm_units(new, index) != warm_units(old, former[index.name])
    }
    changed = {
        update.Update.IndexName
        for update in request.GlobalSecondaryIndexUpdates or ()
        if update.Update is not None and (update.Update.ProvisionedThroughput or update.Update.OnDemandThroughput)
    }
    for shown in description.get("GlobalSecondaryIndexes", ()):
        if shown["IndexName"] in changed:
            shown["IndexStatus"] = "UPDATING"
        if shown["IndexName"] in raised:
            shown["WarmThroughput"]["Status"] = "UPDATING"


def _with_former_units(new: Table, old: Table, now_seconds: float) -> Table:
    """`new` with the provisioned units, the warm throughput and the decreases of today that `old` has.

    With another billing mode, the units of `new` stay. Indexes that `old` lacks stay as they are.
    """
    former = {index.name: index for index in old.indexes}
    is_switched = new.billing_mode != old.billing_mode

    def changes(subject: Table | Index) -> dict[str, Any]:
        warm = warm_units(old, subject if isinstance(subject, Index) else None, now_seconds)
        shown: dict[str, Any] = {
            "warm_read_units": warm.read_units,
            "warm_write_units": warm.write_units,
            "decreases_today": decreases_today(subject, now_seconds),
        }
        return shown if is_switched else shown | {"throughput": subject.throughput}

    indexes = tuple(
        msgspec.structs.replace(index, **changes(former[index.name])) if index.name in former else index
        for index in new.indexes
    )
    return msgspec.structs.replace(new, indexes=indexes, **changes(old))


def _show_ended_maxima(description: dict[str, Any], request: UpdateTableRequest) -> None:
    """Show each on-demand maximum that the request has ended as -1; only the reply does so."""
    ended = _ended_maxima(request.OnDemandThroughput)
    if ended:
        description["OnDemandThroughput"] = description.get("OnDemandThroughput", {}) | ended
    for update in walk(request.GlobalSecondaryIndexUpdates or ()):
        ended = {} if update.Update is None else _ended_maxima(update.Update.OnDemandThroughput)
        for index in description.get("GlobalSecondaryIndexes", ()) if ended else ():
            if update.Update is not None and index["IndexName"] == update.Update.IndexName:
                index["OnDemandThroughput"] = index.get("OnDemandThroughput", {}) | ended


def _ended_maxima(given: OnDemandThroughput | None) -> dict[str, int]:
    return {member: units for member, units in given_units(given) if units == -1}


_RULES = RequestRules(required=TABLE_NAME_FIRST.required, wordings=TABLE_CLASS)
OPERATION = table_operation("UpdateTable", update_table, _RULES, writes=True)
