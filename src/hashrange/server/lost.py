"""When is done what follows from the end of a connection? Soon, for a few connections in each turn of the loop.

One client may have thousands of connections. If it is killed, the loop reports all of them as lost in one turn. What
each of them holds (its parser, the memory counted for it, its request in work) takes ten times as long to release as
the report itself takes. So the report only notes the connection here.
"""

from collections import deque
from collections.abc import Callable

TOGETHER_MAX = 64
"""Connections in one turn of the loop. Some are closed, for which kernel and loop take 25 µs in the next turn."""
SLICE_SECONDS_MAX = 0.002
"""Time for lost connections in one turn of the loop; further ones wait for the next turn."""


class Lost:
    """Connections that are lost, and still hold something."""

    __slots__ = ("_call_soon", "_is_due", "_left", "_monotonic")

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Until `take_turns` is called, connections are released at once."""
        self._monotonic = monotonic
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._left: deque[Callable[[], None]] = deque()
        """What releases each, in the order in which they were lost."""
        self._is_due = False

    def __len__(self) -> int:
        return len(self._left)

    def take_turns(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """From now on, release connections in later turns of the event loop; `call_soon` is the loop's."""
        self._call_soon = call_soon

    def add(self, release: Callable[[], None]) -> None:
        """Add a connection that is lost. `release`: releases what it holds, or closes it, and is called once."""
        if self._call_soon is None:
            release()
            return
        self._left.append(release)
        if not self._is_due:
            self._is_due = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        """Release up to `TOGETHER_MAX` connections for `SLICE_SECONDS_MAX`, at least one."""
        left = self._left
        ends_seconds = self._monotonic() + SLICE_SECONDS_MAX
        try:
            for _ in range(min(TOGETHER_MAX, len(left))):
                left.popleft()()
                if self._monotonic() >= ends_seconds:
                    break
        finally:
            self._is_due = bool(left)
            if left:
                assert self._call_soon is not None
                self._call_soon(self._turn)
