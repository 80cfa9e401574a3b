"""What does a request's signature claim? It is read from header or query;
every check that needs no credentials file is made.

Checks run in the service's order; the first failure is reported (signing.md 2, steps 1 to 8):
1 a signature in both header and query · 2 in neither · 3 missing or malformed parts ·
4 date, difference from the clock · 5 host not signed · 6 algorithm · 7 form of the credential · 8 scope.
`server.access` and `wire.canonical_request` check the key, the signature, the session token and expiry (9 to 11). Pure.
"""

import re
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn

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

_QUERY_PARTS = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date")
_is_region = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9_-]{0,62})").fullmatch
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
    """Names of the signed headers, lower-case, sorted."""
    date: str
    """Date of the request, `YYYYMMDDTHHMMSSZ`."""
    signature: bytes
    is_presigned: bool
    session_token: str | None

    @property
    def scope(self) -> str:
        """The credential without the access key."""
        return f"{self.day}/{self.region}/{self.service}/{TERMINATOR}"


class _Parts(NamedTuple):
    """Parts of a signature (Credential, date, …), from header or query; only `expires_seconds` is checked."""

    algorithm: str
    credential: str
    signed_headers: str
    signature: str
    date: str
    expires_seconds: int | None
    session_token: str | None
    is_presigned: bool


def read_claim(request: HttpRequest, now_seconds: float, service: str) -> Claim:
    """A request's claim. Raises the service's error for the first of steps 1 to 8 of signing.md 2 that fails."""
    parts = _read_parts(request)
    day = _check_date(parts, now_seconds)
    signed_names = tuple(sorted(name.encode() for name in parts.signed_headers.lower().split(";") if name))
    if b"host" not in signed_names:
        raise InvalidSignatureException(sentences.HOST_NOT_SIGNED)
    if parts.algorithm != ALGORITHM:
        raise IncompleteSignatureException(sentences.ALGORITHM.format(algorithm=parts.algorithm))
    elements = parts.credential.rstrip("/").split("/")
    if len(elements) != 5:
        raise IncompleteSignatureException(sentences.CREDENTIAL_SHAPE.format(credential=parts.credential))
    access_key, scope_date, region, scope_service, terminator = elements
    faults = []
    if not is_region(region):
        faults.append(sentences.SCOPE_REGION.format(region=region))
    if scope_service != service:
        faults.append(sentences.SCOPE_SERVICE.format(service=service))
    if terminator != TERMINATOR:
        faults.append(sentences.SCOPE_TERMINATOR.format(terminator=terminator))
    if scope_date != day:
        faults.append(sentences.SCOPE_DATE.format(scope_date=scope_date, day=day, date=parts.date))
    if faults:
        raise InvalidSignatureException(" ".join(faults))
    return Claim(
        access_key,
        day,
        region,
        service,
        signed_names,
        parts.date,
        parts.signature.encode(),
        parts.is_presigned,
        parts.session_token,
    )


def is_region(region: str) -> bool:
    """True for any Region name that a local client may have configured: `eu-west-1`, `local`, `dummy`."""
    return _is_region(region) is not None


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


def _read_parts(request: HttpRequest) -> _Parts:
    """Read the parts of a signature from the header or the query. Raises the errors of signing.md 2, steps 1 to 3."""
    header = request.header(b"authorization")
    query = dict(query_pairs(request.url)) if b"?" in request.url else {}
    is_presigned = "X-Amz-Algorithm" in query
    if header is not None and is_presigned:
        raise InvalidSignatureException(sentences.BOTH_FORMS)
    if is_presigned:
        return _read_query(query)
    text = header.decode("latin-1").strip() if header is not None else ""
    if not text.startswith("AWS4-"):
        raise MissingAuthenticationTokenException(sentences.MISSING_TOKEN)
    return _read_header(request, text)


def _read_header(request: HttpRequest, text: str) -> _Parts:
    """Read the parts of a signature from the header. Raises IncompleteSignatureException for a missing or bad part."""
    algorithm, *pieces = [piece for piece in re.split(r"[,\s]+", text) if piece]
    found: dict[str, str] = {}
    for piece in pieces:
        name, equal_sign, value = piece.partition("=")
        if not equal_sign:
            raise IncompleteSignatureException(sentences.NOT_KEY_VALUE.format(part=piece, header=text))
        found[name] = value
    date = request.header(b"x-amz-date") or request.header(b"date")
    missing = [
        sentences.HEADER_REQUIRES.format(part=part)
        for part in ("Credential", "Signature", "SignedHeaders")
        if not found.get(part)
    ]
    if date is None:
        missing.append(sentences.HEADER_REQUIRES_DATE)
    if date is None or missing:
        raise IncompleteSignatureException(" ".join([*missing, sentences.HEADER_GIVEN.format(header=text)]))
    token = request.header(b"x-amz-security-token")
    return _Parts(
        algorithm,
        found["Credential"],
        found["SignedHeaders"],
        found["Signature"],
        date.decode("latin-1").strip(),
        None,
        token.decode("latin-1") if token is not None else None,
        False,
    )


def _read_query(query: dict[str, str]) -> _Parts:
    """Read the parts of a signature from the query. Raises IncompleteSignatureException for a missing or bad part."""
    missing = [sentences.QUERY_MUST_INCLUDE.format(part=part) for part in _QUERY_PARTS if not query.get(part)]
    if missing:
        raise IncompleteSignatureException(" ".join([*missing, sentences.QUERY_REEXAMINE]))
    return _Parts(
        query["X-Amz-Algorithm"],
        query["X-Amz-Credential"],
        query["X-Amz-SignedHeaders"],
        query["X-Amz-Signature"],
        query["X-Amz-Date"],
        _expires_seconds(query.get("X-Amz-Expires", "")),
        query.get("X-Amz-Security-Token"),
        True,
    )


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


def _check_date(parts: _Parts, now_seconds: float) -> str:
    """Check the format of a request's date, and its difference from the clock (step 4); return its day, `YYYYMMDD`."""
    seconds = seconds_of(parts.date)
    if seconds is None:
        raise IncompleteSignatureException(sentences.DATE_FORMAT.format(date=parts.date))
    life_seconds = SKEW_SECONDS_MAX if parts.expires_seconds is None else parts.expires_seconds
    if seconds < now_seconds - life_seconds:
        refuse_expired(parts.date, now_seconds, life_seconds)
    if seconds > now_seconds + SKEW_SECONDS_MAX:
        latest = amz_date(now_seconds + SKEW_SECONDS_MAX)
        raise InvalidSignatureException(
            sentences.NOT_YET_CURRENT.format(date=parts.date, latest=latest, now=amz_date(now_seconds))
        )
    return parts.date[:8]


def refuse_expired(date: str, now_seconds: float, life_seconds: int) -> NoReturn:
    """Raise InvalidSignatureException for a signature older than `life_seconds`."""
    raise InvalidSignatureException(
        sentences.EXPIRED.format(
            date=date,
            earliest=amz_date(now_seconds - life_seconds),
            now=amz_date(now_seconds),
            minutes=life_seconds // 60,
        )
    )
