"""Which connections have passed a deadline, and how do these end? What is looked at depends on their states.

| state | counted from | at most | then |
|---|---|---|---|
| BLOCKED, whatever else | the last bytes that came | `WRITE_SECONDS_MAX` | cut off |
| BUSY, if not that | | no limit: the server is at work | |
| BETWEEN | the last bytes that came | `IDLE_SECONDS_MAX` | closed |
| INSIDE | its beginning | as `bounds.is_too_slow` says | refused |
| WAITING | the last bytes that came | `ROOM_SECONDS_MAX` | refused |
| REFUSED | | none: replies are due, so it is BUSY or BLOCKED | |
| LINGERING | its beginning: the refusal | `LINGER_SECONDS` | cut off |
| CLOSING | its beginning | `WRITE_SECONDS_MAX` | cut off |

This file must not know sockets.
"""

from typing import Protocol

from hashrange.server import slow_clients
from hashrange.server.connection_states import (
    BETWEEN,
    BLOCKED,
    BUSY,
    CLOSING,
    INSIDE,
    LINGERING,
    WAITING,
    Answering,
    Receiving,
    Sending,
)
from hashrange.server.reading import Reading
from hashrange.server.receive_budget import ReceiveBudget, Share
from hashrange.server.refusals import TOO_MUCH_UNFINISHED, TOO_SLOW, Refusal


class Timed(Protocol):
    """A connection, as far as this file knows it. Times are monotonic seconds."""

    receiving: Receiving
    answering: Answering
    sending: Sending
    reading: Reading
    share: Share
    active_at_seconds: float
    """When its last bytes were read."""
    since_seconds: float
    """When it came into the state INSIDE, LINGERING or CLOSING."""

    @property
    def has_more(self) -> bool:
        """Has anything come that is not in work yet?"""

    def refuse(self, refusal: Refusal) -> None:
        """Say why, and close."""

    def close(self) -> None:
        """Close behind what is written."""

    def cut_off(self) -> None:
        """Close at once."""


def end_if_late(connection: Timed, now_seconds: float, room: ReceiveBudget) -> None:
    """End `connection` if it has passed the deadline of its states. `room` is what it shares with all others."""
    receiving = connection.receiving
    silent_seconds = now_seconds - connection.active_at_seconds
    if connection.sending is BLOCKED:
        if silent_seconds > slow_clients.WRITE_SECONDS_MAX:
            connection.cut_off()
    elif connection.answering is BUSY:
        return
    elif receiving is BETWEEN:
        if silent_seconds > slow_clients.IDLE_SECONDS_MAX and not connection.has_more:
            connection.close()
    elif receiving is INSIDE:
        if is_request_too_slow(connection, now_seconds, room):
            connection.refuse(TOO_SLOW)
    elif receiving is WAITING:
        if silent_seconds > slow_clients.ROOM_SECONDS_MAX:
            connection.refuse(TOO_MUCH_UNFINISHED)
    elif receiving is LINGERING:
        if now_seconds - connection.since_seconds > slow_clients.LINGER_SECONDS:
            connection.cut_off()
    elif receiving is CLOSING and now_seconds - connection.since_seconds > slow_clients.WRITE_SECONDS_MAX:
        connection.cut_off()


def is_request_too_slow(connection: Timed, now_seconds: float, room: ReceiveBudget) -> bool:
    """Does the request that comes take too long? Sooner if others wait for the room of its body."""
    reading = connection.reading
    is_in_the_way = connection.share.reserved_bytes > 0 and room.is_wanted
    if is_in_the_way and now_seconds - connection.active_at_seconds > slow_clients.STALL_SECONDS_MAX:
        return True
    return slow_clients.is_too_slow(
        now_seconds - connection.since_seconds,
        reading.message_bytes,
        has_head=reading.layout is not None,
        is_in_the_way=is_in_the_way,
    )
