"""How much memory does an execution environment use, and is it more than its function has?
The memory is looked at every 50 ms.

A look at a few threads and processes takes 0.1 ms of the event loop. A handler may have thousands of threads,
or hundreds of children that share memory, so that a look takes up to 0.3 s: it is done on a thread,
one after the other for all functions.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from hashrange.clock import real_seconds
from hashrange.functions.process import Process
from hashrange.functions.process_tree import memory_used_at_once, memory_used_bytes
from hashrange.work_threads import WorkThread

_MB_BYTES = 1024 * 1024
_LOOK_SECONDS, _PAUSE_SECONDS = 0.05, 0.02
"""Time between two looks at the memory during an invocation, and least time between looks after invocations."""
_REST_OF_LONG_LOOKS = 4
"""After a look on the thread, the next one waits for this many times as long as it took:
looks take at most a fifth of a core."""

_LOOKING = WorkThread("hashrange-memory")


class MemoryWatch:
    """Looks at the memory of one environment."""

    def __init__(self, memory_mb: int) -> None:
        self.process: Process | None = None
        """Set once it has started."""
        self.used_bytes = 0
        """The most memory seen in use."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the environment has used more memory than the function has."""
        self._most_bytes = memory_mb * _MB_BYTES
        self._next_look: asyncio.TimerHandle | asyncio.Task[None]
        """The timer of the next look, or the look on the thread."""
        self._due_seconds = 0.0
        """Real time before which `see` does not look again."""

    def forget_time(self) -> None:
        """Let `see` look, however short a time has passed."""
        self._due_seconds = 0.0

    def see(self) -> None:
        """Note the memory in use now, unless it was noted just before; of many processes only that of the first one."""
        if real_seconds() >= self._due_seconds:
            self._look_at_once()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Meanwhile the memory is looked at, and `over` becomes done if need be."""
        self.over = asyncio.get_running_loop().create_future()
        self._look_after(_LOOK_SECONDS)
        try:
            yield
        finally:
            self._next_look.cancel()

    def _look_after(self, seconds: float) -> None:
        self._next_look = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        if self._look_at_once():
            self._end_look(_LOOK_SECONDS)
        else:
            self._next_look = asyncio.ensure_future(self._look_on_thread())

    def _end_look(self, pause_seconds: float) -> None:
        if self.used_bytes > self._most_bytes:
            self.over.set_result(None)
        else:
            self._look_after(pause_seconds)

    def _look_at_once(self) -> bool:
        """Note the memory in use, as far as that is quickly done; False if more is to be looked at."""
        if self.process is None or self.process.exited.done():
            return True
        self._due_seconds = real_seconds() + _PAUSE_SECONDS
        used_bytes, is_whole = memory_used_at_once(self.process.pid, self._most_bytes)
        self.used_bytes = max(self.used_bytes, used_bytes)
        return is_whole

    async def _look_on_thread(self) -> None:
        assert self.process is not None
        began_seconds = real_seconds()
        used_bytes = await _LOOKING.run(memory_used_bytes, self.process.pid, self._most_bytes, self.process.mark)
        if not self.process.exited.done():  # else its id may be another's
            self.used_bytes = max(self.used_bytes, used_bytes)
        self._end_look(max(_LOOK_SECONDS, _REST_OF_LONG_LOOKS * (real_seconds() - began_seconds)))
