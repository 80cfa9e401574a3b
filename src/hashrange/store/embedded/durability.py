"""When is a commit durable? Group commit: one thread syncs the write-ahead log once for all commits that wait.

A commit is written to the write-ahead log without a sync, on the loop. A sync costs as much CPU as three commits, so it
begins only after a turn without a further commit, or when the oldest commit has waited for GROUP_SECONDS_MAX, and never
while another sync is running. The thread notes the position of the last commit, syncs (which releases the interpreter
lock), and reports back; all commits up to the noted position are then durable. Callers wait with `when_durable`.
Cost per commit on the loop: about 0.2 µs. See docs/adr/0010-group-commit.md.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from hashrange.errors import StorageError

GROUP_SECONDS_MAX = 0.002
"""Longest time that the first commit of a group waits for further commits while the loop is busy."""

Waiter = Callable[[StorageError | None], None]


class CommitBarrier:
    """Counts commits and calls back when they are durable. `_work` and its jobs run on the sync thread, `report` on any
    thread, all other methods on the loop.
    """

    is_due = False
    """True while a commit waits for a sync that has not begun: further commits join its group."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None,
        sync: Callable[[], None],
        on_failure: Callable[[Exception], StorageError],
    ) -> None:
        """`sync` makes all commits so far durable; it may block, and runs on the sync thread. `on_failure` is called on
        the loop with an error that `sync` raised. Without a loop there is no thread: `when_durable` and `finish` call
        `sync`.
        """
        self.position = 0
        self.durable_position = 0
        self._loop = loop
        self._sync = sync
        self._on_failure = on_failure
        self._failure: StorageError | None = None
        self._is_syncing = False
        self._group_ends_seconds = 0.0
        self._waiters: deque[tuple[int, Waiter]] = deque()
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def commit(self) -> None:
        """Count a commit that has just been written, and schedule its sync."""
        self.position += 1
        if not self.is_due and self._loop is not None:
            self.is_due = True
            self._group_ends_seconds = self._loop.time() + GROUP_SECONDS_MAX
            if not self._is_syncing:
                self._loop.call_soon(self._gather, 0)

    def when_durable(self, position: int, callback: Waiter) -> None:
        """Call `callback(None)` once commits up to `position` are durable, or `callback(error)` once `fail` was called.

        The call may come before this method returns.
        """
        if position <= self.durable_position:
            callback(None)
        elif self._failure is not None:
            callback(self._failure)
        else:
            self._waiters.append((position, callback))
            if self._loop is None:
                self.finish()

    def fail(self, error: StorageError) -> None:
        """Make no more commits durable until `restart`, and call all waiting callbacks with `error`."""
        self._failure = error
        self._call_all(error)

    def begin_at(self, position: int) -> None:
        """Set the position of a newly opened engine, whose commits are all durable; callbacks that wait get None."""
        assert position >= self.position
        self.position = self.durable_position = position
        self._call_all(None)

    def restart(self) -> None:
        """Let commits become durable again, after `begin_at` for a new engine."""
        self._failure = None

    def run_on_thread(self, job: Callable[[], None]) -> None:
        """Run `job` on the sync thread, between syncs; `job` must not raise. Without a loop it never runs."""
        if self._thread is None and self._loop is not None:
            self._thread = threading.Thread(target=self._work, name="hashrange-sync", daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def report(self, function: Callable[..., None], *arguments: object) -> None:
        """Call `function` on the loop; for code on other threads. Without a loop, call it at once."""
        if self._loop is None:
            function(*arguments)
            return
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # the loop is closed, so no request is left for which `function` must be called

    def finish(self, *, is_kept: bool = True) -> None:
        """Stop the sync thread, and sync remaining commits on the calling thread. If the sync fails, waiting callbacks
        get the error; nothing is raised. `is_kept` False: the content is about to be deleted, so nothing is synced.
        """
        self.is_due = type(self).is_due
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        if self._failure is None and self.durable_position < self.position:
            target = self.position
            try:
                if is_kept:
                    self._sync()
            except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                self.fail(self._on_failure(error))
            else:
                self._synced(target)

    def _gather(self, last_position: int) -> None:
        """Runs once per turn while a sync is due; starts the sync, unless commits were made since the previous turn and
        GROUP_SECONDS_MAX has not passed. `last_position`: the barrier's position in the previous turn; 0 at first.
        """
        loop = self._loop
        assert loop is not None
        if not self.is_due:  # `finish` has synced what was due: perhaps for good, so the thread must not start again
            return
        if last_position != self.position and loop.time() < self._group_ends_seconds:
            loop.call_soon(self._gather, self.position)
            return
        self.is_due = False
        self._is_syncing = True
        self.run_on_thread(self._sync_once)

    def _work(self) -> None:
        """Body of the sync thread: runs jobs in order."""
        while (job := self._jobs.get()) is not None:
            job()

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
        """Schedule a sync for commits made during the one that has ended, even if it failed: `commit` schedules none
        during a sync.
        """
        self._is_syncing = False
        if self.is_due and self._loop is not None:
            self._loop.call_soon(self._gather, 0)

    def _call_all(self, error: StorageError | None) -> None:
        waiters, self._waiters = self._waiters, deque()
        for _, callback in waiters:
            self._call(callback, error)

    def _call(self, callback: Waiter, error: StorageError | None) -> None:
        try:
            callback(error)
        except Exception as raised:
            if self._loop is None:
                raise
            self._loop.call_exception_handler({"message": "a durability callback failed", "exception": raised})


class VolatileBarrier(CommitBarrier):
    """The barrier of a store in memory: all commits count as durable, and there is no thread."""

    is_due = True
    """No commit begins a group, before which anything would have to be looked at."""

    def commit(self) -> None:
        """Count one commit, which is durable at once."""
        self.position = self.durable_position = self.position + 1
