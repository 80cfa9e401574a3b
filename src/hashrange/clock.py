"""What time is it? The only reader of time in Hashrange.

Three readings, never confused: service time (what the database believes: TTL, states, created-at; may be virtual),
wall time (HTTP Date, signature skew, access log) and monotonic time (time-outs). A machine's clock may be set back; service time
never goes back, and on a machine never stands still, so what has once been, a table that was ACTIVE, stays so, and no delay lasts
longer than it is long. A virtual clock moves service time alone (`advance`), for states, tokens, retention and delays, or all
three readings (`advance_all`), for time-outs and signatures too. A movable clock is a machine's clock whose service time can be moved ahead
while it runs. The clock knows nobody who waits: whoever does asks to be told.
"""

import time
from collections.abc import Callable
from typing import Protocol

VIRTUAL_START_SECONDS = 1_800_000_000.0
VIRTUAL_MONOTONIC_START_SECONDS = 1000.0
"""Another number than the other readings', so that one is not taken for another."""


class Clock(Protocol):
    """Three readings of time, all in seconds."""

    def service_time(self) -> float:
        """Seconds since the epoch, as the database believes; never fewer than before."""
        ...

    @property
    def seen_seconds(self) -> float:
        """A service time that has been: what is not after it lies in the past. Costs less than to ask for the time."""
        ...

    def wall_time(self) -> float:
        """Seconds since the epoch, as the outside world believes."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    @property
    def is_virtual(self) -> bool:
        """True when service time stands still until somebody moves it: then real seconds say nothing of it."""
        ...

    def on_advance(self, callback: Callable[[], None]) -> Callable[[], None]:
        """From now on, call `callback` after service time was moved; what is returned ends that."""
        ...


class SystemClock:
    """The machine's own clock."""

    is_virtual = False
    seen_seconds = float("-inf")
    """What `service_time` told last."""
    _ahead_seconds = float("-inf")
    """Service time minus monotonic time: the most that wall time has been ahead of monotonic time."""

    def service_time(self) -> float:
        """Wall time, or, once that has been set back, what it would be otherwise: until the process ends."""
        ahead_seconds = self.wall_time() - (monotonic := self.monotonic())
        self._ahead_seconds = max(self._ahead_seconds, ahead_seconds)
        self.seen_seconds = now_seconds = monotonic + self._ahead_seconds
        return now_seconds

    wall_time = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    def on_advance(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Nobody moves a machine's time, so `callback` is never called."""
        return lambda: None


class _Listeners:
    """Whoever wants to be told of each advance, on the thread of whoever advances."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """From now on, call `callback` after each advance; what is returned ends that, and is called once."""
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)

    def tell(self) -> None:
        """Time was moved."""
        for callback in tuple(self.callbacks):
            callback()


class MovableClock:
    """A machine's clock whose service time can be moved ahead while it runs. Wall time and monotonic time stay the machine's."""

    is_virtual = False
    seen_seconds = float("-inf")
    """What `service_time` told last."""

    def __init__(self, machine: SystemClock) -> None:
        self._machine = machine
        self._moved_seconds = 0.0
        """All advances together."""
        self._listeners = _Listeners()
        self.wall_time, self.monotonic = machine.wall_time, machine.monotonic
        self.on_advance = self._listeners.add

    def service_time(self) -> float:
        """The machine's service time and all advances."""
        self.seen_seconds = now_seconds = self._machine.service_time() + self._moved_seconds
        return now_seconds

    def advance(self, seconds: float) -> None:
        """Move service time ahead, and tell whoever wants to know. To wait for the jobs: `jobs.virtual_time.advance`."""
        assert seconds >= 0
        self._moved_seconds += seconds
        self._listeners.tell()


class VirtualClock:
    """A clock that moves only when told, on the thread of whoever asked to be told of it: tests never sleep.

    A moment plus a delay is reached by advancing by that delay. Parts of the delay may add up to some 0.1 µs less or more.
    """

    is_virtual = True

    def __init__(self, start_seconds: float = VIRTUAL_START_SECONDS) -> None:
        """`start_seconds`, since the epoch, of service time and wall time."""
        self._service_seconds = self._wall_seconds = start_seconds
        self._monotonic_seconds = VIRTUAL_MONOTONIC_START_SECONDS
        self._listeners = _Listeners()
        self.on_advance = self._listeners.add

    def advance(self, seconds: float) -> None:
        """Move service time forward, and tell whoever wants to know. To wait for the jobs: `jobs.virtual_time.advance`."""
        self._move(seconds, 0.0)

    def advance_all(self, seconds: float) -> None:
        """Move all three readings forward, and tell whoever wants to know."""
        self._move(seconds, seconds)

    def _move(self, service_seconds: float, other_seconds: float) -> None:
        assert service_seconds >= 0
        self._service_seconds += service_seconds
        self._wall_seconds += other_seconds
        self._monotonic_seconds += other_seconds
        self._listeners.tell()

    def service_time(self) -> float:
        """Virtual seconds since the epoch."""
        return self._service_seconds

    @property
    def seen_seconds(self) -> float:
        """The virtual service time: it has been reached, whether or not anybody has asked."""
        return self._service_seconds

    def wall_time(self) -> float:
        """Virtual seconds since the epoch."""
        return self._wall_seconds

    def monotonic(self) -> float:
        """Virtual seconds."""
        return self._monotonic_seconds
