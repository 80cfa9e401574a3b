"""How do stream records reach functions? One job delivers those of all event source mappings, in slices and passes
(`passes.py`) over the lanes that have something to do.

A pass concludes what has ended, stores the new checkpoints in one commit, and begins invocations for lanes that are
*marked*: because there are new records, an invocation has ended, or a time has come.

At least once, in order: a lane begins its next batch after the commit of the checkpoint behind the last one; a shard is
read after its parent has been handled; only durable records are delivered.
After an error, too, everything in memory is dropped, and mappings continue at their checkpoints.
A stream may have thousands of shards, so a look is about those that have changed since the last one.
Why: docs/adr/0040-functions-and-triggers.md.

Measured with functions that return at once, on a shared machine: 7 µs of CPU for a record of 900 bytes in batches
of 100, 10 to 12 with ten lanes, 11 with a filter by eventName, 80 for batches of one record. Half of the records are at
their function 0.5 ms after their write in memory, and 4 ms on disk, where they wait for a sync. A write that concerns
no mapping costs 5 µs, and 0.2 µs for each mapping of another stream; writes that come together cost this once.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from math import inf

from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.items.steps import walk
from hashrange.jobs.chains import ChainLinks, IsAwaited
from hashrange.jobs.job import AT_ONCE, NeverRests
from hashrange.limits import TRIGGER_KEPT_BYTES_MAX, TRIGGER_PASSED_RECORDS_MAX, TRIGGER_PASSED_SECONDS
from hashrange.messages.triggers import CHAIN_WITHOUT_END, DELIVERIES_WITHOUT_END, STREAM_ENDED
from hashrange.store.interface import WholeStore
from hashrange.triggers.agenda import Agenda
from hashrange.triggers.attempts import Attempt, Attempts, Deliver, Invoke
from hashrange.triggers.batches import Disturb
from hashrange.triggers.consumers import ConsumedShard, Consumer, News
from hashrange.triggers.filling import fill_batch, read_again
from hashrange.triggers.lanes import Lane
from hashrange.triggers.mappings import Mappings
from hashrange.triggers.passes import Passes
from hashrange.triggers.retries import batches_of_age
from hashrange.triggers.roster import Roster

DeliveringMapping = tuple[str, str, str]
"""ARN of a mapping's function, name of its table, and its UUID."""


class Delivery:
    """The job that delivers stream records to functions."""

    def __init__(
        self,
        mappings: Mappings,
        store: WholeStore,
        clock: Clock,
        invoke: Invoke,
        deliver: Deliver,
        disturb: Disturb | None = None,
        wake: Callable[[], None] = lambda: None,
        is_awaited: IsAwaited = lambda: 0,
    ) -> None:
        """`disturb`: what happens to batches, in tests of applications. `wake` is called when the resting job has work.
        `is_awaited()`: above 0 if somebody waits for the end of the slice, which then must not last forever;
        see `Runner.is_in_order`.
        """
        self._store = store
        self._clock = clock
        self._roster = Roster(mappings, store, clock, disturb)
        self._passes: Passes[Attempt] = Passes(store, clock, self._pass, self._forget, self.wake, wake)
        self._agenda = Agenda()
        self._read_bytes = 0
        """Bytes of records that were read since all that is not at a function was last let go of."""
        self._attempts = Attempts(self._roster, self._agenda, clock, invoke, deliver, self._passes)
        self._chains = ChainLinks[DeliveringMapping](clock, is_awaited, CHAIN_WITHOUT_END, DELIVERIES_WITHOUT_END)
        """A link is an invocation with records that were written after the link before had begun."""
        self._left: dict[str, bytes | None] = {}
        """Checkpoints that a cancelled slice has left for `stop` to store."""
        self._has_news = True
        """True if records were written, or have become durable, that no pass has seen."""
        mappings.on_change(self._mappings_changed)

    # --- what makes the job look ------------------------------------------------------------------

    def wake(self) -> None:
        """Look for new durable records, and whether the store's content was replaced,
        in the running slice or the next one.

        0.1 µs if a look is due already.
        """
        if not self._has_news and (self._roster.consumers or self._passes.is_outdated):
            self._has_news = True
            self._passes.look()

    def _mappings_changed(self) -> None:
        self._roster.is_outdated = True
        self._passes.look()

    def concurrency_changed(self, function_arn: str) -> None:
        """Bring the throttled batches of a function, whose reserved concurrency has changed, to it at once.
        `function_arn`: without a qualifier.
        """
        self._attempts.concurrency_changed(function_arn)
        self._passes.look()

    # --- slices -----------------------------------------------------------------------------------

    async def run_slice(self) -> float | None:
        """Deliver until nothing runs and nothing is due; returns the seconds of service time
        until something is, or None.

        Raises StorageError, and NeverRests if a function triggers itself and `is_awaited()`: what runs then goes on,
        and the next slice concludes it. If a slice is cancelled, so are invocations that run;
        their records are delivered again.
        """
        self._left = {}
        self._chains.begin_slice()
        try:
            return await self._passes.run_slice()
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                self._left = self._unsaved_positions()
            goes_on = isinstance(error, NeverRests) or (self._passes.is_saving and isinstance(error, StorageError))
            if not goes_on:
                self._passes.drop()
            raise

    async def stop(self) -> None:
        """End all invocations that run, and the slice; store the positions behind records that no filter
        matched. The job may be run again.
        """
        left, generation = self._left | self._unsaved_positions(), self._passes.generation
        self._left = {}
        await self._passes.stop()
        if left:
            with suppress(StorageError):  # these records are looked at again
                await self._store.documents.write(left, generation)

    def _unsaved_positions(self) -> dict[str, bytes | None]:
        """The checkpoints behind records that were passed over and that nothing has stored yet."""
        return {} if self._passes.is_outdated else self._roster.unsaved_positions()

    def _forget(self) -> None:
        self._roster.forget()
        self._agenda.clear()
        self._attempts.forget()
        self._has_news = True

    # --- passes -----------------------------------------------------------------------------------

    async def _pass(self) -> float | None:
        """Do what can be done now, without waiting for anything; returns the seconds until the next pass has
        something to do. Raises StorageError, NeverRests and Outdated.
        """
        roster, attempts, agenda, passes = self._roster, self._attempts, self._agenda, self._passes
        epoch = passes.epoch
        if roster.is_outdated or roster.next_change_seconds <= self._clock.service_time():
            begun, retired = await roster.refresh()
            self._has_news = self._has_news or bool(begun)
            for consumer in retired:
                agenda.forget(consumer)
                for shard in walk(consumer.shards.values()):
                    shard.let_go()
                if not consumer.busy_lanes:
                    consumer.let_go()
        while passes.has_ended:
            attempts.conclude()
        if roster.unsaved:
            await passes.save(roster.unsaved)
            await asyncio.sleep(0)  # so that requests wait for the commit, or for what follows, and not for both
        passes.check(epoch)
        await self._see_records()
        agenda.mark_due(self._clock.service_time())
        while agenda.has_marked and not (attempts.is_full or passes.has_ended or roster.unsaved):
            shard, lane = agenda.take()
            await self._step(shard, lane)
            self._count(lane)
        self._chains.check()
        if (agenda.has_marked and not attempts.is_full) or self._has_news or roster.is_outdated or roster.unsaved:
            return AT_ONCE
        due_seconds = min(agenda.next_due_seconds(), roster.next_change_seconds)
        return None if due_seconds == inf else due_seconds - self._clock.service_time()

    def _count(self, lane: Lane) -> None:
        """Count what was read for a lane; let go of all records if they may have become too many to be kept."""
        self._read_bytes += lane.read_bytes
        lane.read_bytes = 0
        if self._read_bytes > TRIGGER_KEPT_BYTES_MAX:
            self._read_bytes = 0
            for consumer in self._roster.consumers.values():
                for shard in walk(consumer.shards.values()):
                    shard.let_go()

    async def _see_records(self) -> None:
        """Mark the lanes that take records, if more records of their shards are durable than they know of."""
        if not self._has_news:
            return
        self._has_news = False
        passes, streams = self._passes, self._store.streams
        epoch, is_all = passes.epoch, True
        passes.sync.check()
        for consumer in walk(self._roster.consumers.values()):
            changed = await streams.changed_shards(consumer.stream, consumer.heard)
            if changed is None:
                continue
            is_all = is_all and changed.is_all
            if changed.mark != consumer.heard and not consumer.is_retired:
                passes.check(epoch)
                self._see_shards(consumer, consumer.look_for_shards(streams, changed))
        passes.check(epoch)
        if not is_all:
            passes.sync.begin()

    def _see_shards(self, consumer: Consumer, news: News) -> None:
        """Mark the lanes of these shards that take records, and only these: a stream may have thousands of shards."""
        self._roster.unsaved |= dict.fromkeys(news.deleted)
        if consumer.has_ended:
            self._roster.save_result(consumer, STREAM_ENDED)
        for shard in walk(news.shards):
            for lane in shard.lanes:
                if not lane.is_busy and not (lane.batches and lane.batches[0].is_complete):
                    self._agenda.mark(shard, lane)

    async def _step(self, shard: ConsumedShard, lane: Lane) -> None:
        """Begin the delivery of a lane's next batch, if it has a complete one that is due."""
        consumer, epoch = shard.consumer, self._passes.epoch
        if lane.is_busy or consumer.is_retired:
            return
        now_seconds = self._clock.service_time()
        lane.end_window_early()
        if not lane.batches or not lane.batches[0].is_complete:
            is_complete = await fill_batch(shard, lane, self._store.streams, now_seconds)
            self._passes.check(epoch)
            if not is_complete:
                self._rest(shard, lane)
                return
        batch = lane.batches[0]
        left = batches_of_age(batch, consumer.mapping, now_seconds)
        if left != [batch]:
            lane.replace_first(left)
            self._roster.save_positions(consumer, [shard])
            self._agenda.mark(shard, lane)
        elif batch.due_seconds > now_seconds:
            self._agenda.set_time(shard, lane, batch.due_seconds)
        else:
            self._agenda.set_time(shard, lane, None)
            if len(batch.records) < len(batch.sequences):
                await read_again(shard, lane, self._store.streams, now_seconds)
                self._passes.check(epoch)
            if batch.sequences and self._chains.are_counted:
                doer = (consumer.mapping.function_arn, consumer.stream.table_name, consumer.mapping.uuid)
                last = await self._store.streams.last_of_shard(shard.shard)
                self._passes.check(epoch)
                self._chains.begin(doer, batch.sequences[0], last)
            self._attempts.begin(shard, lane)

    def _rest(self, shard: ConsumedShard, lane: Lane) -> None:
        """Let a lane that has looked at all durable records wait for more,
        or for the time at which its batch is complete.
        """
        consumer, now_seconds = shard.consumer, self._clock.service_time()
        if lane.passed and lane.save_seconds is None:
            lane.save_seconds = now_seconds + TRIGGER_PASSED_SECONDS
        if lane.save_seconds is not None and (
            lane.save_seconds <= now_seconds or lane.passed >= TRIGGER_PASSED_RECORDS_MAX
        ):
            self._roster.save_positions(consumer, [shard])
        times = [one for one in (lane.due_seconds, lane.save_seconds) if one is not None]
        self._agenda.set_time(shard, lane, min(times, default=None))
        if shard.is_drained and not consumer.is_retired:
            self._see_shards(consumer, consumer.end(shard, self._store.streams))
