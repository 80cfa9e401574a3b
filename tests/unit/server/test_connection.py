"""HTTP connections: split input, pipelined requests, pauses, limits, and closing."""

from typing import Any

import pytest

from hashrange.errors import Abandoned
from hashrange.limits import BODY_BYTES_MAX
from hashrange.server.connections import HEAD_SECONDS_MAX, LINGER_SECONDS
from hashrange.server.descriptors import TURNED_AWAY_MAX
from hashrange.wire.http import HttpRequest
from tests.unit.server.harness import FakeTransport, FrontEnd, Turns, as_bytes, replies, reply


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd()


def test_a_request_may_come_in_any_pieces(front: FrontEnd) -> None:
    data = front.request()
    connection, transport = front.connect()
    for position in range(len(data)):
        assert transport.written == b""
        connection.data_received(data[position : position + 1])
    assert reply(transport.take()).status == 200


def test_pipelined_requests_are_answered_in_order(front: FrontEnd) -> None:
    bodies = [b'{"TableName":"t%d"}' % number for number in range(10)]
    answered = replies(front.ask(b"".join(front.request(body) for body in bodies)))
    assert [f'"t{number}"'.encode() in answer.body for number, answer in enumerate(answered)] == [True] * 10


def test_pipelined_requests_wait_behind_a_reply_that_waits_for_durability(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") + front.request(b'{"TableName":"second"}'))
    assert transport.written == b""
    assert not transport.reads
    front.store.sync()
    assert [answer.status for answer in replies(transport.take())] == [200, 200]
    assert transport.reads


def test_a_client_that_does_not_read_gets_no_further_requests_served(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.pause_writing()
    assert not transport.reads
    connection.data_received(front.request())
    assert transport.written == b""
    connection.resume_writing()
    assert reply(transport.take()).status == 200
    assert transport.reads


def test_expect_100_continue_is_answered_before_the_body_comes(front: FrontEnd) -> None:
    head, _, body = front.request(headers={"Expect": "100-continue"}).partition(b"\r\n\r\n")
    connection, transport = front.connect()
    connection.data_received(head + b"\r\n\r\n")
    assert transport.take() == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.data_received(body)
    assert reply(transport.take()).status == 200


def test_expect_100_continue_with_its_body_is_simply_answered(front: FrontEnd) -> None:
    assert reply(front.ask(front.request(headers={"Expect": "100-continue"}))).status == 200


def test_expect_100_continue_behind_a_pending_reply_waits_for_it(front: FrontEnd) -> None:
    head, _, body = front.request(headers={"Expect": "100-continue"}).partition(b"\r\n\r\n")
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    connection.data_received(head + b"\r\n\r\n")
    assert transport.take() == b""
    front.store.sync()
    written = transport.take()
    assert written.startswith(b"HTTP/1.1 200 OK")
    assert written.endswith(b"HTTP/1.1 100 Continue\r\n\r\n")
    connection.data_received(body)
    assert reply(transport.take()).status == 200


@pytest.mark.parametrize(("line", "header", "is_kept"), [
    ("POST / HTTP/1.1", None, True),
    ("POST / HTTP/1.1", "close", False),
    ("POST / HTTP/1.0", None, False),
    ("POST / HTTP/1.0", "keep-alive", True),
])  # fmt: skip
def test_connections_are_kept_or_closed_as_the_client_asks(
    front: FrontEnd, line: str, header: str | None, is_kept: bool
) -> None:
    connection, transport = front.connect()
    data = front.request(headers={"Connection": header} if header else {}).replace(b"POST / HTTP/1.1", line.encode())
    connection.data_received(data)
    answer = reply(transport.take())
    assert answer.status == 200
    assert answer.headers["connection"] == ("keep-alive" if is_kept else "close")
    assert transport.is_closed is not is_kept


def test_requests_behind_a_closing_one_are_not_answered(front: FrontEnd) -> None:
    assert len(replies(front.ask(front.request(headers={"Connection": "close"}) + front.request()))) == 1


def test_an_upgrade_that_is_asked_for_is_passed_over(front: FrontEnd) -> None:
    upgrade = front.request(
        headers={"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQ"}
    )
    assert [answer.status for answer in replies(front.ask(upgrade + front.request()))] == [200, 200]


def test_connect_is_refused_once(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    connect = b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"
    connection, transport = front.connect()
    connection.data_received(connect)
    assert reply(transport.take()).status == 400
    assert transport.has_sent_end
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") + connect + front.request())
    connection.data_received(front.request())
    front.store.sync()
    assert [answer.status for answer in replies(transport.take())] == [200, 400]
    assert caplog.text == ""


def test_nothing_is_written_behind_a_refusal(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    expecting = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection.data_received(expecting + b"xyz\r\n")
    front.store.sync()
    assert [answer.status for answer in replies(transport.take())] == [200, 400]
    connection.pause_writing()
    connection.resume_writing()
    assert transport.take() == b""


@pytest.mark.parametrize("data", [
    b"GARBAGE\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"POST / HTTP/1.1\r\nContent-Length: nine\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    b"POST / HTTP/9.9\r\n\r\n",
    b"POST / HTTP/1.1\r\nno colon here\r\n\r\n",
])  # fmt: skip
def test_malformed_http_is_answered_with_400_and_a_close(front: FrontEnd, data: bytes) -> None:
    connection, transport = front.connect()
    connection.data_received(data)
    answer = reply(transport.take())
    assert answer.status == 400
    assert answer.headers["connection"] == "close"
    assert transport.has_sent_end
    connection.data_received(front.request())
    assert transport.take() == b""


def test_malformed_http_behind_a_pending_reply_waits_for_it(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") + b"GARBAGE\r\n\r\n")
    assert transport.take() == b""
    front.store.sync()
    assert [answer.status for answer in replies(transport.take())] == [200, 400]


@pytest.mark.parametrize("piece_bytes", [100_000, 1000])
def test_a_head_over_16_kb_is_refused(front: FrontEnd, piece_bytes: int) -> None:
    data = front.request(headers={"X-Filler": "x" * 16_384})
    connection, transport = front.connect()
    for position in range(0, len(data), piece_bytes):
        connection.data_received(data[position : position + piece_bytes])
    assert reply(transport.take()).status == 400


def test_a_head_just_below_16_kb_is_served(front: FrontEnd) -> None:
    assert reply(front.ask(front.request(headers={"X-Filler": "x" * 15_000}))).status == 200


def test_an_endless_head_is_refused_while_it_comes(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(b"POST / HTTP/1.1\r\n")
    for _ in range(20):
        connection.data_received(b"X-Filler: " + b"x" * 1000 + b"\r\n")
    assert reply(transport.take()).status == 400


def test_a_large_body_behind_a_small_head_is_no_large_head(front: FrontEnd) -> None:
    body = b'{"TableName":"music","Filler":"' + b"x" * 100_000 + b'"}'
    assert reply(front.ask(front.request(body))).status == 200


def test_a_body_over_16_mb_is_refused_by_its_announced_length(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1))
    assert reply(transport.take()).status == 413


def test_a_client_that_speaks_https_is_hinted_at_once(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100)
    for _ in range(3):
        assert reply(front.ask(hello)).status == 400
    assert caplog.text.count("a client speaks HTTPS, but this port serves HTTP") == 1


def test_the_access_log_has_refusals_too(front: FrontEnd) -> None:
    seen: list[tuple[bytes | None, int, int]] = []

    def log_access(request: HttpRequest | None, status: int, body: bytes, peer: object, used: str) -> None:
        seen.append((request.url if request is not None else None, status, len(body)))

    front.connections.access_log = log_access
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") + b"GARBAGE\r\n\r\n")
    assert seen == []
    front.store.sync()
    put, refusal = replies(transport.take())
    assert seen == [(b"/", 200, len(put.body)), (None, 400, len(refusal.body))]
    seen.clear()
    front.ask(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1))
    slow, _ = front.connect()
    slow.data_received(b"P")
    front.clock.advance_all(HEAD_SECONDS_MAX + 1)
    front.connections.sweep()
    front.connections.connections_max = 0
    front.connect()
    assert [status for _, status, _ in seen] == [413, 408, 503]


# --- many connections, and closing ---------------------------------------------------------------


def test_connections_over_the_cap_hear_503() -> None:
    front = FrontEnd(connections_max=2)
    (first, _), _ = front.connect(), front.connect()
    _, refused = front.connect()
    assert reply(refused.take()).status == 503
    first.connection_lost(None)


def test_those_turned_away_take_no_place(front: FrontEnd) -> None:
    front.connections.connections_max = 1
    connection, _ = front.connect()
    refused = [front.connect() for _ in range(TURNED_AWAY_MAX + 2)]
    assert [reply(transport.take()).status for _, transport in refused] == [503] * len(refused)
    # Only TURNED_AWAY_MAX clients get time to read the refusal; the others are closed at once to free descriptors.
    assert [transport.is_closed for _, transport in refused] == [False] * TURNED_AWAY_MAX + [True] * 2
    connection.connection_lost(None)
    assert reply(front.ask(front.request())).status == 200
    front.clock.advance_all(LINGER_SECONDS + 0.1)
    front.connections.sweep()
    assert all(transport.is_closed for _, transport in refused)
    for refused_connection, _ in refused:
        refused_connection.connection_lost(None)
    assert not front.connections.everyone()


def test_those_turned_away_over_tls_are_closed_once(front: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS cannot be closed in one direction only, so refused connections are closed at once."""
    monkeypatch.setattr(FakeTransport, "can_write_eof", lambda _: False)
    front.connections.connections_max = 0
    refused = [front.connect() for _ in range(TURNED_AWAY_MAX + 2)]
    assert [reply(transport.take()).status for _, transport in refused] == [503] * len(refused)
    assert all(transport.is_closed for _, transport in refused)


def test_a_place_is_free_again_after_a_connection_ends() -> None:
    front = FrontEnd(connections_max=1)
    connection, _ = front.connect()
    connection.connection_lost(None)
    assert reply(front.ask(front.request())).status == 200


def test_stop_closes_idle_connections_and_lets_others_answer(front: FrontEnd) -> None:
    _, idle = front.connect()
    busy_connection, busy = front.connect()
    busy_connection.data_received(front.request(operation="PutItem"))
    front.connections.stop()
    assert idle.is_closed
    assert not busy.is_closed
    front.store.sync()
    answer = reply(busy.take())
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert busy.is_closed


def test_a_request_behind_the_last_reply_of_a_server_that_stops_is_not_run(front: FrontEnd) -> None:
    turns: Any = Turns()
    front.connections.take_turns(turns)
    front.connect()
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") * 2)
    turns.turn()
    front.connections.stop()
    connection.data_received(front.request(operation="PutItem"))
    front.store.sync()
    while turns.due:
        turns.turn()
    assert len(replies(transport.take())) == 1
    assert transport.is_closed
    assert front.store.committed == 1


def test_a_reply_for_a_client_that_has_gone_is_dropped(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    transport.close()
    connection.connection_lost(None)
    front.store.sync()
    assert transport.take() == b""


def test_a_client_that_has_sent_all_still_gets_its_reply(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    assert connection.eof_received() is True
    front.store.sync()
    assert reply(transport.take()).status == 200
    assert transport.is_closed


def test_requests_tell_that_their_clients_input_is_over(front: FrontEnd) -> None:
    taken: list[HttpRequest] = []
    front.connections.incoming._handle = lambda group: taken.extend(request for request, _ in group)
    connection, _ = front.connect()
    connection.data_received(front.request() * 2)
    assert [request.is_input_over for request in (*taken, *connection.ready)] == [False, False]
    connection.eof_received()
    assert [request.is_input_over for request in (*taken, *connection.ready)] == [True, True]


def test_a_client_that_leaves_while_its_reply_is_handed_on_is_no_error(
    front: FrontEnd, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection, transport = front.connect()

    def leave() -> None:
        transport.abort()
        connection.connection_lost(None)
        raise Abandoned

    monkeypatch.setattr("hashrange.server.connection.look", leave)
    connection.data_received(front.request(b'{"TableName":"large"}'))
    assert not transport.written
    assert not front.connections.open
    assert not caplog.records


def test_a_finished_client_is_closed_at_once(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request())
    connection.eof_received()
    assert reply(transport.take()).status == 200
    assert transport.is_closed


def test_a_refused_client_that_has_sent_all_is_closed_at_once(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem") + b"GARBAGE\r\n\r\n")
    connection.eof_received()
    assert transport.written == b""
    front.store.sync()
    assert [answer.status for answer in replies(transport.take())] == [200, 400]
    assert transport.is_closed


def test_head_requests_get_no_body(front: FrontEnd) -> None:
    data = front.ask(as_bytes({"Host": "x"}, b"", "HEAD / HTTP/1.1"))
    assert data.startswith(b"HTTP/1.1 200 OK\r\n")
    assert data.endswith(b"\r\n\r\n")
