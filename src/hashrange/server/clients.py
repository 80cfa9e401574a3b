"""What is known of the clients of a listener, by whoever answers them? How many there are, and where each is."""

from collections.abc import Callable
from typing import NamedTuple

from hashrange.server.incoming import AnsweredConnection, Respond


class Clients(NamedTuple):
    """Those of one listener."""

    count_open: Callable[[], int]
    """How many connections are open."""
    host_of: Callable[[Respond], str | None]
    """Address of the client that is answered by this; None when it cannot be told any more."""


def host_of_connection(respond: Respond) -> str | None:
    """The address, when `respond` is the method of a connection."""
    connection: AnsweredConnection = respond.__self__  # type: ignore[attr-defined]
    peer = connection.peer
    return str(peer[0]) if peer else None


IN_THIS_PROCESS = Clients(lambda: 0, lambda respond: "127.0.0.1")
"""Without a listener: whoever asks is in the same process."""
