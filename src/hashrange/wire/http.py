"""How are HTTP requests represented, and replies written as bytes, with their headers,
checksum and compression? No sockets, no clock.

A request's headers are two parallel lists of names and values, as the parser found them. Clients repeat the same names
in the same order, so the position of each header is computed once per list of names and cached as a `HeaderLayout`.
Sources: operations.md 1.1 (headers of replies, content types, compression, CORS).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import msgspec
from zlib_ng.zlib_ng import crc32  # zlib-ng's crc32 runs at 50 GB/s; zlib's takes 3 µs for 10 KB

from hashrange.items.steps import walk
from hashrange.wire.content_codings import COMPRESS_FROM_BYTES, accepted_coding, compress
from hashrange.wire.identifiers import PROCESS_PREFIX, next_number

HEAD_BYTES_MAX = 16 * 1024
"""Length of request line and headers; a longer head is answered with 400 (operations.md 1.1)."""
HASH_LENGTH = 64
"""Hexadecimal digits of a payload's SHA-256; no word sent in place of it (UNSIGNED-PAYLOAD) has this length."""
LARGE_BYTES = 64 * 1024
"""A reply's body of at least this size is written at once: too large to hold, or to copy behind the reply's head."""
LAYOUTS_MAX = 512
USUAL_NAMES_MAX, USUAL_NAMES_BYTES_MAX = 32, 1_024
"""Most header names of a usual head, and most bytes of all its names: only of usual heads, patterns and templates are
kept. SDKs send up to 15 headers."""

CONTENT_TYPES = {b"application/x-amz-json-1.0": b"application/x-amz-json-1.0", b"application/json": b"application/json"}
"""Content types of the JSON protocol: that of a request → that of its reply."""

REASONS = {status.value: status.phrase.encode() for status in HTTPStatus} | {413: b"Request Entity Too Large"}
"""The phrase of each status. That of 413 is named differently by newer versions of Python."""
COMPLETE_HEAD = b""
"""As content type of a reply: all its headers but Connection and Content-Length are given,
and its body is sent as it is."""
NOT_MODIFIED = 304
"""Status of replies without a body, whose Content-Length is that of the body which they spare."""
NO_CONTENT = 204
"""Status of replies without a body, which must not have a Content-Length (RFC 9110, 8.6)."""
CODE_PATH = b"/_lambda/code/"
"""Links to the code of functions begin with this path; who knows one may follow it."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class HeaderLayout:
    """The positions of headers in a request's list of values; an absent header has -1, where the list has a None."""

    def __init__(self, names: Sequence[bytes]) -> None:
        self.names = tuple(name.lower() for name in names)
        positions: dict[bytes, list[int]] = {}
        for position, name in enumerate(self.names):
            positions.setdefault(name, []).append(position)
        self.positions: Mapping[bytes, Sequence[int]] = positions
        self.target = self._only(b"x-amz-target")
        self.authorization = self._only(b"authorization")
        self.x_amz_date = self._only(b"x-amz-date")
        self.security_token = self._only(b"x-amz-security-token")
        self.content_type = self._only(b"content-type")
        self.content_encoding = self._only(b"content-encoding")
        self.content_length = self._only(b"content-length")
        self.content_sha256 = self._only(b"x-amz-content-sha256")
        self.accept_encoding = self._only(b"accept-encoding")
        self.transfer_encoding = self._only(b"transfer-encoding")
        self.expect = self._only(b"expect")
        self.origin = self._only(b"origin")
        self.host = self._only(b"host") if len(positions.get(b"host", ())) == 1 else -1
        """Two are as bad as none (RFC 9112, 3.2)."""
        self.is_plain = self.content_encoding < 0 and self.content_sha256 < 0
        """True without Content-Encoding and X-Amz-Content-SHA256; the JSON protocol's fast path takes such requests."""
        self.is_hashed = self.content_encoding < 0 <= self.content_sha256
        """True with X-Amz-Content-SHA256 and without Content-Encoding. The JSON protocol's fast path takes such
        requests if the header's value is a hash, and not a marker such as UNSIGNED-PAYLOAD."""

        self.is_usual = len(names) <= USUAL_NAMES_MAX and sum(map(len, names)) <= USUAL_NAMES_BYTES_MAX

    def _only(self, name: bytes) -> int:
        return self.positions.get(name, (-1,))[0]


_layouts: dict[tuple[bytes, ...], HeaderLayout] = {}


def layout_of(names: tuple[bytes, ...]) -> HeaderLayout:
    """The layout of this list of header names, from a bounded cache."""
    layout = _layouts.get(names)
    if layout is None:
        layout = HeaderLayout(names)
        if len(names) <= 64:
            if len(_layouts) >= LAYOUTS_MAX:
                _layouts.clear()
            _layouts[names] = layout
    return layout


class HttpRequest(msgspec.Struct, gc=False):
    """One complete HTTP request. A struct, because an instance of a class takes three times as long to create."""

    method: bytes
    url: bytes
    layout: HeaderLayout
    values: list[bytes | None]
    """Header values at the positions in `layout`, then a None, which represents every absent header."""
    body: bytes
    keeps_alive: bool
    is_root_post: bool = False
    """True only for `POST /`, as SDKs send all requests of DynamoDB. Fast paths ask for it;
    False says nothing: the slow paths look at method and URL.
    """
    number: int = msgspec.field(default_factory=next_number)
    """Number of the request; `request_id_of` turns it into the request's id."""
    is_abandoned: bool = False
    """True if the client has disconnected: the request is skipped if it has not begun, or may end with Abandoned."""
    is_input_over: bool = False
    """True if the client has ended what it sends, because it has left, or because it only waits for its replies."""
    lacks_host: bool = False
    """True if there is not one Host, though HTTP/1.1 requires it."""
    shares_reply: bool | None = None
    """Whether the reply tells browsers that pages of other origins may read it; None:
    as DynamoDB does, if it is one to a POST."""
    on_abandoned: Callable[[], object] | None = None
    """Called by `abandon`; the request must be answered nevertheless."""
    stream: Any = None
    """What has taken the body as it came, in place of `body` (`server/reading.py`); None: nothing has."""

    def header(self, name: bytes) -> bytes | None:
        """The value of the first header of this (lower-case) name, without surrounding blanks; None if there is none.

        The parser leaves blanks after a value. Fast paths compare `values` unstripped; a request whose value has blanks
        does not match, and takes a slower path that calls this method.
        """
        value = self.values[self.layout.positions.get(name, (-1,))[0]]
        return value.strip(b" \t") if value is not None else None

    def abandon(self) -> None:
        """The client has disconnected, before the request was answered."""
        self.is_abandoned = True
        if self.on_abandoned is not None:
            self.on_abandoned()

    def hold_reply(self, body: bytes, on_left: Callable[[], object]) -> int | None:
        """A reply with this body is sent later: call `on_left` if the client disconnects before.
        Returns the body's length; None if the client has disconnected.
        """
        if self.is_abandoned:
            return None
        self.on_abandoned = on_left
        return len(body)

    def head_without(self, unwanted: bytes, version: str) -> bytes:
        """The request's head as it may have been sent in this version of HTTP,
        without the headers of this (lower-case) name.
        """
        headers = zip(self.layout.names, self.values, strict=False)
        lines = (b"%b: %b\r\n" % (name, value) for name, value in headers if name != unwanted and value is not None)
        return b"%b %b HTTP/%b\r\n%b\r\n" % (self.method, self.url, version.encode(), b"".join(lines))


def query_pairs(url: bytes) -> list[tuple[str, str]]:
    """Decoded names and values of a URL's query, in order; a plus sign is not decoded to a blank. Gives way."""
    pieces = url.partition(b"?")[2].decode("latin-1").split("&")
    pairs = [piece.partition("=") for piece in pieces if piece]
    return [(unquote(name), unquote(value)) for name, _, value in walk(pairs)]


REQUEST_ID = b"x-amzn-RequestId"
HttpReply = bytes | tuple[bytes, bytes]
"""A reply; if its body is large, head and body by themselves, because copying a body of 1 MB takes 1 ms."""


class ReplyWriter:
    """Builds replies. What holds the date is cached: all replies of one second share it."""

    def __init__(self) -> None:
        self._second = -1
        self._date = b""
        self._ok: dict[bytes | None, bytes] = {}
        """Content type of a request → template of its 200 reply."""

    def ok(self, request: HttpRequest, body: bytes, wall_time: float) -> HttpReply:
        """A 200 reply in the request's content type: the fast path of `reply`."""
        layout, size_bytes = request.layout, len(body)
        if int(wall_time) != self._second:
            self._turn_second(wall_time)
        try:
            template = self._ok[request.values[layout.content_type]]
        except KeyError:
            return self.reply(request, 200, body, wall_time)
        if (
            not request.keeps_alive
            or layout.origin >= 0
            or (
                size_bytes > COMPRESS_FROM_BYTES
                and (
                    size_bytes >= LARGE_BYTES
                    or (layout.accept_encoding >= 0 and request.values[layout.accept_encoding] != b"identity")
                )
            )
        ):
            return self.reply(request, 200, body, wall_time)
        return template % (request.number, crc32(body), size_bytes, body)

    def reply(
        self,
        request: HttpRequest,
        status: int,
        body: bytes,
        wall_time: float,
        content_type: bytes | None = None,
        extra: bytes = b"",
    ) -> HttpReply:
        """A reply; the parameters are those of `head_and_body`."""
        head, body = self.head_and_body(request, status, body, wall_time, content_type, extra)
        return head + body if len(body) < LARGE_BYTES else (head, body)

    def head_and_body(
        self,
        request: HttpRequest,
        status: int,
        body: bytes,
        wall_time: float,
        content_type: bytes | None = None,
        extra: bytes = b"",
    ) -> tuple[bytes, bytes]:
        """Head and body of a reply. `content_type` None: as the request's.
        `extra`: header lines with line ends; REQUEST_ID may be the first.
        """
        if int(wall_time) != self._second:
            self._turn_second(wall_time)
        if content_type == COMPLETE_HEAD:
            return self._handed_on(request, status, body, extra)
        if content_type is None:
            content_type = mirrored_content_type(request.header(b"content-type"))
        if request.layout.origin >= 0 and (
            request.method == b"POST" if request.shares_reply is None else request.shares_reply
        ):
            extra += CORS_LINES
        if len(body) > COMPRESS_FROM_BYTES and b"Content-Encoding: " not in extra:
            coding = accepted_coding(request.header(b"accept-encoding"))
            if coding is not None:
                body = compress(body, coding)
                extra += b"Content-Encoding: " + coding + b"\r\n"
        connection = b"keep-alive" if request.keeps_alive else b"close"
        if not extra.startswith(REQUEST_ID):
            extra += b"%b: %b%012d\r\n" % (REQUEST_ID, PROCESS_PREFIX, request.number)
        head = (
            b"HTTP/1.1 %d %b\r\n%bContent-Type: %b\r\nConnection: %b\r\n%bx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n"
            % (status, REASONS[status], self._date, content_type, connection, extra, crc32(body), len(body))
        )
        if status == NO_CONTENT:
            head = head.replace(b"Content-Length: 0\r\n", b"", 1)
        return head, b"" if request.method == b"HEAD" else body

    def _handed_on(self, request: HttpRequest, status: int, body: bytes, lines: bytes) -> tuple[bytes, bytes]:
        """A reply of another server. `lines` have a Content-Length only if the body is not sent."""
        has_body = request.method != b"HEAD" and status not in (NO_CONTENT, NOT_MODIFIED)
        return head_of_reply(request, status, len(body) if has_body else None, lines), body if has_body else b""

    def refusal(
        self, status: int, body: bytes, wall_time: float, header_lines: bytes = b"Content-Type: text/plain\r\n"
    ) -> bytes:
        """A reply to malformed or incomplete input, or on a refused connection. The connection is closed."""
        if int(wall_time) != self._second:
            self._turn_second(wall_time)
        return b"HTTP/1.1 %d %b\r\n%b%bConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (
            status,
            REASONS[status],
            self._date,
            header_lines,
            len(body),
            body,
        )

    def _turn_second(self, wall_time: float) -> None:
        self._second = int(wall_time)
        self._date = b"Server: Server\r\nDate: " + http_date(self._second) + b"\r\n"
        self._ok = {
            sent: b"HTTP/1.1 200 OK\r\n%bContent-Type: %b\r\nConnection: keep-alive\r\n%b: %b%%012d\r\n"
            b"x-amz-crc32: %%d\r\nContent-Length: %%d\r\n\r\n%%b" % (self._date, mirrored, REQUEST_ID, PROCESS_PREFIX)
            for sent, mirrored in CONTENT_TYPES.items()
        }


def head_of_reply(request: HttpRequest, status: int, size_bytes: int | None, lines: bytes) -> bytes:
    """The head of a reply with these header lines; `size_bytes` None: they say the length, or there is no body."""
    connection = b"keep-alive" if request.keeps_alive else b"close"
    length = b"" if size_bytes is None else b"Content-Length: %d\r\n" % size_bytes
    reason = REASONS.get(status, b"")
    return b"HTTP/1.1 %d %b\r\n%bConnection: %b\r\n%b\r\n" % (status, reason, lines, connection, length)


CORS_LINES = (
    b"Access-Control-Allow-Origin: *\r\n"
    b"Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,"
    b"x-amz-crc32,Date\r\n"
)


def http_date(second: int) -> bytes:
    """A date as in HTTP, `Sun, 06 Nov 1994 08:49:37 GMT`, whatever the machine's language is."""
    moment = datetime.fromtimestamp(second, UTC)
    weekday, month, _, time, year = moment.ctime().split()  # always English
    return f"{weekday}, {moment.day:02d} {month} {year} {time} GMT".encode()


def retry_after_line(milliseconds: int) -> bytes:
    """The header line that asks a client to retry after these milliseconds."""
    return b"x-amz-retry-after: %d\r\n" % milliseconds


def is_json_content_type(content_type: bytes | None) -> bool:
    """Does this content type belong to the JSON protocol? Parameters (`; charset=utf-8`) do not matter."""
    return content_type is not None and content_type.partition(b";")[0].strip().lower() in CONTENT_TYPES


def mirrored_content_type(content_type: bytes | None) -> bytes:
    """The content type of a reply to a request with this content type: the same if it is one of `CONTENT_TYPES`, else
    `application/x-amz-json-1.0`.
    """
    sent = (content_type or b"").partition(b";")[0].strip().lower()
    return CONTENT_TYPES.get(sent, b"application/x-amz-json-1.0")
