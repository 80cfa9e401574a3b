"""How do changes of tables reach Kinesis data streams? One job delivers those of all feeds, in slices and passes
(`triggers/passes.py`) over the shards that have something to send.

A pass concludes the requests that have ended, stores the new checkpoints in one commit, and begins further requests: at
most one of a shard at a time, and eight in all. Commits and time wake the job.

At least once: only durable changes are sent, and a checkpoint is written after Kinesis has accepted all changes before
it. After an error, requests that are under way go on.
Why: docs/adr/0042-kinesis-destinations.md.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from functools import partial
from operator import itemgetter
from typing import Any

from hashrange.clock import Clock
from hashrange.functions.handler_errors import logged_text
from hashrange.items.steps import walk
from hashrange.limits import KINESIS_PUTS_AT_ONCE
from hashrange.messages import kinesis as messages
from hashrange.store.interface import WholeStore
from hashrange.tables.streams import Sequence, horizon, sequence_text
from hashrange.triggers.kinesis.client import KinesisClient, KinesisRefusal, NoAnswer, put_results
from hashrange.triggers.kinesis.feed_delivery import (
    Enabling,
    FeedDelivery,
    ShardKey,
    checkpoint_of,
    read_positions,
)
from hashrange.triggers.kinesis.observation import DeliveryObservation, ObserveDelivery
from hashrange.triggers.kinesis.shard_delivery import OutgoingPut, ShardDelivery
from hashrange.triggers.passes import Passes
from hashrange.triggers.retries import pause_seconds

Conclude = Callable[["asyncio.Task[Any]"], Coroutine[Any, Any, None]]
"""Notes the outcome of a request that has ended."""


class KinesisDelivery:
    """The job that delivers changes to Kinesis data streams."""

    def __init__(self, store: WholeStore, clock: Clock, endpoint: str, wake: Callable[[], None] = lambda: None) -> None:
        """`endpoint`: URL of Kinesis. `wake` is called when the job has new work, so that a slice is run.
        Raises UrlUnusable for any other text.
        """
        self._store = store
        self._clock = clock
        self._endpoint = endpoint
        self._client = KinesisClient(endpoint, clock)
        self._pause = EndpointPause(endpoint)
        self._passes: Passes[Conclude] = Passes(store, clock, self._pass, self._forget, self.wake, wake)
        """Its tasks are requests."""
        self._is_stopped = False
        self._feeds: dict[int, FeedDelivery] = {}
        """By stream id."""
        self._positions: dict[ShardKey, Sequence] = {}
        """What each checkpoint says, or will say once it is stored."""
        self._unsaved: dict[str, bytes | None] = {}
        """Checkpoints to store, or to delete (None), in one commit."""
        self._observe: ObserveDelivery | None = None
        self._goal: Sequence | None = None
        """Up to this sequence number, changes are to be sent before the slice ends; None: it is not known yet."""
        self._has_begun_sync = False
        """True if a sync that is, or was, awaited has begun in this slice."""

    def wake(self) -> None:
        """Look for changes to send. To be called after each commit that wrote changes,
        or began or ended a feed or shard.
        """
        self._passes.look()

    def on_delivered(self, observe: ObserveDelivery | None) -> None:
        """Tell `observe`, None: nobody, of every request that ends from now on, and of every change passed over."""
        self._observe = observe

    async def stop(self) -> None:
        """Give up all requests under way, and end the slice that waits for them; nothing is begun any more."""
        self._is_stopped = True
        await self._passes.stop()

    async def run_slice(self) -> float | None:
        """Send what there is to send, and wait until what was written before the call has been accepted or has failed:
        whoever moves the clock, and other jobs, would wait forever for a client that goes on writing.

        Returns the seconds of service time until a pause ends; None if nothing is to be done until the job is woken;
        LATER if changes are left that were written since. Raises StorageError.
        """
        self._goal, self._has_begun_sync = None, False
        return None if self._is_stopped else await self._passes.run_slice(waits_for_syncs=True, is_over=self._is_over)

    def _is_over(self) -> bool:
        """True if all changes up to the goal have been sent, or wait for the end of a pause."""
        goal, now_seconds = self._goal, self._clock.service_time()
        if goal is None:
            return False
        for feed in walk(self._feeds.values()):
            if feed.enabling is not None and feed.enabling.due_seconds <= now_seconds:
                return False
            for shard in walk(feed.shards.values()):
                if shard.has_news and shard.position <= goal and shard.due_seconds <= now_seconds:
                    return False
        return True

    # --- a pass ---------------------------------------------------------------------------------

    async def _pass(self) -> float | None:
        """Conclude and begin requests; returns the seconds of service time until the next pause ends."""
        passes, epoch = self._passes, self._passes.epoch
        while passes.has_ended:
            task, conclude = passes.take_ended()
            await conclude(task)
        if self._pause.is_down:
            for feed in walk(self._feeds.values()):
                if feed.enabling is not None:
                    now_seconds = self._clock.service_time()
                    await feed.enabling.give_up_late(self._store.catalog, self._pause.reason, now_seconds)
        await self._look_for_shards(epoch)
        await passes.save(self._unsaved)
        passes.check(epoch)
        return await self._begin_requests(epoch)

    def _forget(self) -> None:
        """Drop everything in memory, and read the checkpoints."""
        self._feeds, self._unsaved = {}, {}
        self._positions = {} if self._is_stopped else read_positions(self._store.documents)
        self._client.forget()
        self._pause = EndpointPause(self._endpoint)  # service time may have gone back

    async def _look_for_shards(self, epoch: int) -> None:
        """Find the feeds that are delivered, those of their shards that are delivered now, and which of these have got
        changes.
        """
        streams, oldest = self._store.streams, horizon(self._clock.service_time())
        self._passes.sync.check()
        feeds: dict[int, FeedDelivery] = {}
        present: set[ShardKey] = set()
        is_all = True
        for feed in walk(streams.feeds()):
            if feed.target is not None:
                known = self._feeds.get(feed.stream_id) or FeedDelivery(feed, feed.target)
                known.update(feed, feed.target)
                changed = await streams.changed_shards(feed, known.heard)
                self._passes.check(epoch)
                is_all = is_all and (changed is None or changed.is_all)
                present.update(known.look_for_shards(streams, changed, self._positions, oldest))
                feeds[feed.stream_id] = known
        self._feeds = feeds
        sync = self._passes.sync
        if self._goal is None and (is_all or (self._has_begun_sync and not sync.is_awaited)):
            news = [one.shard for feed in feeds.values() for one in walk(feed.shards.values()) if one.has_news]
            self._goal = max([await streams.last_of_shard(shard) for shard in walk(news)], default=0)
        if not is_all and not sync.is_awaited:
            sync.begin()
            self._has_begun_sync = True
        for key in walk(self._positions.keys() - present):
            del self._positions[key]
            self._unsaved[checkpoint_of(key)] = None

    # --- requests -------------------------------------------------------------------------------

    def _in_turn(self) -> list[tuple[int, FeedDelivery, Enabling | ShardDelivery]]:
        """Everything for which requests may be sent; first that whose last request was longest ago."""
        found: list[tuple[int, FeedDelivery, Enabling | ShardDelivery]] = []
        lines: set[tuple[int, str]] = set()
        for feed in walk(self._feeds.values()):
            if feed.line in lines:
                continue
            if feed.enabling is not None:
                found.append((feed.enabling.begun, feed, feed.enabling))
                continue
            if feed.shards:
                lines.add(feed.line)
            found += [(one.begun, feed, one) for one in feed.shards.values()]
        return sorted(found, key=itemgetter(0))

    async def _begin_requests(self, epoch: int) -> float | None:
        """Begin as many requests as may be under way; returns the seconds until the next pause ends."""
        now_seconds = self._clock.service_time()
        places = 1 if self._pause.is_down else KINESIS_PUTS_AT_ONCE
        if now_seconds < self._pause.due_seconds:
            return self._pause.due_seconds - now_seconds
        dues: list[float] = []
        for _, feed, one in walk(self._in_turn()):
            if now_seconds < one.due_seconds:
                dues.append(one.due_seconds)
            elif one.is_busy:
                continue
            elif self._passes.running >= places:
                one.rest()
            elif isinstance(one, Enabling):
                self._begin(one, self._client.describe_stream(feed.terms.stream_arn), partial(self._described, one))
            else:
                await self._begin_put(feed, one, now_seconds, epoch)
        return min(dues) - now_seconds if dues else None

    async def _begin_put(self, feed: FeedDelivery, shard: ShardDelivery, now_seconds: float, epoch: int) -> None:
        """Send the next changes of a shard, if there are any."""
        put = await shard.next_put(feed.present_terms, self._store.streams, now_seconds)
        self._passes.check(epoch)
        self._tell_passed_over(feed, shard)
        if put is not None:
            ask = self._client.put_records(feed.terms.stream_arn, put.body)
            self._begin(shard, ask, partial(self._put, feed, shard, put))
        elif shard.is_drained:
            self._passes.look()  # its children may be delivered now

    def _begin(self, one: Enabling | ShardDelivery, ask: Coroutine[Any, Any, Any], conclude: Conclude) -> None:
        one.is_busy, one.begun = True, self._passes.number
        self._passes.begin(ask, conclude)

    async def _described(self, enabling: Enabling, task: "asyncio.Task[str | None]") -> None:
        """Conclude a request that asked for the status of a data stream."""
        enabling.is_busy = False
        catalog, now_seconds = self._store.catalog, self._clock.service_time()
        try:
            status = task.result()
        except NoAnswer as error:
            self._pause.unanswered(str(error), now_seconds)
            enabling.unanswered()
        except KinesisRefusal as error:
            self._pause.answered()
            enabling.refused(now_seconds)
            await enabling.give_up_late(catalog, str(error), now_seconds)
        else:
            self._pause.answered()
            await enabling.answered(catalog, status, now_seconds)
        finally:
            del task  # which keeps an error, and the error's traceback this frame

    async def _put(self, feed: FeedDelivery, shard: ShardDelivery, put: OutgoingPut, task: "asyncio.Task[Any]") -> None:
        """Conclude a request that sent changes."""
        shard.is_busy = False
        now_seconds, before = self._clock.service_time(), shard.position
        age_seconds = shard.oldest_age_seconds(now_seconds)
        try:
            results = put_results(task.result(), len(put.sequences))
        except NoAnswer as error:
            self._pause.unanswered(str(error), now_seconds)
            shard.rest()
            self._tell_ages(now_seconds)
        except KinesisRefusal as error:
            self._pause.answered()
            shard.refused(feed.terms, put, error, now_seconds)
            throttled = len(put.sequences) if error.is_throttling else 0
            self._tell(DeliveryObservation(feed.terms.feed, age_seconds, throttled=throttled))
        else:
            self._pause.answered()
            shard.concluded(feed.terms, put, results, now_seconds)
            units = [one for one, result in zip(put.units, results, strict=True) if result == "accepted"]
            self._tell(DeliveryObservation(feed.terms.feed, age_seconds, units, results.count("throttled")))
        finally:
            del task  # as above
        self._tell_passed_over(feed, shard)
        if shard.position != before:
            key = feed.terms.feed.stream_id, shard.shard.number
            self._positions[key] = shard.position
            self._unsaved[checkpoint_of(key)] = sequence_text(shard.position).encode()

    # --- observation ------------------------------------------------------------------------------

    def _tell(self, observation: DeliveryObservation) -> None:
        if self._observe is not None:
            self._observe(observation)

    def _tell_passed_over(self, feed: FeedDelivery, shard: ShardDelivery) -> None:
        passed_over = shard.take_passed_over()
        if passed_over:
            self._tell(DeliveryObservation(feed.terms.feed, passed_over=passed_over))

    def _tell_ages(self, now_seconds: float) -> None:
        """While Kinesis does not answer, tell for how long each shard has waited, though only one of them has asked."""
        if self._observe is None:
            return
        for feed in walk(self._feeds.values()):
            for shard in feed.shards.values():
                age_seconds = shard.oldest_age_seconds(now_seconds)
                if age_seconds is not None:
                    self._observe(DeliveryObservation(feed.terms.feed, age_seconds))


# --- whether the endpoint answers -----------------------------------------------------------------

_log = logging.getLogger("hashrange.kinesis")


class EndpointPause:
    """Whether the endpoint answers. While it does not, one request after a pause finds out, and all others wait.
    Times are service time.
    """

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self.failures = 0
        """Requests in a row that were not answered."""
        self.due_seconds = -math.inf
        """Service time before which nothing is sent."""
        self.reason = ""
        """Why the last of them was not answered."""

    @property
    def is_down(self) -> bool:
        """True if the last request was not answered."""
        return self.failures > 0

    def answered(self) -> None:
        """Note that a request was answered, whatever the answer was."""
        if self.is_down:
            _log.warning(messages.LOG_RESUMED, self._endpoint)
        self.failures, self.due_seconds = 0, -math.inf

    def unanswered(self, reason: str, now_seconds: float) -> None:
        """Note that a request was not answered, and let the next pause begin, in which nothing is sent."""
        if not self.is_down:
            _log.warning(messages.LOG_PAUSED, self._endpoint, logged_text(reason))
        self.reason = reason
        if now_seconds >= self.due_seconds:  # of requests that were under way together, one counts
            self.failures += 1
            self.due_seconds = now_seconds + pause_seconds(self.failures)
