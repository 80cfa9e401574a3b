"""What may protocols know of a listener's clients, and do with the connection that a `respond` answers?

They ask how many clients are connected, and the address of each; they cut a reply off on purpose, and free the memory
that the body of a request has reserved. A request of the same process comes over no connection.
"""

from collections.abc import Callable, Sized
from typing import TYPE_CHECKING, NamedTuple

from hashrange.server.incoming import Respond

if TYPE_CHECKING:  # a database within another program has no connections, and start time counts
    from hashrange.server.connection import Connection


class Clients(NamedTuple):
    """What protocols can ask about one listener's clients: how many are connected, and the address of each."""

    count_open: Callable[[], int]
    """Returns the number of open connections."""
    host_of: Callable[[Respond], str | None]
    """Returns the host (IP address) of the client that the given `respond` answers; None if no longer known."""
    waiting: Sized = ()
    """Inputs that wait behind the group being answered (`Incoming`): what one read brought, the end of what a client
    sends, or a request to be taken; without long reads and parsed requests."""


IN_THIS_PROCESS = Clients(lambda: 0, lambda respond: "127.0.0.1")
"""The clients of a service without a listener: no open connections, and the host is always 127.0.0.1."""


def _connection_of(respond: Respond) -> "Connection | None":
    """The connection that `respond` answers; None if it answers a request of the same process."""
    answering = getattr(respond, "__self__", None)
    return answering if hasattr(answering, "transport") else None


def host_of_connection(respond: Respond) -> str | None:
    """Return the host of the client that `respond`, a connection's bound method, answers; None if no longer known."""
    connection = _connection_of(respond)
    assert connection is not None, "a listener's clients have connections"
    return str(connection.peer[0]) if connection.peer else None


def free_reservation(respond: Respond) -> None:
    """Free the memory that the request of `respond` reserved, unless further requests wait on its connection.

    For requests that others answer, perhaps minutes later. Whoever keeps such a body bounds it; the memory that it
    reserved is free for other bodies.
    """
    connection = _connection_of(respond)
    if connection is not None and not connection.ready:
        connection.share.answer()


def cut_reply(respond: Respond, status: int, body: bytes, share: float) -> None:
    """Send the head and this share of the body that `respond`, a bound method, would send, and end the connection.

    If `share` is 0, nothing is sent. The head is sent whole: clients would take a cut one for a reply without a body.
    Requests that wait on the connection are not answered. Without a connection, the method `cut` of the object that
    `respond` belongs to is called instead.
    """
    connection = _connection_of(respond)
    if connection is None:
        respond.__self__.cut(share)  # type: ignore[attr-defined]
        return
    request, connections, transport = connection.request, connection.connections, connection.transport
    assert request is not None
    if transport.is_closing():
        connection.drop_request()  # The client has left.
        return
    if share:
        head, content = connections.writer.head_and_body(request, status, body, connections.wall_time())
        connections.outgoing.flush()
        transport.write(head + content[: int(len(content) * share)])
    connection.drop_request()
    connection.close()
