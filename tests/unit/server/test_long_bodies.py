"""A long body is put together where it grows: its end copies nothing, which would hold up everybody else."""

import tracemalloc

import pytest

from hashrange.server.reading import Reading

BODY_BYTES = 4_000_000
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % BODY_BYTES


@pytest.mark.parametrize("piece_bytes", [8_192, 65_536, BODY_BYTES])
def test_a_body_in_pieces_is_what_was_sent(piece_bytes: int) -> None:
    reading = Reading()
    body = bytes(range(250)) * (BODY_BYTES // 250)
    for data in (HEAD, *(body[start : start + piece_bytes] for start in range(0, BODY_BYTES, piece_bytes))):
        assert reading.feed(data) is None
    assert reading.ready.popleft().body == body


def test_the_end_of_a_body_copies_nothing() -> None:
    reading = Reading()
    reading.feed(HEAD)
    tracemalloc.start()
    try:
        for _ in range(BODY_BYTES // 8_000):
            reading.feed(bytes(8_000))
        assert len(reading.ready) == 1
        assert tracemalloc.get_traced_memory()[1] < BODY_BYTES * 3 // 2
    finally:
        tracemalloc.stop()
