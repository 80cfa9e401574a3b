"""Parsing of HTTP heads, and encoding of HTTP replies."""

import gzip
import random
import zlib

import pytest

from hashrange.items import steps
from hashrange.items.steps import LARGE_PIECE_BYTES
from hashrange.limits import BODY_BYTES_MAX
from hashrange.wire import http
from hashrange.wire.content_codings import (
    BodyTooLargeError,
    ContentEncodingError,
    accepted_coding,
    decode_body,
)
from hashrange.wire.http import HttpRequest, ReplyWriter, http_date, layout_of, mirrored_content_type, query_pairs
from hashrange.wire.identifiers import REQUEST_ID_LENGTH, next_number, request_id_of


def request_of(headers: dict[str, str], method: bytes = b"POST", *, keeps_alive: bool = True) -> HttpRequest:
    values: list[bytes | None] = [value.encode() for value in headers.values()]
    return HttpRequest(
        method, b"/", layout_of(tuple(name.encode() for name in headers)), [*values, None], b"", keeps_alive
    )


JSON = {"Content-Type": "application/x-amz-json-1.0"}
NOW = 784_111_777.5
"""Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110."""


def test_dates_are_written_as_http_wants_them() -> None:
    assert http_date(int(NOW)) == b"Sun, 06 Nov 1994 08:49:37 GMT"
    assert http_date(951_782_400) == b"Tue, 29 Feb 2000 00:00:00 GMT"


def test_a_layout_finds_headers_in_any_case_and_absent_ones_as_none() -> None:
    request = request_of({"X-AMZ-TARGET": "t", "host": "h"})
    assert request.values[request.layout.target] == b"t"
    assert request.values[request.layout.authorization] is None
    assert request.header(b"host") == b"h"
    assert request.header(b"absent") is None
    assert request_of({"Host": " h\t "}).header(b"host") == b"h"


def test_layouts_are_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LAYOUTS_MAX", 8)
    for number in range(100):
        layout_of((b"x-%d" % number,))
    assert len(http._layouts) <= 8
    assert layout_of((b"x-99",)) is layout_of((b"x-99",))


@pytest.mark.parametrize("sent", ["application/x-amz-json-1.0", "application/json"])
def test_the_fast_reply_is_the_same_as_the_general_one(sent: str) -> None:
    request = request_of({"Content-Type": sent})
    fast, slow = ReplyWriter().ok(request, b"{}", NOW), ReplyWriter().reply(request, 200, b"{}", NOW)
    assert isinstance(fast, bytes)
    assert isinstance(slow, bytes)
    assert sorted(fast.split(b"\r\n")) == sorted(slow.split(b"\r\n"))
    assert b"\r\nContent-Type: %b\r\n" % sent.encode() in fast
    assert b"\r\nx-amz-crc32: %d\r\n" % zlib.crc32(b"{}") in fast
    assert b"\r\nServer: Server\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n" in fast


def test_the_date_moves_with_the_second() -> None:
    writer = ReplyWriter()
    request = request_of(JSON)
    assert b"08:49:37" in writer.ok(request, b"", NOW)
    assert b"08:49:37" in writer.ok(request, b"", NOW + 0.4)
    assert b"08:49:38" in writer.ok(request, b"", NOW + 0.6)
    assert b"08:49:36" in writer.refusal(400, b"", NOW - 1)


def test_an_origin_is_answered_with_permission() -> None:
    reply = ReplyWriter().ok(request_of({**JSON, "Origin": "http://localhost"}), b"{}", NOW)
    assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in reply


def test_request_ids_are_52_capitals_and_digits_and_never_the_same() -> None:
    first, second = request_id_of(next_number()), request_id_of(next_number())
    assert first != second
    for request_id in (first, second):
        assert len(request_id) == REQUEST_ID_LENGTH == 52
        assert set(request_id) <= set(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        (None, None),
        ("", None),
        ("identity", None),
        ("br", None),
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("deflate, gzip", "gzip"),
        ("GZIP", "gzip"),
        ("*", "gzip"),
        ("gzip;q=0", None),
        ("gzip;q=0.000, deflate", "deflate"),
        ("gzip; q=0.5", "gzip"),
        ("gzip;q=1", "gzip"),
        ("*;q=0", None),
    ],
)
def test_which_coding_a_client_accepts(accept: str | None, coding: str | None) -> None:
    assert accepted_coding(None if accept is None else accept.encode()) == (None if coding is None else coding.encode())


def test_content_types_are_mirrored_without_their_parameters() -> None:
    assert mirrored_content_type(b"application/json; charset=utf-8") == b"application/json"
    assert mirrored_content_type(b"Application/X-Amz-Json-1.0") == b"application/x-amz-json-1.0"
    assert mirrored_content_type(None) == b"application/x-amz-json-1.0"


def test_a_query_is_split_and_decoded() -> None:
    assert query_pairs(b"/?a=b%20c&d&&e=f=g+h") == [("a", "b c"), ("d", ""), ("e", "f=g+h")]
    assert query_pairs(b"/") == []


@pytest.mark.parametrize("size", [0, 1, 262_143, 262_144, 262_145, 1_000_000])
@pytest.mark.parametrize("level", [0, 1, 9])
def test_what_is_inflated_in_pieces_is_whole(size: int, level: int) -> None:
    for plain in (b" " * size, random.Random(size).randbytes(size)):
        packed = gzip.compress(plain, level)
        assert decode_body(packed, b"gzip") == plain
        assert decode_body(packed + packed, b"gzip") == plain + plain
        assert decode_body(gzip.compress(packed, level), b"gzip, gzip") == plain
        assert decode_body(zlib.compress(plain, level), b"deflate") == plain
        for end in (1, 4, 8, 9):
            with pytest.raises(ContentEncodingError):
                decode_body(packed[:-end], b"gzip")


@pytest.mark.parametrize("count", [1, 4])
def test_inflating_gives_way(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    size = 8 * 1024 * 1024
    body = b" " * size
    for number in range(count):
        body = gzip.compress(body, 0 if number < count - 1 else 9)
    assert len(decode_body(body, b", ".join([b"gzip"] * count))) == size
    assert len(looks) >= 32 * count


@pytest.mark.parametrize("count", [1, 3, 900])
@pytest.mark.parametrize("size_bytes", [LARGE_PIECE_BYTES // 2, 4 * LARGE_PIECE_BYTES])
def test_few_large_bodies_are_inflated_at_a_time_whatever_they_are_made_of(
    count: int, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[int] = []
    monkeypatch.setattr(steps, "_queue", announced.append)
    member = gzip.compress(b" " * (size_bytes // count))
    assert len(decode_body(member * count, b"gzip")) == size_bytes // count * count
    assert announced == ([BODY_BYTES_MAX] if size_bytes > LARGE_PIECE_BYTES else [])


def test_one_byte_more_than_a_body_may_have_is_refused() -> None:
    assert len(decode_body(gzip.compress(b" " * BODY_BYTES_MAX), b"gzip")) == BODY_BYTES_MAX
    with pytest.raises(BodyTooLargeError):
        decode_body(gzip.compress(b" " * (BODY_BYTES_MAX + 1)), b"gzip")
