"""What is kept of a bulk put? Its record, which describes it for 90 days and longer; while it runs, its progress, and
the lines of its reports that are in no object yet.

Documents: `bulk/ACCOUNT/REGION/ID`, `bulk-progress/ACCOUNT/REGION/ID` and `bulk-report/ACCOUNT/REGION/ID/TYPE/NUMBER`.
The last two are there only as long as the bulk put runs. Layout: docs/formats/transfers.md.
"""

from typing import Any, Literal

import msgspec

from hashrange.operations.transfers.import_records import InputCompressionType, ReadingPlace, S3BucketSource
from hashrange.operations.transfers.transfer_records import (
    BucketName,
    BucketOwner,
    KeptTransfers,
    KeyPrefix,
    KmsKeyId,
    S3SseAlgorithm,
    TransferRecord,
    folder_in,
)
from hashrange.store.documents import Documents

BULK_PREFIX, BULK_PROGRESS_PREFIX, BULK_REPORT_PREFIX = "bulk/", "bulk-progress/", "bulk-report/"
BULK_JOB = "bulk puts"
"""Name of the job that works on bulk puts."""
BulkInputFormat = Literal["DYNAMODB_JSON", "ION"]
PerformanceTier = Literal["STANDARD", "ACCELERATED"]
OutputType = Literal["ERROR", "CONDITION_CHECK_FAILURE"]


class InputS3Configuration(S3BucketSource, frozen=True, kw_only=True, omit_defaults=True):
    """The objects that are read, and how."""

    InputFormat: BulkInputFormat
    InputCompressionType: "InputCompressionType | None" = None


class OutputS3Configuration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the reports go, and which there are. The model does not require S3Bucket, its documentation does."""

    S3BucketOwner: BucketOwner | None = None
    S3Bucket: BucketName | None = None
    S3KeyPrefix: KeyPrefix | None = None
    S3SseAlgorithm: "S3SseAlgorithm | None" = None
    S3SseKmsKeyId: KmsKeyId | None = None
    OutputType: list["OutputType"]


class BulkCounts(msgspec.Struct, omit_defaults=True):
    """What a bulk put has done so far."""

    processed: int = 0
    failed: int = 0
    refused: int = 0
    """Items whose conditions were false."""
    input_bytes: int = 0
    """Bytes of the objects that were read to their end; once it has ended, of what was read of another one, too."""
    table_bytes: int = 0
    index_bytes: dict[str, int] = {}
    """Name of each index → bytes of the entries that were put."""


class BulkRecord(TransferRecord, frozen=True, kw_only=True, omit_defaults=True):
    """A bulk put. The form of its ARN is our own (unconfirmed)."""

    arn_part = "bulk-operation"

    transfer_id: str = msgspec.field(name="bulk_id")
    table_id: int
    digest: str
    """Hash of the request without its token."""
    source: InputS3Configuration
    output: OutputS3Configuration
    max_units: int | None = None
    tier: PerformanceTier = "STANDARD"
    counts: BulkCounts | None = None
    """None until it has ended."""
    total_bytes: int | None = None

    @property
    def report_root(self) -> str:
        """What the keys of its reports begin with."""
        return f"{folder_in(self.output.S3KeyPrefix)}{self.transfer_id}/"


class BulkProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a bulk put has come."""

    counts: BulkCounts | None = None
    """None until something has been read."""
    place: ReadingPlace = ReadingPlace()
    begun_bytes: int = 0
    """Bytes that were read of the object in which the place is."""
    has_begun: bool = False
    """True once it may have put an item."""
    total_bytes: int | None = None
    """Bytes of all objects, once they have been counted."""
    parts: dict[str, int] = {}
    """Type of a report → how many objects of it are whole."""
    failure: tuple[str, str] | None = None
    """FailureCode and FailureMessage once it has failed; only its reports are still to be written."""


def bulk_counts(record: BulkRecord, progress: BulkProgress | None) -> BulkCounts:
    """What a bulk put has done so far, or in all."""
    return record.counts or (None if progress is None else progress.counts) or BulkCounts()


def bulk_input_bytes(record: BulkRecord, progress: BulkProgress | None) -> int:
    """Bytes of the objects that have been read."""
    return bulk_counts(record, progress).input_bytes + (0 if progress is None else progress.begun_bytes)


def bulk_total_bytes(record: BulkRecord, progress: BulkProgress | None) -> int | None:
    """Bytes of all objects; None if they have not been counted."""
    return record.total_bytes if progress is None else progress.total_bytes


def kept_bulk_puts(documents: Documents) -> KeptTransfers[BulkRecord, BulkProgress]:
    """All bulk puts."""
    return KeptTransfers(documents, (BulkRecord, BulkProgress), (BULK_PREFIX, BULK_PROGRESS_PREFIX), "a bulk put")


def report_name(record: BulkRecord, kind: str) -> str:
    """What the names of documents with lines of a report begin with."""
    return f"{BULK_REPORT_PREFIX}{'/'.join(record.path)}/{kind}"


def described_bulk_put(record: BulkRecord, progress: BulkProgress | None) -> dict[str, Any]:
    """A bulk put as it is told."""
    counts = bulk_counts(record, progress)
    told: dict[str, Any] = {
        "BulkOperationArn": record.arn,
        "BulkOperationStatus": record.status,
        "TableDetails": [{"TableName": record.table_name, "TableId": record.table_uuid}],
        "ClientToken": record.token,
        "InputS3Configuration": msgspec.to_builtins(record.source),
        "OutputS3Configuration": msgspec.to_builtins(record.output),
        "StartTime": record.started_seconds,
        "ProcessedItemCount": counts.processed,
        "ProcessedInputBytes": bulk_input_bytes(record, progress),
        "FailedItemCount": counts.failed,
        "PerformanceTier": record.tier,
    }
    optional: dict[str, Any] = {
        "TotalInputBytes": bulk_total_bytes(record, progress),
        "MaxWriteRequestUnits": record.max_units,
        "EndTime": record.ended_seconds or None,
        "FailureCode": record.failure_code,
        "FailureMessage": record.failure_message,
    }
    return told | {name: value for name, value in optional.items() if value is not None}
