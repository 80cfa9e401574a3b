"""A function that is a URL returns what the URL answers, whatever that is."""

import asyncio
import base64
from collections.abc import Awaitable, Callable

import pytest

from hashrange.functions.http_client import UrlUnusable, read_target
from hashrange.functions.invocation import ConcurrencyExceeded, Invocation
from hashrange.functions.remote import RemoteFunction
from hashrange.limits import INVOCATION_REPLY_BYTES_MAX
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.functions.world import decoded

Use = Callable[[RemoteFunction], Awaitable[None]]


def served(answer: bytes | None, use: Use, timeout_seconds: float = PATIENCE_SECONDS) -> bytes:
    """Call a function at a server that answers with these bytes and closes, or not at all; returns what it received."""
    requests: list[bytes] = []
    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        requests.append(head + await reader.readexactly(size))
        if answer is None:
            await reader.read()
        try:
            writer.write(answer or b"")
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        except ConnectionError:
            writer.transport.abort()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await use(RemoteFunction(f"http://127.0.0.1:{port}/invoke?a=1", timeout_seconds))
        server.close()
        await asyncio.gather(*filter(None, serving))
        await server.wait_closed()

    asyncio.run(main())
    return requests[0] if requests else b""


def invoked(answer: bytes | None, timeout_seconds: float = PATIENCE_SECONDS) -> Invocation:
    """The invocation that an answer becomes."""
    found: list[Invocation] = []

    async def use(function: RemoteFunction) -> None:
        found.append(await function.invoke(b"{}", "request-1"))

    served(answer, use, timeout_seconds)
    return found[0]


def reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An HTTP reply."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        reply(b'{"a": 1}'),
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n4\r\n: 1}\r\n0\r\n\r\n',
        b'HTTP/1.0 200 OK\r\n\r\n{"a": 1}',
    ],
)
def test_a_result(answer: bytes) -> None:
    invocation = invoked(answer)
    assert (invocation.payload, invocation.function_error, invocation.log_tail) == (b'{"a": 1}', None, b"")


def test_an_error_and_a_log() -> None:
    log = base64.b64encode(b"END\n").decode()
    invocation = invoked(reply(b"{}", "X-Amz-Function-Error: Unhandled", f"X-Amz-Log-Result: {log}"))
    assert (invocation.payload, invocation.function_error, invocation.log_tail) == (b"{}", "Unhandled", b"END\n")
    assert invoked(reply(b"{}", "x-amz-function-error: Handled", "X-Amz-Log-Result: !")).function_error == "Handled"


def test_the_request() -> None:
    async def use(function: RemoteFunction) -> None:
        await function.invoke(b'{"n": 1}', "request-1", "{}")

    lines = served(reply(b"1"), use).split(b"\r\n")
    assert lines[0] == b"POST /invoke?a=1 HTTP/1.1"
    assert lines[1].startswith(b"Host: 127.0.0.1:")
    assert b"X-Amz-Client-Context: e30=" in lines
    assert lines[-2:] == [b"", b'{"n": 1}']


@pytest.mark.parametrize(
    ("answer", "error_type"),
    [
        (b"", "Hashrange.Unreachable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", "Hashrange.Unreachable"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "Hashrange.Unreachable"),
        (b"SSH-2.0\r\n\r\n", "Hashrange.Unreachable"),
        (reply(b"{}", status="500 Oops"), "Hashrange.Unreachable"),
        (reply(b"{}", "Location: http://elsewhere/", status="302 Found"), "Hashrange.Unreachable"),
        (reply(b"x" * (INVOCATION_REPLY_BYTES_MAX + 1)), "Function.ResponseSizeTooLarge"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (3 * INVOCATION_REPLY_BYTES_MAX), "Function.ResponseSizeTooLarge"),
    ],
)
def test_bad_answers(answer: bytes, error_type: str) -> None:
    invocation = invoked(answer)
    assert (decoded(invocation)["errorType"], invocation.function_error) == (error_type, "Unhandled")


def test_the_largest_reply() -> None:
    assert len(invoked(reply(b"x" * INVOCATION_REPLY_BYTES_MAX)).payload) == INVOCATION_REPLY_BYTES_MAX


def test_no_answer() -> None:
    assert decoded(invoked(None, 0.05)) == {
        "errorType": "Sandbox.Timedout",
        "errorMessage": "RequestId: request-1 Error: Task timed out after 0.05 seconds",
    }


def test_nobody_listens() -> None:
    function = RemoteFunction("http://127.0.0.1:1/", PATIENCE_SECONDS)
    assert decoded(asyncio.run(function.invoke(b"{}", "request-1")))["errorType"] == "Hashrange.Unreachable"


def test_too_many_at_once() -> None:
    async def refused(function: RemoteFunction) -> None:
        with pytest.raises(ConcurrencyExceeded):
            await function.invoke(b"{}", "request-1")

    served(reply(b"{}", status="429 Too Many Requests"), refused)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://host/",
        "http://",
        "http://host:x/",
        "http://user@host/",
        "http://host/a b",
        "http://host/\r\nX: 1",
        "http://é/",
    ],
)
def test_unusable_urls(url: str) -> None:
    with pytest.raises(UrlUnusable, match="is no URL"):
        read_target(url)
