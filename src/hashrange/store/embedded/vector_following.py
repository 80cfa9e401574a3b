"""How do the parts of vector indexes in memory follow commits? By a participant, which writes nothing. Only tables with
vector indexes choose it, so others do not pay for it.
"""

from collections.abc import Sequence
from functools import partial

from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.tables.change import Change
from hashrange.tables.schema import Table


class FollowingParts(Participant):
    """Participant behind `IndexEntries`, which has left in the draft the entries that its commit writes. Late entries
    are followed when they are written.
    """

    def __init__(self, terms: Terms) -> None:
        self._parts = terms.vector_parts

    def takes_part(self, table: Table) -> bool:
        """True for tables with a vector index that is not DELETING."""
        return any(index.state != "DELETING" for index in table.vector_indexes)

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Let the parts follow the draft's entries, once it is written."""
        if len(self._parts) and draft.entries:
            draft.afterwards.append(partial(self._parts.follow, draft.entries))
