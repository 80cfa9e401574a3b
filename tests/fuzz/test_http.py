"""Random bytes instead of requests: the client gets HTTP replies or a close, and other clients are not affected."""

import os
import random

import pytest

from tests.unit.server.harness import FrontEnd, replies, reply

ROUNDS = int(os.environ.get("HASHRANGE_FUZZ_ROUNDS", "300"))
ALLOWED_STATUS = {200, 400, 404, 408, 413}

PIECES = [
    b"\r\n", b"\n", b"\0", b" ", b":", b"%", b"POST", b"GET / HTTP/1.1\r\n\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 99999999999999999999\r\n", b"Content-Length: -1\r\n", b"Expect: 100-continue\r\n", b"0\r\n\r\n",
    b"Content-Encoding: gzip\r\n", b"Content-Encoding: aws-chunked\r\n", b"X-Amz-Content-SHA256: STREAMING-X\r\n",
    b"Connection: close\r\n", b"Upgrade: h2c\r\nConnection: upgrade\r\n", b"CONNECT x:1 HTTP/1.1\r\n\r\n", b"HTTP/1.0",
    b"X-Amz-Date: \xff\r\n", b"Authorization: AWS4-\r\n", b"/?X-Amz-Algorithm=%ff&X-Amz-Date", b"\xff" * 20, b"{" * 100,
]  # fmt: skip


def mutate(random_source: random.Random, data: bytes) -> bytes:
    """A few random changes."""
    for _ in range(random_source.randint(1, 6)):
        position = random_source.randrange(len(data) + 1)
        length = random_source.randint(0, 12)
        kind = random_source.randrange(4)
        if kind == 0:
            data = data[:position] + random_source.choice(PIECES) + data[position:]
        elif kind == 1:
            data = data[:position] + data[position + length :]
        elif kind == 2:
            data = data[:position] + random_source.randbytes(length) + data[position + length :]
        else:
            data = data[:position] + data[max(0, position - length) :]
    return data


def send_in_pieces(random_source: random.Random, front: FrontEnd, data: bytes) -> bytes:
    """All bytes that the server answers until the client gives up and every deadline has passed."""
    connection, transport = front.connect()
    while data and not transport.is_closed:
        length = random_source.choice((1, 7, 100, 100_000))
        connection.data_received(data[:length])
        data = data[length:]
        front.store.sync()
    for _ in range(3):
        front.clock.advance_all(300)
        front.connections.sweep()
        front.store.sync()
    written = transport.take()
    if not transport.is_closed:
        front.clock.advance_all(1000)
        front.connections.sweep()
    assert transport.is_closed
    connection.connection_lost(None)
    return written


@pytest.mark.parametrize("seed", range(4))
def test_mutated_requests_get_replies_or_a_close(seed: int) -> None:
    random_source = random.Random(seed)
    for _ in range(ROUNDS):
        front = FrontEnd()
        body = random_source.choice(
            (b'{"TableName":"music"}', b"{}", b'{"TableName":"large"}', b'{"TableName":"missing"}')
        )
        base = front.request(body, random_source.choice(("GetItem", "PutItem"))) * random_source.randint(1, 3)
        data = mutate(random_source, base)
        answer = send_in_pieces(random_source, front, data).replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
        for parsed in replies(answer):
            assert parsed.status in ALLOWED_STATUS, data
        assert not front.connections.open


@pytest.mark.parametrize("seed", range(2))
def test_random_bytes_get_a_400_or_a_close(seed: int) -> None:
    random_source = random.Random(seed)
    front = FrontEnd()
    for _ in range(ROUNDS):
        data = random_source.randbytes(random_source.randint(0, 200))
        answer = replies(send_in_pieces(random_source, front, data))
        assert all(parsed.status in ALLOWED_STATUS for parsed in answer), data
    assert reply(front.ask(front.request())).status == 200


@pytest.mark.parametrize("seed", range(2))
def test_mutated_authorizations_are_never_our_error(seed: int) -> None:
    random_source = random.Random(seed)
    front = FrontEnd()
    good = front.request()
    start, end = good.index(b"Authorization"), good.index(b"\r\n\r\n")
    for _ in range(ROUNDS):
        header = mutate(random_source, good[start:end]).replace(b"\r", b"").replace(b"\n", b"").replace(b"\0", b"")
        answer = replies(front.ask(good[:start] + b"Authorization: " + header[15:] + good[end:]))
        assert all(parsed.status in {200, 400} for parsed in answer), header
