"""How is a table described in replies? `Table` → the wire form of TableDescription, at one moment of service time.

Members stand in the order of the service model, except those of global indexes. Times are epoch seconds. Nothing here
reads a clock or a store.
Source: service model of November 2026; captures and the developer guide for when members appear.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hashrange.limits import ON_DEMAND_WARM_READ_UNITS, ON_DEMAND_WARM_WRITE_UNITS
from hashrange.tables.change_quotas import decreases_today
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table, Throughput, VectorIndex
from hashrange.tables.source_id import make_source_id, vector_lists_id
from hashrange.tables.states import (
    Status,
    former_units,
    index_status,
    shown_throughput,
    status,
    vector_index_status,
)
from hashrange.vectors.floats import FLOAT_BYTES

StatisticsBySource = Mapping[bytes, tuple[int, int]]
"""Source id → item count and size in bytes, as a store reports them."""


def described_sources(table: Table) -> list[bytes]:
    """Source ids of the table and all its indexes, whose statistics the table's description contains."""
    numbers = [one.index_id for one in table.indexes] + [one.index_id for one in table.vector_indexes]
    return [*table_sources(table), *[make_source_id(table.table_id, number) for number in numbers]]


def table_sources(table: Table) -> list[bytes]:
    """What `table_size_bytes` needs the statistics of."""
    ids = [make_source_id(table.table_id, one.index_id) for one in table.vector_indexes]
    return [table.source_id, *[vector_lists_id(source_id) for source_id in ids]]


def table_size_bytes(table: Table, statistics: StatisticsBySource) -> int:
    """TableSizeBytes: four bytes for each dimension of a vector that an index holds, once for all indexes of its
    attribute; all else by its stored size. If these indexes hold different items, that with most counts (unconfirmed).

    Source: service behaviour, captures of October 2026.
    """
    size_bytes = statistics[table.source_id][1]
    held: dict[str, tuple[int, int]] = {}
    for index in table.vector_indexes:
        if index.state != "DELETING":
            count, list_bytes = statistics[vector_lists_id(make_source_id(table.table_id, index.index_id))]
            saved_bytes = list_bytes - FLOAT_BYTES * index.dimensions * count
            held[index.attribute] = max(held.get(index.attribute, (0, 0)), (count, saved_bytes))
    return size_bytes - sum([saved_bytes for _, saved_bytes in held.values()])


def table_description(
    table: Table, now_seconds: float, statistics: StatisticsBySource, shown_status: Status | None = None
) -> dict[str, Any]:
    """TableDescription in wire form; `shown_status` replaces the status in replies of operations that change it."""
    current = shown_status or status(table, now_seconds)
    local = [_describe_index(table, index, statistics) for index in table.indexes if not index.is_global]
    described = [
        _global_index(table, index, now_seconds, statistics, current) for index in table.indexes if index.is_global
    ]
    view_type, label = table.stream_view_type, table.stream_label
    return _given(
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in table.attribute_types.items()
        ],
        TableName=table.name,
        KeySchema=describe_keys(table.keys),
        TableStatus=current,
        CreationDateTime=table.created_at_seconds,
        ProvisionedThroughput=_throughput(table, now_seconds),
        TableSizeBytes=table_size_bytes(table, statistics),
        ItemCount=statistics[table.source_id][0],
        TableArn=table.arn,
        TableId=table.uuid,
        BillingModeSummary=_billing(table, current, now_seconds),
        LocalSecondaryIndexes=local or None,
        GlobalSecondaryIndexes=described or None,
        StreamSpecification=view_type and {"StreamEnabled": True, "StreamViewType": view_type},
        LatestStreamLabel=label,
        LatestStreamArn=label and f"{table.arn}/stream/{label}",
        RestoreSummary=_restore(table, current),
        SSEDescription=_encryption(table, now_seconds),
        TableClassSummary=_table_class(table),
        DeletionProtectionEnabled=table.is_deletion_protected,
        OnDemandThroughput=on_demand_maxima(table),
        WarmThroughput=_warm(table, None, now_seconds, current),
        VectorIndexes=[_vector_index(table, index, now_seconds, statistics, current) for index in table.vector_indexes]
        or None,
    )


def describe_deleted(table: Table, now_seconds: float, statistics: StatisticsBySource) -> dict[str, Any]:
    """TableDescription of DeleteTable's reply, with fewer members: no keys, attribute definitions, indexes, …"""
    return _given(
        TableName=table.name,
        TableStatus="DELETING",
        ProvisionedThroughput=_throughput(table, now_seconds),
        TableSizeBytes=table_size_bytes(table, statistics),
        ItemCount=statistics[table.source_id][0],
        TableArn=table.arn,
        TableId=table.uuid,
        BillingModeSummary=_billing(table, "DELETING", now_seconds),
        DeletionProtectionEnabled=table.is_deletion_protected,
    )


def _given(**members: Any) -> dict[str, Any]:
    """The members that have a value: what is None has no member in a reply."""
    return {member: value for member, value in members.items() if value is not None}


def describe_keys(keys: KeySchema) -> list[dict[str, str]]:
    """KeySchema in wire form."""
    return [
        *({"AttributeName": name, "KeyType": "HASH"} for name in keys.partition_names),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in keys.sort_names),
    ]


def stream_label(at_seconds: float) -> str:
    """The label of a stream switched on at this time: ISO 8601 in UTC, with milliseconds, without time zone."""
    return datetime.fromtimestamp(at_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def warm_units(table: Table, index: Index | None = None, now_seconds: float | None = None) -> Throughput:
    """Warm throughput of the table or a global index: what was requested, or what the billing mode gives, if more.

    `now_seconds`: as it is at this time, before a running change of it; None: as it will be.
    """
    subject = index or table
    if table.billing_mode == "PROVISIONED":
        floor = subject.throughput or Throughput(0, 0)
    else:
        floor = Throughput(ON_DEMAND_WARM_READ_UNITS, ON_DEMAND_WARM_WRITE_UNITS)
    return _at_least(floor, subject, now_seconds)


def _at_least(floor: Throughput, subject: Table | Index, now_seconds: float | None) -> Throughput:
    """The requested warm throughput, or before a change that runs at `now_seconds` the former one,
    but at least `floor`.
    """
    asked = Throughput(subject.warm_read_units or 0, subject.warm_write_units or 0)
    if now_seconds is not None and subject.warm_updating_until_seconds > now_seconds:
        asked = subject.former_warm or asked
    return Throughput(max(floor.read_units, asked.read_units), max(floor.write_units, asked.write_units))


def units_shown(throughput: Throughput | None) -> dict[str, int]:
    """ProvisionedThroughput in wire form, as of what is on demand if there is none."""
    units = throughput or Throughput(0, 0)
    return {"ReadCapacityUnits": units.read_units, "WriteCapacityUnits": units.write_units}


def _throughput(subject: Table | Index, now_seconds: float) -> dict[str, Any]:
    """ProvisionedThroughputDescription of a table or index; its units are 0 for on-demand tables."""
    decreased_at = subject.throughput_decreased_at_seconds
    if isinstance(subject, Table) and subject.billing_mode == "PAY_PER_REQUEST" and former_units(subject, now_seconds):
        decreased_at = subject.switches_to_on_demand_seconds[-1]
    units = shown_throughput(subject, now_seconds) or Throughput(0, 0)
    return _given(
        LastIncreaseDateTime=subject.throughput_increased_at_seconds,
        LastDecreaseDateTime=decreased_at,
        NumberOfDecreasesToday=decreases_today(subject, now_seconds),
        ReadCapacityUnits=units.read_units,
        WriteCapacityUnits=units.write_units,
    )


def _warm(table: Table, index: Index | None, now_seconds: float, shown_status: str) -> dict[str, Any]:
    subject = index or table
    former = former_units(subject, now_seconds)
    units = warm_units(table, index, now_seconds) if former is None else _at_least(former, subject, now_seconds)
    if subject.warm_updating_until_seconds > now_seconds:
        shown_status = "UPDATING"
    elif shown_status == "UPDATING":
        shown_status = "ACTIVE"
    return {
        "ReadUnitsPerSecond": units.read_units,
        "WriteUnitsPerSecond": units.write_units,
        "Status": shown_status,
    }


def on_demand_maxima(subject: Table | Index) -> dict[str, int] | None:
    """OnDemandThroughput in wire form, without a maximum that is not set; None if neither is set."""
    read, write = subject.on_demand_max_read_units, subject.on_demand_max_write_units
    return _given(MaxReadRequestUnits=read, MaxWriteRequestUnits=write) or None


def _billing(table: Table, current: Status, now_seconds: float) -> dict[str, Any] | None:
    """BillingModeSummary if the table ever was on demand, with the time of the switch to it once the table is ACTIVE;
    None otherwise.
    """
    switched_at = table.switched_to_on_demand_at_seconds
    if switched_at is None:
        return None
    is_told = current != "CREATING" and switched_at <= now_seconds
    return _given(BillingMode=table.billing_mode, LastUpdateToPayPerRequestDateTime=switched_at if is_told else None)


def _restore(table: Table, current: Status) -> dict[str, Any] | None:
    """RestoreSummary while a restored table is CREATING; None otherwise."""
    source = table.restored_from
    if source is None or current != "CREATING":
        return None
    return _given(
        SourceBackupArn=source.backup_arn,
        SourceTableArn=source.table_arn,
        RestoreDateTime=source.at_seconds,
        RestoreInProgress=True,
    )


def _global_index(
    table: Table, index: Index, now_seconds: float, statistics: StatisticsBySource, current: Status
) -> dict[str, Any]:
    shown = index_status(index, current, now_seconds)
    is_created = shown == "CREATING" and index.state == "CREATING"
    return _given(
        **_describe_index(table, index, statistics),
        IndexStatus=shown,
        Backfilling=current == "ACTIVE" if is_created else None,
        ProvisionedThroughput=_throughput(index, now_seconds),
        OnDemandThroughput=on_demand_maxima(index),
        WarmThroughput=_warm(table, index, now_seconds, shown),
    )


def _describe_index(table: Table, index: Index, statistics: StatisticsBySource) -> dict[str, Any]:
    """The members of an index's description that local and global indexes share."""
    item_count, size_bytes = statistics[make_source_id(table.table_id, index.index_id)]
    return {
        "IndexName": index.name,
        "KeySchema": describe_keys(index.keys),
        "Projection": describe_projection(index.projection),
        "IndexSizeBytes": size_bytes,
        "ItemCount": item_count,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }


def _vector_index(
    table: Table, index: VectorIndex, now_seconds: float, statistics: StatisticsBySource, current: Status
) -> dict[str, Any]:
    """VectorIndexDescription. `Backfilling` is there only while an index is added to a table."""
    shown = vector_index_status(index, current, now_seconds)
    item_count, size_bytes = statistics[make_source_id(table.table_id, index.index_id)]
    is_added = shown == "CREATING" and current != "CREATING"
    return _given(
        **describe_vectors(index),
        IndexStatus=shown,
        Backfilling=current == "ACTIVE" or index.allocating_until_seconds < now_seconds if is_added else None,
        IndexSizeBytes=size_bytes,
        ItemCount=item_count,
        IndexArn=f"{table.arn}/index/{index.name}",
    )


def describe_vectors(index: VectorIndex) -> dict[str, Any]:
    """What was declared of a vector index, in wire form: the members that its description and a backup's share."""
    return _given(
        IndexName=index.name,
        SearchSchema=[{"AttributeName": one.name, "SearchSchemaElementType": one.kind} for one in index.search_schema]
        or None,
        Projection=describe_projection(index.projection),
        VectorAttribute={"AttributeName": index.attribute},
        Dimensions=index.dimensions,
        DistanceFunction=index.distance,
    )


def describe_projection(projection: IndexProjection) -> dict[str, Any]:
    """Projection in wire form."""
    return _given(ProjectionType=projection.kind, NonKeyAttributes=list(projection.non_key_names) or None)


def describe_encryption(table: Table, shown_status: str) -> dict[str, Any]:
    """SSEDescription of a table with a key."""
    return {"Status": shown_status, "SSEType": table.sse_type, "KMSMasterKeyArn": table.kms_key_arn}


def _encryption(table: Table, now_seconds: float) -> dict[str, Any] | None:
    is_updating = table.encryption_updating_until_seconds > now_seconds
    return None if table.sse_type is None else describe_encryption(table, "UPDATING" if is_updating else "ENABLED")


def _table_class(table: Table) -> dict[str, Any] | None:
    """TableClassSummary once the class has been changed, or of another class than STANDARD; None otherwise."""
    changed_at = table.table_class_changed_at_seconds
    is_usual = table.table_class == "STANDARD" and changed_at is None
    return None if is_usual else _given(TableClass=table.table_class, LastUpdateDateTime=changed_at)
