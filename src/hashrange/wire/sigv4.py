"""What does a request's signature claim? It is read from header or query;
every check that needs no credentials file is made.

Checks run in the service's order; the first failure is reported (signing.md 2, steps 1 to 8):
1 a signature in both header and query · 2 in neither · 3 missing or malformed parts ·
4 date, difference from the clock · 5 host not signed · 6 algorithm · 7 form of the credential · 8 scope.
`server.access` and `wire.canonical_request` check the key, the signature, the session token and expiry (9 to 11). Pure.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from hashrange.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from hashrange.limits import EXPIRES_SECONDS_MAX, SKEW_SECONDS_MAX
from hashrange.messages import signing as sentences
from hashrange.wire.http import HttpRequest, query_pairs

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"
EXPIRES_DIGITS_MAX = 20
"""Greatest length of X-Amz-Expires: longer numbers are refused unread, as Python reads no more than 4300 digits."""

_HEADER_PARTS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARTS = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date")
is_region = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}").fullmatch
"""Matches any Region name that a local client may have configured: `eu-west-1`, `local`, `dummy`."""
_is_whole_number = re.compile(r"-?[0-9]+").fullmatch
_is_basic_date = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII).fullmatch


class Claim(NamedTuple):
    """What a request states about its signature: well-formed, but not yet verified."""

    access_key: str
    day: str
    """Day of the scope and of the date, `YYYYMMDD`."""
    region: str
    service: str
    signed_names: tuple[bytes, ...]
    """Names of the signed headers, lower-case, sorted, each once: repeated a thousand times, a long header would make a
    canonical request of many MB."""
    date: str
    """Date of the request, `YYYYMMDDTHHMMSSZ`."""
    signature: bytes
    is_presigned: bool
    session_token: str | None

    @property
    def scope(self) -> str:
        """The credential without the access key."""
        return f"{self.day}/{self.region}/{self.service}/{TERMINATOR}"


def read_claim(request: HttpRequest, now_seconds: float, service: str) -> Claim:
    """A request's claim. Raises the service's error for the first of steps 1 to 8 of signing.md 2 that fails."""
    parts, valid_seconds = _read_parts(request)
    date, credential = parts["X-Amz-Date"], parts["X-Amz-Credential"]
    _check_date(date, now_seconds, SKEW_SECONDS_MAX if valid_seconds is None else valid_seconds)
    signed_names = tuple(sorted({name.encode() for name in parts["X-Amz-SignedHeaders"].lower().split(";") if name}))
    if b"host" not in signed_names:
        raise InvalidSignatureException(sentences.HOST_NOT_SIGNED)
    if parts["X-Amz-Algorithm"] != ALGORITHM:
        raise IncompleteSignatureException(sentences.ALGORITHM.format(algorithm=parts["X-Amz-Algorithm"]))
    elements = credential.rstrip("/").split("/")
    if len(elements) != 5:
        raise IncompleteSignatureException(sentences.CREDENTIAL_SHAPE.format(credential=credential))
    access_key, *scope = elements
    faults = credential_faults(scope, service, date)
    if faults:
        raise InvalidSignatureException(" ".join(faults))
    signature, token = parts["X-Amz-Signature"].encode(), parts.get("X-Amz-Security-Token")
    is_presigned = valid_seconds is not None
    return Claim(access_key, date[:8], scope[1], service, signed_names, date, signature, is_presigned, token)


def credential_faults(scope: Sequence[str], service: str, date: str) -> list[str]:
    """What is wrong with the scope of a signature: its day, Region, service and terminator."""
    scope_date, region, scope_service, terminator = scope
    faults = []
    if not is_region(region):
        faults.append(sentences.SCOPE_REGION.format(region=region))
    if scope_service != service:
        faults.append(sentences.SCOPE_SERVICE.format(service=service))
    if terminator != TERMINATOR:
        faults.append(sentences.SCOPE_TERMINATOR.format(terminator=terminator))
    if scope_date != date[:8]:
        faults.append(sentences.SCOPE_DATE.format(scope_date=scope_date, day=date[:8], date=date))
    return faults


def amz_date(seconds: float) -> str:
    """The time in ISO 8601's basic format, `20261121T120000Z`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y%m%dT%H%M%SZ")


def seconds_of(date: str) -> int | None:
    """Seconds since the epoch of a date such as `20261121T120000Z`; None if the text is no such date."""
    if not _is_basic_date(date):
        return None
    try:
        return int(datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _read_parts(request: HttpRequest) -> tuple[Mapping[str, str], int | None]:
    """The parts of a signature by their names in a query, whether they stand there or in the header; and for how many
    seconds a presigned request is valid, None for any other. Raises the errors of signing.md 2, steps 1 to 3.
    """
    header = request.header(b"authorization")
    query = dict(query_pairs(request.url)) if b"?" in request.url else {}
    is_presigned = "X-Amz-Algorithm" in query
    if header is not None and is_presigned:
        raise InvalidSignatureException(sentences.BOTH_FORMS)
    if is_presigned:
        missing = [sentences.QUERY_MUST_INCLUDE.format(part=part) for part in _QUERY_PARTS if not query.get(part)]
        if missing:
            raise IncompleteSignatureException(" ".join([*missing, sentences.QUERY_REEXAMINE]))
        return query, _expires_seconds(query.get("X-Amz-Expires", ""))
    text = header.decode("latin-1").strip() if header is not None else ""
    if not text.startswith("AWS4-"):
        raise MissingAuthenticationTokenException(sentences.MISSING_TOKEN)
    return _read_header(request, text), None


def _read_header(request: HttpRequest, text: str) -> dict[str, str]:
    """Read the parts of a signature from the header. Raises IncompleteSignatureException for a missing or bad part."""
    algorithm, *pieces = [piece for piece in re.split(r"[,\s]+", text) if piece]
    found: dict[str, str] = {}
    for piece in pieces:
        name, equal_sign, value = piece.partition("=")
        if not equal_sign:
            raise IncompleteSignatureException(sentences.NOT_KEY_VALUE.format(part=piece, header=text))
        found[name] = value
    date = request.header(b"x-amz-date") or request.header(b"date")
    missing = [sentences.HEADER_REQUIRES.format(part=part) for part in _HEADER_PARTS if not found.get(part)]
    if date is None:
        missing.append(sentences.HEADER_REQUIRES_DATE)
    if date is None or missing:
        raise IncompleteSignatureException(" ".join([*missing, sentences.HEADER_GIVEN.format(header=text)]))
    parts = {f"X-Amz-{part}": found[part] for part in _HEADER_PARTS}
    parts |= {"X-Amz-Algorithm": algorithm, "X-Amz-Date": date.decode("latin-1").strip()}
    token = request.header(b"x-amz-security-token")
    return parts if token is None else {**parts, "X-Amz-Security-Token": token.decode("latin-1")}


def _expires_seconds(expires: str) -> int:
    """Seconds for which a presigned request is valid. Raises IncompleteSignatureException.

    The errors, and that they come after those of missing parts, are unconfirmed.
    """
    if not expires:
        missing = sentences.QUERY_MUST_INCLUDE.format(part="X-Amz-Expires")
        raise IncompleteSignatureException(f"{missing} {sentences.QUERY_REEXAMINE}")
    if not _is_whole_number(expires):
        raise IncompleteSignatureException(sentences.EXPIRES_NO_NUMBER)
    if expires.startswith("-"):
        raise IncompleteSignatureException(sentences.EXPIRES_NEGATIVE)
    if len(expires) > EXPIRES_DIGITS_MAX or int(expires) > EXPIRES_SECONDS_MAX:
        raise IncompleteSignatureException(sentences.EXPIRES_TOO_LONG)
    return int(expires)


def _check_date(date: str, now_seconds: float, valid_seconds: int) -> None:
    """Check the format of a request's date, and its difference from the clock (step 4)."""
    seconds = seconds_of(date)
    if seconds is None:
        raise IncompleteSignatureException(sentences.DATE_FORMAT.format(date=date))
    if seconds < now_seconds - valid_seconds:
        times = {"earliest": amz_date(now_seconds - valid_seconds), "now": amz_date(now_seconds)}
        raise InvalidSignatureException(sentences.EXPIRED.format(date=date, minutes=valid_seconds // 60, **times))
    if seconds > now_seconds + SKEW_SECONDS_MAX:
        times = {"latest": amz_date(now_seconds + SKEW_SECONDS_MAX), "now": amz_date(now_seconds)}
        raise InvalidSignatureException(sentences.NOT_YET_CURRENT.format(date=date, **times))
