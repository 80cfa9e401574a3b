"""How does long work give way to other requests?
It runs in a worker, a greenlet that can stop anywhere and continue later.

Requested work runs in a worker, usually to its end at once. When a walk finds that its time slice is over
(`hashrange.items.steps`), the worker gives way: it stops there, the event loop continues, and the worker continues in a
later turn. Workers that may continue wait in one queue, of which each turn serves as much as fits a slice, so many long
requests together delay others no longer than one does. Everything happens on the loop's thread: no locks, no other
thread, always the same order. This file must not know what the work is. Measurements: docs/adr/0023-giving-way.md.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from greenlet import getcurrent, greenlet

from hashrange.clock import Clock
from hashrange.errors import Abandoned
from hashrange.items import steps
from hashrange.items.steps import LARGE_PIECE_BYTES
from hashrange.service import collector

SLICE_SECONDS = 0.002
"""Time for long work in one turn of the loop."""
SHARE_SECONDS = 0.0005
"""Least time that a worker gets when a turn begins or continues it, even if the turn's slice ends earlier."""
LARGE_TOGETHER_BYTES = 4 * 1024 * 1024
"""A worker begins to decode or write its first large piece of JSON (`LARGE_PIECE_BYTES`) only if this piece, together
with the large pieces of all workers whose work has not ended, has at most this many bytes, or if there are no others.
Decoded, JSON takes 30 times as much memory at worst."""
LARGE_WAITING_MAX = 64
"""While this many workers, each holding its input, wait to decode or write a large piece of JSON, further reads of
one item with packed (compressed) JSON are run again later (`Service._put_off`)."""
IDLE_WORKERS_MAX = 4


class Abandonable(Protocol):
    """A call, or a request that is being decoded; Abandoned may be raised in it where it gives way."""

    @property
    def is_abandoned(self) -> bool:
        """True if it changes nothing from here on, and its client has left."""


class Worker(greenlet):
    """A greenlet that runs functions, its *work*, one after the other."""

    __slots__ = ("failure", "large_bytes", "workers")

    def __init__(self, workers: "Workers") -> None:
        super().__init__(self._serve, workers.hub)
        self.workers = workers
        self.large_bytes = 0
        """Bytes of the largest piece of JSON so far in the worker's present work, if it is large; else 0."""
        self.failure: Exception | None = None
        """Error of the work, until `_enter` raises it. Not kept longer, because it may keep much memory alive."""
        self.switch()

    def _serve(self) -> None:
        """Repeatedly wait for work, which `switch` passes, and do it. `Workers._enter` raises the work's errors."""
        hub = self.workers.hub
        while True:
            work, arguments = hub.switch(True)
            try:
                work(*arguments)
            except Exception as error:  # noqa: BLE001 - `_enter` raises it again
                self.failure = error
            work = arguments = None  # keep nothing alive while this worker waits


class Workers:
    """Runs work on the loop, a slice at a time. Without a loop, work runs to its end and never gives way."""

    def __init__(self, clock: Clock) -> None:
        self.hub = getcurrent()
        self._monotonic = clock.monotonic
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[Worker] = []
        self._left: deque[Worker | Callable[[], None]] = deque()
        """What waits for later turns, oldest first: workers that gave way, and functions given to `run_later`."""
        self._next: deque[Callable[[], object]] = deque()
        """Functions to call in the next turn, without a worker, before what waits in `_left`; oldest first."""
        self.suspended: dict[Callable[[object], None], tuple[asyncio.Future[Any] | None, Abandonable | None]] = {}
        """Of coroutines that have suspended and not ended: what is called when they may go on; the future for which
        they wait, if it is one; and the call that they are of."""
        self._queued: deque[Worker] = deque()
        """Workers that wait to decode or write a large piece of JSON until another worker's work with one has ended."""
        self._large_bytes = 0
        self._large_waiting = 0
        """Number of workers that wait to decode or write a large piece of JSON."""
        self.is_crowded = False
        """True while at least `LARGE_WAITING_MAX` workers wait to decode or write a large piece of JSON."""
        self.running: Abandonable | None = None
        """The call whose operation runs now, or the request being decoded, else None. Set by code that runs one."""
        self._collects = True
        self._ends_seconds = 0.0
        self._has_slice = False
        """True until the end of a turn of the loop in which `run_in_turn` has begun a slice."""
        self._is_turn_due = False
        self._is_abandoned = False
        steps.install(_look, _queue)

    @property
    def has_loop(self) -> bool:
        """True once there is a loop, in whose later turns work may go on."""
        return self._loop is not None

    @property
    def has_calls(self) -> bool:
        """True if the operation of a call has suspended and not ended, whether or not its client has left."""
        return any(call is not None for _, call in self.suspended.values())

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, work may give way: `loop`, the running loop, continues it in later turns."""
        self._loop = loop
        self.hub = getcurrent()

    def run(self, work: Callable[..., None], *arguments: Any) -> bool:
        """Call `work` now, in a worker. Returns True if it has ended, False if it gave way. Raises its errors.

        If called within a worker, `work` is part of that worker's work, and True is returned. Takes 0.6 µs.
        """
        if self._loop is None or getcurrent() is not self.hub:
            work(*arguments)
            return True
        self._ends_seconds = max(self._ends_seconds, self._monotonic() + SHARE_SECONDS)
        return self._enter(self._idle.pop() if self._idle else Worker(self), work, arguments)

    def run_in_turn(self, work: Callable[..., None], *arguments: Any) -> None:
        """Like `run`, but in a later turn if this turn's slice is over.
        For input that comes one by one: the first of a turn begins the slice.
        """
        if self._loop is None or getcurrent() is not self.hub:
            work(*arguments)
            return
        if not self._has_slice:
            self._has_slice = True
            self.begin_turn()
            self._loop.call_soon(self._end_slice)
        if self.is_over(self._monotonic()):
            self.run_next(partial(self.run, work, *arguments))
        else:
            self.run(work, *arguments)

    def _end_slice(self) -> None:
        self._has_slice = False

    def run_later(self, work: Callable[[], None]) -> None:
        """Call `work` in a worker in a later turn of the loop, after work that has given way before."""
        self._left.append(work)
        self._call_turn()

    def run_next(self, work: Callable[[], object]) -> None:
        """Call `work`, which got no time in this turn, in the next turn with time, before all work that has given way.

        `work` is called outside workers, and itself calls `run`.
        """
        self._next.append(work)
        self._call_turn()

    def begin_turn(self) -> None:
        """Start the slice that the requests of this turn of the loop share."""
        now_seconds = self._monotonic()
        if now_seconds >= collector.young_until_seconds:
            collector.examine_young(now_seconds)
            now_seconds = self._monotonic()
        self._ends_seconds = now_seconds + SLICE_SECONDS

    def is_over(self, now_seconds: float) -> bool:
        """True if the slice of this turn is used up, so that new work should begin later; never without a loop."""
        return self._loop is not None and now_seconds >= self._ends_seconds

    def abandon(self) -> None:
        """End all workers, those that have given way where they did, and let go of coroutines that have suspended: no
        client waits for them. Nothing gives way any more.
        """
        self._is_abandoned = True
        workers = [one for line in (self._left, self._queued, self._idle) for one in line if isinstance(one, Worker)]
        for line in (self._left, self._queued, self._idle, self._next):
            line.clear()
        for worker in workers:
            worker.throw()
        for resume, (future, _) in self.suspended.items():
            if future is not None:
                future.remove_done_callback(resume)
        self.suspended.clear()
        if self._large_bytes and self._collects:
            collector.resume_collector()

    def count_left(self) -> int:
        """Number of workers and functions that wait for later turns, without those of `run_next`."""
        return len(self._left) + len(self._queued)

    # --- entering and leaving -------------------------------------------------------------------

    def _enter(self, worker: Worker, *handed: Any) -> bool:
        """Run the worker until its work ends (True) or gives way (False). Raises the work's error."""
        has_ended: bool = worker.switch(*handed)
        if not has_ended:
            return False
        if worker.large_bytes:
            self._large_bytes -= worker.large_bytes
            worker.large_bytes = 0
            if not self._large_bytes and self._collects:
                collector.resume_collector()
            self._left += self._queued  # these workers check again, in order, whether they must wait
            self._queued.clear()
            self._call_turn()
        failure, worker.failure = worker.failure, None
        if len(self._idle) < IDLE_WORKERS_MAX:
            self._idle.append(worker)
        else:
            worker.throw()  # it refers to itself, and the garbage collector does not see workers that have not ended
        if failure is not None:
            raise failure
        return True

    def look(self, worker: Worker) -> None:
        """Make the worker give way if the slice is over."""
        if self._monotonic() >= self._ends_seconds:
            self._leave(worker, self._left)

    def queue(self, worker: Worker, size_bytes: int) -> None:
        """Make the worker give way before it decodes or writes a piece of JSON, which cannot be interrupted.

        For its first large piece it also waits until the large pieces of all workers fit into `LARGE_TOGETHER_BYTES`.
        Until the work of all workers with large pieces has ended, the garbage collector is off (`collector.py`).
        """
        more_bytes = size_bytes - worker.large_bytes
        if size_bytes < LARGE_PIECE_BYTES or more_bytes <= 0:
            self._leave(worker, self._left)
            return
        self._count_waiting(1)
        try:
            self._leave(worker, self._left)
            while (
                not worker.large_bytes and self._large_bytes and self._large_bytes + size_bytes > LARGE_TOGETHER_BYTES
            ):
                self._leave(worker, self._queued)
        finally:
            self._count_waiting(-1)
        if not self._large_bytes:
            self._collects = collector.pause_collector()
        worker.large_bytes += more_bytes
        self._large_bytes += more_bytes

    def _count_waiting(self, more: int) -> None:
        self._large_waiting += more
        self.is_crowded = self._large_waiting >= LARGE_WAITING_MAX

    def _leave(self, worker: Worker, line: deque[Any]) -> None:
        """Make the worker give way and wait in `line`. When it continues, raises Abandoned if `running`, its call or
        request, is abandoned (`Abandonable.is_abandoned`).
        """
        line.append(worker)
        self._call_turn()
        steps.note_way_given()
        call, self.running = self.running, None
        self.hub.switch(False)
        self.running = call
        if call is not None and call.is_abandoned:
            raise Abandoned

    # --- turns ----------------------------------------------------------------------------------

    def _call_turn(self, *, is_late: bool = False) -> None:
        """If work waits, schedule `_turn` for the loop's next turn; if `is_late` (this turn took two slices
        or more), after that turn has read the sockets.
        """
        if (self._left or self._next) and not self._is_turn_due and not self._is_abandoned:
            self._is_turn_due = True
            self._call_soon(self._turn_after_input if is_late else self._turn)

    def _call_soon(self, callback: Callable[[], None]) -> None:
        (self._loop or asyncio.get_running_loop()).call_soon(callback)

    def _turn_after_input(self) -> None:
        """Schedule `_turn` after the callbacks that read the sockets, which the loop has already queued."""
        self._call_soon(self._turn)

    def _turn(self) -> None:
        """Serve `_next`, then `_left`, until a slice is over: at least the oldest entry of both, and no entry twice."""
        if self._is_abandoned:
            return
        monotonic = self._monotonic
        now_seconds = monotonic()
        if now_seconds >= collector.young_until_seconds:
            collector.examine_young(now_seconds)
            now_seconds = self._monotonic()
        ends_seconds = self._ends_seconds = now_seconds + SLICE_SECONDS
        try:
            for _ in range(len(self._next)):
                self._next.popleft()()
                now_seconds = monotonic()
                if now_seconds >= ends_seconds:
                    break
            for _ in range(len(self._left)):
                left = self._left.popleft()
                if isinstance(left, Worker):
                    self._ends_seconds = max(self._ends_seconds, now_seconds + SHARE_SECONDS)
                    self._enter(left)
                else:
                    self.run(left)
                now_seconds = monotonic()
                if now_seconds >= ends_seconds:
                    break
        finally:
            self._is_turn_due = False
            self._call_turn(is_late=now_seconds >= ends_seconds + SLICE_SECONDS)


def _look() -> None:
    current = getcurrent()
    if current.__class__ is Worker:
        current.workers.look(current)


def _queue(size_bytes: int) -> None:
    current = getcurrent()
    if current.__class__ is Worker:
        current.workers.queue(current, size_bytes)
