"""Scheduling of requests: quick ones begin at once, all others as time permits, and the number in work is limited."""

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.aws_services.operation import Operation
from hashrange.errors import Abandoned
from hashrange.items import steps
from hashrange.items.steps import look
from hashrange.operations.operation import JSON, JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.server.connection_states import IDLE
from hashrange.server.front import CROWD, IN_WORK_MAX, PREPARED_TOGETHER, QUICK_BYTES, QUICKEST_BYTES
from hashrange.server.incoming import GROUP_MAX
from hashrange.server.protocols.dynamodb_json.protocol import DynamoDBJson
from hashrange.server.protocols.metrics_path import MetricsPath
from hashrange.server.reading import Reading
from hashrange.service.workers import SLICE_SECONDS
from hashrange.wire.http import HttpRequest
from tests.unit.server.harness import EchoRequest, FrontEnd, Turns, echo, replies

HEAVY, LONG, WRITE = "TransactWriteItems", "Scan", "PutItem"


class Served:
    """A front end whose turns the test runs; `ran` lists the operations that ran, in order."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.in_work = self.in_work_max = 0
        self.front = FrontEnd(
            operations={
                "GetItem": Operation("GetItem", EchoRequest, self.quick, JsonWire(is_quick=True)),
                WRITE: Operation(WRITE, EchoRequest, self.heavy, JsonWire(is_quick=True), writes=True),
                HEAVY: Operation(HEAVY, EchoRequest, self.heavy, JSON),
                LONG: Operation(LONG, EchoRequest, self.long, JSON),
            },
            connections_max=1_000,
        )
        self.turns = Turns()
        loop: Any = self.turns
        self.front.connections.take_turns(loop)
        self.front.service.take_turns(loop)

    async def quick(self, scope: Scope, request: EchoRequest) -> Reply:
        self.ran.append("quick")
        return await echo(scope, request)

    async def heavy(self, scope: Scope, request: EchoRequest) -> Reply:
        """Take one slice of time without giving way."""
        self.ran.append(request.TableName)
        self.front.clock.advance_all(SLICE_SECONDS)
        return {}

    async def long(self, scope: Scope, request: EchoRequest) -> Reply:
        """Take five slices of time, and give way after each."""
        self.ran.append(request.TableName)
        self.in_work += 1
        self.in_work_max = max(self.in_work, self.in_work_max)
        for _ in range(5):
            self.front.clock.advance_all(SLICE_SECONDS)
            look()
        self.in_work -= 1
        return {}

    def known(self, count: int) -> list[Any]:
        """Clients whose first request, a quick one, has already been answered."""
        clients = [self.front.connect() for _ in range(count)]
        for connection, _ in clients:
            connection.data_received(self.front.request())
        self.run()
        for _, transport in clients:
            assert len(replies(transport.take())) == 1
        self.ran.clear()
        return clients

    def run(self) -> int:
        """Run turns until nothing is left to do; return their number."""
        count = 0
        while self.turns.due:
            self.turns.turn()
            count += 1
        return count


@pytest.fixture
def served() -> Iterator[Served]:
    before = steps._look, steps._queue
    yield Served()
    steps._look, steps._queue = before


def body(name: str, filler_bytes: int = 0) -> bytes:
    return b'{"TableName":"%b","Filler":"%b"}' % (name.encode(), b"x" * filler_bytes)


def test_a_quick_request_waits_for_two_others_at_most_however_many_came_before_it(served: Served) -> None:
    clients = served.known(100)
    for place, (connection, _) in enumerate(clients[:-1]):
        connection.data_received(served.front.request(body(f"heavy-{place:02}"), HEAVY))
    clients[-1][0].data_received(served.front.request())
    served.run()
    assert served.ran.index("quick") <= 2
    assert [name for name in served.ran if name != "quick"] == [f"heavy-{place:02}" for place in range(99)]
    for _, transport in clients:
        assert [one.status for one in replies(transport.written)] == [200]


def test_a_quick_request_that_comes_later_goes_before_what_waits(served: Served) -> None:
    clients = served.known(50)
    for connection, _ in clients[:-1]:
        connection.data_received(served.front.request(body("heavy"), HEAVY))
    for _ in range(5):
        served.turns.turn()
    begun = len(served.ran)
    clients[-1][0].data_received(served.front.request())
    served.turns.turn()
    served.turns.turn()
    assert "quick" in served.ran
    assert len(served.ran) <= begun + 3


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("url", ["/", "/_hashrange/v1/ready"])
def test_a_health_check_does_not_wait_for_a_crowd(served: Served, method: str, url: str) -> None:
    clients = served.known(100)
    for connection, _ in clients[:-1]:
        connection.data_received(served.front.request(body("heavy"), HEAVY))
    for _ in range(5):
        served.turns.turn()
    begun = len(served.ran)
    connection, transport = clients[-1]
    connection.data_received(f"{method} {url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    served.turns.turn()
    served.turns.turn()
    assert transport.written
    assert len(served.ran) <= begun + 3


def test_a_long_or_compressed_body_is_not_quick(served: Served) -> None:
    clients = served.known(4)
    clients[0][0].data_received(served.front.request(body("heavy"), HEAVY))
    clients[1][0].data_received(served.front.request(body("long", QUICK_BYTES)))
    clients[2][0].data_received(served.front.request(body("coded"), headers={"Content-Encoding": "identity"}))
    clients[3][0].data_received(served.front.request())
    served.run()
    assert served.ran == ["quick", "heavy", "quick", "quick"]


def test_only_so_many_are_in_work(served: Served) -> None:
    """Each request in work holds its decoded body, so their number is limited."""
    clients = served.known(3 * IN_WORK_MAX)
    for connection, _ in clients:
        connection.data_received(served.front.request(body("long"), LONG))
    served.run()
    assert served.in_work_max <= IN_WORK_MAX
    assert len(served.ran) == len(clients)
    for _, transport in clients:
        assert [one.status for one in replies(transport.written)] == [200]


def test_what_waits_is_begun_although_quick_ones_never_end(served: Served) -> None:
    clients = served.known(8)
    for connection, _ in clients[:4]:
        connection.data_received(served.front.request(body("heavy"), HEAVY))
    for _ in range(20):
        for connection, _ in clients[4:]:
            connection.data_received(served.front.request())
        served.turns.turn()
        served.turns.turn()
    assert served.ran.count("heavy") == 4


def test_in_a_crowd_those_that_read_go_first(served: Served) -> None:
    """The cost of a write may be higher than its body's size suggests."""
    clients = served.known(CROWD + 5 * GROUP_MAX)
    for place, (connection, _) in enumerate(clients[:-2]):
        connection.data_received(served.front.request(body(f"write-{place:03}"), WRITE))
    clients[-2][0].data_received(served.front.request(body("heavy"), HEAVY))
    clients[-1][0].data_received(served.front.request())
    served.run()
    assert served.ran.index("quick") <= CROWD + GROUP_MAX
    writes = [name for name in served.ran if name.startswith("write")]
    assert sorted(writes) == [f"write-{place:03}" for place in range(len(clients) - 2)]
    assert len(served.ran) == len(clients)


def test_what_is_not_the_smallest_goes_behind_it_and_before_one_of_the_others(served: Served) -> None:
    clients = served.known(12)
    for place, (connection, _) in enumerate(clients[:5]):
        connection.data_received(served.front.request(body(f"heavy-{place}"), HEAVY))
    for place, (connection, _) in enumerate(clients[5:10]):
        connection.data_received(served.front.request(body(f"write-{place}", QUICKEST_BYTES), WRITE))
    clients[10][0].data_received(served.front.request(body("small"), WRITE))
    clients[11][0].data_received(served.front.request())
    served.run()
    assert served.ran[:2] == ["quick", "small"]
    assert [name for name in served.ran if name.startswith("write")] == [f"write-{place}" for place in range(5)]
    for place in range(5):  # each takes a whole turn, and each turn begins one request of either queue
        assert served.ran.index(f"write-{place}") < served.ran.index(f"heavy-{place}")


def test_a_larger_quick_one_begins_although_as_many_as_may_be_are_in_work(served: Served) -> None:
    clients = served.known(IN_WORK_MAX + PREPARED_TOGETHER)
    for connection, _ in clients[:-1]:
        connection.data_received(served.front.request(body("long"), LONG))
    while served.in_work < IN_WORK_MAX:
        assert len(served.ran) < len(clients), "no more than that have begun"
        served.turns.turn()
    clients[-1][0].data_received(served.front.request(body("write", QUICKEST_BYTES), WRITE))
    for _ in range(3):
        served.turns.turn()
    assert "write" in served.ran
    served.run()
    assert served.in_work_max == IN_WORK_MAX


def test_others_are_begun_although_larger_quick_ones_never_end(served: Served) -> None:
    clients = served.known(44)
    for connection, _ in clients[:4]:
        connection.data_received(served.front.request(body("heavy"), HEAVY))
    for _ in range(40):
        for connection, transport in clients[4:]:
            if connection.answering is IDLE:
                transport.take()
                connection.data_received(served.front.request(body("write", QUICKEST_BYTES), WRITE))
        served.turns.turn()
    assert served.ran.count("heavy") >= 2


@pytest.mark.parametrize("operation", ["GetItem", HEAVY])
def test_who_is_refused_takes_no_longer_than_others(monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    before = steps._look, steps._queue
    refused: list[HttpRequest] = []

    def refuse(self: DynamoDBJson, request: HttpRequest, respond: Any) -> None:
        refused.append(request)
        slow.front.clock.advance_all(SLICE_SECONDS)
        respond(400, b"{}")

    monkeypatch.setattr(DynamoDBJson, "prepare", refuse)
    try:
        slow = Served()
        clients = slow.known(GROUP_MAX)
        for connection, _ in clients:
            connection.data_received(slow.front.request(b"?", operation))
        while slow.turns.due:
            count = len(refused)
            slow.turns.turn()
            assert len(refused) <= count + 3
        assert len(refused) == GROUP_MAX
        for _, transport in clients:
            assert [one.status for one in replies(transport.written)] == [400]
    finally:
        steps._look, steps._queue = before


def test_without_a_loop_all_of_it_is_answered_at_once() -> None:
    served = FrontEnd(operations={HEAVY: Operation(HEAVY, EchoRequest, echo, JSON)})
    assert b"200 OK" in served.ask(served.request(operation=HEAVY))


def test_what_waits_is_not_begun_once_its_client_has_gone(served: Served) -> None:
    clients = served.known(40)
    for place, (connection, _) in enumerate(clients):
        connection.data_received(served.front.request(body(f"heavy-{place:02}"), HEAVY))
    served.turns.turn()
    begun = len(served.ran)
    assert begun + PREPARED_TOGETHER <= 20
    for connection, transport in clients[20:]:
        transport.abort()
        connection.connection_lost(None)
    served.run()
    assert served.ran == [f"heavy-{place:02}" for place in range(20)]
    assert [len(replies(transport.written)) for _, transport in clients] == [1] * 20 + [0] * 20
    assert all(connection.answering is IDLE for connection, _ in clients)


def test_a_client_that_leaves_while_its_request_is_read_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def leave(*_: object) -> None:
        raise Abandoned

    monkeypatch.setattr(MetricsPath, "prepare", leave)
    front = FrontEnd()
    (answer,) = replies(front.ask(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    assert answer.status == 500
    assert not caplog.records
    assert front.service.workers.running is None


class Answering:
    """The reply function of one request; a weak reference can watch it."""

    def __init__(self, statuses: list[int]) -> None:
        self.statuses = statuses

    def __call__(self, status: int, *_: Any) -> None:
        self.statuses.append(status)


def test_who_gives_way_keeps_nothing_of_what_others_answer(served: Served) -> None:
    """A request and its reply may have 16 MB each, and sixty-four requests may have given way."""
    statuses: list[int] = []
    watched = []
    arrived = []
    for operation in (LONG, HEAVY, "GetItem"):
        reading = Reading()
        assert reading.feed(served.front.request(body("x"), operation)) is None
        answering = Answering(statuses)
        watched.append(weakref.ref(answering))
        arrived.append((reading.ready.popleft(), answering))
    del answering
    served.front.handle(arrived)
    arrived.clear()
    for _ in range(3):
        served.turns.turn()
    assert (len(statuses), served.in_work) == (2, 1)
    assert [one() is None for one in watched] == [False, True, True]
    served.run()
    assert statuses == [200, 200, 200]
    assert [one() for one in watched] == [None] * 3
