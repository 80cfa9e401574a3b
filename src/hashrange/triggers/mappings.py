"""Which event source mappings are there? Documents of the store, and all of them in memory; a change is one commit.

A deleted mapping stays for the delay of its transition, and is removed by the job that delivers records (`purge`). Its
checkpoints are deleted at once, in the commit of the request.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.clock import Clock
from hashrange.errors import RecordsChanged
from hashrange.items.steps import sort, walk
from hashrange.messages.triggers import NO_RECORDS_PROCESSED
from hashrange.operations.streams.stream import stream_with_arn
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange, RememberedRecords, again_if_changed
from hashrange.store.streams import Streams
from hashrange.tables.streams import SEQUENCE_MAX, sequence_text
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.triggers.mapping import (
    PREFIX,
    EventSourceMapping,
    MappingState,
    Transition,
    is_mapping_gone,
    state_of,
    without_overlong_transition,
)

CHECKPOINT_PREFIX = "checkpoint/"
RESULT_PREFIX = "processing-result/"


class Mappings:
    """The mappings of one store. Every method that writes raises StorageError; so does whichever method reads first."""

    def __init__(self, documents: Documents, streams: Streams, clock: Clock, state_delay_seconds: float = 0.0) -> None:
        """`state_delay_seconds`: how long a mapping is Creating, Updating, Enabling, Disabling or Deleting."""
        self._documents = documents
        self._streams = streams
        self._clock = clock
        self._delay_seconds = state_delay_seconds
        records = KeptRecords(documents, PREFIX, EventSourceMapping, "event source mapping")
        self._mappings = RememberedRecords(
            records,
            lambda one: one.path,
            groups_of=lambda one: ((one.account, one.region),),
            correct=lambda one: without_overlong_transition(one, clock.service_time(), state_delay_seconds),
        )
        self._listeners: list[Callable[[], None]] = []

    # --- reading --------------------------------------------------------------------------------

    def find(self, caller: Caller, uuid: str) -> EventSourceMapping | None:
        """The caller's mapping, in any state; None if there is none, or it is gone."""
        found = self._mappings.get(*caller, uuid)
        return None if found is None or is_mapping_gone(found, self._clock.service_time()) else found

    def all_of(self, caller: Caller) -> Sequence[EventSourceMapping]:
        """The caller's mappings that are not gone, in the order of their UUIDs."""
        now_seconds = self._clock.service_time()
        found = [one for one in walk(self._mappings.among(caller).values()) if not is_mapping_gone(one, now_seconds)]
        return sort(found, key=lambda one: one.uuid)

    def all(self) -> Sequence[EventSourceMapping]:
        """All mappings of all callers, also those that are gone and not yet purged,
        in the order of their creation or load.
        """
        return list(self._mappings.by_path().values())

    def shown_state(self, mapping: EventSourceMapping) -> MappingState:
        """The mapping's state now. Replies to requests that change it show `mapping.transition` instead."""
        return state_of(mapping, self._clock.service_time())

    def last_processing_result(self, mapping: EventSourceMapping) -> str:
        """LastProcessingResult: `OK`, `No records processed`, or `PROBLEM: ` and what it is. Raises StorageError."""
        document = self._documents.get(RESULT_PREFIX + mapping.uuid)
        return NO_RECORDS_PROCESSED if document is None else document.decode()

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each change of a mapping."""
        self._listeners.append(callback)

    # --- changes --------------------------------------------------------------------------------

    @again_if_changed
    async def create(self, mapping: EventSourceMapping) -> EventSourceMapping:
        """Store a new mapping, whose UUID no other has; returns it as stored, Creating.

        With LATEST it receives every record that is written after this call has returned.
        """
        if mapping.starting_position == "LATEST":
            latest = sequence_text(await self._latest(mapping))
            mapping = msgspec.structs.replace(mapping, starting_sequence=latest)
        self._mappings.by_path()  # the mapping is created in the present content
        created = self._changed(mapping, "Creating")
        await self._write(self._mappings.change(created))
        return created

    async def replace(self, old: EventSourceMapping, new: EventSourceMapping) -> EventSourceMapping:
        """Replace a mapping; returns it as stored: Enabling, Disabling or Updating.
        Raises RecordsChanged if `old` is no longer the stored one.
        """
        transition: Transition = "Updating"
        if old.is_enabled != new.is_enabled:
            transition = "Enabling" if new.is_enabled else "Disabling"
        self._mappings.require(old)
        changed = self._changed(new, transition)
        await self._write(self._mappings.change(changed))
        return changed

    async def replace_tags(self, mapping: EventSourceMapping, tags: Mapping[str, str]) -> None:
        """Replace the tags of a mapping, whose state and LastModified stay. Raises RecordsChanged as `replace`."""
        self._mappings.require(mapping)
        await self._write(self._mappings.change(msgspec.structs.replace(mapping, tags=tags)))

    async def delete(self, mapping: EventSourceMapping) -> EventSourceMapping:
        """Delete a mapping with its checkpoints; returns it as it is shown until it is gone: Deleting.

        Raises RecordsChanged as `replace`. An invocation that runs for it goes on, and is not retried.
        """
        self._mappings.require(mapping)
        deleted = self._changed(mapping, "Deleting")
        if is_mapping_gone(deleted, self._clock.service_time()):
            change = self._mappings.removal(deleted)
        else:
            change = self._mappings.change(deleted)
        await self._write(change, *self._without_belongings(deleted))
        return deleted

    async def purge(self) -> None:
        """Remove the documents of mappings that are gone."""
        now_seconds = self._clock.service_time()
        gone = [one for one in self.all() if is_mapping_gone(one, now_seconds)]
        changes = [change for one in gone for change in (self._mappings.removal(one), *self._without_belongings(one))]
        if changes:
            await self._write(*changes)

    async def _latest(self, mapping: EventSourceMapping) -> SequenceNumber:
        """A sequence number that all records have, or exceed, that are written to the mapping's stream from now on. It
        follows the least of those at which the open shards are; shards that begin later follow these.

        Where shards have numbers of their own, some records from just before exceed it too; none is missed.
        """
        stream = stream_with_arn(self._streams, mapping.stream_arn)
        shards = () if stream is None else self._streams.shards(stream)
        lasts = [await self._streams.last_of_shard(one) for one in walk(shards) if one.last is None]
        return min(lasts) + 1 if lasts else SEQUENCE_MAX

    def _changed(self, mapping: EventSourceMapping, transition: Transition) -> EventSourceMapping:
        now_seconds = self._clock.service_time()
        return msgspec.structs.replace(
            mapping,
            transition=transition,
            changing_until_seconds=now_seconds + self._delay_seconds,
            last_modified_seconds=now_seconds,
        )

    def _without_belongings(self, mapping: EventSourceMapping) -> list[RecordChange]:
        """Changes that remove the documents that go with a mapping, except its own."""
        checkpoints = self._documents.below(f"{CHECKPOINT_PREFIX}{mapping.uuid}/")
        names = [RESULT_PREFIX + mapping.uuid, *[name for name, _ in checkpoints]]
        return [RecordChange(name, None) for name in names]

    async def _write(self, *changes: RecordChange) -> None:
        """Raises RecordsChanged (nothing done) also if the store's content has been replaced."""
        if not await self._mappings.write(*changes):
            raise RecordsChanged
        for callback in self._listeners:
            callback()
