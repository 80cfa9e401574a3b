"""From where can a client fetch a function's zip? From a URL with a secret in it, for ten minutes,
as from the service's presigned ones.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.functions.description import FunctionDescription
from hashrange.functions.names import FunctionKey
from hashrange.limits import CODE_LINK_SECONDS


class LinkedCode(NamedTuple):
    """What a link leads to: the zip that a function had when the link was made."""

    account: str
    region: str
    name: str
    code_sha256: str
    expires_at_seconds: float
    """Wall time."""

    @property
    def key(self) -> FunctionKey:
        """Whose zip it is."""
        return FunctionKey(self.account, self.region, self.name)


class CodeLinks:
    """Makes and reads the last part of the URLs under which GetFunction offers zips. Links of another server,
    or of one before a restart, are not valid.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)

    def make(self, description: FunctionDescription) -> str:
        """The last part of the URL of a function's zip: letters, digits, `-`, `_` and `=`."""
        expires_at_seconds = self._clock.wall_time() + CODE_LINK_SECONDS
        linked = msgspec.json.encode(LinkedCode(*description.key, description.code_sha256, expires_at_seconds))
        return base64.urlsafe_b64encode(self._sign(linked) + linked).decode()

    def read(self, link: str) -> LinkedCode | None:
        """What a link leads to; None if it was not made here, or has expired."""
        try:
            decoded = base64.urlsafe_b64decode(link)
        except (binascii.Error, ValueError):
            return None
        signature, linked = decoded[:32], decoded[32:]
        if not hmac.compare_digest(signature, self._sign(linked)):
            return None
        found = msgspec.json.decode(linked, type=LinkedCode)
        return found if self._clock.wall_time() < found.expires_at_seconds else None

    def _sign(self, linked: bytes) -> bytes:
        return hmac.new(self._secret, linked, hashlib.sha256).digest()
