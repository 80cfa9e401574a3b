"""Turns of incoming requests: many connections' requests are handled together, none lost or early,
and the loop gets its turns.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from hashrange.server.connection import Connection
from hashrange.server.incoming import ENDS_MAX, GROUP_MAX, NO_REPLY, PIECE_BYTES, TURN_SECONDS_MAX, Respond
from hashrange.wire.http import LARGE_BYTES, HttpRequest
from tests.unit.server.harness import FakeTransport, FrontEnd, Turns, echo, replies


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def front(turns: Turns) -> FrontEnd:
    front = FrontEnd()
    loop: Any = turns
    front.connections.take_turns(loop)
    connect = front.connect

    def connect_known() -> tuple[Connection, FakeTransport]:
        """A client whose requests are known to be cheap."""
        connection, transport = connect()
        connection.reply_bytes = 0
        return connection, transport

    front.connect = connect_known  # type: ignore[method-assign]
    return front


def groups_of(front: FrontEnd, seconds: float = 0.0) -> list[int]:
    """A list of the sizes of request groups handled from now on; each group takes `seconds` on the clock."""
    groups: list[int] = []
    handle = front.handle

    def watch(calls: Sequence[tuple[HttpRequest, Respond]]) -> None:
        groups.append(len(calls))
        front.clock.advance_all(seconds)
        handle(calls)

    front.connections.incoming._handle = watch
    return groups


def test_requests_of_one_turn_are_handled_together(front: FrontEnd, turns: Turns) -> None:
    groups = groups_of(front)
    clients = [front.connect() for _ in range(GROUP_MAX + 3)]
    for connection, _ in clients:
        connection.data_received(front.request())
    assert groups == []
    turns.turn()
    assert groups == [GROUP_MAX, 3]
    assert [len(replies(transport.written)) for _, transport in clients] == [1] * len(clients)


def test_an_only_client_is_not_kept_waiting(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request())
    assert len(replies(transport.written)) == 1


def test_requests_of_one_connection_are_handled_one_by_one(front: FrontEnd, turns: Turns) -> None:
    groups = groups_of(front)
    front.connect()
    connection, transport = front.connect()
    connection.data_received(front.request(b'{"TableName":"one"}') + front.request(b'{"TableName":"two"}'))
    connection.data_received(front.request(b'{"TableName":"three"}'))
    turns.turn()
    answers = replies(transport.written)
    assert [name in answer.body for answer, name in zip(answers, (b"one", b"two", b"three"), strict=True)] == [True] * 3
    assert [size for size in groups if size] == [1, 1, 1]


def test_a_long_pipeline_lets_others_have_their_turn(front: FrontEnd, turns: Turns) -> None:
    groups = groups_of(front, TURN_SECONDS_MAX / 2)
    connection, transport = front.connect()
    connection.data_received(front.request() * 7)
    assert len(groups) == 2
    for handled in (4, 6, 7):
        turns.turn()
        assert len(groups) == handled
    assert len(replies(transport.written)) == 7


def test_many_connections_let_others_have_their_turn(front: FrontEnd, turns: Turns) -> None:
    groups = groups_of(front, TURN_SECONDS_MAX)
    clients = [front.connect() for _ in range(3 * GROUP_MAX)]
    for connection, _ in clients:
        connection.data_received(front.request())
    for handled in (1, 2, 3):
        turns.turn()
        assert groups == [GROUP_MAX] * handled
    assert [len(replies(transport.written)) for _, transport in clients] == [1] * len(clients)


def test_a_request_that_is_not_complete_keeps_nobody_waiting(front: FrontEnd, turns: Turns) -> None:
    (first, first_transport), (second, second_transport) = front.connect(), front.connect()
    data = front.request()
    first.data_received(data[:40])
    second.data_received(data)
    turns.turn()
    assert [len(replies(transport.written)) for transport in (first_transport, second_transport)] == [0, 1]
    first.data_received(data[40:])
    turns.turn()
    assert len(replies(first_transport.written)) == 1


@pytest.mark.parametrize("count", [1, 200])
def test_what_came_before_the_end_of_the_input_is_answered(front: FrontEnd, turns: Turns, count: int) -> None:
    front.connect()
    connection, transport = front.connect()
    connection.data_received(front.request() * count)
    assert connection.eof_received() is True
    assert not transport.written
    turns.turn()
    assert [answer.status for answer in replies(transport.written)] == [200] * count
    assert transport.is_closed


def test_what_came_before_the_end_is_answered_though_an_earlier_reply_comes_first(
    front: FrontEnd, turns: Turns
) -> None:
    front.connect()
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    turns.turn()
    connection.data_received(front.request())
    connection.eof_received()
    front.store.sync()
    while turns.due:
        turns.turn()
    assert [answer.status for answer in replies(transport.written)] == [200, 200]
    assert transport.is_closed


SIMPLE = b"GET / HTTP/1.1\r\n\r\n"
UPGRADE = b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"


@pytest.mark.parametrize("piece", [SIMPLE, UPGRADE], ids=["simple", "upgrade"])
def test_of_a_long_read_no_more_is_parsed_than_completes_a_request(front: FrontEnd, turns: Turns, piece: bytes) -> None:
    groups_of(front, TURN_SECONDS_MAX)  # each request takes its own turn
    front.connect()
    connection, transport = front.connect()
    count = 30_000 // len(piece)
    connection.data_received(piece * count)
    answered = 0
    while answered < count + 3:
        turns.turn()
        answers = len(replies(transport.take()))
        assert 1 <= answers <= 2, "one of those that wait, and one of a long read"
        if answered == 0:
            connection.data_received(piece * 3)  # bytes that the loop had read before it was told to pause
        answered += answers
        assert len(connection.ready) <= PIECE_BYTES // len(piece) + 1
        assert transport.reads == (answered == count + 3)


@pytest.mark.parametrize("framing", ["length", "chunks", "expected chunks"])
def test_a_long_read_without_a_whole_request_is_parsed_in_several_turns(
    front: FrontEnd, turns: Turns, framing: str
) -> None:
    groups_of(front, TURN_SECONDS_MAX)  # each portion takes its own turn
    front.connect()
    connection, transport = front.connect()
    body = b'{"TableName":"music","Filler":"' + b"x" * 300_000 + b'"}'
    data = front.request(body)
    if framing != "length":
        data = data.partition(b"\r\n\r\n")[0].replace(b"Content-Length: 300033", b"Transfer-Encoding: chunked")
        data += b"\r\nExpect: 100-continue" if framing == "expected chunks" else b""
        data += b"\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    connection.data_received(data[:200_000])
    connection.data_received(data[200_000:])
    count = 0
    while not transport.written:
        assert not transport.reads
        turns.turn()
        count += 1
    assert (count > 10) == (framing != "length")
    assert replies(transport.written)[0].status == 200
    assert transport.reads


def test_a_client_that_is_gone_before_its_turn_is_passed_over(front: FrontEnd, turns: Turns) -> None:
    groups = groups_of(front)
    front.connect()
    (first, _), (second, transport) = front.connect(), front.connect()
    first.data_received(front.request())
    second.data_received(front.request())
    first.connection_lost(ConnectionResetError())
    turns.turn()
    assert groups == [1]
    assert len(replies(transport.written)) == 1


@pytest.mark.parametrize("step", ["receive", "respond"])
def test_an_error_of_ours_costs_only_its_own_connection(
    front: FrontEnd, turns: Turns, step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clients = [front.connect() for _ in range(3)]
    (broken, broken_transport), *others = clients
    if step == "receive":
        monkeypatch.setattr(broken.reading, "parser", None)
    else:
        errors = iter([OSError("the log's disk is full")])

        def log_access(*_: object) -> None:
            for error in errors:
                raise error

        monkeypatch.setattr(front.connections, "access_log", log_access)
    for connection, _ in clients:
        connection.data_received(front.request())
    turns.turn()
    assert broken_transport.is_closed
    assert [len(replies(transport.written)) for _, transport in others] == [1, 1]
    assert "please report it" in caplog.text


def test_slow_operations_let_the_replies_before_them_go(front: FrontEnd, turns: Turns) -> None:
    clients = [front.connect() for _ in range(3)]
    seen: list[int] = []

    async def slow(scope: Any, request: Any) -> Any:
        seen.append(sum(len(replies(transport.written)) for _, transport in clients))
        front.clock.advance_all(0.01)
        return await echo(scope, request)

    front.replace_run("GetItem", slow)
    for connection, _ in clients:
        connection.data_received(front.request())
    turns.turn()
    assert seen == [0, 0, 2]


def test_dear_connections_are_answered_behind_the_others(front: FrontEnd, turns: Turns) -> None:
    groups = groups_of(front)
    large = front.request(b'{"TableName":"large"}')
    clients = [front.connect() for _ in range(3)]
    for connection, _ in clients[:2]:
        connection.reply_bytes = LARGE_BYTES
        connection.data_received(large)
    clients[2][0].data_received(front.request())
    turns.turn()
    assert groups == [1, 1, 1]
    assert [len(replies(transport.written)) for _, transport in clients] == [1, 1, 1]


def test_of_dear_requests_one_is_answered_in_each_turn(front: FrontEnd, turns: Turns) -> None:
    groups_of(front, TURN_SECONDS_MAX)
    dear, known = [front.connect() for _ in range(5)], [front.connect() for _ in range(GROUP_MAX - 5)]
    for connection, _ in dear:
        connection.reply_bytes = LARGE_BYTES
        connection.data_received(front.request())
    for number in range(1, 6):
        for connection, transport in known:
            transport.take()
            connection.data_received(front.request())
        turns.turn()
        assert all(transport.written for _, transport in known)
        assert sum(bool(transport.written) for _, transport in dear) == number


def test_a_connection_knows_its_last_reply(turns: Turns) -> None:
    front = FrontEnd()
    connection, transport = front.connect()
    assert connection.reply_bytes == NO_REPLY
    for name, is_large in (("small", False), ("large", True), ("small", False)):
        connection.data_received(front.request(b'{"TableName":"%b"}' % name.encode()))
        assert transport.take()
        assert connection.reply_bytes != NO_REPLY
        assert (connection.reply_bytes >= LARGE_BYTES) is is_large


def test_new_connections_are_answered_behind_known_and_before_dear_ones(front: FrontEnd, turns: Turns) -> None:
    order: list[str] = []
    handle = front.handle

    def watch(calls: Sequence[tuple[HttpRequest, Respond]]) -> None:
        order.extend(request.body.decode().split('"')[3] for request, _ in calls)
        handle(calls)

    front.connections.incoming._handle = watch
    front.connect()
    of_dear, of_known = LARGE_BYTES, LARGE_BYTES - 1
    for name, reply_bytes in (
        ("dear", of_dear),
        ("new", NO_REPLY),
        ("known", of_known),
        ("new", NO_REPLY),
        ("dear", of_dear),
    ):
        connection, _ = front.connect()
        connection.reply_bytes = reply_bytes
        connection.data_received(front.request(b'{"TableName":"%b"}' % name.encode()))
    turns.turn()
    assert order == ["known", "new", "new", "dear", "dear"]


@pytest.mark.parametrize("reply_bytes", [NO_REPLY, LARGE_BYTES])
def test_nothing_is_done_for_who_has_left(front: FrontEnd, turns: Turns, reply_bytes: int) -> None:
    groups = groups_of(front, TURN_SECONDS_MAX)
    clients = [front.connect() for _ in range(3)]
    for connection, _ in clients:
        connection.reply_bytes = reply_bytes
        connection.data_received(front.request())
    turns.turn()
    _, transport = clients[1]
    transport.close()
    turns.turn()
    turns.turn()
    turns.turn()
    assert sum(groups) == 2
    assert [bool(transport.written) for _, transport in clients] == [True, False, True]
    assert turns.due == []


def test_long_reads_wait_behind_all_others_and_go_on_one_a_turn(front: FrontEnd, turns: Turns) -> None:
    handled: list[bytes] = []
    handle = front.handle

    def watch(calls: Sequence[tuple[HttpRequest, Respond]]) -> None:
        handled.extend(request.body for request, _ in calls)
        handle(calls)

    front.connections.incoming._handle = watch
    long, short = b'{"TableName":"long","Filler":"' + b"x" * PIECE_BYTES + b'"}', b'{"TableName":"short"}'
    clients = [front.connect() for _ in range(4)]
    for client, _ in clients:
        client.data_received(front.request())
    turns.turn()
    handled.clear()
    clients[0][0].data_received(front.request(long))
    clients[1][0].data_received(front.request(long))
    clients[2][0].data_received(front.request(short))
    clients[3][0].data_received(front.request(short))
    last_service_seconds = iter([0.0, 0.0] + [TURN_SECONDS_MAX] * 100)
    front.connections.incoming._monotonic = lambda: next(last_service_seconds)
    turns.turn()
    assert handled == [short, short, long]
    last_service_seconds = iter([0.0] * 100)
    turns.turn()
    assert handled == [short, short, long, long]


def test_what_came_behind_a_long_read_stays_behind_it(front: FrontEnd, turns: Turns) -> None:
    """As with TLS, which may deliver more bytes after reading was paused."""
    front.connect()
    connection, transport = front.connect()
    data = front.request(b'{"TableName":"music","Filler":"' + b"x" * 2 * PIECE_BYTES + b'"}')
    connection.data_received(data[:-5])
    connection.data_received(data[-5:])
    turns.turn()
    assert [answer.status for answer in replies(transport.written)] == [200]


def test_what_a_refused_client_still_sends_is_dropped_one_read_a_turn(front: FrontEnd, turns: Turns) -> None:
    front.connect()
    connection, transport = front.connect()
    connection.data_received(b"nonsense\r\n\r\n")
    turns.turn()
    assert transport.take().startswith(b"HTTP/1.1 400")
    for _ in range(3):
        assert transport.reads
        connection.data_received(b"x" * 100_000)
        assert not transport.reads
        turns.turn()
    assert transport.reads
    assert not transport.written


def test_replies_that_are_made_are_sent_though_a_later_group_fails(front: FrontEnd, turns: Turns) -> None:
    handle = front.handle
    groups: list[int] = []

    def handle_first(calls: Sequence[tuple[HttpRequest, Respond]]) -> None:
        groups.append(len(calls))
        if len(groups) > 1:
            raise ValueError("a bug of ours")
        handle(calls)

    front.connections.incoming._handle = handle_first
    clients = [front.connect() for _ in range(2)]
    clients[1][0].reply_bytes = NO_REPLY  # so that its request is handled after the others
    for connection, _ in clients:
        connection.data_received(front.request())
    with pytest.raises(ValueError, match="a bug of ours"):
        turns.turn()
    assert [len(replies(transport.written)) for _, transport in clients] == [1, 0]


@pytest.mark.parametrize("close_seconds", [0.0, TURN_SECONDS_MAX / (GROUP_MAX - 1.5)])
def test_a_request_waits_for_a_few_of_many_clients_that_have_left(
    front: FrontEnd, turns: Turns, monkeypatch: pytest.MonkeyPatch, close_seconds: float
) -> None:
    """A killed client's thousands of connections were closed before a request that came next, hundreds in one turn."""
    close, closed = FakeTransport.close, list[FakeTransport]()

    def close_slowly(transport: FakeTransport) -> None:
        front.clock.advance_all(close_seconds)
        closed.append(transport)
        close(transport)

    monkeypatch.setattr(FakeTransport, "close", close_slowly)
    front.connections.connections_max = 20 * ENDS_MAX
    for connection, _ in [front.connect() for _ in range(10 * ENDS_MAX)]:
        connection.eof_received()
    turns.turn()
    connection, transport = front.connect()
    connection.data_received(front.request())
    while not transport.written:
        turns.turn()
    assert len(closed) <= 2 * ENDS_MAX
    while turns.due:
        before = len(closed)
        turns.turn()
        assert len(closed) - before <= ENDS_MAX
    assert len(closed) == 10 * ENDS_MAX


def test_ends_of_input_come_while_requests_take_all_of_the_time(front: FrontEnd, turns: Turns) -> None:
    groups_of(front, TURN_SECONDS_MAX)
    clients = [front.connect() for _ in range(5 * GROUP_MAX)]
    ending, transport = front.connect()
    ending.eof_received()
    for connection, _ in clients:
        connection.data_received(front.request())
    for _ in range(3):
        for connection, _ in clients[:GROUP_MAX]:
            connection.data_received(front.request())
        turns.turn()
    for _ in range(6):
        turns.turn()
    assert transport.is_closed
