"""Requests whose head looks like the last one are matched as a whole: they become what the parser makes of them, and
what the parser refuses is refused.
"""

import random

import pytest

from hashrange.server.connection import Connection
from hashrange.server.reading import Reading
from hashrange.server.refusals import Refusal
from hashrange.wire import usual_head
from hashrange.wire.http import HttpRequest
from tests.unit.server.harness import FakeTransport, FrontEnd, replies

HEADERS = {
    b"Host": b"127.0.0.1:8000",
    b"X-Amz-Target": b"DynamoDB_20120810.GetItem",
    b"Content-Type": b"application/x-amz-json-1.0",
    b"X-Amz-Date": b"20261129T101010Z",
    b"Authorization": b"AWS4-HMAC-SHA256 Credential=a/20261129/us-east-1/dynamodb/aws4_request, Signature=" + b"a" * 64,
    b"Connection": b"keep-alive",
    b"User-Agent": b"some client",
}


def request_of(headers: dict[bytes, bytes], body: bytes = b"{}", line: bytes = b"POST / HTTP/1.1") -> bytes:
    lines = b"".join(b"%b: %b\r\n" % pair for pair in headers.items())
    return b"%b\r\n%bContent-Length: %d\r\n\r\n%b" % (line, lines, len(body), body)


def used_to(data: bytes) -> Reading:
    """The reading of a client that has sent this request often."""
    reading = Reading()
    for _ in range(usual_head.USES_MIN):
        assert reading.feed(data) is None
    reading.ready.clear()
    return reading


def receive(reading: Reading, data: bytes) -> Refusal | None:
    """Read data as a connection without unfinished requests does."""
    request = None if reading.usual is None else reading.usual.request(data)
    if request is None:
        return reading.feed(data)
    reading.ready.append(request)
    return None


def outcome(reading: Reading, data: bytes) -> tuple[list[object], object]:
    """The requests that a reading makes of data, and what it returns."""
    reading.ready.clear()
    returned = receive(reading, data)
    return [_told(one) for one in reading.ready], returned[1] if isinstance(returned, tuple) else returned


def _told(request: HttpRequest) -> object:
    return (
        request.method,
        request.url,
        request.layout.names,
        request.values,
        request.body,
        request.keeps_alive,
        request.lacks_host,
    )


def test_a_request_like_the_last_one_does_not_reach_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = used_to(request_of(HEADERS))
    monkeypatch.setattr(reading, "parser", None)
    data = request_of({**HEADERS, b"X-Amz-Target": b"DynamoDB_20120810.PutItem"}, b'{"a": 1}')
    assert receive(reading, data) is None
    request = reading.ready.popleft()
    assert request.body == b'{"a": 1}'
    assert request.header(b"x-amz-target") == b"DynamoDB_20120810.PutItem"
    assert request.header(b"content-length") == b"8"
    assert request.header(b"expect") is None


@pytest.mark.parametrize(
    "more",
    [{b"Expect": b"100-continue"}, {b"Upgrade": b"h2c"}, {b"Proxy-Connection": b"close"}, {b"Trailer": b"a"}],
)
def test_heads_that_frame_otherwise_are_not_usual(more: dict[bytes, bytes]) -> None:
    reading = Reading()
    for _ in range(usual_head.USES_MIN + 1):
        reading.feed(request_of({**HEADERS, **more}))
    assert reading.usual is None


def test_a_client_is_not_taken_for_usual_after_few_requests_nor_after_its_last_one() -> None:
    data = request_of({**HEADERS, b"X-Few": b"a"})
    reading = Reading()
    for _ in range(usual_head.USES_MIN - 1):
        reading.feed(data)
        assert reading.usual is None
    reading.feed(data)
    assert reading.usual is not None
    reading.feed(request_of({**HEADERS, b"X-Few": b"a", b"Connection": b"close"}))
    assert reading.usual is None


def test_few_heads_are_compiled_however_many_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual_head, "_heads", {})
    monkeypatch.setattr(usual_head, "_uses", {})
    crowd = [(Reading(), request_of({**HEADERS, f"X-Crowd-{place}".encode(): b"a"})) for place in range(16)]
    for _ in range(usual_head.USES_MIN):
        for reading, data in crowd:
            reading.feed(data)
    assert len(usual_head._heads) == 1


def test_of_many_layouts_few_heads_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that used one layout after the other, each often enough, left 20 KB for each."""
    monkeypatch.setattr(usual_head, "HEADS_MAX", 3)
    monkeypatch.setattr(usual_head, "_heads", {})
    for number in range(10):
        assert used_to(request_of({**HEADERS, b"X-%d" % number: b"a"})).usual is not None
        assert len(usual_head._heads) <= 3


@pytest.mark.parametrize("more", [{b"X-%d" % place: b"" for place in range(30)}, {b"X-" + b"a" * 1_000: b""}])
def test_a_long_head_is_not_usual(more: dict[bytes, bytes]) -> None:
    reading = Reading()
    for _ in range(usual_head.USES_MIN + 1):
        reading.feed(request_of({**HEADERS, **more}))
    assert reading.usual is None


def usual_client(front: FrontEnd) -> tuple[Connection, FakeTransport]:
    """A client that has sent usual requests, all of which are answered."""
    connection, transport = front.connect()
    for _ in range(usual_head.USES_MIN):
        connection.data_received(front.request())
    assert [one.status for one in replies(transport.take())] == [200] * usual_head.USES_MIN
    return connection, transport


def test_a_usual_request_is_answered_without_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    front = FrontEnd()
    connection, transport = usual_client(front)
    monkeypatch.setattr(connection.reading, "parser", None)
    connection.data_received(front.request(b'{"TableName":"songs"}'))
    (answer,) = replies(transport.take())
    assert b'"songs"' in answer.body


@pytest.mark.parametrize("is_behind", [False, True])
def test_the_end_of_a_body_that_looks_like_a_usual_request_is_none(is_behind: bool) -> None:
    """Also if its beginning has come behind a request that is not answered yet."""
    front = FrontEnd()
    connection, transport = usual_client(front)
    data = front.request()
    around = front.request(b"no JSON " + data)
    before = front.request(operation="PutItem") if is_behind else b""
    connection.data_received(before + around[: -len(data)])
    connection.data_received(data)
    front.store.sync()
    assert [one.status for one in replies(transport.take())] == [*[200] * is_behind, 400]
    connection.data_received(data)
    assert [one.status for one in replies(transport.take())] == [200]


def test_usual_requests_wait_for_the_reply_to_the_one_before() -> None:
    front = FrontEnd()
    connection, transport = usual_client(front)
    connection.data_received(front.request(operation="PutItem"))
    connection.data_received(front.request(b'{"TableName":"second"}'))
    assert transport.take() == b""
    front.store.sync()
    first, second = replies(transport.take())
    assert b'"music"' in first.body
    assert b'"second"' in second.body


@pytest.mark.parametrize("seed", range(6))
def test_whatever_comes_becomes_what_the_parser_makes_of_it(seed: int) -> None:
    """Requests in which something was changed, cut off, doubled or put in between."""
    chance = random.Random(seed)
    data = request_of(HEADERS)
    pieces = [b"\r\n", b"\r", b"\n", b"\0", b"\x7f", b"\xff", b" ", b"\t", b":", b"0", b"9", b"close", b"chunked"]
    pieces += [b"Content-Length: 2\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", data, b"G"]
    usual, differing = 0, 0
    for _ in range(600):
        place, length = chance.randrange(len(data)), chance.choice((0, 0, 1, 1, 2, 9))
        changed = data[:place] + chance.choice((b"", *pieces)) + data[place + length :]
        reading, plain = used_to(data), Reading()
        assert reading.usual is not None
        usual += reading.usual.request(changed) is not None
        expected = outcome(plain, changed)
        assert outcome(reading, changed) == expected, changed
        differing += isinstance(expected[1], str) or expected[0] == []
        if expected[1] is None:
            assert outcome(reading, data) == outcome(plain, data), changed
    assert usual > 100
    assert differing > 100


def test_what_is_refused_is_refused_in_the_same_way() -> None:
    reading = used_to(request_of(HEADERS))
    refused = reading.feed(request_of(HEADERS, line=b"POST / HTTP/1.1\r\nContent-Length: 7"))
    assert isinstance(refused, Refusal)
