"""Requests whose head looks like the last one are matched as a whole: they become what the parser makes of them, and
what the parser refuses is refused.
"""

import random

import pytest

from hashrange.server.reading import Reading
from hashrange.server.refusals import Refusal
from hashrange.wire import usual_head
from hashrange.wire.http import HttpRequest

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


def outcome(reading: Reading, data: bytes) -> tuple[list[object], object]:
    """The requests that a reading makes of data, and what it returns."""
    reading.ready.clear()
    returned = reading.feed(data)
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
    assert reading.feed(data) is None
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


@pytest.mark.parametrize("more", [{b"X-%d" % place: b"" for place in range(30)}, {b"X-" + b"a" * 1_000: b""}])
def test_a_long_head_is_not_usual(more: dict[bytes, bytes]) -> None:
    reading = Reading()
    for _ in range(usual_head.USES_MIN + 1):
        reading.feed(request_of({**HEADERS, **more}))
    assert reading.usual is None


def test_a_message_in_parts_goes_to_the_parser_also_if_its_end_looks_like_a_request() -> None:
    data = request_of(HEADERS)
    reading = used_to(data)
    around = request_of(HEADERS, data)
    cut = len(around) - len(data)
    assert outcome(reading, around[:cut]) == ([], None)
    (request,), _ = outcome(reading, data)
    assert isinstance(request, tuple)
    assert request[4] == data


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
