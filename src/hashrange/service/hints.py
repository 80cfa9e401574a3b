"""How does the operator learn why requests were refused, such as for a table of another Region?
By hints in the log, each given once.

Clients see only their own account and Region; a Region configured by mistake is the commonest reason for a missing
table.
"""

import logging
from collections.abc import Iterable
from heapq import nsmallest

from hashrange.items.steps import look
from hashrange.operations.naming import bare_name
from hashrange.operations.operation import Scope
from hashrange.store.interface import Catalog

HINTS_MAX = 1000
PLACES_TOLD_MAX = 5

_NOT_SUPPORTED = "not supported"

_log = logging.getLogger("hashrange.server")


class Hints:
    """Logs each hint once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._given: set[tuple[str, ...]] = set()

    def table_not_found(self, scope: Scope, names: Iterable[str]) -> None:
        """After a ResourceNotFoundException, log where else tables of these names exist; `names` may be ARNs."""
        here = (scope.account, scope.region)
        for name in map(bare_name, names):
            if len(self._given) >= HINTS_MAX:
                return
            asked = (*here, name)
            if asked in self._given:
                continue
            look()
            others = self._catalog.elsewhere(name)
            if not others or here in others:
                continue
            self._given.add(asked)
            told = [f"account {account}, Region {region}" for account, region in nsmallest(PLACES_TOLD_MAX, others)]
            more = len(others) - len(told)
            _log.warning(
                "table %s does not exist in account %s, Region %s, but in %s; a request's Region is the one that its "
                "client signs for (--shared-db puts all data into one)",
                name,
                scope.account,
                scope.region,
                "; ".join(told) + (f"; and {more:,} more" if more else ""),
            )

    def not_supported(self, operation_name: str, sentence: str) -> None:
        """Log with which sentence an operation refused a request as unsupported: libraries often hide it from users."""
        if (operation_name, _NOT_SUPPORTED) in self._given:
            return
        self._given.add((operation_name, _NOT_SUPPORTED))
        _log.warning(
            "%s was refused with UnsupportedOperationException: %s docs/compatibility.md lists what is served.",
            operation_name,
            sentence,
        )
