"""How are a server's jobs run? By a `Runner`, in one task per job: slice, pause, slice, until the server stops.

Requests that waited for a slice to end run after the slice. The longer they take, the longer the job then pauses; it
does not pause if no request waited. A failed job is tried again a second later, or once woken; no failure of a job may
end the server.

A job rests when it has nothing to do until time passes or `Runner.wake` is called. Virtual service time passes only
when it is moved, which wakes every job; `until_at_rest` returns when all jobs rest again. While service time is moved
in steps (`in_order`), a step wakes only the jobs that are due, and jobs run one at a time: before each slice, the first
one of the runner's list that has work.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.jobs.job import AT_ONCE, Job, NeverRests

NOBODY_WAITED_SECONDS = 0.0001
"""If the event loop's turns after a slice take less than this, no request waited for the slice to end."""
PAUSE_SECONDS = 0.001
"""Shortest pause between two slices of a job that has more to do, if requests waited."""
PAUSE_SECONDS_MAX = 0.02
PAUSE_FACTOR = 8
"""The pause is this many times the time spent on requests that waited for the slice to end, but at least PAUSE_SECONDS
and at most PAUSE_SECONDS_MAX."""
RETRY_SECONDS = 1.0
"""Pause after a failed slice, in real time, unless the job is woken earlier."""
SLICES_MAX = 1_000_000
"""While jobs run in order, a job that has run this many slices since service time was moved is taken for one that would
never rest. To delete 60 million items that expire together, or to fill an index of 120 million, takes fewer slices."""

JobSlice = Coroutine[Any, Any, float | None]
InTurns = Callable[[JobSlice], Awaitable[float | None]]

_log = logging.getLogger("hashrange.jobs")


class _RunningJob:
    """One job and its state."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.wake = asyncio.Event()
        """An event that is set when there may be new work for the job."""
        self.rest = asyncio.Event()
        """An event that is set while the job rests."""
        self.turn = asyncio.Event()
        """An event that is set when it may be the job's turn. Cleared by the job, before it waits."""
        self.failure: Exception | None = None
        """The error of the job's last slice; None if the slice succeeded."""
        self.due_seconds: float | None = None
        """Service time at which the resting job wants to run next; None: when woken, or after some real time."""
        self.is_in_slice = False
        self.is_given_up = False
        """True if the job has failed while jobs run in order. It then rests, whoever wakes it, until they no longer do."""
        self.slices = 0
        """Number of slices since service time was last moved, or since jobs began to run in order."""

    def look(self) -> None:
        """Let the job look for work."""
        if not self.is_given_up:
            self.wake.set()
            self.rest.clear()


class Runner:
    """Runs jobs on the event loop from `start` to `stop`."""

    def __init__(self, jobs: Sequence[Job], clock: Clock, in_turns: InTurns = lambda work: work) -> None:
        """`in_turns` runs a slice so that it gives way to requests, and returns an awaitable of the slice's result."""
        self.jobs = jobs
        self._in_turns = in_turns
        self._clock = clock
        self._monotonic = clock.monotonic
        self._tasks: list[asyncio.Task[None]] = []
        self._running = [_RunningJob(job) for job in jobs]
        self._timed = [running for running in self._running if running.job.waits_for_service_time]
        self._stop_listening: Callable[[], None] = lambda: None
        self._order = asyncio.Lock()
        """A lock that is held while jobs run in order."""
        self._orders = 0
        """How often jobs have begun to run in order."""

    def start(self) -> None:
        """Start all jobs on the running event loop; each looks for work at once."""
        loop = asyncio.get_running_loop()
        self._stop_listening = self._clock.on_advance(self._time_moved)
        self._tasks = [
            loop.create_task(self._run(running), name=f"hashrange-{running.job.name}") for running in self._running
        ]

    @property
    def is_running(self) -> bool:
        """True between `start` and `stop`."""
        return bool(self._tasks)

    def wake(self) -> None:
        """Let every job look for work, because there is new work or time was moved."""
        for running in self._running:
            running.look()

    def wake_untimed(self) -> None:
        """Let every job look for work that goes by real time, because there may be new work after time was moved."""
        for running in self._running:
            if not running.job.waits_for_service_time:
                running.look()

    def wake_job(self, job: Job) -> None:
        """Let one job look for work, because there is new work for it."""
        for running in self._running:
            if running.job is job:
                running.look()

    def _time_moved(self) -> None:
        """Let every job look for work; while jobs run in order, only those that are due."""
        if not self._order.locked():
            self.wake()
            return
        now_seconds = self._clock.service_time()
        for running in self._timed:
            running.slices = 0
            if running.due_seconds is not None and running.due_seconds <= now_seconds:
                running.look()

    async def all_at_rest(self, *, only_timed: bool = False) -> None:
        """Return once all jobs rest at the same time, and have done the work that they made for each other.

        Also returns once the runner has stopped. `only_timed`: jobs that go by real time are not waited for.
        """
        awaited = self._timed if only_timed else self._running
        while self._tasks and not all(running.rest.is_set() for running in awaited):
            for running in awaited:
                await running.rest.wait()

    async def until_at_rest(self) -> None:
        """Return when `all_at_rest` does. Raises the error of a job whose last slice failed: a failed job rests until
        it is tried again.
        """
        await self.all_at_rest()
        for running in self._running:
            if running.failure is not None:
                raise running.failure

    def next_due_seconds(self) -> float | None:
        """The first service time at which a resting job wants to run; None if all rest until woken, or have stopped."""
        dues = [running.due_seconds for running in self._timed if running.due_seconds is not None]
        return min(dues, default=None) if self._tasks else None

    def is_in_order(self) -> int:
        """While jobs run in order, because somebody waits until they rest: a number above 0, another one each time. Otherwise 0."""
        return self._orders if self._order.locked() else 0

    @asynccontextmanager
    async def in_order(self) -> AsyncIterator[None]:
        """Within the context, jobs that wait for service time run one at a time, and each of them looks for work first.

        A job that fails there, or that runs SLICES_MAX slices at one time, is not tried again before the end of the
        context. Contexts are entered one after the other, in the order of the calls.
        """
        async with self._order:
            self._orders += 1
            for running in self._running:
                running.slices = 0
            for running in self._timed:
                running.look()
            try:
                yield
            except asyncio.CancelledError:
                self.wake()
                raise
            finally:
                for running in self._running:
                    running.is_given_up = False
                self._order_changes()

    async def stop(self) -> None:
        """Cancel the tasks of all jobs, between slices or at an `await` in a slice; returns when they have ended. May be called again."""
        self._stop_listening()
        self._stop_listening = lambda: None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for running in self._running:
            running.rest.set()

    async def _run(self, running: _RunningJob) -> None:
        """Run one job's slices until the task is cancelled."""
        while True:
            while self._is_behind(running):
                running.turn.clear()
                await running.turn.wait()
            running.wake.clear()
            running.due_seconds = None
            running.is_in_slice = True
            try:
                running.slices += 1
                pause_seconds = await self._in_turns(running.job.run_slice())
                if running.slices >= SLICES_MAX and self._order.locked():
                    raise AssertionError(f"the job {running.job.name} does not rest after {running.slices} slices")
            except Exception as error:  # noqa: BLE001 - a failed job must not end the server
                if running.failure is None:
                    _log_failure(running.job, error)
                running.failure = error
            else:
                running.failure = None
            finally:
                running.is_in_slice = False
                self._order_changes()
            if running.failure is not None:
                await self._rest_after_failure(running)
            elif pause_seconds is not None and pause_seconds <= AT_ONCE:
                await self._give_way()
            elif running.job.waits_for_service_time:
                await self._rest_for_service_time(running, pause_seconds)
            else:
                await self._rest(running, pause_seconds)

    def _is_behind(self, running: _RunningJob) -> bool:
        """True if this job must wait: jobs run in order, and another one runs a slice, or one before it in the list has work."""
        if not self._order.locked() or not running.job.waits_for_service_time:
            return False
        place = self._timed.index(running)
        return any(one.is_in_slice for one in self._timed) or not all(one.rest.is_set() for one in self._timed[:place])

    def _order_changes(self) -> None:
        """Let the job run whose turn comes when the code that runs now gives way: when a job rests, or jobs no longer run in order."""
        asyncio.get_running_loop().call_soon(self._give_turn)

    def _give_turn(self) -> None:
        if not self._order.locked():
            for running in self._running:
                running.turn.set()
        elif not any(running.is_in_slice for running in self._timed):
            first = next((running for running in self._timed if not running.rest.is_set()), None)
            if first is not None:
                first.turn.set()

    async def _rest_after_failure(self, running: _RunningJob) -> None:
        """Let a failed job rest. If jobs run in order, it rests at least until they no longer do."""
        if self._order.locked():
            running.is_given_up = True
            running.wake.clear()
            running.rest.set()
            while running.is_given_up:
                running.turn.clear()
                await running.turn.wait()
        await self._rest(running, RETRY_SECONDS)

    async def _rest_for_service_time(self, running: _RunningJob, seconds: float | None) -> None:
        """Let a job rest until it is woken, or for some service time. If service time is virtual, moving it wakes the job."""
        if seconds is not None:
            running.due_seconds = self._clock.service_time() + seconds
        await self._rest(running, None if self._clock.is_virtual else seconds)

    async def _rest(self, running: _RunningJob, seconds: float | None) -> None:
        """Let a job rest until it is woken, or for at most `seconds` (None: without limit)."""
        if running.wake.is_set():
            return
        running.rest.set()
        try:
            async with asyncio.timeout(seconds):  # `wait_for` may swallow the cancellation of `stop` (Python 3.11)
                await running.wake.wait()
        except TimeoutError:
            running.rest.clear()

    async def _give_way(self) -> None:
        """After a slice, let waiting requests run, then pause the job in proportion to the time that they took."""
        slice_ended_seconds = self._monotonic()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting_seconds = self._monotonic() - slice_ended_seconds
        if waiting_seconds >= NOBODY_WAITED_SECONDS:
            await asyncio.sleep(min(max(PAUSE_SECONDS, PAUSE_FACTOR * waiting_seconds), PAUSE_SECONDS_MAX))


def _log_failure(job: Job, error: Exception) -> None:
    """Log a StorageError or NeverRests in one line, any other error (a bug) with its traceback."""
    if isinstance(error, StorageError):
        _log.error("The job %s waits: %s", job.name, error)
    elif isinstance(error, NeverRests):
        _log.warning("%s", error)
    else:
        _log.error("The job %s failed and is tried again.", job.name, exc_info=error)
