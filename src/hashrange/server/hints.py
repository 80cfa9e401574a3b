"""Where is the table that a client did not find? A hint in the operator's log, once per table.

Clients see only their own account and Region, and a Region configured by mistake is the commonest reason for a missing table.
"""

import logging
from typing import Any

from hashrange.operations.operation import Scope
from hashrange.store.interface import Catalog

HINTS_MAX = 1000

_log = logging.getLogger("hashrange.server")


class Hints:
    """Remembers what was said."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._given: set[tuple[str, str, str]] = set()

    def table_not_found(self, scope: Scope, parsed: Any) -> None:
        """`parsed` is a request that met ResourceNotFoundException."""
        name = getattr(parsed, "TableName", None)
        if not isinstance(name, str) or len(self._given) >= HINTS_MAX:
            return
        asked = (scope.account, scope.region, name)
        if asked in self._given:
            return
        others = [place for place in self._catalog.elsewhere(name) if place != asked[:2]]
        if not others:
            return
        self._given.add(asked)
        _log.warning(
            "table %s does not exist in account %s, Region %s, but in %s; a request's Region is the one that its client signs for "
            "(--shared-db puts all data into one)", name, scope.account, scope.region,
            "; ".join(f"account {account}, Region {region}" for account, region in others),
        )  # fmt: skip
