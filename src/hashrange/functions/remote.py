"""How is a function invoked that is a URL? By a POST of its payload, as Lambda's Invoke and the emulator in its images answer it.

None of the project's dependencies is an HTTP client for asyncio; httptools parses the reply. Each invocation has a connection
of its own, which costs little next to a handler, and cannot be left in an unknown state.
"""

import asyncio
import base64
import binascii
import ssl
from typing import Any
from urllib.parse import urlsplit

import httptools

from hashrange.clock import real_seconds
from hashrange.functions.code import CodeUnusable
from hashrange.functions.invocation import (
    ConcurrencyExceeded,
    FunctionError,
    Invocation,
    InvocationOutcome,
    describe_large_reply,
    describe_timeout,
    describe_unreachable,
)
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, INVOCATION_REPLY_BYTES_MAX
from hashrange.messages import functions as messages

_CHUNK_BYTES = 64 * 1024
_HEAD_BYTES_MAX = 64 * 1024
_ERROR_HEADER, _LOG_HEADER = b"x-amz-function-error", b"x-amz-log-result"


class _TooLarge(Exception):
    """The reply is longer than a reply may be."""


class _Reply:
    """What httptools finds in a reply."""

    def __init__(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.body = bytearray()
        self.is_complete = False
        self.ends_with_connection = False
        """True once the head has arrived, if it gives the body no length."""

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self.ends_with_connection = not {b"content-length", b"transfer-encoding"} & self.headers.keys()

    def on_body(self, body: bytes) -> None:
        self.body += body
        if len(self.body) > INVOCATION_REPLY_BYTES_MAX:
            raise _TooLarge

    def on_message_complete(self) -> None:
        self.is_complete = True


class RemoteFunction:
    """A function that runs elsewhere and answers Invoke at a URL. The same `invoke` as `EnvironmentPool`."""

    def __init__(self, url: str, timeout_seconds: float, *, concurrency_max: int) -> None:
        """`url`: http or https. Raises CodeUnusable if it is not such a URL."""
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise CodeUnusable(messages.url_unusable(url)) from None
        is_plain = url.isascii() and url.isprintable() and " " not in url
        if parts.scheme not in {"http", "https"} or not self._host or not is_plain or parts.username is not None:
            raise CodeUnusable(messages.url_unusable(url))
        self._url, self._timeout_seconds = url, timeout_seconds
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._authority = parts.netloc
        self.concurrency_max = concurrency_max
        """May be changed at any time."""
        self._running = 0

    async def invoke(self, payload: bytes, request_id: str, client_context: str | None = None) -> Invocation:
        """Run an invocation: what the function returns, or its error.

        A function that does not answer, or answers with another status than 200, fails with Hashrange.Unreachable. Raises
        ConcurrencyExceeded if as many run as may, or the function answers with status 429.
        """
        assert len(payload) <= INVOCATION_PAYLOAD_BYTES_MAX
        if self._running >= self.concurrency_max:
            raise ConcurrencyExceeded(messages.CONCURRENCY_EXCEEDED)
        self._running += 1
        began_seconds = real_seconds()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                status, reply = await self._post(self._request(payload, client_context))
            if status == 429:
                raise ConcurrencyExceeded(messages.CONCURRENCY_EXCEEDED)
            if status == 200:
                return _read_reply(reply, (real_seconds() - began_seconds) * 1000)
            outcome = describe_unreachable(messages.remote_status(self._url, status))
        except TimeoutError:
            outcome = describe_timeout(request_id, self._timeout_seconds)
        except _TooLarge:
            outcome = describe_large_reply()
        except (OSError, EOFError, httptools.HttpParserError) as error:
            outcome = describe_unreachable(messages.remote_failed(self._url, str(error) or type(error).__name__))
        finally:
            self._running -= 1
        return _failed(outcome, (real_seconds() - began_seconds) * 1000)

    def _request(self, payload: bytes, client_context: str | None) -> bytes:
        lines = [
            f"POST {self._path} HTTP/1.1",
            f"Host: {self._authority}",
            "Content-Type: application/json",
            f"Content-Length: {len(payload)}",
            "X-Amz-Invocation-Type: RequestResponse",
            "X-Amz-Log-Type: Tail",
            "Connection: close",
        ]
        if client_context is not None:
            lines.append("X-Amz-Client-Context: " + base64.b64encode(client_context.encode()).decode())
        return "\r\n".join([*lines, "", ""]).encode() + payload

    async def _post(self, request: bytes) -> tuple[int, _Reply]:
        """Send a request and read its reply. Raises OSError, EOFError, HttpParserError and _TooLarge."""
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        try:
            writer.write(request)
            reply = _Reply()
            parser: Any = httptools.HttpResponseParser(reply)
            received_bytes = 0
            while not reply.is_complete:
                received = await reader.read(_CHUNK_BYTES)
                if not received:
                    if reply.ends_with_connection:
                        break
                    raise EOFError("the connection was closed early")
                received_bytes += len(received)
                if received_bytes > 2 * INVOCATION_REPLY_BYTES_MAX + _HEAD_BYTES_MAX:
                    raise _TooLarge
                try:
                    parser.feed_data(received)
                except httptools.HttpParserCallbackError as error:
                    raise _TooLarge from error
            return parser.get_status_code(), reply
        finally:
            writer.transport.abort()


def _read_reply(reply: _Reply, duration_ms: float) -> Invocation:
    """The invocation of a reply with status 200; its header says whether it is an error."""
    error: FunctionError | None = None
    if _ERROR_HEADER in reply.headers:
        error = "Handled" if reply.headers[_ERROR_HEADER] == b"Handled" else "Unhandled"
    try:
        log_tail = base64.b64decode(reply.headers.get(_LOG_HEADER, b""))
    except binascii.Error:
        log_tail = b""
    return Invocation(bytes(reply.body), error, log_tail, duration_ms)


def _failed(outcome: InvocationOutcome, duration_ms: float) -> Invocation:
    return Invocation(outcome.payload, "Unhandled", b"", duration_ms)
