"""Which access keys are accepted? Those in the credentials file (TOML or JSON), which this file reads
and checks, and those of sessions that STS has made for them, until either expires; without a file, every key.

    [[credential]]
    access_key = "AKIDEXAMPLE"
    secret_key = "…"
    session_token = "…"               # optional: requests must carry this token
    expires = "2027-01-01T00:00:00Z"  # optional: time from which the key is refused
    account = "000000000000"          # optional: 12 digits
    regions = ["eu-west-1"]           # optional: Regions that the key may sign for, by default every Region

In JSON: `{"credential": [{"access_key": …}, …]}`. Only this module opens the credentials file.

A session is known by its token (`sts/session.py`): nothing is kept of it. It has the account and the Regions of the key
that it began with, and ends with that key: when the key expires, or is taken out of the file.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.errors import ExpiredTokenException, InvalidSignatureException, UnrecognizedClientException
from hashrange.messages import signing as sentences
from hashrange.settings import SettingUnusable
from hashrange.sts.session import account_of_session_key, is_signed, read_session_token, secret_of_session
from hashrange.wire.sigv4 import is_region
from hashrange.written.values import ACCOUNT_IN_WORDS, TomlFault, fault_in, place_of_json_fault, read_toml

if TYPE_CHECKING:
    from hashrange.functions.description import HandlerCredentials

ACCOUNT = "000000000000"
"""The account of a credential that names none and, without a credentials file, of access keys that name none."""

_is_signable = re.compile(r"[!-+.0-~-]+").fullmatch
"""Matches access keys that can be part of a signature's Credential: printable ASCII without blanks, commas and
slashes, which would end the key there."""
_is_account = re.compile(r"[0-9]{12}").fullmatch


class CredentialsFileError(SettingUnusable):
    """The credentials file cannot be used; the message names the file, the reason and mostly the remedy."""


_SECRET = msgspec.Meta(extra={"is_secret": True})


class Credential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One access key."""

    access_key: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    secret_key: Annotated[str, msgspec.Meta(min_length=1), _SECRET]
    session_token: Annotated[str, _SECRET] | None = None
    expires: datetime | None = None
    account: Annotated[str, msgspec.Meta(pattern="^[0-9]{12}$", description=ACCOUNT_IN_WORDS)] = ACCOUNT
    regions: tuple[str, ...] | None = None

    @property
    def expires_seconds(self) -> float | None:
        """`expires` in seconds since the epoch, a time without a zone taken as UTC; None if the key never expires."""
        if self.expires is None:
            return None
        return (self.expires if self.expires.tzinfo else self.expires.replace(tzinfo=UTC)).timestamp()


class _File(msgspec.Struct, forbid_unknown_fields=True):
    credential: Annotated[list[Annotated[Credential, _SECRET]], _SECRET]


def account_of_key(access_key: str) -> str:
    """The account of an access key if there is no credentials file: the key itself if it is 12 digits,
    that of the session that it is of, else ACCOUNT.
    """
    return access_key if _is_account(access_key) else account_of_session_key(access_key) or ACCOUNT


def read_credentials(path: str) -> dict[str, Credential]:
    """Return the file's credentials by access key. Raises CredentialsFileError."""
    text, data = "", None
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = msgspec.json.decode(text) if path.endswith(".json") else read_toml(text)
        file = msgspec.convert(data, _File)
    except (OSError, ValueError, TomlFault, msgspec.MsgspecError, RecursionError) as error:
        raise CredentialsFileError(
            f"the credentials file {path} cannot be used: {_reason_of(error, data, text)} It needs one [[credential]]"
            " with access_key and secret_key per key."
        ) from error
    if not file.credential:
        raise CredentialsFileError(f"the credentials file {path} names no credential, so nobody could be let in.")
    credentials = {credential.access_key: credential for credential in file.credential}
    if len(credentials) != len(file.credential):
        raise CredentialsFileError(f"the credentials file {path} names an access key twice; keep one of them.")
    for credential in file.credential:
        _check_use(path, credential)
    return credentials


def _reason_of(error: Exception, data: Any, text: str) -> str:
    """Why a file cannot be read, in one or two sentences. `data`: what it holds; None if it cannot be decoded."""
    if isinstance(error, OSError):
        return f"{error.strerror or error}."
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8."
    if isinstance(error, msgspec.ValidationError):
        return fault_in(data, Annotated[_File, _SECRET])
    if isinstance(error, msgspec.DecodeError):
        return f"it is no JSON{place_of_json_fault(text)}."
    if isinstance(error, TomlFault):
        return str(error)
    return "it is nested too deeply." if isinstance(error, RecursionError) else f"{error}."


def _check_use(path: str, credential: Credential) -> None:
    """Raise CredentialsFileError for an access key or Region that no signature can have, or an empty `regions`."""
    if not _is_signable(credential.access_key):
        raise CredentialsFileError(
            f'the credentials file {path} has the access key "{credential.access_key}", which cannot stand in a'
            " signature. Choose one of letters and digits."
        )
    if credential.regions == ():
        raise CredentialsFileError(
            f"the credentials file {path} lets {credential.access_key} into no Region."
            " Name some in regions, or leave it out to let the key into every one."
        )
    for region in credential.regions or ():
        if not is_region(region):
            raise CredentialsFileError(
                f'the credentials file {path} lets {credential.access_key} into "{region}", which can be no Region.'
                " Write it as eu-west-1."
            )


# --- keys that are let in --------------------------------------------------------------------------


class KnownKey(NamedTuple):
    """An access key that is let in, if it has not expired."""

    credential: Credential
    """With the session's token, if it is a session's."""
    session_expires_seconds: float | None
    """Service time, in seconds since the epoch; None: the key is none of a session."""

    @property
    def is_temporary(self) -> bool:
        """True if there is a time from which the key is refused."""
        return self.session_expires_seconds is not None or self.credential.expires is not None


class KnownKeys(NamedTuple):
    """Finds access keys."""

    credentials: Mapping[str, Credential]
    service_time: Callable[[], float]
    wall_time: Callable[[], float]

    def find(self, access_key: str, session_token: str | None) -> KnownKey | None:
        """The access key, whose session token, if it needs one, may still be wrong;
        None if it is not known. About 10 µs for a session's.
        """
        own = self.credentials.get(access_key)
        if own is not None:
            return KnownKey(own, None)
        found = None if session_token is None else read_session_token(session_token)
        if found is None or found.session.access_key != access_key:
            return None
        session = found.session
        issuer = self.credentials.get(session.issuer)
        if issuer is None or issuer.account != session.account or not is_signed(found, issuer.secret_key):
            return None
        secret = secret_of_session(found.payload, issuer.secret_key)
        credential = Credential(access_key, secret, session_token, issuer.expires, issuer.account, issuer.regions)
        return KnownKey(credential, session.expires_seconds)

    def check(
        self, access_key: str, session_token: str | None, region: str, verify: Callable[[Credential], None]
    ) -> KnownKey:
        """The access key of a signature, after all checks that need it: key, Region, the signature itself, which
        `verify` does, session token, expiry (signing.md 2, steps 9 to 11). Raises the error of the first that fails.
        """
        known = self.find(access_key, session_token)
        if known is None:
            raise UnrecognizedClientException(sentences.UNKNOWN_KEY)
        credential = known.credential
        if credential.regions is not None and region not in credential.regions:
            raise InvalidSignatureException(sentences.SCOPE_REGION.format(region=region))
        verify(credential)
        if session_token != credential.session_token:
            raise UnrecognizedClientException(sentences.BAD_SESSION_TOKEN)
        if self.is_expired(known):
            raise ExpiredTokenException(sentences.EXPIRED_SESSION_TOKEN)
        return known

    def is_expired(self, key: KnownKey) -> bool:
        """True if the key, or its session, has expired."""
        expires_seconds = key.credential.expires_seconds
        if expires_seconds is not None and self.wall_time() >= expires_seconds:
            return True
        return key.session_expires_seconds is not None and self.service_time() >= key.session_expires_seconds


# --- keys of handlers -----------------------------------------------------------------------------


def handler_credentials(
    credentials: Mapping[str, Credential] | None,
) -> "Callable[[Caller], HandlerCredentials] | None":
    """Account and Region → what the handlers of functions sign with there; None without a credentials file.

    Of several keys, it is the one that is let into the fewest Regions, so that nobody learns by a function of a key
    with more rights than the own one; of these the first that never expires, or else the one that expires last.
    The handlers of an account without a key for their Region get one that is not let in.
    """
    if credentials is None:
        return None
    # Imported here: most servers have no functions, and start time counts.
    from hashrange.functions.description import HandlerCredentials  # noqa: PLC0415

    def of_caller(caller: Caller) -> HandlerCredentials:
        keys = [
            one
            for one in credentials.values()
            if one.account == caller.account and (one.regions is None or caller.region in one.regions)
        ]
        if not keys:
            return HandlerCredentials(caller.account, "none")
        one = min(keys, key=_breadth)
        return HandlerCredentials(one.access_key, one.secret_key, one.session_token)

    return of_caller


def _breadth(one: Credential) -> tuple[float, float]:
    """How much a key may do: by Regions, then by time."""
    regions = inf if one.regions is None else len(one.regions)
    return regions, -inf if one.expires_seconds is None else -one.expires_seconds
