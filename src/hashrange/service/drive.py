"""How does a coroutine run without a task? Stepped once at once; if it waits for something, stepped again when that is done.

On the embedded store an operation rarely suspends, and its first step is its last. One that does suspend yields None
("go on in a later turn of the loop") or a future ("go on when it is done"): then a `Driver` goes on, still without a task, so
`asyncio.current_task()` is None inside operations and they must not use `asyncio.timeout`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hashrange.service.workers import Workers

T = TypeVar("T")
WhenEnded = Callable[[Any, BaseException | None], None]
"""ended(result, None) or ended(None, error)."""


class Driver:
    """Steps a coroutine that has suspended, until it ends; then calls `ended` exactly once."""

    __slots__ = ("coroutine", "ended", "workers")

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], waits_for: object, ended: WhenEnded, workers: Workers
    ) -> None:
        self.coroutine = coroutine
        self.ended = ended
        self.workers = workers
        self.wait(waits_for)

    def wait(self, waits_for: object) -> None:
        """Arrange the next step."""
        if waits_for is None:
            self.workers.run_later(self.step)
            return
        assert asyncio.isfuture(waits_for), f"an operation yielded {waits_for!r}"
        waits_for._asyncio_future_blocking = False  # noqa: SLF001 - what a task does with a future that it is given
        waits_for.add_done_callback(self.resume)

    def resume(self, _future: object) -> None:
        """What was waited for is done; its result or error reaches the coroutine through the future itself."""
        self.workers.run(self.step)

    def step(self) -> None:
        """One step."""
        try:
            waits_for = self.coroutine.send(None)
        except StopIteration as stop:
            self.ended(stop.value, None)
        except BaseException as error:  # noqa: BLE001 - the service decides what each error means
            self.ended(None, error)
        else:
            self.wait(waits_for)


def in_turns(coroutine: Coroutine[Any, Any, T], workers: Workers) -> "asyncio.Future[T]":
    """Run it as operations are run, so that its long work gives way to them; done when it has ended. Nobody waits once that is cancelled."""
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
