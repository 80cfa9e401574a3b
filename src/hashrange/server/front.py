"""Which protocol does a request speak? Requests in, calls of the service out, in the groups in which they came.

A protocol is a file or folder below `protocols`, and a class of the shape of `WireProtocol`. A request whose target a protocol
names goes there; for any other the protocols are asked in their order, and the last one claims all that is left. Each listener has a
front of its own.

Requests that are quick, small ones for a single item, begin at once. All others begin in their order while the turn's slice of time lasts,
and then as there is time in later turns: three hundred transactions that arrive together take half a second, and nobody's GetItem waits
for more than one of them. Only so many are in work at a time, for a request takes thirty times as much memory in work as it does before.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from itertools import islice
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

    @property
    def quick_targets(self) -> Collection[bytes]:
        """Those of them whose small requests take well under a millisecond."""

    def claims(self, request: Request) -> bool:
        """Is this request for it, by its method, host, path, content type or signing scope?"""

    def prepare(self, request: Request, respond: Respond) -> Call | None:
        """A call for the service; None: the request is answered without one, now or later. Never raises; may give way."""


Prepare = Callable[[Request, Respond], Call | None]
Arrived = tuple[Request, Respond]

QUICK_BYTES = 8 * 1024
"""The longest body of a quick request."""
BEGUN_TOGETHER = 4
"""So many go through the stages together, as in `incoming.py`."""
IN_WORK_MAX = 64
"""So many requests that have given way are in work while others, which are not quick, are to begin."""


class Front:
    """Answers the requests of one listener."""

    def __init__(self, service: Service, protocols: Sequence[WireProtocol]) -> None:
        self._service = service
        self._workers = service.workers
        self._monotonic = service.clock.monotonic
        self._protocols = protocols
        self._quick_targets = {target for protocol in protocols for target in protocol.quick_targets}
        self._waiting: deque[Arrived] = deque()
        """What is not quick and has not begun, in order of arrival."""
        self._is_turn_due = False
        self._by_target: dict[bytes | None, Prepare] = {
            target: protocol.prepare for protocol in protocols for target in protocol.targets
        }

    def handle(self, requests: Sequence[Arrived]) -> None:
        """Answer these requests, stage by stage: calls each one's `respond` once, now or later.

        A request that takes long gives way where it stands, and the others go on without it.
        """
        quick_targets = self._quick_targets
        quick: deque[Arrived] = deque()
        for arrived in requests:
            request = arrived[0]
            layout = request.layout
            is_quick = (
                request.values[layout.target] in quick_targets
                and len(request.body) <= QUICK_BYTES
                and layout.content_encoding < 0
            )
            (quick if is_quick else self._waiting).append(arrived)
        if quick:
            self._workers.begin_turn()
            self._share_out(quick, deque())
        if self._waiting and not self._is_turn_due:
            if not quick:
                self._workers.begin_turn()
            self._begin_waiting()

    def _begin_waiting(self) -> None:
        """Begin what is not quick while there is time; some of it, and the rest in later turns, while much is in work."""
        waiting, workers = self._waiting, self._workers
        self._is_turn_due = False
        while waiting and workers.count_left() < IN_WORK_MAX:
            together = deque(islice(waiting, BEGUN_TOGETHER))
            for _ in together:
                waiting.popleft()
            self._share_out(together, deque())
            if workers.count_left() or workers.is_over(self._monotonic()):
                break
        if waiting:
            self._is_turn_due = True
            workers.run_next(self._begin_waiting)

    def _share_out(self, requests: deque[Arrived], calls: deque[Call]) -> None:
        """To as many workers as it takes: nobody waits for one that has given way."""
        while not self._workers.run(self._go_on, requests, calls):
            self._service.release()
            if not requests and not calls:
                return

    def _go_on(self, requests: deque[Arrived], calls: deque[Call]) -> None:
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
