"""Held replies are written together, in order, without loss, and never after a long delay."""

from typing import Any

import pytest

from hashrange.server.connections import UNREAD_BYTES_MAX
from hashrange.server.outgoing import HELD_MAX, HELD_SECONDS_MAX
from hashrange.wire.http import LARGE_BYTES
from tests.unit.server.harness import FakeTransport, FrontEnd, Turns, replies


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def front(turns: Turns) -> FrontEnd:
    front = FrontEnd()
    loop: Any = turns
    front.connections.outgoing.hold(loop)
    return front


def written(transports: list[FakeTransport]) -> list[int]:
    """The number of replies that each client has received."""
    return [len(replies(transport.written)) for transport in transports]


def test_replies_of_one_turn_leave_at_its_end(front: FrontEnd, turns: Turns) -> None:
    clients = [front.connect() for _ in range(3)]
    transports = [transport for _, transport in clients]
    for connection, _ in clients:
        connection.data_received(front.request(operation="PutItem"))
    front.store.sync()
    assert written(transports) == [0, 0, 0]
    turns.turn()
    assert written(transports) == [1, 1, 1]


def test_an_only_client_is_answered_at_once(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request() * 3)
    assert written([transport]) == [3]


def test_no_more_than_so_many_are_held(front: FrontEnd) -> None:
    clients = [front.connect() for _ in range(HELD_MAX)]
    for connection, _ in clients:
        connection.data_received(front.request())
    assert written([transport for _, transport in clients]) == [1] * HELD_MAX


def test_none_is_held_for_long(front: FrontEnd) -> None:
    (first, first_transport), (second, second_transport) = front.connect(), front.connect()
    first.data_received(front.request())
    front.clock.advance_all(2 * HELD_SECONDS_MAX)
    second.data_received(front.request())
    assert written([first_transport, second_transport]) == [1, 1]


def test_a_large_reply_takes_the_others_along(front: FrontEnd) -> None:
    (first, first_transport), (second, second_transport) = front.connect(), front.connect()
    first.data_received(front.request())
    second.data_received(front.request(b'{"TableName":"%b"}' % (b"t" * LARGE_BYTES)))
    assert written([first_transport, second_transport]) == [1, 1]


def test_pipelined_replies_stay_in_order(front: FrontEnd, turns: Turns) -> None:
    front.connect()
    connection, transport = front.connect()
    bodies = [b'{"TableName":"t%d"}' % number for number in range(HELD_MAX + 5)]
    connection.data_received(b"".join(front.request(body) for body in bodies))
    turns.turn()
    answered = replies(transport.written)
    assert [f'"t{number}"'.encode() in answer.body for number, answer in enumerate(answered)] == [True] * len(bodies)


@pytest.mark.parametrize("end", ["eof", "close", "malformed", "stop"])
def test_a_connection_that_ends_gets_its_reply_first(front: FrontEnd, turns: Turns, end: str) -> None:
    front.connect()
    connection, transport = front.connect()
    headers = {"Connection": "close"} if end == "close" else None
    connection.data_received(front.request(headers=headers))
    if end == "eof":
        assert connection.eof_received() is True
        turns.turn()
        assert transport.is_closed
    elif end == "malformed":
        connection.data_received(b"nonsense\r\n\r\n")
    elif end == "stop":
        front.connections.stop()
    assert replies(transport.written)[0].status == 200
    assert end == "eof" or transport.is_closing() or transport.written.count(b"HTTP/1.1 ") == 2


def test_a_client_that_is_gone_is_passed_over(front: FrontEnd, turns: Turns) -> None:
    (first, first_transport), (second, second_transport) = front.connect(), front.connect()
    first.data_received(front.request(operation="PutItem"))
    second.data_received(front.request(operation="PutItem"))
    front.store.sync()
    first_transport.close()
    turns.turn()
    assert written([first_transport, second_transport]) == [0, 1]


def test_those_who_leave_most_replies_unread_for_longest_are_cut_off(front: FrontEnd) -> None:
    clients = [front.connect() for _ in range(6)]
    for connection, transport in clients[:5]:
        transport.unread_bytes = UNREAD_BYTES_MAX // 5
        connection.pause_writing()
    assert not any(transport.is_aborted for _, transport in clients)
    clients[0][0].resume_writing()  # the client reads, and stops again: so it is no longer the one blocked longest
    clients[0][0].pause_writing()
    clients[5][1].unread_bytes = UNREAD_BYTES_MAX // 4
    clients[5][0].pause_writing()
    assert [transport.is_aborted for _, transport in clients] == [False, True, True, False, False, False]
    for connection, _ in clients:
        connection.connection_lost(None)
    assert front.connections.unread._bytes == 0


def test_a_reply_counts_as_a_whole_until_the_last_of_it_is_read(front: FrontEnd) -> None:
    """Even when the socket has taken part of a reply, the unsent rest keeps all of its bytes in memory."""
    connection, transport = front.connect()
    connection.data_received(front.request(b'{"TableName":"%b"}' % (b"x" * 100_000)))
    front.store.sync()
    size_bytes = len(replies(transport.take())[0].body)
    assert size_bytes > 100_000
    assert connection.count_unsent_bytes() == 0
    transport.unread_bytes = 1
    assert connection.count_unsent_bytes() == size_bytes
