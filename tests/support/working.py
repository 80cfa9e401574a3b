"""Operations run as the server runs them, in a worker that gives way at every look; the test has its turn in between."""

import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FrameType
from typing import Any

from hashrange.clock import VirtualClock
from hashrange.errors import ApiError
from hashrange.items import steps
from hashrange.service.workers import Workers


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


def give_way_always(coroutine: Coroutine[Any, Any, Any], between: Callable[[], None] = lambda: None) -> tuple[int, Any]:
    """Run an operation to its end; returns how often it gave way, and its reply. `between` runs each time. Raises what it raises."""
    turns = Turns()
    before = steps._look, steps._queue
    workers = Workers(HurriedClock())
    loop: Any = turns
    workers.take_turns(loop)
    ends: list[Any] = []

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


def lines_between_looks(work: Callable[[], object]) -> int:
    """Do the work; returns how many lines of Python ran at most without a look in between, each turn of a loop one at least.

    A refusal is an end like any other.
    """
    lines = most_lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines, most_lines
        if event == "line":
            lines += 1
            most_lines = max(most_lines, lines)
        return count

    def look() -> None:
        nonlocal lines
        lines = 0

    before, before_trace = steps._look, sys.gettrace()
    steps._look = look
    sys.settrace(count)
    try:
        with suppress(ApiError):
            work()
    finally:
        sys.settrace(before_trace)
        steps._look = before
    return most_lines
