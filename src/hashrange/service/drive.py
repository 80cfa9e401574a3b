"""How does a coroutine run without a task? It is stepped at once, and again whenever what it waits for is done.

On the embedded store an operation rarely suspends: its first step is its last. A suspended operation yields None (to
continue in a later turn of the loop) or a future (to continue when that is done). A `Driver` then continues it, still
without a task, so `asyncio.current_task()` is None inside operations and they must not use `asyncio.timeout`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hashrange.errors import Abandoned
from hashrange.service.workers import Abandonable, Workers

T = TypeVar("T")
WhenEnded = Callable[[Any, BaseException | None], None]
"""Called as ended(result, None) or ended(None, error)."""


class Driver:
    """Steps a coroutine that has suspended, until it ends; then calls `ended` exactly once."""

    __slots__ = ("call", "coroutine", "ended", "workers")

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        waits_for: object,
        ended: WhenEnded,
        workers: Workers,
        call: Abandonable | None = None,
    ) -> None:
        """`call`, if given, ends with Abandoned where it suspends or gives way and has become needless."""
        self.call = call
        self.coroutine = coroutine
        self.ended = ended
        self.workers = workers
        self.wait(waits_for)

    def wait(self, waits_for: object) -> None:
        """Schedule the next step: in a later turn if `waits_for` is None, or when that future is done."""
        if waits_for is None:
            self.workers.run_later(self.step)
            return
        assert asyncio.isfuture(waits_for), f"an operation yielded {waits_for!r}"
        waits_for._asyncio_future_blocking = False  # noqa: SLF001 - a task does the same with a yielded future
        waits_for.add_done_callback(self.resume)

    def resume(self, _future: object) -> None:
        """The future is done: take the next step. The coroutine gets its result or error from the future itself."""
        self.workers.run(self.step)

    def step(self) -> None:
        """Run until the coroutine suspends or ends; call `ended` if it ends."""
        call, workers = self.call, self.workers
        try:
            workers.running = call
            try:
                if call is not None and call.is_needless:
                    waits_for = self.coroutine.throw(Abandoned())
                else:
                    waits_for = self.coroutine.send(None)
            finally:
                workers.running = None
        except StopIteration as stop:
            self.ended(stop.value, None)
        except BaseException as error:  # noqa: BLE001 - the service decides what each error means
            self.ended(None, error)
        else:
            self.wait(waits_for)


def in_turns(coroutine: Coroutine[Any, Any, T], workers: Workers) -> "asyncio.Future[T]":
    """Run a coroutine like an operation, in later turns, so that long work gives way. Returns a future of its result.

    Cancelling the future does not stop the coroutine.
    """
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def ended(result: T, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    Driver(coroutine, None, ended, workers)
    return future
