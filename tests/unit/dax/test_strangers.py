"""What may a client send that has not said who it is, and how long may one frame hold up the others?"""

from collections.abc import Callable
from typing import Any

import cbor2
import pytest

from hashrange.items import steps
from hashrange.service import workers
from hashrange.testing import Database
from hashrange.wire.dax import requests
from hashrange.wire.dax.reading import REQUEST_VALUES_MAX, VALUES_MAX, BadBytes, CborReader
from hashrange.wire.dax.requests import STRANGER_BYTES_MAX, Frames
from tests.support.dax_client import (
    HANDSHAKE,
    METHOD_IDS,
    DaxClient,
    DaxError,
    authorization,
    expression,
    path,
    request_bytes,
    value,
)

ONE = cbor2.dumps(1)
LIST_ID = ONE + cbor2.dumps(METHOD_IDS["defineAttributeListId"])


def array(count: int, element: bytes = b"\x00") -> bytes:
    return b"\x9a" + count.to_bytes(4, "big") + element * count


@pytest.mark.parametrize(
    "frame",
    [
        LIST_ID + array(1_000_000),
        LIST_ID + array(STRANGER_BYTES_MAX // 2),
        LIST_ID + b"\x9f" + b"\xa0" * 100_000,
        request_bytes("putItem", b"music", b"key", bytes(100_000), None),
        request_bytes("authorizeConnection", "a" * 100_000, "b", b"c", None, None),
        LIST_ID + b"\x5a\x00\xff\xff\xff" + bytes(50_000),
    ],
    ids=range(6),
)
def test_long_frames_of_strangers_are_refused_and_end_the_connection(database: Database, frame: bytes) -> None:
    with DaxClient(str(database.dax_endpoint), authorize=b"") as stranger:
        stranger.socket.settimeout(10)
        stranger.socket.sendall(frame)
        with pytest.raises(DaxError, match="MissingAuthenticationTokenException") as caught:
            stranger.receive("endpoints")
        assert caught.value.codes == [4, 23, 31, 33]
        with pytest.raises(EOFError):
            stranger.receive("endpoints")


def test_a_stranger_may_sign_and_send_a_long_request_at_once(database: Database, dax: DaxClient) -> None:
    content = dax.item_bytes(text="x" * 300_000)
    key = cbor2.dumps("Nina") + b"\xc1\x1c\x00\x00"
    with DaxClient(str(database.dax_endpoint), authorize=b"") as stranger:
        stranger.socket.sendall(authorization() + request_bytes("putItem", b"music", key, content, None))
        stranger.receive("putItem")
        assert stranger.call("getItem", b"music", key, None)[0] == content


def test_frames_learn_that_a_client_is_no_stranger_any_more() -> None:
    frames = Frames(is_trusted=False)
    last = request_bytes("defineAttributeListId", ["name"] * 5_000)
    assert [one.method for one in frames.feed(HANDSHAKE + authorization() + last)] == ["authorizeConnection"]
    frames.is_trusted = True
    assert [one.method for one in frames.feed(frames.take_left())] == ["defineAttributeListId"]


@pytest.mark.parametrize("is_open", [False, True])
def test_values_of_a_frame_are_counted(is_open: bool) -> None:
    frames = Frames()
    data = HANDSHAKE + LIST_ID if is_open else HANDSHAKE[:8] + ONE
    for kind in (array(VALUES_MAX + 1), b"\x9f" + b"\x00" * (VALUES_MAX + 1), b"\xbf" + b"\x00" * 2 * VALUES_MAX):
        frames = Frames()
        with pytest.raises(BadBytes):
            frames.feed(data + kind)
        frames = Frames()
        with pytest.raises(BadBytes):
            for at in range(0, len(data + kind), 50_000):
                frames.feed((data + kind)[at : at + 50_000])
        with pytest.raises(BadBytes):
            CborReader(kind).value()


@pytest.fixture
def count_ways(database: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Slices without time: each look gives way."""
    monkeypatch.setattr(workers, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(workers, "SHARE_SECONDS", 0.0)
    return lambda: database._process.run(steps.gave_way)


LONG: dict[str, Callable[[DaxClient], Any]] = {
    "frame": lambda dax: dax.call("defineAttributeListId", [f"{place:05}" for place in range(20_000)]),
    "refused": lambda dax: dax.call("defineAttributeListId", list(range(20_000))),
    "item": lambda dax: dax.call(
        "putItem", b"music", cbor2.dumps("N") + b"\xc1\x1c\x00\x00", dax.item_bytes(n=[0] * 20_000), None
    ),
    "batch": lambda dax: dax.call(
        "batchWriteItem", {b"music": [cbor2.dumps("N") + b"\xc1\x1c\x00\x00", dax.item_bytes(n=[0] * 20_000)]}, None
    ),
}


@pytest.mark.parametrize("kind", LONG)
def test_long_frames_are_read_in_pieces(dax: DaxClient, count_ways: Callable[[], int], kind: str) -> None:
    dax.item_bytes(n=0)
    before = count_ways()
    try:
        LONG[kind](dax)
    except DaxError as error:
        assert kind == "refused", error
    assert count_ways() - before >= 40


KEY = cbor2.dumps("N") + b"\xc1\x1c\x00\x00"


def test_values_of_a_request_are_bounded(dax: DaxClient) -> None:
    one = dax.item_bytes(n=0)[:-1] + array(REQUEST_VALUES_MAX // 4)
    tree = expression([[19, path("a"), value(0)]] * 5_000, 1)
    for method, arguments in (
        ("putItem", (b"music", KEY, dax.item_bytes(n=0)[:-1] + array(VALUES_MAX + 1), None)),
        ("batchWriteItem", ({b"music": [KEY, one] * 5}, None)),
        ("transactWriteItems", ([2] * 5, [b"music"] * 5, [KEY] * 5, [one] * 5, None, *[[None] * 5] * 3, None)),
        ("updateItem", (b"music", KEY, {8: tree})),
    ):
        with pytest.raises(DaxError, match="more values than a request can have"):
            dax.call(method, *arguments)


@pytest.mark.parametrize("wrong", [[1], {}, {1: 2}, 2.0, "2", b"", True, cbor2.CBORTag(3321, ["a"])], ids=str)
def test_actions_of_a_transaction_of_a_wrong_type(dax: DaxClient, wrong: Any) -> None:
    for operation, on_failure in ((wrong, None), (2, wrong)):
        with pytest.raises(DaxError, match="ValidationException"):
            dax.call(
                "transactWriteItems",
                [operation], [b"music"], [KEY], [cbor2.dumps(1)], None, [on_failure], [None], [None], None,
            )  # fmt: skip


def test_the_begin_of_a_frame_is_skimmed_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = Frames()
    frames.feed(HANDSHAKE)
    spent: list[int] = []
    monkeypatch.setattr(requests, "spend", spent.append)
    assert frames.feed((LIST_ID + array(100_000))[:-1]) == []
    assert sum(spent) >= 40_000
