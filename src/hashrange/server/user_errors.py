"""Whose UserErrors grow if a request is refused before it becomes a call?
Those of the account and Region in its Authorization header, whether or not its signature is right.

The service counts incorrect signatures too. A request that names no access key that is known counts for nobody.
Source: developer guide, metrics and dimensions, *UserErrors*.
"""

import re

from hashrange.errors import ApiError
from hashrange.server.credentials import account_of_key
from hashrange.server.known_keys import KnownKeys
from hashrange.service.metric_calls import USER_STATUS
from hashrange.service.service import Service
from hashrange.wire.http import HttpRequest
from hashrange.wire.sigv4 import is_region

_credential = re.compile(rb"Credential=([^/,\s]{1,128})/[0-9]+/([^/,\s]{1,64})/dynamodb/").search


class UserErrors:
    """Counts refused requests of one service's clients, while metrics are recorded."""

    def __init__(self, service: Service, known_keys: KnownKeys | None) -> None:
        """`known_keys`: access keys that are let in; None: all are."""
        self._service = service
        self._known_keys = known_keys

    def __call__(self, request: HttpRequest, error: ApiError) -> None:
        """Count a request that is refused with this error."""
        recording = self._service.recording
        if recording is None or error.http_status != USER_STATUS:
            return
        found = _credential(request.header(b"authorization") or b"")
        if found is None:
            return
        key, region = found[1].decode("latin-1"), found[2].decode("latin-1")
        if not is_region(region):
            return
        if self._known_keys is None:
            account = account_of_key(key)
        else:
            token = request.header(b"x-amz-security-token")
            known = self._known_keys.find(key, None if token is None else token.decode("latin-1"))
            if known is None:
                return
            account = known.credential.account
        scope = self._service.scope(account, region)
        recording.refused_unread(scope.account, scope.region)
