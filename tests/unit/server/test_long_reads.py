"""Long input of many clients is read over several turns, while clients that send little are still read."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from hashrange.long_reads import RELEASED_TOGETHER, TURN_BYTES, LongReads
from hashrange.server.connection import Connection, FirstRead
from hashrange.server.connections import Connections
from hashrange.server.incoming import GROUP_MAX, PIECE_BYTES
from hashrange.server.listener import Server
from tests.support.working import HurriedClock
from tests.unit.server.harness import FakeTransport, FrontEnd, StubStore, Turns
from tests.unit.server.listening import play, request_bytes

__all__ = ["play"]

LONG = 256_000
CLIENTS = 24
"""Number of clients; together they send 7 MB."""


class Sender:
    """A stub connection that records at each call of `listen` whether it is held."""

    def __init__(self, long_reads: LongReads) -> None:
        self.long_reads = long_reads
        self.told: list[bool] = []

    @property
    def is_held(self) -> bool:
        this: Any = self
        return self.long_reads.holds(this)

    def listen(self) -> None:
        self.told.append(self.is_held)


def sender_to(long_reads: LongReads) -> Any:
    return Sender(long_reads)


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def long_reads(turns: Turns) -> LongReads:
    counted = LongReads(3 * LONG)
    counted.take_turns(turns.call_soon)
    return counted


def test_who_sends_long_is_held_once_a_turn_has_brought_enough(turns: Turns, long_reads: LongReads) -> None:
    senders = [sender_to(long_reads) for _ in range(20)]
    for sender in senders:
        long_reads.note(sender, LONG - 1)
        turns.turn()
    assert not any(sender.told for sender in senders)
    for sender in (senders[5], senders[3]):
        long_reads.note(sender, LONG)
    assert not any(sender.is_held for sender in senders)
    long_reads.note(senders[4], LONG)
    assert all(sender.is_held for sender in senders)
    order = [sender for sender in senders if sender not in (senders[5], senders[3], senders[4])]
    order += [senders[5], senders[3], senders[4]]
    released = 0
    while released < len(senders):
        turns.turn()
        released += RELEASED_TOGETHER
        assert [sender.is_held for sender in order] == [place >= released for place in range(len(order))]
    assert [sender.told for sender in senders] == [[True, False]] * 20
    assert not turns.due


def test_who_is_held_already_is_held_as_long_as_before(turns: Turns, long_reads: LongReads) -> None:
    """Bytes read before a client was held may be reported later, as with TLS; they do not prolong the hold."""
    first, second = sender_to(long_reads), sender_to(long_reads)
    for sender in (first, second):
        long_reads.note(sender, 3 * LONG)
    long_reads.note(first, 3 * LONG)
    assert [first.told, second.told] == [[True], [True]]
    turns.turn()
    assert [first.is_held, second.is_held] == [False, False]
    assert not turns.due


def test_who_is_gone_is_never_told(turns: Turns, long_reads: LongReads) -> None:
    listened, held = sender_to(long_reads), sender_to(long_reads)
    for sender in (listened, held):
        long_reads.note(sender, 1)
    long_reads.forget(listened)
    long_reads.note(sender_to(long_reads), 3 * LONG)
    long_reads.forget(held)
    turns.turn()
    assert (listened.told, held.told) == ([], [True])


def test_a_connection_that_is_held_goes_on_in_a_later_turn() -> None:
    world = FrontEnd()
    turns = Turns()
    loop: Any = turns
    world.connections.take_turns(loop)
    request = world.request()
    (quick, _), (long, transport) = world.connect(), world.connect()
    world.connections.long_reads.note(long, TURN_BYTES)
    assert not transport.reads
    quick.data_received(request)
    turns.turn()
    assert transport.reads
    long.connection_lost(None)
    quick.connection_lost(None)


class SwitchingTransport(FakeTransport):
    """A transport that records its protocol, and asserts that it is not replaced while reading."""

    protocol: Any = None

    def set_protocol(self, protocol: Any) -> None:
        assert not self.reads
        self.protocol = protocol


def first_read(world: FrontEnd, size_bytes: int, data: bytes) -> tuple[Connection, SwitchingTransport]:
    """A connection whose client has sent its first bytes: the first `size_bytes` of `data`."""
    protocol, transport = FirstRead(world.connections), SwitchingTransport()
    protocol.connection_made(transport)
    protocol.get_buffer(-1)[:size_bytes] = data[:size_bytes]
    protocol.buffer_updated(size_bytes)
    assert transport.reads or size_bytes == PIECE_BYTES
    return transport.protocol, transport


def test_the_first_piece_of_a_client_is_read_as_any_other() -> None:
    world = FrontEnd()
    data = world.request()
    connection, transport = first_read(world, len(data), data)
    assert transport.written.startswith(b"HTTP/1.1 200")
    connection.data_received(data)
    assert transport.written.count(b"HTTP/1.1 200") == 2


def test_servers_on_other_threads_read_into_bytes_of_their_own() -> None:
    pieces = [FirstRead(FrontEnd().connections).get_buffer(-1) for _ in range(2)]
    pieces[0][:4] = b"POST"
    assert bytes(pieces[1][:4]) != b"POST"


def test_a_client_that_fills_its_first_piece_sends_long(turns: Turns) -> None:
    world = FrontEnd()
    loop: Any = turns
    world.connections.take_turns(loop)
    data = world.request(b" " * PIECE_BYTES)
    filled, _ = first_read(world, PIECE_BYTES, data)
    unfilled, _ = first_read(world, PIECE_BYTES - 1, data)
    long_reads = world.connections.long_reads
    long_reads.note(sender_to(long_reads), TURN_BYTES)
    assert (long_reads.holds(filled), long_reads.holds(unfilled)) == (True, False)


def test_a_long_request_waits_behind_short_ones_from_its_first_piece_to_its_last(turns: Turns) -> None:
    """A head of thousands of lines takes a millisecond to parse: a hundred of them must not be parsed before others."""
    world = FrontEnd()
    loop: Any = turns
    world.connections.take_turns(loop)
    first_read(world, 1, b"P")  # with one open connection, input is parsed at once
    short, _ = first_read(world, PIECE_BYTES - 1, world.request(b" " * PIECE_BYTES))
    data = world.request(b'{"TableName":"music"}' + b" " * 2 * PIECE_BYTES)
    long, transport = first_read(world, PIECE_BYTES, data)
    incoming = world.connections.incoming
    assert [one for one, _ in incoming._waiting] == [short]
    assert list(incoming._long) == [long]
    while turns.due:
        turns.turn()
    for piece in (data[PIECE_BYTES : 2 * PIECE_BYTES - 1], data[2 * PIECE_BYTES - 1 :]):
        long.data_received(piece)
        assert list(incoming._long) == [long]
        while turns.due:
            turns.turn()
    assert transport.written.startswith(b"HTTP/1.1 200")
    long.data_received(world.request())
    assert [one for one, _ in incoming._waiting] == [long]
    while turns.due:
        turns.turn()
    assert transport.written.count(b"HTTP/1.1 200") == 2


def test_what_many_send_at_once_is_read_in_several_turns(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Counter[int]()
    first: dict[int, int] = {}
    turn = 0
    receive = Connection.data_received

    def received(connection: Connection, data: bytes) -> None:
        first.setdefault(id(connection), len(data))
        read[turn] += len(data)
        receive(connection, data)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        loop = asyncio.get_running_loop()
        request = request_bytes(body=b'{"TableName":"music","Note":"' + b"x" * 300_000 + b'"}')

        def tick() -> None:
            nonlocal turn
            turn += 1
            loop.call_soon(tick)

        async def ask(client: socket.socket) -> bytes:
            await loop.sock_sendall(client, request)
            reply = await loop.sock_recv(client, 100)
            reply += await loop.sock_recv(client, 100_000)
            return reply

        tick()
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
        for _ in range(2):
            for client in clients:
                client.setblocking(False)
            answers = await asyncio.gather(*map(ask, clients))
            assert [answer[:12] for answer in answers] == [b"HTTP/1.1 200"] * CLIENTS
        for client in clients:
            client.close()

    monkeypatch.setattr(Connection, "data_received", received)
    play(scenario)
    assert len(first) == CLIENTS
    assert max(first.values()) <= PIECE_BYTES
    assert sum(read.values()) > 2 * CLIENTS * 300_000
    assert max(read.values()) < TURN_BYTES + LONG + CLIENTS * PIECE_BYTES


def test_long_reads_go_on_one_at_a_time() -> None:
    """Each of many clients sends a body in chunks of one byte; parsing gives way after some pieces."""
    turns = Turns()
    loop: Any = turns
    connections = Connections(lambda calls: None, HurriedClock())
    connections.take_turns(loop)
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    clients = []
    for _ in range(GROUP_MAX):
        client = Connection(connections)
        client.connection_made(FakeTransport())
        client.data_received(head + b"1\r\nx\r\n" * 40_000)
        clients.append(client)
    left = [len(client.reading.rest) for client in clients]
    while turns.due:
        turns.turn()
        now_left = [client.share.queued_bytes + len(client.reading.rest) for client in clients]
        if all(not client.share.queued_bytes for client in clients):
            assert sum(now != before for now, before in zip(now_left, left, strict=True)) <= 2
        left = now_left
    assert not any(left)
    for client in clients:
        client.connection_lost(None)
