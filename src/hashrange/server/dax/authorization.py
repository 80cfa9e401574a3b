"""Who is a DAX client? It signs with SigV4 for the service `dax`, once for each connection and again every few minutes;
checked as the HTTP side checks signatures.

The string to sign is sent along; what it must say follows from its second and third line. Source: dax.md 1.
"""

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from hashrange.limits import SKEW_SECONDS_MAX
from hashrange.messages import signing as sentences
from hashrange.messages.dax import NODE_SIGNATURE_EXPIRED
from hashrange.operations.operation import Scope
from hashrange.server.credentials import KnownKey, KnownKeys, account_of_key
from hashrange.wire.canonical_request import signing_key
from hashrange.wire.sigv4 import ALGORITHM, TERMINATOR, is_region, seconds_of

SIGNING_NAME = "dax"
_HOSTS = ("dax.amazonaws.com", "https://dax.amazonaws.com")
"""What clients sign as their host; only the client for Go leaves the scheme on it."""
_EMPTY_HASH = sha256(b"").hexdigest()


class DaxRefusal(NamedTuple):
    """Why a client is not let in: the name of an error of the API, and a message."""

    code: str
    message: str


EXPIRED = DaxRefusal("ExpiredTokenException", sentences.EXPIRED_SESSION_TOKEN)


class DaxClient(NamedTuple):
    """What is known of a connection's client."""

    scope: Scope | None = None
    """Whose tables the client sees; None: it is not let in."""
    refusal: DaxRefusal | None = None
    """Why it is not; None: it has not said who it is."""
    temporary_key: KnownKey | None = None
    """The key that it has signed with, if there is a time from which that is refused."""


class Authorized(NamedTuple):
    """Who a client is."""

    account: str
    region: str
    temporary: KnownKey | None = None
    """The key, if there is a time from which it is refused."""


def authorize(  # noqa: C901 - the checks of a signature, in the order of the service
    arguments: list[Any], known_keys: KnownKeys | None, wall_time: Callable[[], float]
) -> Authorized | DaxRefusal:
    """Check the arguments of authorizeConnection. `known_keys`: access keys that are let in;
    None: all are, whatever they sign.
    """
    access_key, signature, to_sign, token = arguments[:4]
    if access_key.__class__ is not str or signature.__class__ is not str or to_sign.__class__ is not bytes:
        return DaxRefusal("MissingAuthenticationTokenException", sentences.MISSING_TOKEN)
    lines = to_sign.decode("latin-1").split("\n")
    if len(lines) != 4 or lines[0] != ALGORITHM:
        return DaxRefusal("IncompleteSignatureException", sentences.ALGORITHM.format(algorithm=lines[0]))
    scope = lines[2].split("/")
    seconds = seconds_of(lines[1])
    if seconds is None:
        return DaxRefusal("IncompleteSignatureException", sentences.DATE_FORMAT.format(date=lines[1]))
    if len(scope) != 4:
        shown = f"{access_key}/{lines[2]}"
        return DaxRefusal("IncompleteSignatureException", sentences.CREDENTIAL_SHAPE.format(credential=shown))
    day, region, service, terminator = scope
    if not is_region(region):
        return DaxRefusal("InvalidSignatureException", sentences.SCOPE_REGION.format(region=region))
    if service != SIGNING_NAME:
        return DaxRefusal("InvalidSignatureException", sentences.SCOPE_SERVICE.format(service=SIGNING_NAME))
    if terminator != TERMINATOR:
        return DaxRefusal("InvalidSignatureException", sentences.SCOPE_TERMINATOR.format(terminator=terminator))
    if day != lines[1][:8]:
        message = sentences.SCOPE_DATE.format(scope_date=day, day=lines[1][:8], date=lines[1])
        return DaxRefusal("InvalidSignatureException", message)
    if abs(wall_time() - seconds) > SKEW_SECONDS_MAX:
        return DaxRefusal("InvalidSignatureException", NODE_SIGNATURE_EXPIRED.format(date=lines[1]))
    if known_keys is None:
        return Authorized(account_of_key(access_key), region)
    known = known_keys.find(access_key, token if token.__class__ is str else None)
    if known is None:
        return DaxRefusal("UnrecognizedClientException", sentences.UNKNOWN_KEY)
    refusal = _refusal(known, lines, signature, token)
    if refusal is None and known_keys.is_expired(known):
        refusal = EXPIRED
    return refusal or Authorized(known.credential.account, region, known if known.is_temporary else None)


def _refusal(known: KnownKey, lines: list[str], signature: str, token: Any) -> DaxRefusal | None:
    """Why the key's Region, signature or session token is not accepted; None if they are."""
    credential = known.credential
    day, region, _, _ = lines[2].split("/")
    if credential.regions is not None and region not in credential.regions:
        return DaxRefusal("InvalidSignatureException", sentences.SCOPE_REGION.format(region=region))
    canonicals = {_canonical_hash(one): one for one in (_canonical(host, lines[1]) for host in _HOSTS)}
    canonical = canonicals.get(lines[3], _canonical(_HOSTS[0], lines[1]))
    to_sign = "\n".join([*lines[:3], _canonical_hash(canonical)])
    key = signing_key(credential.secret_key, day, region, SIGNING_NAME)
    right = hmac.new(key, to_sign.encode("latin-1"), sha256).hexdigest()
    if not hmac.compare_digest(right.encode(), signature.encode()):
        return DaxRefusal("InvalidSignatureException", sentences.MISMATCH.format(canonical=canonical, to_sign=to_sign))
    if token != credential.session_token:
        return DaxRefusal("UnrecognizedClientException", sentences.BAD_SESSION_TOKEN)
    return None


def _canonical(host: str, date: str) -> str:
    """The canonical request, which is always the same but for its host and date."""
    return f"POST\n/\n\nhost:{host}\nx-amz-date:{date}\n\nhost;x-amz-date\n{_EMPTY_HASH}"


def _canonical_hash(canonical: str) -> str:
    return sha256(canonical.encode()).hexdigest()
