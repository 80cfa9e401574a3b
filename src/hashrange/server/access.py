"""Who asks, and for which data? A signed request becomes a Scope: one account and Region."""

from typing import Protocol

from hashrange.clock import Clock
from hashrange.operations.operation import Scope
from hashrange.settings import Settings
from hashrange.store.interface import Store
from hashrange.wire.http import Request

ACCOUNT = "000000000000"
"""The account of everybody while no credentials are configured."""


class Access(Protocol):
    """Decides whether a request is let in."""

    def authorize(self, request: Request) -> Scope:
        """The scope of the request's sender; raises the ApiErrors of signing.md."""
        ...


class OpenAccess:
    """Without credentials: the Region is the scope's."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings
        self.scopes: dict[str, Scope] = {}

    def authorize(self, request: Request) -> Scope:
        """The scope that the signature names."""
        authorization = request.header(b"authorization") or b""
        parts = authorization.split(b"/")
        region = parts[2].decode() if len(parts) > 2 else "us-east-1"
        scope = self.scopes.get(region)
        if scope is None:
            scope = self.scopes[region] = Scope(ACCOUNT, region, self.store, self.clock, self.settings)
        return scope
