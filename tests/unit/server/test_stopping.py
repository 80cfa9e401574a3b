"""A server that stops answers what had come before, in turns of its loop: a fork shares the loop with its parent."""

from typing import Any

import pytest

from tests.unit.server.harness import FrontEnd, Turns, replies


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def front(turns: Turns) -> FrontEnd:
    front = FrontEnd()
    loop: Any = turns
    front.connections.take_turns(loop)
    return front


def test_what_had_come_is_answered_in_turns_and_nobody_is_closed_before(front: FrontEnd, turns: Turns) -> None:
    clients = [front.connect() for _ in range(40)]
    for connection, _ in clients[:-1]:
        connection.data_received(front.request() * 3)
    assert front.connections.stop() is True
    assert not any(transport.written or transport.is_closed for _, transport in clients)
    while turns.due:
        turns.turn()
    for _, transport in clients[:-1]:
        (answer,) = replies(transport.written)
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert transport.is_closed
    (_, idle) = clients[-1]
    assert not idle.is_closed
    assert front.connections.stop() is False
    assert idle.is_closed
    assert not idle.written


def test_a_client_that_goes_on_sending_keeps_nobody_open(front: FrontEnd, turns: Turns) -> None:
    (sender, _), (_, idle) = front.connect(), front.connect()
    sender.data_received(b"POST / HTTP/1.1\r\n")
    front.connections.stop()
    sender.data_received(b"Host: localhost\r\n")
    turns.turn()
    sender.data_received(b"Host: localhost\r\n")
    front.connections.stop()
    assert idle.is_closed


def test_without_input_to_read_connections_are_closed_at_once(front: FrontEnd) -> None:
    clients = [front.connect() for _ in range(3)]
    assert front.connections.stop() is False
    assert all(transport.is_closed for _, transport in clients)
