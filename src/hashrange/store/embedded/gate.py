"""Who refuses a write because of the index entries that follow from it? A gate: one function, asked before each commit. Usually there is none.

Without a function this participant takes part in no table, so that no write pays for it.
"""

from collections.abc import Sequence

from hashrange.errors import ApiError
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.interface import RefuseChanges
from hashrange.tables.change import Change
from hashrange.tables.schema import Table


class Gate(Participant):
    """The participant that asks one function, if there is one, about changes of tables with global indexes."""

    may_refuse = True

    def __init__(self, terms: Terms) -> None:
        self._refuse: RefuseChanges | None = None

    def ask(self, refuse: RefuseChanges | None) -> bool:
        """From now on, ask `refuse` about changes; None: ask nobody.

        Returns True if the caller must reopen all tables (`EmbeddedCatalog.reopen`).
        """
        asked, self._refuse = self._refuse is not None, refuse
        return asked != (refuse is not None)

    def takes_part(self, table: Table) -> bool:
        """True for tables with a global index while there is somebody to ask."""
        return self._refuse is not None and any(index.is_global for index in table.indexes)

    def follows(self, change: Change) -> bool:
        """True if the change has index entries."""
        return bool(change.entries)

    def refusals(self, draft: Draft, changes: Sequence[Change]) -> Sequence[ApiError | None] | None:
        """The refusals of the function that is asked."""
        return None if self._refuse is None else self._refuse(changes)
