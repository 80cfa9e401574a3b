"""How do a connection's bytes become requests? One message after the other, by httptools' parser.

Of a long read no more is parsed in a row than completes a request. This file bounds what a message holds. It must not know transports,
replies, states of connections or time: whoever feeds it hears what has to be refused.
Source of limits: operations.md 1.1.
"""

from collections import deque
from enum import Enum, auto
from typing import Final

import httptools

from hashrange.server.hints import TLS_HANDSHAKE
from hashrange.server.receive_budget import SMALL_BYTES
from hashrange.server.refusals import BODY_TOO_LARGE, MALFORMED, SPEAKS_TLS, Refusal
from hashrange.server.slow_clients import Framing, head_bytes
from hashrange.wire.http import BODY_BYTES_MAX, HEAD_BYTES_MAX, HttpRequest, Layout, layout_of

PIECE_BYTES = 8 * 1024
"""A longer read is parsed in such pieces, until one has completed a request: as many as fit into it take 0.7 ms, into a whole read 23 ms."""
PIECES_MAX = 4
"""So many pieces of a long read are parsed in a row when none of them completes a request."""


class Stop(Enum):
    """Why the parser stops before the end of what it is fed, though all is well."""

    OFFER = auto()
    """A client offers to go on in another protocol, as Java's does. The offer is passed over."""


OFFER: Final = Stop.OFFER


class Reading:
    """The message that comes, and the requests that have come. The methods `on_…` are called by the parser."""

    __slots__ = (
        "body", "framing", "head_names", "head_values", "layout", "message_bytes", "on_header", "parser", "ready", "refusal", "rest",
        "url", "wants_continue",
    )  # fmt: skip

    def __init__(self) -> None:
        self.head_names: list[bytes] = []
        self.head_values: list[bytes | None] = []
        append_name, append_value = self.head_names.append, self.head_values.append

        def on_header(name: bytes, value: bytes) -> None:
            append_name(name)
            append_value(value)

        self.on_header = on_header
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.layout: Layout | None = None
        """None until the head is whole."""
        self.framing: Framing | None = None
        """Of a body in chunks."""
        self.body: bytes | bytearray = b""
        self.ready: deque[HttpRequest] = deque()
        self.rest: bytes | memoryview = b""
        """Of a long read: what is not parsed yet."""
        self.message_bytes = 0
        """Bytes received of a request that is not complete yet."""
        self.refusal = MALFORMED
        """What the parser's error is answered with."""
        self.wants_continue = False

    def drop(self) -> None:
        """Nothing more is parsed; requests that are whole stay."""
        self.rest = self.body = b""
        self.wants_continue = False

    def close(self) -> None:
        """Without the parser, nothing refers to this object but its connection."""
        self.drop()
        self.ready.clear()
        self.on_header = None  # type: ignore[assignment]
        self.parser = None  # type: ignore[assignment]

    def feed(self, data: bytes | memoryview) -> Refusal | Stop | None:
        """Make requests of these bytes. None if they are fit for it; after `OFFER`, go on with `rest`; after a Refusal, with nothing."""
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
        """Parse on in a long read until a request is whole, or some pieces of it: then others have their turn."""
        for _ in range(PIECES_MAX):
            if self.ready or not self.rest:
                break
            size = self.next_bytes()
            piece, self.rest = self.rest[:size], self.rest[size:]
            outcome = self.feed(piece)
            if outcome is not None and outcome is not OFFER:
                return outcome
        return None

    def _begin_again(self, behind: bytes | memoryview) -> Refusal | Stop:
        """The parser has stopped before the body of a request with an offer: the request is to be read again, without it."""
        request = self.ready.pop()
        if request.method == b"CONNECT":
            return MALFORMED
        self.message_bytes = 0
        self.parser = httptools.HttpRequestParser(self)
        self.rest = memoryview(b"".join((request.head_without(b"upgrade"), behind, self.rest)))
        return OFFER

    def next_bytes(self) -> int:
        """How much may be parsed at once: what is missing of a body of known length is not looked at."""
        layout = self.layout
        if layout is None or layout.content_length < 0:
            return PIECE_BYTES
        return max(PIECE_BYTES, int(self.head_values[layout.content_length] or b"0") - len(self.body))

    def large_body_bytes(self) -> int:
        """What the body that comes may hold in all; 0 while it is a small one."""
        layout = self.layout
        if layout is None:
            return 0
        if layout.content_length >= 0:
            length_bytes = int(self.head_values[layout.content_length] or b"0")
            return length_bytes if length_bytes > SMALL_BYTES else 0
        return BODY_BYTES_MAX if len(self.body) > SMALL_BYTES else 0

    def is_too_large(self) -> bool:
        """Asked when a read has ended inside a message: does it hold more than it may, besides the data of its body?"""
        layout = self.layout
        if layout is None:
            return self.message_bytes > HEAD_BYTES_MAX
        trailers = len(self.head_names) - len(layout.names)
        return self.framing is not None and self.framing.is_too_large(self.message_bytes, len(self.body), trailers)

    # --- the parser's calls ---------------------------------------------------------------------

    def on_url(self, url: bytes) -> None:
        """A piece of the request line's target."""
        self.url += url

    def on_headers_complete(self) -> None:
        """The head is whole: refuse what is too large before its body comes."""
        names = self.head_names
        values = self.head_values
        layout = self.layout = layout_of(tuple(names))
        if self.message_bytes > HEAD_BYTES_MAX and head_bytes(self.url, names, values) > HEAD_BYTES_MAX:
            self._refuse(MALFORMED)
        if layout.content_length >= 0:
            length = values[layout.content_length]
            if length is not None and len(length) > 7 and int(length) > BODY_BYTES_MAX:
                self._refuse(BODY_TOO_LARGE)
        elif layout.transfer_encoding >= 0:
            self.framing = Framing(head_bytes(self.url, names, values))
        if layout.expect >= 0:
            self.wants_continue = True

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if not self.body:
            self.body = body
            return
        if type(self.body) is bytes:
            self.body = bytearray(self.body)
        self.body += body
        if len(self.body) > BODY_BYTES_MAX:
            self._refuse(BODY_TOO_LARGE)

    def on_chunk_complete(self) -> None:
        """A chunk is whole; the last one's trailers too."""
        assert self.layout is not None
        assert self.framing is not None
        if len(self.head_names) > len(self.layout.names):
            whole_bytes = head_bytes(self.url, self.head_names, self.head_values)
            if whole_bytes - self.framing.head_bytes > HEAD_BYTES_MAX:
                self._refuse(MALFORMED)

    def on_message_complete(self) -> None:
        """The request is whole: it waits for its turn."""
        parser = self.parser
        values = self.head_values.copy()
        layout = self.layout
        assert layout is not None
        if self.framing is not None:
            del values[len(layout.names) :]  # trailers of a chunked body
        values.append(None)
        body = self.body
        self.ready.append(
            HttpRequest(
                parser.get_method(),
                self.url,
                layout,
                values,
                body if type(body) is bytes else bytes(body),
                parser.should_keep_alive(),
            )
        )
        self.head_names.clear()
        self.head_values.clear()
        self.url = self.body = b""
        self.layout = self.framing = None
        self.wants_continue = False

    def _refuse(self, refusal: Refusal) -> None:
        """End the parsing: the parser turns this into an error of its own."""
        self.refusal = refusal
        raise ValueError(refusal[1])
