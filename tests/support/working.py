"""Operations run as the server runs them, in a worker that gives way at every look; the test has its turn in between."""

from collections.abc import Callable, Coroutine
from typing import Any

from hashrange import steps
from hashrange.clock import VirtualClock
from hashrange.server.workers import Workers


class Turns:
    """A loop that runs what was called soon when the test says so."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        """As a loop does."""
        self.due.append(callback)

    def turn(self) -> None:
        """One turn."""
        due, self.due = self.due, []
        for callback in due:
            callback()


class HurriedClock(VirtualClock):
    """Whoever looks at it finds that a second has passed, so that every slice of time is over."""

    def monotonic(self) -> float:
        """A second more than the last time."""
        self.advance_all(1.0)
        return super().monotonic()


def give_way_always(
    coroutine: Coroutine[Any, Any, bytes], between: Callable[[], None] = lambda: None
) -> tuple[int, bytes]:
    """Run an operation to its end; returns how often it gave way, and its reply. `between` runs each time. Raises what it raises."""
    turns = Turns()
    before = steps._look, steps._queue
    workers = Workers(HurriedClock())
    loop: Any = turns
    workers.take_turns(loop)
    ends: list[BaseException | bytes] = []

    def step() -> None:
        try:
            assert coroutine.send(None) is None
        except StopIteration as stop:
            ends.append(stop.value)
        except BaseException as error:
            ends.append(error)
        else:
            workers.run_later(step)

    count = 0
    try:
        workers.run(step)
        while not ends:
            count += 1
            between()
            turns.turn()
    finally:
        steps._look, steps._queue = before
    (end,) = ends
    if isinstance(end, BaseException):
        raise end
    return count, end
