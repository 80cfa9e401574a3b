"""Dropped, half-sent and late replies on real connections: what the client receives, what was done,
and that all others are served.
"""

import asyncio
import json
import logging
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.errors import Abandoned
from hashrange.faults.fault import Fault, Faults
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.server import listener
from hashrange.server.protocols.dynamodb_json.call import JsonCall
from hashrange.service import faulted_calls
from hashrange.service.fault_feature import FAULTS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.testing.database import Database
from tests.support.servers import ThreadServer
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.unit.faults.kit import met, put_songs, song, songs
from tests.unit.faults.sockets import TLS, admin, connected, content_length, one_reply, request, until_end

LATE_SECONDS = 4321.0
"""Never waited for: the tests call what is due then."""


def put(key: str) -> bytes:
    return request("PutItem", TableName="music", Item=song(key))


def get(key: str) -> bytes:
    return request("GetItem", TableName="music", Key=song(key))


def is_served(endpoint: str) -> bool:
    """True if another client gets its reply."""
    with connected(endpoint) as other:
        other.sendall(request("ListTables"))
        return one_reply(other)[0] == 200


# --- cut off --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "is_written"),
    [
        (Fault("drop", operation="PutItem"), False),
        (Fault("drop", operation="PutItem", when="after"), True),
        (Fault("drop", table="music", key=song("a")), False),
        (Fault("drop", table="music", key=song("a"), when="after"), True),
    ],
)
def test_a_dropped_reply_is_the_end_of_its_connection_alone(database: Database, fault: Fault, is_written: bool) -> None:
    endpoint = database.endpoint
    database.faults.use(fault)
    with connected(endpoint) as patient, connected(endpoint) as client:
        patient.sendall(request("ListTables"))
        assert one_reply(patient)[0] == 200
        client.sendall(put("a"))
        assert until_end(client) == b""
        patient.sendall(request("ListTables"))
        assert one_reply(patient)[0] == 200
        assert is_served(endpoint)
    assert met(database) == [(1, "PutItem")]
    assert songs(database) == ({"a"} if is_written else set())


@pytest.mark.parametrize("where", [{}, {"table": "music", "key": song("a")}])
def test_half_a_reply_has_its_head_and_half_of_its_body(database: Database, where: Any) -> None:
    put_songs(database.client(), "a")
    database.faults.use(Fault("half-reply", operation="GetItem", **where))
    with connected(database.endpoint) as client:
        client.sendall(get("a"))
        head, body = until_end(client).split(b"\r\n\r\n", 1)
    whole = json.dumps({"Item": song("a")}, separators=(",", ":")).encode()
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert content_length(head) == len(whole)
    assert body == whole[: len(whole) // 2]


def test_half_of_a_large_or_refused_or_compressed_reply(database: Database) -> None:
    database.client().put_item(TableName="music", Item=song("a", text={"S": "x" * 300_000}))
    database.faults.use(Fault("half-reply"))
    wanted = [
        get("a"),
        request("GetItem", TableName="none", Key=song("a")),
        get("a").replace(b"Host: localhost\r\n", b"Host: localhost\r\nAccept-Encoding: gzip\r\n"),
    ]
    for sent in wanted:
        with connected(database.endpoint) as client:
            client.sendall(sent)
            head, body = until_end(client).split(b"\r\n\r\n", 1)
            assert len(body) == content_length(head) // 2 > 20


def test_requests_behind_a_dropped_reply_are_not_answered(database: Database) -> None:
    database.faults.use(Fault("drop", operation="GetItem", when="after"))
    with connected(database.endpoint) as client:
        client.sendall(put("first") + get("first") + put("behind"))
        assert one_reply(client) == (200, b"{}")
        assert until_end(client) == b""
    assert is_served(database.endpoint)
    assert songs(database) == {"first"}


def test_replies_before_half_a_reply_are_whole(database: Database) -> None:
    database.faults.use(Fault("half-reply", operation="GetItem"))
    with connected(database.endpoint) as client:
        client.sendall(put("a") + put("b") + get("a") + put("c"))
        assert [one_reply(client) for _ in range(2)] == [(200, b"{}")] * 2
        assert until_end(client).startswith(b"HTTP/1.1 200 OK")
    assert songs(database) == {"a", "b"}


def test_many_clients_of_which_some_lose_their_replies(database: Database) -> None:
    database.faults.use(Fault("drop", when="after", share=0.3), Fault("half-reply", share=0.2), seed=1)
    acknowledged = set()
    for number in range(60):
        with connected(database.endpoint) as client:
            client.sendall(put(str(number)))
            received = until_end_or_reply(client)
            if received.endswith(b"\r\n\r\n{}"):
                acknowledged.add(str(number))
    lost = {one.fault for one in database.faults.report}
    assert lost == {1, 2}
    assert 10 < len(acknowledged) < 50
    assert songs(database) == {str(number) for number in range(60)}
    wait_until(lambda: database._process.run(lambda: len(open_connections(database))) == 0)


def open_connections(database: Database) -> Any:
    server = database._process._server
    assert server is not None
    return server.connections.open


def until_end_or_reply(client: socket.socket) -> bytes:
    """What is received until the end or the end of a whole empty reply."""
    received = b""
    while not received.endswith(b"\r\n\r\n{}") and (piece := client.recv(4096)):
        received += piece
    return received


def test_the_admin_api_meets_no_faults_and_can_remove_them(tls_server: ThreadServer) -> None:
    with connected(tls_server.endpoint) as client:
        for fault in ({"kind": "drop"}, {"kind": "error"}, {"kind": "slow", "seconds": LATE_SECONDS}):
            client.sendall(admin("POST", "faults", faults=[fault]))
            assert one_reply(client)[0] == 200
        client.sendall(admin("GET", "info"))
        assert one_reply(client)[0] == 200
        client.sendall(admin("DELETE", "faults"))
        assert one_reply(client) == (200, b"{}")
        client.sendall(request("ListTables"))
        assert one_reply(client) == (200, b'{"TableNames":[]}')


# --- over TLS, and with an access log -----------------------------------------------------------------


@pytest.fixture
def tls_server() -> Iterator[ThreadServer]:
    """A server with TLS, an access log and the admin API."""
    clock = MovableClock(SystemClock())
    settings = Settings(
        port=0,
        data_dir=None,
        admin=True,
        access_log=True,
        tls_cert=str(TLS / "localhost.pem"),
        tls_key=str(TLS / "localhost.key"),
    )

    def make_store() -> Any:
        return open_store(None, clock, asyncio.get_running_loop())

    server = ThreadServer(make_store, ALL_OPERATIONS, clock, settings)
    yield server
    server.stop()


def test_replies_are_lost_over_tls_too(tls_server: ThreadServer) -> None:
    use = tls_server.server.service.features.part(FAULTS).use
    for fault, is_half in ((Fault("drop"), False), (Fault("drop", when="after"), False), (Fault("half-reply"), True)):
        tls_server.call(use, Faults((fault,)))
        with connected(tls_server.endpoint) as client:
            client.sendall(request("ListTables"))
            received = until_end(client)
            assert received.endswith(b'\r\n\r\n{"TableN' if is_half else b"")
            assert bool(received) == is_half
    tls_server.call(use, Faults())
    assert is_served(tls_server.endpoint)


# --- late -----------------------------------------------------------------------------------------------


@pytest.fixture
def due(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """The callbacks of late replies, which the tests call instead of waiting."""
    loop = database._process._loop
    waiting: list[Callable[[], None]] = []
    call_later = loop.call_later

    def collect(seconds: float, callback: Any, *arguments: Any, **more: Any) -> Any:
        if seconds % LATE_SECONDS:
            return call_later(seconds, callback, *arguments, **more)
        waiting.append(callback)
        return call_later(seconds, callback, *arguments, **more)

    monkeypatch.setattr(loop, "call_later", collect)
    return waiting


def let_come(database: Database, due: list[Callable[[], None]]) -> None:
    """Let the oldest late reply be sent."""
    database._process.run(due.pop(0))


def test_a_late_reply_keeps_no_other_client_waiting(database: Database, due: list[Any]) -> None:
    endpoint = database.endpoint
    database.faults.use(Fault("slow", seconds=LATE_SECONDS, operation="PutItem"))
    with connected(endpoint) as client, connected(endpoint) as other:
        client.sendall(put("a"))
        wait_until(lambda: due)
        other.sendall(get("a"))
        assert json.loads(one_reply(other)[1]) == {"Item": song("a")}  # it was carried out at once
        let_come(database, due)
        assert one_reply(client) == (200, b"{}")
        client.sendall(get("a"))
        assert one_reply(client)[0] == 200


def test_replies_on_one_connection_keep_their_order(database: Database, due: list[Any]) -> None:
    database.faults.use(Fault("slow", seconds=LATE_SECONDS, table="music", key=song("a")))
    with connected(database.endpoint) as client:
        client.sendall(put("b") + put("a") + get("b") + put("a"))
        assert one_reply(client) == (200, b"{}")
        for expected in (b"{}", json.dumps({"Item": song("b")}, separators=(",", ":")).encode()):
            if expected == b"{}":
                wait_until(lambda: due)
                let_come(database, due)
            assert one_reply(client) == (200, expected)
        wait_until(lambda: due)
        let_come(database, due)
        assert one_reply(client) == (200, b"{}")


def test_late_and_lost_late_and_wrong(database: Database, due: list[Any]) -> None:
    endpoint = database.endpoint
    slow = Fault("slow", seconds=LATE_SECONDS)
    for other, expected in (
        (Fault("drop"), b""),
        (Fault("half-reply"), b"\r\n\r\n{"),
        (Fault("error"), b'encountered an internal error trying to fulfill the request."}'),
        (Fault("throttle"), b'table/music"}]}'),
    ):
        database.faults.use(slow, other, slow)
        with connected(endpoint) as client:
            client.sendall(put("a"))
            wait_until(lambda: due)
            let_come(database, due)
            if other.kind in {"drop", "half-reply"}:
                assert until_end(client).endswith(expected)
            else:
                assert one_reply(client)[1].endswith(expected)


def test_zero_seconds_are_not_late(database: Database, due: list[Any]) -> None:
    database.faults.use(Fault("slow", seconds=0))
    put_songs(database.client(), "a")
    assert (met(database), due) == ([(1, "PutItem")], [])


@pytest.mark.parametrize("fault", [None, Fault("drop", when="after"), Fault("half-reply")])
def test_a_client_may_leave_before_its_late_reply(
    database: Database, due: list[Any], caplog: pytest.LogCaptureFixture, fault: Fault | None
) -> None:
    database.faults.use(Fault("slow", seconds=LATE_SECONDS), *([] if fault is None else [fault]))
    with caplog.at_level(logging.WARNING), connected(database.endpoint) as client:
        client.sendall(put("a"))
        wait_until(lambda: due)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave with a reset
        client.close()
        wait_until(lambda: not open_connections(database))
        wait_until(lambda: not database._process.service.faulted._late)
        let_come(database, due)
        database.faults.clear()
        assert is_served(database.endpoint)
    assert caplog.records == []
    assert songs(database) == {"a"}


def test_a_client_in_the_process_waits_for_its_reply_however_late(database: Database, due: list[Any]) -> None:
    database.faults.use(Fault("slow", seconds=LATE_SECONDS))
    client = database.client()
    thread = threading.Thread(target=put_songs, args=(client, "a"))
    thread.start()
    wait_until(lambda: due)
    assert thread.is_alive()
    database.faults.clear()
    assert songs(database) == {"a"}
    let_come(database, due)
    thread.join()


def test_the_reply_of_another_service_is_let_go_when_its_client_leaves(database: Database, due: list[Any]) -> None:
    database.faults.use(Fault("slow", seconds=LATE_SECONDS, operation="PutMetricData"))
    data: dict[str, Any] = {"Namespace": "shop", "MetricData": [{"MetricName": "sold", "Value": 1.0}]}
    faulted = database._process.service.faulted
    with connected(database.endpoint) as client:
        client.sendall(request("PutMetricData", service="monitoring", **data))
        wait_until(lambda: due)
        assert len(faulted._late) == 1
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: not faulted._late)


def test_late_replies_of_many_bytes_are_sent_before_their_time(
    database: Database, due: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faulted_calls, "LATE_BYTES_MAX", 5)
    database.faults.use(Fault("slow", seconds=LATE_SECONDS, operation="PutItem"))
    with connected(database.endpoint) as first, connected(database.endpoint) as second:
        for number, client in enumerate((first, second)):
            client.sendall(put("a"))
            wait_until(lambda number=number: len(due) > number)  # type: ignore[misc]
        assert is_served(database.endpoint)
        with connected(database.endpoint) as third:
            third.sendall(put("a"))
            assert one_reply(first) == (200, b"{}")
            let_come(database, due)
            let_come(database, due)
            assert one_reply(second) == (200, b"{}")


def test_a_database_closes_and_sends_late_replies(own_database: Database) -> None:
    database = own_database
    endpoint = database.endpoint
    database.faults.use(Fault("slow", seconds=LATE_SECONDS))
    with connected(endpoint) as client:
        client.sendall(put("a"))
        wait_until(lambda: database.faults.report)
        database.close()
        assert one_reply(client) == (200, b"{}")


def test_a_fork_ends_and_sends_late_replies(tls_server: ThreadServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "STOP_SECONDS_MAX", PATIENCE_SECONDS)
    with connected(tls_server.endpoint) as client:
        client.sendall(admin("POST", "faults", faults=[{"kind": "slow", "seconds": LATE_SECONDS}]))
        assert one_reply(client)[0] == 200
        client.sendall(admin("POST", "forks"))
        fork = json.loads(one_reply(client)[1])
        with connected(fork["endpoint"]) as other, connected(fork["endpoint"]) as watching:
            other.sendall(request("ListTables"))
            report: list[Any] = []
            while not report:
                watching.sendall(admin("GET", "faults"))
                report = json.loads(one_reply(watching)[1])["report"]
            client.sendall(admin("DELETE", f"forks/{fork['port']}"))
            assert one_reply(client)[0] == 200
            assert one_reply(other)[0] == 200
            with pytest.raises(OSError, match=r"."):
                connected(fork["endpoint"]).__enter__()
        assert not tls_server.server.service.faulted.replies


# --- what is left behind ----------------------------------------------------------------------------------


def test_calls_whose_clients_have_left_are_forgotten(database: Database) -> None:
    """A reading call whose client has left is abandoned where it gives way, and its reply never sent."""
    service = database._process.service
    begun: list[int] = []

    class Left(JsonCall):
        def fail(self, error: BaseException) -> None:
            assert isinstance(error, Abandoned)

    def read(*_: Any) -> Any:
        begun.append(len(service.faulted.replies))
        raise Abandoned

    nothing: Any = None
    scan = msgspec.structs.replace(ALL_OPERATIONS["Scan"], run=read, tables=lambda _: ["music"])
    left = Left(service.scope("000000000000", "us-east-1"), scan, nothing, [], 0, False, nothing, nothing)
    database.faults.use(Fault("slow", seconds=LATE_SECONDS), Fault("drop", when="after"))
    database._process.run(lambda: service.run(deque([left])))
    assert begun == [1]
    assert (service.faulted.replies, service.faulted._after) == ({}, {})
