"""How does a request run on its client's own thread? The thread borrows the database's event loop while
that waits for something to do.

A request that changes threads takes some 60 µs more. A lock is held by the loop's own thread, except while it waits in
its selector; a borrower holds it meanwhile, so callbacks never run on two threads at a time.
Why: docs/adr/0041-lending-loop.md.
"""

import asyncio
from asyncio.events import _get_running_loop, _set_running_loop
from collections.abc import Callable
from contextvars import Context
from selectors import DefaultSelector
from threading import RLock
from typing import Any


class LendingLoop(asyncio.SelectorEventLoop):
    """An event loop that other threads may borrow. Only the thread that runs the loop may create it."""

    def __init__(self) -> None:
        self._lock: Any = RLock()
        self._lock.acquire()
        self._is_touched = False
        """True if a callback was scheduled since the loop was last lent."""
        super().__init__(_LendingSelector(self._lock))

    def lend(self, function: Callable[..., object], *arguments: Any) -> bool:
        """Call `function` on this thread, as if on the loop's; False (not called) unless the loop is waiting.

        `function` must not take long: the loop waits for its end. A signal handler may raise anywhere in here,
        as Ctrl-C and the time-outs of pytest do; the loop is given back all the same.
        """
        lock, own_loop = self._lock, _get_running_loop()
        try:
            if self.get_debug() or not lock.acquire(blocking=False):
                return False  # in debug mode, asyncio refuses to schedule callbacks on other threads
            self._is_touched = False
            _set_running_loop(self)
            function(*arguments)
            _set_running_loop(own_loop)
            if self._is_touched:
                self._wake()
            lock.release()
            return True
        except BaseException:
            if lock._is_owned():  # noqa: SLF001 - `threading.Condition` uses it too; there is no public way
                _set_running_loop(own_loop)
                self._wake()
                lock.release()
            raise

    def _wake(self) -> None:
        """Let the loop end its wait and look at what was scheduled."""
        self.call_soon_threadsafe(int)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """The same as the base class's method."""
        self._is_touched = True
        return super().call_soon(callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """The same as the base class's method."""
        self._is_touched = True
        return super().call_at(when, callback, *args, context=context)


class _LendingSelector(DefaultSelector):
    """A selector that releases a lock while it waits."""

    def __init__(self, lock: Any) -> None:
        super().__init__()
        self._lock = lock

    def select(self, timeout: float | None = None) -> Any:
        """Wait for events."""
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        self._lock.release()
        try:
            return super().select(timeout)
        finally:
            self._lock.acquire()
