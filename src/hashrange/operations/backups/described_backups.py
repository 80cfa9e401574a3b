"""How are backups described in replies? As structures of the service model, with times as epoch seconds.

What was recorded of a table is shown as it was: without ARNs, states and sizes of indexes.
Source: service model of November 2026; captures of October 2026 for when members appear.
"""

from typing import Any

from hashrange.operations.backups.kept_backups import Backup
from hashrange.tables.description import (
    describe_encryption,
    describe_keys,
    describe_projection,
    describe_vectors,
    on_demand_maxima,
    units_shown,
)
from hashrange.tables.schema import Index, Table


def backup_details(backup: Backup, arn: str | None = None) -> dict[str, Any]:
    """BackupDetails. `arn`: as the request names the backup; None: its own."""
    details = {
        "BackupArn": arn or backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size_bytes,
        "BackupStatus": backup.state,
        "BackupType": _kind(backup),
        "BackupCreationDateTime": backup.created_at_seconds,
    }
    return details | _expiry(backup)


def backup_summary(backup: Backup) -> dict[str, Any]:
    """BackupSummary, in ListBackups."""
    table = backup.table
    shown = {
        "TableName": table.name,
        "TableId": table.uuid,
        "TableArn": table.arn,
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupCreationDateTime": backup.created_at_seconds,
    }
    last = {
        "BackupStatus": backup.state,
        "BackupType": _kind(backup),
        "BackupSizeBytes": backup.size_bytes,
    }
    return shown | _expiry(backup) | last


def describe_backup_of(backup: Backup, arn: str) -> dict[str, Any]:
    """BackupDescription, of the backup that a request names `arn`."""
    return {
        "BackupDetails": backup_details(backup, arn),
        "SourceTableDetails": _source_details(backup),
        "SourceTableFeatureDetails": _source_features(backup.table),
    }


def _kind(backup: Backup) -> str:
    return "SYSTEM" if backup.is_system else "USER"


def _expiry(backup: Backup) -> dict[str, Any]:
    return {} if backup.expires_at_seconds is None else {"BackupExpiryDateTime": backup.expires_at_seconds}


def _source_details(backup: Backup) -> dict[str, Any]:
    table = backup.table
    details = {
        "TableName": table.name,
        "TableId": table.uuid,
        "TableArn": table.arn,
        "TableSizeBytes": backup.size_bytes,
        "KeySchema": describe_keys(table.keys),
        "TableCreationDateTime": table.created_at_seconds,
        "ProvisionedThroughput": units_shown(table.throughput),
    }
    maxima = on_demand_maxima(table)
    if maxima is not None:
        details["OnDemandThroughput"] = maxima
    return details | {"ItemCount": backup.item_count, "BillingMode": table.billing_mode}


def _source_features(table: Table) -> dict[str, Any]:
    indexes = [one for one in table.indexes if one.state != "DELETING"]
    local = [_index(one) for one in indexes if not one.is_global]
    others = [_index(one) for one in indexes if one.is_global]
    features: dict[str, Any] = {}
    if local:
        features["LocalSecondaryIndexes"] = local
    if others:
        features["GlobalSecondaryIndexes"] = others
    vector_indexes = [describe_vectors(one) for one in table.vector_indexes if one.state != "DELETING"]
    if vector_indexes:
        features["VectorIndexes"] = vector_indexes
    if table.stream_view_type is not None:
        features["StreamDescription"] = {"StreamEnabled": True, "StreamViewType": table.stream_view_type}
    time_to_live = table.time_to_live
    if time_to_live is not None and time_to_live.state != "DISABLED":
        described = {"TimeToLiveStatus": "ENABLED", "AttributeName": time_to_live.attribute}
        features["TimeToLiveDescription"] = described
    if table.sse_type is not None:
        features["SSEDescription"] = describe_encryption(table, "ENABLED")
    return features


def _index(index: Index) -> dict[str, Any]:
    """LocalSecondaryIndexInfo or GlobalSecondaryIndexInfo."""
    described = {
        "IndexName": index.name,
        "KeySchema": describe_keys(index.keys),
        "Projection": describe_projection(index.projection),
    }
    if index.is_global:
        described["ProvisionedThroughput"] = units_shown(index.throughput)
        maxima = on_demand_maxima(index)
        if maxima is not None:
            described["OnDemandThroughput"] = maxima
    return described
