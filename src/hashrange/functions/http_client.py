"""How is one HTTP request sent, and its reply read? On a connection of its own, within bounds;
the caller limits the time, and may ask which endpoints have timed out lately.

None of the project's dependencies is an HTTP client for asyncio; httptools parses the reply.
A connection for each request costs little next to what is asked for, and is never left in an unknown state.
Redirects are not followed, and what follows a complete reply is not looked at.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httptools

from hashrange.clock import Clock
from hashrange.errors import HashrangeError
from hashrange.functions.host_lookups import HOSTS
from hashrange.messages import functions as messages

_CHUNK_BYTES = 64 * 1024
_HEAD_BYTES_MAX = 64 * 1024
_DEFAULT_PORTS = {"http": 80, "https": 443}
_INFORMATIONAL = frozenset(range(100, 200)) - {101}
"""Statuses of replies that another reply follows; after 101, another protocol would."""
_HANDSHAKE_FAILURES = (ssl.SSLError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
"""What goes wrong once somebody has accepted a connection: no other address of the host is tried."""


class UrlUnusable(HashrangeError):
    """A text is no URL that requests can be sent to; the message says so."""


class ExchangeFailed(HashrangeError):
    """No reply was received. The message is the reason, as the machine's network, TLS or the HTTP parser words it."""


class ReplyTooLarge(ExchangeFailed):
    """The reply's head or body is longer than it may be; the request may have had its effect."""

    def __init__(self, status: int | None) -> None:
        super().__init__(messages.REMOTE_REPLY_TOO_LARGE)
        self.status = status
        """Status of the reply; None if its head did not end in time."""


class HttpTarget(NamedTuple):
    """Where a request goes: a URL, taken apart."""

    host: str
    port: int
    authority: str
    """Value of the header Host."""
    path: str
    """Path and query, as they stand in the request line."""
    tls: ssl.SSLContext | None
    """What checks the server's certificate; None for plain HTTP."""

    @property
    def url(self) -> str:
        """The URL for messages, without its query, which may hold secrets."""
        path, _, _ = self.path.partition("?")
        return f"{'http' if self.tls is None else 'https'}://{self.authority}{path}"


class RemoteReply(NamedTuple):
    """A complete reply."""

    status: int
    headers: Mapping[bytes, bytes]
    """By lower-case name; of repeated headers, the last one."""
    body: bytes
    fields: Sequence[tuple[bytes, bytes]] = ()
    """All headers as received."""


@cache
def _tls_of(_paths: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """What is trusted: the machine's authorities, or those that SSL_CERT_FILE and SSL_CERT_DIR name. To read them takes
    some 30 ms and a megabyte, so all targets share it.
    """
    return ssl.create_default_context()


def read_target(url: str) -> HttpTarget:
    """Take a URL with http or https apart. Raises UrlUnusable for any other text, and for a URL with a user name."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")  # as the resolver does; raises UnicodeError for names that cannot be resolved
        port = parts.port if parts.port is not None else _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        raise UrlUnusable(messages.url_unusable(url)) from None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in _DEFAULT_PORTS or not host or not port or not is_plain or parts.username is not None:
        raise UrlUnusable(messages.url_unusable(url))
    tls = _tls_of(ssl.get_default_verify_paths()) if parts.scheme == "https" else None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return HttpTarget(host, port, parts.netloc, path, tls)


async def exchange(
    target: HttpTarget, method: str, headers: Mapping[str, str], body: bytes, reply_bytes_max: int
) -> RemoteReply:
    """Send a request and read its reply, whatever its status is.

    `method`: any but HEAD. `headers`: ASCII; Content-Length and Connection are added, and Host if it is not there.
    `reply_bytes_max`: greatest length of the reply's body. Raises ExchangeFailed, and ReplyTooLarge for a body that is
    longer or a head of more than 64 KB. Has no time-out; may be cancelled at any time.
    """
    return await exchange_message(target, _encode_head(target, method, headers, len(body)), body, reply_bytes_max)


async def exchange_message(
    target: HttpTarget,
    head: bytes,
    body: bytes,
    reply_bytes_max: int,
    *,
    is_head_asked: bool = False,
    on_body: Callable[[int], None] = lambda size_bytes: None,
) -> RemoteReply:
    """Send a request with a head of the caller's own, and read its reply. Raises as `exchange` does.

    `head`: request line and headers with Connection: close, and the empty line.
    `is_head_asked`: the method is HEAD, whose reply announces a body that it lacks. `on_body` is called with the length
    of each part of the reply's body, and may raise ReplyTooLarge.
    """
    try:
        reader, writer = await _connect(target)
        try:
            writer.writelines([head, body])
            return await _read_reply(reader, _Reply(reply_bytes_max, on_body, is_head_asked=is_head_asked))
        finally:
            writer.transport.abort()
    except (OSError, EOFError, httptools.HttpParserError) as error:
        raise ExchangeFailed(str(error) or type(error).__name__) from error


async def _connect(target: HttpTarget) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first address of the target's host at which somebody listens.

    Raises OSError, worded as by asyncio for a name that it looks up itself.
    """
    tls = target.tls
    refusals: list[OSError] = []
    try:
        for address in await HOSTS.addresses_of(target.host):
            try:
                return await asyncio.open_connection(
                    address, target.port, ssl=tls, server_hostname=None if tls is None else target.host
                )
            except _HANDSHAKE_FAILURES:
                raise
            except OSError as error:
                refusals.append(error)
        if len({str(error) for error in refusals}) == 1:
            raise refusals[0]
        raise OSError(f"Multiple exceptions: {', '.join(map(str, refusals))}")
    finally:
        refusals.clear()  # their frames refer to them


def _encode_head(target: HttpTarget, method: str, headers: Mapping[str, str], length_bytes: int) -> bytes:
    complete = {"Host": target.authority, "Content-Length": str(length_bytes), "Connection": "close", **headers}
    lines = [f"{method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in complete.items())]
    assert all(line.isprintable() for line in lines), "a line end would begin another header"
    return "\r\n".join([*lines, "", ""]).encode("ascii")


class _Reply:
    """What httptools finds in a reply. Replies before the last one, such as 103 Early Hints, are passed over."""

    def __init__(self, body_bytes_max: int, on_body: Callable[[int], None], *, is_head_asked: bool) -> None:
        self.parser: Any = httptools.HttpResponseParser(self)
        self.status: int | None = None
        """Known once the head is complete; that of an informational reply until the next head is."""
        self.headers: dict[bytes, bytes] = {}
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.is_complete = False
        self.body_bytes_max = body_bytes_max
        self._is_head_asked = is_head_asked
        self._on_body = on_body

    @property
    def has_head(self) -> bool:
        """True once the head of the last reply has arrived."""
        return self.status is not None and self.status not in _INFORMATIONAL

    @property
    def ends_with_connection(self) -> bool:
        """True if the head has arrived and gives the body no length."""
        return self.has_head and not {b"content-length", b"transfer-encoding"} & self.headers.keys()

    def on_message_begin(self) -> None:
        if not self.is_complete:
            self.headers, self.fields = {}, []

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_complete:
            self.headers[name.lower()] = value
            self.fields.append((name, value))

    def on_headers_complete(self) -> None:
        if not self.is_complete:
            self.status = self.parser.get_status_code()
            self.is_complete = self._is_head_asked and self.has_head

    def on_body(self, body: bytes) -> None:
        if not self.is_complete:
            self.body += body
            if len(self.body) > self.body_bytes_max:
                raise ReplyTooLarge(self.status)
            self._on_body(len(body))

    def on_message_complete(self) -> None:
        self.is_complete = self.has_head


async def _read_reply(reader: asyncio.StreamReader, reply: _Reply) -> RemoteReply:
    """Read until a reply is complete. Raises OSError, EOFError, HttpParserError and ReplyTooLarge."""
    try:
        await _feed(reply, reader)
    finally:
        reply.parser = None  # it refers to the reply: a cycle
    assert reply.status is not None
    return RemoteReply(reply.status, reply.headers, bytes(reply.body), reply.fields)


async def _feed(reply: _Reply, reader: asyncio.StreamReader) -> None:
    left_bytes = _HEAD_BYTES_MAX  # that may still come: of the head, then of the body with the lengths of its chunks
    while not reply.is_complete:
        received = await reader.read(_CHUNK_BYTES)
        if not received:
            if reply.ends_with_connection:
                break
            raise EOFError(messages.CONNECTION_CLOSED_EARLY)
        had_head = reply.has_head
        try:
            reply.parser.feed_data(received)
        except httptools.HttpParserCallbackError as error:
            raise ReplyTooLarge(reply.status) from error
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not reply.is_complete:
                raise
        if reply.has_head and not had_head:
            left_bytes = _HEAD_BYTES_MAX + 2 * reply.body_bytes_max
        left_bytes -= len(received)
        if left_bytes < 0 and not reply.is_complete:
            raise ReplyTooLarge(reply.status if reply.has_head else None)


# --- endpoints that do not answer -----------------------------------------------------------------


class Unanswered:
    """The endpoints that have timed out lately, so that it is no use to wait for them again now: tries fail at once.

    Tries follow each other by service time. An advance over many of them would otherwise wait a whole time-out of real
    time for each; so it waits once. An endpoint is tried again once as much real time as its time-out has passed.
    """

    def __init__(self, clock: Clock, timeout_seconds: float) -> None:
        """`timeout_seconds`: real time in which an endpoint has to answer."""
        self._monotonic = clock.monotonic
        self._timeout_seconds = timeout_seconds
        self._timed_out: dict[str, float] = {}
        """Monotonic time of the last time-out, by endpoint."""

    def timed_out(self, endpoint: str) -> None:
        """Note that an endpoint has not answered a try within the time-out."""
        self._timed_out[endpoint] = self._monotonic()

    def answered(self, endpoint: str) -> None:
        """Note that an endpoint has answered, whatever the answer was."""
        self._timed_out.pop(endpoint, None)

    def forget(self) -> None:
        """Let every endpoint be tried."""
        self._timed_out.clear()

    def seconds_without_answer(self, endpoint: str) -> float | None:
        """For how long an endpoint that is not to be tried now has not answered,
        its time-out included; None: try it.
        """
        timed_out = self._timed_out.get(endpoint)
        if timed_out is None:
            return None
        past_seconds = self._monotonic() - timed_out
        return past_seconds + self._timeout_seconds if past_seconds < self._timeout_seconds else None
