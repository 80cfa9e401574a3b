"""Which protocol handles a request, and when does the request begin?
Requests in, calls of the service out, in groups as received.

A protocol is a class below `protocols` that implements `WireProtocol`. A request goes to the protocol that names its
target (X-Amz-Target). If none does, the protocols are asked in order, and the last claims everything. Each listener has
its own front.

Quick requests, health checks and small ones for a single item, begin first: the smallest at once, but only reads while
a crowd of other requests waits behind them. Other requests begin in order while the turn's slice lasts, and then in
later turns: three hundred transactions that arrive together take half a second, and no GetItem waits for more than one
of them. The number of other requests that have begun is limited, because a decoded request may take thirty times the
memory of its body.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import msgspec

from hashrange.errors import Abandoned
from hashrange.features.late_code import StillLoading
from hashrange.items.steps import look
from hashrange.server.clients import IN_THIS_PROCESS, Clients
from hashrange.server.gate import Gate
from hashrange.server.incoming import Respond
from hashrange.server.protocols.plain import answer_plainly
from hashrange.server.protocols.unserved.services import ServiceRefusal
from hashrange.server.protocols.wire_protocol import Guard, Prepare, WireProtocol
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.service.workers import SLICE_SECONDS
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

if TYPE_CHECKING:  # a database within another program reads no HTTP, and start time counts
    from hashrange.server.reading import TakeBody

_log = logging.getLogger("hashrange.server")

QUICK_BYTES = 8 * 1024
"""Longest body of a quick request: one for a target in `quick_targets`, not compressed. It begins before others."""
QUICKEST_BYTES = 1024
"""Longest body of a quick request that begins at once. Longer ones wait: 300 of 3 KB with number sets take 150 ms."""
HEALTH_CHECKS = frozenset((b"/", b"/_hashrange/v1/ready"))
"""Paths that clients ask in order to learn whether the server lives. Such a request, without a body, is quick."""
CROWD = 32
"""If more inputs than this wait behind the group being answered (`incoming.py`), they are a crowd: of the group, only
small reads begin at once."""
PREPARED_TOGETHER = 16
"""Most requests of a queue that are decoded into calls before the first of them runs: more would delay the first."""
IN_WORK_MAX = 64
"""While this many requests have begun and given way, only quick requests begin."""


Arrived = tuple[Prepare, HttpRequest, Respond]


def refuse_unserved(request: HttpRequest, respond: Respond, error: Exception) -> None:
    """Answer a request that no code could be loaded for. The reply has no body:
    clients of every form take it for an internal error.
    """
    request_id = request_id_of(request.number).decode()
    _log.error("request %s met an error of ours; please report it", request_id, exc_info=error)
    respond(500, b"")


def _refuse(refusal: ServiceRefusal, guard: Guard, request: HttpRequest, respond: Respond) -> None:
    guard.refuse(request, respond, refusal)


def _fail(error: Exception, request: HttpRequest, respond: Respond) -> None:
    raise error


class _Target(msgspec.Struct, frozen=True):
    """How requests of one X-Amz-Target become calls. A struct: its members are read in half the time of a tuple's."""

    prepare: Prepare
    guard: Guard
    quick_bytes: int
    """Longest body of its quick requests; less than 0 if none is quick."""
    is_read: bool


class _Queue:
    """Queue of requests that have not begun: first those `prepared` as calls, then those that only `arrived`."""

    __slots__ = ("arrived", "prepared")

    def __init__(self) -> None:
        self.arrived: deque[Arrived] = deque()
        self.prepared: deque[Call] = deque()


class Front:
    """Answers the requests of one listener, with calls of the service."""

    def __init__(
        self,
        service: Service,
        protocols: Sequence[WireProtocol],
        gate: Gate,
        clients: Clients = IN_THIS_PROCESS,
        end_waiting: Callable[[], None] = lambda: None,
        take_body: "TakeBody | None" = None,
    ) -> None:
        """`end_waiting` answers the requests that wait for other servers; called when the listener ends."""
        self.end_waiting = end_waiting
        self.take_body = take_body
        """Who takes bodies as they come (`server/reading.py`); None: nobody does."""
        self._service = service
        self._monotonic = service.clock.monotonic
        self.protocols = protocols
        self.gate = gate
        self.clients = clients
        self._behind = clients.waiting
        self._known_hosts = gate.hosts.known
        self._targets: dict[bytes | None, _Target] = {}
        self._closed_targets: dict[bytes | None, _Target] = {}
        """Those that pages of other sites may not send: the gate looks at each of their requests."""
        for protocol in protocols:
            for target, prepare in protocol.targets.items():
                quick_bytes = QUICK_BYTES if target in protocol.quick_targets else -1
                is_read = protocol.quick_targets.get(target, False)
                if target in protocol.closed_targets:
                    guard = protocol.guard._replace(is_open_to_pages=False)
                    self._closed_targets[target] = _Target(prepare, guard, quick_bytes, is_read)
                else:
                    self._targets[target] = _Target(prepare, protocol.guard, quick_bytes, is_read)
        self._quick = _Queue()
        self._others = _Queue()
        self._is_turn_due = False

    def handle(self, requests: Sequence[tuple[HttpRequest, Respond]]) -> None:
        """Answer these requests: each one's `respond` is called once, now or later.

        A request that takes long gives way, and the others continue without it.
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

    def answer_now(self, request: HttpRequest, respond: Respond) -> bool:
        """Begin this request now, outside workers, so that it does not give way, if it is a small read of one item.

        Returns False (nothing done) for other requests, and while requests wait.
        """
        layout = request.layout
        target = self._targets.get(request.values[layout.target])
        if target is None or not target.is_read or len(request.body) > QUICKEST_BYTES or layout.content_encoding >= 0:
            return False
        if self._has_more():
            return False
        call = target.prepare(request, respond)
        if call is not None:
            self._service.run_in_worker(deque((call,)))
        return True

    def _has_more(self) -> bool:
        quick, others = self._quick, self._others
        return bool(quick.arrived or others.arrived or quick.prepared or others.prepared)

    def _is_crowd(self) -> bool:
        return len(self._behind) > CROWD

    def _choose(self, request: HttpRequest, target: _Target | None) -> Prepare:
        """Return `prepare` of `target` or, if that is None, of the first protocol that claims the request.

        If the gate refuses the request, return a function that tells so.
        If a protocol cannot load what it needs to tell, return a function that raises its error.
        """
        chosen: _Target | WireProtocol
        try:
            chosen = (
                target
                or self._closed_targets.get(request.header(b"x-amz-target"))
                or next(protocol for protocol in self.protocols if protocol.claims(request))
            )
            guard = chosen.guard
            refusal = self.gate.refusal(request, guard)
        except Exception as error:  # noqa: BLE001 - whatever it is, the request gets an answer
            return partial(_fail, error)
        if refusal is not None:
            return partial(_refuse, refusal, guard)
        if request.method == b"OPTIONS" and request.layout.origin >= 0 and not guard.answers_preflights:
            return answer_plainly
        return chosen.prepare

    # --- quick requests -------------------------------------------------------------------------

    def _share_out(self, requests: deque[tuple[HttpRequest, Respond]], calls: deque[Call]) -> None:
        """Make calls of `requests`, run them and `calls`. After a worker has given way in this, another one goes on,
        in this turn for one more slice.
        """
        workers, ends_seconds = self._service.workers, inf
        while not workers.run(self._go_on, requests, calls):
            self._service.release()
            if not requests and not calls:
                return
            now_seconds = self._monotonic()
            ends_seconds = min(ends_seconds, now_seconds + SLICE_SECONDS)
            if now_seconds >= ends_seconds:
                workers.run_next(partial(self._share_out, requests, calls))
                return

    def _go_on(self, requests: deque[tuple[HttpRequest, Respond]], calls: deque[Call]) -> None:
        """In a worker: make calls of `requests` that begin at once, and queue the others; run these calls and `calls`.

        Then serve each queue once, unless a crowd waits or `_begin_waiting` is scheduled.
        """
        self._sort_out(requests, calls)
        if calls:
            self._service.run_in_worker(calls)
        if (self._quick.arrived or self._others.arrived) and not self._is_turn_due and not self._is_crowd():
            for queue in (self._quick, self._others):
                if self._may_begin(queue):
                    self._serve(queue)

    def _sort_out(self, requests: deque[tuple[HttpRequest, Respond]], calls: deque[Call]) -> None:
        """Append the calls of requests that begin at once to `calls`, reads first, and queue the other requests.

        This is a separate function so that its variables are freed before the worker runs calls that may give way.
        """
        targets, known_hosts = self._targets, self._known_hosts
        is_crowd = self._is_crowd()
        behind: list[Call] = []
        while requests:
            request, respond = requests.popleft()
            layout, size_bytes = request.layout, len(request.body)
            target = targets.get(request.values[layout.target])
            if target is None or (
                request.values[layout.host] not in known_hosts and self.gate.refusal(request, target.guard) is not None
            ):
                queue = self._quick if not size_bytes and request.url in HEALTH_CHECKS else self._others
                queue.arrived.append((self._choose(request, target), request, respond))
            elif size_bytes > target.quick_bytes or layout.content_encoding >= 0:
                self._others.arrived.append((target.prepare, request, respond))
            elif size_bytes > QUICKEST_BYTES or (is_crowd and not target.is_read):
                self._quick.arrived.append((target.prepare, request, respond))
            else:
                call = target.prepare(request, respond)
                if call is None:
                    look()  # a refusal may have taken a millisecond
                else:
                    (calls if target.is_read else behind).append(call)
        calls += behind

    # --- queued requests ------------------------------------------------------------------------

    def _begin_waiting(self) -> None:
        """Begin queued requests while the slice lasts, at least one of each queue if `_may_begin`; others next turn."""
        workers = self._service.workers
        self._is_turn_due = False
        for queue in (self._quick, self._others):
            while self._may_begin(queue):
                has_ended = workers.run(self._serve, queue)
                self._service.release()
                if not has_ended or workers.is_over(self._monotonic()):
                    break
        if self._has_more():
            self._begin_later()

    def _begin_later(self) -> None:
        """Begin queued requests in the next turn."""
        self._is_turn_due = True
        self._service.workers.run_next(self._begin_waiting)

    def _may_begin(self, queue: _Queue) -> bool:
        """True if `queue` has requests and, unless it is the quick queue, fewer than `IN_WORK_MAX` have given way."""
        has_more = queue.arrived or queue.prepared
        return bool(has_more) and (queue is self._quick or self._service.workers.count_left() < IN_WORK_MAX)

    def _serve(self, queue: _Queue) -> None:
        """In a worker: make calls of some requests in `queue` (quick or other); run its calls while the slice lasts."""
        self._prepare_some(queue)
        self._service.run_while_there_is_time(queue.prepared)

    def _prepare_some(self, queue: _Queue) -> None:
        """Make calls of a few HTTP requests that wait in `queue`, one of the front's two (quick requests, all others).

        This is a separate function so that its variables are freed before the calls run.
        """
        arrived, prepared, workers = queue.arrived, queue.prepared, self._service.workers
        while arrived and len(prepared) < PREPARED_TOGETHER:
            prepare, request, respond = arrived.popleft()
            if request.is_abandoned:
                respond(500, b"")  # the client has left: this only ends the request
                continue
            workers.running = request
            try:
                call = prepare(request, respond)
            except StillLoading as loading:
                call = None
                loading.then(partial(self.handle, [(request, respond)]))
            except Abandoned:
                call = None
                workers.running = None  # the reply may give way
                respond(500, b"")  # the client has left: this only ends the request
            except Exception as error:  # noqa: BLE001 - whatever it is, the request gets an answer
                call = None
                refuse_unserved(request, respond, error)
            finally:
                workers.running = None
            if call is None:
                look()  # a refusal may have taken a millisecond
            else:
                prepared.append(call)
            if len(request.body) > QUICK_BYTES:
                break  # run this request before preparing more: decoded, its body may take thirty times as much memory
