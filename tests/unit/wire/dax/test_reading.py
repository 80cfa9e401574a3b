"""CBOR as DAX's clients write it: read like a library reads it, cut off anywhere,
and refused if it is something else.
"""

import random
from decimal import Decimal
from typing import Any

import cbor2
import pytest

from hashrange.items.numbers import normalize_number
from hashrange.wire.dax.attribute_values import attribute_value_of, write_attribute_value
from hashrange.wire.dax.reading import (
    NUMBERED_KEYS_MAX,
    BadBytes,
    CborNumber,
    CborReader,
    CutOff,
    Tagged,
    TooManyValues,
)
from hashrange.wire.dax.writing import as_cbor, write_bytes, write_integer, write_number, write_text


def read(data: bytes) -> Any:
    return CborReader(data).value()


def random_value(chance: random.Random, depth: int = 0) -> Any:
    """A value that DAX's clients may send."""
    kind = chance.randrange(9 if depth < 4 else 7)
    if kind == 0:
        return chance.choice([0, 23, 24, 255, 256, 65_535, 65_536, 2**32, 2**64 - 1, -1, -25, -(2**64)])
    if kind == 1:
        return chance.randbytes(chance.choice([0, 1, 23, 24, 300, 70_000]))
    if kind == 2:
        return "ä" * chance.choice([0, 1, 11, 12, 200])
    if kind == 3:
        return chance.choice([True, False, None])
    if kind == 4:
        return chance.choice([1.5, -0.25, 1e300])
    if kind == 5:
        return Decimal(chance.randrange(-(10**37), 10**37)).scaleb(chance.randrange(-50, -1))
    if kind == 6:
        return cbor2.CBORTag(3321, ["a", "b"])
    if kind == 7:
        return [random_value(chance, depth + 1) for _ in range(chance.choice([0, 1, 5, 30]))]
    return {chance.choice(["a", "b", 3, -7, "ü"]): random_value(chance, depth + 1) for _ in range(4)}


def same(found: Any, sent: Any) -> bool:
    if isinstance(sent, Decimal):
        return isinstance(found, CborNumber) and Decimal(found.mantissa).scaleb(found.exponent) == sent
    if isinstance(sent, cbor2.CBORTag):
        return bool(found == Tagged(sent.tag, sent.value))
    if isinstance(sent, int) and abs(sent) >= 2**64 and found.__class__ is CborNumber:
        return bool(found == CborNumber(sent, 0))
    if isinstance(sent, list):
        return len(found) == len(sent) and all(map(same, found, sent))
    if isinstance(sent, dict):
        return list(found) == list(sent) and all(map(same, found.values(), sent.values()))
    return bool(found == sent) and found.__class__ is sent.__class__


@pytest.mark.parametrize("seed", range(20))
def test_values_are_read_as_a_library_writes_them(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        sent = random_value(chance)
        data = cbor2.dumps(sent)
        reader = CborReader(data + b"\x00")
        assert same(reader.value(), sent)
        assert reader.at == len(data)
        for end in {0, len(data) - 1, chance.randrange(len(data))}:
            with pytest.raises(CutOff):
                read(data[:end])


def test_forms_of_indefinite_length() -> None:
    assert read(b"\xbf\x03\x00\x61a\x9f\x01\xff\xff") == {3: 0, "a": [1]}
    assert read(b"\x5f\x41a\x42bc\xff") == b"abc"
    assert read(b"\x7f\x61a\x61b\xff") == "ab"
    assert read(b"\xbf\x04\x41x\x04\x41y\xff") == {4: b"y"}, "the last of repeated keys counts"


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"\x1c",
        b"\x3f",
        b"\xf8\x20",
        b"\xe0",
        b"\x61\xff",
        b"\xa1\xf5\x01",
        b"\xc2\x01",
        b"\xc4\x01",
        b"\xc4\x83\x01\x02\x03",
        b"\xc4\x82\x61a\x02",
        b"\xc4\x82\x01\x40",
        b"\xc5\x82\x01\x02",
        b"\xd9\x0c\xf9\x01",
        b"\xd9\x0c\xfc\x61a",
        b"\xd8\x1c\x80",
        b"\x5f\x61a\xff",
        b"\x7f\x7f\xff\xff",
        b"\xc2\x59\x04\x01" + bytes(1025),
        b"\x81" * 2_000 + b"\x01",
    ],
    ids=lambda data: data[:6].hex(),
)
def test_what_no_client_sends_is_refused(data: bytes) -> None:
    with pytest.raises((BadBytes, RecursionError)):
        read(data)


def test_long_lengths_take_no_memory() -> None:
    for head in (b"\x9b", b"\x5b", b"\x7b"):
        with pytest.raises(CutOff):
            read(head + b"\xff" * 8 + b"\x00")
    with pytest.raises(TooManyValues):
        read(b"\xbb" + b"\xff" * 8 + b"\x00\x00")


def map_bytes(keys: list[Any], *, is_indefinite: bool) -> bytes:
    """A map of these keys, which may repeat."""
    members = b"".join([cbor2.dumps(key) + b"\xf6" for key in keys])
    return b"\xbf" + members + b"\xff" if is_indefinite else b"\xb9" + len(keys).to_bytes(2, "big") + members


@pytest.mark.parametrize("is_indefinite", [False, True])
@pytest.mark.parametrize("step", [1, -1, 1 << 40], ids=["ids", "negative", "large"])
def test_a_map_has_few_numbers_as_keys(is_indefinite: bool, step: int) -> None:
    """Who knows how Python hashes numbers could choose such as fall on the same place: each look would be long."""
    keys = [step * place for place in range(1, NUMBERED_KEYS_MAX + 1)]
    texts = [f"{place}" for place in range(1_000)]
    assert list(read(map_bytes(texts + keys, is_indefinite=is_indefinite))) == texts + keys
    for more in ([*keys, 0], [*keys, "text", 0], keys + keys[:1], [*texts, *keys, 0]):
        data = map_bytes(more, is_indefinite=is_indefinite)
        with pytest.raises(BadBytes, match="too many numbers"):
            read(data)
        with pytest.raises(BadBytes, match="too many numbers"):
            read(b"\x81" + data)


def test_numbers_are_refused_before_what_follows_them() -> None:
    """Of a map that ends nowhere, no more numbers are read than a map may have."""
    data = map_bytes(list(range(NUMBERED_KEYS_MAX + 1)) + [0] * 1_000, is_indefinite=True)[:-1]
    reader = CborReader(data)
    with pytest.raises(BadBytes, match="too many numbers"):
        reader.value()
    assert not reader.is_at_end
    assert reader.at <= len(map_bytes(list(range(NUMBERED_KEYS_MAX + 1)), is_indefinite=True))


def random_attribute_value(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    """A canonical attribute value."""
    kind = chance.randrange(10 if depth < 4 else 8)
    number = normalize_number(f"{chance.randrange(-(10**37), 10**37)}E{chance.randrange(-90, 60)}")
    kinds: list[dict[str, Any]] = [
        {"S": "ä" * chance.randrange(40)},
        {"N": number},
        {"B": "AAEC"},
        {"BOOL": chance.random() < 0.5},
        {"NULL": True},
        {"SS": ["a", "b"]},
        {"NS": ["1", "2.5"]},
        {"BS": ["AA==", "AQ=="]},
        {"L": [random_attribute_value(chance, depth + 1) for _ in range(3)]} if kind == 8 else {"L": []},
        {"M": {name: random_attribute_value(chance, depth + 1) for name in "xy"}} if kind == 9 else {"M": {}},
    ]
    return kinds[kind]


def test_attribute_values_are_read_as_they_were_written() -> None:
    chance = random.Random(1)
    for _ in range(500):
        value = random_attribute_value(chance)
        out = bytearray()
        write_attribute_value(out, value)
        found = attribute_value_of(CborReader(bytes(out)).value())
        assert canonical(found) == value
        cbor2.loads(bytes(out))


def canonical(value: Any) -> Any:
    """A value that was read, with canonical numbers."""
    ((kind, content),) = value.items()
    if kind == "N":
        return {"N": normalize_number(content)}
    if kind == "NS":
        return {"NS": [normalize_number(one) for one in content]}
    if kind == "L":
        return {"L": [canonical(one) for one in content]}
    if kind == "M":
        return {"M": {name: canonical(one) for name, one in content.items()}}
    return value


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("0", 0),
        ("-1", -1),
        ("18446744073709551616", 2**64),
        ("-18446744073709551617", -(2**64) - 1),
        ("1" + "0" * 125, 10**125),
        ("-0.5", Decimal("-0.5")),
        ("12.25", Decimal("12.25")),
        ("0." + "0" * 129 + "1", Decimal("1E-130")),
    ],
)
def test_numbers_are_written_as_a_library_reads_them(text: str, sent: Any) -> None:
    out = bytearray()
    write_number(out, text)
    assert cbor2.loads(bytes(out)) == sent


def test_everything_else_is_written_as_a_library_reads_it() -> None:
    out = bytearray()
    write_integer(out, 70_000)
    out += as_cbor(0.5) + as_cbor(3.0)
    write_bytes(out, bytes(70_000))
    write_text(out, "ä" * 300)
    reader = CborReader(bytes(out))
    assert [reader.value() for _ in range(5)] == [70_000, 0.5, 3.0, bytes(70_000), "ä" * 300]


@pytest.mark.parametrize("value", [{1: 2}, Tagged(3324, 1), [Tagged(3324, 1)]], ids=str)
def test_what_is_no_attribute_value_is_refused(value: Any) -> None:
    with pytest.raises(BadBytes):
        attribute_value_of(value)


@pytest.mark.parametrize(("tag", "members"), [(3321, [1]), (3322, ["1"]), (3323, ["a"]), (3321, [b"a"])])
def test_members_of_sets_have_their_type(tag: int, members: list[Any]) -> None:
    with pytest.raises(BadBytes):
        attribute_value_of(Tagged(tag, members))
