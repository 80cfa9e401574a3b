"""Which headers of an upload does its object keep, and what does a reply with the object say?"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime

from hashrange.messages import s3 as say
from hashrange.s3.api.operation import S3Request
from hashrange.s3.folder_files import ObjectRecord
from hashrange.s3.limits import KEY_BYTES_MAX, METADATA_BYTES_MAX
from hashrange.s3.objects import S3Failure

DEFAULT_TYPE = "binary/octet-stream"
STORAGE_CLASS = "x-amz-storage-class"
STANDARD = "STANDARD"
STORAGE_CLASSES = frozenset(
    [
        "STANDARD",
        "REDUCED_REDUNDANCY",
        "STANDARD_IA",
        "ONEZONE_IA",
        "INTELLIGENT_TIERING",
        "GLACIER",
        "DEEP_ARCHIVE",
        "OUTPOSTS",
        "GLACIER_IR",
        "SNOW",
        "EXPRESS_ONEZONE",
        "FSX_OPENZFS",
        "FSX_ONTAP",
    ]
)
METADATA = "x-amz-meta-"
ENCRYPTION = "x-amz-server-side-encryption"
_KEPT = frozenset((
    "cache-control",
    "content-disposition",
    "content-language",
    "content-type",
    "expires",
    "x-amz-website-redirect-location",
    ENCRYPTION,
    f"{ENCRYPTION}-aws-kms-key-id",
    f"{ENCRYPTION}-bucket-key-enabled",
))  # fmt: skip
_UNSERVED = (
    "x-amz-copy-source",
    f"{ENCRYPTION}-customer-algorithm",
    "x-amz-object-lock-mode",
    "x-amz-write-offset-bytes",
)


def kept_headers(request: S3Request) -> dict[str, str]:
    """The headers that an object keeps. Raises S3Failure for those that cannot be, and for a key that is too long."""
    headers = request.headers
    if len(request.key.encode()) > KEY_BYTES_MAX:
        raise S3Failure("KeyTooLongError", say.KEY_TOO_LONG)
    for name in _UNSERVED:
        if name in headers:
            raise S3Failure("NotImplemented", say.NOT_IMPLEMENTED, 501, Header=name)
    storage_class = headers.get(STORAGE_CLASS, STANDARD)
    if storage_class not in STORAGE_CLASSES:
        raise S3Failure("InvalidStorageClass", say.INVALID_STORAGE_CLASS, 400, StorageClassRequested=storage_class)
    kept = {name: value for name, value in headers.items() if name in _KEPT}
    metadata = {name: value for name, value in headers.items() if name.startswith(METADATA)}
    size_bytes = sum(len(name) - len(METADATA) + len(value) for name, value in metadata.items())
    if size_bytes > METADATA_BYTES_MAX:
        raise S3Failure("MetadataTooLarge", say.METADATA_TOO_LARGE, 400, MaxSizeAllowed=METADATA_BYTES_MAX)
    codings = [one.strip() for one in headers.get("content-encoding", "").split(",")]
    coding = ",".join(one for one in codings if one and one.lower() != "aws-chunked")
    if coding:
        kept["content-encoding"] = coding
    if storage_class != STANDARD:
        kept[STORAGE_CLASS] = storage_class
    return kept | metadata


def headers_of_object(record: ObjectRecord) -> dict[str, str]:
    """The headers of a reply with an object, without its length."""
    return {
        "content-type": DEFAULT_TYPE,
        **record.headers,
        "ETag": f'"{record.etag}"',
        "Last-Modified": http_time(record.modified_ns),
        "Accept-Ranges": "bytes",
    }


def headers_of_upload(etag: str, kept: Mapping[str, str]) -> dict[str, str]:
    """The headers of a reply to an upload."""
    encryption = {name: value for name, value in kept.items() if name.startswith(ENCRYPTION)}
    return {"ETag": f'"{etag}"', **encryption}


def http_time(time_ns: int) -> str:
    """A time as in HTTP."""
    return format_datetime(datetime.fromtimestamp(time_ns // 10**9, UTC), usegmt=True)


def xml_time(time_ns: int) -> str:
    """A time as in XML, with milliseconds."""
    moment = datetime.fromtimestamp(time_ns // 10**9, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ns // 10**6 % 1000:03d}Z"
