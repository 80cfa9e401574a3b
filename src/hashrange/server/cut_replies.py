"""How is a reply cut off on purpose? Some of its bytes are sent, or none, and the connection is closed."""

from typing import TYPE_CHECKING, cast

from hashrange.server.incoming import Respond

if TYPE_CHECKING:  # a database within another program has no connections, and start time counts
    from hashrange.server.connection import Connection


def cut_reply(respond: Respond, status: int, body: bytes, share: float) -> None:
    """Send the head and this share of the body that `respond`, a bound method, would send, and end the connection.

    If `share` is 0, nothing is sent. The head is sent whole: clients would take a cut one for a reply without a body.
    Requests that wait on the connection are not answered. If `respond` belongs to an object that has a method
    `cut`, which connections have not, that is called instead.
    """
    exchange = respond.__self__  # type: ignore[attr-defined]
    if hasattr(exchange, "cut"):
        exchange.cut(share)
        return
    answering = cast("Connection", exchange)
    request, connections, transport = answering.request, answering.connections, answering.transport
    assert request is not None
    if transport.is_closing():
        answering.drop_request()  # The client has left.
        return
    if share:
        head, content = connections.writer.reply(request, status, body, connections.wall_time())
        connections.outgoing.flush()
        transport.write(head + content[: int(len(content) * share)])
    answering.drop_request()
    answering.close()
