"""Which protocol does a request speak, and when does it begin? Requests in, calls of the service out, in the groups in which they came.

A protocol is a file or folder below `protocols`, and a class of the shape of `WireProtocol`. A request whose target a protocol
names goes there; for any other the protocols are asked in their order, and the last one claims all that is left. Each listener has a
front of its own.

Requests that are quick, small ones for a single item, begin at once. All others begin in their order while the turn's slice of time lasts,
and then as there is time in later turns: three hundred transactions that arrive together take half a second, and nobody's GetItem waits
for more than one of them. Only so many are in work at a time, for a request takes thirty times as much memory in work as it does before.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from hashrange.server.incoming import Respond
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.wire.http import Request

QUICK_BYTES = 8 * 1024
"""The longest body of a quick request."""
PREPARED_TOGETHER = 16
"""So many go through the stages together, as in `incoming.py`."""
IN_WORK_MAX = 64
"""So many requests that have given way are in work while others, which are not quick, are to begin."""


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
Arrived = tuple[Prepare, Request, Respond]


class _Target(NamedTuple):
    """Who prepares the requests of one target."""

    prepare: Prepare
    is_quick: bool


class Front:
    """Answers the requests of one listener."""

    def __init__(self, service: Service, protocols: Sequence[WireProtocol]) -> None:
        self._service = service
        self._monotonic = service.clock.monotonic
        self._protocols = protocols
        self._targets: dict[bytes | None, _Target] = {
            target: _Target(protocol.prepare, target in protocol.quick_targets)
            for protocol in protocols
            for target in protocol.targets
        }
        self._waiting: deque[Arrived] = deque()
        """What is not quick and has not begun, in order of arrival."""
        self._prepared: deque[Call] = deque()
        """Of it, what has been prepared."""
        self._is_turn_due = False

    def handle(self, requests: Sequence[tuple[Request, Respond]]) -> None:
        """Answer these requests, stage by stage: calls each one's `respond` once, now or later.

        A request that takes long gives way where it stands, and the others go on without it.
        """
        if not requests:
            return
        self._service.workers.begin_turn()
        self._share_out(deque(requests), deque())
        if self._waiting and not self._is_turn_due:
            self._begin_waiting()

    def _choose(self, request: Request) -> Prepare:
        """Of a request whose target is none that is known."""
        return next(protocol.prepare for protocol in self._protocols if protocol.claims(request))

    # --- quick ones -----------------------------------------------------------------------------

    def _share_out(self, requests: deque[tuple[Request, Respond]], calls: deque[Call]) -> None:
        """To as many workers as it takes: nobody waits for one that has given way."""
        while not self._service.workers.run(self._go_on, requests, calls):
            self._service.release()
            if not requests and not calls:
                return

    def _go_on(self, requests: deque[tuple[Request, Respond]], calls: deque[Call]) -> None:
        """The stages, for whatever no other worker has taken; what is not quick waits."""
        targets = self._targets
        while requests:
            request, respond = requests.popleft()
            layout = request.layout
            target = targets.get(request.values[layout.target])
            if target is None:
                self._waiting.append((self._choose(request), request, respond))
            elif target.is_quick and len(request.body) <= QUICK_BYTES and layout.content_encoding < 0:
                call = target.prepare(request, respond)
                if call is not None:
                    calls.append(call)
            else:
                self._waiting.append((target.prepare, request, respond))
        if calls:
            self._service.run_in_worker(calls)

    # --- all others -----------------------------------------------------------------------------

    def _begin_waiting(self) -> None:
        """Begin what is not quick while there is time, and the rest in later turns."""
        workers = self._service.workers
        self._is_turn_due = False
        while (self._prepared or self._waiting) and workers.count_left() < IN_WORK_MAX:
            has_ended = workers.run(self._go_on_while_there_is_time)
            self._service.release()
            if not has_ended or workers.is_over(self._monotonic()):
                break
        if self._prepared or self._waiting:
            self._is_turn_due = True
            workers.run_next(self._begin_waiting)

    def _go_on_while_there_is_time(self) -> None:
        """The stages for some of it. What gives way here leaves the rest to the next worker."""
        waiting, prepared = self._waiting, self._prepared
        while waiting and len(prepared) < PREPARED_TOGETHER:
            prepare, request, respond = waiting.popleft()
            if request.is_abandoned:
                respond(500, b"")  # to nobody
                continue
            call = prepare(request, respond)
            if call is not None:
                prepared.append(call)
        self._service.run_while_there_is_time(prepared)
