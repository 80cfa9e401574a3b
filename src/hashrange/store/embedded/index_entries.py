"""When are index entries written? In the commit of their item, except delayed entries (`delayed_entries.py`),
late entries, and those of a new index.

`tables/entries.py` defines entries. A walk fills a new index, which is ACTIVE when the walk ends; meanwhile writes
leave alone the entries of items that the walk has not reached (docs/adr/0015-online-indexes.md).
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from hashrange.items.types import Key, Row
from hashrange.store.embedded import late_entries
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.late_entries import LateEntries
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.tables.change import Change
from hashrange.tables.entries import Entry, derive_stored_entry
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import IndexT, Table
from hashrange.tables.source_id import make_source_id


class IndexEntries(Participant):
    """Participant that writes index entries."""

    def __init__(self, terms: Terms) -> None:
        self.late = LateEntries(terms)

    def load(self, engine: Engine, stored: None) -> None:
        """Forget late entries of the former engine; `recover` finds the late entries of the new one."""
        self.late.load(engine)

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """Functions that write the late entries found in a newly opened engine, each one entry in one commit."""
        return self.late.recover(engine)

    def takes_part(self, table: Table) -> bool:
        """True for tables with an index that is ACTIVE or CREATING; False if all their indexes are DELETING."""
        return len(table.sources) > 1

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add the index entry writes in `draft.entries`; new entries of 1 MB or more in all become late."""
        new = changes[0].new
        # No entry is longer than its item's row unless that is packed, so the product is usually an upper bound of the
        # new entries' bytes.
        if len(changes) > 1 or (new is not None and len(new) * len(draft.entries) >= late_entries.LATE_BYTES_MIN):
            self.late.take_over(draft, changes)
        for entry in draft.entries:
            draft.write_entry(entry)

    def walks(self, table: Table) -> Sequence[bytes]:
        """Source ids of the indexes that are CREATING."""
        states = [(index.index_id, index.state) for index in table.indexes]
        states += [(index.index_id, index.state) for index in table.vector_indexes]
        return [make_source_id(table.table_id, number) for number, state in states if state == "CREATING"]

    def derive(self, table: OpenTable, source_id: bytes, key: Key, row: Row) -> Entry | None:
        """The entry of an item in the index `source_id`, or None."""
        index = next(one for one in table.entry_sources if one.source_id == source_id)
        return derive_stored_entry(index, key, row)

    def fill(self, draft: Draft, table: OpenTable, source_id: bytes, derived: Sequence[Entry | None]) -> None:
        """Add the entries of the walk's next items to the index `source_id`."""
        for entry in derived:
            if entry is not None:
                draft.batch.put(source_id + entry.key, entry.row)
                draft.count(source_id, None, entry.row)
                if entry.list_bytes:
                    draft.count_list(source_id, None, entry)

    def filled(self, table: Table, source_id: bytes) -> Table:
        """The table's description with the index `source_id` ACTIVE."""

        def settled(index: IndexT) -> IndexT:
            is_filled = make_source_id(table.table_id, index.index_id) == source_id
            return msgspec.structs.replace(index, state="ACTIVE") if is_filled else index

        return msgspec.structs.replace(
            table,
            indexes=tuple([settled(one) for one in table.indexes]),
            vector_indexes=tuple([settled(one) for one in table.vector_indexes]),
        )
