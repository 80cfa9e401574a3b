"""How are a server's jobs run? By a `Runner`, in one task per job: slice, pause, slice, until the server stops.

Requests that waited for a slice to end run after the slice. The longer they take, the longer the job then pauses; it
does not pause if no request waited. A failed job is tried again a second later, or once woken; no failure of a job may
end the server.

A job rests when it has nothing to do until time passes or `Runner.wake` is called. Virtual service time passes only
when it is moved, which wakes every job; `all_at_rest` returns when all jobs rest again. While service time is moved
in steps (`in_order`), a step wakes only the jobs that are due, and whoever moves it runs all slices (`work_in_order`):
of jobs that wait for service time one at a time, always of the first one of the list that has work.
The jobs' own tasks sleep meanwhile. Clients may go on making work: a job that they have woken, and that no other job
can have woken, runs beside this order, and nobody waits for it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal

from hashrange.clock import Clock
from hashrange.errors import RECORDS_TRIES_MAX, RecordsChanged, StorageError
from hashrange.jobs.job import AT_ONCE, ELSEWHERE, LATER, Job, NeverRests

NOBODY_WAITED_SECONDS = 0.0001
"""If the event loop's turns after a slice take less than this, no request waited for the slice to end."""
PAUSE_SECONDS = 0.001
"""Shortest pause between two slices of a job that has more to do, if requests waited."""
PAUSE_SECONDS_MAX = 0.02
PAUSE_FACTOR = 8
"""The pause is this many times the time spent on requests that waited for the slice to end, but at least PAUSE_SECONDS
and at most PAUSE_SECONDS_MAX."""
TURN_SECONDS = 0.0005
"""Slices that run in order give way to requests once they, and what moves service time in between,
have taken this long together."""
RETRY_SECONDS = 1.0
"""Pause after a failed slice, in real time, unless the job is woken earlier."""
SLICES_MAX = 1_000_000
"""While jobs run in order, a job that has run this many slices since service time was moved is taken for one that would
never rest. To delete 60 million items that expire together, or to fill an index of 120 million, takes fewer slices."""
WAKES_MAX = 10_000
"""A job that has been woken this often since service time was moved is woken by clients, not by other jobs: a chain of
functions ends after TRIGGER_CHAIN_LINKS_MAX."""

JobSlice = Coroutine[Any, Any, float | None]
InTurns = Callable[[JobSlice], Awaitable[float | None]]

_log = logging.getLogger("hashrange.jobs")


class _RunningJob:
    """One job and its state."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.has_work = True
        """True if there may be work, for which the next slice looks."""
        self.slice: asyncio.Future[float | None] | None = None
        """The result of the slice that runs now."""
        self.wake = asyncio.Event()
        """An event that is set when the job's task is to look at this state again."""
        self.pause_seconds: float | None = None
        """Real time after which a resting job that goes by it wants to run next; None: when woken."""
        self.due_seconds: float | None = None
        """Service time at which the resting job wants to run next; None: when woken, or after some real time."""
        self.failure: Exception | None = None
        """The error of the job's last slice; None if the slice succeeded."""
        self.is_given_up = False
        """True if the job has failed while jobs run in order.
        It then rests, whoever wakes it, until they no longer do."""
        self.is_beside = False
        """True if a job that waits for service time runs beside the order: clients have made its work, since no
        slice ran when it was woken, or a slice has left it for LATER. Nobody waits for it then."""
        self.is_elsewhere = False
        """True if the job rests while others work for it (`ELSEWHERE`)."""
        self.slices = 0
        """Number of slices since service time was last moved, or since jobs began to run in order."""
        self.wakes = 0
        """How often the job has got work since then, because it was woken."""
        self.overtaken = 0
        """Number of slices in a row that have raised RecordsChanged."""

    @property
    def rests(self) -> bool:
        """True if the job runs no slice, and has nothing to do until time passes or it is woken."""
        return not self.has_work and self.slice is None


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
        self._working: set[_RunningJob] = set()
        """Jobs that run a slice whose consequences are waited for."""
        self._changed = asyncio.Event()
        """An event that is set when a slice has ended, or a job that is run in order has got work."""
        self._order = asyncio.Lock()
        """Held while jobs run in order."""
        self._orders = 0
        """How often jobs have begun to run in order."""
        self._turn_seconds = 0.0
        """Monotonic time at which slices that run in order last gave way; what moves service time counts too."""

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

    async def stop(self) -> None:
        """Cancel the tasks of all jobs, between slices or at an `await` in a slice;
        returns when they have ended. May be called again.
        """
        self._stop_listening()
        self._stop_listening = lambda: None
        ending: list[asyncio.Future[Any]] = [
            *self._tasks,
            *(running.slice for running in self._running if running.slice is not None),
        ]
        self._tasks = []
        for one in ending:
            one.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        for running in self._running:
            running.has_work, running.slice = False, None
        self._changed.set()

    # --- work ------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Let every job look for work, because there is new work or time was moved."""
        for running in self._running:
            self._look(running)

    def wake_untimed(self) -> None:
        """Let every job look for work that goes by real time, because there may be new work after time was moved."""
        for running in self._running:
            if not running.job.waits_for_service_time:
                self._look(running)

    def wake_jobs(self, *names: str) -> None:
        """Let the jobs of these names look for work, because there is new work for them."""
        for running in self._running:
            if running.job.name in names:
                self._look(running)

    def _look(self, running: _RunningJob) -> None:
        """Let a job look for work, which clients have made if no slice runs that may have."""
        if not running.is_given_up:
            if self._working and running.wakes < WAKES_MAX:
                running.is_beside = False
            elif running.rests or running.wakes >= WAKES_MAX:
                running.is_beside = self._order.locked() and running.job.waits_for_service_time
            running.wakes += not running.has_work
            running.has_work = True
            self._tell(running)

    def _await(self, running: _RunningJob) -> None:
        """Let a job look for work that is waited for, whoever has woken it."""
        self._look(running)
        running.is_beside = False
        if running.slice is not None and not running.slice.done():
            self._working.add(running)

    def _tell(self, running: _RunningJob) -> None:
        """Let those who run the job's slices look at its state."""
        self._changed.set()
        if not self._order.locked():
            running.wake.set()

    def _time_moved(self) -> None:
        """Let every job look for work; while jobs run in order, only those that are due."""
        if not self._order.locked():
            self.wake()
            return
        now_seconds = self._clock.service_time()
        for running in self._timed:
            running.slices = running.wakes = 0
            if running.due_seconds is not None and running.due_seconds <= now_seconds:
                self._await(running)

    # --- rest ------------------------------------------------------------------------------------

    async def all_at_rest(self) -> None:
        """Return once all jobs rest at the same time, and have done the work that they made for each other.

        Also returns once the runner has stopped.
        """
        while self._tasks and not all(running.rests for running in self._running):
            await self._next_change()

    def require_no_failure(self) -> None:
        """Raise the error of a job whose last slice failed."""
        for running in self._running:
            if running.failure is not None:
                raise running.failure

    async def _next_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def next_due_seconds(self) -> float | None:
        """The first service time at which a resting job wants to run; None if all rest until woken, or have stopped."""
        dues = [running.due_seconds for running in self._timed if running.due_seconds is not None]
        return min(dues, default=None) if self._tasks else None

    # --- order -----------------------------------------------------------------------------------

    def is_in_order(self) -> int:
        """While jobs run in order, because somebody waits until they rest: a number above 0,
        another one each time. Otherwise 0.
        """
        return self._orders if self._order.locked() else 0

    @asynccontextmanager
    async def in_order(self) -> AsyncIterator[None]:
        """Within the context, jobs run in `work_in_order` alone; those that wait for service time and failed last, or
        for whom others work, are tried again first.

        A job that fails there, or that runs SLICES_MAX slices at one time, is not tried again before the end of the
        context. Contexts are entered one after the other, in the order of the calls.
        """
        async with self._order:
            self._orders += 1
            self._turn_seconds = self._monotonic()
            for running in self._running:
                running.slices = running.wakes = 0
            for running in self._timed:
                if running.failure is not None or running.is_elsewhere:
                    self._await(running)
            try:
                yield
            except asyncio.CancelledError:
                self.wake()
                raise
            finally:
                for running in self._running:
                    running.is_given_up = running.is_beside = False
                    if running.has_work or self._real_pause_seconds(running) is not None:
                        running.wake.set()  # the job's task has slept, and knows no new pause

    async def work_in_order(self, *, only_timed: bool = False) -> None:
        """Run slices, within `in_order`; returns when all jobs rest, except from what clients make meanwhile.
        Cancelled, it leaves a slice that has begun to its end.

        `only_timed`: neither jobs that go by real time are waited for, nor what clients have made since `in_order`.
        """
        awaited = self._timed if only_timed else self._running
        if not only_timed:
            for running in self._timed:
                if running.is_beside or running.is_elsewhere:
                    self._await(running)
        while self._tasks:
            begun = self._begin_in_order(may_run_beside=only_timed)
            if begun != "timed" and all(running.rests or running.is_beside for running in awaited):
                return
            if begun is None:
                await self._next_change()
            elif begun == "other" or self._monotonic() - self._turn_seconds >= TURN_SECONDS:
                await self._give_way()
            else:
                continue
            self._turn_seconds = self._monotonic()

    def _begin_in_order(self, *, may_run_beside: bool) -> Literal["timed", "other"] | None:
        """Begin the next slice, and those of all jobs that go by real time or may run beside the order;
        None if nothing may begin now, `other` if only the latter.
        """
        first: _RunningJob | None = None
        begun: Literal["other"] | None = None
        is_busy = False
        for running in self._running:
            if running.slice is not None:
                is_busy |= running.job.waits_for_service_time and not running.is_beside
            elif not running.has_work:
                continue
            elif not running.job.waits_for_service_time or (running.is_beside and may_run_beside):
                self._begin_slice(running)
                begun = "other"
            elif first is None and not running.is_beside:
                first = running
        if first is None or is_busy:
            return begun
        self._begin_slice(first)
        return "timed"

    # --- slices ----------------------------------------------------------------------------------

    async def _run(self, running: _RunningJob) -> None:
        """Run one job's slices until the task is cancelled."""
        while True:
            await self._rest(running)
            if self._order.locked() or running.slice is not None:
                running.wake.clear()
                await running.wake.wait()
                continue
            if (begun := self._begin_slice(running)) is not None:
                await asyncio.wait((begun,))
            if running.has_work:
                await self._give_way()

    async def _rest(self, running: _RunningJob) -> None:
        """Let a job rest until it has work, because it was woken or its pause is over."""
        while not running.has_work:
            running.wake.clear()
            try:
                # `wait_for` may swallow the cancellation of `stop` (Python 3.11)
                async with asyncio.timeout(self._real_pause_seconds(running)):
                    await running.wake.wait()
            except TimeoutError:
                self._await(running)

    def _real_pause_seconds(self, running: _RunningJob) -> float | None:
        """Real time after which a resting job looks for work by itself; None: never.
        If service time is virtual, moving it wakes the job.
        """
        if running.failure is not None:
            return RETRY_SECONDS
        if not running.job.waits_for_service_time:
            return running.pause_seconds
        if running.due_seconds is None or self._clock.is_virtual:
            return None
        return running.due_seconds - self._clock.service_time()

    def _begin_slice(self, running: _RunningJob) -> "asyncio.Future[float | None] | None":
        """Begin a slice. Returns what is done when it has ended; None if it has ended at once."""
        running.has_work, running.due_seconds, running.is_elsewhere = False, None, False
        running.slices += 1
        running.slice = begun = asyncio.ensure_future(self._in_turns(self._work(running)))
        if begun.done():
            self._end_slice(running, begun)
            return None
        begun.add_done_callback(partial(self._end_slice, running))
        return begun

    async def _work(self, running: _RunningJob) -> float | None:
        """Run a slice, and note from its first step to its last that it may make work for other jobs."""
        if not running.is_beside:
            self._working.add(running)
        try:
            return await running.job.run_slice()
        finally:
            self._working.discard(running)

    def _end_slice(self, running: _RunningJob, ended: "asyncio.Future[float | None]") -> None:
        """See what a slice has returned or raised."""
        running.slice = None
        if ended.cancelled():
            return  # the runner stops
        failure = ended.exception()
        if running.slices >= SLICES_MAX and self._order.locked():
            failure = AssertionError(f"the job {running.job.name} does not rest after {running.slices} slices")
        running.overtaken = running.overtaken + 1 if isinstance(failure, RecordsChanged) else 0
        if failure is None or 0 < running.overtaken < RECORDS_TRIES_MAX:
            running.failure = None
            self._see_pause(running, ended.result() if failure is None else AT_ONCE)
        elif isinstance(failure, Exception):
            if running.failure is None:
                _log_failure(running.job, failure)
            running.failure = failure
            running.is_given_up = self._order.locked()
            running.has_work &= not self._order.locked()
        self._tell(running)

    def _see_pause(self, running: _RunningJob, pause_seconds: float | None) -> None:
        """See when a job wants to run next."""
        if pause_seconds is not None and pause_seconds <= AT_ONCE:
            running.has_work = True
            has_begun_since = self._order.locked() and running.slices > 0
            if pause_seconds == LATER and has_begun_since and running.job.waits_for_service_time:
                running.is_beside = True
        elif pause_seconds == ELSEWHERE:
            running.is_elsewhere = True
        elif not running.job.waits_for_service_time:
            running.pause_seconds = pause_seconds
        elif pause_seconds is not None:
            running.due_seconds = self._clock.service_time() + pause_seconds

    async def _give_way(self) -> None:
        """After a slice, let waiting requests run, then pause in proportion to the time that they took."""
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
