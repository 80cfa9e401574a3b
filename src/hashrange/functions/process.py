"""How is a function's process started, read and ended? In a session of its own, with one pipe for its output.

Standard output and error are one pipe, so that their lines keep their order;
the service does not tell them apart either.
"""

import asyncio
import functools
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from hashrange.functions.marks import Mark
from hashrange.functions.process_tree import kill_group, kill_marked

_FLOOD_BYTES = 512 * 1024
"""If a process writes this much within _FLOOD_PAUSE_SECONDS, the rest is read after that time:
endless output costs little."""
_FLOOD_PAUSE_SECONDS = 0.005
_END_SECONDS_MAX = 5.0
"""A killed process ends at once, except while the kernel waits for a device."""


class Process(asyncio.SubprocessProtocol):
    """A function's process, which `spawn` starts. `on_output` receives all that it and its children write."""

    _transport: asyncio.SubprocessTransport

    def __init__(self, on_output: Callable[[bytes], None], mark: Mark) -> None:
        self.mark = mark
        """What it and all that it starts inherits; the entry must be in the variables with which it is started."""
        self._on_output = on_output
        self._unpaused_bytes = 0
        self._pause: asyncio.TimerHandle | None = None
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the process has ended."""

    @property
    def pid(self) -> int:
        """The process's id, which is also that of its group and session."""
        return self._transport.get_pid()

    @property
    def status(self) -> int | None:
        """The exit status, below 0 for a signal; None while the process runs."""
        return self._transport.get_returncode() if self.exited.done() else None

    def kill(self) -> None:
        """End the process and its group at once."""
        if not self.exited.done():
            kill_group(self.pid)

    async def end(self) -> None:
        """End the process and all that it started, close its pipe, and wait until it has ended."""
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
        pipe = self._transport.get_pipe_transport(1)
        if pipe is not None and not pipe.is_closing():
            getattr(pipe, method)()

    def process_exited(self) -> None:
        kill_group(self.pid)  # what it started and left in its group
        if not self.exited.done():
            self.exited.set_result(None)


_WAIT_SECONDS = 0.1
"""Time between two looks whether a process that has ended can be waited for."""


# --- starting a process ---------------------------------------------------------------------------

_OUTPUT = 1
"""The descriptor that asyncio calls a process's output by."""
_READ_BYTES = 64 * 1024
"""Bytes that are read at once: as many as a pipe holds, unless the handler has made it larger. A hundred processes may
write at the same time."""


async def spawn(
    protocol: asyncio.SubprocessProtocol, command: Sequence[str], folder: str, variables: Mapping[str, str]
) -> None:
    """Start a process in a session of its own, without input, whose output and errors are one pipe.

    On Linux it starts by `vfork`, which copies nothing of the server, and elsewhere as asyncio starts it. uvloop forks:
    a start takes some 70 µs for every MB of memory that the server uses, and no request is answered meanwhile. `Popen`
    takes some 4 ms, however large the server is. The loop does not know of such a process; a descriptor tells its end.
    `protocol` gets the calls that asyncio makes; on Linux, nobody has waited for the process before `process_exited`,
    so its id is not another's yet. Raises OSError if the system refuses. If the caller is cancelled, the process ends.
    """
    options: dict[str, Any] = {
        "cwd": folder,
        "env": variables,
        "start_new_session": True,
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
    }
    if not _has_process_descriptors():
        await asyncio.get_running_loop().subprocess_exec(lambda: protocol, *command, **options)
        return
    process = subprocess.Popen(command, bufsize=0, **options)  # noqa: ASYNC220, S603 - see above; the command is ours
    transport = None
    try:
        transport = _SpawnedTransport(process, protocol)
        transport.begin()
        await asyncio.sleep(0)  # the next process starts in another turn
    except BaseException:
        if transport is not None:
            transport.end()
        kill_group(process.pid)
        threading.Thread(target=process.wait, daemon=True).start()  # the loop may end before the process has
        raise


def _wait_for(process: "subprocess.Popen[bytes]", loop: asyncio.AbstractEventLoop) -> None:
    """Wait for a process that has ended, so that nothing is left of it; not in this step, if another process traces it:
    then only the tracer, which the handler may have started, is told of the end until it lets go.
    """
    if process.poll() is None:
        loop.call_later(_WAIT_SECONDS, _wait_for, process, loop)


@functools.cache
def _has_process_descriptors() -> bool:
    """True on Linux, unless a sandbox forbids them."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


class _SpawnedTransport(asyncio.SubprocessTransport):
    """What a protocol needs to know of a process that `Popen` has started; also the transport of its output.

    It reads the output itself, as uvloop closes the descriptor of a pipe twice: libuv does, and in a later turn the
    file object, when the number may be that of a file which another thread has opened.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", protocol: asyncio.SubprocessProtocol) -> None:
        """`process`: with a pipe without a buffer. Nothing is read before `begin`. Raises OSError."""
        super().__init__()
        assert process.stdout is not None
        self._process, self._pipe = process, process.stdout
        self._protocol: asyncio.SubprocessProtocol | None = protocol
        """None once the process has ended and its pipe is closed."""
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = None
        """Tells the end of the process; None before, and afterwards."""
        os.set_blocking(self._pipe.fileno(), False)
        try:
            self._descriptor = os.pidfd_open(process.pid)
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        """Call the protocol from now on."""
        assert self._descriptor is not None
        assert self._protocol
        self._protocol.connection_made(self)
        self._loop.add_reader(self._descriptor, self._exited)
        self.resume_reading()

    def end(self) -> None:
        """Call the protocol no more."""
        self._unwatch()
        self.close()

    def get_pid(self) -> int:
        return self._process.pid

    def get_returncode(self) -> int | None:
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self if fd == _OUTPUT else None

    def is_closing(self) -> bool:
        return self._pipe.closed

    def pause_reading(self) -> None:
        """Leave the output in the pipe."""
        self._loop.remove_reader(self._pipe.fileno())

    def resume_reading(self) -> None:
        """Read the output from now on."""
        self._loop.add_reader(self._pipe.fileno(), self._read)

    def close(self) -> None:
        """Close the pipe; the process is to be ended before."""
        if not self._pipe.closed:
            self.pause_reading()
            self._pipe.close()
        self._let_go()

    def _let_go(self) -> None:
        """Forget the protocol, which refers to this transport, once it will not be called again."""
        if self._descriptor is None and self._pipe.closed:
            self._protocol = None

    def _read(self) -> None:
        try:
            data = os.read(self._pipe.fileno(), _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        assert self._protocol
        if data:
            self._protocol.pipe_data_received(_OUTPUT, data)
        else:
            self.close()

    def _exited(self) -> None:
        self._unwatch()
        assert self._protocol
        self._protocol.process_exited()
        _wait_for(self._process, self._loop)
        self._let_go()

    def _unwatch(self) -> None:
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
