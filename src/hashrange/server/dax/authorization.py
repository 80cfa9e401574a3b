"""Who is a DAX client? It signs with SigV4 for the service `dax`, once for each connection and again every few minutes;
checked as the HTTP side checks signatures.

The string to sign is sent along; what it must say follows from its second and third line. Source: dax.md 1.
"""

import hmac
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from hashrange.errors import (
    ApiError,
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from hashrange.limits import SKEW_SECONDS_MAX
from hashrange.messages import signing as sentences
from hashrange.messages.dax import NODE_SIGNATURE_EXPIRED
from hashrange.operations.operation import Scope
from hashrange.server.credentials import Credential, KnownKey, KnownKeys, account_of_key
from hashrange.wire.canonical_request import signing_key
from hashrange.wire.sigv4 import ALGORITHM, credential_faults, seconds_of

SIGNING_NAME = "dax"
_HOSTS = ("dax.amazonaws.com", "https://dax.amazonaws.com")
"""What clients sign as their host; only the client for Go leaves the scheme on it."""
_EMPTY_HASH = sha256(b"").hexdigest()


class DaxClient(NamedTuple):
    """What is known of a connection's client."""

    scope: Scope | None = None
    """Whose tables the client sees; None: it is not let in."""
    refusal: ApiError | None = None
    """Why it is not; None: it has not said who it is."""
    temporary_key: KnownKey | None = None
    """The key that it has signed with, if there is a time from which that is refused."""


def authorize(
    arguments: list[Any], known_keys: KnownKeys | None, wall_time: Callable[[], float]
) -> tuple[str, str, KnownKey | None]:
    """Check the arguments of authorizeConnection, in the service's order. `known_keys`: access keys that are let in;
    None: all are, whatever they sign.

    Returns account and Region of the client, and its key if there is a time from which that is refused.
    Raises ApiError.
    """
    access_key, signature, to_sign, token = arguments[:4]
    if access_key.__class__ is not str or signature.__class__ is not str or to_sign.__class__ is not bytes:
        raise MissingAuthenticationTokenException(sentences.MISSING_TOKEN)
    lines = to_sign.decode("latin-1").split("\n")
    if len(lines) != 4 or lines[0] != ALGORITHM:
        raise IncompleteSignatureException(sentences.ALGORITHM.format(algorithm=lines[0]))
    scope = lines[2].split("/")
    seconds = seconds_of(lines[1])
    if seconds is None:
        raise IncompleteSignatureException(sentences.DATE_FORMAT.format(date=lines[1]))
    if len(scope) != 4:
        raise IncompleteSignatureException(sentences.CREDENTIAL_SHAPE.format(credential=f"{access_key}/{lines[2]}"))
    faults = credential_faults(scope, SIGNING_NAME, lines[1])
    if faults:
        raise InvalidSignatureException(faults[0])
    if abs(wall_time() - seconds) > SKEW_SECONDS_MAX:
        raise InvalidSignatureException(NODE_SIGNATURE_EXPIRED.format(date=lines[1]))
    if known_keys is None:
        return account_of_key(access_key), scope[1], None
    session_token = token if token is None or token.__class__ is str else "\0"  # which is no key's
    known = known_keys.check(access_key, session_token, scope[1], partial(_check_signature, lines, signature))
    return known.credential.account, scope[1], known if known.is_temporary else None


def _check_signature(lines: list[str], signature: str, credential: Credential) -> None:
    """Raise InvalidSignatureException unless this key has signed these lines."""
    day, region, _, _ = lines[2].split("/")
    canonicals = {_canonical_hash(one): one for one in (_canonical(host, lines[1]) for host in _HOSTS)}
    canonical = canonicals.get(lines[3], _canonical(_HOSTS[0], lines[1]))
    to_sign = "\n".join([*lines[:3], _canonical_hash(canonical)])
    key = signing_key(credential.secret_key, day, region, SIGNING_NAME)
    right = hmac.new(key, to_sign.encode("latin-1"), sha256).hexdigest()
    if not hmac.compare_digest(right.encode(), signature.encode()):
        raise InvalidSignatureException(sentences.MISMATCH.format(canonical=canonical, to_sign=to_sign))


def _canonical(host: str, date: str) -> str:
    """The canonical request, which is always the same but for its host and date."""
    return f"POST\n/\n\nhost:{host}\nx-amz-date:{date}\n\nhost;x-amz-date\n{_EMPTY_HASH}"


def _canonical_hash(canonical: str) -> str:
    return sha256(canonical.encode()).hexdigest()
