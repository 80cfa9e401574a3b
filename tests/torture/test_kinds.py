"""Are the hostile requests as described? Each can be made, read and sent; whether it does harm is not tested here."""

import gzip

import msgspec
import pytest

from hashrange.limits import BODY_BYTES_MAX
from hashrange.operations.registry import OPERATIONS
from hashrange.wire.chunked_payload import split_chunks
from hashrange.wire.dax.requests import Frames
from torture.kinds.dax import greeting
from torture.kinds.kind import SHORT_BYTES_MAX, Hostile, Kind, web
from torture.kinds.needs import BATCH, NEEDS, TINY_ITEMS, basis, calls_for
from torture.kinds.table import BY_NAME, KINDS
from torture.stalls.behaviours import BEHAVIOURS
from torture.stalls.probes import PROBES
from torture.stalls.wire import whole_bytes

NEVER_WHOLE = {"half body"}


def test_no_two_kinds_have_one_name() -> None:
    assert len(BY_NAME) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_is_a_request_that_the_server_can_read(kind: Kind) -> None:
    assert set(kind.needs) <= set(NEEDS)
    assert kind.behaviour in BEHAVIOURS
    assert kind.probe in PROBES
    request = kind.make()
    assert kind.behaviour in ("repeat", "dax") or not request.then
    for each in (request, *request.then):
        if kind.behaviour == "dax":
            frames = Frames()
            assert len(frames.feed(greeting() + whole_bytes(each, 8000))) == 2
        elif each.raw is None:
            is_readable(kind, each)
        else:
            assert len(each.body) == each.decoded_bytes
            assert whole_bytes(each, 8000).endswith(b"\r\n\r\n" + each.body)


def is_readable(kind: Kind, request: Hostile) -> None:
    """Fail unless the request is one of DynamoDB's that the server can read."""
    assert request.operation in OPERATIONS
    body = gzip.decompress(request.body) if ("Content-Encoding", "gzip") in request.headers else request.body
    assert len(body) == request.decoded_bytes <= BODY_BYTES_MAX
    assert request.is_short == (request.decoded_bytes <= SHORT_BYTES_MAX)
    if kind.behaviour not in NEVER_WHOLE:
        assert b'"@' not in body, "a part is missing"
        assert msgspec.json.decode(body, type=dict[str, msgspec.Raw])


@pytest.mark.parametrize("kind", [BY_NAME["get-projection"], BY_NAME["unsigned-text-12mb"]], ids=lambda kind: kind.name)
def test_a_request_is_signed_as_its_kind_says(kind: Kind) -> None:
    request = kind.make()
    sent = whole_bytes(request, 8000, kind.signature)
    head, _, body = sent.partition(b"\r\n\r\n")
    assert body == request.body
    assert (b"Authorization: AWS4" in head) == (kind.signature == "right")
    assert b"Content-Length: %d" % len(body) in head


def test_what_a_kind_needs_is_made_by_calls_of_operations() -> None:
    calls = [*basis(), *calls_for(("tiny",))]
    assert {call.operation for call in calls} == {"CreateTable", "PutItem", "BatchWriteItem"}
    assert sum(call.operation == "BatchWriteItem" for call in calls) == TINY_ITEMS // BATCH


def test_a_request_of_any_protocol_is_sent_whole_and_signed_for_its_service() -> None:
    sent = whole_bytes(web("DELETE", "/a?c=1&b=2", b"x", (("Origin", "https://site"),), "lambda"), 8000)
    assert sent.startswith(
        b"DELETE /a?c=1&b=2 HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nOrigin: https://site\r\nX-Amz-Date: "
    )
    assert b"/us-east-1/lambda/aws4_request, " in sent
    assert sent.endswith(b"\r\nContent-Length: 1\r\n\r\nx")
    assert b"Authorization" not in whole_bytes(web("GET", "/metrics"), 8000)


def test_a_kind_is_short_if_all_its_requests_are() -> None:
    short, large = web("GET", "/"), web("POST", "/", b"x" * (SHORT_BYTES_MAX + 1))
    assert short.is_short
    assert not large.is_short
    assert not short._replace(then=(large,)).is_short


def test_chunks_are_signed_one_after_the_other() -> None:
    kind = BY_NAME["chunks-of-1-byte-65000"]
    for length in (4, 5):
        request = kind.make()._replace(body=b"abcde"[:length], chunk_bytes=2)
        _, _, body = whole_bytes(request, 8000).partition(b"\r\n\r\n")
        chunks = list(split_chunks(body))
        assert b"".join(data for data, _ in chunks) == request.body
        assert [len(signature) for _, signature in chunks] == [64] * len({signature for _, signature in chunks})
