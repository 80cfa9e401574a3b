"""How does a call become a reply? The service behind every protocol owns store, clock,
settings and features, and knows no wire format.

Calls come in groups and run one after the other; their replies are sent at the end of the group, in a long group every
0.5 ms. A reply that may depend on commits that a power cut would undo is held until all commits so far are durable; all
held replies of a turn wait for one sync. This holds for every reply, refusals too (a failed condition may rest on an
unsynced write), except those to eventually consistent reads, to reads of items from tables of which everything is
durable, to calls that met an internal error, and to those of endpoints of the admin API that tell of no commit.
Measurements: docs/adr/0017-held-replies.md, 0019-turns.md, 0034-service.md.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from types import CoroutineType
from typing import Any

from hashrange.aws_services.operation import Operation, ServiceApi
from hashrange.clock import Clock
from hashrange.errors import (
    RECORDS_TRIES_MAX,
    ApiError,
    Malformed,
    RecordsChanged,
    ResourceNotFoundException,
    StorageError,
    UnsupportedOperationException,
    ValidationException,
)
from hashrange.faults.drawing import Drawing
from hashrange.features.features import Features, TableRequests
from hashrange.operations.meter import NOTHING_USED, with_capacity
from hashrange.operations.operation import JsonWire
from hashrange.operations.reply import Reply
from hashrange.service.call import Call, is_durable, is_packed_item
from hashrange.service.cluster_refusals import served_by_cluster, without_refused
from hashrange.service.drive import Driver, in_turns
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.service.features import FEATURES
from hashrange.service.hints import Hints
from hashrange.service.metric_recording import MetricRecording
from hashrange.service.scopes import Scopes
from hashrange.service.second_look import with_second_look
from hashrange.service.workers import Workers
from hashrange.settings import Settings
from hashrange.store.front import RequestMeter, tell_ended
from hashrange.store.interface import WholeStore

_log = logging.getLogger("hashrange.server")

HELD_SECONDS_MAX = 0.0005
"""Once calls of a group have run for this long, `Service.release` sends or holds back the replies made so far."""


class Service:
    """Runs calls over an open store. Without a loop (before `take_turns`), a call never gives way."""

    def __init__(
        self, store: WholeStore, operations: Mapping[str, Operation[JsonWire]], clock: Clock, settings: Settings
    ) -> None:
        """Raises SettingUnusable and FaultsError."""
        self.store = store
        self.clock = clock
        self.settings = settings
        served = without_refused(operations) if store.is_clustered else operations
        self.operations = with_second_look(served, store.catalog)
        self.workers = Workers(clock)
        scopes = Scopes(store, clock, settings)
        self.scope = scopes.of
        self.faulted = FaultedCalls(self._replied_with_error)
        self.requests = TableRequests(self.faulted.mark, self.operations.keys(), scopes.of, scopes.set_up_by)
        in_worker = partial(in_turns, workers=self.workers, begins_now=True)
        self.features = Features(FEATURES, store, clock, settings, self.requests, in_worker)
        self.jobs = self.features.runner
        self.hints = Hints(store.catalog)
        self._monotonic = clock.monotonic
        self._position = store.position
        self._durable_position = store.durable_position
        self._counters = self.requests.counters
        self.recording: MetricRecording | None = None
        """Counts the calls that have ended, for metrics; None: nobody does."""
        self._held: list[Call] = []
        """Calls whose reply is made, and which `release` has not yet sent or held back."""
        self._ready: deque[Call] = deque()
        """Calls whose replies may be sent now."""
        self._put_off: deque[Call] = deque()
        """Reads of one packed item, to be run again once fewer workers wait for large JSON (`Workers.is_crowded`)."""
        self._is_beginning_due = False

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, long work gives way: `loop`, the running loop, continues it in later turns."""
        self.workers.take_turns(loop)

    def start_recording(self) -> None:
        """From now on, record the metrics of calls and tables."""
        self.recording = MetricRecording(self.features, self.faulted)
        self.recording.start()

    def give_up_tables(self) -> Sequence[dict[Any, Any]]:
        """Forget what is known of tables whose content has been replaced, or whose store is closed.
        Returns what is left of it, to be freed (`free_entries`).
        """
        return () if self.recording is None else self.recording.give_up_tables()

    def apis(self) -> Sequence[ServiceApi]:
        """The APIs that features serve."""
        return [self._served(api) for api in self.features.apis()]

    def api(self, signing_name: str) -> ServiceApi:
        """The API of the service whose requests are signed with this name."""
        return self._served(self.features.api(signing_name))

    def _served(self, api: ServiceApi) -> ServiceApi:
        return served_by_cluster(api) if self.store.is_clustered else api

    # --- running --------------------------------------------------------------------------------

    def run(self, calls: deque[Call]) -> None:
        """Run the calls, removing each from `calls` when it begins; each is answered, now or later.

        A long call gives way, and the others continue without it. Calls that have not begun when the turn's slice is
        over begin in a later turn.
        """
        while not self.workers.run(self.run_while_there_is_time, calls):
            self.release()
            if not calls:
                return
        if calls:
            self.workers.run_next(partial(self.run, calls))

    def run_in_worker(self, calls: deque[Call]) -> None:
        """Run `calls` within the current worker while the turn's slice lasts; the rest begin in a later turn."""
        self.run_while_there_is_time(calls)
        if calls:
            self.workers.run_next(partial(self.run, calls))

    def run_while_there_is_time(self, calls: deque[Call]) -> None:
        """Run at least one call, and more until the turn's slice is over; the others stay in `calls`."""
        monotonic, requests = self._monotonic, self.requests
        now_seconds = monotonic()
        held_until_seconds = now_seconds + HELD_SECONDS_MAX
        while calls:
            call = calls.popleft()
            call.begin_seconds = now_seconds
            if requests.drawing is None or self._meets_no_error(call, requests.drawing):
                self._begin(call)
            now_seconds = monotonic()
            if now_seconds >= held_until_seconds:
                self.release()
                if self.workers.is_over(now_seconds):
                    return
                now_seconds = monotonic()
                held_until_seconds = now_seconds + HELD_SECONDS_MAX
        self.release()

    def _begin(self, call: Call) -> None:
        """Run a call's operation until it ends or suspends; on the embedded store it rarely suspends."""
        operation = call.operation
        workers = self.workers
        soon: Any
        try:
            workers.running = call
            if operation.capacity is None:
                soon = operation.run(call.scope, call.request)
            else:
                if self.features.steps:  # made in line: a call costs as much as one of these members
                    meter = call.meter = RequestMeter()
                    meter.scope = call.scope
                    meter.operation = operation
                    meter.request = call.request
                    meter.notes = None
                else:
                    call.meter = []
                soon = operation.run(call.scope, call.request, call.meter)
            if soon.__class__ is CoroutineType:
                # Other operations begin in a later turn: what opens and closes sockets must not run inside of a read.
                begins_now = call.kind == "dynamodb" or not workers.has_loop
                waits_for = soon.send(None) if begins_now else None
                Driver(soon, partial(self._end, call), workers, call).wait(waits_for)
                return
            reply = soon
        except StopIteration as stop:
            reply = stop.value
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever operations raise ends here
            workers.running = None  # Abandoned must not be raised while the refused request is freed
            self._refuse(call, error)
            return
        finally:
            workers.running = None
        self._succeed(call, reply)

    def _meets_no_error(self, call: Call, drawing: Drawing) -> bool:
        """Draw the faults that a new call meets; False if it meets an error, with which it is refused."""
        error = self.faulted.begin(call, drawing)
        if error is not None:
            self._refuse(call, error)
        return error is None

    def _end(self, call: Call, reply: Any, error: BaseException | None) -> None:
        """Write and release the reply of an operation that had suspended and has ended."""
        if error is None:
            self._succeed(call, reply)
        else:
            self._refuse(call, error)
        self.release()

    def _begin_put_off(self) -> None:
        """Run calls in `_put_off` again, while the slice lasts and `Workers.is_crowded` is False."""
        put_off, workers = self._put_off, self.workers
        while put_off and not workers.is_crowded:
            self.run(deque((put_off.popleft(),)))
            if workers.is_over(self._monotonic()):
                break
        self._is_beginning_due = bool(put_off)
        if put_off:
            workers.run_next(self._begin_put_off)

    def _succeed(self, call: Call, reply: Reply | None) -> None:
        meter, operation = call.meter, call.operation
        form = operation.capacity
        try:
            if self._counters or (meter.__class__ is RequestMeter and meter.notes):
                self._count(call)
            if self.workers.is_crowded and is_packed_item(call, reply):
                self._put_off.append(call)  # the reply is dropped: a thousand replies that wait would take a gigabyte
                if not self._is_beginning_due:
                    self._is_beginning_due = True
                    self.workers.run_next(self._begin_put_off)
                return
            if self.recording is not None and call.kind == "dynamodb":
                self.recording.succeeded(call, reply)
            if form is not None and (detail := call.request.ReturnConsumedCapacity) is not None and reply is not None:
                reply = with_capacity(reply, form, detail, meter)
            call.done(reply)
            # Meter and request may keep items alive, and the items of a whole group would fill the CPU's caches.
            call.meter = NOTHING_USED
            if operation.is_eventual is None:
                call.request = None
        except Exception as failure:  # noqa: BLE001 - any other error is internal
            self._fail(call, failure)
        else:
            self._held.append(call)

    def _refuse(self, call: Call, error: BaseException) -> None:  # noqa: C901 - each kind of error, without calls
        """Write the reply for an operation's error, or run the operation again: on a request that was read leniently,
        or on records that have changed.
        """
        meter = call.meter
        try:
            if self._counters or (meter.__class__ is RequestMeter and meter.notes):
                self._count(call)
            if isinstance(error, Malformed | ValidationException):
                first = call.first_fault(error)
                if first is None:
                    self._begin(call)  # it has met the faults of a new request
                    return
                error = first
            if not isinstance(error, ApiError):
                call.overtaken += isinstance(error, RecordsChanged)
                if isinstance(error, RecordsChanged) and call.overtaken < RECORDS_TRIES_MAX:
                    self._begin(call)
                else:
                    self._fail(call, error)
                return
            if self.faulted.replies:
                self.faulted.refused(call)
            if isinstance(error, ResourceNotFoundException) and call.kind == "dynamodb":
                self.hints.table_not_found(call.scope, call.operation.tables(call.request))
            elif isinstance(error, UnsupportedOperationException):
                self.hints.not_supported(call.operation.name, str(error.message))
            if self.recording is not None and call.kind == "dynamodb":
                self.recording.refused(call, error)
            call.refuse(error)
        except Exception as failure:  # noqa: BLE001 - any other error is internal
            self._fail(call, failure)
        else:
            self._held.append(call)

    def _fail(self, call: Call, error: BaseException) -> None:
        """Tell the client of an internal error. Raises nothing: the calls of a group depend on it."""
        if self.recording is not None and call.kind == "dynamodb":
            try:
                self.recording.failed(call, error)
            except Exception:  # noqa: BLE001 - the request may be what cannot be read
                _log.exception("an internal error of %s was not counted; please report it", call.operation.name)
        self.faulted.forget(call)
        call.fail(error)

    def _replied_with_error(self, call: Call, tables: Sequence[str]) -> None:
        if self.recording is not None and call.kind == "dynamodb":
            self.recording.replied_with_error(call, tables)

    def _count(self, call: Call) -> None:
        """Report what a call has consumed."""
        if isinstance(call.meter, RequestMeter):
            tell_ended(call, call.meter)
        for count in self._counters:
            count(call.meter)

    # --- the commit barrier ---------------------------------------------------------------------

    def release(self) -> None:
        """Send the replies that are made: now if they need not wait, otherwise once the last commit is durable."""
        held = self._held
        if not held:
            return
        self._held = []
        position = self._position()
        durable_position = self._durable_position()
        if durable_position < position:
            held = self._hold_back(held, position, durable_position)
        self._ready += held
        self._tell_ready()

    def _hold_back(self, held: list[Call], position: int, durable_position: int) -> list[Call]:
        """Return calls that may be answered now; others are answered once the last commit, `position`, is durable."""
        waiting = []
        free = []
        for call in held:
            if is_durable(call, self.store, durable_position):
                free.append(call)
            else:
                call.position = position
                waiting.append(call)
        if waiting:
            self.store.when_durable(position, partial(self._now_durable, waiting))
        return free

    def _now_durable(self, calls: list[Call], error: StorageError | None) -> None:
        if error is None:
            self._ready += calls
            self.workers.run(self._tell_ready)
            return
        for call in calls:
            self._fail(call, error)

    def _tell_ready(self) -> None:
        """Send the replies in `_ready` in order. If one gives way, the rest wait for its end or for the next call."""
        ready, faulted = self._ready, self.faulted.replies
        while ready and not faulted:
            ready.popleft().send()
        while ready:
            self.faulted.send(ready.popleft())
