"""How do a connection's bytes become requests? One message after the other, by httptools' parser. The connection spares
the parser a message with a head like the last one (`usual_head.py`).

A long read is parsed only until a request is complete. This file limits the size of a message. It must not know
transports, replies, states of connections or time: it returns refusals to its caller.
Source of limits: operations.md 1.1.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import httptools

from hashrange.items.growing_bytes import GrowingBytes
from hashrange.limits import BODY_BYTES_MAX
from hashrange.server.incoming import PIECE_BYTES
from hashrange.server.misdirected_clients import TLS_HANDSHAKE
from hashrange.server.receive_budget import SMALL_BYTES
from hashrange.server.refusals import BODY_TOO_LARGE, MALFORMED, SPEAKS_TLS, Refusal
from hashrange.wire.http import HEAD_BYTES_MAX, HeaderLayout, HttpRequest, layout_of
from hashrange.wire.usual_head import UsualHead, usual_head

PIECES_MAX = 4
"""Most pieces of a long read that are parsed in a row; fewer if one of them completes a request."""
FRAME_BYTES_FREE = 16
"""Each byte of data cancels this many framing bytes of its own read or earlier ones; a chunk of one byte has 5."""
TRAILERS_MAX = 64

BodyLimit = Callable[[bytes], int]
"""URL of a request → most bytes of its body, at least BODY_BYTES_MAX; called for long bodies only."""
RefuseBody = Callable[[HttpRequest], Refusal]
"""A request without its body → how it is refused, because the body is too long."""


def usual_body_limit(_url: bytes) -> int:
    """The limit of DynamoDB's requests, whatever the URL."""
    return BODY_BYTES_MAX


class BodyStream(Protocol):
    """Takes the body of one request as it comes, so that it is not in memory. None of these methods waits."""

    received_bytes: int
    """Bytes that have come."""

    @property
    def is_full(self) -> bool:
        """True while what has come waits for the disk: no more should be read."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""

    def when_ready(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` once it is no longer full; not after `drop`."""

    def end(self) -> None:
        """The body has come whole."""

    def drop(self) -> None:
        """The client has left, or is refused: forget what has come."""


TakeBody = Callable[[HttpRequest], "BodyStream | Refusal | None"]
"""A PUT request without its body → what takes the body, how it is refused before the body is read, or None: the body
is kept in memory, as others are."""


class LongBodies(NamedTuple):
    """How long bodies may be, how longer ones are refused, and who takes bodies of any length as they come."""

    limit: BodyLimit
    refuse: RefuseBody
    take: TakeBody | None = None
    """None: nobody does."""


PLAIN_LONG_BODIES = LongBodies(usual_body_limit, lambda _request: BODY_TOO_LARGE)
"""With refusals in no service's form."""


def head_bytes(url: bytes, names: Sequence[bytes], values: Sequence[bytes | None]) -> int:
    """Length of the head that consists of this URL and these headers, each with 4 bytes of punctuation."""
    return len(url) + sum(map(len, names)) + sum(len(value or b"") for value in values) + 4 * len(values)


class Framing:
    """Counts a chunked body's framing bytes: sizes, extensions, trailers.

    Bytes of data make up for a part of them; the others have the same limit as a head.
    """

    __slots__ = ("_body_bytes", "_frame_bytes", "_message_bytes", "head_bytes")

    def __init__(self, head_bytes: int) -> None:
        self.head_bytes = head_bytes
        self._message_bytes = head_bytes
        self._body_bytes = 0
        self._frame_bytes = 0

    def is_too_large(self, message_bytes: int, body_bytes: int, trailers: int) -> bool:
        """True if the framing exceeds its limits. Must be called after each read with the totals received so far.

        Only complete trailers count in `trailers`. Each byte of data cancels `FRAME_BYTES_FREE` framing bytes
        of its own read or earlier ones, never of later ones, so that no amount of data allows for endless trailers.
        """
        data_bytes = body_bytes - self._body_bytes
        other_bytes = message_bytes - self._message_bytes - data_bytes
        self._frame_bytes = max(0, self._frame_bytes + other_bytes - FRAME_BYTES_FREE * data_bytes)
        self._message_bytes = message_bytes
        self._body_bytes = body_bytes
        return self._frame_bytes > HEAD_BYTES_MAX or trailers > TRAILERS_MAX


class Reading:
    """A connection's message being received, and its complete requests. The parser calls the methods `on_…`."""

    __slots__ = (
        "body",
        "framing",
        "head_names",
        "head_values",
        "layout",
        "long_bodies",
        "message_bytes",
        "on_header",
        "parser",
        "ready",
        "refusal",
        "rest",
        "stream",
        "url",
        "usual",
        "wants_continue",
    )

    def __init__(self, long_bodies: LongBodies = PLAIN_LONG_BODIES) -> None:
        self.long_bodies = long_bodies
        self.head_names: list[bytes] = []
        self.head_values: list[bytes | None] = []
        append_name, append_value = self.head_names.append, self.head_values.append

        def on_header(name: bytes, value: bytes) -> None:
            append_name(name)
            append_value(value)

        self.on_header = on_header
        self.parser = httptools.HttpRequestParser(self)
        self.usual: UsualHead | None = None
        """Of the last request, if its client may send more like it, and while the parser has no part of a message."""
        self.url = b""
        self.layout: HeaderLayout | None = None
        """Positions of the headers in `head_values`; None until the message's head is complete."""
        self.framing: Framing | None = None
        """Counts the framing bytes of a chunked body (sizes, extensions, trailers); None for other bodies."""
        self.body: bytes | GrowingBytes = b""
        """The parts of the body so far. It gives them back as bytes without copying them:
        70 MB would take 40 ms or more."""
        self.stream: BodyStream | None = None
        """What takes the body, in place of `body`; None: nothing does."""
        self.ready: deque[HttpRequest] = deque()
        self.rest: bytes | memoryview = b""
        """Received bytes that are not parsed yet, usually of a long read."""
        self.message_bytes = 0
        """Bytes received of the unfinished request, except those parsed together with the end of an earlier request."""
        self.refusal = MALFORMED
        """Refusal that `feed` returns if the parser raises an error, except for a TLS handshake."""
        self.wants_continue = False

    def keep(self, data: bytes) -> None:
        """Put bytes behind those that are not parsed yet."""
        self.rest = memoryview(b"".join((self.rest, data)) if self.rest else data)

    def drop(self) -> None:
        """Drop the bytes not parsed yet and the unfinished body; complete requests stay."""
        self.rest = self.body = b""
        self.wants_continue = False
        if self.stream is not None:
            self.stream.drop()
            self.stream = None

    def close(self) -> None:
        """Drop all input and the parser, which refers back to this object."""
        self.drop()
        self.ready.clear()
        self.on_header = None  # type: ignore[assignment]
        self.parser = None  # type: ignore[assignment]

    def feed(self, data: bytes | memoryview) -> Refusal | None:
        """Parse bytes into requests; returns a Refusal after a fault.

        The parser stops at a request that offers a protocol upgrade, as Java's HTTP client does. The offer is ignored:
        `rest` now begins with this request, the offer cut out, and is to be parsed next.
        """
        self.message_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._begin_again(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            is_beginning = len(data) == self.message_bytes
            return SPEAKS_TLS if is_beginning and bytes(data[: len(TLS_HANDSHAKE)]) == TLS_HANDSHAKE else self.refusal
        return None

    def feed_rest(self) -> Refusal | None:
        """Parse pieces of `rest`, each of `next_bytes()` bytes, until one completes a request; at most `PIECES_MAX`.

        Returns a fault's Refusal, else None, whether or not a request is complete or all of `rest` is parsed.
        """
        for _ in range(PIECES_MAX):
            if self.ready or not self.rest:
                break
            size = self.next_bytes()
            piece, self.rest = self.rest[:size], self.rest[size:]
            refusal = self.feed(piece)
            if refusal is not None:
                return refusal
        return None

    def _begin_again(self, behind: bytes | memoryview) -> Refusal | None:
        """Replace the parser, which stopped at an upgrade offer. Prepend the request's head without the offer, and
        `behind`, the bytes after the head, to `rest`.

        Returns MALFORMED if the method is CONNECT.
        """
        request = self.ready.pop()
        if request.method == b"CONNECT":
            return MALFORMED
        self.message_bytes = 0
        head = request.head_without(b"upgrade", self.parser.get_http_version())
        self.parser = httptools.HttpRequestParser(self)
        self.usual = None
        self.rest = memoryview(b"".join((head, behind, self.rest)))
        return None

    def next_bytes(self) -> int:
        """Size of the next piece: `PIECE_BYTES` or, if more, all a body of known length lacks: copying is cheap."""
        layout = self.layout
        if layout is None or layout.content_length < 0:
            return PIECE_BYTES
        return max(PIECE_BYTES, int(self.head_values[layout.content_length] or b"0") - self._body_bytes())

    def large_body_bytes(self) -> int:
        """Size to reserve for the unfinished body: its length or, if unknown, the largest; 0 while it is small."""
        layout = self.layout
        if layout is None:
            return 0
        if layout.content_length >= 0:
            length_bytes = int(self.head_values[layout.content_length] or b"0")
            return length_bytes if length_bytes > SMALL_BYTES else 0
        return self.long_bodies.limit(self.url) if self._body_bytes() > SMALL_BYTES else 0

    def is_too_large(self) -> bool:
        """True if an unfinished message's head, or its chunked body's framing, is too large; called after each read."""
        layout = self.layout
        if layout is None:
            return self.message_bytes > HEAD_BYTES_MAX
        trailers = len(self.head_names) - len(layout.names)
        return self.framing is not None and self.framing.is_too_large(self.message_bytes, self._body_bytes(), trailers)

    # --- parser callbacks -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A message begins."""
        self.usual = None

    def on_url(self, url: bytes) -> None:
        """Append this part of the request's URL; the parser may find the URL in parts."""
        self.url += url

    def on_headers_complete(self) -> None:
        """The head is complete: refuse it if it is too large, or announces a body that is too large."""
        names = self.head_names
        values = self.head_values
        layout = self.layout = layout_of(tuple(names))
        if self.message_bytes > HEAD_BYTES_MAX and head_bytes(self.url, names, values) > HEAD_BYTES_MAX:
            self._refuse(MALFORMED)
        if self.long_bodies.take is not None and self.parser.get_method() == b"PUT":
            self._offer(self.long_bodies.take)
        if layout.content_length >= 0:
            length = values[layout.content_length]
            if length is not None and len(length) > 7 and self.stream is None:
                self._check_length(int(length))
        elif layout.transfer_encoding >= 0:
            self.framing = Framing(head_bytes(self.url, names, values))
        if layout.expect >= 0:
            self.wants_continue = True

    def on_body(self, body: bytes) -> None:
        """Append this part of the body; refuse a body that is too large."""
        if self.stream is not None:
            self.stream.feed(body)
            return
        if not self.body:
            self.body = body
            return
        if type(self.body) is bytes:
            begun = GrowingBytes()
            begun.write(self.body)
            self.body = begun
        assert isinstance(self.body, GrowingBytes)
        self.body.write(body)
        body_bytes = self.body.tell()
        if body_bytes > BODY_BYTES_MAX:
            self._check_length(body_bytes)

    def _body_bytes(self) -> int:
        """Length of the body so far."""
        if self.stream is not None:
            return self.stream.received_bytes
        body = self.body
        return body.tell() if isinstance(body, GrowingBytes) else len(body)

    def _check_length(self, body_bytes: int) -> None:
        """Refuse a body that is too large."""
        if body_bytes > self.long_bodies.limit(self.url):
            self._refuse(self.long_bodies.refuse(self._head()))

    def _head(self) -> HttpRequest:
        """The request without its body."""
        layout = self.layout
        assert layout is not None
        values = [*self.head_values[: len(layout.names)], None]
        return HttpRequest(self.parser.get_method(), self.url, layout, values, b"", keeps_alive=False)

    def _offer(self, take: TakeBody) -> None:
        """Ask who takes the body as it comes."""
        taken = take(self._head())
        if isinstance(taken, Refusal):
            self._refuse(taken)
        else:
            self.stream = taken

    def on_chunk_complete(self) -> None:
        """A chunk is complete: refuse trailers that are too large."""
        assert self.layout is not None
        assert self.framing is not None
        if len(self.head_names) > len(self.layout.names):
            whole_bytes = head_bytes(self.url, self.head_names, self.head_values)
            if whole_bytes - self.framing.head_bytes > HEAD_BYTES_MAX:
                self._refuse(MALFORMED)

    def on_message_complete(self) -> None:
        """Append the complete request to `ready`."""
        parser, layout, body = self.parser, self.layout, self.body
        assert layout is not None
        values = [*self.head_values, None]
        if self.framing is not None:
            del values[len(layout.names) : -1]  # drop the trailers of a chunked body
        whole = body if isinstance(body, bytes) else body.getvalue()
        request = HttpRequest(parser.get_method(), self.url, layout, values, whole, parser.should_keep_alive())
        request.is_root_post = request.url == b"/" and request.method == b"POST"
        if layout.host < 0:
            request.lacks_host = parser.get_http_version() != "1.0"
        if self.stream is not None:
            self.stream.end()
            request.stream, self.stream = self.stream, None
        self.ready.append(request)
        may_repeat = request.keeps_alive and request.is_root_post
        self.usual = usual_head(layout, self.head_names) if may_repeat else None
        self.head_names.clear()
        self.head_values.clear()
        self.url = self.body = b""
        self.layout = self.framing = None
        self.wants_continue = False

    def _refuse(self, refusal: Refusal) -> None:
        """End parsing by a ValueError: the parser turns it into its own error, and `feed` returns `refusal`."""
        self.refusal = refusal
        raise ValueError(refusal[1])
