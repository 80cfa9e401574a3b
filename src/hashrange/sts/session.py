"""What is a session, and how does its token say so? The token carries the session and a signature by the access
key that asked for it; nothing is kept.

Token: URL-safe base64 without padding of 16 bytes of HMAC-SHA256 and the session as a JSON array.
The session's secret key is another HMAC of the same bytes, so who can read the token does not know it.
Both are made with the secret key of the access key whose request began the chain of sessions, or with the empty secret
if there is no credentials file (docs/adr/0054-sts.md).
"""

import base64
import hmac
import secrets
from hashlib import sha256
from typing import NamedTuple

import msgspec

from hashrange.sts.limits import TOKEN_BYTES_MAX

_MAC_BYTES = 16
_RANDOM_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_TOKEN_WORD, _SECRET_WORD = b"hashrange session token\0", b"hashrange session secret\0"


class AssumedRole(msgspec.Struct, frozen=True, array_like=True):
    """The role of a session."""

    partition: str
    """The partition of AWS in the role's ARN, such as `aws`."""
    name: str
    """The role's name, without its path."""
    id: str
    """`AROA` and 17 characters, the same for every session of the role."""
    session_name: str
    source_identity: str | None


class RoleSession(msgspec.Struct, frozen=True, array_like=True):
    """What a session token says."""

    access_key: str
    """`ASIA`, the account, and four characters."""
    account: str
    issuer: str
    """The access key of the credentials file whose secret signs the token; without a file, the empty text."""
    expires_seconds: float
    """Service time, in seconds since the epoch."""
    role: AssumedRole | None
    """None: the session of a GetSessionToken, which acts as its caller."""


class ReadToken(NamedTuple):
    """A token that has been read; whether its signature is right is not known yet."""

    session: RoleSession
    payload: bytes
    mac: bytes


def session_access_key(account: str) -> str:
    """A new access key for sessions of this account: 20 characters, as those of the service.
    Two sessions may have the same one.
    """
    return f"ASIA{account}{''.join(secrets.choice(_RANDOM_CHARACTERS) for _ in range(4))}"


def account_of_session_key(access_key: str) -> str | None:
    """The account in an access key of a session; None for other access keys."""
    if len(access_key) != 20 or not access_key.startswith("ASIA") or not access_key.isascii():
        return None
    account, letters = access_key[4:16], access_key[16:]
    return account if account.isdecimal() and all(one in _RANDOM_CHARACTERS for one in letters) else None


def role_id_of(role_arn: str) -> str:
    """The unique id of a role: always the same for the same ARN."""
    return "AROA" + base64.b32encode(sha256(role_arn.encode()).digest()).decode()[:17]


def session_keys(session: RoleSession, issuer_secret: str, size_bytes_min: int = 0) -> dict[str, str]:
    """What a client signs with during a session, as replies have it. The token has at least `size_bytes_min` bytes."""
    payload = msgspec.json.encode(session)
    payload = payload.ljust(size_bytes_min * 3 // 4 + 1 - _MAC_BYTES)  # blanks behind JSON mean nothing
    token = base64.urlsafe_b64encode(_mac(issuer_secret, _TOKEN_WORD, payload)[:_MAC_BYTES] + payload)
    return {
        "AccessKeyId": session.access_key,
        "SecretAccessKey": secret_of_session(payload, issuer_secret),
        "SessionToken": token.rstrip(b"=").decode(),
    }


def secret_of_session(payload: bytes, issuer_secret: str) -> str:
    """The session's secret key: 40 characters, as those of the service."""
    return base64.b64encode(_mac(issuer_secret, _SECRET_WORD, payload)[:30]).decode()


def read_session_token(token: str) -> ReadToken | None:
    """The session that a token says it is of; None for any text that is no token of ours."""
    if len(token) > TOKEN_BYTES_MAX or not token.isascii():
        return None
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        payload = raw[_MAC_BYTES:]
        return ReadToken(msgspec.json.decode(payload, type=RoleSession), payload, raw[:_MAC_BYTES])
    except (ValueError, RecursionError):  # the errors of Base64 and of msgspec are ValueErrors
        return None


def is_signed(found: ReadToken, issuer_secret: str) -> bool:
    """True if the token was made with this secret, and not changed."""
    return hmac.compare_digest(_mac(issuer_secret, _TOKEN_WORD, found.payload)[:_MAC_BYTES], found.mac)


def _mac(secret: str, word: bytes, payload: bytes) -> bytes:
    return hmac.digest(secret.encode(), word + payload, "sha256")
