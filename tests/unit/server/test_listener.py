"""A listening server over real sockets, on both event loops: TLS, stopping, idle and slow clients next to busy ones."""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Operation
from hashrange.clock import SystemClock
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.server import listener
from hashrange.server.listener import (
    ListenError,
    Secrets,
    Server,
    TlsFilesError,
    listen_failure,
    read_secrets,
    tls_context,
)
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.pause import PAUSE
from tests.support.signing import sign
from tests.unit.server.harness import ECHO_OPERATIONS, EchoRequest, StubStore, as_bytes
from tests.unit.server.listening import TLS, ask, close, read_reply, request_bytes
from tests.unit.server.listening import play as play  # noqa: PLC0414 - a fixture


def test_requests_are_served_and_small_replies_are_not_delayed(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            assert (await ask(reader, writer)).status == 200
        (connection,) = server.connections.open
        served: socket.socket = connection.transport.get_extra_info("socket")
        assert served.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await close(writer)

    play(scenario)


def test_large_replies_reach_a_client_that_reads_late(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(request_bytes(body=b'{"TableName":"large"}') * 400)
        for _ in range(400):
            assert len((await read_reply(reader)).body) == 70_011
        await close(writer)

    play(scenario)


def test_stopping_answers_what_is_open_and_refuses_what_comes(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await ask(idle_reader, idle_writer)).status == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request_bytes("PutItem"))
        while not store.waiting:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)
        stopping = asyncio.ensure_future(server.stop())
        assert await idle_reader.read() == b""
        store.sync()
        answer = await read_reply(reader)
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await reader.read() == b""
        await stopping
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", port)
        await close(writer)
        await close(idle_writer)

    play(scenario)


def test_the_sweep_runs_by_itself(play: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "SWEEP_SECONDS", 0.001)

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        before_seconds = server.connections.tick_seconds
        while server.connections.tick_seconds <= before_seconds:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)

    play(scenario)


def test_the_cap_on_connections_holds(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        writers = []
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert (await ask(reader, writer)).status == 200
            writers.append(writer)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await read_reply(reader)).status == 503
        for each in (*writers, writer):
            await close(each)

    play(scenario, max_connections=2)


def test_credentials_are_read_from_their_file(play: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text('[[credential]]\naccess_key = "AKIDOTHER"\nsecret_key = "b"\n', encoding="utf-8")

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answer = await ask(reader, writer)
        assert msgspec.json.decode(answer.body)["__type"].endswith("UnrecognizedClientException")
        await close(writer)

    play(scenario, credentials=str(path))


def test_shared_data_has_one_place(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = b'{"TableName":"music"}'
        headers = {
            "Host": "localhost", "Content-Type": "application/json", "X-Amz-Target": "DynamoDB_20120810.GetItem",
            "Content-Length": str(len(body)),
        }  # fmt: skip
        data = as_bytes(sign(headers, body, seconds=SystemClock.wall_time(), region="eu-west-1"), body)
        assert msgspec.json.decode((await ask(reader, writer, data)).body)["region"] == "us-east-1"
        await close(writer)

    play(scenario, shared_db=True)


def test_the_access_log_has_a_line_per_request(play: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "hashrange.access")

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answer = await ask(reader, writer)
        (record,) = caplog.records
        assert record.getMessage() == (
            f"127.0.0.1 POST / DynamoDB_20120810.GetItem 200 {len(answer.body)}"
            f" {answer.headers['x-amzn-requestid']} music - -"
        )
        await close(writer)
        caplog.clear()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GARBAGE\r\n\r\n")
        size_bytes = len((await reader.read()).partition(b"\r\n\r\n")[2])
        (record,) = caplog.records
        assert record.getMessage() == f"127.0.0.1 - - - 400 {size_bytes} - - - -"
        await close(writer)

    play(scenario, access_log=True)


def test_a_start_that_fails_leaves_nothing_listening(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(store: StubStore, wake: Callable[[], None]) -> None:
        raise RuntimeError("no jobs today")

    async def never(server: Server, store: StubStore, port: int) -> None:
        raise AssertionError

    monkeypatch.setattr(StubStore, "on_work", fail)
    with pytest.raises(RuntimeError, match="no jobs today"):
        play(never)


def test_an_address_that_cannot_be_had_is_told(play: Callable[..., None]) -> None:
    async def never(server: Server, store: StubStore, port: int) -> None:
        raise AssertionError

    with pytest.raises(ListenError, match=r"^the server cannot listen on 256\.0\.0\.1:0: .*Mend --host or --port"):
        play(never, host="256.0.0.1")
    with pytest.raises(ListenError, match=r"that is no name of a host\. Mend --host\."):
        play(never, host="a..b")


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        (Settings(), OSError(errno.EADDRINUSE, "in use"), "127.0.0.1:8000 is taken by another program. Stop it, or"),
        (Settings(port=80), OSError(errno.EACCES, "denied"), "this user may not listen on 127.0.0.1:80."),
        (Settings(host="nowhere"), OSError(errno.ENOENT, "x"), "the server cannot listen on nowhere:8000: x."),
    ],
)
def test_why_it_cannot_listen_and_what_to_do(settings: Settings, error: OSError, sentence: str) -> None:
    assert listen_failure(settings, error).startswith(sentence)


@pytest.mark.parametrize(
    ("cert", "key"), [("none.pem", "none.key"), (".", "."), ("localhost.pem", "."), ("localhost.key", "localhost.pem")]
)
def test_tls_files_that_do_not_do_are_named(cert: str, key: str) -> None:
    settings = Settings(tls_cert=str(TLS / cert), tls_key=str(TLS / key))
    with pytest.raises(
        TlsFilesError, match=r"^TLS cannot start with .*readable PEM files that belong together"
    ) as caught:
        tls_context(settings)
    assert settings.tls_key is not None
    assert settings.tls_key in str(caught.value)


def test_a_key_that_may_not_be_read_is_no_matter_of_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", refuse)
    with pytest.raises(TlsFilesError, match=r"^TLS cannot start with a and b: Permission denied\."):
        tls_context(Settings(tls_cert="a", tls_key="b"))


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked() -> None:
    settings = Settings(tls_cert=str(TLS / "localhost.pem"), tls_key=str(TLS / "locked.key"))
    with pytest.raises(TlsFilesError, match=r"locked\.key is locked with a passphrase.*openssl pkey -in"):
        tls_context(settings)


def test_the_kernel_keeps_little_of_a_connection_that_is_not_listened_to(play: Callable[..., None]) -> None:
    async def scenario(server: Server, _: StubStore, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await ask(reader, writer)).status == 200
        (connection,) = server.connections.open
        accepted = connection.transport.get_extra_info("socket")
        with socket.fromfd(accepted.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same, socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, listener.RECEIVE_BUFFER_BYTES)
            kept = [one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) for one in (same, other)]
        assert kept[0] == kept[1]  # without the fixed size, it would grow to 6 MB
        await close(writer)

    play(scenario)


def test_what_takes_too_long_when_the_server_stops_is_left_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work still running after the stop's deadline is abandoned: the store is closed then, so the work would only
    fail and be logged."""
    monkeypatch.setattr(listener, "STOP_SECONDS_MAX", 0.0)
    steps = 0

    async def never_end(_scope: Scope, _request: EchoRequest) -> Reply:
        nonlocal steps
        while True:
            steps += 1
            await PAUSE

    async def scenario() -> None:
        store: Any = StubStore()
        operations = {"GetItem": Operation("GetItem", EchoRequest, never_end, JSON)}
        settings = Settings(port=0, data_dir=None)
        server = Server(Service(store, operations, SystemClock(), settings), read_secrets(settings))
        endpoint = await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(endpoint.rpartition(":")[2]))
        writer.write(request_bytes())
        while not steps:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)
        await server.stop()
        steps_before = steps
        for _ in range(20):
            await asyncio.sleep(0)
        assert steps == steps_before
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        await close(writer)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "shown"),
    [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("localhost", "localhost"), ("fe80::1", "[fe80::1]")],
)
def test_endpoints_have_an_address_for_clients(host: str, shown: str) -> None:
    store: Any = StubStore()
    service = Service(store, ECHO_OPERATIONS, SystemClock(), Settings(host=host))
    assert Server(service, Secrets(None, None))._url("http", 8000) == f"http://{shown}:8000"
