"""How does the harness call a server? Over one blocking keep-alive connection: requests out, replies in order.

This client measures nothing: load comes from wrk (generator.py).
It reads Content-Length and chunked replies and may pipeline.
"""

import json
import socket
from typing import Any

from benchmarks.signing import Signer

TIMEOUT_SECONDS = 120
NO_CONTENT = 204
"""Status of a reply that has neither a body nor its length."""


class ReplyError(Exception):
    """A server answered with a status other than 200; the message holds status and body."""


class Connection:
    """A connection to 127.0.0.1."""

    def __init__(self, port: int, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Raises OSError when no server listens."""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb", buffering=1 << 18)

    def send(self, data: bytes) -> None:
        """Send complete requests."""
        self._socket.sendall(data)

    def receive(self) -> tuple[int, bytes]:
        """Status and body of the next reply; raises OSError when the connection ends."""
        status_line = self._file.readline()
        if not status_line:
            raise ConnectionError("the server closed the connection")
        length = -1
        is_chunked = False
        while (line := self._file.readline()) not in {b"\r\n", b""}:
            name, _, value = line.partition(b":")
            match name.lower():
                case b"content-length":
                    length = int(value)
                case b"transfer-encoding":
                    is_chunked = b"chunked" in value.lower()
        status = int(status_line.split(b" ", 2)[1])
        if status == NO_CONTENT:
            return status, b""
        return status, self._chunks() if is_chunked else self._file.read(length)

    def _chunks(self) -> bytes:
        pieces: list[bytes] = []
        while size := int(self._file.readline().partition(b";")[0], 16):
            pieces.append(self._file.read(size))
            self._file.readline()
        self._file.readline()
        return b"".join(pieces)

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._socket.close()


class Client:
    """Calls operations of the server on one port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.host = f"127.0.0.1:{port}"
        self._connection: Connection | None = None

    def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded reply; raises ReplyError or OSError."""
        if self._connection is None:
            self._connection = Connection(self.port)
        self._connection.send(Signer(self.host).request(operation, json.dumps(arguments).encode()))
        status, body = self._connection.receive()
        if status != 200:
            raise ReplyError(f"{operation}: {status} {body[:500].decode(errors='replace')}")
        return dict(json.loads(body))

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
