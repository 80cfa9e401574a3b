"""What is kept of an import? Its record, which describes it for 90 days and longer, and its progress while it is made.

Both are documents: `import/ACCOUNT/REGION/ID` and `import-progress/ACCOUNT/REGION/ID`. The second is there exactly as
long as the import is IN_PROGRESS. Layout: docs/formats/transfers.md.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.operations.transfers.transfer_records import (
    BucketName,
    BucketOwner,
    KeptTransfers,
    KeyPrefix,
    TransferRecord,
)
from hashrange.store.documents import Documents

IMPORT_PREFIX, IMPORT_PROGRESS_PREFIX = "import/", "import-progress/"
IMPORT_JOB = "imports"
"""Name of the job that makes imports."""
InputFormat = Literal["DYNAMODB_JSON", "ION", "CSV"]
InputCompressionType = Literal["GZIP", "ZSTD", "NONE"]


class S3BucketSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The bucket that an import or bulk put reads, and what the keys of its objects begin with."""

    S3BucketOwner: BucketOwner | None = None
    S3Bucket: BucketName
    S3KeyPrefix: KeyPrefix | None = None


CsvHeader = Annotated[str, Meta(min_length=1, max_length=65_536, pattern=r"^[\x20-\x21\x23-\x2B\x2D-\x7E]*$")]


class CsvOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What divides the cells of a line, and the names of the columns."""

    Delimiter: Annotated[str, Meta(min_length=1, max_length=1, pattern=r"^[,;:|\t ]$")] | None = None
    HeaderList: Annotated[list[CsvHeader], Meta(min_length=1, max_length=255)] | None = None


class InputFormatOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Options of formats that have some."""

    Csv: CsvOptions | None = None


class ImportRecord(TransferRecord, frozen=True, kw_only=True, omit_defaults=True):
    """An import."""

    arn_part = "import"

    transfer_id: str = msgspec.field(name="import_id")
    source: S3BucketSource
    format: InputFormat
    creation: dict[str, Any]
    """The request's TableCreationParameters, with the members that it has."""
    compression: InputCompressionType = "NONE"
    options: InputFormatOptions | None = None
    counts: "ImportCounts | None" = None
    """None while it is IN_PROGRESS."""

    @property
    def log_group_arn(self) -> str:
        """The log group that the service would write the errors to."""
        return f"arn:aws:logs:{self.region}:{self.account}:log-group:/aws-dynamodb/imports:*"


class ImportCounts(msgspec.Struct, omit_defaults=True):
    """What an import has read so far."""

    processed_bytes: int = 0
    """Bytes of text, without compression."""
    processed: int = 0
    imported: int = 0
    errors: int = 0


class ReadingPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far the objects below a prefix have been read."""

    read_up_to: str = ""
    """Key of the last object that has been read whole; empty: none has."""
    object_key: str = ""
    """Key of the object that is being read."""
    lines_read: int = 0
    """How many of its lines have been read."""
    items_read: int = 0
    """How many items of the next line have been read."""
    has_all: bool = False
    """True once all objects have been read."""


class ImportProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far an import in progress has come."""

    counts: ImportCounts | None = None
    """None until something has been read."""
    place: ReadingPlace = ReadingPlace()


def import_counts(record: ImportRecord, progress: ImportProgress | None) -> ImportCounts:
    """What an import has read so far, or in all."""
    return record.counts or (None if progress is None else progress.counts) or ImportCounts()


def kept_imports(documents: Documents) -> KeptTransfers[ImportRecord, ImportProgress]:
    """All imports."""
    prefixes = (IMPORT_PREFIX, IMPORT_PROGRESS_PREFIX)
    return KeptTransfers(documents, (ImportRecord, ImportProgress), prefixes, "an import")
