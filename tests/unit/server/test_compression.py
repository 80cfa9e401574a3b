"""Compressed request bodies and compressed replies."""

import gzip
import json
import random
import zlib
from typing import Any

import pytest

from hashrange.aws_services.operation import Operation
from hashrange.items import steps
from hashrange.limits import BODY_BYTES_MAX
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.service.workers import Workers
from hashrange.wire.http import HttpRequest, ReplyWriter, layout_of
from tests.support.working import HurriedClock, Turns
from tests.unit.server.harness import EchoRequest, FrontEnd, replies, reply


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd()


def test_compressed_bodies_are_read(front: FrontEnd) -> None:
    plain = b'{"TableName":"music"}'
    bare = zlib.compressobj(wbits=-15)
    for coding, body in (
        ("gzip", gzip.compress(plain)),
        ("deflate", zlib.compress(plain)),
        ("deflate", bare.compress(plain) + bare.flush()),
        ("identity", plain),
    ):
        assert reply(front.ask(front.request(body, headers={"Content-Encoding": coding}))).status == 200, coding


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "gzip, gzip", "deflate, gzip"])
def test_a_body_that_does_not_match_its_coding_is_the_clients_error(front: FrontEnd, coding: str) -> None:
    plain = b'{"TableName":"music"}'
    for body in (b"no gzip", gzip.compress(plain)[:-9], zlib.compress(plain)[:-3], plain, b""):
        answer = reply(front.ask(front.request(body, headers={"Content-Encoding": coding})))
        assert (answer.status, answer.body) == (400, b'{"__type":"com.amazon.coral.service#SerializationException"}')


def test_a_gzip_body_may_have_several_members(front: FrontEnd) -> None:
    for pieces in (
        (b'{"TableName":', b'"music"}'),
        (b"", b'{"TableName":"music"}', b""),
        (b'{"TableName":"music"', b"}"),
    ):
        body = b"".join(map(gzip.compress, pieces))
        assert reply(front.ask(front.request(body, headers={"Content-Encoding": "gzip"}))).status == 200, pieces


@pytest.mark.parametrize("junk", [b"x", b"\0\0", b"\x1f\x8b", gzip.compress(b" ", mtime=0)[:-1], b"x" * 100])
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_junk_behind_a_compressed_body_is_refused(front: FrontEnd, coding: str, junk: bytes) -> None:
    plain = b'{"TableName":"music"}'
    body = (gzip.compress(plain) if coding == "gzip" else zlib.compress(plain)) + junk
    assert reply(front.ask(front.request(body, headers={"Content-Encoding": coding}))).status == 400


def test_a_gzip_body_has_at_most_1024_members(front: FrontEnd) -> None:
    headers = {"Content-Encoding": "gzip"}
    least = gzip.compress(b'{"TableName":"music"}')
    for empty_members, status in ((1023, 200), (1024, 400)):
        body = gzip.compress(b"") * empty_members + least
        assert reply(front.ask(front.request(body, headers=headers))).status == status


def test_the_members_of_a_gzip_body_share_the_16_mb(front: FrontEnd) -> None:
    headers = {"Content-Encoding": "gzip"}
    half = gzip.compress(b" " * (BODY_BYTES_MAX // 2))
    least = gzip.compress(b'{"TableName":"music"}')
    assert reply(front.ask(front.request(half + half, headers=headers))).status == 400
    assert reply(front.ask(front.request(half + half + least, headers=headers))).status == 413


def test_a_body_is_coded_at_most_four_times(front: FrontEnd) -> None:
    body = b'{"TableName":"music"}'
    for times in range(1, 6):
        body = gzip.compress(body)
        coding = ",".join(["gzip", "identity", ""] * times)
        answer = reply(front.ask(front.request(body, headers={"Content-Encoding": coding})))
        assert answer.status == (200 if times <= 4 else 400)


def test_a_gzip_bomb_is_stopped_at_16_mb(front: FrontEnd) -> None:
    bomb = gzip.compress(b" " * (BODY_BYTES_MAX + 1))
    assert reply(front.ask(front.request(bomb, headers={"Content-Encoding": "gzip"}))).status == 413


def test_large_replies_are_compressed_for_who_asks(front: FrontEnd) -> None:
    large = b'{"TableName":"large"}'
    plain = reply(front.ask(front.request(large)))
    assert "content-encoding" not in plain.headers
    zipped = reply(front.ask(front.request(large, headers={"Accept-Encoding": "gzip, deflate"})))
    assert zipped.headers["content-encoding"] == "gzip"
    assert zlib.crc32(zipped.body) == int(zipped.headers["x-amz-crc32"])
    assert gzip.decompress(zipped.body) == plain.body
    deflated = reply(front.ask(front.request(large, headers={"Accept-Encoding": "gzip;q=0, deflate"})))
    assert deflated.headers["content-encoding"] == "deflate"
    assert zlib.decompress(deflated.body) == plain.body
    small = reply(front.ask(front.request(headers={"Accept-Encoding": "gzip"})))
    assert "content-encoding" not in small.headers


def test_a_large_reply_gives_way_while_it_is_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compression of a large reply gives way, and the next request of its connection waits until the reply is sent."""
    monkeypatch.setattr(steps, "_look", None)  # undo what a dispatcher installs
    monkeypatch.setattr(steps, "_queue", None)
    text = "".join(random.Random(1).choices("abcdefgh", k=1 << 20))

    async def long(scope: Scope, request: EchoRequest) -> Reply:
        return {"text": text if request.TableName == "long" else "short"}

    front = FrontEnd(operations={"GetItem": Operation("GetItem", EchoRequest, long, JsonWire(is_quick=True))})
    clock = HurriedClock(front.clock.service_time())
    turns = Turns()
    loop: Any = turns
    front.service.workers = workers = Workers(clock)
    workers.take_turns(loop)
    connection, transport = front.connect()
    headers = {"Accept-Encoding": "gzip"}
    connection.data_received(front.request(b'{"TableName":"long"}', headers=headers))
    connection.data_received(front.request(b'{"TableName":"short"}', headers=headers))
    count = 0
    while turns.due:
        assert transport.written.count(b"HTTP/1.1 200 OK") <= 2
        turns.turn()
        count += 1
    assert count > 16
    first, second = replies(transport.written)
    assert json.loads(gzip.decompress(first.body)) == {"text": text}
    assert json.loads(second.body) == {"text": "short"}


def test_a_reply_that_is_compressed_already_is_sent_as_it_is() -> None:
    body = gzip.compress(random.Random(1).randbytes(10_000))
    request = HttpRequest(b"GET", b"/", layout_of((b"accept-encoding",)), [b"gzip", None], b"", True)
    head, sent = ReplyWriter().head_and_body(request, 200, body, 0.0, b"text/plain", b"Content-Encoding: gzip\r\n")
    assert sent == body
    assert head.count(b"Content-Encoding: gzip") == 1
