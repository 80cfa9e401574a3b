"""Which requests need no parser? Those whose head looks like their client's last one, as nearly all of an SDK's do:
the names of the headers and their order stay, and only values differ.

A head is matched as a whole, in half of the time that the parser and its callbacks take. Whatever does not match goes
to the parser, which alone knows what else HTTP allows.
"""

import re
from collections.abc import Sequence

from hashrange.wire.http import LAYOUTS_MAX, HeaderLayout, HttpRequest

USES_MIN = 64
"""Requests that the parser must have found with a layout before its heads are matched: compiling takes 2 ms."""
HEADS_MAX = 128
"""Heads that are kept, of 20 KB each. Beyond it, all are forgotten, and compiled anew as needed."""
_VALUE = rb"([!-~\x80-\xff][^\r]*+)"
"""A value that does not begin with a blank. It may hold control characters, which are looked for in all values at once:
excluding them here takes three times as long.
"""
_VALUES = {b"content-length": rb"([0-9]{1,4}+)", b"connection": rb"([Kk]eep-[Aa]live)"}
"""Patterns of the values that say how a request is framed, by name of the header."""
_CONTROLS = bytes(byte != 9 and (byte < 32 or byte == 127) for byte in range(256))
"""Translates control characters except tabs to 1, and all others to 0."""
_FRAMING = frozenset((b"transfer-encoding", b"upgrade", b"expect", b"proxy-connection", b"trailer"))
"""Headers that say so too, and that SDKs do not send; the parser reads such requests."""


class UsualHead:
    """The heads of requests `POST /` of HTTP/1.1 with the same names of headers, of connections that are kept."""

    __slots__ = ("_layout", "_length", "_match")

    def __init__(self, layout: HeaderLayout, names: Sequence[bytes]) -> None:
        """`names`: those of the layout, as the client writes them."""
        lines = [
            re.escape(name) + b": " + _VALUES.get(lower, _VALUE) + rb"\r\n"
            for name, lower in zip(names, layout.names, strict=True)
        ]
        self._layout = layout
        self._length = layout.content_length
        self._match = re.compile(rb"POST / HTTP/1\.1\r\n" + b"".join(lines) + rb"\r\n(.*)", re.DOTALL).match

    def request(self, data: bytes) -> HttpRequest | None:
        """The request that `data` is, if it is exactly one with such a head; otherwise None."""
        found = self._match(data)
        if found is None:
            return None
        *values, body = found.groups()
        if len(body) != int(values[self._length]) or 1 in b"".join(values).translate(_CONTROLS):
            return None
        values.append(None)
        return HttpRequest(b"POST", b"/", self._layout, values, body, True, True)


_heads: dict[HeaderLayout, UsualHead] = {}
_uses: dict[HeaderLayout, int] = {}
"""Requests that the parser has found with each layout, until it had a usual head."""


def usual_head(layout: HeaderLayout, names: Sequence[bytes]) -> UsualHead | None:
    """Note a request `POST /` with this layout; return its head, once it is a usual one.

    At most one head is compiled for USES_MIN requests, whoever sent them.
    """
    head = _heads.get(layout)
    if head is not None or not layout.is_usual:
        return head
    if len(_uses) >= LAYOUTS_MAX:
        _uses.clear()
        _heads.clear()
    uses = _uses[layout] = _uses.get(layout, 0) + 1
    if uses >= USES_MIN and layout.host >= 0 <= layout.content_length and _FRAMING.isdisjoint(layout.names):
        if len(_heads) >= HEADS_MAX:
            _heads.clear()
        head = _heads[layout] = UsualHead(layout, names)
        _uses.clear()
    return head
