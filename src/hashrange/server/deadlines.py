"""Which connections have missed a deadline, and how are they ended?
Most states have a limit, a constant of `slow_clients.py`.

The first row that fits the connection's states applies. The time of the last received bytes is `active_at_seconds`.

| state | counted from | at most | then |
|---|---|---|---|
| BLOCKED | the last received bytes | `WRITE_SECONDS_MAX` | cut off |
| BUSY, not BLOCKED, input ENDING or ENDED | the last received bytes | `LEFT_SECONDS_MAX` | cut off |
| BUSY, not BLOCKED, otherwise | | no limit: the server is working | |
| BETWEEN, nothing waits to be parsed or answered | the last received bytes | `IDLE_SECONDS_MAX` | closed |
| INSIDE | the state's beginning | as `is_request_too_slow` decides | refused |
| WAITING | the last received bytes | `MEMORY_WAIT_SECONDS_MAX` | refused |
| REFUSED | | none: replies are due, so the connection is BUSY, BLOCKED or queued in `incoming.py` | |
| LINGERING | the state's beginning: the refusal was sent | `LINGER_SECONDS` | cut off |
| CLOSING | the state's beginning | `WRITE_SECONDS_MAX` | cut off |

This file must not know sockets.
"""

from typing import Protocol

from hashrange.server import slow_clients
from hashrange.server.connection_states import (
    BETWEEN,
    BLOCKED,
    BUSY,
    CLOSING,
    HAS_ENDED,
    INSIDE,
    LINGERING,
    WAITING,
    Answering,
    Input,
    Receiving,
    Sending,
)
from hashrange.server.reading import Reading
from hashrange.server.receive_budget import ReceiveBudget, Share
from hashrange.server.refusals import TOO_MUCH_UNFINISHED, TOO_SLOW, Refusal


class Timed(Protocol):
    """The members of a connection that deadlines depend on. Times are monotonic seconds."""

    receiving: Receiving
    answering: Answering
    sending: Sending
    input: Input
    reading: Reading
    share: Share
    active_at_seconds: float
    """Time of connecting, of the client's last bytes, or of reserving memory for a waiting body: the latest."""
    since_seconds: float
    """Time at which the connection last entered the state INSIDE, LINGERING or CLOSING."""

    @property
    def has_more(self) -> bool:
        """True if received data waits to be parsed or answered."""

    def refuse(self, refusal: Refusal) -> None:
        """Send `refusal` after all due replies, then close."""

    def close(self) -> None:
        """Close after sending what is written."""

    def cut_off(self) -> None:
        """Close at once; unsent replies and unanswered requests are lost."""


def end_if_late(connection: Timed, now_seconds: float, budget: ReceiveBudget) -> None:
    """End `connection` if it has missed the deadline of its states. `budget`: the memory budget of all connections."""
    receiving = connection.receiving
    silent_seconds = now_seconds - connection.active_at_seconds
    if connection.sending is BLOCKED:
        if silent_seconds > slow_clients.WRITE_SECONDS_MAX:
            connection.cut_off()
    elif connection.answering is BUSY:
        if connection.input in HAS_ENDED and silent_seconds > slow_clients.LEFT_SECONDS_MAX:
            connection.cut_off()
    elif receiving is BETWEEN:
        if silent_seconds > slow_clients.IDLE_SECONDS_MAX and not connection.has_more:
            connection.close()
    elif receiving is INSIDE:
        if is_request_too_slow(connection, now_seconds, budget):
            connection.refuse(TOO_SLOW)
    elif receiving is WAITING:
        if silent_seconds > slow_clients.MEMORY_WAIT_SECONDS_MAX:
            connection.refuse(TOO_MUCH_UNFINISHED)
    elif receiving is LINGERING:
        if now_seconds - connection.since_seconds > slow_clients.LINGER_SECONDS:
            connection.cut_off()
    elif receiving is CLOSING and now_seconds - connection.since_seconds > slow_clients.WRITE_SECONDS_MAX:
        connection.cut_off()


def is_request_too_slow(connection: Timed, now_seconds: float, budget: ReceiveBudget) -> bool:
    """True if the request being received takes too long; sooner if other bodies wait for the memory it reserved."""
    reading = connection.reading
    is_in_the_way = connection.share.reserved_bytes > 0 and budget.is_wanted
    if is_in_the_way and now_seconds - connection.active_at_seconds > slow_clients.STALL_SECONDS_MAX:
        return True
    return slow_clients.is_too_slow(
        now_seconds - connection.since_seconds,
        reading.message_bytes,
        has_head=reading.layout is not None,
        is_in_the_way=is_in_the_way,
    )
