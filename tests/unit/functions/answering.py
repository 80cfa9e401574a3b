"""Servers on loopback that record HTTP requests, and answer with whatever bytes a test gives them."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from tests.support.waiting import until

TLS = Path(__file__).parents[2] / "data" / "tls"
Answer = bytes | list[bytes] | None
"""What is sent before the connection is closed: at once, or in pieces; None: nothing, and the client has to close."""


class Received(NamedTuple):
    """A request as it arrived."""

    head: bytes
    body: bytes

    @property
    def line(self) -> str:
        return self.head.split(b"\r\n")[0].decode()

    @property
    def path(self) -> str:
        return self.line.split()[1]

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name; no name may come twice."""
        pairs = [line.split(": ", 1) for line in self.head.decode().split("\r\n")[1:] if line]
        found = {name.lower(): value for name, value in pairs}
        assert len(found) == len(pairs)
        return found


class Answering:
    """A server that reads a whole request from each connection, answers it and closes."""

    def __init__(self, answers: list[Answer]) -> None:
        self.requests: list[Received] = []
        self.url = ""
        self.open_connections = 0
        self._answers = answers
        """One per connection; the last one is for all further connections too."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_connections += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"expect: 100-continue" in head.lower():
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            self.requests.append(Received(head[:-4], await reader.readexactly(int(length))))
            if answer is None:
                await reader.read()
            for piece in [answer] if isinstance(answer, bytes) else answer or []:
                writer.write(piece)
                await writer.drain()
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            writer.transport.abort()
        finally:
            self.open_connections -= 1


@contextlib.asynccontextmanager
async def answering(*answers: Answer, is_tls: bool = False) -> AsyncIterator[Answering]:
    """Run such a server."""
    served = Answering([*answers])
    tls = None
    if is_tls:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(TLS / "localhost.pem", TLS / "localhost.key")
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    served.url = f"https://localhost:{port}" if is_tls else f"http://127.0.0.1:{port}"
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()
        await until(lambda: not served.open_connections)


def reply(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """An HTTP reply with a length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body
