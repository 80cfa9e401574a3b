"""What time is it? These clocks are the only readers of time in Hashrange, apart from the event loop's own clock.

Each clock has three readings, which must not be mixed: service time (the database's own: TTL, states, created-at; may
be virtual), wall time (HTTP Date, signature skew, access log) and monotonic time (time-outs). A machine's clock may be
set back, but service time never goes back, and on a machine it never stands still. So a table that was ACTIVE stays so,
and no delay takes longer than its length. A movable clock is a machine's clock whose service time can be moved ahead
while it runs, and frozen; when its store's content is replaced, it may go back too (`go_to`). Code that waits for
service time registers with `on_advance`.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol


class Clock(Protocol):
    """A source of three readings of time, in seconds."""

    def service_time(self) -> float:
        """The database's own time, in seconds since the epoch; never goes back, except by `MovableClock.go_to`."""

    @property
    def last_service_seconds(self) -> float:
        """A service time that has been reached; all times up to it are past. Cheaper than `service_time`."""

    def wall_time(self) -> float:
        """The outside world's time, in seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""

    @property
    def is_virtual(self) -> bool:
        """True if service time stands still until it is moved, whatever real time passes."""

    def on_advance(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each call that advances service time, until the returned function is called."""


def callers_time() -> float:
    """Wall time as the code of this process sees it: libraries that freeze time for tests replace `time.time`."""
    return time.time()


def real_seconds() -> float:
    """Real time from an arbitrary start, whatever a clock shows: to report how long something outside took."""
    return time.perf_counter()


class SystemClock:
    """The machine's own clock."""

    is_virtual = False
    last_service_seconds = float("-inf")
    """The last result of `service_time`."""
    _ahead_seconds = float("-inf")
    """Service time minus monotonic time: the greatest difference of wall time and monotonic time seen so far."""

    def service_time(self) -> float:
        """Wall time; once the machine's clock has been set back, the time that it would otherwise show."""
        ahead_seconds = self.wall_time() - (monotonic := self.monotonic())
        if ahead_seconds > self._ahead_seconds:  # noqa: PLR1730 - `max` takes as long as all the rest
            self._ahead_seconds = ahead_seconds
        self.last_service_seconds = now_seconds = monotonic + self._ahead_seconds
        return now_seconds

    wall_time = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    def on_advance(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Never call `callback`: a machine's time cannot be moved."""
        return lambda: None


class _Listeners:
    """The callbacks to call after each advance of a clock, on the thread that advances the clock."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each advance, until the returned function is called, which must happen at most once."""
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)

    def call_all(self) -> None:
        """Call all callbacks, in the order in which they were added."""
        for callback in tuple(self.callbacks):
            callback()


class ServiceTimeState(NamedTuple):
    """How the service time of a `MovableClock` differs from the machine's."""

    moved_seconds: float = 0.0
    """Seconds added to the machine's service time, or to `frozen_seconds`: advances, minus time spent frozen before."""
    frozen_seconds: float | None = None
    """The machine's service time at which service time was frozen; None while it runs."""


class MovableClock:
    """A machine's clock whose service time can be moved ahead and frozen; its other readings stay the machine's."""

    last_service_seconds = float("-inf")
    """The last result of `service_time`."""

    def __init__(self, machine: SystemClock, state: ServiceTimeState = ServiceTimeState()) -> None:  # noqa: B008
        """`state`: how service time differs from the machine's at first, such as that of another clock."""
        self._machine = machine
        self._moved_seconds, self._frozen_seconds = state
        self.returns = 0
        """Number of calls of `go_to`."""
        self._listeners = _Listeners()
        self.wall_time, self.monotonic = machine.wall_time, machine.monotonic
        self.on_advance = self._listeners.add

    @property
    def is_virtual(self) -> bool:
        """True while service time is frozen."""
        return self._frozen_seconds is not None

    def service_time(self) -> float:
        """The machine's service time, or that at which this clock was frozen, plus `ServiceTimeState.moved_seconds`."""
        self.last_service_seconds = now_seconds = self._base_seconds() + self._moved_seconds
        return now_seconds

    def _base_seconds(self) -> float:
        return self._machine.service_time() if self._frozen_seconds is None else self._frozen_seconds

    def freeze(self) -> None:
        """Let service time stand still until `resume`, except for advances."""
        if self._frozen_seconds is None:
            self._frozen_seconds = self._machine.service_time()
            self._listeners.call_all()

    def resume(self) -> None:
        """Let service time run again, from the present reading on."""
        if self._frozen_seconds is not None:
            self._moved_seconds += self._frozen_seconds - self._machine.service_time()
            self._frozen_seconds = None
            self._listeners.call_all()

    @property
    def state(self) -> ServiceTimeState:
        """How service time now differs from the machine's, and whether it is frozen; `go_to` returns to this state."""
        return ServiceTimeState(self._moved_seconds, self._frozen_seconds)

    def go_to(self, state: ServiceTimeState) -> None:
        """Take on another `state`, even if service time goes back: for a store whose content is replaced with it."""
        self._moved_seconds, self._frozen_seconds = state
        self.last_service_seconds = float("-inf")
        self.returns += 1
        self._listeners.call_all()

    def advance(self, seconds: float) -> None:
        """Move service time ahead and call the listeners. To wait for the jobs too: `jobs.virtual_time.advance`."""
        assert seconds >= 0
        self._moved_seconds += seconds
        self._listeners.call_all()

    def advance_to(self, moment_seconds: float) -> None:
        """Move service time ahead to a moment, unless it has been reached, and call the listeners.

        If service time is frozen, it is then the moment itself, or the next greater float. If it runs, it goes on from
        there.
        """
        base_seconds = self._base_seconds()
        if base_seconds + self._moved_seconds < moment_seconds:
            self._moved_seconds = moment_seconds - base_seconds
            while base_seconds + self._moved_seconds < moment_seconds:
                self._moved_seconds = math.nextafter(self._moved_seconds, math.inf)
        self._listeners.call_all()
