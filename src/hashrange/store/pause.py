"""How does a coroutine hand the event loop back, and after how much work? By `await PAUSE`;
after longer slices while no other work waits.

The server steps an operation's coroutine once, without a task, and usually has the reply. A coroutine that must suspend
yields None (continue in a later turn) or a future (continue when it is done); `service/drive.py` steps it again, still
without a task: awaitables that need a current task, such as `asyncio.timeout`, do not work.
"""

from collections.abc import Callable, Generator
from threading import Event

FIRST_SLICE = 128
"""Rows or spans of a read before it first hands the loop back: 30 µs if no row is decoded. Most reads end earlier."""
SLICE_MIN = 24
"""Rows or spans between two hand-backs while other work waits for the loop: 10 µs if no row is decoded."""
QUIET_PAUSE_SECONDS = 0.00003
"""A hand-back that took no longer than this counts as one in which nothing else ran."""


class Pause:
    """`await PAUSE` lets other work that is ready run once."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        """Yield None once."""
        yield


PAUSE = Pause()


async def hand_back(monotonic: Callable[[], float], length: int, longest: int) -> int:
    """Let other work run after a slice of `length` rows or spans; return the length of the next slice.

    The next slice is twice as long, at most `longest`, if no other work was ready; else SLICE_MIN.
    """
    paused_at_seconds = monotonic()
    await PAUSE
    is_quiet = monotonic() - paused_at_seconds <= QUIET_PAUSE_SECONDS
    return min(2 * length, longest) if is_quiet else SLICE_MIN


def block_thread(seconds: float) -> None:
    """Block the calling thread, even that of the event loop. Only for use while a store opens and serves no request."""
    Event().wait(seconds)
