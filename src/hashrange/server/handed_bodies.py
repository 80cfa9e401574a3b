"""Who bounds the bodies of requests that others answer, perhaps minutes later? Whoever keeps them;
the memory that they reserved is free for other bodies.
"""

from hashrange.server.connection import Connection
from hashrange.server.incoming import Respond


def free_reservation(respond: Respond) -> None:
    """Free the memory that the request of `respond`, a bound method, reserved,
    unless further requests wait on its connection.
    """
    answering = getattr(respond, "__self__", None)
    if isinstance(answering, Connection) and not answering.ready:
        answering.share.answer()
