"""How does long work give others their turn? It runs in a worker, a stack of its own that can be left and entered again anywhere.

Work that the server was asked for runs in a worker, a greenlet: usually to its end at once. When a walk finds that its slice
of time is over (`hashrange.items.steps`), the worker is left as it stands and the event loop goes on; it is entered again in a later turn.
What has been left waits in one line, of which each turn of the loop serves as much as fits a slice, so many long requests
together hold others no longer than one does. All of it happens on the loop's thread: no locks, no other thread, and the order is always
the same. Must not know what the work is. Figures: docs/adr/0023-giving-way.md.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet

from hashrange.clock import Clock
from hashrange.items import steps
from hashrange.items.steps import LARGE_BYTES
from hashrange.service import collector

SLICE_SECONDS = 0.002
"""So much long work is done in one turn of the loop."""
SHARE_SECONDS = 0.0005
"""So much may be done for each of the other requests of a turn whose slice is used up."""
LARGE_TOGETHER_BYTES = 4 * 1024 * 1024
"""So much JSON of large pieces is in work at a time, or one piece of any size; others wait before they decode theirs. Decoded, it takes 30 times as much at worst."""
LARGE_WAITING_MAX = 64
"""So many may wait before they make a large piece, each with what it is made of; others had better begin anew later."""
IDLE_WORKERS_MAX = 4


class Worker(greenlet):
    """A stack on which one piece of work after the other runs."""

    __slots__ = ("failure", "large_bytes", "workers")

    def __init__(self, workers: "Workers") -> None:
        super().__init__(self._serve, workers.hub)
        self.workers = workers
        self.large_bytes = 0
        """Of the largest piece that it holds, if that is large."""
        self.failure: Exception | None = None
        """What the work raised, until whoever entered has taken it: it may hold on to very much."""
        self.switch()

    def _serve(self) -> None:
        """Wait for work, which `switch` hands over, do it, and wait for more. What it raises is raised where it was handed over."""
        hub = self.workers.hub
        while True:
            work, arguments = hub.switch(True)
            try:
                work(*arguments)
            except Exception as error:  # noqa: BLE001 - it is raised again by whoever entered
                self.failure = error
            work = arguments = None  # nothing is kept while this waits


class Workers:
    """Runs work on the loop, a slice at a time. Without a loop, work runs to its end, giving way to nobody."""

    def __init__(self, clock: Clock) -> None:
        self.hub = getcurrent()
        self._monotonic = clock.monotonic
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[Worker] = []
        self._left: deque[Worker | Callable[[], None]] = deque()
        """What goes on in a later turn, oldest first."""
        self._next: deque[Callable[[], None]] = deque()
        """What is called before, without a worker; oldest first."""
        self._queued: deque[Worker] = deque()
        """Workers that wait until fewer hold large pieces."""
        self._large_bytes = 0
        self._large_waiting = 0
        """So many workers are about to make a large piece."""
        self.is_crowded = False
        """Are these as many as should be?"""
        self._collects = True
        self._ends_seconds = 0.0
        self._is_turn_due = False
        self._is_abandoned = False
        steps.install(_look, _queue)

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, work may give way to `loop`, on which this is called."""
        self._loop = loop
        self.hub = getcurrent()

    def run(self, work: Callable[..., None], *arguments: Any) -> bool:
        """Do the work now; True when it has ended, False when it has given way and goes on later. Raises what it raises.

        Called by the work of a worker, it is simply part of that work. 0.6 µs.
        """
        if self._loop is None or getcurrent() is not self.hub:
            work(*arguments)
            return True
        self._ends_seconds = max(self._ends_seconds, self._monotonic() + SHARE_SECONDS)
        return self._enter(self._idle.pop() if self._idle else Worker(self), work, arguments)

    def run_later(self, work: Callable[[], None]) -> None:
        """Do the work in a later turn of the loop, after what has been left before."""
        self._left.append(work)
        self._call_turn()

    def run_next(self, work: Callable[[], None]) -> None:
        """In the next turn of the loop, before what has been left, call what has work done: for what had no share of this one."""
        self._next.append(work)
        self._call_turn()

    def begin_turn(self) -> None:
        """A turn of the loop begins: its requests have a slice of time together."""
        self._ends_seconds = self._monotonic() + SLICE_SECONDS

    def is_over(self, now_seconds: float) -> bool:
        """Is the slice of this turn used up, so that what has not begun had better be done later?"""
        return self._loop is not None and now_seconds >= self._ends_seconds

    def abandon(self) -> None:
        """From now on, leave for ever what has given way, and what gives way later: nobody waits for it any more."""
        self._is_abandoned = True
        if self._large_bytes and self._collects:
            collector.go_on()

    def count_left(self) -> int:
        """How much has given way, and goes on later."""
        return len(self._left) + len(self._queued)

    # --- entering and leaving -------------------------------------------------------------------

    def _enter(self, worker: Worker, *handed: Any) -> bool:
        """Let the worker go on until it has ended its work (True) or gives way."""
        has_ended: bool = worker.switch(*handed)
        if not has_ended:
            return False
        if worker.large_bytes:
            self._large_bytes -= worker.large_bytes
            worker.large_bytes = 0
            if not self._large_bytes and self._collects:
                collector.go_on()
            self._left += self._queued  # they look again, in their order
            self._queued.clear()
            self._call_turn()
        if len(self._idle) < IDLE_WORKERS_MAX:
            self._idle.append(worker)
        if worker.failure is not None:
            failure, worker.failure = worker.failure, None
            raise failure
        return True

    def look(self, worker: Worker) -> None:
        """The worker asks whether it may go on."""
        if self._monotonic() >= self._ends_seconds:
            self._leave(worker, self._left)

    def queue(self, worker: Worker, size_bytes: int) -> None:
        """The worker is about to do what cannot be left halfway: first, the others.

        While something large is made the collector rests (`collector.py`).
        """
        more_bytes = size_bytes - worker.large_bytes
        if size_bytes < LARGE_BYTES or more_bytes <= 0:
            self._leave(worker, self._left)
            return
        self._count_waiting(1)
        self._leave(worker, self._left)
        while not worker.large_bytes and self._large_bytes and self._large_bytes + size_bytes > LARGE_TOGETHER_BYTES:
            self._leave(worker, self._queued)
        self._count_waiting(-1)
        if not self._large_bytes:
            self._collects = collector.rest()
        worker.large_bytes += more_bytes
        self._large_bytes += more_bytes

    def _count_waiting(self, more: int) -> None:
        self._large_waiting += more
        self.is_crowded = self._large_waiting >= LARGE_WAITING_MAX

    def _leave(self, worker: Worker, line: deque[Any]) -> None:
        """Wait in line until entered again."""
        line.append(worker)
        self._call_turn()
        steps.note_way_given()
        self.hub.switch(False)

    # --- turns ----------------------------------------------------------------------------------

    def _call_turn(self, *, is_late: bool = False) -> None:
        """Have what waits served in the next turn of the loop; behind what the sockets have brought, if this one took long."""
        if (self._left or self._next) and not self._is_turn_due and not self._is_abandoned:
            self._is_turn_due = True
            self._call_soon(self._step_back if is_late else self._turn)

    def _call_soon(self, callback: Callable[[], None]) -> None:
        (self._loop or asyncio.get_running_loop()).call_soon(callback)

    def _step_back(self) -> None:
        """What the sockets have brought meanwhile stands behind this in the loop's own line, and before the next call."""
        self._call_soon(self._turn)

    def _turn(self) -> None:
        """Serve what waits, each once at most, until a slice of time is over; of both kinds the oldest at least."""
        if self._is_abandoned:
            return
        monotonic = self._monotonic
        now_seconds = monotonic()
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
