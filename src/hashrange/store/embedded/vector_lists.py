"""How large are the vectors that vector indexes hold, as lists of numbers? Further statistics of these indexes, which
TableSizeBytes is computed with (`tables/description.py`).

They change in the commit of the items, even if entries are late. A walk counts what it adds (`index_entries.py`).
"""

from collections.abc import Sequence

from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.tables.change import Change
from hashrange.tables.schema import Table


class VectorLists(Participant):
    """Participant that counts the sizes of lists. It comes before the one that writes entries, which takes some of
    them off the draft.
    """

    def __init__(self, terms: Terms) -> None:
        """It needs nothing of the store."""

    def takes_part(self, table: Table) -> bool:
        """True for tables with vector indexes."""
        return bool(table.vector_indexes)

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add what the entries in `draft.entries` change."""
        for source, before, after in draft.entries:
            if source.vectors is not None:
                draft.count_list(source.source_id, before, after)
