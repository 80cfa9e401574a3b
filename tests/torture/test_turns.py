"""Does a hostile request let others have their turn? Counted, not timed:
calls of Python functions between two turns of the loop.

The clock moves a little at each look, so a slice of time is the same number of steps in every run.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from hashrange.items import steps
from hashrange.operations.registry import OPERATIONS
from hashrange.server.access import Access
from hashrange.server.connection import Connection
from hashrange.server.connections import Connections
from hashrange.server.credentials import Credential
from hashrange.server.protocols.http import http_front
from hashrange.service.service import Service
from hashrange.service.workers import SLICE_SECONDS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.signing import ACCESS_KEY, SECRET_KEY, sign, sign_chunks
from tests.support.working import STEP_SECONDS, SteppingClock, Turns, calls_of
from tests.unit.server.harness import FakeTransport, as_bytes, reply
from torture.kinds.kind import Hostile
from torture.kinds.needs import basis, calls_for
from torture.kinds.table import BY_NAME

KINDS = (
    "update-append-140", "update-copy-40", "partiql-append-140", "condition-contains-145", "query-contains-145",
    "scan-filter-in-100000", "put-number-set-90000", "add-number-set-90000", "attributes-40000-unlucky",
    "put-list-800000-gzip", "get-projection", "create-indexes-5600", "table-indexes-6000", "chunks-of-1-byte-65000",
)  # fmt: skip
CALLS_MAX = 40_000
"""Highest number of Python calls between two turns: some 5 ms."""


class Front:
    """A whole server without sockets, in memory."""

    def __init__(self) -> None:
        self.turns = Turns()
        loop: Any = self.turns
        self.clock = clock = SteppingClock()
        self.store = open_store(None, clock, None)
        settings = Settings()
        service = Service(self.store, OPERATIONS, clock, settings)
        service.take_turns(loop)
        access = Access(service, {ACCESS_KEY: Credential(ACCESS_KEY, SECRET_KEY)})
        self.connections = Connections(http_front(service, access).handle, clock)
        self.connections.take_turns(loop)
        self.calls_max = 0

    def ask(self, request: Hostile, *, is_counted: bool = True) -> tuple[int, bytes]:
        """Status and body of the reply; also updates the highest number of calls in a turn, if it is counted."""
        run = self.counted if is_counted else self.uncounted
        headers = {
            "Host": "localhost",
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{request.operation}",
            **dict(request.headers),
        }
        data = signed(headers, request, self.clock.wall_time())
        connection = Connection(self.connections)
        transport = FakeTransport()
        connection.connection_made(transport)
        run(lambda: connection.data_received(data))
        while self.turns.due:
            run(self.turns.turn)
        connection.connection_lost(None)
        answer = reply(transport.take())
        return answer.status, answer.body

    def counted(self, run: Callable[[], object]) -> None:
        """Run and count the calls."""
        self.calls_max = max(self.calls_max, calls_of(run))

    @staticmethod
    def uncounted(run: Callable[[], object]) -> None:
        """Run without counting, which takes time."""
        run()


def signed(headers: dict[str, str], request: Hostile, seconds: float) -> bytes:
    """The signed request as bytes on the wire."""
    body, chunk_bytes = request.body, request.chunk_bytes
    if not chunk_bytes:
        return as_bytes(sign({**headers, "Content-Length": str(len(body))}, body, seconds=seconds), body)
    headers["X-Amz-Content-SHA256"] = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    complete = sign(headers, b"", seconds=seconds, payload_hash=headers["X-Amz-Content-SHA256"])
    pieces = [body[start : start + chunk_bytes] for start in range(0, len(body) + chunk_bytes, chunk_bytes)]
    chunks = sign_chunks(pieces, complete["Authorization"].rpartition("=")[2], seconds=seconds)
    return as_bytes({**complete, "Content-Length": str(len(chunks))}, chunks)


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    """A server with all tables and items that the kinds of this file need."""
    before = steps._look, steps._queue
    front = Front()
    made = set()
    for call in [*basis(), *(call for name in KINDS for call in calls_for(BY_NAME[name].needs))]:
        body = msgspec.json.encode(call.members)
        if (call.operation, body) not in made:
            made.add((call.operation, body))
            status, text = front.ask(Hostile(call.operation, body, len(body)), is_counted=False)
            assert status == 200, text
    yield front
    steps._look, steps._queue = before
    front.store.close_now()


@pytest.mark.parametrize("name", KINDS)
def test_a_hostile_request_lets_others_have_their_turn(front: Front, name: str) -> None:
    kind = BY_NAME[name]
    front.calls_max = 0
    status, body = front.ask(kind.make())
    error = "" if status == 200 else " " + msgspec.json.decode(body)["__type"].rpartition("#")[2]
    assert f"{status}{error}" in kind.answers
    assert 0 < front.calls_max <= CALLS_MAX


def test_without_giving_way_it_would_not(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without giving way, a turn has far too many calls."""
    monkeypatch.setattr(steps, "_look", None)
    front.calls_max = 0
    front.ask(BY_NAME["add-number-set-90000"].make())
    assert front.calls_max > 5 * CALLS_MAX
    assert SLICE_SECONDS / STEP_SECONDS < CALLS_MAX
