"""How is one HTTP request sent, and its reply read? On a connection of its own, within bounds;
the caller limits the time, and may ask which endpoints have timed out lately.

None of the project's dependencies is an HTTP client for asyncio; httptools parses the reply.
A connection for each request costs little next to what is asked for, and is never left in an unknown state.
Redirects are not followed, and what follows a complete reply is not looked at.

Whoever may name a URL decides what its endpoint answers, and many may answer in the same moment. So replies are parsed
in pieces, a few of them in each turn of the loop (`turns.py`), and handshakes of TLS are made on a thread.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httptools

from hashrange.clock import Clock
from hashrange.errors import HashrangeError
from hashrange.functions.host_lookups import HOSTS
from hashrange.functions.reply_bytes import ReplyBytes
from hashrange.functions.turns import by_size, in_turn
from hashrange.items.growing_bytes import GrowingBytes
from hashrange.messages import functions as messages
from hashrange.settings import SettingUnusable
from hashrange.terminal import without_user
from hashrange.wire.http import HEAD_BYTES_MAX
from hashrange.work_threads import WorkThread

HEADERS_MAX = 256
"""Most headers of a reply, with the trailers of its body."""
FRAME_BYTES_FREE = 16
"""Each byte of data makes up for this many framing bytes (sizes, extensions, trailers) of its own piece or of earlier
ones. The others are limited as a head is."""
PIECE_BYTES = 8 * 1024
"""Most bytes that are parsed at a time, except of a body without chunks: up to half a millisecond of work."""
_CHUNK_BYTES = 64 * 1024
_DEFAULT_PORTS = {"http": 80, "https": 443}
Read = Callable[[int], Awaitable[bytes]]
"""Length → up to as many bytes of a reply, once there are any; none once the server sends nothing more."""
_PRELIMINARY = frozenset((0, *range(100, 200))) - {101}
"""0, and statuses of replies that another reply follows; after 101, another protocol would."""


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
    is_tls: bool

    @property
    def url(self) -> str:
        """The URL for messages, without its query, which may hold secrets."""
        path, _, _ = self.path.partition("?")
        return f"{'https' if self.is_tls else 'http'}://{self.authority}{path}"


class RemoteReply(NamedTuple):
    """A complete reply."""

    status: int
    headers: Mapping[bytes, bytes]
    """By lower-case name; of repeated headers, the last one."""
    body: bytes
    fields: Sequence[tuple[bytes, bytes]] = ()
    """All headers as received."""


def read_target(url: str) -> HttpTarget:
    """Take a URL with http or https apart. Raises UrlUnusable for any other text, and for a URL with a user name."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")  # as the resolver does; raises UnicodeError for names that cannot be resolved
        port = parts.port if parts.port is not None else _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        raise UrlUnusable(messages.url_unusable(without_user(url, "…@"))) from None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in _DEFAULT_PORTS or not host or not port or not is_plain or parts.username is not None:
        raise UrlUnusable(messages.url_unusable(without_user(url, "…@")))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return HttpTarget(host, port, parts.netloc, path, parts.scheme == "https")


def read_setting(flag: str, url: str) -> HttpTarget:
    """The URL of a setting, as `read_target`. Raises SettingUnusable, which names the flag."""
    try:
        return read_target(url)
    except UrlUnusable as error:
        raise SettingUnusable(f"{flag}: {error}") from error


async def exchange(
    target: HttpTarget, method: str, headers: Mapping[str, str], body: bytes, reply_bytes_max: int
) -> RemoteReply:
    """Send a request and read its reply, whatever its status is.

    `method`: any but HEAD. `headers`: ASCII; Content-Length and Connection are added, and Host if it is not there.
    `reply_bytes_max`: greatest length of the reply's body. Raises ExchangeFailed, and ReplyTooLarge for a body that is
    longer, or a head of more than HEAD_BYTES_MAX or HEADERS_MAX. Has no time-out; may be cancelled at any time.
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
        arriving = await _connect(target)
        try:
            read: Read = arriving.read
            if target.is_tls:
                read = await _begin_tls(target.host, arriving, (head, body))
            else:
                await by_size(len(body), arriving.transport.writelines, [head, body])
            return await _read_reply(read, _Reply(reply_bytes_max, on_body, is_head_asked=is_head_asked))
        finally:
            arriving.transport.abort()
    except (OSError, EOFError, httptools.HttpParserError) as error:
        raise ExchangeFailed(str(error) or type(error).__name__) from error


async def _connect(target: HttpTarget) -> ReplyBytes:
    """A connection to the first address of the target's host at which somebody listens.

    Raises OSError, worded as by asyncio for a name that it looks up itself.
    """
    refusals: list[OSError] = []
    try:
        for address in await HOSTS.addresses_of(target.host):
            try:
                _, arriving = await asyncio.get_running_loop().create_connection(ReplyBytes, address, target.port)
                return arriving
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


# --- TLS ------------------------------------------------------------------------------------------

_TLS = WorkThread("hashrange-tls")
"""Makes all handshakes: a step takes 1 to 7 ms, and what many endpoints send in the same moment comes in one turn."""


@cache
def _trust(_paths: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """What is trusted: the machine's authorities, or those that SSL_CERT_FILE and SSL_CERT_DIR name. To read them takes
    some 30 ms and a megabyte, so all targets share it. A server that renegotiated would have handshakes made elsewhere.
    """
    context = ssl.create_default_context()
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


async def _begin_tls(host: str, arriving: ReplyBytes, request: Sequence[bytes]) -> Read:
    """Send a request over TLS. Returns what reads the reply, and, like this function, raises OSError."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()

    async def fed(run: Callable[..., Awaitable[Any]], step: Callable[..., Any], *arguments: int) -> Any:
        """The result of a step of TLS once enough has been received for it; empty if nothing more comes."""
        while True:
            try:
                return await run(step, *arguments)
            except ssl.SSLWantReadError:
                arriving.transport.write(sent.read())
            more = await arriving.read(PIECE_BYTES)
            if not more:
                return b""
            received.write(more)

    tls = await _TLS.run(lambda: _trust(ssl.get_default_verify_paths()).wrap_bio(received, sent, server_hostname=host))
    if await fed(_TLS.run, tls.do_handshake) is not None:
        raise ConnectionResetError
    for part in request:
        await _TLS.run(tls.write, part)
    await by_size(sent.pending, lambda written: arriving.transport.write(written.read()), sent)
    return partial(fed, in_turn, tls.read)


# --- replies --------------------------------------------------------------------------------------


class _Reply:
    """What httptools finds in a reply. Replies before the last one, such as 103 Early Hints, are passed over."""

    def __init__(self, body_bytes_max: int, on_body: Callable[[int], None], *, is_head_asked: bool) -> None:
        self.status = 0
        """That of the last head that is complete, which may be one of an informational reply; 0: there is none."""
        self.headers: dict[bytes, bytes] = {}
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = GrowingBytes()
        self.on_body = self.body.write
        self.parser: Any = httptools.HttpResponseParser(self)
        self.is_complete = False
        self._body_bytes_max = body_bytes_max
        self._is_head_asked = is_head_asked
        self._tell = on_body
        self._other_bytes = 0
        """Bytes of the head, then of the body's framing as far as its data does not make up for them."""

    @property
    def has_head(self) -> bool:
        """True once the head of the last reply has arrived."""
        return self.status not in _PRELIMINARY

    @property
    def ends_with_connection(self) -> bool:
        """True if the head has arrived and gives the body no length."""
        return self.has_head and not {b"content-length", b"transfer-encoding"} & self.headers.keys()

    @property
    def next_bytes(self) -> int:
        """How many bytes may be parsed next: of a head, no more than it may have."""
        if not self.has_head:
            return min(PIECE_BYTES, HEAD_BYTES_MAX - self._other_bytes)
        return PIECE_BYTES if b"transfer-encoding" in self.headers else _CHUNK_BYTES

    def parse(self, piece: bytes) -> None:
        """Parse up to `next_bytes`; what follows a complete reply is not looked at.
        Raises HttpParserError and ReplyTooLarge.
        """
        before_bytes = self.body.tell()
        self._other_bytes += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserError:
            if not self.is_complete:
                raise
        data_bytes = self.body.tell() - before_bytes
        self._tell(data_bytes)
        self._other_bytes = max(0, self._other_bytes - (1 + FRAME_BYTES_FREE) * data_bytes)
        is_head_too_large = self._other_bytes >= HEAD_BYTES_MAX and not self.is_complete
        if is_head_too_large or len(self.fields) > HEADERS_MAX or self.body.tell() > self._body_bytes_max:
            raise ReplyTooLarge(self.status if self.has_head else None)

    # --- parser callbacks ---------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self.headers, self.fields = {}, []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value
        self.fields.append((name, value))

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        if self.has_head:
            self._other_bytes = 0
        if self._is_head_asked:
            self.on_message_complete()

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_complete = True
            raise ValueError  # ends the parsing


async def _read_reply(read: Read, reply: _Reply) -> RemoteReply:
    """Read until a reply is complete. Raises OSError, EOFError, HttpParserError and ReplyTooLarge."""
    try:
        while not reply.is_complete:
            piece = await read(reply.next_bytes)
            if not piece:
                if reply.ends_with_connection:
                    break
                raise EOFError(messages.CONNECTION_CLOSED_EARLY)
            await in_turn(reply.parse, piece)
    finally:
        reply.parser = None  # it refers to the reply: a cycle
    return RemoteReply(reply.status, reply.headers, reply.body.getvalue(), reply.fields)


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
