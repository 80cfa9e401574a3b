"""Who sees what is committed, whoever has written it? A witness: one function, called with the changes
of each commit. Usually there is none.

Without a witness this participant takes part in no table, so that no write pays for it.
"""

from collections.abc import Sequence
from functools import partial

from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.interface import SeeChanges
from hashrange.tables.change import Change
from hashrange.tables.schema import Table


class Witness(Participant):
    """The participant that calls one function, if there is one, with the changes of each commit."""

    def __init__(self, terms: Terms) -> None:
        self._see: SeeChanges | None = None

    def show_to(self, see: SeeChanges | None) -> bool:
        """From now on, call `see` with the changes of each commit; None: call nobody.

        Returns True if the caller must reopen all tables (`EmbeddedCatalog.reopen`).
        """
        had_witness, self._see = self._see is not None, see
        return had_witness != (see is not None)

    def takes_part(self, table: Table) -> bool:
        """True for every table while there is a witness."""
        return self._see is not None

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Let the witness see the changes once they are committed."""
        if self._see is not None:
            draft.afterwards.append(partial(self._see, changes))
