"""How do the entries of global indexes follow their items? Each batch of a slot puts the changes that they follow from
into the slot's outbox. Then this server writes the entries, and clears the outbox with a later batch.

Entries are written plainly, with a timestamp that grows with each change of their item: the slot's version and the
number of the change in its batch. So it does not matter who writes them, how often, and in which order. What a killed
server has left in an outbox is found by `sweep`, which looks at all slots of tables with global indexes.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from hashrange.errors import HashrangeError
from hashrange.messages.cluster import LOG_ENTRIES_WAIT
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.layout import OUTBOX, SLOTS, decode_change, outbox_key, slot_of
from hashrange.store.cassandra.session import QUORUM, Session
from hashrange.store.cassandra.slot_writer import SlotWriter
from hashrange.store.cassandra.slots import Slots
from hashrange.store.cassandra.works import ClearOutbox
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite, derive_entry_writes
from hashrange.tables.open_table import OpenTable

CLEARED_SECONDS = 0.5
"""How long an outbox waits for a batch of its slot before it is cleared by one of its own."""
SWEPT_TOGETHER = 100
NUMBER_BITS = 16
"""Bits of a timestamp for the number of a change in its batch."""
DROPPED_AT = 2**62
"""The timestamp with which entries of deleted tables are deleted: later than that of every entry."""

_log = logging.getLogger("hashrange.store")


class IndexEntries:
    """Writes the entries of global indexes that follow from changes."""

    def __init__(self, session: Session, slots: Slots, tables: Callable[[], Iterable[OpenTable]]) -> None:
        self._session = session
        self._slots = slots
        self._tables = tables
        self._tasks: set[asyncio.Task[None]] = set()
        self._done: dict[SlotWriter, bytes] = {}
        """Slot → key of the outbox up to which entries are written, until it is cleared."""
        self._under_way: dict[SlotWriter, int] = {}
        """Slot → batches whose entries are being written. The outbox is cleared when there is none."""
        slots.follow = self._follow

    def _follow(self, writer: SlotWriter, version: int, changes: Sequence[Change]) -> None:
        self._under_way[writer] = self._under_way.get(writer, 0) + 1
        task = asyncio.ensure_future(self._write_all(writer, version, changes))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_all(self, writer: SlotWriter, version: int, changes: Sequence[Change]) -> None:
        is_written = False
        try:
            await asyncio.gather(
                *[self._write(change.entries, version, number) for number, change in enumerate(changes)]
            )
            is_written = True
        except HashrangeError as error:
            _log.warning(LOG_ENTRIES_WAIT, error)
        finally:
            self._under_way[writer] -= 1
            if is_written:
                key = outbox_key(version, len(changes))
                self._done[writer] = max(self._done.get(writer, b""), key)
            if not self._under_way[writer]:
                del self._under_way[writer]
        if is_written and writer not in self._under_way:
            await self._session.pause(CLEARED_SECONDS)
            await self._clear(writer)

    async def _clear(self, writer: SlotWriter) -> None:
        if writer in self._under_way or (up_to := self._done.pop(writer, None)) is None:
            return
        try:
            await writer.add(ClearOutbox(up_to))
        except HashrangeError as error:
            _log.warning(LOG_ENTRIES_WAIT, error)

    async def _write(self, entries: Sequence[EntryWrite], version: int, number: int) -> None:
        """Write what a change does to global indexes. Raises StorageError."""
        at = (version << NUMBER_BITS) + number
        writes = []
        for source, old, new in entries:
            if not source.is_global:
                continue
            if old is not None and (new is None or new.key != old.key):
                writes.append(self._session.write(cql.DELETE_ENTRY, at, source.source_id, slot_of(old.key), old.key))
            if new is not None:
                values = source.source_id, slot_of(new.key), new.key, new.row, at
                writes.append(self._session.write(cql.PUT_ENTRY, *values))
        if len(writes) == 1:
            await writes[0]
        else:
            await asyncio.gather(*writes)

    async def sweep(self) -> None:
        """Write the entries of all changes in outboxes, and clear these. Raises StorageError."""
        for table in list(self._tables()):
            if any(index.is_global for index in table.schema.indexes):
                for slot in range(SLOTS):
                    await self._sweep_slot(table, slot)

    async def _sweep_slot(self, table: OpenTable, slot: int) -> None:
        place = table.table_id, slot
        writer = self._slots.writer(*place)
        while writer not in self._under_way:
            lower, upper = b"", b"\xff" * 13
            found = await self._session.read(cql.SLICE, *place, OUTBOX, lower, upper, SWEPT_TOGETHER, level=QUORUM)
            if not found or writer in self._under_way:
                return
            for key, stored, _, _ in found:
                change = decode_change(stored)
                version, number = int.from_bytes(key[:8], "big"), int.from_bytes(key[8:], "big")
                entries = derive_entry_writes(table, change.key, change.old, change.new)
                await self._write(entries, version, number)
            await writer.add(ClearOutbox(found[-1][0]))

    async def drop(self, sources: Iterable[bytes]) -> None:
        """Delete all entries of indexes of a deleted table. Raises StorageError."""
        await asyncio.gather(
            *[
                self._session.write(cql.DROP_ENTRIES, DROPPED_AT, source_id, slot)
                for source_id in sources
                for slot in range(SLOTS)
            ]
        )

    async def stop(self) -> None:
        """Let what is under way end."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
