"""What should the operator know about clients that are not set up right? Hints in the log, each once.

Clients see only their own account and Region, and a Region configured by mistake is the commonest reason for a missing table.
Others speak HTTPS to the plain port, or were pointed here with every service that they use.
"""

import logging
import re
from typing import Any

from hashrange.operations.operation import Scope
from hashrange.server.table_names import table_names
from hashrange.store.interface import Catalog
from hashrange.wire.http import Request

HINTS_MAX = 1000

TLS_HANDSHAKE = b"\x16\x03"
"""How a client's first TLS record begins (RFC 8446, 5.1): no HTTP request does."""

_NOT_SUPPORTED = "not supported"

_log = logging.getLogger("hashrange.server")
_signed_service = re.compile(rb"Credential=[^/,\s]+/[0-9]+/[^/,\s]*/([a-z0-9-]{1,64})/aws4_request").search


class Hints:
    """Remembers what was said."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._given: set[tuple[str, ...]] = set()

    def table_not_found(self, scope: Scope, parsed: Any) -> None:
        """`parsed` is a request that met ResourceNotFoundException: look at every table that it names."""
        here = (scope.account, scope.region)
        for name in table_names(parsed):
            if len(self._given) >= HINTS_MAX:
                return
            asked = (*here, name)
            if asked in self._given:
                continue
            others = self._catalog.elsewhere(name)
            if not others or here in others:
                continue
            self._given.add(asked)
            _log.warning(
                "table %s does not exist in account %s, Region %s, but in %s; a request's Region is the one that its client signs "
                "for (--shared-db puts all data into one)", name, scope.account, scope.region,
                "; ".join(f"account {account}, Region {region}" for account, region in others),
            )  # fmt: skip

    def not_supported(self, operation_name: str) -> None:
        """A request asked for what this operation does not do yet: libraries often hide the sentence from their users."""
        if (operation_name, _NOT_SUPPORTED) in self._given:
            return
        self._given.add((operation_name, _NOT_SUPPORTED))
        _log.warning(
            "%s was refused with UnsupportedOperationException, because Hashrange does not support it yet; "
            "docs/compatibility.md lists what it serves", operation_name,
        )  # fmt: skip

    def other_service(self, request: Request, own_service: bytes) -> None:
        """`request` was refused: was it meant for another service?"""
        found = _signed_service(request.header(b"authorization") or b"")
        if found is None or found[1] == own_service or len(self._given) >= HINTS_MAX:
            return
        service = found[1].decode()
        if (service,) in self._given:
            return
        self._given.add((service,))
        _log.warning(
            "a request signed for the service %s was refused, because only DynamoDB is served here; its client may be pointed here by "
            "AWS_ENDPOINT_URL, where AWS_ENDPOINT_URL_DYNAMODB would leave other services alone", service,
        )  # fmt: skip


class HttpsHint:
    """Says once that a client speaks HTTPS to a port that serves HTTP."""

    def __init__(self) -> None:
        self._is_given = False

    def __call__(self) -> None:
        """A client's first bytes were `TLS_HANDSHAKE`."""
        if not self._is_given:
            self._is_given = True
            _log.warning(
                "a client speaks HTTPS, but this port serves HTTP: use an endpoint that begins with http://, "
                "or serve HTTPS with --tls-cert and --tls-key"
            )
