"""Deadlines of slow clients: one for each state of their connections, checked in slices."""

from typing import Any

import pytest

from hashrange.server.connections import (
    BODY_SECONDS_FREE,
    HEAD_SECONDS_MAX,
    IDLE_SECONDS_MAX,
    LEFT_SECONDS_MAX,
    LINGER_SECONDS,
    MEMORY_WAIT_SECONDS_MAX,
    VISIT_SECONDS_MAX,
    WRITE_SECONDS_MAX,
)
from hashrange.server.receive_budget import SMALL_BYTES, ReceiveBudget
from tests.unit.server.harness import FakeTransport, FrontEnd, Turns, as_bytes, replies, reply


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd()


def test_a_slow_head_ends_with_408_and_a_close(front: FrontEnd) -> None:
    connection, transport = front.connect()
    for _ in range(9):
        connection.data_received(b"P" if _ == 0 else b"")
        front.clock.advance_all(1)
        front.connections.sweep()
    assert transport.take() == b""
    front.clock.advance_all(HEAD_SECONDS_MAX)
    front.connections.sweep()
    assert reply(transport.take()).status == 408
    assert transport.has_sent_end
    front.clock.advance_all(LINGER_SECONDS + 0.1)
    front.connections.sweep()
    assert transport.is_aborted


def test_a_body_of_one_byte_a_second_ends_with_408(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
    seconds = 0
    while not transport.written:
        connection.data_received(b"x")
        front.clock.advance_all(1)
        front.connections.sweep()
        seconds += 1
        assert seconds < 60
    assert seconds > BODY_SECONDS_FREE
    assert reply(transport.take()).status == 408


def test_a_large_body_on_a_modest_line_is_waited_for(front: FrontEnd) -> None:
    connection, transport = front.connect()
    body = b'{"TableName":"music","Filler":"' + b"x" * 4_000_000 + b'"}'
    data = front.request(body, seconds=front.clock.wall_time() + 60)
    for position in range(0, len(data), 32_768):
        connection.data_received(data[position : position + 32_768])
        front.clock.advance_all(1)
        front.connections.sweep()
    assert reply(transport.take()).status == 200


def test_idle_connections_are_kept_for_long_and_then_closed(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request())
    front.clock.advance_all(IDLE_SECONDS_MAX)
    front.connections.sweep()
    assert not transport.is_closed
    front.clock.advance_all(1)
    front.connections.sweep()
    assert transport.is_closed


def test_a_client_that_never_reads_its_reply_is_cut_off(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request())
    connection.pause_writing()
    front.clock.advance_all(WRITE_SECONDS_MAX + 1)
    front.connections.sweep()
    assert transport.is_aborted


def test_a_request_in_work_has_no_deadline(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    front.clock.advance_all(10_000)
    front.connections.sweep()
    assert not transport.is_closed
    front.store.sync()
    assert reply(transport.take()).status == 200


def test_a_client_that_ended_its_input_waits_for_so_long(front: FrontEnd) -> None:
    """It may have left: with TCP, nobody can tell before a reply is sent."""
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    connection.eof_received()
    front.clock.advance_all(LEFT_SECONDS_MAX)
    front.connections.sweep()
    assert not transport.is_aborted
    front.clock.advance_all(1)
    front.connections.sweep()
    assert transport.is_aborted


@pytest.mark.parametrize("way", ["sweep", "stop"])
def test_many_connections_are_ended_in_several_turns(
    front: FrontEnd, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [front.connect() for _ in range(90)]
    front.clock.advance_all(IDLE_SECONDS_MAX + 1)
    close = FakeTransport.close

    def close_slowly(transport: FakeTransport) -> None:
        front.clock.advance_all(VISIT_SECONDS_MAX / 10)
        close(transport)

    monkeypatch.setattr(FakeTransport, "close", close_slowly)
    visit = front.connections.sweep if way == "sweep" else front.connections.stop
    closed = 0
    while visit():
        before, closed = closed, sum(transport.is_closed for _, transport in clients)
        assert 0 < closed - before <= 11
    assert closed > 70
    assert all(transport.is_closed for _, transport in clients)


def test_half_a_request_behind_a_whole_one_has_its_deadline(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request() + front.request()[:100])
    assert reply(transport.take()).status == 200
    front.clock.advance_all(HEAD_SECONDS_MAX + 1)
    front.connections.sweep()
    assert reply(transport.take()).status == 408


def test_a_closed_connection_whose_client_does_not_read_is_cut_off(front: FrontEnd) -> None:
    """The unread rest in the transport may be too small to pause writing, so a deadline must end the connection."""
    connection, transport = front.connect()
    connection.data_received(front.request(headers={"Connection": "close"}))
    assert transport.is_closed
    front.clock.advance_all(WRITE_SECONDS_MAX - 1)
    front.connections.sweep()
    assert not transport.is_aborted
    front.clock.advance_all(2)
    front.connections.sweep()
    assert transport.is_aborted


def test_a_connection_with_requests_to_answer_is_not_idle(front: FrontEnd) -> None:
    turns: Any = Turns()
    front.connections.take_turns(turns)
    front.connect()
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") + front.request(b'{"TableName":"second"}'))
    turns.turn()
    front.clock.advance_all(IDLE_SECONDS_MAX + 1)  # the first request's commit takes long
    front.store.sync()
    front.connections.sweep()
    while turns.due:
        turns.turn()
    assert len(replies(transport.take())) == 2


def test_the_time_of_a_body_that_waits_for_room_begins_when_it_is_let_in(front: FrontEnd) -> None:
    shared = front.connections.receive_budget = ReceiveBudget(SMALL_BYTES + 1)
    (holder, _), (connection, transport) = front.connect(), front.connect()
    data = as_bytes({"Content-Length": str(SMALL_BYTES + 1)}, b"")
    for one in (holder, connection):
        one.data_received(data)
    assert shared.is_wanted
    seconds = MEMORY_WAIT_SECONDS_MAX - 1
    front.clock.advance_all(seconds)
    front.connections.sweep()
    holder.connection_lost(None)
    assert not shared.is_wanted
    front.clock.advance_all(BODY_SECONDS_FREE - seconds / 2)
    front.connections.sweep()
    assert not transport.written
    front.clock.advance_all(seconds)
    front.connections.sweep()
    assert reply(transport.take()).status == 408
