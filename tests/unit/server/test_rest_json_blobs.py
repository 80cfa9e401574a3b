"""Zips in JSON bodies: decoded in pieces they are what one call would make of them,
and others are answered in between.
"""

import base64
import json
import random
import tracemalloc
from typing import Any

import pytest

from hashrange.errors import SerializationException
from hashrange.items import steps
from hashrange.server.protocols.rest_json.long_blobs import _PIECE_BYTES, LONG_BLOB_BYTES, cut_blob
from tests.unit.server.lambda_front import CodeMembers, CreateRequest, LambdaFrontEnd

SEED = 20261125
PATH = "/2015-03-31/functions"


def text_of(size_bytes: int) -> tuple[bytes, str]:
    """Some bytes, and their base64 text."""
    raw = random.Random(SEED + size_bytes).randbytes(size_bytes)
    return raw, base64.b64encode(raw).decode()


SIZES = [
    LONG_BLOB_BYTES,
    *[_PIECE_BYTES * 3 // 4 * pieces + more for pieces in (1, 2, 5) for more in (-3, -2, -1, 0, 1, 2)],
]


@pytest.mark.parametrize("size_bytes", SIZES)
def test_a_long_text_is_decoded_as_in_one_call(size_bytes: int) -> None:
    raw, text = text_of(size_bytes)
    for body in (
        json.dumps({"Code": {"ZipFile": text}, "FunctionName": "f"}),
        json.dumps({"ZipFile": text}, indent=2).replace(": ", " :\r\n\t "),
        json.dumps({"ZipFile": text}).replace("/", "\\/"),
        json.dumps({"Description": 'a "ZipFile": "b" and \\', "Code": {"ZipFile": text}}),
    ):
        cut = cut_blob(body.encode(), "ZipFile")
        assert cut is not None
        rest, blob = cut
        assert blob == raw
        assert json.loads(rest) == json.loads(body.replace(text.replace("/", "\\/"), "").replace(text, ""))


@pytest.mark.parametrize("seed", range(20))
def test_escaped_slashes_may_stand_at_any_place(seed: int) -> None:
    random_source = random.Random(seed)
    raw = bytes(random_source.choices(b"\xff\xff\xfb\x00", k=_PIECE_BYTES + random_source.randrange(1000)))
    between = base64.b64encode(raw).decode().split("/")
    slashes = random_source.choices(["/", "\\/"], k=len(between) - 1)
    text = "".join(map("".join, zip(between, [*slashes, ""], strict=True)))
    cut = cut_blob(f'{{"ZipFile":"{text}"}}'.encode(), "ZipFile")
    assert cut == (b'{"ZipFile":""}', raw)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'{"ZipFile":"QUJD"}',
        b'{"ZipFile"',
        b'{"ZipFile" ',
        b'{"ZipFile":',
        b'{"ZipFile":5}',
        b'{"ZipFile":"' + b"A" * 100_000,
        b'{"Other":"' + b"A" * 100_000 + b'"}',
        b'{"a":"ZipFile","b":"' + b"A" * 100_000 + b'"}',
    ],
)
def test_other_bodies_stay_as_they_are(body: bytes) -> None:
    assert cut_blob(body, "ZipFile") is None


@pytest.mark.parametrize("at", [0, 5, _PIECE_BYTES - 2, _PIECE_BYTES - 1, _PIECE_BYTES, 2 * _PIECE_BYTES + 1])
@pytest.mark.parametrize("fault", ["=", "==", "é", "\\n", "\\u0041", " ", "-", "\n", "\\"])
def test_a_text_that_is_no_base64_is_refused(at: int, fault: str) -> None:
    text = "A" * (3 * _PIECE_BYTES)
    body = f'{{"ZipFile":"{text[:at]}{fault}{text[at + len(fault) :]}"}}'.encode()
    with pytest.raises(SerializationException):
        cut_blob(body, "ZipFile")


def test_a_text_of_a_wrong_length_is_refused() -> None:
    with pytest.raises(SerializationException, match="multiple of 4 bytes but found: 300001"):
        cut_blob(b'{"ZipFile":"%b"}' % (b"A" * 300_001), "ZipFile")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One element for each look at the clock."""
    found: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: found.append(None))
    return found


def test_every_piece_is_followed_by_a_look(looks: list[None]) -> None:
    raw, text = text_of(_PIECE_BYTES * 30)
    cut = cut_blob(f'{{"ZipFile":"{text}"}}'.encode(), "ZipFile")
    assert cut is not None
    assert cut[1] == raw
    assert len(looks) >= len(text) // _PIECE_BYTES


def test_the_pieces_are_put_together_without_a_copy_of_all() -> None:
    raw, text = text_of(4_000_000)
    body = f'{{"ZipFile":"{text}"}}'.encode()
    tracemalloc.start()
    try:
        cut = cut_blob(body, "ZipFile")
        assert tracemalloc.get_traced_memory()[1] < len(raw) * 3 // 2
    finally:
        tracemalloc.stop()
    assert cut is not None
    assert cut[1] == raw


# --- in a request ---------------------------------------------------------------------------------


def created(body: bytes) -> Any:
    """The members of a CreateFunction with this body."""
    front = LambdaFrontEnd()
    answer = front.call("POST", PATH, body)
    if answer.status != 201:
        return answer.headers["x-amzn-errortype"]
    ((_, members),) = front.works.calls
    return members


@pytest.mark.parametrize("size_bytes", [0, 10, LONG_BLOB_BYTES // 2, LONG_BLOB_BYTES, 5_000_000])
def test_a_zip_of_any_size_reaches_the_operation(size_bytes: int) -> None:
    raw, text = text_of(size_bytes)
    body = json.dumps({"FunctionName": "f", "Code": {"ZipFile": text}}).encode()
    assert created(body) == CreateRequest(FunctionName="f", Code=CodeMembers(ZipFile=raw))


def test_a_long_text_of_an_unknown_member_is_ignored() -> None:
    _, text = text_of(LONG_BLOB_BYTES)
    members = {"Other": {"ZipFile": text}, "FunctionName": "f", "Code": {"S3Bucket": "b"}}
    assert created(json.dumps(members).encode()) == CreateRequest(FunctionName="f", Code=CodeMembers(S3Bucket="b"))
    del members["Code"]
    assert created(json.dumps(members).encode()) == CreateRequest(FunctionName="f")


def test_a_long_text_that_is_no_base64_is_refused() -> None:
    body = json.dumps({"FunctionName": "f", "Code": {"ZipFile": "-" * LONG_BLOB_BYTES}}).encode()
    assert created(body) == "SerializationException"


def test_a_short_text_that_is_no_base64_is_refused() -> None:
    assert created(b'{"FunctionName":"f","Code":{"ZipFile":"-"}}') == "SerializationException"
