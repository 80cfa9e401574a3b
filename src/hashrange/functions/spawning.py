"""How does a process start without holding the server up? On Linux by `vfork`, which copies nothing of the
server; elsewhere as asyncio does it.

uvloop forks: a start takes some 70 µs for every MB of memory that the server uses, and no request is answered
meanwhile. `Popen` takes some 4 ms, however large the server is.
The loop does not know of such a process; a descriptor tells its end.
"""

import asyncio
import functools
import os
import subprocess
from collections.abc import Mapping, Sequence

from hashrange.functions.process_tree import kill_group

_OUTPUT = 1
"""The descriptor that asyncio calls a process's output by."""


async def spawn(
    protocol: asyncio.SubprocessProtocol, command: Sequence[str], folder: str, variables: Mapping[str, str]
) -> None:
    """Start a process in a session of its own, without input, whose output and errors are one pipe.

    `protocol` gets the calls that asyncio makes; on Linux, nobody has waited for the process before `process_exited`,
    so its id is not another's yet. Raises OSError if the system refuses. If the caller is cancelled, the process ends.
    """
    if not _has_process_descriptors():
        await asyncio.get_running_loop().subprocess_exec(
            lambda: protocol,
            *command,
            cwd=folder,
            env=variables,
            start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        return
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - see above; the command is ours
        command,
        cwd=folder,
        env=variables,
        start_new_session=True,
        bufsize=0,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        await _SpawnedTransport(process, protocol).connect()
    except BaseException:
        kill_group(process.pid)
        process.wait()
        raise


@functools.cache
def _has_process_descriptors() -> bool:
    """True on Linux, unless a sandbox forbids them."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


class _SpawnedTransport(asyncio.SubprocessTransport):
    """What a protocol needs to know of a process that `Popen` has started."""

    def __init__(self, process: "subprocess.Popen[bytes]", protocol: asyncio.SubprocessProtocol) -> None:
        super().__init__()
        self._process, self._protocol = process, protocol
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = os.pidfd_open(process.pid)
        self._output: asyncio.ReadTransport | None = None
        self._is_closed = False

    async def connect(self) -> None:
        """Call the protocol from now on."""
        assert self._descriptor is not None
        self._protocol.connection_made(self)
        self._loop.add_reader(self._descriptor, self._exited)
        reading = self._loop.connect_read_pipe(lambda: _Output(self._protocol), self._process.stdout)
        connecting = asyncio.ensure_future(reading)
        connecting.add_done_callback(self._connected)
        try:
            await asyncio.shield(connecting)  # uvloop would lose the pipe
        except BaseException:
            self._unwatch()
            self._is_closed = True
            raise

    def _connected(self, connecting: "asyncio.Future[tuple[asyncio.ReadTransport, _Output]]") -> None:
        if not connecting.cancelled() and connecting.exception() is None:
            self._output = connecting.result()[0]
            if self._is_closed:
                self._output.close()

    def get_pid(self) -> int:
        return self._process.pid

    def get_returncode(self) -> int | None:
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self._output if fd == _OUTPUT else None

    def close(self) -> None:
        """Close the pipe; the process is to be ended before."""
        if self._output is not None:
            self._output.close()

    def _exited(self) -> None:
        self._unwatch()
        self._protocol.process_exited()
        self._process.wait()

    def _unwatch(self) -> None:
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None


class _Output(asyncio.Protocol):
    """Passes a process's output on."""

    def __init__(self, protocol: asyncio.SubprocessProtocol) -> None:
        self._protocol = protocol

    def data_received(self, data: bytes) -> None:
        self._protocol.pipe_data_received(_OUTPUT, data)
