"""What happens to an asynchronous invocation (InvocationType `Event`), and how do jobs invoke functions?
The invocation is queued as a document, and a job runs it, at most three times.

A queued invocation survives restarts, and belongs to the content of the store as everything else does. It runs at least
once: a server that is killed repeats what was running. Pauses go by service time. Source: Lambda's developer guide,
*How Lambda handles errors and retries with asynchronous invocation*.
"""

import asyncio
import hashlib
import heapq
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.errors import StorageCorruption
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.description import FunctionDescription
from hashrange.functions.handler_errors import logged_text
from hashrange.functions.invocation import ConcurrencyExceeded, Invocation, describe_timeout_before
from hashrange.functions.names import FunctionKey
from hashrange.functions.refusals import FunctionMissing, FunctionsSwitchedOff, throttling_refusal
from hashrange.items.steps import spend
from hashrange.jobs.chains import ChainLinks, IsAwaited
from hashrange.limits import (
    EVENT_AGE_SECONDS_MAX,
    EVENT_RETRY_SECONDS,
    EVENT_THROTTLED_SECONDS_MAX,
    EVENT_THROTTLED_SECONDS_MIN,
    EVENTS_QUEUED_BYTES_MAX,
    EVENTS_QUEUED_MAX,
    EVENTS_RUNNING_MAX,
    INVOCATIONS_RUNNING_MAX,
)
from hashrange.messages.triggers import EVENTS_CHAIN_WITHOUT_END, EVENTS_WITHOUT_END
from hashrange.soon import until_one_ends
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, SharedReading

EVENT_PREFIX = "event/"
STEPS_TO_TAKE = 5
"""Steps of taking an event from the queue."""
_SHOWN_BYTES = 1000
"""Bytes of a failed invocation's error that the log shows."""

FindFunction = Callable[[FunctionKey], FunctionDescription]
"""Raises FunctionMissing."""
InvokeFunction = Callable[[str | FunctionDescription, bytes, str, str | None], Awaitable[Invocation]]
"""Called with function (its ARN or description), payload, request id and client context; see `Functions.invoke`."""


_log = logging.getLogger("hashrange.functions")


class JobInvocations:
    """Invocations by the jobs of one server. They are as those of clients, except that an event which has timed out
    at a URL is not sent there again while the same one waits.

    Somebody who moves service time over many retries would wait a whole time-out of real time for each. So the first
    one that begins while somebody waits is waited for, and the retries of the same event count as timed out at once.
    When somebody waits the next time, the event is sent again. Functions whose code runs here are invoked each time: a
    handler may well succeed the second time.
    """

    def __init__(self, invoke: InvokeFunction, is_awaited: IsAwaited = lambda: 0) -> None:
        self._invoke = invoke
        self._is_awaited = is_awaited
        self._timed_out: set[tuple[int, str, bytes]] = set()
        """(number of the wait, ARN, digest of the payload) of events that have timed out at URLs; of one wait only."""

    async def invoke(
        self, function: str | FunctionDescription, payload: bytes, request_id: str, client_context: str | None = None
    ) -> Invocation:
        """See `Functions.invoke`."""
        wait = self._is_awaited()
        if not wait:
            return await self._invoke(function, payload, request_id, client_context)
        if self._timed_out and self._event(wait, function, payload) in self._timed_out:
            outcome = describe_timeout_before(request_id)
            return Invocation(outcome.payload, "Unhandled")
        invocation = await self._invoke(function, payload, request_id, client_context)
        if invocation.is_unanswered:
            self._timed_out = {one for one in self._timed_out if one[0] == wait}
            self._timed_out.add(self._event(wait, function, payload))
        return invocation

    def _event(self, wait: int, function: str | FunctionDescription, payload: bytes) -> tuple[int, str, bytes]:
        arn = function if isinstance(function, str) else function.arn
        return wait, arn, hashlib.blake2b(payload, digest_size=16).digest()


class QueuedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """An asynchronous invocation, as stored. Times are seconds since the epoch, in service time."""

    payload: bytes
    queued_at_seconds: float
    due_seconds: float
    client_context: str | None = None
    failures: int = 0
    """How often the function has returned an error."""


class _Waiting(NamedTuple):
    """A queued event in memory, without its payload; sorted by the time at which it is due."""

    due_seconds: float
    number: int
    """Events that are due at the same time run in the order of their arrival."""
    path: str
    """Account, Region and name of the function, and the request id, as in the document's name."""
    size_bytes: int
    throttles: int = 0
    """How many times in a row the invocation was throttled when it was due."""

    @property
    def function(self) -> str:
        """The path without the request id."""
        return self.path.rpartition("/")[0]


class EventQueue:
    """The queued events of a server, and the job (`jobs.job.Job`) that runs them."""

    def __init__(
        self,
        documents: Documents,
        clock: Clock,
        find: FindFunction,
        invoke: InvokeFunction,
        wake: Callable[[], None] = lambda: None,
        is_awaited: IsAwaited = lambda: 0,
    ) -> None:
        """`wake` is called when there is an event to run."""
        self._documents, self._clock = documents, clock
        self._events = KeptRecords(documents, EVENT_PREFIX, QueuedEvent, "asynchronous invocation")
        self._find, self._invoke = find, invoke
        self._generation = documents.generation
        """That of the content of which the events in memory are."""
        self._waiting: list[_Waiting] = []
        """A heap."""
        self._held: dict[str, deque[_Waiting]] = {}
        """By function: events that were due while EVENTS_RUNNING_MAX of the function ran, oldest first."""
        self._running: dict[asyncio.Task[None], _Waiting] = {}
        self._reading = SharedReading(documents, self._read)
        """Forgotten after a failed commit, so that the queue is read again."""
        self._came_meanwhile: dict[str, _Waiting] = {}
        """By path: events that were queued, or put back, while the queue is read."""
        self._number = 0
        self._size_bytes = 0
        """Of all events that wait or run."""
        self._arrived = asyncio.Event()
        self._chains = ChainLinks[tuple[str]](clock, is_awaited, EVENTS_CHAIN_WITHOUT_END, EVENTS_WITHOUT_END)
        """By ARN of the function. A link is an invocation that was queued after the link before had begun."""
        self.wake = wake

    @property
    def count(self) -> int:
        """Events that wait or run."""
        self._reading.finish()
        return len(self._waiting) + sum(map(len, self._held.values())) + len(self._running)

    async def put(self, key: FunctionKey, payload: bytes, request_id: str, client_context: str | None) -> None:
        """Queue an invocation; completed even if the caller is cancelled.

        Raises LambdaError (TooManyRequestsException) if the queue is full, and StorageError.
        """
        if self.count >= EVENTS_QUEUED_MAX or self._size_bytes + len(payload) > EVENTS_QUEUED_BYTES_MAX:
            raise throttling_refusal("CallerRateLimitExceeded")
        now_seconds = self._clock.service_time()
        event = QueuedEvent(payload, now_seconds, now_seconds, client_context)
        await asyncio.shield(asyncio.ensure_future(self._put("/".join([*key, request_id]), event)))

    async def _put(self, path: str, event: QueuedEvent) -> None:
        generation = self._documents.generation
        if await self._events.write(self._events.change(event, path), generation=generation):
            self._add_if_current(path, event, generation)
            self._arrived.set()
            self.wake()

    def _waits(self, path: str, event: QueuedEvent, throttles: int = 0) -> _Waiting:
        self._number += 1
        return _Waiting(event.due_seconds, self._number, path, len(event.payload), throttles)

    def _read(self) -> Iterator[None]:
        """Read the queue, some events at each step."""
        self._came_meanwhile.clear()
        stored: list[tuple[float, str, _Waiting]] = []
        for some in self._events.pieces():
            stored += [(event.queued_at_seconds, path, self._waits(path, event)) for path, event in some]
            yield
        stored.sort()
        yield
        is_same_content = self._generation == self._documents.generation
        known = {one.path for one in self._running.values()} if is_same_content else set()
        known |= self._came_meanwhile.keys()
        self._generation = self._documents.generation
        listed = [waiting for _, path, waiting in stored if path not in known]
        listed += self._came_meanwhile.values()
        self._came_meanwhile.clear()
        self._waiting = [one._replace(number=self._number + place) for place, one in enumerate(listed, 1)]
        self._number += len(listed)
        heapq.heapify(self._waiting)
        self._held.clear()
        self._size_bytes = sum(one.size_bytes for one in (*self._running.values(), *listed))

    def concurrency_changed(self, key: FunctionKey) -> None:
        """Let the throttled events of a function be tried at once, because its reserved concurrency has changed."""
        function, now_seconds = "/".join(key), self._clock.service_time()
        self._waiting = [
            one._replace(due_seconds=min(one.due_seconds, now_seconds))
            if one.throttles and one.function == function
            else one
            for one in self._waiting
        ]
        heapq.heapify(self._waiting)
        self._arrived.set()
        self.wake()

    # --- the job --------------------------------------------------------------------------------

    async def run_slice(self) -> float | None:
        """Run all events that are due, of each function some at a time; ends when none of them runs.

        Returns the seconds until the next one is due; None if no one waits.
        Raises StorageError, and NeverRests if functions invoke themselves without end while somebody waits: what runs
        then goes on, and the next slice concludes it.
        """
        self._chains.begin_slice()
        while True:
            self._arrived.clear()
            self._begin_due()
            self._chains.check()
            if not self._running:
                break
            await until_one_ends(self._running, self._arrived)
            self._take_ended()
        if not self._waiting:
            return None
        return max(0.0, self._waiting[0].due_seconds - self._clock.service_time())

    def _begin_due(self) -> None:
        """Begin the events that are due, of each function at most EVENTS_RUNNING_MAX, and of all as many as may run;
        gives way.
        """
        self._reading.finish()
        now_seconds = self._clock.service_time()
        running = Counter(one.function for one in self._running.values())
        while self._waiting and self._waiting[0].due_seconds <= now_seconds:
            if len(self._running) >= INVOCATIONS_RUNNING_MAX:
                break
            spend(STEPS_TO_TAKE)
            if not self._waiting:
                break  # the content was replaced while this gave way
            waiting = heapq.heappop(self._waiting)
            if running[waiting.function] < EVENTS_RUNNING_MAX:
                running[waiting.function] += 1
                self._chains.begin((_read_path(waiting.path)[0].arn,), waiting.number, self._number)
                self._running[asyncio.ensure_future(self._run(waiting, self._generation))] = waiting
            else:
                self._held.setdefault(waiting.function, deque()).append(waiting)

    def _take_ended(self) -> None:
        """Forget the events that have ended; raises what one of them raised, after which the queue is read again."""
        for task in [one for one in self._running if one.done()]:
            ended = self._running.pop(task)
            self._size_bytes -= ended.size_bytes
            self._release(ended.function)
            if task.cancelled():
                self._reading.forget()
            elif (error := task.exception()) is not None:
                self._reading.forget()
                raise error

    def _release(self, function: str) -> None:
        """Let the oldest held event of a function be begun, because another one of it has ended."""
        held = self._held.get(function)
        if held:
            heapq.heappush(self._waiting, held.popleft())
            if not held:
                del self._held[function]

    async def close(self) -> None:
        """Cancel the invocations that run; their events stay queued."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        self._running.clear()

    # --- one event ------------------------------------------------------------------------------

    async def _run(self, waiting: _Waiting, generation: int) -> None:
        """Run an event once, and take it from the queue or put it back."""
        event = self._events.get(waiting.path)
        if event is None:
            return
        key, request_id = _read_path(waiting.path)
        reason, is_stopped = "", False
        try:
            description = self._find(key)
            is_stopped = description.reserved_executions == 0
            invocation = await self._invoke(description, event.payload, request_id, event.client_context)
            if invocation.function_error is not None:
                reason = invocation.payload[:_SHOWN_BYTES].decode(errors="replace") or invocation.function_error
        except FunctionMissing as error:
            await self._give_up(waiting.path, generation, str(error))
            return
        except (ConcurrencyExceeded, FunctionsSwitchedOff, StorageCorruption) as error:
            if isinstance(error, StorageCorruption) and not waiting.throttles:
                _log.error("Asynchronous invocations of the function %s wait: %s", key.name, error)
            if is_stopped or self._clock.service_time() - event.queued_at_seconds >= EVENT_AGE_SECONDS_MAX:
                await self._give_up(waiting.path, generation, str(error))
            else:
                self._put_back_throttled(waiting, event, generation)
            return
        except LambdaError as error:
            reason = error.message
        if not reason:
            await self._events.write(self._events.removal(waiting.path), generation=generation)
        elif event.failures >= len(EVENT_RETRY_SECONDS):
            await self._give_up(waiting.path, generation, reason)
        else:
            await self._put_back_failed(waiting, event, generation)

    async def _put_back_failed(self, waiting: _Waiting, event: QueuedEvent, generation: int) -> None:
        due_seconds = self._clock.service_time() + EVENT_RETRY_SECONDS[event.failures]
        event = msgspec.structs.replace(event, due_seconds=due_seconds, failures=event.failures + 1)
        if await self._events.write(self._events.change(event, waiting.path), generation=generation):
            self._add_if_current(waiting.path, event, generation)

    def _put_back_throttled(self, waiting: _Waiting, event: QueuedEvent, generation: int) -> None:
        """Only in memory: after a restart, the event is tried at once."""
        pause_seconds = min(EVENT_THROTTLED_SECONDS_MIN * 2.0**waiting.throttles, EVENT_THROTTLED_SECONDS_MAX)
        event = msgspec.structs.replace(event, due_seconds=self._clock.service_time() + pause_seconds)
        self._add_if_current(waiting.path, event, generation, min(waiting.throttles + 1, 10))

    def _add_if_current(self, path: str, event: QueuedEvent, generation: int, throttles: int = 0) -> None:
        """Let the event wait, unless the queue will be read again."""
        waiting = self._waits(path, event, throttles)
        if generation == self._reading.generation:
            self._size_bytes += waiting.size_bytes
            heapq.heappush(self._waiting, waiting)
        elif self._reading.is_reading(generation):
            self._came_meanwhile[path] = waiting

    async def _give_up(self, path: str, generation: int, reason: str) -> None:
        key, request_id = _read_path(path)
        _log.warning(
            "The asynchronous invocation %s of the function %s is given up: %s",
            request_id,
            key.name,
            logged_text(reason),
        )
        await self._events.write(self._events.removal(path), generation=generation)


def _read_path(path: str) -> tuple[FunctionKey, str]:
    """The function and the request id that an event's path holds."""
    account, region, name, request_id = path.split("/")
    return FunctionKey(account, region, name), request_id
