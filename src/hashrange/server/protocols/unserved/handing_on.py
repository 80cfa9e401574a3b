"""How is a request handed on to another emulator, and its reply back?
As the client has sent it, with its Host, which the signature covers.

Headers that belong to a connection are not handed on. Requests and replies are whole in memory,
so their lengths and number are limited.
"""

import asyncio
import re
from collections.abc import Iterable
from functools import partial

from hashrange.functions.http_client import (
    ExchangeFailed,
    HttpTarget,
    RemoteReply,
    ReplyTooLarge,
    exchange_message,
)
from hashrange.messages import unserved as sentences
from hashrange.server.clients import free_reservation
from hashrange.server.incoming import Respond
from hashrange.server.protocols.unserved.services import ServiceRefusal, UnservedService, formed
from hashrange.wire.http import COMPLETE_HEAD, NOT_MODIFIED, HttpRequest

TOGETHER_MAX = 200
"""Requests that are with the other emulator at the same time; further ones wait."""
SECONDS_MAX = 300.0
"""Real time in which the other emulator must have replied."""
REPLY_BYTES_MAX = 64 * 1024 * 1024
"""Length of one reply's body."""
BODIES_BYTES_MAX = 512 * 1024 * 1024
"""Lengths of the bodies of all requests that are with the other emulator, or wait for their turn, together."""
HELD_BYTES_MAX = 512 * 1024 * 1024
"""Lengths of the bodies of all replies that are being received, together."""
STATUSES = range(200, 600)
"""Statuses of replies. 101 would let the client speak another protocol, which nobody hands on."""
MARK = b"x-hashrange-handed-on"
"""A header of every request that has been handed on: it must not come back."""
SANDBOX = b"Content-Security-Policy: sandbox\r\n"
"""Header line of every reply that has been handed on: no page of the emulator's, such as one that somebody has put into
its S3, is a page of this server, which may use everything."""

_scheme_and_host = re.compile(rb"^https?://[^/?]*", re.IGNORECASE)
_HOP = frozenset(
    (
        b"connection",
        b"content-length",
        b"expect",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)


class OtherEmulator:
    """The emulator of `--others`."""

    def __init__(self, target: HttpTarget) -> None:
        self._target = target
        self._free = asyncio.Semaphore(TOGETHER_MAX)
        self._held_bytes = 0
        self._bodies_bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def hand_on(self, request: HttpRequest, respond: Respond, service: UnservedService) -> None:
        """Let the other emulator answer the request, later; if its client leaves, the exchange is given up."""
        if request.header(MARK) is not None:
            message = sentences.LOOP.format(service=service.name, url=self._target.url)
            respond(*formed(request, service.form, ServiceRefusal(508, "LoopDetected", message)))
            return
        size_bytes = len(request.body)
        if size_bytes and self._bodies_bytes + size_bytes > BODIES_BYTES_MAX:
            message = sentences.TOO_MANY.format(service=service.name, url=self._target.url, most=BODIES_BYTES_MAX)
            respond(*formed(request, service.form, ServiceRefusal(503, "ServiceUnavailable", message)))
            return
        self._bodies_bytes += size_bytes
        task = asyncio.get_running_loop().create_task(self._answer(request, respond, service))
        self._tasks.add(task)
        request.on_abandoned = task.cancel  # nobody waits for the reply, and others wait for their turn
        task.add_done_callback(partial(self._forget, size_bytes))
        free_reservation(respond)  # otherwise a slow emulator would hold up DynamoDB's requests of more than 64 KB

    def _forget(self, size_bytes: int, task: "asyncio.Task[None]") -> None:
        self._bodies_bytes -= size_bytes
        self._tasks.discard(task)

    def end(self) -> None:
        """Answer the requests that are with the other emulator, or wait for their turn, because this server ends."""
        for task in self._tasks:
            task.cancel()

    async def _answer(self, request: HttpRequest, respond: Respond, service: UnservedService) -> None:
        try:
            async with self._free:
                async with asyncio.timeout(SECONDS_MAX):
                    reply = await self._exchange(request)
                if reply.status not in STATUSES:
                    raise ExchangeFailed(sentences.NO_STATUS.format(status=reply.status))
                respond(reply.status, reply.body, COMPLETE_HEAD, _lines_of(reply, request))
                return
        except asyncio.CancelledError:
            reason = sentences.ENDING
        except TimeoutError:
            reason = sentences.TOO_SLOW.format(seconds=SECONDS_MAX)
        except ReplyTooLarge:
            reason = sentences.TOO_LARGE.format(most=REPLY_BYTES_MAX, held=HELD_BYTES_MAX)
        except ExchangeFailed as error:
            reason = str(error)
        message = sentences.UNREACHABLE.format(service=service.name, url=self._target.url, reason=reason)
        respond(*formed(request, service.form, ServiceRefusal(502, "BadGateway", message)))

    async def _exchange(self, request: HttpRequest) -> RemoteReply:
        parts: list[int] = []
        try:
            return await exchange_message(
                self._target,
                _head_of(request, self._target),
                request.body,
                REPLY_BYTES_MAX,
                is_head_asked=request.method == b"HEAD",
                on_body=partial(self._hold, parts),
            )
        finally:
            self._held_bytes -= sum(parts)

    def _hold(self, parts: list[int], size_bytes: int) -> None:
        parts.append(size_bytes)
        self._held_bytes += size_bytes
        if self._held_bytes > HELD_BYTES_MAX:
            raise ReplyTooLarge(None)


def _head_of(request: HttpRequest, target: HttpTarget) -> bytes:
    """Request line and headers. The path of the emulator's URL, if it has one, comes before the request's."""
    headers = list(zip(request.layout.names, request.values, strict=False))
    left_out = _HOP | _named_in_connection(headers) | {MARK}
    lines = [b"%b: %b\r\n" % (name, value) for name, value in headers if value is not None and name not in left_out]
    has_length = request.body or request.method not in (b"GET", b"HEAD")
    length = b"Content-Length: %d\r\n" % len(request.body) if has_length else b""
    base = target.path.partition("?")[0].rstrip("/").encode()
    url = _scheme_and_host.sub(b"", request.url)
    if not url.startswith((b"/", b"*")):  # of a whole URL without a path, only a query may be left
        url = b"/" + url
    head = b"%b %b%b HTTP/1.1\r\n%b%b" % (request.method, base, url, b"".join(lines), length)
    return head + b"Connection: close\r\n%b: 1\r\n\r\n" % MARK


def _named_in_connection(headers: Iterable[tuple[bytes, bytes | None]]) -> frozenset[bytes]:
    """Names of headers that belong to a connection because `Connection` says so. A request keeps its host."""
    texts = [value for name, value in headers if name == b"connection" and value is not None]
    return frozenset(name.strip().lower() for text in texts for name in text.split(b",")) - {b"host"}


def _lines_of(reply: RemoteReply, request: HttpRequest) -> bytes:
    """The reply's headers but for those of its connection.
    The length is that of a body which is not sent, or is left out.
    """
    left_out = _HOP | _named_in_connection([(name.lower(), value) for name, value in reply.fields])
    is_length_told = request.method == b"HEAD" or reply.status == NOT_MODIFIED
    kept = [
        b"%b: %b\r\n" % field
        for field in reply.fields
        if field[0].lower() not in left_out or (is_length_told and field[0].lower() == b"content-length")
    ]
    return b"".join(kept) + SANDBOX
