"""Requests without an SDK: the bytes sent are exactly those that the test specifies."""

import json
import socket
import time
from http import HTTPStatus
from http.client import IncompleteRead, RemoteDisconnected
from typing import Any, BinaryIO, NamedTuple

from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY, sign

TARGET_PREFIX = "DynamoDB_20120810."
CONTENT_TYPE = "application/x-amz-json-1.0"
TIMEOUT_SECONDS = 30
"""It only ends a test that would hang."""


class Reply(NamedTuple):
    """A reply; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


class RawClient:
    """Sends one request per call, correctly signed unless the test says otherwise."""

    def __init__(
        self,
        host: str,
        port: int,
        region: str = REGION,
        access_key: str = ACCESS_KEY,
        secret: str = SECRET_KEY,
    ) -> None:
        self.host = host
        self.port = port
        self.region = region
        self.access_key = access_key
        self.secret = secret

    def __call__(
        self,
        target: str | None,
        body: bytes | dict[str, Any],
        headers: dict[str, str] | None = None,
        *,
        method: str = "POST",
        path: str = "/",
        is_signed: bool = True,
    ) -> Reply:
        """`target` is the operation's name (or a whole target, if it has a dot); `headers` are added before signing."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        complete = {"Host": f"{self.host}:{self.port}", "Content-Type": CONTENT_TYPE}
        if target is not None:
            complete["X-Amz-Target"] = target if "." in target else TARGET_PREFIX + target
        complete.update(headers or {})
        if is_signed:
            complete = sign(
                complete, sent, seconds=time.time(), access_key=self.access_key, secret=self.secret, region=self.region,
                method=method, path=path,
            )  # fmt: skip
        return self.send(method, path, complete, sent)

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Send one request with exactly these headers, and a Host if they have none."""
        complete = headers if "Host" in headers else {"Host": f"{self.host}:{self.port}", **headers}
        if "Content-Length" not in headers and "Transfer-Encoding" not in headers:
            complete = {**complete, "Content-Length": str(len(body))}
        with socket.create_connection((self.host, self.port), timeout=TIMEOUT_SECONDS) as connection:
            connection.sendall(request_head(method, path, complete) + body)
            with connection.makefile("rb") as incoming:
                return read_reply(method, incoming)


def request_head(method: str, path: str, headers: dict[str, str]) -> bytes:
    """The bytes of a request before its body."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def read_reply(method: str, incoming: BinaryIO) -> Reply:
    """The reply to a request of this method, read in a fifth of the time that http.client takes.

    Raises http.client's RemoteDisconnected and IncompleteRead.
    """
    status = 100
    while status == HTTPStatus.CONTINUE:
        status_line = incoming.readline()
        if not status_line:
            raise RemoteDisconnected("the server closed the connection without a reply")
        status = int(status_line.split(b" ", 2)[1])
        headers = {}
        while (line := incoming.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
    if method == "HEAD" or status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
        return Reply(status, headers, b"")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return Reply(status, headers, b"".join(iter(lambda: read_chunk(incoming), b"")))
    return Reply(status, headers, read_whole(incoming, int(headers["content-length"])))


def read_chunk(incoming: BinaryIO) -> bytes:
    """The content of the next chunk; the last one has none."""
    content = read_whole(incoming, int(incoming.readline().split(b";")[0], 16))
    incoming.readline()
    return content


def read_whole(incoming: BinaryIO, size_bytes: int) -> bytes:
    """This many bytes. Raises IncompleteRead if there are fewer."""
    content = incoming.read(size_bytes)
    if len(content) < size_bytes:
        raise IncompleteRead(content, size_bytes - len(content))
    return content
