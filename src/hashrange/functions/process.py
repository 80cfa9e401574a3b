"""How is a function's process started, read and ended? In a session of its own, with one pipe for its output.

Standard output and error are one pipe, so that their lines keep their order;
the service does not tell them apart either.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from hashrange.functions.marks import Mark
from hashrange.functions.process_tree import kill_group, kill_marked
from hashrange.functions.spawning import spawn

_FLOOD_BYTES = 512 * 1024
"""If a process writes this much within _FLOOD_PAUSE_SECONDS, the rest is read after that time:
endless output costs little."""
_FLOOD_PAUSE_SECONDS = 0.005
_END_SECONDS_MAX = 5.0
"""A killed process ends at once, except while the kernel waits for a device."""


class Process(asyncio.SubprocessProtocol):
    """A function's process. `on_output` receives all that it and its children write."""

    def __init__(self, on_output: Callable[[bytes], None], mark: Mark) -> None:
        self.mark = mark
        """What it and all that it starts inherits."""
        self._on_output = on_output
        self._unpaused_bytes = 0
        self._pause: asyncio.TimerHandle | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the process has ended."""

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        folder: str,
        variables: Mapping[str, str],
        on_output: Callable[[bytes], None],
        mark: Mark,
    ) -> "Process":
        """Start a process; `variables` have the entry of its mark. Raises OSError if the system refuses."""
        process = cls(on_output, mark)
        await spawn(process, command, folder, variables)
        return process

    @property
    def pid(self) -> int:
        """The process's id, which is also that of its group and session."""
        assert self._transport
        return self._transport.get_pid()

    @property
    def status(self) -> int | None:
        """The exit status, below 0 for a signal; None while the process runs."""
        assert self._transport
        return self._transport.get_returncode() if self.exited.done() else None

    def kill(self) -> None:
        """End the process and its group at once."""
        if not self.exited.done():
            kill_group(self.pid)

    async def end(self) -> None:
        """End the process and all that it started, close its pipe, and wait until it has ended."""
        assert self._transport
        self.kill()
        await asyncio.wait({self.exited}, timeout=_END_SECONDS_MAX)
        if self._pause:
            self._pause.cancel()
        self._transport.close()
        await asyncio.to_thread(kill_marked, self.pid, self.mark)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)  # uvloop's is no subclass
        self.mark.put_on(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_output(data)
        self._unpaused_bytes += len(data)
        if self._pause is None:
            self._pause = asyncio.get_running_loop().call_later(_FLOOD_PAUSE_SECONDS, self.read_on)
        if self._unpaused_bytes > _FLOOD_BYTES:
            self._read("pause_reading")

    def read_on(self) -> None:
        """Read output again if it came too fast."""
        if self._pause:
            self._pause.cancel()
            self._pause = None
        if self._unpaused_bytes > _FLOOD_BYTES:
            self._read("resume_reading")
        self._unpaused_bytes = 0

    def _read(self, method: str) -> None:
        assert self._transport
        pipe = self._transport.get_pipe_transport(1)
        if pipe is not None and not pipe.is_closing():
            getattr(pipe, method)()

    def process_exited(self) -> None:
        kill_group(self.pid)  # what it started and left in its group
        if not self.exited.done():
            self.exited.set_result(None)
