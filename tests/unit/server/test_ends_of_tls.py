"""A client that ends TLS can get no reply later. So what it has sent is answered at once, for a limited time, and
nobody else's requests with it.
"""

from typing import Any

import pytest

from hashrange.server.connection import Connection
from hashrange.server.incoming import NO_REPLY, PIECE_BYTES, TURN_SECONDS_MAX
from hashrange.wire.http import LARGE_BYTES, HttpRequest
from tests.support.working import lines_of
from tests.unit.server.harness import FakeTransport, FrontEnd, Turns, replies


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def front(turns: Turns) -> FrontEnd:
    front = FrontEnd()
    loop: Any = turns
    front.connections.take_turns(loop)
    front.connect()
    return front


def connect(front: FrontEnd, reply_bytes: int = 0) -> tuple[Connection, FakeTransport]:
    """A client with TLS; `reply_bytes`: length of its last reply."""
    connection, transport = front.connect()
    connection.reply_bytes = reply_bytes
    transport.can_write_eof = lambda: False  # type: ignore[method-assign]
    return connection, transport


def statuses(transport: FakeTransport) -> list[int]:
    return [answer.status for answer in replies(transport.written)]


def take_time(front: FrontEnd, seconds: float) -> list[HttpRequest]:
    """From now on, each group of requests takes `seconds`; returns a list of the requests."""
    handle, handled = front.handle, list[HttpRequest]()

    def slowly(calls: Any) -> None:
        front.clock.advance_all(seconds if calls else 0.0)
        handled.extend(request for request, _ in calls)
        handle(calls)

    front.connections.incoming._handle = slowly
    return handled


@pytest.mark.parametrize("reply_bytes", [0, NO_REPLY, LARGE_BYTES])
@pytest.mark.parametrize("count", [1, 5, 200])
def test_what_came_before_the_end_is_answered_at_once(front: FrontEnd, count: int, reply_bytes: int) -> None:
    connection, transport = connect(front, reply_bytes)
    connection.data_received(front.request() * count)
    assert connection.eof_received() is False
    assert statuses(transport) == [200] * count
    assert transport.is_closed


def test_the_requests_of_others_wait_for_their_turn(front: FrontEnd, turns: Turns) -> None:
    others = [connect(front) for _ in range(50)]
    for connection, _ in others[:25]:
        connection.data_received(front.request())
    ending, transport = connect(front)
    ending.data_received(front.request())
    for connection, _ in others[25:]:
        connection.data_received(front.request())
    ending.eof_received()
    assert statuses(transport) == [200]
    assert not any(other.written for _, other in others)
    while turns.due:
        turns.turn()
    assert [statuses(other) for _, other in others] == [[200]] * 50


def test_once_the_time_is_over_the_queue_is_not_looked_through(front: FrontEnd) -> None:
    take_time(front, TURN_SECONDS_MAX)
    clients = [connect(front) for _ in range(60)]
    for connection, _ in clients:
        connection.data_received(front.request())
    clients[0][0].eof_received()
    assert lines_of(clients[1][0].eof_received) < len(clients)


def test_a_request_that_waited_from_earlier_turns_is_answered_first(front: FrontEnd, turns: Turns) -> None:
    take_time(front, TURN_SECONDS_MAX)
    clients = [connect(front, NO_REPLY) for _ in range(3)]
    for number, (connection, _) in enumerate(clients):
        connection.data_received(front.request(b'{"TableName":"early-%d"}' % number))
    turns.turn()  # answers the first; the others' requests wait in another queue than new input
    take_time(front, 0.0)
    connection, transport = clients[2]
    connection.data_received(front.request(b'{"TableName":"late"}'))
    connection.eof_received()
    assert [b"early-2" in answer.body for answer in replies(transport.written)] == [True, False]
    assert not clients[1][1].written


@pytest.mark.parametrize("filler_bytes", [0, PIECE_BYTES])
def test_all_that_end_in_one_turn_share_its_time_and_the_rest_is_dropped(
    front: FrontEnd, turns: Turns, filler_bytes: int
) -> None:
    request = front.request(b'{"TableName":"music","Filler":"%b"}' % (b"x" * filler_bytes))
    handled = take_time(front, TURN_SECONDS_MAX / 4)
    clients = [connect(front) for _ in range(3)]
    for connection, _ in clients:
        for _ in range(3):
            connection.data_received(request)
    for connection, _ in clients:
        connection.eof_received()
    assert [len(statuses(transport)) for _, transport in clients] == [3, 1, 0]
    assert all(transport.is_closed for _, transport in clients)
    while turns.due:
        turns.turn()
    assert len(handled) == 4
    assert front.connections.receive_budget._beginnings_bytes == 0
    connection, transport = connect(front)
    connection.data_received(front.request())
    connection.eof_received()
    assert statuses(transport) == [200]
