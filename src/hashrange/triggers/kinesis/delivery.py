"""How do changes of tables reach Kinesis data streams? One job delivers those of all feeds,
in passes over the shards that have something to send.

A pass concludes the requests that have ended, stores the new checkpoints in one commit, and begins further requests: at
most one of a shard at a time, and eight in all. Between passes `run_slice` waits. It ends when no request is under way
and nothing is due, so that an advance of service time returns when the changes up to that time have been sent.
Nothing polls: commits and time wake the job.

At least once: only durable changes are sent, and a checkpoint is written after Kinesis has accepted all changes before
it. If the content of the store is replaced, everything in memory is dropped, and delivery continues at the checkpoints.
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
from hashrange.errors import StorageError
from hashrange.functions.handler_errors import logged_text
from hashrange.items.steps import walk
from hashrange.jobs.job import called_when_due
from hashrange.limits import KINESIS_PUTS_AT_ONCE
from hashrange.messages import kinesis as messages
from hashrange.store.interface import WholeStore
from hashrange.tables.streams import Sequence, horizon
from hashrange.triggers.kinesis.client import KinesisClient, KinesisRefusal, NoAnswer, PutResult
from hashrange.triggers.kinesis.feed_delivery import (
    Enabling,
    FeedDelivery,
    ShardKey,
    position_changes,
    read_positions,
)
from hashrange.triggers.kinesis.observation import DeliveryObservation, ObserveDelivery
from hashrange.triggers.kinesis.shard_delivery import OutgoingPut, ShardDelivery
from hashrange.triggers.retries import pause_seconds

Conclude = Callable[[], Coroutine[Any, Any, None]]
"""Notes the outcome of a request that has ended."""


class _Outdated(Exception):
    """The content of the store was replaced during a pass, or the job was stopped."""


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
        self._wake_runner = wake
        self._news = asyncio.Event()
        """An event that is set when a slice that waits has to look again."""
        self._is_stopped = False
        self._generation = -1
        self._feeds: dict[int, FeedDelivery] = {}
        """By stream id."""
        self._saved: dict[ShardKey, Sequence] = {}
        """The position in each stored checkpoint."""
        self._unsaved: dict[ShardKey, Sequence | None] = {}
        """Positions to be stored; None: the checkpoint is to be deleted."""
        self._requests: dict[asyncio.Task[Any], Conclude] = {}
        """The requests under way, and those that have ended and are to be concluded."""
        self._passes = 0
        self._observe: ObserveDelivery | None = None

    def wake(self) -> None:
        """Look for changes to send. To be called after each commit that wrote changes,
        or began or ended a feed or shard.
        """
        self._news.set()
        self._wake_runner()

    def on_delivered(self, observe: ObserveDelivery | None) -> None:
        """Tell `observe`, None: nobody, of every request that ends from now on, and of every change passed over."""
        self._observe = observe

    async def stop(self) -> None:
        """Give up all requests under way, and end the slice that waits for them; nothing is begun any more."""
        self._is_stopped = True
        await self._abandon()
        self._news.set()

    async def run_slice(self) -> float | None:
        """Send what there is to send, and wait until it has been accepted or has failed.

        Returns the seconds of service time until a pause ends; None if nothing is to be done until the job is woken.
        Raises StorageError.
        """
        while not self._is_stopped:
            self._news.clear()
            try:
                pause_seconds = await self._pass()
            except _Outdated:
                continue
            if self._requests:
                with called_when_due(self._clock, pause_seconds, self._news.set):
                    await self._news.wait()
            elif not self._news.is_set():
                return pause_seconds
        return None

    # --- a pass ---------------------------------------------------------------------------------

    async def _pass(self) -> float | None:
        """Conclude and begin requests; returns the seconds of service time until the next pause ends."""
        self._passes += 1
        if self._store.documents.generation != self._generation:
            await self._begin_anew()
        for task in [one for one in self._requests if one.done()]:
            await self._requests.pop(task)()
        if self._pause.is_down:
            for feed in walk(self._feeds.values()):
                if feed.enabling is not None:
                    now_seconds = self._clock.service_time()
                    await feed.enabling.give_up_late(self._store.catalog, self._pause.reason, now_seconds)
        last_durable = await self._last_durable()
        self._look_for_shards()
        await self._save()
        return await self._begin_requests(last_durable)

    async def _begin_anew(self) -> None:
        """Drop everything in memory, and read the checkpoints."""
        await self._abandon()
        self._feeds, self._unsaved = {}, {}
        self._client.forget()
        self._pause = EndpointPause(self._endpoint)  # service time may have gone back
        self._generation = self._store.documents.generation
        self._saved = read_positions(self._store.documents)

    def _check(self) -> None:
        """After an `await`: raise _Outdated if the pass must not go on."""
        if self._is_stopped or self._store.documents.generation != self._generation:
            raise _Outdated

    async def _abandon(self) -> None:
        tasks = list(self._requests)
        self._requests = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _last_durable(self) -> Sequence:
        """Wait until all that has been written is durable; returns the sequence number that was the last
        before. Raises StorageError.
        """
        store = self._store
        last, position = store.streams.last(), store.position()
        if store.durable_position() < position and store.streams.feeds():
            synced: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            store.when_durable(position, partial(_conclude_sync, synced))
            await synced
            self._check()
        return last

    def _look_for_shards(self) -> None:
        """Find the feeds that are delivered, and those of their shards that are delivered now."""
        streams, oldest = self._store.streams, horizon(self._clock.service_time())
        former, self._feeds = self._feeds, {}
        present: set[ShardKey] = set()
        for feed in walk(streams.feeds()):
            if feed.target is not None:
                known = former.get(feed.stream_id) or FeedDelivery(feed, feed.target)
                known.update(feed, feed.target)
                present.update(known.look_for_shards(streams, self._saved, oldest))
                self._feeds[feed.stream_id] = known
        for key in walk(self._saved):
            if key not in present:
                self._unsaved[key] = None

    async def _save(self) -> None:
        """Store checkpoints of shards whose delivery has advanced, and delete those of deleted shards."""
        unsaved = self._unsaved
        if not unsaved:
            return
        await self._store.documents.write(position_changes(unsaved), self._generation)
        self._check()
        self._unsaved = {}
        for key, position in unsaved.items():
            self._saved.pop(key, None)
            if position is not None:
                self._saved[key] = position

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

    async def _begin_requests(self, last_durable: Sequence) -> float | None:
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
            elif len(self._requests) >= places:
                one.rest()
            elif isinstance(one, Enabling):
                self._begin(one, self._client.describe_stream(feed.terms.data_stream), partial(self._described, one))
            else:
                await self._begin_put(feed, one, last_durable, now_seconds)
        return min(dues) - now_seconds if dues else None

    async def _begin_put(
        self, feed: FeedDelivery, shard: ShardDelivery, last_durable: Sequence, now_seconds: float
    ) -> None:
        """Send the next changes of a shard, if there are any."""
        put = await shard.next_put(feed.terms, self._store.streams, last_durable, now_seconds)
        self._check()
        self._tell_passed_over(feed, shard)
        if put is not None:
            ask = self._client.put_records(feed.terms.data_stream, put.body, len(put.sequences))
            self._begin(shard, ask, partial(self._put, feed, shard, put))
        elif shard.is_drained:
            self._news.set()  # its children may be delivered now

    def _begin(
        self,
        one: Enabling | ShardDelivery,
        ask: Coroutine[Any, Any, Any],
        conclude: Callable[[asyncio.Task[Any]], Coroutine[Any, Any, None]],
    ) -> None:
        one.is_busy, one.begun = True, self._passes
        task = asyncio.get_running_loop().create_task(ask)
        task.add_done_callback(lambda _: self._news.set())
        self._requests[task] = partial(conclude, task)

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

    async def _put(
        self, feed: FeedDelivery, shard: ShardDelivery, put: OutgoingPut, task: "asyncio.Task[list[PutResult]]"
    ) -> None:
        """Conclude a request that sent changes."""
        shard.is_busy = False
        now_seconds, before = self._clock.service_time(), shard.position
        age_seconds = shard.oldest_age_seconds(now_seconds)
        try:
            results = task.result()
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
            self._unsaved[feed.terms.feed.stream_id, shard.shard.number] = shard.position

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


def _conclude_sync(synced: "asyncio.Future[None]", error: StorageError | None) -> None:
    if synced.done():
        return
    if error is None:
        synced.set_result(None)
    else:
        synced.set_exception(error)


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
