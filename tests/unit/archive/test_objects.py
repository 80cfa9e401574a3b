"""Objects of archived items: each item has a key of its own that stays in its place, whatever its values are."""

import hashlib
import json
import random
from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from hashrange.archive.objects import (
    CONTENT_BYTES_MAX,
    PREFIX_BYTES_MAX,
    SEGMENT_BYTES_MAX,
    ObjectDamaged,
    Version,
    encode_archived,
    key_segment,
    moment_of_record,
    named_table,
    object_key,
    prefix_fault,
    read_archived,
    segment_prefix,
    version_of_metadata,
)
from tests.support.seeds import seeds
from tests.unit.s3.test_key_paths import HOSTILE

STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/2026-11-30T07:46:11.730"
VERSION = Version(STREAM, 17960283710000000000001, "2026-11-30T08:46:11Z", "S,N")
LONGEST = 2048
ALPHABET = [
    "a",
    "B",
    "7",
    "/",
    ".",
    "..",
    "%",
    "%2F",
    "=",
    "binary=",
    "empty=",
    " ",
    "\0",
    "\x1b",
    "é",
    "😀",
    "~",
    "-",
    "\\",
]


def text(rng: random.Random) -> str:
    """A string that is likely to be taken for another."""
    return "".join(rng.choices(ALPHABET, k=rng.choice([0, 1, 2, 3, 40, 700])))


def a_value(rng: random.Random) -> dict[str, str]:
    """A string, a number, or bytes."""
    match rng.randrange(4):
        case 0:
            return {"N": str(rng.randrange(-(10**37), 10**37))}
        case 1:
            return {"B": b64encode(text(rng).encode()).decode()}
        case _:
            return {"S": text(rng)}


def decoded(segment: str) -> tuple[str, bytes, str]:
    """What a segment says: the kind of value, and its content or, of a long one, how that begins and its digest."""
    kind = "binary" if segment.startswith("binary=") else "text"
    rest = segment.removeprefix("binary=") if kind == "binary" else segment
    beginning, _, digest = ("", "", "") if rest == "empty=" else rest.partition("=")
    return kind, unquote_to_bytes(beginning), digest


def told(value: dict[str, str]) -> tuple[str, bytes]:
    """The kind and content of a value, as `decoded` tells them."""
    ((kind, content),) = value.items()
    return ("binary", b64decode(content)) if kind == "B" else ("text", content.encode())


@pytest.mark.parametrize("seed", seeds(80, 20_000))
def test_a_segment_tells_its_value(seed: int) -> None:
    value = a_value(random.Random(seed))
    kind, content = told(value)
    segment = key_segment(value)
    found_kind, beginning, digest = decoded(segment)
    assert found_kind == kind
    assert len(segment) <= SEGMENT_BYTES_MAX
    if digest:
        assert digest == hashlib.sha256(content).hexdigest()
        assert content.startswith(beginning)
    else:
        assert content == beginning


@pytest.mark.parametrize("hostile", [*HOSTILE, "", "x" * LONGEST, "\U0001f600" * (LONGEST // 4), "\0" * LONGEST])
def test_a_key_stays_in_its_place(hostile: str) -> None:
    prefix = "p" * (PREFIX_BYTES_MAX - 1) + "/"
    for values in ([{"S": hostile}], [{"S": hostile}, {"B": b64encode(hostile.encode()).decode()}]):
        key = object_key(prefix, hostile, values)
        segments = key.removeprefix(prefix).removesuffix(".json").split("/")
        assert key.startswith(prefix)
        assert key.endswith(".json")
        assert key.isascii()
        assert key.isprintable()
        assert len(key) <= 1024
        assert len(segments) == 1 + len(values)
        assert not {"", ".", ".."} & set(segments)


@pytest.mark.parametrize("seed", seeds(30, 5_000))
def test_values_that_begin_alike_have_segments_that_do(seed: int) -> None:
    rng = random.Random(seed)
    beginning = text(rng)
    assert key_segment({"S": beginning + "x" + text(rng)}).startswith(segment_prefix(beginning))


def test_ordinary_keys_can_be_read() -> None:
    key = object_key("archive/", "Order", [{"S": "USER#42"}, {"N": "-1.5"}])
    assert key == "archive/Order/USER%2342/-1.5.json"
    assert object_key("archive/", "Order", [{"B": "AAFh"}]) == "archive/Order/binary=%00%01a.json"


@pytest.mark.parametrize("prefix", ["", "/", "a", "/a/", "a//b/", "../", "a/./b/", "é/", "a\n/", "x" * 200 + "/"])
def test_a_prefix_leads_nowhere_else(prefix: str) -> None:
    assert prefix_fault(prefix)
    assert not prefix_fault("archive/2026/.hidden/")


def test_metadata_tell_the_version() -> None:
    assert version_of_metadata(VERSION.metadata()) == VERSION
    assert VERSION.table == "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
    assert named_table(STREAM) == named_table(VERSION.table) == "orders"
    for name in VERSION.metadata():
        broken = VERSION.metadata()
        del broken[name]
        assert version_of_metadata(broken) is None
    assert version_of_metadata(VERSION.metadata() | {"sequence-number": "-1"}) is None
    assert version_of_metadata(VERSION.metadata() | {"deleted-at": "now"}) is None


def test_deletions_are_in_order() -> None:
    next_one = VERSION._replace(sequence_number=VERSION.sequence_number + 1)
    assert next_one.is_later_than(VERSION)
    assert not VERSION.is_later_than(next_one)
    assert not VERSION.is_later_than(VERSION)
    later_stream = VERSION._replace(stream=STREAM.replace("2026", "2027"), sequence_number=1)
    assert later_stream.is_later_than(VERSION), "in the same second"
    assert not VERSION.is_later_than(later_stream)
    assert VERSION._replace(deleted_at="2028-01-01T00:00:00Z").is_later_than(later_stream)
    assert moment_of_record(1796028371.9) == "2026-11-30T08:46:11Z"


def test_content_is_read_again_and_damage_is_told() -> None:
    item: dict[str, Any] = {"id": {"S": "\u0000é\u2028\U0001f600"}, "n": {"N": "1"}}
    content = encode_archived(VERSION, "Order", item, is_expired=True)
    found = read_archived(content)
    assert (found.table, found.item_type, found.deleted_at, found.item) == ("orders", "Order", VERSION.deleted_at, item)
    assert json.loads(content)["deleted_by"] == "time to live"
    for length in range(len(content) - 1):
        with pytest.raises(ObjectDamaged):
            read_archived(content[:length])
    largest = {"id": {"S": "\0" * 400 * 1024}}
    assert len(encode_archived(VERSION, "Order", largest, is_expired=True)) < CONTENT_BYTES_MAX


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no whole JSON"),
        (b"\xff", "no whole JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", 'no "format": 1'),
        (b'{"format": 2}', 'no "format": 1'),
        (b'{"format": 1, "table": 1}', '"table" is no text'),
        (b'{"format": 1, "table": "t", "type": "u", "deleted_at": "", "item": []}', '"item" is no object'),
    ],
)
def test_what_is_no_archived_item(content: bytes, why: str) -> None:
    with pytest.raises(ObjectDamaged, match=why):
        read_archived(content)
