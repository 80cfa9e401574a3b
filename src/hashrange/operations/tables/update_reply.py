"""How does UpdateTable describe the table that it has changed? What changes is UPDATING:
the table, or its index, encryption or warm throughput.

Some members are as they were, and ended maxima are -1.

Source: service behaviour, captures to October 2026.
"""

from typing import Any

import msgspec

from hashrange.items.steps import walk
from hashrange.operations.tables.members import OnDemandThroughput
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.operations.tables.throughput_checks import given_units
from hashrange.operations.tables.update_table_checks import makes_updating
from hashrange.tables.change_quotas import decreases_today
from hashrange.tables.description import StatisticsBySource, describe_encryption, table_description, warm_units
from hashrange.tables.schema import Index, Table, Throughput
from hashrange.tables.states import Status


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
