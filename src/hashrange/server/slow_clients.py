"""How slow may a client be, and how much may it wrap around a body? Pure.

Source of limits: operations.md 1.1.
"""

from collections.abc import Sequence

from hashrange.wire.http import HEAD_BYTES_MAX

HEAD_SECONDS_MAX = 10.0
"""From a request's first byte to the end of its head."""
BODY_SECONDS_FREE = 20.0
"""So long a body may take at any speed; from then on it must have come at `BODY_BYTES_PER_SECOND_MIN` on average."""
BODY_BYTES_PER_SECOND_MIN = 16 * 1024
BODY_BYTES_PER_SECOND_WANTED = 1024 * 1024
"""The same for a large body while others wait for the room that it takes."""
STALL_SECONDS_MAX = 2.0
"""So long a large body may bring nothing while others wait for the room that it takes."""
ROOM_SECONDS_MAX = 5.0
"""So long a large body waits for room; then its client hears 503, and tries again later."""
IDLE_SECONDS_MAX = 600.0
WRITE_SECONDS_MAX = 60.0
"""So long a client may leave a reply unread."""
LINGER_SECONDS = 2.0
"""After a refusal, what the client still sends is read and dropped for so long: else it may never see the refusal."""
FRAME_BYTES_FREE = 16
"""So much of a chunk's frame goes free for each byte of data that comes with it: the frame of a single byte has 5."""

TRAILERS_MAX = 64


def is_too_slow(age_seconds: float, message_bytes: int, *, has_head: bool, is_in_the_way: bool = False) -> bool:
    """May a request not take this long? `message_bytes` have come of it; others may wait for the room that it takes."""
    if not has_head:
        return age_seconds > HEAD_SECONDS_MAX
    bytes_per_second = BODY_BYTES_PER_SECOND_WANTED if is_in_the_way else BODY_BYTES_PER_SECOND_MIN
    return age_seconds > BODY_SECONDS_FREE + message_bytes / bytes_per_second


def head_bytes(url: bytes, names: Sequence[bytes], values: Sequence[bytes | None]) -> int:
    """Size of a head as far as it has come."""
    return len(url) + sum(map(len, names)) + sum(len(value or b"") for value in values) + 4 * len(values)


class Framing:
    """What comes around the data of a body in chunks: sizes, extensions, trailers; together bounded as a head is."""

    __slots__ = ("_body_bytes", "_frame_bytes", "_message_bytes", "head_bytes")

    def __init__(self, head_bytes: int) -> None:
        self.head_bytes = head_bytes
        self._message_bytes = head_bytes
        self._body_bytes = 0
        self._frame_bytes = 0

    def is_too_large(self, message_bytes: int, body_bytes: int, trailers: int) -> bool:
        """Asked after each read: so many bytes have come in all, so many of them are data, so many trailers are whole.

        Data pays for the frames of its own read only, so none of it pays for trailers without end.
        """
        data_bytes = body_bytes - self._body_bytes
        other_bytes = message_bytes - self._message_bytes - data_bytes
        self._frame_bytes = max(0, self._frame_bytes + other_bytes - FRAME_BYTES_FREE * data_bytes)
        self._message_bytes = message_bytes
        self._body_bytes = body_bytes
        return self._frame_bytes > HEAD_BYTES_MAX or trailers > TRAILERS_MAX
