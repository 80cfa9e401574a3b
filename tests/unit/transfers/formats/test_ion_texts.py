"""Which lines of Ion text belong together? Those of one value, whatever stands in its strings and comments."""

import random
from typing import Any

import pytest
from amazon.ion import simpleion

from hashrange.items import steps
from hashrange.transfers.formats import ion_texts
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.ion_texts import IonTexts


def split(text: bytes, *, limit_bytes: int = 1000, piece_bytes: int = 7) -> list[bytes]:
    texts = IonTexts(limit_bytes)
    found: list[bytes] = []
    for place in range(0, len(text), piece_bytes):
        for some in texts.feed(text[place : place + piece_bytes]):
            found += some
    for some in texts.finish():
        found += some
    return found


@pytest.mark.parametrize(
    "value",
    [
        b"{a:1,\nb:2}",
        b"{a:[1,\n\n2],\nb:(x\n/ y)}",
        b'{a:"}",\nb:"\\"}"\n}',
        b"{a:'}',\n'}b':2}",
        b"{a:'}\\'}',\n'}b':2}",
        b"{a:'''}\n}''',\nb:'''\\''' }\n '''}",
        b"{a:1, // }\nb:2 /* }\n} */ }",
        b"{a:{{ //9+ }},\nb:1}",
        b"{a:{{\n//9+\n}},\nb:1}",
        b'{a:{{ "}}" }},\nb:1}',
        b"{a:{{ '''}}\n}}''' '''x''' }},\nb:1}",
        b'{a:"one \\\ntwo"}',
        b'{a:"one \\\r\ntwo"}',
        b"{a:'',\nb:\"\"}",
        b"$ion_1_0 {a:{b:{c:1}\n}}",
        b'"{"',
    ],
)
@pytest.mark.parametrize("steps_bytes", [4, 32 * 1024])
def test_a_value_of_many_lines_is_one_text(value: bytes, steps_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ion_texts, "PIECE_BYTES", steps_bytes)
    before, behind = b"{x:1} {y:2}", b"{z:3}"
    assert split(b"\n".join([before, value, behind])) == [before, value, behind]


@pytest.mark.parametrize("fault", [b'{a:"one', b"{a:'one", b"}}}", b"{]"])
def test_a_string_without_an_end_ends_with_its_line(fault: bytes) -> None:
    assert split(fault + b"\n{b:1}\n") == [fault, b"{b:1}"]


def test_what_has_no_end_is_the_last_text() -> None:
    assert split(b"{a:1}\n{b:\n{c:1}\n") == [b"{a:1}", b"{b:\n{c:1}"]


def test_a_value_has_a_longest_length() -> None:
    texts = IonTexts(10)
    found = texts.feed(b"{a:1}\n[\n1,\n2,\n3,\n4]\n")
    assert next(found) == [b"{a:1}"]
    with pytest.raises(DamagedObject, match="more than 10 bytes"):
        next(found)


def made_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(6 if depth < 3 else 4)
    if kind == 0:
        return "".join(chance.choices("ab{}[]()'\"/*\\\n ", k=chance.randrange(9)))
    if kind == 1:
        return bytes(chance.choices(b"\xff\xf0{}", k=chance.randrange(9)))
    if kind == 2:
        return chance.randrange(1000)
    if kind == 3:
        return simpleion.loads(f"'''{chance.choice(['{', '}', 'a'])}\n'''")
    if kind == 4:
        return [made_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(["a", "{", "}'", "b c"]): made_value(chance, depth + 1) for _ in range(chance.randrange(4))}


@pytest.mark.parametrize("seed", range(30))
def test_texts_are_those_of_values_that_a_writer_indents(seed: int) -> None:
    chance = random.Random(seed)
    values = [{"a": made_value(chance)} for _ in range(5)]
    written = [simpleion.dumps(value, binary=False, indent="  ").removeprefix("$ion_1_0\n") for value in values]
    texts = split("\n".join(written).encode(), limit_bytes=100_000, piece_bytes=chance.randrange(1, 50))
    assert [text.decode() for text in texts] == written


def test_a_long_line_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[int] = []
    monkeypatch.setattr(ion_texts, "spend", spent.append)
    line = b"{a:'''" + b"x" * 5 * steps.PIECE_BYTES + b"'''}"
    assert split(line, limit_bytes=len(line), piece_bytes=len(line)) == [line]
    assert sum(spent) > 5
