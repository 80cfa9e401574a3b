"""Which participants take part in commits? PARTICIPANTS, in the order in which they are called."""

from collections.abc import Callable

from hashrange.store.embedded.change_log import ChangeLog
from hashrange.store.embedded.expiries import Expiries
from hashrange.store.embedded.index_entries import IndexEntries
from hashrange.store.embedded.item_collections import ItemCollections
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.embedded.staged_rows import StagedRows
from hashrange.store.embedded.vector_following import FollowingParts, VectorLists

MakeParticipant = Callable[[Terms], Participant]

PARTICIPANTS: tuple[MakeParticipant, ...] = (
    ItemCollections,
    VectorLists,
    ChangeLog,
    IndexEntries,
    FollowingParts,
    Expiries,
    StagedRows,
)
