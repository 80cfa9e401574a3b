"""Is this read one whole request, whose head differs from the client's last one in nothing but values? Then no parser is needed.

SDKs send the same headers in the same order each time, and each read of a socket is mostly one request. The head of the last request
that httptools' parser has read says what stands before each value; a read that fits it, byte for byte but for the values, is taken
apart by that. Whatever is not surely what the parser would make of it goes to the parser. Figures: docs/adr/0036-known-heads.md.
"""

from hashrange.wire.http import BODY_BYTES_MAX, HEAD_BYTES_MAX, Layout, Request

_END = b"\r\n\r\n"
_TEXT = bytes((0x09, 0x0A, 0x0D, *range(0x20, 0x7F), *range(0x80, 0x100)))
"""Bytes that a head may hold. Line ends are counted."""
_LENGTH_DIGITS_MAX = len(str(BODY_BYTES_MAX))
_NEVER = (
    b"transfer-encoding",
    b"expect",
    b"connection",
    b"proxy-connection",
    b"keep-alive",
    b"upgrade",
    b"te",
    b"trailer",
)
"""Headers that decide how a message is read, or what becomes of the connection."""
START = b"POST / HTTP/1.1"


class KnownHead:
    """What a client's last head was like."""

    __slots__ = ("_layout", "_length_place", "_lines", "_prefixes")

    def __init__(self, layout: Layout, prefixes: list[bytes]) -> None:
        self._layout = layout
        self._prefixes = [(prefix, len(prefix)) for prefix in prefixes]
        self._lines = len(prefixes)
        self._length_place = layout.content_length

    def read(self, data: bytes) -> Request | None:
        """The request, if these bytes are exactly one that fits; None: the parser must say. 2 µs."""
        end = data.find(_END, 0, HEAD_BYTES_MAX)
        head = data[:end]
        start, *lines = head.split(b"\r\n")
        if (
            end < 0
            or start != START
            or len(lines) != self._lines
            or head.count(b"\n") != self._lines
            or head.count(b"\r") != self._lines
            or head.translate(None, _TEXT)
        ):
            return None
        values: list[bytes | None] = []
        for line, (prefix, size) in zip(lines, self._prefixes, strict=True):
            if not line.startswith(prefix):
                return None
            values.append(line[size:])
        if b":  " in head or b": \t" in head or b"" in values:
            return None
        length = values[self._length_place]
        body = data[end + len(_END) :]
        if not length or not length.isdigit() or len(length) > _LENGTH_DIGITS_MAX or int(length) != len(body):
            return None
        values.append(None)
        return Request(b"POST", b"/", self._layout, values, body, True)


def known_head(data: bytes, request: Request) -> KnownHead | None:
    """What the next head may be held against, after the parser has made `request` of exactly these bytes; None if there is nothing sure."""
    layout = request.layout
    start, *lines = data[: data.find(_END)].split(b"\r\n")
    is_usual = (
        start == START
        and request.keeps_alive
        and layout.content_length >= 0
        and len(lines) == len(layout.names) == len(layout.positions)
        and not any(name in layout.positions for name in _NEVER)
    )
    if not is_usual:
        return None
    prefixes = []
    for line, name, value in zip(lines, layout.names, request.values, strict=False):
        prefix = line[: len(name) + 2]
        if value is None or prefix.lower() != name + b": " or line[len(prefix) :] != value:
            return None
        prefixes.append(prefix)
    return KnownHead(layout, prefixes)
