"""How slowly may a client send, and read its replies, and how much framing may a chunked body have?
Limits, and checks without clock or sockets.

Source of limits: operations.md 1.1.
"""

from collections.abc import Sequence

from hashrange.wire.http import HEAD_BYTES_MAX

HEAD_SECONDS_MAX = 10.0
"""Longest time from a request's first byte to the end of its head."""
BODY_SECONDS_FREE = 20.0
"""A request with a complete head may take this long, plus its bytes so far divided by `BODY_BYTES_PER_SECOND_MIN`."""
BODY_BYTES_PER_SECOND_MIN = 16 * 1024
IN_THE_WAY_SECONDS_FREE, BODY_BYTES_PER_SECOND_WANTED = 2.0, 1024 * 1024
"""They replace `BODY_SECONDS_FREE` and `BODY_BYTES_PER_SECOND_MIN` for a large body while others wait for
the memory that it reserves. Those wait for `MEMORY_WAIT_SECONDS_MAX`, so nobody keeps them from their
turn by sending a little at a time.
"""
STALL_SECONDS_MAX = 2.0
"""Longest time without new bytes of a large body while other bodies wait for the memory that it reserves."""
MEMORY_WAIT_SECONDS_MAX = 5.0
"""Longest time that a large body waits for memory; then its client gets 503 and may try again later."""
IDLE_SECONDS_MAX = 600.0
LEFT_SECONDS_MAX = 10.0
"""If the client has ended its input, and no reply is ready this long after its last bytes, the client is taken to have
left."""
WRITE_SECONDS_MAX = 60.0
"""A client that leaves replies unread is cut off this long after the last bytes received from it. Also the longest time
that closing a connection may take."""
LINGER_SECONDS = 2.0
"""Longest time after a refusal for which input is read and dropped: else the client may never see the refusal."""
FRAME_BYTES_FREE = 16
"""Each byte of data cancels this many framing bytes of its own read or earlier ones; a chunk of one byte has 5."""

TRAILERS_MAX = 64


def is_too_slow(age_seconds: float, message_bytes: int, *, has_head: bool, is_in_the_way: bool = False) -> bool:
    """True if `age_seconds` is too long for a request of which `message_bytes` are received.

    `is_in_the_way`: other bodies wait for memory, and this request has reserved memory.
    """
    if not has_head:
        return age_seconds > HEAD_SECONDS_MAX
    if is_in_the_way:
        return age_seconds > IN_THE_WAY_SECONDS_FREE + message_bytes / BODY_BYTES_PER_SECOND_WANTED
    return age_seconds > BODY_SECONDS_FREE + message_bytes / BODY_BYTES_PER_SECOND_MIN


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
