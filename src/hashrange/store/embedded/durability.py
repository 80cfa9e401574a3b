"""When is a commit safe? Group commit: one thread syncs once for everything that waits.

A commit is written to the write-ahead log without sync, on the loop. A sync costs as much CPU as three commits, so it
begins only once a turn of the loop has brought no further commit, or the oldest one has waited for GROUP_SECONDS_MAX, and
never while another is under way. The thread notes how far commits have come, syncs (which releases the interpreter
lock), and reports back; everything up to the noted position is then durable. Callers wait with `when_durable`.
Cost per commit on the loop: some 0.2 µs. See docs/adr/0010-group-commit.md.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue

from hashrange.errors import StorageError

GROUP_SECONDS_MAX = 0.002
"""So long the first commit of a group waits for others while the loop is busy."""

Waiter = Callable[[StorageError | None], None]


class CommitBarrier:
    """Positions of commits, and who waits for them. All methods but the thread's own run on the loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None,
        sync: Callable[[], None],
        on_failure: Callable[[Exception], StorageError],
    ) -> None:
        """`sync` makes all commits so far durable, may block, runs on the thread; `on_failure` hears that it raised.

        Without a loop nothing syncs by itself: `when_durable` and `finish` do it at once.
        """
        self.position = 0
        self.durable_position = 0
        self._loop = loop
        self._sync = sync
        self._on_failure = on_failure
        self._failure: StorageError | None = None
        self._is_due = False
        """A commit waits for a sync that has not begun."""
        self._is_syncing = False
        self._group_ends_seconds = 0.0
        self._waiters: deque[tuple[int, Waiter]] = deque()
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def commit(self) -> None:
        """Count one commit, just written, and see to it that it gets synced."""
        self.position += 1
        if not self._is_due and self._loop is not None:
            self._is_due = True
            self._group_ends_seconds = self._loop.time() + GROUP_SECONDS_MAX
            if not self._is_syncing:
                self._loop.call_soon(self._gather, 0)

    def when_durable(self, position: int, callback: Waiter) -> None:
        """Call back once all commits up to `position` are durable, at once if they are."""
        if position <= self.durable_position:
            callback(None)
        elif self._failure is not None:
            callback(self._failure)
        else:
            self._waiters.append((position, callback))
            if self._loop is None:
                self.finish()

    def fail(self, error: StorageError) -> None:
        """Nothing becomes durable any more; everybody who waits hears it."""
        self._failure = error
        waiters, self._waiters = self._waiters, deque()
        for _, callback in waiters:
            self._call(callback, error)

    def begin_at(self, position: int) -> None:
        """What the engine holds now is durable: it has just been opened. Older positions count as past, and who waits for them hears it."""
        assert position >= self.position
        self.position = self.durable_position = position
        waiters, self._waiters = self._waiters, deque()
        for _, callback in waiters:
            self._call(callback, None)

    def restart(self) -> None:
        """The engine was replaced, and `begin_at` told where positions go on: commits become durable again."""
        self._failure = None

    def run_on_thread(self, job: Callable[[], None]) -> None:
        """Run `job` on the sync thread, in turn with syncs; it must not raise."""
        self._start_thread()
        self._jobs.put(job)

    def report(self, function: Callable[..., None], *arguments: object) -> None:
        """For jobs on the thread: call `function` on the loop."""
        if self._loop is None:
            function(*arguments)
            return
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # the loop is closed: nobody is left to hear it

    def finish(self) -> None:
        """Stop the thread and sync what is left, here and now. Never raises: waiters hear of a failure."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        if self._failure is None and self.durable_position < self.position:
            target = self.position
            try:
                self._sync()
            except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                self.fail(self._on_failure(error))
            else:
                self._synced(target)

    def _gather(self, last_position: int) -> None:
        """Once a turn: sync, unless the last turn brought more commits."""
        loop = self._loop
        assert loop is not None
        if last_position != self.position and loop.time() < self._group_ends_seconds:
            loop.call_soon(self._gather, self.position)
            return
        self._is_due = False
        self._is_syncing = True
        if self._thread is None:
            self._start_thread()
        self._jobs.put(self._sync_once)

    def _start_thread(self) -> None:
        if self._thread is None and self._loop is not None:
            self._thread = threading.Thread(target=self._work, name="hashrange-sync", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        """The thread: jobs in turn; of several syncs that wait, one is enough."""
        jobs = self._jobs
        job = jobs.get()
        while job is not None:
            following: Callable[[], None] | None = job
            try:
                while following == job:
                    following = jobs.get_nowait()
            except Empty:
                job()
                job = jobs.get()
            else:
                job()
                job = following

    def _sync_once(self) -> None:
        target = self.position
        try:
            if target != self.durable_position and self._failure is None:
                self._sync()
        except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
            self.report(self._sync_failed, error)
        else:
            self.report(self._synced, target)

    def _synced(self, target: int) -> None:
        self._sync_ended()
        if self._failure is not None or target <= self.durable_position:
            return
        self.durable_position = target
        waiters = self._waiters
        while waiters and waiters[0][0] <= target:
            self._call(waiters.popleft()[1], None)

    def _sync_failed(self, error: Exception) -> None:
        self._sync_ended()
        if self._failure is None:
            self._on_failure(error)

    def _sync_ended(self) -> None:
        """A commit that came during the sync has not been gathered yet, and later ones rely on it: however the sync ended."""
        self._is_syncing = False
        if self._is_due and self._loop is not None:
            self._loop.call_soon(self._gather, 0)

    def _call(self, callback: Waiter, error: StorageError | None) -> None:
        try:
            callback(error)
        except Exception as raised:
            if self._loop is None:
                raise
            self._loop.call_exception_handler({"message": "a durability callback failed", "exception": raised})


class VolatileBarrier(CommitBarrier):
    """For a store in memory: whatever is committed counts as durable, and there is no thread."""

    def commit(self) -> None:
        """Count one commit."""
        self.position += 1
        self.durable_position += 1
