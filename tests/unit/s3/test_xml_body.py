"""Documents in XML are read a little at a time, and what would keep the parser long is refused unread."""

from collections.abc import Callable
from typing import Any
from xml.parsers import expat

import pytest

from hashrange.s3.api.xml_body import PIECE_BYTES, read_elements
from hashrange.s3.limits import PART_NUMBER_MAX, XML_BYTES_MAX
from hashrange.s3.objects import S3Failure

ROOT = b"<CompleteMultipartUpload%s>%s</CompleteMultipartUpload>"
PART = {"PartNumber": "7", "ETag": '"abc"'}
PARTS = {
    "plain": b'<Part><PartNumber>7</PartNumber><ETag>"abc"</ETag></Part>',
    "escaped": b"<Part><ETag>&quot;abc&#34;</ETag><PartNumber>7</PartNumber></Part>",
    "prefixed": b'<s3:Part xmlns:s3="urn:s3"><s3:ETag>"abc"</s3:ETag><s3:PartNumber>7</s3:PartNumber></s3:Part>',
    "with all else": (
        b'<?a b?><Part a="b"><!-- c --><ETag><![CDATA["abc"]]></ETag>\r\n<PartNumber> 7\n</PartNumber></Part>'
    ),
    "among others": (
        b'<Other><Part><ETag>x</ETag></Part></Other><Part><PartNumber>7</PartNumber><ETag>"abc"</ETag></Part>'
    ),
}


def read(body: bytes) -> Any:
    return read_elements(body, "CompleteMultipartUpload", "Part", PART_NUMBER_MAX)


@pytest.mark.parametrize("part", PARTS)
def test_a_document_is_the_same_wherever_the_pieces_end(part: str) -> None:
    begin = b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>'
    for blanks in range(0, PIECE_BYTES + 100, 13):
        body = begin + b"\n" * blanks + ROOT % (b' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"', PARTS[part])
        assert read(body) == [PART]


def test_another_encoding_is_read_as_it_is_declared() -> None:
    assert read((ROOT % (b"", PARTS["plain"])).decode().encode("utf-16")) == [PART]
    latin = b'<?xml version="1.0" encoding="iso-8859-1"?>' + ROOT % (b"", b"<Part><ETag>\xe9</ETag></Part>")
    assert read(latin) == [{"ETag": "é"}]


def test_text_and_comments_in_between_may_be_long() -> None:
    long = b"<Note>" + b"x" * 5_000 + b" " * 5_000 + b"</Note>" + b"<!-- short -->" * 500 + b"\n" * 5_000
    assert read(b" " * 5_000 + ROOT % (b"", long + PARTS["plain"] + long) + b"\n" * 5_000) == [PART]


def test_as_many_parts_as_there_may_be_fit_with_their_checksums() -> None:
    part = (
        b"\n  <Part>\n    <ChecksumSHA512>%s==</ChecksumSHA512>\n    <ETag>&quot;%s&quot;</ETag>"
        b"\n    <PartNumber>10000</PartNumber>\n  </Part>" % (b"x" * 86, b"0" * 32)
    )
    assert len(read(ROOT % (b"", part * PART_NUMBER_MAX))) == PART_NUMBER_MAX


class NotedParser:
    """A parser that counts what it gets, and how much of it at most at a time."""

    all_bytes = most_bytes = 0

    def __init__(self, **named: Any) -> None:
        self.__dict__["parser"] = _create(**named)

    def __setattr__(self, name: str, handler: object) -> None:
        setattr(self.__dict__["parser"], name, handler)

    def Parse(self, data: bytes, is_final: bool) -> None:
        """Pass data on."""
        NotedParser.all_bytes += len(data)
        NotedParser.most_bytes = max(NotedParser.most_bytes, len(data))
        self.__dict__["parser"].Parse(data, is_final)


_create = expat.ParserCreate


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> type[NotedParser]:
    """Counts what parsers get."""
    monkeypatch.setattr(expat, "ParserCreate", NotedParser)
    monkeypatch.setattr(NotedParser, "all_bytes", 0)
    monkeypatch.setattr(NotedParser, "most_bytes", 0)
    return NotedParser


def named(name: str, count: int = 100_000) -> bytes:
    """Many pieces of text that differ in a number."""
    return b"".join(name.encode() % number for number in range(count))


HOSTILE: dict[str, Callable[[], bytes]] = {
    "attributes": lambda: ROOT % (b"", b"<Part" + named(' a%d=""') + b"/>"),
    "attributes of the root": lambda: ROOT % (named(' a%d=">"'), b""),
    "a long name": lambda: ROOT % (b"", b"<" + b"a" * 100_000 + b"/>"),
    "a long value": lambda: ROOT % (b"", b'<Part a="' + b">" * 100_000 + b'"/>'),
    "a tag without an end": lambda: b"<" + b"a" * 100_000,
    "a long comment": lambda: ROOT % (b"", b"<!--" + b">" * 100_000 + b"-->"),
    "a long instruction": lambda: ROOT % (b"", b"<?a " + b">" * 100_000 + b"?>"),
    "a long document type": lambda: b"<!DOCTYPE a SYSTEM '" + b">" * 100_000 + b"'>",
    "many names": lambda: ROOT % (b"", named("<a%d/>")),
    "many names of attributes": lambda: ROOT % (b"", named('<a b%d=""/>')),
    "many namespaces": lambda: ROOT % (b"", named('<a xmlns:b%d="c"/>')),
    "many names of namespaces": lambda: ROOT % (b"", named('<a xmlns="c%d"/>')),
    "a long member": lambda: ROOT % (b"", b"<Part><ETag>" + b"x" * 100_000 + b"</ETag></Part>"),
    "another encoding": lambda: (ROOT % (b"", b"<Part" + named(' a%d=""') + b"/>")).decode().encode("utf-16"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_the_parser_would_not_give_way_for_is_refused_unread(what: str, parser: type[NotedParser]) -> None:
    """115,000 attributes, 0.9 MB, were one call of 50 to 600 ms, 16 MB of 8 s; no other thread ran meanwhile."""
    with pytest.raises(S3Failure) as caught:
        read(HOSTILE[what]())
    assert caught.value.code == "MalformedXML"
    assert (parser.most_bytes, parser.all_bytes <= 4 * PIECE_BYTES) == (min(parser.all_bytes, PIECE_BYTES), True)


def test_more_elements_than_there_may_be_are_refused() -> None:
    with pytest.raises(S3Failure, match="not well-formed"):
        read(ROOT % (b"", b"<Part/>" * (PART_NUMBER_MAX + 1)))


def test_a_document_that_is_too_long_is_refused_unread(parser: type[NotedParser]) -> None:
    with pytest.raises(S3Failure) as caught:
        read(ROOT % (b"", b" " * XML_BYTES_MAX))
    assert (caught.value.code, caught.value.http_status) == ("MaxMessageLengthExceeded", 400)
    assert parser.all_bytes == 0
