"""Who has signed a URL of S3 in the older way? SDKs for Python still make such URLs unless they are told otherwise:
`?AWSAccessKeyId=…&Signature=…&Expires=…`.

It names no Region and no service; only S3 knows it. The Region is taken for us-east-1, the one in which every SDK
makes it.
Source: S3's API reference, *Signing and authenticating REST requests* (signature version 2); botocore, HmacV1QueryAuth.
"""

import hmac
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote

from hashrange.errors import InvalidSignatureException
from hashrange.messages import s3 as say
from hashrange.operations.operation import Scope
from hashrange.s3.objects import S3Failure
from hashrange.server.access import Access
from hashrange.server.credentials import Credential
from hashrange.settings import SHARED_REGION
from hashrange.wire.http import HttpRequest, query_pairs

_TOKEN = "x-amz-security-token"  # noqa: S105 - the name of a header
_SIGNED = frozenset(
    [
        "accelerate",
        "acl",
        "analytics",
        "cors",
        "defaultObjectAcl",
        "delete",
        "inventory",
        "lifecycle",
        "location",
        "logging",
        "metrics",
        "notification",
        "object-lock",
        "partNumber",
        "policy",
        "replication",
        "requestPayment",
        "response-cache-control",
        "response-content-disposition",
        "response-content-encoding",
        "response-content-language",
        "response-content-type",
        "response-expires",
        "restore",
        "select",
        "select-type",
        "storageClass",
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
"""Parameters that the signature covers."""
_EXPIRES_DIGITS_MAX = 12


def has_query_signature(request: HttpRequest) -> bool:
    """True if the URL is signed in the older way."""
    url = request.url
    if b"AWSAccessKeyId=" not in url or b"Signature=" not in url:
        return False
    return {"AWSAccessKeyId", "Signature", "Expires"} <= {name for name, _ in query_pairs(url)}


def authorize_query(request: HttpRequest, access: Access, headers: Mapping[str, str]) -> Scope:
    """The Scope of the sender. Raises S3Failure and the errors of `Access`."""
    query = dict(query_pairs(request.url))
    expires = query["Expires"]
    is_number = expires.isascii() and expires.isdigit() and len(expires) <= _EXPIRES_DIGITS_MAX
    if not is_number or int(expires) < access.wall_time():
        raise S3Failure("AccessDenied", say.REQUEST_EXPIRED, 403)
    token = query.get(_TOKEN, headers.get(_TOKEN))

    def verify(credential: Credential) -> None:
        text = _string_to_sign(request, query, headers)
        right = b64encode(hmac.digest(credential.secret_key.encode(), text.encode("latin-1", "replace"), "sha1"))
        if not hmac.compare_digest(right, query["Signature"].encode()):
            raise InvalidSignatureException(say.SIGNATURE_MISMATCH)

    return access.authorize_key(query["AWSAccessKeyId"], token, SHARED_REGION, verify)


def _string_to_sign(request: HttpRequest, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    given = {name: value for name, value in query.items() if name.startswith("x-amz-")} | dict(headers)
    amz = [f"{name}:{given[name]}" for name in sorted(given) if name.startswith("x-amz-") and name != "x-amz-date"]
    content = [headers.get(name, query.get(name, "")) for name in ("content-md5", "content-type")]
    path, _, rest = request.url.decode("latin-1").partition("?")
    pieces = [piece.partition("=") for piece in rest.split("&")]
    signed = sorted((name, mark, unquote(value)) for name, mark, value in pieces if name in _SIGNED)
    resource = path + ("?" if signed else "") + "&".join("".join(one) for one in signed)
    return "\n".join((request.method.decode("latin-1"), *content, query["Expires"], *amz, resource))
