"""What is kept of an export? Its record, which describes it for 90 days and longer, and its progress while it is made.

Both are documents: `export/ACCOUNT/REGION/ID` and `export-progress/ACCOUNT/REGION/ID`. The second is there exactly as
long as the export is IN_PROGRESS. The values of its filter, which may be long, are a document of their own,
`export-values/ACCOUNT/REGION/ID`: who lists exports does not read them. Layout: docs/formats/transfers.md.
"""

from typing import Any, Literal

import msgspec

from hashrange.items.rows import decode_row
from hashrange.items.types import Row
from hashrange.operations import shapes
from hashrange.operations.transfers.transfer_records import KeptTransfers, S3SseAlgorithm, TransferRecord, folder_in
from hashrange.store.documents import Documents
from hashrange.tables.schema import KeySchema

EXPORT_PREFIX, EXPORT_PROGRESS_PREFIX, EXPORT_VALUES_PREFIX = "export/", "export-progress/", "export-values/"
EXPORT_JOB = "exports"
"""Name of the job that makes exports."""

ExportFormat = Literal["DYNAMODB_JSON", "ION"]
ExportType = Literal["FULL_EXPORT", "INCREMENTAL_EXPORT"]
ExportViewType = Literal["NEW_IMAGE", "NEW_AND_OLD_IMAGES"]


class FilterSpecification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which items of a table are exported, and which of their attributes."""

    FilterExpression: str | None = None
    ProjectionExpression: str | None = None
    KeyConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


class IncrementalExportSpecification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The times between which changes are exported, in epoch seconds, and with which images."""

    ExportFromTime: float | None = None
    ExportToTime: float | None = None
    ExportViewType: "ExportViewType | None" = None


class ExportRecord(TransferRecord, frozen=True, kw_only=True, omit_defaults=True):
    """An export."""

    arn_part = "export"

    transfer_id: str = msgspec.field(name="export_id")
    table_id: int
    keys: KeySchema
    """The table's key attributes."""
    digest: str
    """Hash of the request without its token."""
    at_seconds: float
    """The moment whose items are exported; of an incremental export, the end of its changes."""
    bucket: str
    told: dict[str, Any]
    """Members of the request as they are told, with defaults."""
    bucket_owner: str = ""
    prefix: str | None = None
    sse: S3SseAlgorithm = "AES256"
    kms_key_id: str | None = None
    format: ExportFormat = "DYNAMODB_JSON"
    from_seconds: float | None = None
    """The begin of the changes of an incremental export; None: it is a full one."""
    view_type: ExportViewType = "NEW_AND_OLD_IMAGES"
    filter: FilterSpecification | None = None
    """Without its values."""
    item_count: int = 0
    billed_bytes: int = 0

    @property
    def owner(self) -> str:
        """The owner of its copy of rows (`store/row_copies.py`)."""
        return EXPORT_PREFIX + "/".join(self.path)

    @property
    def values_name(self) -> str:
        """Name of the document with the values of its filter: a `part_row`."""
        return EXPORT_VALUES_PREFIX + "/".join(self.path)

    @property
    def root(self) -> str:
        """What the keys of all its objects begin with."""
        return folder_in(self.prefix)

    @property
    def manifest_key(self) -> str:
        """The key of its summary manifest."""
        return f"{self.root}{self.transfer_id}/manifest-summary.json"


class DataFile(msgspec.Struct, frozen=True, array_like=True):
    """A data file that is whole."""

    item_count: int
    md5: str
    """Base64 of the MD5 of the compressed file."""
    etag: str
    key: str


class ExportProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far an export in progress has come."""

    files: tuple[DataFile, ...] = ()
    read_up_to: bytes = b""
    """Key of the last row that these files have."""
    billed_bytes: int = 0
    """Size of the rows read so far."""
    has_all: bool = False
    """True once the data files have all rows."""


def exported_items(record: ExportRecord, progress: ExportProgress | None) -> int:
    """How many items are in the data files that are whole."""
    return record.item_count if progress is None else sum([file.item_count for file in progress.files])


def kept_exports(documents: Documents) -> KeptTransfers[ExportRecord, ExportProgress]:
    """All exports."""
    prefixes = (EXPORT_PREFIX, EXPORT_PROGRESS_PREFIX)
    return KeptTransfers(documents, (ExportRecord, ExportProgress), prefixes, "an export", EXPORT_VALUES_PREFIX)


def whole_filter(documents: Documents, record: ExportRecord) -> FilterSpecification | None:
    """The filter of an export with its values; None if it has no filter. Gives way. Raises StorageError."""
    values = None if record.filter is None else documents.get(record.values_name)
    if record.filter is None or values is None:
        return record.filter
    return msgspec.structs.replace(record.filter, ExpressionAttributeValues=decode_row(Row(values)))
