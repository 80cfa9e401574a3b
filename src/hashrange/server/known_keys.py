"""Which access keys are known if there is a credentials file? Those of the file, and those of sessions that STS has
made for them, until either expires.

A session is known by its token (`sts/session.py`): nothing is kept of it. It has the account and the Regions of the key
that it began with, and ends with that key: when the key expires, or is taken out of the file.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from hashrange.server.credentials import Credential
from hashrange.sts.session import is_signed, read_session_token, secret_of_session


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


class KnownKeys:
    """Finds access keys."""

    def __init__(
        self,
        credentials: Mapping[str, Credential],
        service_time: Callable[[], float],
        wall_time: Callable[[], float],
    ) -> None:
        self._credentials = credentials
        self._service_time = service_time
        self._wall_time = wall_time

    def find(self, access_key: str, session_token: str | None) -> KnownKey | None:
        """The access key, whose session token, if it needs one, may still be wrong;
        None if it is not known. About 10 µs for a session's.
        """
        own = self._credentials.get(access_key)
        if own is not None:
            return KnownKey(own, None)
        found = None if session_token is None else read_session_token(session_token)
        if found is None or found.session.access_key != access_key:
            return None
        session = found.session
        issuer = self._credentials.get(session.issuer)
        if issuer is None or issuer.account != session.account or not is_signed(found, issuer.secret_key):
            return None
        secret = secret_of_session(found.payload, issuer.secret_key)
        credential = Credential(access_key, secret, session_token, issuer.expires, issuer.account, issuer.regions)
        return KnownKey(credential, session.expires_seconds)

    def is_expired(self, key: KnownKey) -> bool:
        """True if the key, or its session, has expired."""
        expires_seconds = key.credential.expires_seconds
        if expires_seconds is not None and self._wall_time() >= expires_seconds:
            return True
        return key.session_expires_seconds is not None and self._service_time() >= key.session_expires_seconds
