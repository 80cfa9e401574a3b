"""Under TLS, the socket's transport shows that a client does not read, and the connection is paused once."""

import asyncio
from typing import Any

import pytest

from hashrange.server.connection_states import BLOCKED, FLOWING
from hashrange.server.connections import UNREAD_BYTES_MAX
from hashrange.server.handshakes import TlsProtocol
from tests.unit.server.harness import FakeTransport, FrontEnd


class LimitedTransport(FakeTransport):
    """A transport that checks its write limits, and ignores them."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        assert high > UNREAD_BYTES_MAX


class Tls(asyncio.BufferedProtocol):
    """A stub of the library's TLS protocol: writes encrypted bytes as soon as it may."""

    def __init__(self) -> None:
        self.sending: TlsProtocol | None = None
        self.fills_up_again = False

    def resume_writing(self) -> None:
        assert self.sending is not None
        if self.fills_up_again:
            self.fills_up_again = False
            self.sending.pause_writing()


def connected(front: FrontEnd) -> tuple[Any, FakeTransport, Tls, TlsProtocol]:
    connection, _ = front.connect()
    transport, socket_transport, tls = LimitedTransport(), FakeTransport(), Tls()
    connection.transport = transport
    tls.sending = TlsProtocol(tls, connection, (transport, socket_transport))
    return connection, socket_transport, tls, tls.sending


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd()


def test_pauses_of_the_socket_reach_the_connection(front: FrontEnd) -> None:
    connection, _, _, sending = connected(front)
    sending.pause_writing()
    assert connection.sending is BLOCKED
    sending.resume_writing()
    assert connection.sending is FLOWING


def test_what_fills_up_again_at_once_is_no_pause_of_its_own(front: FrontEnd) -> None:
    connection, _, tls, sending = connected(front)
    sending.pause_writing()
    tls.fills_up_again = True
    sending.resume_writing()
    assert connection.sending is BLOCKED
    sending.resume_writing()
    assert connection.sending is FLOWING


def test_what_the_socket_has_not_taken_counts_as_unread(front: FrontEnd) -> None:
    clients = [connected(front) for _ in range(5)]
    for _, socket_transport, _, sending in clients:
        socket_transport.unread_bytes = UNREAD_BYTES_MAX // 4
        sending.pause_writing()
    assert [connection.transport.is_aborted for connection, *_ in clients] == [True] + [False] * 4
    for connection, *_ in clients:
        connection.connection_lost(None)
    assert front.connections.unread._bytes == 0
