"""Random walks: connections keep their invariants in any order of client actions, transport events, replies and time.

The clients share a front end without a dispatcher: the walk itself answers the requests, when it chooses.
"""

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

from hashrange.long_reads import LongReads
from hashrange.server.connection import Connection
from hashrange.server.connection_states import (
    BLOCKED,
    BUSY,
    ENDED,
    ENDING,
    GONE,
    LINGERING,
    LISTENING,
    NOT_PARSING,
    OVER,
    PAUSED,
    REFUSED,
    WAITING,
    Answering,
    Input,
    Receiving,
    Sending,
)
from hashrange.server.connections import Connections
from hashrange.server.incoming import PIECE_BYTES, Respond
from hashrange.server.reading import Reading
from hashrange.server.receive_budget import SMALL_BYTES, ReceiveBudget
from hashrange.wire.http import CONTINUE, HttpRequest
from tests.support.clocks import VirtualClock
from tests.unit.server.harness import FakeTransport, Turns, replies

SEEDS = 12
EVENTS = 1_500
CLIENTS = 4
ROOM_BYTES = 160_000
BODY_BYTES_MAX = 150_000
"""Limit of a body in this walk: one large body in chunks takes nearly all of ROOM_BYTES, and so do two others."""
TURN_BYTES = 100_000
"""Limit of long reads in a turn: 1.5 times the longest read."""
GARBAGE = b"GARBAGE\r\n\r\n"
DEADLINE_STATUS = {408, 503}


class Transport(FakeTransport):
    """A transport that may block at any write, as if the client did not read."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance
        self.connection: Connection | None = None
        self.is_blocked = False
        self.is_tls = chance.random() < 0.2
        self.has_ended = False

    def write(self, data: Any) -> None:
        super().write(data)
        if self.connection is not None and not self.is_blocked and self.chance.random() < 0.05:
            self.is_blocked = True
            self.connection.pause_writing()

    def can_write_eof(self) -> bool:
        return not self.is_tls

    def pause_reading(self) -> None:
        """Assert that the transport is open: on a closed one, uvloop raises RuntimeError."""
        assert not self.has_ended
        assert not self.is_closed
        super().pause_reading()

    def resume_reading(self) -> None:
        """Assert that the client has not ended: a loop that read it again would report the end a second time."""
        assert not self.has_ended
        assert not self.is_closed
        super().resume_reading()


class Client:
    """A client: the bytes that it still has to send, and its progress."""

    def __init__(self, connections: Connections, chance: random.Random) -> None:
        self.chance = chance
        self.connection = Connection(connections)
        self.transport = Transport(chance)
        self.connection.connection_made(self.transport)
        self.transport.connection = self.connection
        self.data = b""
        self.count = 0
        """Number of requests that must be answered, unless something ends the connection earlier."""
        self.sends_garbage = self.asks_to_close = False
        self.has_left = False
        self.is_undisturbed = True
        while not (self.sends_garbage or self.asks_to_close) and self.count < 12:
            self.data += self.next_message()
        if self.sends_garbage or self.asks_to_close:
            self.data += b"POST /more HTTP/1.1\r\n\r\n" * chance.choice((0, 1, 1_000))

    def next_message(self) -> bytes:
        """A random request, or garbage."""
        chance = self.chance
        if chance.random() < 0.06:
            self.sends_garbage = True
            return GARBAGE
        body = b"b" * chance.choice((0, 10, 10, 10, 3_000, 20_000, SMALL_BYTES + 1, 90_000))
        lines = [b"POST /%d HTTP/1.1" % self.count]
        if chance.random() < 0.2:
            lines.append(b"Expect: 100-continue")
        if chance.random() < 0.2:
            lines.append(b"Connection: Upgrade\r\nUpgrade: h2c")
        elif chance.random() < 0.05:
            self.asks_to_close = True
            lines.append(b"Connection: close")
        if chance.random() < 0.3:
            lines.append(b"Transfer-Encoding: chunked")
            pieces = [body[at : at + 7_000] for at in range(0, len(body), 7_000)]
            body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        else:
            lines.append(b"Content-Length: %d" % len(body))
        self.count += 1
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    @property
    def may_send(self) -> bool:
        transport = self.transport
        return transport.reads and not (self.has_left or transport.has_ended or transport.is_closed)

    def send(self) -> None:
        """Send one piece if the server is reading; when all is sent, perhaps end the connection."""
        if not self.may_send:
            return
        size_bytes = self.chance.choice((1, 30, 1_000, PIECE_BYTES, PIECE_BYTES + 1, 60_000))
        if self.data:
            piece, self.data = self.data[:size_bytes], self.data[size_bytes:]
            self.connection.data_received(piece)
        elif self.chance.random() < 0.5:
            self.transport.has_ended = True
            if not self.connection.eof_received():
                self.is_undisturbed = False  # under TLS, requests in work are not answered after the client ended
                self.transport.close()

    def stop_reading(self) -> None:
        """Block the transport at any time, not only at a write."""
        if not self.has_left and not self.transport.is_blocked:
            self.transport.is_blocked = True
            self.connection.pause_writing()

    def read_on(self) -> None:
        """Read all that was written, which unblocks the transport."""
        if not self.has_left and self.transport.is_blocked:
            self.transport.is_blocked = False
            self.connection.resume_writing()

    def leave(self) -> None:
        """Report the connection as lost, perhaps some time after it was closed or reset."""
        if not self.has_left:
            self.is_undisturbed = self.is_undisturbed and self.transport.is_closed
            self.has_left = True
            self.transport.close()
            self.connection.connection_lost(None)


class Walk:
    """A random walk from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.turns = Turns()
        loop: Any = self.turns
        self.clock = VirtualClock()
        self.in_work: list[tuple[HttpRequest, Respond]] = []
        self.connections = Connections(self.handle, self.clock, connections_max=CLIENTS)
        self.connections.receive_budget = ReceiveBudget(ROOM_BYTES)
        self.connections.long_reads = LongReads(TURN_BYTES)
        self.connections.take_turns(loop)
        self.clients = [Client(self.connections, chance) for _ in range(CLIENTS)]
        self.everybody = list(self.clients)
        self.seen: set[Any] = set()

    def handle(self, calls: Sequence[tuple[HttpRequest, Respond]]) -> None:
        """Take requests: some are answered at once, others later."""
        for call in calls:
            self.in_work.append(call)
            if self.chance.random() < 0.3:
                self.answer(len(self.in_work) - 1)

    def answer(self, position: int) -> None:
        request, respond = self.in_work.pop(position)
        respond(200, request.url + b" " * self.chance.choice((10, 70_000)), b"text/plain")

    def step(self) -> None:
        """Do one random event."""
        chance = self.chance
        client = chance.choice(self.clients)
        match chance.choices(range(8), (40, 30, 15, 3, 8, 2, 1, 1))[0]:
            case 0:
                client.send()
            case 1:
                self.turns.turn()
            case 2 if self.in_work:
                self.answer(chance.randrange(len(self.in_work)))
            case 3:
                client.stop_reading()
            case 4:
                client.read_on()
            case 5:
                self.clock.advance_all(1)
                self.sweep()
            case 6 if client.transport.is_closed or chance.random() < 0.3:
                client.leave()
            case 7 if client.has_left:
                self.clients.remove(client)
                self.clients.append(Client(self.connections, chance))
                self.everybody.append(self.clients[-1])

    def sweep(self) -> None:
        """Apply deadlines; a client that is refused or cut off expects no further replies."""
        late = {client: client.connection.receiving for client in self.clients}
        while self.connections.sweep():
            pass
        for client, before in late.items():
            if client.connection.receiving is not before or client.transport.is_aborted:
                client.is_undisturbed = False

    def check(self) -> None:
        """Assert the invariants that hold after every event."""
        for client in self.clients:
            self.seen |= {
                client.connection.receiving,
                client.connection.answering,
                client.connection.sending,
                client.connection.input,
            }
            self.check_listening(client)
            connection = client.connection
            assert (connection.answering is BUSY) == (connection.request is not None)
            assert sum(
                respond.__self__ is connection  # type: ignore[attr-defined]
                for _, respond in self.in_work
            ) <= (connection.answering is BUSY)
            assert (connection.sending is BLOCKED) == client.transport.is_blocked
            assert (connection.receiving is GONE) == client.has_left
            if connection.receiving in NOT_PARSING and connection.release not in self.connections.lost._left:
                assert not connection.reading.rest
                assert not connection.share.reserved_bytes
            if connection.receiving in OVER:
                assert client.transport.is_closed
                assert not connection.ready
            if connection.receiving is REFUSED:
                assert connection.answering is BUSY or connection.ready or client.transport.is_closed

    def check_listening(self, client: Client) -> None:
        """Assert that the server reads a client exactly if no reason to pause exists; each reason is read from its
        own component."""
        connection = client.connection
        assert client.transport.reads == (connection.input is LISTENING) or connection.input in (ENDING, ENDED)
        if connection.input in (ENDING, ENDED) or client.transport.is_closed:
            return
        incoming = self.connections.incoming
        has_room = connection.share not in self.connections.receive_budget._waiting
        assert has_room == (connection.receiving is not WAITING)
        long_reads = [data for data in incoming._long.get(connection, ()) if data and len(data) >= PIECE_BYTES]
        is_held = connection in self.connections.long_reads._held
        is_in_the_way = bool(connection.ready or connection.reading.rest or long_reads or is_held)
        assert (connection.input is PAUSED) == (client.transport.is_blocked or not has_room or is_in_the_way)

    def finish(self) -> None:
        """Let all clients send the rest and read everything, and answer all requests."""
        is_quiet = False
        while not is_quiet:
            for client in self.clients:
                client.read_on()
                client.send()
            while self.in_work:
                self.answer(0)
            self.turns.turn()
            self.check()
            is_sending = any(client.data and client.may_send for client in self.clients)
            is_blocked = any(client.transport.is_blocked and not client.has_left for client in self.clients)
            is_quiet = not (is_sending or is_blocked or self.in_work or self.turns.due)
        for client in self.clients:
            self.check_end(client)
        while self.connections.stop():
            pass
        for client in self.everybody:
            self.check_replies(client)
            client.leave()
        assert not self.connections.everyone()
        while self.connections.lost:
            self.turns.turn()
        shared = self.connections.receive_budget
        assert (shared._free_bytes, shared._beginnings_bytes, shared.is_wanted) == (ROOM_BYTES, 0, False)
        assert self.connections.unread._bytes == 0
        long_reads = self.connections.long_reads
        assert not (long_reads._listened or long_reads._held)

    def check_end(self, client: Client) -> None:
        """Assert that nothing is left to do for the client, and that it could send everything."""
        connection = client.connection
        assert connection.answering is not BUSY
        assert client.transport.is_closed or not (connection.has_more or client.transport.has_ended or client.data)
        if client.sends_garbage and not client.data and client.is_undisturbed:
            assert connection.receiving in OVER or (connection.receiving is LINGERING and not client.transport.is_tls)

    def check_replies(self, client: Client) -> None:
        """Assert that the replies are in order, and complete unless the connection was ended earlier."""
        answered = replies(client.transport.written.replace(CONTINUE, b""))
        while answered and answered[-1].status in DEADLINE_STATUS:
            assert not client.is_undisturbed or answered[-1].status == 503
            answered.pop()
            client.is_undisturbed = False
        if answered and answered[-1].status == 400:
            assert client.sends_garbage
            answered.pop()
        elif client.is_undisturbed:
            assert not client.sends_garbage
        assert [answer.status for answer in answered] == [200] * len(answered)
        numbers = [int(answer.body.strip()[1:]) for answer in answered]
        assert numbers == list(range(len(numbers)))
        if client.is_undisturbed and (not client.data or client.asks_to_close):
            assert len(numbers) == client.count


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail when bytes are parsed for a connection in a state that forbids parsing."""
    owners: dict[Reading, Connection] = {}
    feed, begin = Reading.feed, Connection.__init__

    def watch(reading: Reading, data: bytes) -> Any:
        assert owners[reading].receiving not in (*NOT_PARSING, WAITING)
        return feed(reading, data)

    def note(connection: Connection, connections: Connections) -> None:
        begin(connection, connections)
        owners[connection.reading] = connection

    monkeypatch.setattr(Reading, "feed", watch)
    monkeypatch.setattr(Connection, "__init__", note)
    monkeypatch.setattr("hashrange.server.reading.BODY_BYTES_MAX", BODY_BYTES_MAX)


@pytest.mark.usefixtures("watched")
def test_random_walks_keep_the_rules(caplog: pytest.LogCaptureFixture) -> None:
    seen: set[Any] = set()
    for seed in range(SEEDS):
        walk = Walk(seed)
        for _ in range(EVENTS):
            walk.step()
            walk.check()
        walk.finish()
        seen |= walk.seen
        assert not re.search("please report", caplog.text), f"seed {seed}: {caplog.text}"
    assert seen == {*Receiving, *Answering, *Sending, *Input}
