"""Which protocol does a request speak, and when does it begin? Requests in, calls of the service out, in the groups in which they came.

A protocol is a file or folder below `protocols`, and a class of the shape of `WireProtocol`. A request whose target a protocol
names goes there; for any other the protocols are asked in their order, and the last one claims all that is left. Each listener has a
front of its own.

Requests that are quick, small ones for a single item, begin before all others: the smallest at once, but while a crowd waits behind them only
those that read. The rest begins in its order while the turn's slice of time lasts,
and then as there is time in later turns: three hundred transactions that arrive together take half a second, and nobody's GetItem waits
for more than one of them. Only so many are in work at a time, for a request takes thirty times as much memory in work as it does before.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from hashrange.server.incoming import Respond
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.wire.http import HttpRequest

QUICK_BYTES = 8 * 1024
"""The longest body of a quick request."""
QUICKEST_BYTES = 1024
"""The longest body of one that begins at once: three hundred of 3 KB that write sets of numbers take 150 ms."""
CROWD = 32
"""So many other requests behind a group are a crowd."""
PREPARED_TOGETHER = 16
"""So many go through the stages together, as in `incoming.py`."""
IN_WORK_MAX = 64
"""So many requests that have given way are in work while others, which are not quick, are to begin."""


class WireProtocol(Protocol):
    """One way to ask, as far as this file knows it."""

    @property
    def targets(self) -> "Mapping[bytes, Prepare]":
        """The values of X-Amz-Target that are its own, and what prepares their requests, as `prepare`."""

    @property
    def quick_targets(self) -> Mapping[bytes, bool]:
        """Those of them whose small requests take well under a millisecond; True for those that only read."""

    def claims(self, request: HttpRequest) -> bool:
        """Is this request for it, by its method, host, path, content type or signing scope?"""

    def prepare(self, request: HttpRequest, respond: Respond) -> Call | None:
        """Of a request that it claims: a call for the service; None: the request is answered without one, now or later. Never raises; may give way."""


Prepare = Callable[[HttpRequest, Respond], Call | None]
Arrived = tuple[Prepare, HttpRequest, Respond]


class _Target(msgspec.Struct, frozen=True, gc=False):
    """Who prepares the requests of one target. A struct only because its members are read in half the time of a tuple's."""

    prepare: Prepare
    is_quick: bool
    is_read: bool


class _Line:
    """Requests that have not begun, in order of arrival: those that are not prepared yet, and those that are."""

    __slots__ = ("arrived", "prepared")

    def __init__(self) -> None:
        self.arrived: deque[Arrived] = deque()
        self.prepared: deque[Call] = deque()


class Front:
    """Answers the requests of one listener."""

    def __init__(self, service: Service, protocols: Sequence[WireProtocol]) -> None:
        self._service = service
        self._monotonic = service.clock.monotonic
        self._protocols = protocols
        self._targets: dict[bytes | None, _Target] = {
            target: _Target(prepare, target in protocol.quick_targets, protocol.quick_targets.get(target, False))
            for protocol in protocols
            for target, prepare in protocol.targets.items()
        }
        self._quick = _Line()
        self._others = _Line()
        self._count_behind: Callable[[], int] = int
        self._is_turn_due = False

    def look_behind(self, count_behind: Callable[[], int]) -> None:
        """From now on, ask how much has come that is not handed over yet."""
        self._count_behind = count_behind

    def handle(self, requests: Sequence[tuple[HttpRequest, Respond]]) -> None:
        """Answer these requests, stage by stage: calls each one's `respond` once, now or later.

        A request that takes long gives way where it stands, and the others go on without it.
        """
        if not requests:
            return
        self._service.workers.begin_turn()
        self._share_out(deque(requests), deque())
        if self._has_more() and not self._is_turn_due:
            if self._is_crowd():
                self._begin_later()
            else:
                self._begin_waiting()

    def _has_more(self) -> bool:
        quick, others = self._quick, self._others
        return bool(quick.arrived or others.arrived or quick.prepared or others.prepared)

    def _is_crowd(self) -> bool:
        return self._count_behind() > CROWD

    def _choose(self, request: HttpRequest) -> Prepare:
        """Of a request whose target is none that is known."""
        return next(protocol.prepare for protocol in self._protocols if protocol.claims(request))

    # --- quick ones -----------------------------------------------------------------------------

    def _share_out(self, requests: deque[tuple[HttpRequest, Respond]], calls: deque[Call]) -> None:
        """To as many workers as it takes: nobody waits for one that has given way."""
        while not self._service.workers.run(self._go_on, requests, calls):
            self._service.release()
            if not requests and not calls:
                return

    def _go_on(self, requests: deque[tuple[HttpRequest, Respond]], calls: deque[Call]) -> None:
        """The stages, for whatever no other worker has taken; what is not quick waits."""
        self._sort_out(requests, calls)
        if calls:
            self._service.run_in_worker(calls)
        if (self._quick.arrived or self._others.arrived) and not self._is_turn_due and not self._is_crowd():
            for line in (self._quick, self._others):
                if self._may_begin(line):
                    self._serve(line)

    def _sort_out(self, requests: deque[tuple[HttpRequest, Respond]], calls: deque[Call]) -> None:
        """Prepare what is to begin at once. A function of its own: what it has at hand must not be kept by a worker that gives way later."""
        targets = self._targets
        quick, others = self._quick.arrived, self._others.arrived
        is_crowd = self._is_crowd()
        behind: list[Call] = []
        while requests:
            request, respond = requests.popleft()
            layout, size_bytes = request.layout, len(request.body)
            target = targets.get(request.values[layout.target])
            if target is None:
                others.append((self._choose(request), request, respond))
            elif not target.is_quick or size_bytes > QUICK_BYTES or layout.content_encoding >= 0:
                others.append((target.prepare, request, respond))
            elif size_bytes > QUICKEST_BYTES or (is_crowd and not target.is_read):
                quick.append((target.prepare, request, respond))
            else:
                call = target.prepare(request, respond)
                if call is not None:
                    (calls if target.is_read else behind).append(call)
        calls += behind

    # --- all others -----------------------------------------------------------------------------

    def _begin_waiting(self) -> None:
        """Begin what waits while there is time, of either line one at least; the rest in later turns."""
        workers = self._service.workers
        self._is_turn_due = False
        for line in (self._quick, self._others):
            while self._may_begin(line):
                has_ended = workers.run(self._serve, line)
                self._service.release()
                if not has_ended or workers.is_over(self._monotonic()):
                    break
        if self._has_more():
            self._begin_later()

    def _begin_later(self) -> None:
        """In the next turn."""
        self._is_turn_due = True
        self._service.workers.run_next(self._begin_waiting)

    def _may_begin(self, line: _Line) -> bool:
        """Is there anything in it, and are few enough in work? What is quick need not ask."""
        has_more = line.arrived or line.prepared
        return bool(has_more) and (line is self._quick or self._service.workers.count_left() < IN_WORK_MAX)

    def _serve(self, line: _Line) -> None:
        """The stages for some of a line, while there is time. What gives way here leaves the rest to the next worker."""
        self._prepare_some(line)
        self._service.run_while_there_is_time(line.prepared)

    @staticmethod
    def _prepare_some(line: _Line) -> None:
        """A function of its own, as `_sort_out`."""
        arrived, prepared = line.arrived, line.prepared
        while arrived and len(prepared) < PREPARED_TOGETHER:
            prepare, request, respond = arrived.popleft()
            if request.is_abandoned:
                respond(500, b"")  # to nobody
                continue
            call = prepare(request, respond)
            if call is not None:
                prepared.append(call)
            if len(request.body) > QUICK_BYTES:
                break  # decoded, it takes thirty times as much memory
