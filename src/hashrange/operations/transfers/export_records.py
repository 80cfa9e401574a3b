"""What is kept of an export? Its record, which describes it for 90 days and longer, and its progress while it is made.

Both are documents: `export/ACCOUNT/REGION/ID` and `export-progress/ACCOUNT/REGION/ID`. The second is there exactly as
long as the export is IN_PROGRESS. Layout: docs/formats/transfers.md.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.operations import shapes
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords
from hashrange.tables.schema import KeySchema

EXPORT_PREFIX, EXPORT_PROGRESS_PREFIX = "export/", "export-progress/"
EXPORT_JOB = "exports"
"""Name of the job that makes exports."""

ExportFormat = Literal["DYNAMODB_JSON", "ION"]
ExportType = Literal["FULL_EXPORT", "INCREMENTAL_EXPORT"]
ExportViewType = Literal["NEW_IMAGE", "NEW_AND_OLD_IMAGES"]
S3SseAlgorithm = Literal["AES256", "KMS"]
TransferStatus = Literal["IN_PROGRESS", "COMPLETED", "FAILED"]


def folder_in(prefix: str | None) -> str:
    """The folder below a prefix of a request in which exports and reports lie. A prefix that ends in a slash gets no
    second one.
    """
    return f"{prefix.removesuffix('/')}/AWSDynamoDB/" if prefix else "AWSDynamoDB/"


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


class ExportRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """An export. Times are seconds of service time."""

    export_id: str
    account: str
    region: str
    table_name: str
    table_id: int
    table_uuid: str
    keys: KeySchema
    """The table's key attributes."""
    token: str
    digest: str
    """Hash of the request without its token."""
    started_seconds: float
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
    status: TransferStatus = "IN_PROGRESS"
    ended_seconds: float = 0.0
    item_count: int = 0
    billed_bytes: int = 0
    failure_code: str | None = None
    failure_message: str | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """What identifies it, as in its documents' names."""
        return (self.account, self.region, self.export_id)

    @property
    def owner(self) -> str:
        """The owner of its copy of rows (`store/row_copies.py`)."""
        return EXPORT_PREFIX + "/".join(self.path)

    @property
    def table_arn(self) -> str:
        """The table's ARN."""
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table_name}"

    @property
    def arn(self) -> str:
        """The export's ARN."""
        return f"{self.table_arn}/export/{self.export_id}"

    @property
    def root(self) -> str:
        """What the keys of all its objects begin with."""
        return folder_in(self.prefix)

    @property
    def manifest_key(self) -> str:
        """The key of its summary manifest."""
        return f"{self.root}{self.export_id}/manifest-summary.json"


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


def kept_exports(documents: Documents) -> KeptRecords[ExportRecord]:
    """The records of all exports."""
    return KeptRecords(documents, EXPORT_PREFIX, ExportRecord, "record of an export")


def kept_export_progress(documents: Documents) -> KeptRecords[ExportProgress]:
    """The progress of the exports that are IN_PROGRESS."""
    return KeptRecords(documents, EXPORT_PROGRESS_PREFIX, ExportProgress, "progress of an export")


# The model's own patterns of these begin with `^` and end with `$`, which messages show.
BucketName = Annotated[str, Meta(max_length=255, pattern=r"^^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$$")]
BucketOwner = Annotated[str, Meta(pattern=r"^[0-9]{12}$")]
KeyPrefix = Annotated[str, Meta(max_length=1024)]
TransferToken = Annotated[str, Meta(pattern=r"^^[^\$]+$$")]
KmsKeyId = Annotated[str, Meta(min_length=1, max_length=2048)]
