"""Which table does a restore make? What was recorded of the source, with the overrides of the request.

It gets keys, indexes, throughput and encryption; stream, time to live, recovery, tags, class and protection are those
of a new table. An index of the request stands for one of the source if keys and projection are equal, whatever its
name.
Source: service behaviour, captures of October 2026.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from hashrange.errors import ValidationException
from hashrange.items.steps import walk
from hashrange.messages import backups as say
from hashrange.messages.tables import DUPLICATE_INDEX
from hashrange.operations.operation import Scope
from hashrange.operations.tables import members
from hashrange.operations.tables.create_table_checks import check_encryption, check_index_names
from hashrange.operations.tables.created_table import asked_units, encryption, table_uuid, throughput, vector_index
from hashrange.operations.tables.index_members import GlobalSecondaryIndex, LocalSecondaryIndex, NewVectorIndex
from hashrange.operations.tables.throughput_checks import TABLE, check_bounds, check_maximum, maximum_subject
from hashrange.operations.tables.vector_index_checks import require_on_demand
from hashrange.tables.schema import Index, IndexT, RestoredFrom, Table, Throughput, VectorIndex
from hashrange.tables.states import used_names


class RestoreRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What both operations that restore a table may override."""

    BillingModeOverride: members.BillingMode | None = None
    GlobalSecondaryIndexOverride: list[GlobalSecondaryIndex] | None = None
    LocalSecondaryIndexOverride: list[LocalSecondaryIndex] | None = None
    ProvisionedThroughputOverride: members.ProvisionedThroughput | None = None
    OnDemandThroughputOverride: members.OnDemandThroughput | None = None
    SSESpecificationOverride: members.SSESpecification | None = None
    VectorIndexOverride: list[NewVectorIndex] | None = None


# --- checks ---------------------------------------------------------------------------------------


def check_override_names(request: RestoreRequest) -> None:
    """Raise Malformed for an impossible index name, which the fast decoder does not check."""
    check_index_names(one.IndexName for one in walk(request.GlobalSecondaryIndexOverride or ()))
    check_index_names(one.IndexName for one in walk(request.LocalSecondaryIndexOverride or ()))
    check_index_names(one.IndexName for one in walk(request.VectorIndexOverride or ()))


def planned_restore(
    scope: Scope, request: RestoreRequest, source: Table, name: str, restored_from: RestoredFrom
) -> Table:
    """The table that a request makes of `source`, without an id; it has no items yet. Raises ValidationException.

    Order of checks: the table's billing mode and units → local indexes → global indexes, each with its units →
    vector indexes → encryption.
    """
    _check_units(request, source, request.ProvisionedThroughputOverride, request.OnDemandThroughputOverride, None)
    if request.BillingModeOverride == "PROVISIONED" and request.ProvisionedThroughputOverride is None:
        raise ValidationException(say.OVERRIDE_MISSING_UNITS)
    indexes = _indexes(request, source)
    vector_indexes = _vector_indexes(request, source, len(indexes) + 1)
    check_encryption(request.SSESpecificationOverride)
    now_seconds = scope.clock.service_time()
    mode = _mode(request, source)
    used = used_names(source.keys, indexes, vector_indexes)
    sse_type, kms_key_arn = source.sse_type, source.kms_key_arn
    if request.SSESpecificationOverride is not None:
        sse_type, kms_key_arn = encryption(request.SSESpecificationOverride, scope.account, scope.region)
    units = throughput(request.ProvisionedThroughputOverride) or source.throughput
    return Table(
        table_id=0,
        uuid="",
        account=scope.account,
        region=scope.region,
        name=name,
        keys=source.keys,
        attribute_types={one: kind for one, kind in source.attribute_types.items() if one in used},
        created_at_seconds=now_seconds,
        active_at_seconds=now_seconds,
        indexes=indexes,
        next_index_id=len(indexes) + len(vector_indexes) + 1,
        billing_mode=mode,
        throughput=units if mode == "PROVISIONED" else Throughput(0, 0),
        sse_type=sse_type,
        kms_key_arn=kms_key_arn,
        switched_to_on_demand_at_seconds=now_seconds if mode == "PAY_PER_REQUEST" else None,
        restored_from=restored_from,
        vector_indexes=vector_indexes,
        **_maxima(request.OnDemandThroughputOverride, source, mode),
    )


def with_table_id(planned: Table, table_id: int) -> Table:
    """A planned table that has got its id."""
    uuid = table_uuid(planned.account, planned.region, table_id, planned.created_at_seconds)
    return msgspec.structs.replace(planned, table_id=table_id, uuid=uuid)


def _mode(request: RestoreRequest, source: Table) -> members.BillingMode:
    return request.BillingModeOverride or source.billing_mode


def _maxima(
    given: members.OnDemandThroughput | None, source: Table | Index, mode: members.BillingMode
) -> dict[str, Any]:
    """The fields of the on-demand maxima of a restored table or index."""
    if mode == "PROVISIONED":
        return {}
    if given is not None:
        return asked_units(given)
    return {
        "on_demand_max_read_units": source.on_demand_max_read_units,
        "on_demand_max_write_units": source.on_demand_max_write_units,
    }


def _check_units(
    request: RestoreRequest,
    source: Table,
    provisioned: members.ProvisionedThroughput | None,
    maximum: members.OnDemandThroughput | None,
    index: str | None,
) -> None:
    """Refuse units that do not fit the billing mode. `index`: the name of the index that has them; None: the table."""
    mode = _mode(request, source)
    for member, given, wanted in (
        ("ProvisionedThroughput", provisioned, "PROVISIONED"),
        ("OnDemandThroughput", maximum, "PAY_PER_REQUEST"),
    ):
        if given is None or mode == wanted:
            continue
        if request.BillingModeOverride is None:
            raise ValidationException(say.OVERRIDE_NEEDS_MODE.format(member=member, mode=wanted))
        of_index = "" if index is None else say.OVERRIDE_OF_INDEX.format(name=index)
        raise ValidationException(say.OVERRIDE_AGAINST_MODE.format(member=member, mode=mode, index=of_index))
    check_bounds(provisioned, index)
    check_maximum(maximum, TABLE if index is None else maximum_subject(index), may_end=True)


# --- indexes --------------------------------------------------------------------------------------


def _indexes(request: RestoreRequest, source: Table) -> tuple[Index, ...]:
    """The indexes of the restored table, local ones first, with ids from 1."""
    present = [one for one in source.indexes if one.state != "DELETING"]
    local = [one for one in present if not one.is_global]
    global_ = [one for one in present if one.is_global]
    given_local, given_global = request.LocalSecondaryIndexOverride, request.GlobalSecondaryIndexOverride
    _refuse_duplicates(
        [one.IndexName for one in [*(given_local or ()), *(given_global or ()), *(request.VectorIndexOverride or ())]]
    )
    made = [_restored(one, one.name) for one in local]
    if given_local is not None:
        made = [_restored(index, given.IndexName) for given, index in _matched(given_local, local)]
    if given_global is None:
        made += [_unchanged(request, source, one) for one in global_]
    else:
        made += [_overridden(request, source, given, index) for given, index in _matched(given_global, global_)]
    return tuple([msgspec.structs.replace(one, index_id=number) for number, one in enumerate(made, 1)])


def _vector_indexes(request: RestoreRequest, source: Table, first_id: int) -> tuple[VectorIndex, ...]:
    """The vector indexes of the restored table, with ids from `first_id`. Raises ValidationException."""
    present = [one for one in source.vector_indexes if one.state != "DELETING"]
    given = request.VectorIndexOverride
    if given is None:
        made = [(one.name, one) for one in present]
    else:
        made = [(one.IndexName, index) for one, index in _matched(given, present)]
    if made:
        require_on_demand(_mode(request, source))
    return tuple(
        [
            VectorIndex(number, name, one.attribute, one.dimensions, one.distance, one.projection, one.search_schema)
            for number, (name, one) in enumerate(made, first_id)
        ]
    )


def _refuse_duplicates(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in walk(names):
        if name in seen:
            raise ValidationException(DUPLICATE_INDEX.format(index=name))
        seen.add(name)


Given = LocalSecondaryIndex | GlobalSecondaryIndex


def _matched(given: Sequence[Any], present: Iterable[IndexT]) -> list[tuple[Any, IndexT]]:
    """Each index of a request with the index of the source that it stands for. Raises ValidationException."""
    left, found = list(present), []
    for one in walk(given):
        index = next((index for index in left if _is_equal(one, index)), None)
        if index is None:
            raise ValidationException(say.OVERRIDE_MATCHES_NO_INDEX.format(name=one.IndexName))
        left.remove(index)
        found.append((one, index))
    return found


def _is_equal(given: Any, index: Index | VectorIndex) -> bool:
    """True if what an index in a request indexes and projects is what an index of the source does."""
    return _has_same_vectors(given, index) if isinstance(index, VectorIndex) else _has_same_keys(given, index)


def _has_same_vectors(given: NewVectorIndex, index: VectorIndex) -> bool:
    made = vector_index(given, index.index_id)
    return (
        (made.attribute, made.dimensions, made.distance) == (index.attribute, index.dimensions, index.distance)
        and set(made.search_schema) == set(index.search_schema)
        and made.projection.kind == index.projection.kind
        and set(made.projection.non_key_names) == set(index.projection.non_key_names)
    )


def _has_same_keys(given: Given, index: Index) -> bool:
    keys, projection = index.keys, given.Projection
    wanted = [(name, "HASH") for name in keys.partition_names] + [(name, "RANGE") for name in keys.sort_names]
    return (
        [(one.AttributeName, one.KeyType) for one in given.KeySchema] == wanted
        and projection.ProjectionType == index.projection.kind
        and set(projection.NonKeyAttributes or ()) == set(index.projection.non_key_names)
    )


def _restored(index: Index, name: str, **units: Any) -> Index:
    return Index(0, name, index.is_global, index.keys, index.projection, **units)


def _unchanged(request: RestoreRequest, source: Table, index: Index) -> Index:
    """A global index that comes along because the request names none. Raises ValidationException."""
    mode = _mode(request, source)
    if mode == "PROVISIONED" and index.throughput is None:
        raise ValidationException(say.OVERRIDE_INDEX_UNITS.format(name=index.name))
    units = index.throughput if mode == "PROVISIONED" else None
    return _restored(index, index.name, throughput=units, **_maxima(None, index, mode))


def _overridden(request: RestoreRequest, source: Table, given: GlobalSecondaryIndex, index: Index) -> Index:
    """A global index as the request wants it. Raises ValidationException."""
    _check_units(request, source, given.ProvisionedThroughput, given.OnDemandThroughput, given.IndexName)
    mode = _mode(request, source)
    if mode == "PROVISIONED" and given.ProvisionedThroughput is None:
        raise ValidationException(say.OVERRIDE_INDEX_UNITS.format(name=given.IndexName))
    maxima = _maxima(given.OnDemandThroughput, index, mode)
    return _restored(index, given.IndexName, throughput=throughput(given.ProvisionedThroughput), **maxima)
