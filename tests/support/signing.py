"""A signer that shares no code with Hashrange: SigV4 with hashlib alone."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote

ACCESS_KEY = "AKIDEXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
REGION = "us-east-1"


def amz_date(seconds: float) -> str:
    """The time as in `20260101T000000Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")


@lru_cache(maxsize=100)
def signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    """The key of one day, Region and service."""
    key = b"AWS4" + secret.encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def sign(
    headers: Mapping[str, str],
    body: bytes,
    *,
    seconds: float,
    access_key: str = ACCESS_KEY,
    secret: str = SECRET_KEY,
    region: str = REGION,
    service: str = "dynamodb",
    method: str = "POST",
    path: str = "/",
    query: str = "",
    payload_hash: str | None = None,
    signed: list[str] | None = None,
) -> dict[str, str]:
    """`headers` with X-Amz-Date and Authorization added; `signed` names what to sign (all, if None)."""
    date = amz_date(seconds)
    complete = {**headers, "X-Amz-Date": date}
    lower = {name.lower(): " ".join(value.split()) for name, value in complete.items()}
    names = sorted(lower if signed is None else signed)
    canonical = "\n".join(
        [
            method, path, query, *[f"{name}:{lower[name]}" for name in names], "", ";".join(names),
            payload_hash or hashlib.sha256(body).hexdigest(),
        ]
    )  # fmt: skip
    scope = f"{date[:8]}/{region}/{service}/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signature = hmac.new(signing_key(secret, date[:8], region, service), to_sign.encode(), hashlib.sha256).hexdigest()
    complete["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    return complete


def presign(
    headers: Mapping[str, str],
    body: bytes,
    *,
    seconds: float,
    access_key: str = ACCESS_KEY,
    secret: str = SECRET_KEY,
    region: str = REGION,
    expires_seconds: int = 900,
    token: str | None = None,
) -> str:
    """The URL (path and query) of a POST whose signature stands in its query; all `headers` are signed."""
    date = amz_date(seconds)
    scope = f"{date[:8]}/{region}/dynamodb/aws4_request"
    names = ";".join(sorted(name.lower() for name in headers))
    pairs = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{access_key}/{scope}",
        "X-Amz-Date": date,
        "X-Amz-Expires": str(expires_seconds),
        "X-Amz-SignedHeaders": names,
    }
    if token is not None:
        pairs["X-Amz-Security-Token"] = token
    query = "&".join(f"{name}={quote(value, safe='~')}" for name, value in sorted(pairs.items()))
    values = [f"{name.lower()}:{headers[name]}" for name in sorted(headers, key=str.lower)]
    canonical = "\n".join(["POST", "/", query, *values, "", names, hashlib.sha256(body).hexdigest()])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = signing_key(secret, date[:8], region, "dynamodb")
    return f"/?{query}&X-Amz-Signature={hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()}"


def sign_chunks(
    pieces: Sequence[bytes], signature: str, *, seconds: float, service: str = "dynamodb", trailer: bytes = b""
) -> bytes:
    """`pieces` as signed chunks, the last of them empty, after a head with that signature.
    `trailer`: a line `name:value`, which follows them with a signature of its own.
    """
    date = amz_date(seconds)
    key = signing_key(SECRET_KEY, date[:8], REGION, service)
    scope = f"{date[:8]}/{REGION}/{service}/aws4_request"
    chunks = []
    for piece in pieces:
        hashes = [hashlib.sha256(b"").hexdigest(), hashlib.sha256(piece).hexdigest()]
        to_sign = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", date, scope, signature, *hashes])
        signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        end = b"\r\n" if piece else b""
        chunks.append(b"%x;chunk-signature=%b\r\n%b%b" % (len(piece), signature.encode(), piece, end))
    if trailer:
        hashed = hashlib.sha256(trailer + b"\n").hexdigest()
        to_sign = f"AWS4-HMAC-SHA256-TRAILER\n{date}\n{scope}\n{signature}\n{hashed}"
        signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        chunks.append(b"%b\r\nx-amz-trailer-signature:%b\r\n" % (trailer, signature.encode()))
    return b"".join(chunks)
