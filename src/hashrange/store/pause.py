"""How does a coroutine hand the event loop back, and after how much work? By one bare yield; after more of it while nobody else is there.

The server drives an operation's coroutine once, without a task, and usually has the answer. A coroutine that must
suspend yields None first: whoever drives it by hand then wraps it into a task, in which any awaitable may follow.
"""

from collections.abc import Callable, Generator
from threading import Event

FIRST_SLICE = 128
"""Rows or spans before a read hands the loop back at all, which is where most reads end: 30 µs for rows that are only read."""
SLICE_MIN = 24
"""Between two hand-backs while others have work for the loop; 10 µs for rows that are only read."""
QUIET_PAUSE_SECONDS = 0.00003
"""A hand-back that took no longer has served nobody."""


class Pause:
    """`await PAUSE` lets everything else that is ready run once."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        """Yield None once."""
        yield


PAUSE = Pause()


async def hand_back(monotonic: Callable[[], float], length: int, longest: int) -> int:
    """Let everything else run that is ready, behind a slice of so many rows or spans; returns how many the next slice may have.

    Twice as many, up to `longest`, when there was nobody; few when somebody had something to do.
    """
    paused_at_seconds = monotonic()
    await PAUSE
    is_quiet = monotonic() - paused_at_seconds <= QUIET_PAUSE_SECONDS
    return min(2 * length, longest) if is_quiet else SLICE_MIN


def wait_here(seconds: float) -> None:
    """Let nothing run meanwhile: only for what stands before anybody is served."""
    Event().wait(seconds)
