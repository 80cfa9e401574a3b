"""Which slots does this server write to? It makes a `SlotWriter` for a slot when it first needs one, and forgets it
once it is idle and others are needed.
"""

from collections.abc import Callable, Sequence

from hashrange.store.cassandra.session import Session
from hashrange.store.cassandra.slot_writer import SlotWriter
from hashrange.tables.change import Change

WRITERS_MAX = 4096
"""Writers that are kept: each knows its slot's version."""


class Slots:
    """The writers of slots in this server."""

    def __init__(self, session: Session, monotonic: Callable[[], float]) -> None:
        self._session = session
        self._monotonic = monotonic
        self._writers: dict[tuple[int, int], SlotWriter] = {}
        self._follow: Callable[[SlotWriter, int, Sequence[Change]], None] = lambda _writer, _version, _changes: None

    def on_followed(self, follow: Callable[[SlotWriter, int, Sequence[Change]], None]) -> None:
        """Call `follow` with the version and the changes of each batch whose entries in global indexes are due. Called
        before there are writers.
        """
        self._follow = follow

    def writer(self, table_id: int, slot: int) -> SlotWriter:
        """The writer of a slot."""
        writer = self._writers.get((table_id, slot))
        if writer is None:
            if len(self._writers) >= WRITERS_MAX:
                self._writers = {place: one for place, one in self._writers.items() if not one.is_idle}
            writer = SlotWriter(self._session, table_id, slot, self._monotonic, self._follow)
            self._writers[table_id, slot] = writer
        return writer

    async def stop(self) -> None:
        """End what is under way."""
        for writer in list(self._writers.values()):
            await writer.stop()
