"""Whose UserErrors grow if a request is refused before it becomes a call? Those of the account and Region in its Authorization header, whether or not its signature is right.

The service counts incorrect signatures too. A request that names no access key that is known counts for nobody.
Source: developer guide, metrics and dimensions, *UserErrors*.
"""

import re
from collections.abc import Mapping

from hashrange.errors import ApiError
from hashrange.server.credentials import Credential, account_of_key
from hashrange.service.metric_calls import USER_STATUS
from hashrange.service.service import Service
from hashrange.wire.http import HttpRequest
from hashrange.wire.sigv4 import is_region

_credential = re.compile(rb"Credential=([^/,\s]{1,128})/[0-9]+/([^/,\s]{1,64})/dynamodb/").search


class UserErrors:
    """Counts refused requests of one service's clients, while metrics are recorded."""

    def __init__(self, service: Service, credentials: Mapping[str, Credential] | None) -> None:
        """`credentials`: access keys that are let in; None: all are."""
        self._service = service
        self._credentials = credentials

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
        if self._credentials is None:
            account = account_of_key(key)
        elif (credential := self._credentials.get(key)) is not None:
            account = credential.account
        else:
            return
        scope = self._service.scope(account, region)
        recording.refused_unread(scope.account, scope.region)
