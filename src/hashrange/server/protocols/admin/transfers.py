"""`GET transfers`: which exports, imports and bulk puts are there, and how far are they?

Times are in seconds of service time. Those that have ended are listed for as long as DynamoDB's API describes them.
"""

from typing import Any

from hashrange.aws_services.operation import Operation
from hashrange.items.steps import walk
from hashrange.operations.transfers.bulk_records import (
    BulkProgress,
    BulkRecord,
    bulk_counts,
    bulk_input_bytes,
    bulk_total_bytes,
    kept_bulk_puts,
)
from hashrange.operations.transfers.export_records import ExportProgress, ExportRecord, exported_items, kept_exports
from hashrange.operations.transfers.import_records import ImportProgress, ImportRecord, import_counts, kept_imports
from hashrange.operations.transfers.transfer_records import TransferRecord
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Serving


async def tell_transfers(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return the transfers of all accounts and Regions. Gives way. Raises StorageError."""
    documents = serving.service.store.documents
    return {
        "exports": [_shown_export(*one) for one in walk(kept_exports(documents).all())],
        "imports": [_shown_import(*one) for one in walk(kept_imports(documents).all())],
        "bulk_puts": [_shown_bulk_put(*one) for one in walk(kept_bulk_puts(documents).all())],
    }


def _shown(record: TransferRecord, bucket: str, prefix: str | None) -> dict[str, Any]:
    """What is shown of every transfer."""
    shown = {
        "arn": record.arn,
        "table": record.table_name,
        "status": record.status,
        "bucket": bucket,
        "prefix": prefix or "",
        "started_at": record.started_seconds,
    }
    if record.ended_seconds:
        shown["ended_at"] = record.ended_seconds
    if record.failure_code is not None:
        shown |= {"failure_code": record.failure_code, "failure_message": record.failure_message}
    return shown


def _shown_export(record: ExportRecord, progress: ExportProgress | None) -> dict[str, Any]:
    return _shown(record, record.bucket, record.prefix) | {"items": exported_items(record, progress)}


def _shown_import(record: ImportRecord, progress: ImportProgress | None) -> dict[str, Any]:
    counts, source = import_counts(record, progress), record.source
    figures = {"items": counts.imported, "errors": counts.errors, "bytes": counts.processed_bytes}
    return _shown(record, source.S3Bucket, source.S3KeyPrefix) | figures


def _shown_bulk_put(record: BulkRecord, progress: BulkProgress | None) -> dict[str, Any]:
    counts, source = bulk_counts(record, progress), record.source
    figures = {
        "items": counts.processed - counts.failed - counts.refused,
        "errors": counts.failed,
        "refused": counts.refused,
        "bytes": bulk_input_bytes(record, progress),
        "bytes_total": bulk_total_bytes(record, progress),
    }
    return _shown(record, source.S3Bucket, source.S3KeyPrefix) | figures


ENDPOINTS = (Operation("GET transfers", Nothing, tell_transfers, AdminWire()),)
