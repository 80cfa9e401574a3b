"""May a table be changed while it is UPDATING for another change?
Few changes may be, and the error of the others names the one that runs.

A switch back to on-demand while a switch to provisioned runs is accepted and dropped:
the reply says that it takes place, and it does not. So is a BillingMode or TableClass that the table has. Source:
service behaviour, captures of October 2026; where it is not known, the error only says that the table is being updated.
"""

from hashrange.errors import ResourceInUseException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.lookup import require_active
from hashrange.operations.tables.index_members import GlobalSecondaryIndexUpdate
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.operations.tables.throughput_checks import refuse_maximum
from hashrange.operations.tables.update_table_checks import asked_changes, changes_of_indexes
from hashrange.tables.schema import Index, RunningChange, Table
from hashrange.tables.states import status

BESIDE_OTHERS = {"DeletionProtectionEnabled", "SSESpecification", "WarmThroughput"}
"""Members whose changes run beside those that a table is UPDATING for. Beside the creation or deletion of an index,
other indexes may be updated too, but not warm throughput, for which the service has a 500."""


def running_change(request: UpdateTableRequest, table: Table) -> RunningChange:
    """What the table is UPDATING for because of this request."""
    if request.BillingMode is not None and request.BillingMode != table.billing_mode:
        return "mode"
    if request.ProvisionedThroughput is not None:
        return "units"
    if request.TableClass is not None:
        return "class"
    return "index" if request.StreamSpecification is None else "stream"


def is_dropped(request: UpdateTableRequest, table: Table, now_seconds: float) -> bool:
    """True for a switch to on-demand alone, while one to provisioned runs, or while an index of an on-demand
    table is created or deleted.
    """
    return (
        status(table, now_seconds) == "UPDATING"
        and (table.updating_for, table.billing_mode) in (("mode", "PROVISIONED"), ("index", "PAY_PER_REQUEST"))
        and asked_changes(request) == {"BillingMode"}
        and request.BillingMode == "PAY_PER_REQUEST"
    )


def is_resent(request: UpdateTableRequest, table: Table) -> bool:
    """True if the request asks for nothing but the billing mode, or the class, that the table has."""
    asked = asked_changes(request)
    return (asked == {"BillingMode"} and request.BillingMode == table.billing_mode) or (
        asked == {"TableClass"} and request.TableClass == table.table_class
    )


def require_changeable(request: UpdateTableRequest, table: Table, now_seconds: float) -> None:
    """Raise ResourceInUseException unless the table is ACTIVE, or UPDATING for something that
    the request may run beside.

    Raises ValidationException instead for an on-demand maximum while the table is not yet on demand.
    """
    is_updating = status(table, now_seconds) == "UPDATING"
    if not is_updating:
        require_active(table, now_seconds)
    indexes = {index.name: index for index in table.indexes}
    for update in walk(request.GlobalSecondaryIndexUpdates or []):
        action = update.Update or update.Delete or update.Create
        index = None if action is None else indexes.get(action.IndexName)
        if index is not None:
            _require_changeable_index(update, table, index, now_seconds, is_updating=is_updating)
    asked = asked_changes(request)
    beside = BESIDE_OTHERS
    if table.updating_for == "index":
        beside = (BESIDE_OTHERS - {"WarmThroughput"}) | {"GlobalSecondaryIndexUpdates", "VectorIndexUpdates"}
    if not is_updating or asked <= beside:
        return
    text = _refusal(request, asked, table)
    raise ResourceInUseException(text or say.TABLE_IN_USE.format(doing="updated", name=table.name))


def _require_changeable_index(
    update: GlobalSecondaryIndexUpdate, table: Table, index: Index, now_seconds: float, *, is_updating: bool
) -> None:
    """Raise ResourceInUseException for an index that is DELETING, has its capacity UPDATING,
    or is CREATING before its entries are made.
    """
    given = update.Update
    text = None
    if index.state == "DELETING":
        text = say.INDEX_BEING_DELETED
    elif index.state == "CREATING" and is_updating:
        text = say.INDEX_NOT_BACKFILLING if given is not None else say.INDEX_ALLOCATING
    elif (
        given is not None
        and (given.ProvisionedThroughput is not None or given.OnDemandThroughput is not None)
        and index.updating_until_seconds > now_seconds
    ):
        text = say.INDEX_BEING_UPDATED
    if text is not None:
        raise ResourceInUseException(text.format(name=table.name, index=index.name))


def _refusal(request: UpdateTableRequest, asked: set[str], table: Table) -> str | None:
    """Why the request has to wait for the running change, in the service's words; None if they are not known."""
    indexes = [(index.name, index.state) for index in table.indexes]
    indexes += [(index.name, index.state) for index in table.vector_indexes]
    changing = [name for name, state in indexes if state != "ACTIVE"]
    is_deletion = any(state == "DELETING" for _, state in indexes)
    doing, change = ("deleted", "deletion") if is_deletion else ("created", "creation")
    words = {
        "name": table.name,
        "table_class": table.table_class,
        "running_class": say.RUNNING_CLASS.format(name=table.name, table_class=table.table_class),
        "stream": say.RUNNING_STREAM.format(
            name=table.name, label=table.stream_label, operation="ENABLE" if table.stream_view_type else "DISABLE"
        ),
        "indexes": ", ".join(changing),
        "doing": doing,
        "change": change,
    }
    text = _refusals(request, asked, table).get(table.updating_for or "")
    return None if text is None else text.format(**words)


def _refusals(request: UpdateTableRequest, asked: set[str], table: Table) -> dict[str, str]:
    """What runs → the message for this request; what is not known is left out.
    Raises ValidationException as `require_changeable` does.
    """
    if asked & {"ProvisionedThroughput", "BillingMode"}:
        units = say.UNITS_BEING_UPDATED
        return {
            **dict.fromkeys(("units", "mode", "class", ""), units),
            "stream": say.UNITS_DURING_STREAM,
            "index": say.UNITS_DURING_INDEX,
        }
    if "OnDemandThroughput" in asked:
        is_switching, has_units = table.updating_for == "mode", table.billing_mode == "PROVISIONED"
        if is_switching != has_units:  # the former mode holds until a switch has ended
            refuse_maximum(request.OnDemandThroughput, say.ON_DEMAND_MAXIMUM_PROVISIONED_UPDATE)
        return {
            "mode": say.MAXIMUM_DURING_MODE,
            "class": say.MAXIMUM_DURING_CLASS,
            "index": say.MAXIMUM_DURING_INDEX,
        }
    if "StreamSpecification" in asked:
        return {
            **dict.fromkeys(("units", "mode"), say.STREAM_DURING_UNITS),
            "class": say.STREAM_DURING_CLASS,
            "stream": say.STREAM_DURING_STREAM,
            "index": say.STREAM_DURING_INDEX,
        }
    if "TableClass" in asked:
        return {"class": say.CLASS_DURING_CLASS, "stream": say.CLASS_DURING_STREAM}
    if changes_of_indexes(request):
        return {
            **dict.fromkeys(("units", "mode"), say.INDEX_DURING_UNITS),
            "class": say.INDEX_DURING_CLASS,
            "stream": say.INDEX_DURING_STREAM,
        }
    return {}
