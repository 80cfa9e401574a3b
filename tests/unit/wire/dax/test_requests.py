"""Requests come in pieces of any length; what is no request of DAX ends the connection, in linear time."""

import random

import cbor2
import pytest

from hashrange.wire.dax.reading import BadBytes
from hashrange.wire.dax.requests import FRAME_BYTES_MAX, DaxRequest, Frames
from tests.support.dax_client import HANDSHAKE, METHOD_IDS, request_bytes

GET = request_bytes("getItem", b"music", b"key", None) + b""
MIXED = [
    GET,
    request_bytes("endpoints"),
    request_bytes("putItem", b"music", b"key", bytes(100_000), {3: 1}),
    cbor2.dumps(1) + cbor2.dumps(METHOD_IDS["getItem"]) + b"\x5f\x43mus\x42ic\xff\x43key\xbf\x03\x00\xff",
    request_bytes("batchGetItem", {"music": [False, None, [b"a", b"b"]]}, None),
]


def test_requests_are_the_same_however_they_come() -> None:
    data = HANDSHAKE + b"".join(MIXED * 3)
    whole = Frames().feed(data)
    assert whole[0] == DaxRequest("getItem", [b"music", b"key", None])
    assert whole[3] == DaxRequest("getItem", [b"music", b"key", {3: 0}])
    assert len(whole) == 15
    chance = random.Random(3)
    for _ in range(50):
        frames, found, at = Frames(), [], 0
        while at < len(data):
            size = chance.choice([1, 2, 3, 7, 100, 5_000, 70_000])
            found += frames.feed(data[at : at + size])
            at += size
        assert found == whole
        assert frames.begun_bytes == 0
        assert frames.is_open


def test_a_slow_sender_costs_no_more_than_a_quick_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of a frame that is not complete is looked at once."""
    data = request_bytes("defineAttributeListId", [f"name{number}" for number in range(2_000)])
    frames = Frames()
    frames.feed(HANDSHAKE)
    looked = []
    goes_on = type(frames._skim).goes_on

    def count(skim: object, begun: bytearray) -> bool:
        before = skim._at  # type: ignore[attr-defined]
        complete: bool = goes_on(skim, begun)  # type: ignore[arg-type]
        looked.append(skim._at - before)  # type: ignore[attr-defined]
        return complete

    monkeypatch.setattr(type(frames._skim), "goes_on", count)
    found = [request for place in range(len(data)) for request in frames.feed(data[place : place + 1])]
    assert len(found) == 1
    assert sum(looked) <= len(data)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00" + bytes(600),
        HANDSHAKE[:-1] + b"\x01",
        HANDSHAKE[:8] + b"\x02" + HANDSHAKE[9:],
        HANDSHAKE.replace(b"J7yne5G", b"J7yne5H"),
        HANDSHAKE + b"\x02",
        HANDSHAKE + cbor2.dumps(1) + cbor2.dumps(785068263),
        HANDSHAKE + cbor2.dumps(1) + b"\x61x",
        HANDSHAKE + cbor2.dumps(1) + cbor2.dumps(METHOD_IDS["scan"]) + b"\x81" * 5_000 + b"\x01",
        HANDSHAKE + request_bytes("getItem", b"music", b"key") + b"\xff",
    ],
    ids=range(10),
)
def test_what_is_no_request_ends_the_connection(data: bytes) -> None:
    with pytest.raises(BadBytes):
        Frames().feed(data + bytes(50))
    frames = Frames()
    with pytest.raises(BadBytes):
        for place in range(len(data + bytes(50))):
            frames.feed((data + bytes(50))[place : place + 1])


def test_a_frame_has_a_longest_length() -> None:
    frames = Frames()
    frames.feed(HANDSHAKE)
    frames.feed(cbor2.dumps(1) + cbor2.dumps(METHOD_IDS["scan"]) + b"\x5b" + (1 << 40).to_bytes(8, "big"))
    piece = bytes(1 << 20)
    with pytest.raises(BadBytes):
        for _ in range(FRAME_BYTES_MAX // len(piece) + 1):
            frames.feed(piece)
    frames = Frames()
    with pytest.raises(BadBytes):
        for _ in range(20):
            frames.feed(b"\x7b" + bytes(1023))
