"""How does a job run that follows the changes of a store's tables? In slices, each of passes; what it begins are tasks.

A pass concludes the tasks that have ended, stores documents in one commit, and begins further tasks; the job says how.
Between passes the slice waits until a task has ended, the job is to look, or a time has come. It ends when nothing runs
and nothing is due, so that an advance of service time returns when the changes of that time have been handled.
Nothing polls.

When the content of the store is replaced, everything in memory is dropped, and the job continues at its checkpoints.
Before it begins anything, a pass checks whether that has happened while it waited.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, TypeVar

from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.jobs.job import LATER, called_when_due
from hashrange.store.interface import Durability, WholeStore

Concern = TypeVar("Concern")
"""What a task is about."""
MakePass = Callable[[], Coroutine[Any, Any, float | None]]
"""Does what can be done now; returns the seconds of service time until there is more to do, or None.
Raises StorageError, and Outdated."""


class Outdated(Exception):
    """Raised by a pass: what it has read may belong to former content of the store, or the job was stopped."""


class Passes(Generic[Concern]):
    """The slices, passes and tasks of one job."""

    def __init__(
        self,
        store: WholeStore,
        clock: Clock,
        make_pass: MakePass,
        forget: Callable[[], None],
        on_synced: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        """`forget` drops what the job has in memory; all tasks have been cancelled then. May raise StorageError.
        `on_synced` is called when more may be durable: see `AwaitedSync`.
        `wake` is called when the resting job has work.
        """
        self._documents = store.documents
        self._clock = clock
        self._make_pass = make_pass
        self._forget = forget
        self._wake = wake
        self.sync = AwaitedSync(store, on_synced)
        self.generation = -1
        """Generation of the documents that the memory is about."""
        self.epoch = 0
        """Number of times that everything in memory was dropped; what was begun before that counts for nothing."""
        self.is_saving = False
        """True from the beginning of a commit of documents until it has succeeded."""
        self.number = 0
        """Number of the pass that was begun last."""
        self._news: asyncio.Event | None = None
        """An event that is set when the slice is to make another pass; None if there is no slice, or it is to end."""
        self._running: dict[asyncio.Task[Any], Concern] = {}
        """Tasks whose end has not been concluded."""
        self._ended: deque[asyncio.Task[Any]] = deque()

    # --- slices -----------------------------------------------------------------------------------

    def look(self) -> None:
        """Let the slice make another pass, or a new slice begin."""
        if self._news is None:
            self._wake()
        else:
            self._news.set()

    async def run_slice(
        self, *, waits_for_syncs: bool = False, is_over: Callable[[], bool] = lambda: False
    ) -> float | None:
        """Make passes until nothing runs and nothing is due; returns the seconds of service time
        until something is, or None; LATER if `is_over` has ended the slice.

        `waits_for_syncs`: a sync that makes changes durable counts as something that runs. `is_over`: asked after each
        pass; True if nothing that runs need be waited for.
        Raises what a pass raises; what runs then goes on.
        """
        news = self._news = asyncio.Event()
        try:
            while self._news is news:
                news.clear()
                if self.is_outdated:
                    self.drop()
                self.number += 1
                try:
                    due_seconds = await self._make_pass()
                except Outdated:
                    continue
                if self._running and is_over():
                    return LATER
                if news.is_set() or self.is_outdated or (due_seconds is not None and due_seconds <= 0):
                    continue
                if not self._running and not (waits_for_syncs and self.sync.is_awaited):
                    return due_seconds
                with called_when_due(self._clock, due_seconds, news.set):
                    await news.wait()
            return None
        finally:
            if self._news is news:
                self._news = None

    async def stop(self) -> None:
        """Cancel all tasks, and end the slice. The job may be run again."""
        news, self._news = self._news, None
        if news is not None:
            news.set()
        tasks = self.drop()
        self.generation = -1  # so that the next slice drops what this one leaves
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def is_outdated(self) -> bool:
        """True if the content of the store has been replaced since the memory was last dropped."""
        return self._documents.generation != self.generation

    def drop(self) -> list[asyncio.Task[Any]]:
        """Forget all that is in memory; returns the cancelled tasks, which end in a later turn of the loop."""
        self.epoch += 1
        generation = self._documents.generation
        self.is_saving = False
        self.sync.forget()
        tasks = list(self._running)
        self._running, self._ended = {}, deque()
        for task in tasks:
            task.cancel()
        self._forget()
        self.generation = generation
        return tasks

    def check(self, epoch: int) -> None:
        """After an `await`: raise Outdated if the memory has been dropped since `epoch`, or must be."""
        if epoch != self.epoch or self.is_outdated:
            raise Outdated

    async def save(self, documents: dict[str, bytes | None]) -> None:
        """Store documents, or delete those whose value is None, in one commit, and empty the dictionary.
        After a failure, they are kept, to be stored before anything else.

        Raises StorageError.
        """
        if documents:
            self.is_saving = True
            if await self._documents.write(documents, self.generation):
                documents.clear()
            self.is_saving = False

    # --- tasks ------------------------------------------------------------------------------------

    @property
    def running(self) -> int:
        """Number of tasks whose end has not been concluded."""
        return len(self._running)

    @property
    def has_ended(self) -> bool:
        """True if the end of a task is to be concluded."""
        return bool(self._ended)

    def begin(self, work: Coroutine[Any, Any, Any], concern: Concern) -> None:
        """Run `work` as a task."""
        task = asyncio.get_running_loop().create_task(work)
        self._running[task] = concern
        task.add_done_callback(self._end)

    def take_ended(self) -> tuple[asyncio.Task[Any], Concern]:
        """The task that ended first, and what it is about; it is no longer one of those to be concluded."""
        task = self._ended.popleft()
        return task, self._running.pop(task)

    def _end(self, task: asyncio.Task[Any]) -> None:
        if task in self._running:
            self._ended.append(task)
            self.look()
        elif not task.cancelled():
            task.exception()  # so that asyncio does not report an error of which nobody wants to know


# --- what may be delivered later ------------------------------------------------------------------


class AwaitedSync:
    """The sync that makes durable what a job has heard of and may not deliver yet: who receives a record may act on it,
    so nobody must learn of a change that a power cut could undo. A job waits for at most one sync at a time.
    """

    def __init__(self, durability: Durability, on_end: Callable[[], None]) -> None:
        """`on_end` is called when an awaited sync has ended, or failed."""
        self._durability = durability
        self._on_end = on_end
        self._position: int | None = None
        """The commit that is to be durable; None if no sync is awaited."""
        self._failure: StorageError | None = None

    @property
    def is_awaited(self) -> bool:
        """True while a sync is awaited."""
        return self._position is not None

    def check(self) -> None:
        """Raise StorageError once after a failed sync."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def begin(self) -> None:
        """Wait until all commits so far are durable, unless a sync is awaited already."""
        if self._position is None:
            position = self._position = self._durability.position()
            self._durability.when_durable(position, partial(self._ended, position))

    def forget(self) -> None:
        """Begin anew, because the store's content was replaced."""
        self._position, self._failure = None, None

    def _ended(self, position: int, error: StorageError | None) -> None:
        """Note that a sync has ended, or failed."""
        if self._position == position:
            self._position, self._failure = None, error
            self._on_end()
