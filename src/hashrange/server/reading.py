"""How do a connection's bytes become requests? One message after the other, by httptools' parser.

This file bounds what a message holds. It must not know transports, replies or time: what has to be refused is told by `refusal`.
Source of limits: operations.md 1.1.
"""

from collections import deque

import httptools

from hashrange.messages import http as sentences
from hashrange.server.bounds import Framing, head_bytes
from hashrange.server.room import SMALL_BYTES
from hashrange.wire.http import BODY_BYTES_MAX, HEAD_BYTES_MAX, Layout, Request, layout_of

PIECE_BYTES = 8 * 1024
"""A longer read is parsed in such pieces, until one has completed a request: as many as fit into it take 0.7 ms, into a whole read 23 ms."""

Refusal = tuple[int, bytes]
"""Status and body of a reply to what is no request."""
_MALFORMED: Refusal = (400, sentences.MALFORMED_REQUEST)
_TOO_LARGE: Refusal = (413, sentences.BODY_TOO_LARGE)


class Reading:
    """The message that comes, and the requests that have come. The methods `on_…` are called by the parser."""

    __slots__ = (
        "body", "framing", "head_names", "head_values", "layout", "message_bytes", "on_header", "parser", "ready", "refusal", "url",
        "wants_continue",
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
        self.ready: deque[Request] = deque()
        self.message_bytes = 0
        """Bytes received of a request that is not complete yet."""
        self.refusal = _MALFORMED
        """What the parser's error is answered with."""
        self.wants_continue = False

    def close(self) -> None:
        """Nothing more is read: without the parser, nothing refers to this object but its connection."""
        self.ready.clear()
        self.body = b""
        self.on_header = None  # type: ignore[assignment]
        self.parser = None  # type: ignore[assignment]

    def begin_again(self) -> Request:
        """A client offers another protocol (Java's does), and the parser has stopped before the body: its request comes back, to be read again."""
        self.message_bytes = 0
        self.parser = httptools.HttpRequestParser(self)
        return self.ready.pop()

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
            self._refuse(_MALFORMED)
        if layout.content_length >= 0:
            length = values[layout.content_length]
            if length is not None and len(length) > 7 and int(length) > BODY_BYTES_MAX:
                self._refuse(_TOO_LARGE)
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
            self._refuse(_TOO_LARGE)

    def on_chunk_complete(self) -> None:
        """A chunk is whole; the last one's trailers too."""
        assert self.layout is not None
        assert self.framing is not None
        if len(self.head_names) > len(self.layout.names):
            whole_bytes = head_bytes(self.url, self.head_names, self.head_values)
            if whole_bytes - self.framing.head_bytes > HEAD_BYTES_MAX:
                self._refuse(_MALFORMED)

    def on_message_complete(self) -> None:
        """The request is whole: it waits for its turn."""
        parser = self.parser
        values = self.head_values.copy()
        layout = self.layout
        assert layout is not None
        del values[len(layout.names) :]  # trailers of a chunked body
        values.append(None)
        body = self.body
        self.ready.append(
            Request(
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
