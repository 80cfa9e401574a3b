"""How does a coroutine run without a task?
It is run until it suspends, and again whenever the future it awaits is done.

On the embedded store an operation rarely suspends. A suspended operation yields None (to continue in a later turn of
the loop) or a future (to continue when that is done). A `Driver` then continues it, still without a task, so
`asyncio.current_task()` is None inside operations and they must not use `asyncio.timeout`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from greenlet import GreenletExit

from hashrange.errors import Abandoned
from hashrange.service.workers import Abandonable, Workers

T = TypeVar("T")
WhenEnded = Callable[[Any, BaseException | None], None]
"""Called as ended(result, None) or ended(None, error)."""


class Driver(msgspec.Struct, eq=False):
    """Continues a coroutine, by `wait` or `step`, as often as it suspends; when it ends, calls `ended` exactly once."""

    coroutine: Coroutine[Any, Any, Any]
    ended: WhenEnded
    workers: Workers
    call: Abandonable | None = None
    """Once the client of this call has left, and if it changes nothing, Abandoned is raised where the coroutine
    suspends or gives way."""

    def wait(self, waits_for: object) -> None:
        """Schedule `step`: in a later turn if `waits_for` is None, or once the future `waits_for` is done.

        `waits_for`: what the coroutine has yielded; None also if it has not begun.
        """
        if waits_for is None:
            self.workers.suspended[self.resume] = None, self.call
            self.workers.run_later(self.step)
            return
        assert asyncio.isfuture(waits_for), f"an operation yielded {waits_for!r}"
        waits_for._asyncio_future_blocking = False  # noqa: SLF001 - a task does the same with a yielded future
        self.workers.suspended[self.resume] = waits_for, self.call
        waits_for.add_done_callback(self.resume)

    def resume(self, _future: object) -> None:
        """The future is done: call `step`, in a later turn if this turn's slice is over, as many futures may be done in
        one turn. The coroutine gets result or error from the future itself.
        """
        self.workers.run_in_turn(self.step)

    def step(self) -> None:
        """Run the coroutine until it suspends or ends; call `ended` if it ends."""
        call, workers = self.call, self.workers
        outer = workers.running  # that of the operation which has begun this one in the same turn, if any
        try:
            workers.running = call or outer
            try:
                if call is not None and call.is_abandoned:
                    waits_for = self.coroutine.throw(Abandoned())
                else:
                    waits_for = self.coroutine.send(None)
            finally:
                workers.running = outer
        except StopIteration as stop:
            workers.suspended.pop(self.resume, None)
            self.ended(stop.value, None)
        except GreenletExit:
            raise  # the worker ends with its server
        except BaseException as error:  # noqa: BLE001 - the service decides what each error means
            workers.suspended.pop(self.resume, None)
            self.ended(None, _from_below(error))
        else:
            self.wait(waits_for)


def _from_below(error: BaseException) -> BaseException:
    """The error, whose traceback begins below the frame that has caught it. That frame leads to the future which gets
    the error, so the traceback would keep both, and all that the operation held, in a cycle.
    """
    assert error.__traceback__ is not None
    return error.with_traceback(error.__traceback__.tb_next)


def in_turns(coroutine: Coroutine[Any, Any, T], workers: Workers, *, begins_now: bool = False) -> "asyncio.Future[T]":
    """Run a coroutine like an operation, in later turns, so that long work gives way. Returns a future of its result.

    `begins_now`: begin in this turn; what neither suspends nor gives way has ended when this returns.
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

    driver = Driver(coroutine, ended, workers)
    if begins_now:
        workers.run(driver.step)
    else:
        driver.wait(None)
    return future
