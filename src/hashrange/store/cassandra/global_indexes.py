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
CHANGES_SWEPT_TOGETHER = 512
"""Changes that are read together: more than a batch has."""
NUMBER_BITS = 16
"""Bits of a timestamp for the number of a change in its batch."""
DROPPED_AT = 2**62
"""The timestamp with which entries of deleted tables are deleted: later than that of every entry."""

_log = logging.getLogger("hashrange.store")


class GlobalIndexes:
    """Writes the entries of global indexes that follow from changes."""

    def __init__(self, session: Session, slots: Slots, tables: Callable[[], Iterable[OpenTable]]) -> None:
        self._session = session
        self._slots = slots
        self._tables = tables
        self._tasks: set[asyncio.Task[None]] = set()
        self._done: dict[SlotWriter, list[int]] = {}
        """Slot → versions whose entries are written, until the outbox is cleared of them."""
        self._under_way = 0
        """Batches whose entries are being written."""
        slots.on_followed(self._follow)

    def _follow(self, writer: SlotWriter, version: int, changes: Sequence[Change]) -> None:
        self._under_way += 1
        task = asyncio.ensure_future(self._write_all(writer, version, changes))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_all(self, writer: SlotWriter, version: int, changes: Sequence[Change]) -> None:
        """Write the entries that follow from a batch, however long that takes, and clear the outbox of it."""
        while True:
            try:
                await asyncio.gather(
                    *[self._write(change.entries, version, number) for number, change in enumerate(changes)]
                )
                break
            except HashrangeError as error:
                _log.warning(LOG_ENTRIES_WAIT, error)
                await self._session.pause(CLEARED_SECONDS)
        self._under_way -= 1
        self._done.setdefault(writer, []).append(version)
        await self._session.pause(CLEARED_SECONDS)
        await self._clear(writer)

    async def settled(self) -> None:
        """Return once the entries of all batches so far are written."""
        while self._under_way:
            await self._session.pause(0.001)

    async def _clear(self, writer: SlotWriter) -> None:
        """Clear the outbox of a slot of all that is written by now; what fails is found by a sweep."""
        if versions := self._done.pop(writer, None):
            try:
                await writer.add(ClearOutbox(versions))
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
                writes.append(self._session.execute(cql.DELETE_ENTRY, at, source.source_id, slot_of(old.key), old.key))
            if new is not None:
                values = source.source_id, slot_of(new.key), new.key, new.row, at
                writes.append(self._session.execute(cql.PUT_ENTRY, *values))
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
        lower = b""
        while True:
            values = *place, OUTBOX, lower, b"\xff" * 13, CHANGES_SWEPT_TOGETHER
            found = await self._session.execute(cql.READ_SLICE, *values, level=QUORUM)
            if not found:
                return
            versions: dict[int, None] = {}
            for key, stored, *_ in found:
                change = decode_change(stored)
                version, number = int.from_bytes(key[:8], "big"), int.from_bytes(key[8:], "big")
                entries = derive_entry_writes(table, change.key, change.old, change.new)
                await self._write(entries, version, number)
                versions[version] = None
            last = next(reversed(versions))
            if len(found) == CHANGES_SWEPT_TOGETHER:
                del versions[last]  # it may have more changes
            await self._slots.writer(*place).add(ClearOutbox(list(versions)))
            lower = outbox_key(next(reversed(versions)) + 1, 0)

    async def stop(self) -> None:
        """Let what is under way end."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def drop_entries(session: Session, sources: Iterable[bytes]) -> None:
    """Delete all entries of indexes of a deleted table. Raises StorageError."""
    await asyncio.gather(
        *[
            session.execute(cql.DROP_ENTRIES, DROPPED_AT, source_id, slot)
            for source_id in sources
            for slot in range(SLOTS)
        ]
    )
