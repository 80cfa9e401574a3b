"""How is work that blocks done beside the event loop? One piece after the other on a thread,
which lets other threads in often.

Threads of Python take turns of 5 ms, and whichever waits may be next: beside six that compute,
an event loop waits for 30 ms. A thread that takes work from everybody is one, and while something that computes for
long runs in it, turns have half a millisecond.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, ParamSpec, TypeVar

SWITCH_SECONDS = 0.0005
"""Longest time that a thread keeps the interpreter from others within `brief_turns`."""

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_lock = threading.Lock()
_brief_count = 0
_usual_seconds = 0.0


@contextmanager
def brief_turns() -> Iterator[None]:
    """Meanwhile all threads of the process switch ten times as often as usual."""
    global _brief_count, _usual_seconds
    with _lock:
        _brief_count += 1
        if _brief_count == 1:
            _usual_seconds = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        with _lock:
            _brief_count -= 1
            if not _brief_count:
                sys.setswitchinterval(_usual_seconds)


def free_entries(*dicts: dict[Any, Any]) -> None:
    """Empty dicts that nobody uses any more, one entry after another, on any thread.

    Freed at once, 2,400 tables with twenty indexes would hold up others for 60 ms, 20,000 shards of streams for 10.
    """
    for one in dicts:
        while one:
            one.popitem()


class WorkThread:
    """A thread that does one piece of work at a time, for all event loops of the process.
    It ends when there is no work.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()  # a future that is done already calls back at once
        self._executor: ThreadPoolExecutor | None = None
        self._pieces_count = 0

    async def run(
        self, work: Callable[_Parameters, _Result], *arguments: _Parameters.args, **named: _Parameters.kwargs
    ) -> _Result:
        """Call `work` in the thread once all work before it is done, with brief turns.
        Work that has begun goes on if the caller is cancelled.
        """
        future = self.submit(work, *arguments, **named)
        try:
            return await asyncio.wrap_future(future)
        finally:
            del future  # which would keep an error, and the error's traceback this frame

    def submit(
        self, work: Callable[_Parameters, _Result], *arguments: _Parameters.args, **named: _Parameters.kwargs
    ) -> "Future[_Result]":
        """Call `work` as `run` does; nobody need wait for it."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, self._name)
            self._pieces_count += 1
            future = self._executor.submit(brief_turns()(partial(work, *arguments, **named)))
            future.add_done_callback(self._done)
        return future

    def _done(self, _: "Future[_Result]") -> None:
        with self._lock:
            self._pieces_count -= 1
            if not self._pieces_count and self._executor is not None:
                self._executor.shutdown(wait=False)
                self._executor = None
