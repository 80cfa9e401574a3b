"""What is a job? Background work without a request, done in small slices between requests.

A slice holds the event loop for a few milliseconds at most. It returns the seconds until the next slice, so a job can
be driven by a `Runner`, or by hand in a test.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, NamedTuple, Protocol

from hashrange.clock import Clock
from hashrange.errors import HashrangeError

AT_ONCE = 0.0
"""Result of a slice after which there is more to do at once."""
LATER = -1.0
"""As AT_ONCE, if all is done that there was to do when the slice began: an advance of service time does not wait for
the rest."""


ELSEWHERE = inf
"""As None, while others, such as another service, do work for the job and will wake it. Whoever moves service time lets
the job run a slice, which waits for them for as long as is reasonable, and then returns something else."""


class NeverRests(HashrangeError):
    """Raised by a slice while service time is moved: the job's work makes more work without end.
    The text names the reason.
    """


class Job(Protocol):
    """One kind of background work. A job needs no memory of earlier slices: it finds unfinished work again.

    Whoever makes work for a job that rests, or work that is due earlier than what the job waits for,
    has the job woken (`Runner.wake`).
    """

    @property
    def name(self) -> str:
        """The job's name in the log."""

    @property
    def waits_for_service_time(self) -> bool:
        """True if `run_slice` returns seconds of service time, which may be virtual; otherwise of real time."""

    async def run_slice(self) -> float | None:
        """Do the next slice; returns AT_ONCE, LATER, the seconds until the next slice, or None or ELSEWHERE to run only
        when woken.

        Raises StorageError when the store fails. May raise NeverRests while `Runner.is_in_order()`.
        """


class SlicedJob(NamedTuple):
    """A job as a record."""

    name: str
    run_slice: Callable[[], Coroutine[Any, Any, float | None]]
    waits_for_service_time: bool = True


@contextmanager
def called_when_due(clock: Clock, seconds: float | None, callback: Callable[[], None]) -> Iterator[None]:
    """For a slice that waits: within the context, `callback` is called once these seconds of service time have passed
    (None: never), and whenever service time is moved.
    """
    timer: asyncio.TimerHandle | None = None
    if seconds is not None and not clock.is_virtual:
        timer = asyncio.get_running_loop().call_later(seconds, callback)
    stop_listening = clock.on_advance(callback)
    try:
        yield
    finally:
        stop_listening()
        if timer is not None:
            timer.cancel()
