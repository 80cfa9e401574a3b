"""What do the manifests of an export say? The summary describes it, the list has a line for each data file; each has a
file with its MD5 beside it. Source: global-tables-backup.md 3.1, 3.2.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange.operations.transfers.export_records import DataFile, ExportRecord

FULL_VERSION, INCREMENTAL_VERSION = "2020-06-30", "2023-08-01"
_encode = msgspec.json.Encoder().encode


def manifest_objects(record: ExportRecord, files: Sequence[DataFile]) -> Iterator[tuple[str, bytes]]:
    """Yield key and content of each manifest and of the MD5 beside it; the summary comes last, and says that the export
    is whole.
    """
    folder = record.manifest_key.removesuffix("manifest-summary.json")
    lines = b"".join([_encode(_file_line(one)) + b"\n" for one in files])
    yield f"{folder}manifest-files.json", lines
    yield f"{folder}manifest-files.md5", _md5(lines)
    summary = _encode(_summary(record, f"{folder}manifest-files.json"))
    yield f"{folder}manifest-summary.md5", _md5(summary)
    yield record.manifest_key, summary


def _md5(content: bytes) -> bytes:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest())


def _file_line(file: DataFile) -> dict[str, Any]:
    return {"itemCount": file.item_count, "md5Checksum": file.md5, "etag": file.etag, "dataFileS3Key": file.key}


def _summary(record: ExportRecord, files_key: str) -> dict[str, Any]:
    is_full = record.from_seconds is None
    times = (
        {"exportTime": _time(record.at_seconds)}
        if record.from_seconds is None
        else {"exportFromTime": _time(record.from_seconds), "exportToTime": _time(record.at_seconds)}
    )
    summary = {
        "version": FULL_VERSION if is_full else INCREMENTAL_VERSION,
        "exportArn": record.arn,
        "startTime": _time(record.started_seconds),
        "endTime": _time(record.ended_seconds),
        "tableArn": record.table_arn,
        "tableId": record.table_uuid,
        **times,
        "s3Bucket": record.bucket,
        "s3Prefix": record.prefix,
        "s3SseAlgorithm": record.sse,
        "s3SseKmsKeyId": record.kms_key_id,
        "manifestFilesS3Key": files_key,
        "billedSizeBytes": record.billed_bytes,
        "itemCount": record.item_count,
        "outputFormat": record.format,
    }
    if not is_full:
        summary |= {"outputView": record.view_type, "exportType": "INCREMENTAL_EXPORT"}
    return summary


def _time(seconds: float) -> str:
    moment = datetime.fromtimestamp(round(seconds * 1000) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
