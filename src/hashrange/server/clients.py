"""What do protocols know about a listener's clients? The number of open connections, and each client's address."""

from collections.abc import Callable
from typing import NamedTuple

from hashrange.server.incoming import AnsweredConnection, Respond


class Clients(NamedTuple):
    """What protocols can ask about one listener's clients: how many are connected, and the address of each."""

    count_open: Callable[[], int]
    """Returns the number of open connections."""
    host_of: Callable[[Respond], str | None]
    """Returns the host (IP address) of the client that the given `respond` answers; None if no longer known."""


def host_of_connection(respond: Respond) -> str | None:
    """Return the host of the client that `respond`, a connection's bound method, answers; None if no longer known."""
    connection: AnsweredConnection = respond.__self__  # type: ignore[attr-defined]
    peer = connection.peer
    return str(peer[0]) if peer else None


IN_THIS_PROCESS = Clients(lambda: 0, lambda respond: "127.0.0.1")
"""The clients of a service without a listener: no open connections, and the host is always 127.0.0.1."""
