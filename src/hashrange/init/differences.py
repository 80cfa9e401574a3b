"""Is a table that exists the one that a CreateTable request asks for?
Compares what requests define, and names the members that differ.

Not compared: tags, the resource policy and warm throughput, and all that is not defined by a request.
"""

from typing import Any

from hashrange.tables.schema import Index, Table


def differing_members(existing: Table, wanted: Table) -> list[str]:
    """Names of CreateTable's members in which the two tables differ; empty if they are defined alike."""
    before, after = _defined(existing), _defined(wanted)
    return [name for name in before if before[name] != after[name]]


def _defined(table: Table) -> dict[str, Any]:
    return {
        "KeySchema": table.keys,
        "AttributeDefinitions": table.attribute_types,
        "BillingMode": table.billing_mode,
        "ProvisionedThroughput": table.throughput,
        "OnDemandThroughput": (table.on_demand_max_read_units, table.on_demand_max_write_units),
        "LocalSecondaryIndexes": _indexes(table, is_global=False),
        "GlobalSecondaryIndexes": _indexes(table, is_global=True),
        "StreamSpecification": table.stream_view_type,
        "SSESpecification": (table.sse_type, table.kms_key_arn),
        "TableClass": table.table_class,
        "DeletionProtectionEnabled": table.is_deletion_protected,
    }


def _indexes(table: Table, *, is_global: bool) -> dict[str, Any]:
    """Name → definition of each local or global index that is not being deleted."""
    return {
        index.name: _index_definition(index)
        for index in table.indexes
        if index.is_global == is_global and index.state != "DELETING"
    }


def _index_definition(index: Index) -> tuple[Any, ...]:
    projection = index.projection
    return (
        index.keys,
        projection.kind,
        frozenset(projection.non_key_names),
        index.throughput,
        index.on_demand_max_read_units,
        index.on_demand_max_write_units,
    )
