"""How are connections accepted while turns of the loop are long? Many at a time:
the loop's library accepts one per turn.

The library is uvloop. In the turn after a connection was accepted, the acceptor accepts up to 16 more from each
listening socket. With turns of 5 ms, 300 clients that connect together are accepted in 22 turns instead of 300. With
asyncio's own loops the acceptor accepts none: except on Windows, they accept all waiting connections in one turn.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence

ACCEPTED_TOGETHER = 16
"""Most connections that the acceptor accepts in one turn from each listening socket; each costs less than 0.1 ms."""


class Acceptor:
    """Makes the protocol of each connection that uvloop accepts, and in the next turn accepts
    those that wait behind it.
    """

    def __init__(self, make_protocol: Callable[[], asyncio.BaseProtocol], loop: asyncio.AbstractEventLoop) -> None:
        self._make_protocol = make_protocol
        self._loop = loop
        self._listening: list[socket.socket] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_due = False

    def listen(self, sockets: Sequence[socket.socket]) -> None:
        """Accept from these listening sockets, as the loop does too; with asyncio's own loops, do nothing."""
        if not isinstance(self._loop, asyncio.BaseEventLoop):
            self._listening = [socket.fromfd(one.fileno(), one.family, one.type) for one in sockets]

    def stop(self) -> None:
        """Accept no further connections."""
        for one in self._listening:
            one.close()
        self._listening = []

    def make_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol of a connection that was accepted; accept further ones in the next turn (`_accept`)."""
        if not self._is_due and self._listening:
            self._is_due = True
            self._loop.call_soon(self._accept)
        return self._make_protocol()

    def _accept(self) -> None:
        """Accept up to ACCEPTED_TOGETHER connections per socket; ignores OSError,
        which the loop, accepting too, meets.
        """
        self._is_due = False
        for listening in self._listening:
            with contextlib.suppress(OSError):  # no connection waits, or no descriptor is left
                for _ in range(ACCEPTED_TOGETHER):
                    accepted = listening.accept()[0]
                    accepted.setblocking(False)
                    task = self._loop.create_task(self._connect(accepted))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        """Hand an accepted socket to the loop; close it if its client has left already."""
        try:
            await self._loop.connect_accepted_socket(self.make_protocol, accepted)
        except OSError:
            accepted.close()
