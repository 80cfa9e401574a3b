"""Which protocol does a request speak? Requests in, calls of the service out, in the groups in which they came.

A protocol is a file or folder below `protocols`, and a class of the shape of `WireProtocol`. A request whose target a protocol
names goes there; for any other the protocols are asked in their order, and the last one claims all that is left. Each listener has a
front of its own.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from hashrange.server.incoming import Respond
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.wire.http import Request


class WireProtocol(Protocol):
    """One way to ask, as far as this file knows it."""

    @property
    def targets(self) -> Collection[bytes]:
        """The values of X-Amz-Target that are its own."""

    def claims(self, request: Request) -> bool:
        """Is this request for it, by its method, host, path, content type or signing scope?"""

    def prepare(self, request: Request, respond: Respond) -> Call | None:
        """A call for the service; None: the request is answered without one, now or later. Never raises; may give way."""


Prepare = Callable[[Request, Respond], Call | None]


class Front:
    """Answers the requests of one listener."""

    def __init__(self, service: Service, protocols: Sequence[WireProtocol]) -> None:
        self._service = service
        self._protocols = protocols
        self._by_target: dict[bytes | None, Prepare] = {
            target: protocol.prepare for protocol in protocols for target in protocol.targets
        }

    def handle(self, requests: Sequence[tuple[Request, Respond]]) -> None:
        """Answer these requests, stage by stage: calls each one's `respond` once, now or later.

        A request that takes long gives way where it stands, and the others go on without it.
        """
        if requests:
            self._service.workers.begin_turn()
            self._share_out(deque(requests), deque())

    def _share_out(self, requests: deque[tuple[Request, Respond]], calls: deque[Call]) -> None:
        """To as many workers as it takes: nobody waits for one that has given way."""
        while not self._service.workers.run(self._go_on, requests, calls):
            self._service.release()
            if not requests and not calls:
                return

    def _go_on(self, requests: deque[tuple[Request, Respond]], calls: deque[Call]) -> None:
        """The stages, for whatever no other worker has taken."""
        while requests:
            request, respond = requests.popleft()
            prepare = self._by_target.get(request.values[request.layout.target]) or self._choose(request)
            call = prepare(request, respond)
            if call is not None:
                calls.append(call)
        self._service.run(calls)

    def _choose(self, request: Request) -> Prepare:
        """Of a request whose target is none that is known."""
        return next(protocol.prepare for protocol in self._protocols if protocol.claims(request))
