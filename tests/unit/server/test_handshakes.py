"""TLS handshakes: crowds of them take turns, and a misbehaving client affects its own connection only."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from hashrange.server import handshakes
from hashrange.server.app import run_on_best_loop
from hashrange.server.connection import Connection
from hashrange.server.connection_states import HAS_ENDED
from hashrange.server.connections import VISIT_SECONDS_MAX
from hashrange.server.descriptors import TURNED_AWAY_MAX
from hashrange.server.handshakes import (
    HANDSHAKE_SECONDS_MAX,
    TLS_END_SECONDS_MAX,
    Handshake,
    Handshakes,
    record_bytes,
)
from hashrange.server.listener import Server, tls_context
from hashrange.server.receive_budget import BEGINNINGS_BYTES_MAX
from hashrange.settings import Settings
from tests.support.garbage import garbage_made
from tests.support.waiting import until
from tests.support.working import calls_of
from tests.unit.server.harness import FakeTransport, FrontEnd, StubStore, Turns
from tests.unit.server.listening import TLS, ask, close, read_reply, request_bytes
from tests.unit.server.listening import play as play  # noqa: PLC0414 - a fixture

FILES = {"tls_cert": str(TLS / "localhost.pem"), "tls_key": str(TLS / "localhost.key")}
CROWD = 40


def client_context(**options: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=FILES["tls_cert"])
    for name, value in options.items():
        setattr(context, name, value)
    return context


class TimedTurns(Turns):
    """An event loop on which no time passes."""

    def call_later(self, _seconds: float, _callback: Callable[[], None]) -> asyncio.TimerHandle:
        loop: Any = self
        return asyncio.TimerHandle(0.0, lambda: None, (), loop)

    def _timer_handle_cancelled(self, _handle: asyncio.TimerHandle) -> None:
        """Required by asyncio.TimerHandle."""

    def get_debug(self) -> bool:
        return False


class Client:
    """The client side of TLS, without a socket."""

    def __init__(self, **options: Any) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = client_context(**options).wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def hello(self) -> bytes:
        """The first bytes of the handshake."""
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.outgoing.read()

    async def answer(self, reader: asyncio.StreamReader) -> bytes:
        """Read until there are bytes to send, or the handshake is complete."""
        while True:
            self.incoming.write(await reader.read(65536))
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                if not self.outgoing.pending:
                    continue
            return self.outgoing.read()

    def encrypt(self, data: bytes) -> bytes:
        """The data as TLS records; requires a completed handshake."""
        self.tls.write(data)
        return self.outgoing.read()

    async def read(self, reader: asyncio.StreamReader, bytes_min: int | None = None) -> bytes:
        """Read decrypted bytes until the server ends the connection, or until `size_bytes` are there."""
        data = b""
        while bytes_min is None or len(data) < bytes_min:
            try:
                piece = self.tls.read(65536)
            except ssl.SSLWantReadError:
                received = await reader.read(65536)
                if not received:
                    break
                self.incoming.write(received)
                continue
            except ssl.SSLZeroReturnError:
                break
            if not piece:
                break
            data += piece
        return data


def count_per_turn(server: Server, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that counts, from now on, the calls of do_handshake in each turn of the loop."""
    counts = [0]

    class Counted(ssl.SSLObject):
        def do_handshake(self) -> None:
            counts[-1] += 1
            super().do_handshake()

    assert server.handshakes is not None
    server.handshakes.context.sslobject_class = Counted
    monkeypatch.setattr(handshakes, "SLICE_SECONDS_MAX", 0.0)
    loop = asyncio.get_running_loop()

    def turn() -> None:
        counts.append(0)
        loop.call_soon(turn)

    turn()
    return counts


async def crowd(port: int, first: list[bytes]) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open one connection for each element of `first`, and send that element at once."""
    pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in first]
    for (_, writer), data in zip(pairs, first, strict=True):
        writer.write(data)
    return pairs


@pytest.mark.parametrize("tls_version", ["TLSv1_2", "TLSv1_3"])
def test_tls(play: Callable[..., None], tls_version: str) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        context = client_context(maximum_version=ssl.TLSVersion[tls_version])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        for _ in range(3):
            assert (await ask(reader, writer)).status == 200
        assert (await ask(reader, writer, b"GARBAGE\r\n\r\n")).status == 400
        await close(writer)

    play(scenario, **FILES)


async def hellos_in_turn(
    server: Server, port: int, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """The connections of a crowd whose hellos came together, and were answered one a turn."""
    counts = count_per_turn(server, monkeypatch)
    pairs = await crowd(port, [Client().hello() for _ in range(CROWD)])
    for reader, _ in pairs:
        assert (await reader.read(1)) == b"\x16"
    assert max(counts) <= 2  # one further record, and one new connection
    assert sum(counts) >= 2 * CROWD
    return pairs


def test_a_crowd_shakes_hands_one_a_turn(play: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        pairs = await hellos_in_turn(server, port, monkeypatch)
        assert server.handshakes is not None
        assert len(server.handshakes.of_https) == CROWD
        assert not server.handshakes._silent
        for _, writer in pairs:
            await close(writer)

    play(scenario, **FILES)


def test_hellos_in_two_parts_take_turns_too(play: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        hellos = [Client().hello() for _ in range(CROWD)]
        pairs = await crowd(port, [hello[:100] for hello in hellos])
        assert server.handshakes is not None
        while len(server.handshakes.of_https) < CROWD:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)
        counts = count_per_turn(server, monkeypatch)
        for (_, writer), hello in zip(pairs, hellos, strict=True):
            writer.write(hello[100:])
        for reader, _ in pairs:
            assert (await reader.read(1)) == b"\x16"
        assert max(counts) <= 2
        for _, writer in pairs:
            await close(writer)

    play(scenario, **FILES)


def test_last_flights_take_turns_too(play: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        counts = count_per_turn(server, monkeypatch)
        clients = [Client(maximum_version=ssl.TLSVersion.TLSv1_2) for _ in range(CROWD)]
        pairs = await crowd(port, [client.hello() for client in clients])
        flights = [await client.answer(reader) for client, (reader, _) in zip(clients, pairs, strict=True)]
        for (_, writer), flight in zip(pairs, flights, strict=True):
            writer.write(flight)
        for client, (reader, _) in zip(clients, pairs, strict=True):
            assert await client.answer(reader) == b""
        assert max(counts) <= 2
        assert server.handshakes is not None
        assert not server.handshakes.of_https
        for _, writer in pairs:
            await close(writer)

    play(scenario, **FILES)


@pytest.mark.parametrize("piece_bytes", [1_000_000, 7, 1])
@pytest.mark.parametrize("end", ["none", "of TLS", "of TCP"])
def test_requests_that_come_with_the_last_flight_are_answered(
    play: Callable[..., None], caplog: pytest.LogCaptureFixture, piece_bytes: int, end: str
) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        client = Client()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(client.hello())
        data = await client.answer(reader) + client.encrypt(request_bytes()) + client.encrypt(request_bytes())
        if end == "of TLS":
            with pytest.raises(ssl.SSLWantReadError):
                client.tls.unwrap()
            data += client.outgoing.read()
        for position in range(0, len(data), piece_bytes):
            writer.write(data[position : position + piece_bytes])
            await asyncio.sleep(0)
        if end != "none":
            writer.write_eof()
            assert (await client.read(reader)).count(b"HTTP/1.1 200 OK") == 2
        else:
            answers = b""
            while answers.count(b"}") < 2:
                answers += await client.read(reader, 1)
        await close(writer)
        assert not caplog.records

    play(scenario, **FILES)


@pytest.mark.parametrize("count", [1, 2])
def test_a_reply_that_is_not_begun_when_tcp_ends_is_sent(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Requests of a client that has ended TCP, but not TLS, wait for the disk."""
    monkeypatch.setattr(handshakes, "TLS_END_SECONDS_MAX", 0.01)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        client = Client()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(client.hello())
        writer.write(await client.answer(reader) + client.encrypt(request_bytes("PutItem") * count))
        while not store.waiting:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)
        writer.write_eof()
        (connection,) = server.connections.open
        assert isinstance(connection, Connection)
        while connection.input not in HAS_ENDED:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        answers = b""
        for number in range(1, count + 1):
            while not store.waiting:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0)
            store.sync()
            while answers.count(b"HTTP/1.1 200 OK") < number:
                piece = await client.read(reader, 1)
                assert piece
                answers += piece
        assert await client.read(reader) == b""
        await close(writer)

    play(scenario, **FILES)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_who_has_ended_tcp_is_closed_once_all_is_answered(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Such a client cannot end TLS any more: the server does not wait for that."""
    monkeypatch.setattr(handshakes, "TLS_END_SECONDS_MAX", 1000.0)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        front = FrontEnd()
        other: Any = Connection(front.connections)  # so that the client is not the only one, who is answered at once
        server.connections.open.add(other)
        client = Client()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(client.hello())
        writer.write(await client.answer(reader))
        await until(lambda: len(server.connections.open) == 2)
        writer.write(client.encrypt(request_bytes() * count) if count else b"")
        writer.write_eof()
        assert (await client.read(reader)).count(b"HTTP/1.1 200 OK") == count
        await until(lambda: server.connections.count_held() == 1)
        server.connections.open.remove(other)
        await close(writer)

    play(scenario, **FILES)


def test_what_a_client_leaves_unread_is_counted_and_sent_when_it_reads_on(play: Callable[..., None]) -> None:
    count = 400

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context(), limit=1024)
        writer.write(request_bytes(body=b'{"TableName":"large"}') * count)
        while not server.connections.unread._bytes:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)
        (connection,) = server.connections.open
        assert isinstance(connection, Connection)
        assert connection.socket_transport is not None
        assert server.connections.unread._bytes >= connection.socket_transport.get_write_buffer_size() > 0
        for _ in range(count):
            assert len((await read_reply(reader)).body) == 70_011
        assert not server.connections.unread._bytes
        await close(writer)

    play(scenario, **FILES)


def test_an_ordinary_client_is_served_while_a_crowd_shakes_hands(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
        pairs = await crowd(port, [Client().hello()] * 200)
        newcomer_reader, newcomer_writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
        for _ in range(3):
            assert (await ask(reader, writer)).status == 200
            assert (await ask(newcomer_reader, newcomer_writer)).status == 200
        for each in (writer, newcomer_writer, *(crowded for _, crowded in pairs)):
            await close(each)

    play(scenario, **FILES)


@pytest.mark.parametrize("first", [b"", b"\x16", b"\x16\x03\x01\x02\x00 and so on"])
def test_a_client_that_does_not_say_hello_is_cut_off(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS_MAX", 0.01)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        ((reader, writer),) = await crowd(port, [first])
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        assert server.handshakes is not None
        assert not server.handshakes.of_https
        await close(writer)

    play(scenario, **FILES)


def test_a_handshake_that_never_ends_is_ended(play: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        ((reader, writer),) = await crowd(port, [Client().hello()])
        monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS_MAX", 0.01)  # TLS starts in a later turn
        with contextlib.suppress(ConnectionError):
            assert (await reader.read()).startswith(b"\x16")
        assert server.handshakes is not None
        assert not server.handshakes.of_https
        assert not server.connections.open
        await close(writer)

    play(scenario, **FILES)


@pytest.mark.parametrize(
    "first",
    [
        b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x00\x05hello",
        b"\x17\x03\x03\xff\xff" + b"x" * 65535,
        b"\x16\x03\x01\x00\x00",
        b"\xff" * 300_000,
    ],
)
def test_what_is_no_tls_is_cut_off_and_costs_nobody_else(
    play: Callable[..., None], caplog: pytest.LogCaptureFixture, first: bytes
) -> None:
    hints = ["a client speaks HTTP, but this port serves HTTPS"] if first.startswith(b"POST") else []

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        ((reader, writer),) = await crowd(port, [first])
        if first.endswith(b"\x00\x00"):
            writer.write_eof()  # an empty record alone is no error
        with contextlib.suppress(ConnectionError):
            await reader.read()
        await close(writer)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
        assert (await ask(reader, writer)).status == 200
        assert server.handshakes is not None
        assert not server.handshakes.of_https
        assert [record.message.partition(":")[0] for record in caplog.records] == hints
        await close(writer)

    play(scenario, **FILES)


def test_plain_requests_to_tls_are_hinted_at_once(play: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        for reader, writer in await crowd(port, [request_bytes()] * 3):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            await close(writer)
        assert len(caplog.records) == 1
        assert "an endpoint that begins with https://" in caplog.text

    play(scenario, **FILES)


@pytest.mark.parametrize("sent", ["nothing", "half a hello", "a hello", "a hello, and had an answer"])
def test_a_stop_ends_the_handshakes(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, sent: str
) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS_MAX", 1000.0)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        hello = Client().hello()
        pairs = await crowd(port, [{"nothing": b"", "half a hello": hello[:50]}.get(sent, hello)] * CROWD)
        assert server.handshakes is not None
        while len(server.handshakes.of_https) < CROWD:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)
        if sent == "a hello, and had an answer":
            for reader, _ in pairs:
                assert await reader.read(1) == b"\x16"
        await server.stop()
        for reader, writer in pairs:
            with contextlib.suppress(ConnectionError):
                await reader.read()
            await close(writer)
        assert not server.handshakes.of_https
        assert not server.handshakes._silent
        assert not caplog.records

    play(scenario, **FILES)


def test_a_client_that_ends_inside_its_handshake_is_let_go(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS_MAX", 1000.0)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        for sent in (b"", b"\x16", Client().hello()):
            ((reader, writer),) = await crowd(port, [sent])
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await reader.read()
            await close(writer)
        assert server.handshakes is not None
        assert not server.handshakes.of_https

    play(scenario, **FILES)


@pytest.mark.parametrize(
    "play", [run_on_best_loop], ids=["best-loop"], indirect=True
)  # asyncio's own TLS leaves a reference cycle
@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.parametrize("ends_by", ["leaving", "no tls", "half a hello"])
def test_a_handshake_that_fails_leaves_nothing_to_the_collector(play: Callable[..., None], ends_by: str) -> None:
    """OpenSSL holds 40 KB for each handshake, and reference cycles are not freed before the collector runs."""

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        assert server.handshakes is not None
        for _ in range(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            hello = Client().hello()
            writer.write(
                {"leaving": hello, "no tls": b"\x16\x03\x01\x00\x05hello", "half a hello": hello[:50]}[ends_by]
            )
            await writer.drain()
            if ends_by == "leaving":
                assert await reader.read(100)
            await close(writer)
        await until(lambda: not server.handshakes.of_https)  # type: ignore[union-attr]
        for _ in range(20):
            await asyncio.sleep(0)
        found.update(type(one).__qualname__ for one in garbage())

    found: set[str] = set()
    with garbage_made() as garbage:
        play(scenario, **FILES)
    assert found.isdisjoint({"Handshake", "Reading", "HttpRequestParser"})


def test_a_client_that_ends_right_behind_its_handshake_is_let_go(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        client = Client()
        ((reader, writer),) = await crowd(port, [client.hello()])
        writer.write(await client.answer(reader))
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        await close(writer)
        assert not server.connections.open

    play(scenario, **FILES)


def test_the_cap_on_connections_holds_and_the_silent_make_room(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS_MAX", 1000.0)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        silent = await crowd(port, [b""] * (TURNED_AWAY_MAX + 5))
        answers = []
        writers = []
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
            answers.append((await ask(reader, writer)).status)
            writers.append(writer)
        assert answers == [200, 200, 503]
        for reader, _ in silent[:5]:
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        assert server.handshakes is not None
        assert len(server.handshakes.of_https) < TURNED_AWAY_MAX
        for writer in (*writers, *(each for _, each in silent)):
            await close(writer)

    play(scenario, max_connections=2, **FILES)


def test_unfinished_hellos_are_bounded_in_sum() -> None:
    front = FrontEnd(connections_max=10_000)
    waiting = Handshakes(front.connections, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    loop: Any = TimedTurns()
    waiting.take_turns(loop)
    half = b"\x16\x03\x01\xff\xff" + b"x" * 65000
    transports = []
    for _ in range(BEGINNINGS_BYTES_MAX // len(half) + 1):
        handshake = Handshake(waiting)
        transports.append(FakeTransport())
        handshake.connection_made(transports[-1])
        handshake.data_received(half)
    assert [transport.is_aborted for transport in transports] == [False] * (len(transports) - 1) + [True]
    for left in list(waiting.of_https):
        assert isinstance(left, Handshake)
        left.connection_lost(None)
    assert front.connections.receive_budget._beginnings_bytes == 0


class HandshakeTransport(FakeTransport):
    """The transport of a handshake, which is its protocol."""

    def __init__(self, handshake: Handshake) -> None:
        super().__init__()
        self.handshake = handshake

    def get_protocol(self) -> Handshake:
        return self.handshake


@pytest.mark.parametrize("report", ["end", "loss"])
def test_the_reports_of_a_killed_clients_handshakes_are_short(report: str) -> None:
    """Thousands come in one step of the loop. What follows from them comes in slices of later turns."""
    front, turns = FrontEnd(), TimedTurns()
    waiting = Handshakes(front.connections, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    loop: Any = turns
    waiting.take_turns(loop)
    front.connections.take_turns(loop)
    made = []
    for _ in range(2):
        handshake = Handshake(waiting)
        transport = HandshakeTransport(handshake)
        handshake.connection_made(transport)
        handshake.data_received(b"\x16\x03")
        made.append((handshake, transport))
    assert front.connections.receive_budget._beginnings_bytes == 4
    for number, (handshake, transport) in enumerate(made):
        if report == "end":
            calls = calls_of(handshake.eof_received)
        else:
            transport.close()
            calls = calls_of(handshake.connection_lost, None)
            assert handshake not in waiting.of_https
        assert number == 0 or calls <= 4
        assert not transport.is_aborted
    while turns.due:
        turns.turn()
    assert [transport.is_aborted for _, transport in made] == [report == "end"] * 2
    for handshake, _ in made:
        if report == "end":
            handshake.connection_lost(None)
    while turns.due:
        turns.turn()
    assert front.connections.receive_budget._beginnings_bytes == 0
    assert not waiting._silent


@pytest.mark.parametrize("is_dax", [False, True])
def test_a_stop_ends_a_crowd_in_several_turns(monkeypatch: pytest.MonkeyPatch, *, is_dax: bool) -> None:
    """The end of a fork ended all of its handshakes in one step. One that is done meanwhile is not ended."""
    front = FrontEnd()
    waiting = Handshakes(front.connections, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    loop: Any = TimedTurns()
    waiting.take_turns(loop)
    make_dax: Any = object if is_dax else None
    begun = [(Handshake(waiting, make_dax), FakeTransport()) for _ in range(90)]
    for handshake, transport in begun:
        handshake.connection_made(transport)
    abort = FakeTransport.abort

    def abort_slowly(transport: FakeTransport) -> None:
        front.clock.advance_all(VISIT_SECONDS_MAX / 10)
        abort(transport)

    monkeypatch.setattr(FakeTransport, "abort", abort_slowly)
    has_more, ended, stopping = True, 0, waiting.stop()
    while has_more:
        try:
            stopping.send(None)
        except StopIteration:
            has_more = False
        before, ended = ended, sum(transport.is_aborted for _, transport in begun)
        assert 0 < ended - before <= 11
        if not before:
            done, its_transport = next(each for each in begun if not each[1].is_aborted)
            waiting.forget(done)
    assert ended == 89
    assert not its_transport.is_aborted


def test_those_that_have_begun_go_first_and_keep_nobody_from_beginning() -> None:
    front = FrontEnd()
    waiting = Handshakes(front.connections, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    loop: Any = TimedTurns()
    waiting.take_turns(loop)
    log: list[str] = []

    class Waiting:
        """A connection that always has one more record, each of which takes 1.5 ms."""

        is_in_line = False

        def __init__(self, name: str, *, has_begun: bool) -> None:
            self.name, self.has_begun = name, has_begun

        def take_turn(self) -> None:
            log.append(self.name)
            front.clock.advance_all(0.0015)
            if self.has_begun:
                waiting.ask_for_turn(self)  # type: ignore[arg-type]

    for name in ("new 1", "new 2", "begun 1", "begun 2", "begun 3"):
        entry: Any = Waiting(name, has_begun=name.startswith("begun"))
        waiting.ask_for_turn(entry)
        waiting.ask_for_turn(entry)
    loop.turn()
    assert log == ["begun 1", "begun 2", "new 1"]
    loop.turn()
    assert log[3:] == ["begun 3", "begun 1", "new 2"]


@pytest.mark.parametrize(
    ("received", "size_bytes"),
    [
        (b"", 0),
        (b"\x16\x03", 0),
        (b"\x16\x03\x01\x00\x02a", 0),
        (b"\x16\x03\x01\x00\x02ab", 7),
        (b"\x17\x03\x03\x00\x02abc", 7),
        (b"GET", 3),
    ],
)
def test_records_are_told_apart(received: bytes, size_bytes: int) -> None:
    assert record_bytes(bytearray(received)) == size_bytes


def test_tls_is_told_how_long_its_beginning_and_its_end_may_take(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library would wait 60 s and 30 s; the test checks the passed options, because waiting takes real time."""
    told: dict[str, Any] = {}

    async def start_tls(loop: asyncio.AbstractEventLoop, *arguments: Any, **options: Any) -> None:
        told.update(options)
        raise OSError("for the test")

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "start_tls", start_tls)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        ((reader, writer),) = await crowd(port, [Client().hello()])
        with contextlib.suppress(ConnectionError):
            await reader.read(1)
        if told:  # uvloop has its own start_tls
            assert told["ssl_handshake_timeout"] == HANDSHAKE_SECONDS_MAX == 10
            assert told["ssl_shutdown_timeout"] == TLS_END_SECONDS_MAX == 1
        else:
            assert "uvloop" in type(asyncio.get_running_loop()).__module__
        await close(writer)

    play(scenario, **FILES)


def test_an_error_of_ours_is_logged(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Connection):
        def __init__(self, _: object) -> None:
            raise AssertionError("a bug of ours")

    monkeypatch.setattr(handshakes, "Connection", Failing)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        ((reader, writer),) = await crowd(port, [Client().hello()])
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        (record,) = caplog.records
        assert record.getMessage() == "a TLS handshake met an error of ours; please report it"
        await close(writer)

    play(scenario, **FILES)


def test_no_client_may_shake_hands_again() -> None:
    context = tls_context(Settings(**FILES))  # type: ignore[arg-type]
    assert context is not None
    assert context.options & ssl.OP_NO_RENEGOTIATION
