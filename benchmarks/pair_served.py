"""How is the server of one commit measured? `python pair_served.py CHANNEL serve …` runs its own `hashrange serve`,
controlled by pair_side.py.

The program is started as `python -m hashrange` is. This file takes the protocol factory that the server gives its
event loop, makes connections with it, and hands them the bytes of requests, as one pass over the sockets of eight
clients would; the bytes of replies are counted and dropped. So a figure covers everything from the bytes of a request
to the bytes of its reply, on the server's own loop, with its own jobs, threads and garbage collector settings,
but not the kernel's part, which no commit changes and which is most of the noise.

This file must not use Hashrange's modules, or commits could not be compared across a change of them:
it uses the command line, `loop.create_server` and the protocols of asyncio only. CHANNEL is the file descriptor
of a socket; it carries commands, one line of JSON each, and one line in reply to each (`Served.obey`).
"""

import asyncio
import json
import os
import re
import runpy
import socket
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

CONNECTIONS = 8
"""Number of connections; each has one request under way, so this many are answered together."""
GOOD = b"HTTP/1.1 200 "
REFUSAL_LENGTH_MAX = 400
COUNT_INSTRUCTIONS = "BENCHMARKS_COUNT_INSTRUCTIONS"
"""Environment variable; if it is set, the process can count the bytecode instructions that it executes."""
SLOWNESS = 10_000
"""How much slower time passes where instructions are counted."""
_content_length = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Wire(asyncio.Transport):
    """A client's end of one connection: takes a whole reply, calls `on_reply`,
    keeps the reply until the next request.
    """

    def __init__(self, protocol: asyncio.BaseProtocol, on_reply: Callable[["Wire"], None]) -> None:
        super().__init__()
        self.reply = b""
        self._missing_bytes = 0
        self._protocol = protocol
        self._on_reply = on_reply
        self._is_closing = self._is_paused = False
        self._unread = b""
        protocol.connection_made(self)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Replace the server's protocol on this connection."""
        self._protocol = protocol

    def ask(self, request: bytes) -> None:
        """Give the server a request."""
        self.reply = b""
        if self._is_paused:
            self._unread += request
        else:
            self._deliver(request)

    def _deliver(self, data: bytes) -> None:
        """Deliver bytes as one read of a socket does, or as several for a protocol with a buffer of its own."""
        while isinstance(self._protocol, asyncio.BufferedProtocol) and data and not self._is_paused:
            buffer = memoryview(self._protocol.get_buffer(len(data)))
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            data = data[size:]
            self._protocol.buffer_updated(size)
        if not data:
            return
        if self._is_paused:
            self._unread = data + self._unread
        elif isinstance(self._protocol, asyncio.Protocol):
            self._protocol.data_received(data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take a reply, or part of one."""
        if not self.reply:
            self.reply = bytes(data)
            head_bytes = self.reply.index(b"\r\n\r\n") + 4
            length = _content_length.search(self.reply, 0, head_bytes)
            assert length is not None, "a reply without Content-Length"
            self._missing_bytes = head_bytes + int(length[1]) - len(self.reply)
        else:
            self._missing_bytes -= len(data)
            self.reply += data
        if self._missing_bytes <= 0:
            self._on_reply(self)

    def pause_reading(self) -> None:
        """Hold requests back."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Deliver held-back requests in a later turn of the loop, as a socket does."""
        self._is_paused = False
        if self._unread:
            data, self._unread = self._unread, b""
            asyncio.get_running_loop().call_soon(self._deliver, data)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    abort = close

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False


class Instructions:
    """Counts bytecode instructions that the thread of the event loop executes, without those of this file. Code takes
    some thirty times as long while it is counted.
    """

    def __init__(self) -> None:
        self.count = 0
        self.is_on = False

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        """Trace function of `sys.settrace`, for every call."""
        if not self.is_on or frame.f_code.co_filename == __file__:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self.step

    def step(self, frame: FrameType, event: str, argument: object) -> Any:
        """Trace function within a call."""
        self.count += event == "opcode"
        return self.step

    def install(self) -> None:
        """Be ready to count. Time passes slowly from now on, so that no slice is over early."""
        time.monotonic, time.time = _slow(time.monotonic), _slow(time.time)
        sys.settrace(self.trace)


def _slow(clock: Callable[[], float]) -> Callable[[], float]:
    began_at = clock()
    return lambda: began_at + (clock() - began_at) / SLOWNESS


class Served:
    """The server, controlled over a channel."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connect: Callable[[], asyncio.BaseProtocol],
        channel: socket.socket,
        instructions: Instructions,
    ) -> None:
        self._loop = loop
        self._instructions = instructions
        self._connect = connect
        self._channel = channel
        self._unread = b""
        self._requests: dict[str, list[bytes]] = {}
        self._wires: list[Wire] = []
        self._run: list[bytes] = []
        self._place = self._pending = self._began_ns = 0
        self._refusal = ""
        loop.add_reader(channel.fileno(), self._read)
        self._say({"source": sys.modules["hashrange"].__file__})

    def _read(self) -> None:
        data = self._channel.recv(1 << 20)
        if not data:
            self._loop.remove_reader(self._channel.fileno())
        self._unread += data
        line, separator, self._unread = self._unread.partition(b"\n")
        if separator:
            self.obey(json.loads(line))
        else:
            self._unread = line

    def obey(self, command: dict[str, Any]) -> None:
        """Carry out one command and reply to it (to `run` after the last request is answered).
        The next command comes after the reply.

        {"do": "load", "name", "file"}: read requests, as prepare.write_requests writes them → {"requests"}.
        {"do": "connect"}: replace the connections by new ones → {}.
        {"do": "call", "request"}: one request, whose characters are bytes → {"status_line", "body"}.
        {"do": "run", "name", "start", "count", "counts"}: answer `count` requests from `start` on, wrapping →
        {"cpu_ns", "instructions"}, these if `counts`, and "refusal" if any.
        {"do": "used"}: CPU time of the process so far → {"cpu_ns"}.
        """
        match command["do"]:
            case "load":
                requests = self._requests[command["name"]] = read_requests(Path(command["file"]))
                self._say({"requests": len(requests)})
            case "connect":
                for wire in self._wires:
                    wire.close()
                self._wires = [Wire(self._connect(), self._on_reply) for _ in range(CONNECTIONS)]
                self._say({})
            case "call":
                Wire(self._connect(), self._tell).ask(command["request"].encode("latin-1"))
            case "run":
                requests = self._requests[command["name"]]
                numbers = range(command["start"], command["start"] + command["count"])
                self._run = [requests[number % len(requests)] for number in numbers]
                self._place, self._refusal = 0, ""
                self._instructions.count, self._instructions.is_on = 0, command["counts"]
                self._began_ns = time.process_time_ns()
                self._ask_together()
            case _:
                self._say({"cpu_ns": time.process_time_ns()})

    def _ask_together(self) -> None:
        """Send one request on each connection."""
        asked = self._run[self._place : self._place + CONNECTIONS]
        self._place += len(asked)
        self._pending = len(asked)
        for wire, request in zip(self._wires, asked, strict=False):
            wire.ask(request)

    def _on_reply(self, wire: Wire) -> None:
        if not wire.reply.startswith(GOOD):
            self._refusal = self._refusal or wire.reply[:REFUSAL_LENGTH_MAX].decode(errors="replace")
        self._pending -= 1
        if self._pending:
            return
        if self._place < len(self._run):
            self._loop.call_soon(self._ask_together)
        else:
            cpu_ns = time.process_time_ns() - self._began_ns
            self._instructions.is_on = False
            counted = {"instructions": self._instructions.count}
            self._say({"cpu_ns": cpu_ns, **counted, **({"refusal": self._refusal} if self._refusal else {})})

    def _tell(self, wire: Wire) -> None:
        head, _, body = wire.reply.partition(b"\r\n\r\n")
        self._say({"status_line": head.split(b"\r\n")[0].decode(), "body": body.decode(errors="replace")})
        wire.close()

    def _say(self, reply: dict[str, Any]) -> None:
        self._channel.sendall(json.dumps(reply).encode() + b"\n")


def read_requests(file: Path) -> list[bytes]:
    """Return the requests of a file; each follows a line with its length."""
    data = file.read_bytes()
    requests, place = [], 0
    while place < len(data):
        end = data.index(b"\n", place)
        start, place = end + 1, end + 1 + int(data[place:end])
        requests.append(data[start:place])
    return requests


def lead(channel: socket.socket, instructions: Instructions) -> None:
    """Let `channel` control the server that starts listening in this process."""
    try:
        loop_class: Any = import_module("uvloop").Loop
    except ModuleNotFoundError:
        loop_class = asyncio.BaseEventLoop
    listen = loop_class.create_server

    async def create_server(
        loop: Any, connect: Callable[[], asyncio.BaseProtocol], *arguments: Any, **options: Any
    ) -> Any:
        server = await listen(loop, connect, *arguments, **options)
        Served(loop, connect, channel, instructions)
        return server

    loop_class.create_server = create_server


if __name__ == "__main__":
    counted = Instructions()
    lead(socket.socket(fileno=int(sys.argv[1])), counted)
    if COUNT_INSTRUCTIONS in os.environ:
        counted.install()
    sys.argv = ["hashrange", *sys.argv[2:]]
    runpy.run_module("hashrange", run_name="__main__", alter_sys=True)
