"""A client may lose thousands of connections at once: the loop's report of each is short, and what they hold is
released in slices of later turns, while everything else goes on as if it had been released.
"""

from typing import Any

import pytest

from hashrange.server.connection import Connection
from hashrange.server.connection_states import WAITING
from hashrange.server.connections import Connections
from hashrange.server.incoming import TURN_SECONDS_MAX
from hashrange.server.lost import SLICE_SECONDS_MAX, TOGETHER_MAX, Lost
from hashrange.server.receive_budget import RECEIVE_BYTES_MAX, SMALL_BYTES, ReceiveBudget
from hashrange.wire.http import HttpRequest
from tests.support.working import calls_of
from tests.unit.server.harness import FakeTransport, FrontEnd, Turns, replies

HALF_A_BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000\r\n\r\n{"


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def front(turns: Turns) -> FrontEnd:
    front = FrontEnd(connections_max=50)
    loop: Any = turns
    front.connections.take_turns(loop)
    front.connect()
    return front


def finish(turns: Turns) -> None:
    while turns.due:
        turns.turn()


def lose(connection: Connection, transport: FakeTransport) -> None:
    """Report a connection as lost, as the loop does."""
    transport.close()
    connection.connection_lost(None)


@pytest.mark.parametrize("data", [b"", b"POST / HTTP/1.1\r\nHost: x", HALF_A_BODY])
def test_the_report_of_a_lost_connection_calls_next_to_nothing(front: FrontEnd, turns: Turns, data: bytes) -> None:
    clients = [front.connect() for _ in range(2)]
    for connection, _ in clients:
        if data:
            connection.data_received(data)
    turns.turn()
    lose(*clients[0])  # schedules the turn
    connection, transport = clients[1]
    transport.close()
    assert calls_of(connection.connection_lost, None) <= 2


@pytest.mark.parametrize("report", ["of TCP", "of TCP below TLS"])
def test_the_report_of_an_end_of_input_calls_next_to_nothing(front: FrontEnd, turns: Turns, report: str) -> None:
    clients = [front.connect() for _ in range(2)]
    clients[0][0].eof_received()  # schedules the turn
    (connection, transport), ended = clients[1], list[bool]()
    if report == "of TCP":
        assert calls_of(connection.eof_received) <= 3  # one of them is the transport's
    else:
        assert calls_of(connection.note_end_of_tcp, lambda: ended.append(True)) <= 2
    assert not transport.is_closed
    finish(turns)
    assert transport.is_closed
    assert ended == [True] * (report != "of TCP")


def test_what_lost_connections_hold_is_released_in_slices(
    front: FrontEnd, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [front.connect() for _ in range(30)]
    for connection, _ in clients:
        connection.data_received(HALF_A_BODY)
    finish(turns)
    budget = front.connections.receive_budget
    assert budget._beginnings_bytes > 0
    release = Connection.release

    def release_slowly(connection: Connection) -> None:
        front.clock.advance_all(SLICE_SECONDS_MAX / 4)
        release(connection)

    monkeypatch.setattr(Connection, "release", release_slowly)
    for client in clients:
        lose(*client)
    lost = front.connections.lost
    assert len(lost) == 30
    left = 30
    while left:
        turns.turn()
        assert 1 <= left - len(lost) <= 5
        left = len(lost)
    assert budget._beginnings_bytes == 0
    assert not turns.due


def test_however_quick_it_is_only_so_many_are_seen_to_in_one_turn(turns: Turns) -> None:
    """What closing a connection costs comes in the next turn, so that time alone would not bound it."""
    lost, done = Lost(lambda: 0.0), list[int]()
    lost.take_turns(turns.call_soon)
    for number in range(2 * TOGETHER_MAX + 1):
        lost.add(lambda number=number: done.append(number))  # type: ignore[misc]
    lengths = []
    while turns.due:
        turns.turn()
        lengths.append(len(done))
    assert lengths == [TOGETHER_MAX, 2 * TOGETHER_MAX, 2 * TOGETHER_MAX + 1]
    assert done == sorted(done)


def test_an_error_of_ours_in_a_release_keeps_no_other_from_it(
    front: FrontEnd, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [front.connect() for _ in range(3)]
    released: list[Connection] = []

    def fail_first(connection: Connection) -> None:
        released.append(connection)
        if len(released) == 1:
            raise ValueError("a bug of ours")

    monkeypatch.setattr(Connection, "release", fail_first)
    for client in clients:
        lose(*client)
    with pytest.raises(ValueError, match="a bug of ours"):
        turns.turn()
    finish(turns)
    assert len(released) == 3


def test_a_lost_connection_takes_no_place_before_it_is_released(front: FrontEnd) -> None:
    clients = [front.connect() for _ in range(49)]
    assert not front.connections.has_room()
    lose(*clients[0])
    assert front.connections.has_room()
    assert front.connections.count_held() == 50


def test_nothing_of_a_lost_connection_is_parsed_or_run_before_it_is_released(
    front: FrontEnd, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the turn that releases it came last."""
    monkeypatch.setattr(front.connections.lost, "_call_soon", lambda _: None)
    clients = [front.connect() for _ in range(4)]
    queued, pipelined, long, ended = (connection for connection, _ in clients)
    pipelined.data_received(front.request(operation="PutItem") * 3)
    long.data_received(front.request(operation="PutItem") * 100)
    turns.turn()
    assert front.store.committed == 2
    queued.data_received(front.request(operation="PutItem"))
    ended.data_received(front.request(operation="PutItem"))
    ended.eof_received()
    for client in clients:
        lose(*client)
    front.store.sync()
    finish(turns)
    assert front.store.committed == 2
    assert not any(transport.written for _, transport in clients)
    for connection, _ in clients:
        connection.release()
    budget = front.connections.receive_budget
    assert (budget._free_bytes, budget._beginnings_bytes) == (RECEIVE_BYTES_MAX, 0)


@pytest.mark.parametrize("data", ["requests", "chunks of one byte"])
def test_what_a_lost_connection_had_queued_for_the_next_turn_is_not_run(
    front: FrontEnd, turns: Turns, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    monkeypatch.setattr(front.connections.lost, "_call_soon", lambda _: None)
    handle, handled = front.handle, list[HttpRequest]()

    def slowly(calls: Any) -> None:
        front.clock.advance_all(TURN_SECONDS_MAX)
        handled.extend(request for request, _ in calls)
        handle(calls)

    front.connections.incoming._handle = slowly
    connection, transport = front.connect()
    connection.reply_bytes = 0
    if data == "requests":
        connection.data_received(front.request() * 3)
    else:
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.data_received(head + b"1\r\nx\r\n" * 15_000 + b"0\r\n\r\n")
    turns.turn()
    assert turns.due
    before = len(handled)
    assert before == (data == "requests")
    lose(connection, transport)
    finish(turns)
    assert len(handled) == before
    assert not connection.reading.ready or before


def test_a_body_that_waits_for_memory_is_not_let_in_after_its_connection_is_lost(turns: Turns) -> None:
    front = FrontEnd()
    connections: Connections = front.connections
    connections.receive_budget = ReceiveBudget(SMALL_BYTES + 10)
    loop: Any = turns
    connections.take_turns(loop)
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (SMALL_BYTES + 1)
    (holder, holders), (waiter, waiters) = front.connect(), front.connect()
    for connection in (holder, waiter):
        connection.data_received(head)
    finish(turns)
    assert waiter.receiving is WAITING
    lose(holder, holders)
    lose(waiter, waiters)
    finish(turns)
    assert not connections.receive_budget.is_wanted
    assert connections.receive_budget._free_bytes == SMALL_BYTES + 10


def test_a_request_in_work_is_abandoned_at_once_and_its_late_reply_is_dropped(front: FrontEnd, turns: Turns) -> None:
    taken: list[tuple[HttpRequest, Any]] = []
    front.connections.incoming._handle = taken.extend
    connection, transport = front.connect()
    connection.data_received(front.request())
    finish(turns)
    ((request, respond),) = taken
    left: list[bool] = []
    assert request.hold_reply(b"{}", lambda: left.append(True)) == 2
    lose(connection, transport)
    assert request.is_abandoned
    finish(turns)
    assert left == [True]
    respond(200, b"{}")
    assert not transport.written


def test_a_reply_that_comes_before_the_release_is_dropped(front: FrontEnd, turns: Turns) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") + front.request())
    turns.turn()
    lose(connection, transport)
    front.store.sync()
    finish(turns)
    assert replies(transport.written) == []
    assert connection.request is None
