"""Request bodies in signed chunks (aws-chunked)."""

import hmac

import pytest

from hashrange.wire import chunked_payload
from hashrange.wire.chunked_payload import ChunksError, are_chunks_signed, join_chunks, split_chunks
from hashrange.wire.sigv4 import Claim
from tests.support.working import lines_between_looks

CLAIM = Claim(
    "AKIAIOSFODNN7EXAMPLE", "20130524", "us-east-1", "s3", (b"host",), "20130524T000000Z",
    b"4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9", False, None,
)  # fmt: skip


def test_chunks_are_joined_and_trailers_dropped() -> None:
    assert join_chunks(b"3;chunk-signature=aa\r\nabc\r\n2\r\nde\r\n0\r\nx-trailer: 1\r\n\r\n") == b"abcde"


@pytest.mark.parametrize("body", [
    b"", b"3\r\nab", b"zz\r\n", b"-1\r\n\r\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n", b"3\r\nabc\r\n", b"5", b"x" * 3000,
    b" 2\r\n{}\r\n0\r\n", b"+2\r\n{}\r\n0\r\n", b"0x2\r\n{}\r\n0\r\n", b"1_0\r\n0123456789abcdef\r\n0\r\n",
    b"2 \r\n{}\r\n0\r\n",
    b"2\r\n{}\r\n-0\r\n", b"2\r\n{}\r\n\r\n", b"2\r\n{}\r\n00000000000000000\r\n", b"\xb2\r\n{}\r\n0\r\n",
])  # fmt: skip
def test_what_is_not_made_of_chunks_is_refused(body: bytes) -> None:
    with pytest.raises(ChunksError):
        join_chunks(body)


def test_each_chunk_signs_the_one_before_it() -> None:
    # AWS's documented example of the streaming payload: 64 KB and 1 KB of the letter a.
    from hashrange.wire.canonical_request import signing_key

    key = signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", "us-east-1", "s3")
    signatures = (
        b"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
        b"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
        b"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    )
    body = b"".join(
        b"%x;chunk-signature=%b\r\n%b\r\n" % (size, signature, b"a" * size)
        for size, signature in zip((65_536, 1024, 0), signatures, strict=True)
    )
    assert are_chunks_signed(body, CLAIM, key)
    assert not are_chunks_signed(body.replace(b"aaa\r\n400", b"aab\r\n400"), CLAIM, key)


def test_very_many_chunks_give_way() -> None:
    body = b"1;chunk-signature=aa\r\na\r\n" * 5_000 + b"0\r\n"
    assert 0 < lines_between_looks(lambda: join_chunks(body)) <= 2_000


def test_very_many_signatures_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [(b"a", b"")] * 5_000
    monkeypatch.setattr(chunked_payload, "split_chunks", lambda _body: iter(chunks))  # gives way by itself
    monkeypatch.setattr(hmac, "compare_digest", lambda _one, _other: True)
    assert 0 < lines_between_looks(lambda: are_chunks_signed(b"", CLAIM, b"key")) <= 2_000


def test_chunks_are_taken_one_at_a_time() -> None:
    """Chunks are generated lazily: a body may have 65,536 of them."""
    first = next(iter(split_chunks(b"1;chunk-signature=aa\r\nb\r\nno chunk")))
    assert first == (b"b", b"aa")


def test_no_body_has_more_chunks_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"1\r\na\r\n" * 3 + b"0\r\n"
    monkeypatch.setattr(chunked_payload, "CHUNKS_MAX", 4)
    assert join_chunks(body) == b"aaa"
    monkeypatch.setattr(chunked_payload, "CHUNKS_MAX", 3)
    with pytest.raises(ChunksError):
        join_chunks(body)
