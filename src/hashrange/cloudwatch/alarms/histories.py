"""How are events added to the histories of alarms? By one writer at a time: each reads and writes all of a history,
which may have several MB.

Actions of one alarm often end together, as when their endpoint refuses them. Who notes the first one also notes those
that wait behind it, in the same write.
"""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from hashrange.cloudwatch.alarms.alarm import Alarm
from hashrange.cloudwatch.alarms.history import History, HistoryItem
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange, again_if_changed

HISTORY_PREFIX = "alarm-history/"


class _Note(msgspec.Struct, eq=False):
    """An event that waits to be added."""

    alarm: Alarm
    item: HistoryItem
    generation: int
    """That of the content in which the event happened."""


class AlarmHistories:
    """The histories of one store's alarms, also of deleted ones. Every method that reads or writes raises
    StorageError.
    """

    def __init__(self, documents: Documents, order: asyncio.Lock) -> None:
        """`order` is held while a history is changed: that of the alarms, which are written together with it."""
        self._histories = KeptRecords(documents, HISTORY_PREFIX, History, "history of an alarm")
        self._documents = documents
        self._order = order
        self._notes: list[_Note] = []
        """Events that wait, in the order of their coming."""

    def of(self, account: str, region: str, name: str | None = None) -> Iterator[tuple[str, History]]:
        """Name and events of one alarm name or, None, of all names of an account and Region, deleted ones too; may
        give way.
        """
        if name is None:
            begin = f"{account}/{region}/"
            for path, history in self._histories.walk(account, region):
                yield path.removeprefix(begin), history
        elif (found := self._histories.get(account, region, name, gives_way=True)) is not None:
            yield name, found

    def removal(self, path: str) -> RecordChange:
        """The change that removes the history of an alarm, whose path this is as text."""
        return self._histories.removal(path)

    async def extension(self, alarm: Alarm, items: Sequence[HistoryItem]) -> RecordChange:
        """The change that adds these events to the alarm's history. The caller holds `order` until it is written."""

        def update(before: History | None) -> History:
            history = before or History()
            history.is_composite = alarm.definition.is_composite
            for item in items:
                history.add(item)
            return history

        return await self._histories.updated_in_steps(update, *alarm.place)

    async def note(self, alarm: Alarm, item: HistoryItem, generation: int) -> None:
        """Add an event that has happened in the content of this `generation`, unless it has been replaced."""
        note = _Note(alarm, item, generation)
        self._notes.append(note)
        try:
            async with self._order:
                if note in self._notes:
                    await self._write([one for one in self._notes if one.alarm.place == alarm.place])
        finally:
            self._forget([note])

    @again_if_changed
    async def _write(self, notes: Sequence[_Note]) -> None:
        """Add the events of these notes, which are all of one alarm. If this fails, the next one of them tries it."""
        generation = self._documents.generation
        items = [one.item for one in notes if one.generation == generation]
        if items:
            extension = await self.extension(notes[-1].alarm, items)
            await self._histories.write(extension, generation=generation)
        self._forget(notes)

    def _forget(self, notes: Sequence[_Note]) -> None:
        self._notes = [one for one in self._notes if one not in notes]
