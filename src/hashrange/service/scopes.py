"""Which data does a request see? That of its Scope: one account and Region,
or the same for all requests with `--shared-db`.
"""

from collections.abc import Callable
from weakref import WeakSet

from hashrange.clock import Clock
from hashrange.operations.operation import Scope
from hashrange.settings import SHARED_ACCOUNT, SHARED_REGION, Settings
from hashrange.store.interface import WholeStore

SCOPES_MAX = 4096
"""Most Scopes that are kept in memory; a client may name any number of Regions."""


class Scopes:
    """The Scopes of one service, made when first needed."""

    def __init__(self, store: WholeStore, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._set_up: Callable[[Scope], None] = lambda scope: None
        self._scopes: dict[tuple[str, str, tuple[str, ...] | None], Scope] = {}
        self._handed_out: WeakSet[Scope] = WeakSet()
        """All Scopes in use. Some are not in `_scopes`, because protocols keep the Scopes of known clients."""

    def of(self, account: str, region: str, regions: tuple[str, ...] | None = None) -> Scope:
        """The Scope of this account and Region, for keys that are limited to `regions`; with `--shared-db` all share
        one. Takes 0.1 µs.
        """
        scope = self._scopes.get((account, region, regions))
        if scope is None:
            if self._settings.shared_db and (account, region) != (SHARED_ACCOUNT, SHARED_REGION):
                return self.of(SHARED_ACCOUNT, SHARED_REGION)
            if len(self._scopes) >= SCOPES_MAX:
                self._scopes.clear()
            scope = Scope(account, region, self._store, self._clock, self._settings, regions)
            self._scopes[account, region, regions] = scope
            self._set_up(scope)
            self._handed_out.add(scope)
        return scope

    def set_up_by(self, set_up: Callable[[Scope], None]) -> None:
        """Call `set_up` for every Scope in use, and from now on for every new one."""
        self._set_up = set_up
        for scope in tuple(self._handed_out):
            set_up(scope)
