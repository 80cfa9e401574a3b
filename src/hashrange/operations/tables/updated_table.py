"""What is a table like after an UpdateTable, and does the change come too soon after earlier ones?

Refuses only requests that come too soon after earlier changes: too many decreases of throughput, switches to on-demand,
or changes of class, encryption or protection; and encryption that the table already has. Source: service behaviour,
captures to October 2026; developer guide, throughput rules of 2026.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange import limits
from hashrange.errors import LimitExceededException, ThrottlingException, ValidationException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.tables.created_table import asked_units, encryption, global_index, throughput, vector_index
from hashrange.operations.tables.index_members import UpdateGlobalSecondaryIndexAction
from hashrange.operations.tables.members import ProvisionedThroughput, SSESpecification, TableClass, WarmThroughput
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.operations.tables.running_changes import is_resent, running_change
from hashrange.operations.tables.update_table_checks import makes_updating
from hashrange.tables import change_quotas
from hashrange.tables.description import stream_label, warm_units
from hashrange.tables.schema import Index, IndexT, KeyType, Table, Throughput

_UNITS_MEMBERS = ("throughput", "former_throughput")
_MAXIMUM_MEMBERS = ("on_demand_max_read_units", "on_demand_max_write_units")


def updated_table(
    request: UpdateTableRequest,
    table: Table,
    now_seconds: float,
    until_seconds: float,
    creating_until_seconds: float = 0.0,
) -> Table:
    """The new table. It, its index, encryption or warm throughput is UPDATING until `until_seconds`. A vector index
    that is created is CREATING at least until `creating_until_seconds`.

    Raises LimitExceededException for too many decreases of throughput, switches to on-demand, or changes of class
    or encryption; ThrottlingException for changes of protection that follow one another too fast;
    ValidationException for encryption that it has.
    """
    changes: dict[str, Any] = {}
    if makes_updating(request) and not is_resent(request, table):
        changes = {
            "updating_until_seconds": until_seconds,
            "updating_for": running_change(request, table),
            "former_throughput": None,
        }
    changes["indexes"] = _indexes(request, table, now_seconds, until_seconds)
    changes |= index_changes(request, table, changes["indexes"], until_seconds)
    changes |= vector_changes(request, table, until_seconds, creating_until_seconds)
    if request.BillingMode is not None and request.BillingMode != table.billing_mode:
        changes |= _mode_changes(request, table, now_seconds, until_seconds)
        is_on_demand = request.BillingMode == "PAY_PER_REQUEST"
        ended = dict.fromkeys(_UNITS_MEMBERS if is_on_demand else _MAXIMUM_MEMBERS)
        changes["indexes"] = tuple(msgspec.structs.replace(index, **ended) for index in changes["indexes"])
    elif request.ProvisionedThroughput is not None:
        changes |= throughput_changes(table, request.ProvisionedThroughput, now_seconds)
    changes |= _setting_changes(request, table, now_seconds, until_seconds)
    return _kept_warm(table, msgspec.structs.replace(table, **changes), now_seconds)


def _kept_warm(old: Table, new: Table, now_seconds: float) -> Table:
    """`new` with at least the warm throughput that `old` has now, for table and indexes:
    warm throughput never falls.
    """
    before = {index.name: warm_units(old, index, now_seconds) for index in old.indexes}
    indexes = tuple(
        msgspec.structs.replace(index, **_warm_changes(before[index.name], warm_units(new, index)))
        if index.is_global and index.name in before
        else index
        for index in new.indexes
    )
    own = _warm_changes(warm_units(old, None, now_seconds), warm_units(new))
    return msgspec.structs.replace(new, indexes=indexes, **own)


def _warm_changes(before: Throughput, after: Throughput) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if after.read_units < before.read_units:
        changes["warm_read_units"] = before.read_units
    if after.write_units < before.write_units:
        changes["warm_write_units"] = before.write_units
    return changes


def throughput_changes(subject: Table | Index, given: ProvisionedThroughput, now_seconds: float) -> dict[str, Any]:
    """Field → new value, for the fields of a table or index that change with its provisioned throughput.

    Raises LimitExceededException for a decrease after too many earlier decreases.
    """
    old = subject.throughput or Throughput(0, 0)
    new = Throughput(given.ReadCapacityUnits, given.WriteCapacityUnits)
    changes: dict[str, Any] = {"throughput": new, "former_throughput": old}
    if new.read_units > old.read_units or new.write_units > old.write_units:
        changes["throughput_increased_at_seconds"] = now_seconds
    if new.read_units < old.read_units or new.write_units < old.write_units:
        count = change_quotas.decreases_today(subject, now_seconds)
        next_at_seconds = change_quotas.next_decrease_at_seconds(subject, now_seconds)
        if next_at_seconds > now_seconds:
            raise LimitExceededException(
                say.TOO_MANY_DECREASES.format(
                    limit=limits.DECREASES_AT_ONCE_MAX,
                    count=count,
                    last=_long_time(subject.throughput_decreased_at_seconds or now_seconds),
                    next=_long_time(next_at_seconds),
                )
            )
        changes["throughput_decreased_at_seconds"] = now_seconds
        changes["decreases_today"] = count + 1
    return changes


def _long_time(at_seconds: float) -> str:
    """A time as the service writes it: `Thursday, October 8, 2026 at 11:20:48 PM Coordinated Universal Time`."""
    at = datetime.fromtimestamp(at_seconds, UTC)
    return f"{at:%A, %B} {at.day}, {at.year} at {at.hour % 12 or 12}:{at:%M:%S %p} Coordinated Universal Time"


def _short_time(at_seconds: float) -> str:
    """A time as the service writes it: `Sat Feb 23 03:07:45 UTC 2019`."""
    return f"{datetime.fromtimestamp(at_seconds, UTC):%a %b %d %H:%M:%S UTC %Y}"


def _mode_changes(
    request: UpdateTableRequest, table: Table, now_seconds: float, until_seconds: float
) -> dict[str, Any]:
    """Field → value of each table field, except `indexes`, that changes with the billing mode.

    Raises LimitExceededException for a switch to on-demand after too many earlier ones.
    """
    if request.BillingMode == "PROVISIONED":
        return {
            "billing_mode": "PROVISIONED",
            "throughput": throughput(request.ProvisionedThroughput),
            **dict.fromkeys(_MAXIMUM_MEMBERS),
        }
    recent = change_quotas.recent_switches(table, now_seconds)
    next_at_seconds = change_quotas.next_switch_at_seconds(recent, now_seconds)
    if next_at_seconds > now_seconds:
        raise LimitExceededException(
            say.TOO_MANY_SWITCHES.format(
                limit=limits.SWITCHES_TO_ON_DEMAND_MAX,
                last=_short_time(recent[-1]),
                next=_short_time(next_at_seconds),
            )
        )
    return {
        "billing_mode": "PAY_PER_REQUEST",
        "throughput": Throughput(0, 0),
        "former_throughput": table.throughput,
        "switched_to_on_demand_at_seconds": until_seconds,
        "switches_to_on_demand_seconds": (*recent, now_seconds),
    }


def _setting_changes(
    request: UpdateTableRequest, table: Table, now_seconds: float, until_seconds: float
) -> dict[str, Any]:
    """Field → value of each table field of on-demand maximum, warm throughput, class, protection, encryption and stream
    that the request sets. Raises what `updated_table` raises for class, protection and encryption.
    """
    changes: dict[str, Any] = {}
    if request.OnDemandThroughput is not None and (request.BillingMode or table.billing_mode) == "PAY_PER_REQUEST":
        changes = asked_units(request.OnDemandThroughput)
    changes |= _warm_settings(request.WarmThroughput, warm_units(table, None, now_seconds), until_seconds)
    if request.TableClass is not None:
        changes |= _class_changes(request.TableClass, table, now_seconds)
    if request.DeletionProtectionEnabled is not None:
        changes |= _protection_changes(request.DeletionProtectionEnabled, table, now_seconds, until_seconds)
    if request.SSESpecification is not None:
        changes |= encryption_changes(request.SSESpecification, table, now_seconds, until_seconds)
    stream = request.StreamSpecification
    if stream is not None:
        changes["stream_view_type"] = stream.StreamViewType if stream.StreamEnabled else None
        if stream.StreamEnabled:
            changes["stream_label"] = stream_label(now_seconds)
    return changes


def _warm_settings(warm: WarmThroughput | None, former: Throughput, until_seconds: float) -> dict[str, Any]:
    """Field → value of each field of a table or index that requested warm throughput sets;
    `former`: what it has now.
    """
    asked = asked_units(warm)
    return asked and asked | {"warm_updating_until_seconds": until_seconds, "former_warm": former}


def _protection_changes(given: bool, table: Table, now_seconds: float, until_seconds: float) -> dict[str, Any]:
    """Field → value of each table field that changes with deletion protection.

    While tables take time to change, raises ThrottlingException within seconds of the last request,
    even if it asked for the same.
    """
    last = table.protection_changed_at_seconds
    next_at_seconds = now_seconds if last is None else last + limits.PROTECTION_CHANGE_SECONDS
    if until_seconds > now_seconds and last is not None and last <= now_seconds < next_at_seconds:
        at = datetime.fromtimestamp(next_at_seconds, UTC).replace(tzinfo=None)
        next_time = at.isoformat(timespec="milliseconds")
        raise ThrottlingException(say.PROTECTION_CHANGED_LATELY.format(name=table.name, next=next_time))
    return {"is_deletion_protected": given, "protection_changed_at_seconds": now_seconds}


def _class_changes(given: TableClass, table: Table, now_seconds: float) -> dict[str, Any]:
    """Field → value of each table field that changes with the class; none if it is the same,
    but that is refused too after too many.
    """
    recent = change_quotas.recent_class_changes(table, now_seconds)
    if len(recent) >= limits.TABLE_CLASS_CHANGES_MAX:
        raise LimitExceededException(
            say.TOO_MANY_CLASS_CHANGES.format(
                limit=limits.TABLE_CLASS_CHANGES_MAX, days=limits.TABLE_CLASS_CHANGES_DAYS
            )
        )
    if given == table.table_class:
        return {}
    return {
        "table_class": given,
        "table_class_changed_at_seconds": now_seconds,
        "class_changes_seconds": (*recent, now_seconds),
    }


def _indexes(request: UpdateTableRequest, table: Table, now_seconds: float, until_seconds: float) -> tuple[Index, ...]:
    """The table's indexes, with the requested capacity."""
    updates = {
        update.Update.IndexName: update.Update
        for update in request.GlobalSecondaryIndexUpdates or ()
        if update.Update is not None
    }
    is_switched = request.BillingMode is not None and request.BillingMode != table.billing_mode
    return tuple(
        index
        if index.name not in updates
        else _updated_index(table, index, updates[index.name], is_switched, now_seconds, until_seconds)
        for index in table.indexes
    )


def _updated_index(
    table: Table,
    index: Index,
    update: UpdateGlobalSecondaryIndexAction,
    is_switched: bool,
    now_seconds: float,
    until_seconds: float,
) -> Index:
    """One index with new capacity; throughput that comes with a new billing mode is no increase or decrease."""
    given = update.ProvisionedThroughput
    is_updating = given is not None or update.OnDemandThroughput is not None
    changes: dict[str, Any] = {}
    if is_updating:
        changes = {"updating_until_seconds": until_seconds, "former_throughput": None}
    if given is not None:
        changes |= {"throughput": throughput(given)} if is_switched else throughput_changes(index, given, now_seconds)
    changes |= asked_units(update.OnDemandThroughput)
    changes |= _warm_settings(update.WarmThroughput, warm_units(table, index, now_seconds), until_seconds)
    return msgspec.structs.replace(index, **changes)


# --- indexes --------------------------------------------------------------------------------------


def index_changes(
    request: UpdateTableRequest, table: Table, indexes: tuple[Index, ...], until_seconds: float
) -> dict[str, Any]:
    """Field → value of each table field that changes because a global index is created or deleted.
    `indexes`: the table's, already with the requested capacity.

    A created index is CREATING until all its entries are made. A deleted index is DELETING, without entries, until its
    deadline; then `tables/states.py` leaves it out.
    """
    changes: dict[str, Any] = {}
    for update in request.GlobalSecondaryIndexUpdates or ():
        if update.Create is not None:
            names = {key.AttributeName for key in update.Create.KeySchema}
            changes["attribute_types"] = types = _merged_types(request, table, names)
            changes["next_index_id"] = table.next_index_id + 1
            created = global_index(update.Create, table.next_index_id, types)
            changes["indexes"] = (*indexes, msgspec.structs.replace(created, state="CREATING"))
        elif update.Delete is not None:
            changes["indexes"] = _deleted(indexes, update.Delete.IndexName, until_seconds)
    return changes


def vector_changes(
    request: UpdateTableRequest, table: Table, until_seconds: float, creating_until_seconds: float
) -> dict[str, Any]:
    """Field → value of each table field that changes because a vector index is created or deleted.

    A created index is in its allocation phase until `until_seconds`, and CREATING until all its entries are made and
    `creating_until_seconds` has come. A deleted index is DELETING, without entries, until `until_seconds`.
    """
    changes: dict[str, Any] = {}
    for update in request.VectorIndexUpdates or ():
        if update.Create is not None:
            names = {element.AttributeName for element in update.Create.SearchSchema or ()}
            created = msgspec.structs.replace(
                vector_index(update.Create, table.next_index_id),
                state="CREATING",
                allocating_until_seconds=until_seconds,
                creating_until_seconds=max(until_seconds, creating_until_seconds),
            )
            changes["attribute_types"] = _merged_types(request, table, names)
            changes["next_index_id"] = table.next_index_id + 1
            changes["vector_indexes"] = (*table.vector_indexes, created)
        elif update.Delete is not None:
            changes["vector_indexes"] = _deleted(table.vector_indexes, update.Delete.IndexName, until_seconds)
    return changes


def _deleted(indexes: Sequence[IndexT], name: str, until_seconds: float) -> tuple[IndexT, ...]:
    """The indexes, of which that with this name is DELETING until `until_seconds`."""
    return tuple(
        [
            msgspec.structs.replace(one, state="DELETING", deleted_at_seconds=until_seconds)
            if one.name == name
            else one
            for one in indexes
        ]
    )


def _merged_types(request: UpdateTableRequest, table: Table, used: AbstractSet[str]) -> dict[str, KeyType]:
    """Attribute → type: all of the table's definitions, and those others in the request that the new index uses."""
    given: dict[str, KeyType] = {
        definition.AttributeName: definition.AttributeType
        for definition in walk(request.AttributeDefinitions or ())
        if definition.AttributeName in used
    }
    return table.attribute_types | given | table.attribute_types


# --- encryption -----------------------------------------------------------------------------------


def encryption_changes(
    given: SSESpecification, table: Table, now_seconds: float, until_seconds: float
) -> dict[str, Any]:
    """Field → value of each table field that changes: to another key or to none; naming the same key in another form
    counts as a change. `until_seconds`: until then, the encryption is UPDATING.

    Four changes are allowed within 24 hours from the first of them, and then one in six hours.
    Requests beyond that are refused before their key is looked at. Source: service behaviour, captures to October 2026.

    Raises LimitExceededException after too many changes, and ValidationException for what the table already has.
    """
    recent = change_quotas.recent_encryption_changes(table, now_seconds)
    next_at_seconds = change_quotas.next_encryption_at_seconds(recent, now_seconds)
    if next_at_seconds > now_seconds:
        raise LimitExceededException(
            say.TOO_MANY_ENCRYPTION_CHANGES.format(
                end=_time(recent[0] + limits.ENCRYPTION_WINDOW_SECONDS),
                limit=limits.ENCRYPTION_CHANGES_AT_ONCE_MAX,
                seconds=limits.ENCRYPTION_CHANGE_SECONDS,
                count=len(recent),
                last=_time(recent[-1]),
                next=_time(next_at_seconds),
            )
        )
    sse_type, key_arn = encryption(given, table.account, table.region)
    if sse_type is None and table.sse_type is None:
        raise ValidationException(say.ALREADY_DEFAULT_ENCRYPTED)
    if given.KMSMasterKeyId is not None and given.KMSMasterKeyId == table.kms_key_arn:
        raise ValidationException(say.ALREADY_ENCRYPTED)
    return {
        "sse_type": sse_type,
        "kms_key_arn": key_arn,
        "encryption_updating_until_seconds": until_seconds,
        "encryption_changes_seconds": (*recent, now_seconds),
    }


def _time(at_seconds: float) -> str:
    """A time as the service writes it: `2026-10-09T23:13:00.402Z`."""
    return datetime.fromtimestamp(at_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
