"""Bodies in chunks: the bytes around the data (chunk headers, extensions, trailers) are limited too."""

import pytest

from hashrange.wire.http import HEAD_BYTES_MAX
from tests.unit.server.harness import FrontEnd, replies, reply

CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd()


def test_chunked_bodies_are_joined_and_trailers_dropped(front: FrontEnd) -> None:
    body = b'{"TableName":"music"}'
    head = front.request(body).partition(b"\r\n\r\n")[0].replace(b"Content-Length: 21", b"Transfer-Encoding: chunked")
    data = head + b"\r\n\r\n5\r\n" + body[:5] + b"\r\n10;x=y\r\n" + body[5:] + b"\r\n0\r\nX-Trailer: 1\r\n\r\n"
    assert [answer.status for answer in replies(front.ask(data + data))] == [200, 200]


def test_a_chunked_body_over_16_mb_is_refused_while_it_comes(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    for _ in range(17):
        connection.data_received(chunk)
    assert reply(transport.take()).status == 413


def test_endless_trailers_are_refused(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    for number in range(100):
        connection.data_received(b"X-Trailer-%d: x\r\n" % number)
    assert reply(transport.take()).status == 400


@pytest.mark.parametrize("beginning", [
    CHUNKED + b"2\r\n{}\r\n0\r\nX-T: ",
    CHUNKED + b"2\r\n{}\r\n0\r\n",
    CHUNKED + b"2;x=",
    CHUNKED + b"2;",
    CHUNKED + b"2\r\n{}\r\n0;x=",
    CHUNKED + b"100000\r\n" + b"x" * 0x100000 + b"\r\n0\r\nX-T: ",
])  # fmt: skip
def test_what_is_neither_head_nor_body_is_bounded_as_a_head_is(front: FrontEnd, beginning: bytes) -> None:
    connection, transport = front.connect()
    connection.data_received(beginning)
    sent_bytes = 0
    while not transport.written:
        connection.data_received(b"a" * 1000)
        sent_bytes += 1000
        assert sent_bytes < HEAD_BYTES_MAX + 2000
    assert sent_bytes > HEAD_BYTES_MAX - 2000
    assert reply(transport.take()).status == 400


def test_trailers_over_16_kb_are_refused_in_one_piece_too(front: FrontEnd) -> None:
    trailers = b"X-T: " + b"a" * HEAD_BYTES_MAX + b"\r\n\r\n"
    assert reply(front.ask(CHUNKED + b"2\r\n{}\r\n0\r\n" + trailers)).status == 400


@pytest.mark.parametrize("piece_bytes", [1, 1000, 100_000])
@pytest.mark.parametrize("chunk_bytes", [1, 70, 65_536])
def test_many_small_chunks_are_no_large_head(front: FrontEnd, chunk_bytes: int, piece_bytes: int) -> None:
    text = b'{"TableName":"music","Filler":"' + b"x" * (4_000 if chunk_bytes == 1 else 20_000) + b'"}'
    pieces = [text[position : position + chunk_bytes] for position in range(0, len(text), chunk_bytes)]
    plain = front.request(text, headers={"X-Filler": "x" * 15_000}).partition(b"\r\n\r\n")[0]
    head = plain.replace(b"Content-Length: %d" % len(text), b"Transfer-Encoding: chunked")
    data = head + b"\r\n\r\n" + b"".join(b"%x;n=v\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    connection, transport = front.connect()
    for _ in range(2):
        for position in range(0, len(data), piece_bytes):
            connection.data_received(data[position : position + piece_bytes])
        assert reply(transport.take()).status == 200


def test_signed_chunks_with_their_signatures_are_body_not_extensions(front: FrontEnd) -> None:
    text = b'{"TableName":"music","Filler":"' + b"x" * 2000 + b'"}'
    line = b"%x;chunk-signature=" + b"0" * 64 + b"\r\n%b\r\n"
    body = b"".join(line % (len(piece), piece) for piece in (*(bytes((byte,)) for byte in text), b""))
    headers = {"Content-Encoding": "aws-chunked", "X-Amz-Content-SHA256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}
    data = front.request(body, headers=headers)
    connection, transport = front.connect()
    for position in range(0, len(data), 1000):
        connection.data_received(data[position : position + 1000])
    assert reply(transport.take()).status == 200
