"""Which mappings deliver now? Each has a consumer, from the time at which it is Enabled until it is
changed, disabled or deleted.

A changed mapping gets another consumer, which begins at the checkpoints of the former one, once nothing of that one
runs any more. A mapping that cannot be used, whatever the reason, has no consumer, and concerns no other mapping.
The log tells of it once, and its LastProcessingResult says so until it is changed;
it is tried again whenever mappings have changed.
"""

import logging
from collections.abc import Iterable, Sequence
from math import inf

from hashrange.clock import Clock
from hashrange.errors import HashrangeError
from hashrange.functions.handler_errors import logged_text
from hashrange.items.steps import spend, walk
from hashrange.messages import triggers as messages
from hashrange.operations.streams.stream import stream_with_arn
from hashrange.store.interface import WholeStore
from hashrange.triggers.batches import Disturb
from hashrange.triggers.checkpoints import decode_checkpoint, shard_number_of
from hashrange.triggers.consumers import ConsumedShard, Consumer
from hashrange.triggers.filter_operators import InvalidPattern
from hashrange.triggers.mapping import EventSourceMapping, is_delivering, is_mapping_gone
from hashrange.triggers.mappings import CHECKPOINT_PREFIX, RESULT_PREFIX, Mappings

STEPS_TO_BEGIN = 100
"""Steps of making a consumer, besides compiling its filters: above all, reading its checkpoints."""
_log = logging.getLogger("hashrange.triggers")


class Roster:
    """The consumers, and the documents that have to be stored for them."""

    def __init__(self, mappings: Mappings, store: WholeStore, clock: Clock, disturb: Disturb | None) -> None:
        self._mappings = mappings
        self._store = store
        self._clock = clock
        self._disturb = disturb
        self.consumers: dict[str, Consumer] = {}
        """UUID of the mapping → consumer."""
        self.is_outdated = True
        """True if mappings have changed, or a consumer that is to be replaced no longer has anything running."""
        self.next_change_seconds = inf
        """First service time at which a mapping's state passes; infinite if none does."""
        self.unsaved: dict[str, bytes | None] = {}
        """Documents to store, or to delete (None), in one commit."""
        self._unusable: dict[str, EventSourceMapping] = {}
        """UUID → mapping that could not be used, as it was when the log told of it."""

    def forget(self) -> None:
        """Begin anew: nothing is known of any mapping."""
        for consumer in self.consumers.values():
            consumer.let_go()
        self.consumers, self.unsaved, self.is_outdated = {}, {}, True

    async def refresh(self) -> tuple[list[Consumer], list[Consumer]]:
        """Make and end consumers as the mappings require now; returns the new ones,
        and those that are to begin nothing more.

        Raises StorageError.
        """
        now_seconds = self._clock.service_time()
        self.is_outdated = False
        if any(is_mapping_gone(one, now_seconds) for one in self._mappings.all()):
            await self._mappings.purge()
        present = self._mappings.all()
        wanted = {one.uuid: one for one in present if is_delivering(one, now_seconds)}
        kept = {one.uuid for one in present if one.transition != "Deleting"}
        retired = []
        for uuid, consumer in list(self.consumers.items()):
            if wanted.get(uuid) != consumer.mapping:
                consumer.is_retired = True
                consumer.is_deleted = uuid not in kept
                retired.append(consumer)
            if consumer.is_retired and not consumer.busy_lanes:
                self.save_positions(consumer, consumer.passed_over())
                del self.consumers[uuid]
        for uuid in self._unusable.keys() - wanted.keys():
            del self._unusable[uuid]
        times = [one.changing_until_seconds for one in present if one.changing_until_seconds > now_seconds]
        self.next_change_seconds = min(times, default=inf)
        begun = [self._begin(one) for uuid, one in wanted.items() if uuid not in self.consumers]
        return [one for one in begun if one is not None], retired

    def _begin(self, mapping: EventSourceMapping) -> Consumer | None:
        """A consumer for a mapping; None if there is nothing that it could deliver."""
        spend(STEPS_TO_BEGIN)
        result = self._mappings.last_processing_result(mapping)
        stream = stream_with_arn(self._store.streams, mapping.stream_arn)
        documents = self.documents_of(mapping)
        if stream is None:
            self._note(mapping, result, messages.STREAM_MISSING)
            self.unsaved |= {name: None for name, _ in documents}
            return None
        try:
            saved = {shard_number_of(name): decode_checkpoint(name, document) for name, document in walk(documents)}
            consumer = Consumer(mapping, stream, saved, result, self._clock, self._disturb)
        # BLE001: nothing was read here, so that any error is one of this mapping alone
        except Exception as error:  # noqa: BLE001
            is_filter = isinstance(error, InvalidPattern)
            self._note(mapping, result, messages.FILTERS_INVALID if is_filter else messages.MAPPING_UNUSABLE)
            self._tell_once(mapping, error)
            return None
        self._unusable.pop(mapping.uuid, None)
        self.consumers[mapping.uuid] = consumer
        return consumer

    def _tell_once(self, mapping: EventSourceMapping, error: Exception) -> None:
        """Log why a mapping cannot be used, with the traceback of what no code has foreseen."""
        if self._unusable.get(mapping.uuid) == mapping:
            return
        self._unusable[mapping.uuid] = mapping
        reason = messages.FILTERS_ARE_INVALID if isinstance(error, InvalidPattern) else logged_text(str(error))
        message = messages.MAPPING_UNUSABLE_LOGGED.format(mapping_uuid=mapping.uuid, reason=reason)
        _log.error("%s", message, exc_info=None if isinstance(error, HashrangeError) else error)

    def documents_of(self, mapping: EventSourceMapping) -> Sequence[tuple[str, bytes]]:
        """The checkpoints of a mapping, also those that are not stored yet."""
        prefix = f"{CHECKPOINT_PREFIX}{mapping.uuid}/"
        found: dict[str, bytes | None] = dict(self._store.documents.below(prefix))
        found |= {name: document for name, document in self.unsaved.items() if name.startswith(prefix)}
        return [(name, document) for name, document in found.items() if document is not None]

    # --- what is stored --------------------------------------------------------------------------

    def save_positions(self, consumer: Consumer, shards: Iterable[ConsumedShard]) -> None:
        """Let the checkpoints of these shards of a consumer be stored."""
        if not consumer.is_deleted:
            for shard in shards:
                self.unsaved[shard.checkpoint_name] = shard.checkpoint()

    def unsaved_positions(self) -> dict[str, bytes | None]:
        """The checkpoints behind records that were passed over and that nothing has stored yet,
        except of deleted mappings.
        """
        kept = {one.uuid for one in self._mappings.all() if one.transition != "Deleting"}
        return {
            shard.checkpoint_name: shard.checkpoint()
            for uuid, consumer in self.consumers.items()
            if uuid in kept
            for shard in consumer.passed_over()
        }

    def save_result(self, consumer: Consumer, result: str) -> None:
        """Let LastProcessingResult of a consumer's mapping be stored, if it has changed."""
        if consumer.result != result and not consumer.is_deleted:
            self._note(consumer.mapping, consumer.result, result)
            consumer.result = result

    def _note(self, mapping: EventSourceMapping, before: str, result: str) -> None:
        if before != result:
            self.unsaved[RESULT_PREFIX + mapping.uuid] = result.encode()
