"""Does UpdateTable allow the requested change? Checks of the request, then against the table;
`updated_table.py` refuses changes that come too soon.

Of the request: a change is requested → index names → billing and throughput → shape of the index updates → attribute
definitions → stream and encryption → what may change together: encryption, class, protection and warm throughput come
alone, and a stream or an index not with throughput. Against the table: billing and throughput → index rules → stream.
Types of attributes that are there already are ignored. Source: service behaviour, captures to October 2026, and the
developer guide's example of warm throughput for a table and an index together.
"""

from collections.abc import Iterator, Mapping, Sequence

from hashrange import limits
from hashrange.errors import LimitExceededException, ResourceNotFoundException, ValidationException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.tables.create_table_checks import (
    check_encryption,
    check_global_keys,
    check_index_definitions,
    check_index_names,
    check_projection,
    check_stream,
)
from hashrange.operations.tables.created_table import key_schema
from hashrange.operations.tables.index_members import (
    CreateGlobalSecondaryIndexAction,
    DeleteGlobalSecondaryIndexAction,
    GlobalSecondaryIndexUpdate,
    UpdateGlobalSecondaryIndexAction,
)
from hashrange.operations.tables.members import AttributeDefinition, OnDemandThroughput, WarmThroughput
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.operations.tables.throughput_checks import (
    TABLE,
    HasThroughput,
    check_bounds,
    check_maximum,
    check_on_demand,
    check_warm,
    check_warm_bounds,
    maximum_subject,
    refuse_maximum,
    warm_subject,
)
from hashrange.operations.tables.vector_index_checks import check_keyed_vectors
from hashrange.operations.tables.vector_update_checks import (
    check_vector_mode,
    check_vector_names,
    check_vector_updates,
    check_vectors_against_table,
)
from hashrange.tables.description import warm_units
from hashrange.tables.schema import Index, Table, Throughput
from hashrange.tables.states import vector_index_status

# --- changes together -----------------------------------------------------------------------------


_MEMBERS_WITHOUT_CHANGES = {"TableName", "AttributeDefinitions"}
_NO_CHANGE: Sequence[object] = (None, [], OnDemandThroughput(), WarmThroughput())
_CHANGED_IN_PLACE = {
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "SSESpecification",
    "GlobalSecondaryIndexUpdates",
}
_ALONE = (
    ("SSESpecification", "Server-Side Encryption"),
    ("TableClass", "TableClass"),
    ("DeletionProtectionEnabled", "DeletionProtection"),
)
"""Members that come alone, in the order in which messages name them."""


def asked_changes(request: UpdateTableRequest) -> set[str]:
    """Names of the members that ask for a change. Structures and lists without members ask for none."""
    names = request.__struct_fields__
    return {name for name in names if name not in _MEMBERS_WITHOUT_CHANGES and getattr(request, name) not in _NO_CHANGE}


def changes_of_indexes(request: UpdateTableRequest) -> list[str]:
    """Names of the indexes, of every kind, that the request creates or deletes; in a valid request at most one."""
    updates = [*(request.GlobalSecondaryIndexUpdates or ()), *(request.VectorIndexUpdates or ())]
    actions = [action for update in walk(updates) for action in (update.Create, update.Delete)]
    return [action.IndexName for action in walk(actions) if action is not None]


def makes_updating(request: UpdateTableRequest) -> bool:
    """True if the table is UPDATING because of the request; protection, maxima and warm throughput,
    encryption and indexes' capacity change without.
    """
    return bool(changes_of_indexes(request)) or bool(asked_changes(request) - _CHANGED_IN_PLACE)


def check_combination(request: UpdateTableRequest) -> None:
    """Raise ValidationException for the first rule that the changes break together."""
    asked = asked_changes(request)
    for member, kind in _ALONE:
        if member in asked and len(asked) > 1:
            raise ValidationException(say.ONLY_CHANGE.format(kind=kind))
    updates = request.GlobalSecondaryIndexUpdates or []
    is_created = any(update.Create is not None for update in walk(updates))
    is_indexed = bool(changes_of_indexes(request))
    if "OnDemandThroughput" in asked and asked - {"OnDemandThroughput", "BillingMode"}:
        raise ValidationException(say.MAXIMUM_WITH_OTHER_CHANGE)
    if "WarmThroughput" in asked:
        if is_created:
            raise ValidationException(say.WARM_WITH_NEW_INDEX)
        if is_indexed or asked - {"WarmThroughput", "GlobalSecondaryIndexUpdates"}:
            raise ValidationException(say.WARM_WITH_OTHER_CHANGE)
    has_stream, has_units = "StreamSpecification" in asked, "ProvisionedThroughput" in asked
    if has_stream and has_units:  # with units, the billing mode is or becomes PROVISIONED
        raise ValidationException(say.STREAM_WITH_UNITS)
    if is_indexed and has_units and "BillingMode" not in asked:
        raise ValidationException(say.INDEX_WITH_UNITS)
    if is_indexed and has_stream:
        raise ValidationException(say.INDEX_WITH_STREAM)


# --- all other checks -----------------------------------------------------------------------------


IndexAction = UpdateGlobalSecondaryIndexAction | CreateGlobalSecondaryIndexAction | DeleteGlobalSecondaryIndexAction


def check_table_update(request: UpdateTableRequest) -> None:
    """Raise ValidationException for the request's first fault; Malformed for an index name with invalid characters."""
    if not asked_changes(request):
        raise ValidationException(say.NOTHING_TO_UPDATE)
    updates = request.GlobalSecondaryIndexUpdates
    if updates == []:
        raise ValidationException(say.INDEX_LIST_EMPTY.format(kind="GlobalSecondaryIndexUpdates"))
    updates = updates or []
    check_index_names(action.IndexName for update in walk(updates) for action in _actions(update))
    check_vector_names(request)
    subjects = list(capacity_actions(updates))
    throughput = request.ProvisionedThroughput
    check_bounds(throughput, None)
    if request.BillingMode == "PAY_PER_REQUEST":
        if throughput is not None:
            raise ValidationException(say.THROUGHPUT_WITH_SWITCH)
        _refuse_index_units(subjects)
    elif request.BillingMode == "PROVISIONED" and throughput is None:
        raise ValidationException(say.SWITCH_WITHOUT_THROUGHPUT)
    check_warm_bounds(request.WarmThroughput, TABLE)
    for change in walk(subjects):
        check_bounds(change.ProvisionedThroughput, change.IndexName)
        check_warm_bounds(change.WarmThroughput, warm_subject(change.IndexName))
    _check_index_updates(updates)
    check_vector_updates(request)
    _check_definitions_agree(request.AttributeDefinitions or [])
    check_stream(request.StreamSpecification, say.STREAM_OFF_WITH_VIEW, say.STREAM_ON_WITHOUT_VIEW)
    check_encryption(request.SSESpecification)
    check_combination(request)


def check_against_table(request: UpdateTableRequest, table: Table, now_seconds: float) -> None:
    """Raise the first fault of the request against the table; needs a request that `check_table_update` accepts."""
    updates = request.GlobalSecondaryIndexUpdates or []
    _check_mode(request, table, updates)
    check_vector_mode(request, table)
    check_warm(request.WarmThroughput, warm_units(table, None, now_seconds), TABLE, say.WARM_BELOW_CURRENT)
    _check_indexes(updates, request.AttributeDefinitions, table, request.BillingMode or table.billing_mode, now_seconds)
    check_one_online_change(request, table, now_seconds)
    _check_index_limits([update.Create for update in updates if update.Create is not None], table)
    check_vectors_against_table(request, table, now_seconds)
    _check_stream(request, table)


def capacity_actions(updates: Sequence[GlobalSecondaryIndexUpdate]) -> Iterator[HasThroughput]:
    """The Update and Create actions among `updates`: each may hold the capacity of its index."""
    for update in walk(updates):
        if action := update.Update or update.Create:
            yield action


def _actions(update: GlobalSecondaryIndexUpdate) -> list[IndexAction]:
    """The actions of an index update; a valid update has exactly one."""
    return [action for action in (update.Update, update.Create, update.Delete) if action is not None]


def _check_index_updates(updates: Sequence[GlobalSecondaryIndexUpdate]) -> None:
    """Require one valid action in each index update, and no index in two updates."""
    seen: set[str] = set()
    for update in walk(updates):
        actions = _actions(update)
        if not actions:
            raise ValidationException(say.INDEX_UPDATE_EMPTY)
        if len(actions) > 1:
            raise ValidationException(say.INDEX_UPDATE_SEVERAL)
        name = actions[0].IndexName
        if name in seen:
            raise ValidationException(say.INDEX_UPDATED_TWICE.format(index=name))
        seen.add(name)
        if update.Update is not None and update.Update.WarmThroughput == WarmThroughput():
            raise ValidationException(say.INDEX_WARM_EMPTY.format(index=name))
        if update.Create is not None:
            check_global_keys(update.Create.KeySchema)
            check_projection(update.Create.Projection)


def _check_mode(request: UpdateTableRequest, table: Table, updates: Sequence[GlobalSecondaryIndexUpdate]) -> None:
    """Refuse throughput that does not fit the requested billing mode (the current one if none is requested).

    An on-demand maximum must be within its range, which is checked after the mode. Also refuses provisioned throughput
    that the table already has, and a switch to provisioned that leaves a global index without throughput.
    """
    throughput = request.ProvisionedThroughput
    changes = list(capacity_actions(updates))
    if (request.BillingMode or table.billing_mode) == "PAY_PER_REQUEST":
        check_on_demand(throughput, ())
        _refuse_index_units(changes)
        check_maximum(request.OnDemandThroughput, TABLE, may_end=True)
        for change in walk(changes):
            check_maximum(change.OnDemandThroughput, maximum_subject(change.IndexName), may_end=True)
        return
    refuse_maximum(request.OnDemandThroughput, say.ON_DEMAND_MAXIMUM_PROVISIONED_UPDATE)
    for change in walk(changes):
        refuse_maximum(change.OnDemandThroughput, say.ON_DEMAND_MAXIMUM_PROVISIONED_UPDATE)
    settled = {change.IndexName for change in walk(changes) if change.ProvisionedThroughput is not None}
    settled.update(update.Delete.IndexName for update in walk(updates) if update.Delete is not None)
    if table.billing_mode == "PAY_PER_REQUEST":
        missing = [index.name for index in table.indexes if index.is_global and index.name not in settled]
        if missing:
            raise ValidationException(say.SWITCH_WITHOUT_INDEX_THROUGHPUT.format(indexes=",".join(missing)))
    elif throughput is not None and table.throughput == Throughput(
        throughput.ReadCapacityUnits, throughput.WriteCapacityUnits
    ):
        raise ValidationException(_unchanged(TABLE, TABLE, table.throughput))


def _check_definitions_agree(definitions: Sequence[AttributeDefinition]) -> None:
    """Refuse an attribute with two types; equal definitions may repeat."""
    types: dict[str, str] = {}
    for definition in walk(definitions):
        if types.setdefault(definition.AttributeName, definition.AttributeType) != definition.AttributeType:
            raise ValidationException(say.KEY_WITHOUT_DEFINITION)


def _check_indexes(
    updates: Sequence[GlobalSecondaryIndexUpdate],
    definitions: Sequence[AttributeDefinition] | None,
    table: Table,
    billing_mode: str,
    now_seconds: float,
) -> None:
    """Require that updated and deleted global indexes exist, and that created indexes are new and have defined keys.

    Also checks their throughput.
    """
    indexes = {index.name: index for index in table.indexes}
    types = {definition.AttributeName: definition.AttributeType for definition in walk(definitions or ())}
    names = {*indexes, *[index.name for index in table.vector_indexes]}
    for update in walk(updates):
        if update.Update is not None:
            index = _require_global(indexes, update.Update.IndexName, table, "update")
            _check_index_change(update.Update, index, billing_mode)
            current = warm_units(table, index, now_seconds)
            check_warm(update.Update.WarmThroughput, current, warm_subject(index.name), say.WARM_BELOW_CURRENT)
        elif update.Create is not None:
            if update.Create.IndexName in names:
                raise ValidationException(say.INDEX_EXISTS)
            if definitions is None:
                raise ValidationException(say.DEFINITIONS_MISSING.format(index=update.Create.IndexName))
            check_index_definitions(update.Create.KeySchema, types)
            check_keyed_vectors(key_schema(update.Create.KeySchema, types), table)
            if billing_mode == "PROVISIONED" and update.Create.ProvisionedThroughput is None:
                raise ValidationException(say.INDEX_THROUGHPUT_MISSING.format(index=update.Create.IndexName))
        elif update.Delete is not None:
            _require_global(indexes, update.Delete.IndexName, table, "delete")


def check_one_online_change(request: UpdateTableRequest, table: Table, now_seconds: float) -> None:
    """Allow one index creation or deletion at a time; an index being created may be deleted.

    Raises LimitExceededException, also for several changes of vector indexes that the table does not have.
    """
    changed = changes_of_indexes(request)
    ongoing = {index.name for index in table.indexes if index.state != "ACTIVE"}
    deleted = {index.name for index in table.vector_indexes if index.state == "DELETING"}
    ongoing |= deleted
    ongoing |= {
        index.name for index in table.vector_indexes if vector_index_status(index, "ACTIVE", now_seconds) != "ACTIVE"
    }
    is_second = not deleted.isdisjoint(changed) or (request.VectorIndexUpdates and len(changed) > 1)
    if changed and (is_second or len(ongoing.union(changed)) > 1):
        raise LimitExceededException(say.TWO_INDEX_CHANGES)


def _check_index_limits(created: Sequence[CreateGlobalSecondaryIndexAction], table: Table) -> None:
    """Refuse `created` indexes with which the table would have too many global indexes or projected attributes.

    Also refuses them once the table has used up its index ids.
    """
    if not created:
        return
    if len(created) + sum(index.is_global for index in table.indexes) > limits.GLOBAL_INDEXES_MAX:
        raise LimitExceededException(say.TOO_MANY_ADDED_INDEXES.format(limit=limits.GLOBAL_INDEXES_MAX))
    if table.next_index_id > limits.INDEX_CREATIONS_MAX:
        raise LimitExceededException(
            say.INDEX_IDS_USED_UP.format(limit=f"{limits.INDEX_CREATIONS_MAX:,}", table=table.name)
        )
    projected = sum(len(index.projection.non_key_names) for index in table.indexes)
    projected += sum(len(index.Projection.NonKeyAttributes or ()) for index in created)
    if projected > limits.PROJECTED_ATTRIBUTES_MAX:
        raise ValidationException(say.TOO_MANY_PROJECTED.format(limit=limits.PROJECTED_ATTRIBUTES_MAX))


def _require_global(indexes: Mapping[str, Index], name: str, table: Table, action: str) -> Index:
    """The global index of this name. `action`: `update` or `delete`, for the message."""
    index = indexes.get(name)
    if index is None:
        raise ResourceNotFoundException(say.INDEX_NOT_FOUND.format(index=name, table=table.name))
    if not index.is_global:
        raise ValidationException(say.INDEX_NOT_GLOBAL.format(action=action, index=name))
    return index


def _refuse_index_units(changes: Sequence[HasThroughput]) -> None:
    """Refuse provisioned throughput of an index of an on-demand table."""
    for change in walk(changes):
        if change.ProvisionedThroughput is not None:
            raise ValidationException(say.INDEX_UNITS_ON_DEMAND.format(index=change.IndexName))


def _check_index_change(change: UpdateGlobalSecondaryIndexAction, index: Index, billing_mode: str) -> None:
    """Refuse an update without capacity, and units that the index already has."""
    given = change.ProvisionedThroughput
    if given is None and change.OnDemandThroughput in (None, OnDemandThroughput()) and change.WarmThroughput is None:
        is_on_demand = billing_mode == "PAY_PER_REQUEST"
        text = say.INDEX_UPDATE_NOTHING_ON_DEMAND if is_on_demand else say.INDEX_UPDATE_NOTHING
        raise ValidationException(text.format(index=index.name))
    if given is not None and index.throughput == Throughput(given.ReadCapacityUnits, given.WriteCapacityUnits):
        assert index.throughput is not None
        raise ValidationException(_unchanged(warm_subject(index.name), "index", index.throughput))


def _check_stream(request: UpdateTableRequest, table: Table) -> None:
    """Refuse to switch on a stream that is on (even with another view type), or to switch off a stream that is off."""
    stream = request.StreamSpecification
    if stream is None:
        return
    is_on = table.stream_view_type is not None
    if stream.StreamEnabled and is_on:
        raise ValidationException(say.STREAM_ALREADY_ON.format(name=table.name))
    if not stream.StreamEnabled and not is_on:
        raise ValidationException(say.STREAM_ALREADY_OFF.format(name=table.name))


def _unchanged(subject: str, kind: str, throughput: Throughput) -> str:
    return say.THROUGHPUT_UNCHANGED.format(
        subject=subject, kind=kind, read=throughput.read_units, write=throughput.write_units
    )
