"""What else follows from the entries of vector indexes that a commit writes? Two participants know, which only tables
with vector indexes choose, so that others do not pay for them: of the sizes of vectors as lists, and of the parts in
memory.
"""

from collections.abc import Sequence
from functools import partial

from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.tables.change import Change
from hashrange.tables.schema import Table


class VectorLists(Participant):
    """Counts how large the vectors of entries are as lists of numbers: further statistics of these indexes, which
    TableSizeBytes is computed with (`tables/description.py`). A walk counts what it adds (`index_entries.py`).

    They change in the commit of the items, even if entries are late: it comes before the participant that writes
    entries, which takes some of them off the draft.
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


class FollowingParts(Participant):
    """Lets the parts in memory follow commits; it writes nothing. It comes behind the participant that writes entries,
    which has left in the draft those of its commit. Late entries are followed when they are written.
    """

    def __init__(self, terms: Terms) -> None:
        self._parts = terms.vector_parts

    def takes_part(self, table: Table) -> bool:
        """True for tables with a vector index that is not DELETING."""
        return any(index.state != "DELETING" for index in table.vector_indexes)

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Let the parts follow the draft's entries, once it is written."""
        if draft.entries and self._parts.are_followed:
            draft.afterwards.append(partial(self._parts.follow, draft.entries))
