"""Clients without an SDK, for tests of replies that are late, cut off or lost: bytes over a socket."""

import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.signing import sign
from tests.support.waiting import PATIENCE_SECONDS

TLS = Path(__file__).parents[2] / "data" / "tls"
KEY = "0" * 12
"""An access key of the account that clients in the process have."""


_PREFIXES = {"dynamodb": "DynamoDB_20120810", "monitoring": "GraniteServiceVersion20100801"}


def request(operation: str, *, access_key: str = KEY, service: str = "dynamodb", **members: Any) -> bytes:
    """A signed request."""
    body = json.dumps(members).encode()
    headers = {
        "Host": "localhost",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"{_PREFIXES[service]}.{operation}",
        "Content-Length": str(len(body)),
    }
    signed = sign(headers, body, seconds=time.time(), access_key=access_key, service=service)
    head = "".join(f"{name}: {value}\r\n" for name, value in signed.items())
    return f"POST / HTTP/1.1\r\n{head}\r\n".encode() + body


def admin(method: str, path: str, **members: Any) -> bytes:
    """A request to the admin API."""
    body = json.dumps(members).encode() if members else b""
    return (
        f"{method} /_hashrange/v1/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


@contextmanager
def connected(endpoint: str) -> Iterator[socket.socket]:
    """A connection to an endpoint; an https one accepts the certificate of the tests."""
    parts = urlsplit(endpoint)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 0), timeout=PATIENCE_SECONDS) as plain:
        if parts.scheme == "http":
            yield plain
            return
        context = ssl.create_default_context(cafile=str(TLS / "localhost.pem"))
        context.check_hostname = False
        with context.wrap_socket(plain) as secured:
            yield secured


def until_end(client: socket.socket) -> bytes:
    """All bytes until the server ends the connection."""
    received = b""
    while piece := client.recv(65_536):
        received += piece
    return received


def one_reply(client: socket.socket) -> tuple[int, bytes]:
    """Status and body of the next reply, read to its last byte and no further."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = client.recv(1)
        assert piece, received
        received += piece
    head, body = received.split(b"\r\n\r\n", 1)
    length = content_length(head)
    while len(body) < length:
        piece = client.recv(length - len(body))
        assert piece, received
        body += piece
    return int(head.split()[1]), body


def content_length(head: bytes) -> int:
    """The length that a reply's head tells."""
    lines = head.lower().split(b"\r\n")
    return int(next(line.split(b":")[1] for line in lines if line.startswith(b"content-length:")))
