"""How does a coroutine hand the event loop back? By one bare yield.

The server drives an operation's coroutine once, without a task, and usually has the answer. A coroutine that must
suspend yields None first: whoever drives it by hand then wraps it into a task, in which any awaitable may follow.
"""

from collections.abc import Generator
from threading import Event


class Pause:
    """`await PAUSE` lets everything else that is ready run once."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        """Yield None once."""
        yield


PAUSE = Pause()


def wait_here(seconds: float) -> None:
    """Let nothing run meanwhile: only for what stands before anybody is served."""
    Event().wait(seconds)
