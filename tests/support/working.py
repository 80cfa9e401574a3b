"""Runs operations as the server does, in a worker that gives way at every look; the test runs in between."""

import gc
import sys
from _lsprof import Profiler
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FrameType
from typing import Any

from hashrange.errors import ApiError
from hashrange.items import steps
from hashrange.service.workers import Workers
from tests.support.clocks import VirtualClock


class Turns:
    """A loop that runs its `call_soon` callbacks only when the test calls `turn`."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Queue a callback, as a loop does."""
        self.due.append(callback)

    def turn(self) -> None:
        """Run the queued callbacks."""
        due, self.due = self.due, []
        for callback in due:
            callback()


STEP_SECONDS = 2e-6
"""Seconds that a step takes on a `SteppingClock`, more than on a slow machine."""


class SteppingClock(VirtualClock):
    """A clock that moves at every reading by the time of LOOK_STEPS steps."""

    def monotonic(self) -> float:
        """Seconds, later than at the last reading."""
        self.advance_all(steps.LOOK_STEPS * STEP_SECONDS)
        return super().monotonic()


class HurriedClock(VirtualClock):
    """A clock that moves by a second at every reading, so that every slice of time is over."""

    def monotonic(self) -> float:
        """Seconds, one more than at the last reading."""
        self.advance_all(1.0)
        return super().monotonic()


def give_way_always(coroutine: Coroutine[Any, Any, Any], between: Callable[[], None] = lambda: None) -> tuple[int, Any]:
    """Run an operation to its end; return how often it gave way, and its reply; raises its errors.

    `between` runs each time that it gives way.
    """
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
    """Do the work; return the highest number of Python lines run between two looks; each pass of a loop counts as a
    line or more.

    A refusal counts as a normal end.
    """
    lines = most_lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
        return count

    def look() -> None:
        nonlocal lines, most_lines
        most_lines, lines = max(most_lines, lines), 0

    before, before_trace = steps._look, sys.gettrace()
    steps._look = look
    sys.settrace(count)
    try:
        with suppress(ApiError):
            work()
    finally:
        sys.settrace(before_trace)
        steps._look = before
    return max(most_lines, lines)


def lines_of(work: Callable[[], object]) -> int:
    """Do the work; return how many lines of Hashrange it has run; each pass of a loop counts as a line or more."""
    lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    def begin(frame: FrameType, _event: str, _argument: object) -> Any:
        return count if frame.f_globals.get("__name__", "").startswith("hashrange.") else None

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def blocks_between_looks(work: Callable[[], object]) -> int:
    """Do the work; return the highest number of blocks of memory that were allocated or freed between two looks.
    What the work returns is freed in the last step. The garbage collector rests: it would free what earlier tests left.

    A refusal counts as a normal end.
    """
    gc.collect()
    gc.disable()
    most_blocks, blocks = 0, sys.getallocatedblocks()

    def look() -> None:
        nonlocal most_blocks, blocks
        before, blocks = blocks, sys.getallocatedblocks()
        most_blocks = max(most_blocks, abs(blocks - before))

    before_look, steps._look = steps._look, look
    try:
        with suppress(ApiError):
            work()
        look()
    finally:
        steps._look = before_look
        gc.enable()
    return most_blocks


def calls_of(run: Callable[..., object], *arguments: Any) -> int:
    """Run; return how many Python functions were called; a generator that goes on counts as called.

    The interpreter's own profiler counts: a function in Python would take longer than most calls.
    """
    profiler = Profiler(subcalls=False, builtins=False)
    profiler.enable()
    try:
        run(*arguments)
    finally:
        profiler.disable()
    return sum(entry.callcount for entry in profiler.getstats())
