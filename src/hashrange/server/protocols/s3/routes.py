"""Which operation of S3 does a request call, and for which bucket and key? Path style: `/BUCKET/KEY?parameters`.

A parameter that names a part of a bucket or object (`?acl`) must be one of the operation's; others do not matter.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from hashrange.aws_services.operation import Operation
from hashrange.messages import s3 as say
from hashrange.s3.api.operation import S3Wire
from hashrange.s3.objects import S3Failure
from hashrange.wire.http import HttpRequest, query_pairs

SUBRESOURCES = frozenset(
    [
        "abac",
        "accelerate",
        "acl",
        "analytics",
        "annotation",
        "attributes",
        "cors",
        "delete",
        "encryption",
        "intelligent-tiering",
        "inventory",
        "legal-hold",
        "lifecycle",
        "list-type",
        "location",
        "logging",
        "metadataConfiguration",
        "metadataTable",
        "metrics",
        "notification",
        "object-lock",
        "ownershipControls",
        "partNumber",
        "policy",
        "policyStatus",
        "publicAccessBlock",
        "renameObject",
        "replication",
        "requestPayment",
        "restore",
        "retention",
        "select",
        "select-type",
        "session",
        "tagging",
        "torrent",
        "uploadId",
        "uploads",
        "versionId",
        "versioning",
        "versions",
        "website",
    ]
)
"""Parameters that name a part of a bucket or object, or another operation. Source: botocore's model of S3."""
_scheme_and_host = re.compile(rb"^https?://[^/?]*", re.IGNORECASE)


class S3Place(NamedTuple):
    """What a URL names."""

    bucket: str
    key: str
    query: dict[str, str]

    @property
    def target(self) -> str:
        """What an operation is asked of."""
        return ("key" if self.key else "bucket") if self.bucket else "service"


def s3_place_of(request: HttpRequest) -> S3Place:
    """Bucket, key and parameters of a request. Raises S3Failure."""
    url = _scheme_and_host.sub(b"", request.url)
    path = url.partition(b"?")[0]
    try:
        text = unquote_to_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise S3Failure("InvalidURI", say.INVALID_URI) from error
    bucket, _, key = text.removeprefix("/").partition("/")
    return S3Place(bucket, key, dict(query_pairs(request.url)))


class S3Routes:
    """The operations that are served."""

    def __init__(self, operations: Sequence[Operation[S3Wire]]) -> None:
        self._routes: dict[tuple[str, str], list[Operation[S3Wire]]] = {}
        for one in sorted(operations, key=lambda one: -len(one.wire.query)):
            self._routes.setdefault((one.wire.method, one.wire.target), []).append(one)

    def find(self, method: bytes, place: S3Place) -> Operation[S3Wire]:
        """The operation. Raises S3Failure with NotImplemented if it is not served."""
        asked = place.query.keys() & SUBRESOURCES
        for operation in self._routes.get((method.decode("latin-1"), place.target), ()):
            wanted = operation.wire.query
            if asked <= wanted.keys() <= place.query.keys() and all(
                value is None or place.query[name] == value for name, value in wanted.items()
            ):
                return operation
        if not asked and method not in {b"GET", b"HEAD", b"PUT", b"POST", b"DELETE"}:
            raise S3Failure("MethodNotAllowed", say.METHOD_NOT_ALLOWED, 405, Method=method.decode("latin-1")[:20])
        raise S3Failure("NotImplemented", say.NOT_IMPLEMENTED, 501)
