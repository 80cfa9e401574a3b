"""What lines of each format are read as, and what faults do."""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import pytest
from amazon.ion import simpleion

from hashrange.items.rows import encode_row
from hashrange.items.values import check_item
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.csv_lines import CsvLineReader
from hashrange.transfers.formats.ion_reading import IonLineReader
from hashrange.transfers.formats.ion_text import ion_lines
from hashrange.transfers.formats.json_lines import JsonLineReader, item_lines
from hashrange.transfers.formats.lines import FaultyLine, Lines

EVERY_TYPE: dict[str, Any] = {
    "id": {"S": 'a "quoted" \\ text\n\t\x01 \U0001f600 é'},
    "n": {"N": "-12.5"},
    "whole": {"N": "12345678901234567890123456789012345678"},
    "tiny": {"N": "0.000000000000000000000000000001"},
    "b": {"B": "AP8="},
    "empty": {"S": ""},
    "none": {"B": ""},
    "yes": {"BOOL": True},
    "no": {"BOOL": False},
    "null": {"NULL": True},
    "l": {"L": [{"S": "x"}, {"N": "1"}, {"L": []}, {"M": {}}]},
    "m": {"M": {"true": {"S": "a"}, "$1": {"N": "2"}, "it's": {"S": "c"}, "a\nb": {"NULL": True}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2.5"]},
    "bs": {"BS": ["AA==", "AQ=="]},
    "with space": {"S": "d"},
    "null.x": {"S": "e"},
    "nan": {"S": "f"},
    "$ion_1_0": {"S": "g"},
    "": {"S": "h"},
}
del EVERY_TYPE[""]


def row_of(item: dict[str, Any]) -> Any:
    return encode_row(*check_item(item))


def test_lines_are_split_whatever_the_pieces_are() -> None:
    chance = random.Random(3)
    text = b"\n".join(b"x" * chance.randrange(30) for _ in range(500))
    for _ in range(20):
        lines, place = Lines(), 0
        found: list[bytes] = []
        while place < len(text):
            size = chance.randrange(1, 60)
            found += chain.from_iterable(lines.feed(text[place : place + size]))
            place += size
        found += chain.from_iterable(lines.finish())
        assert found == (text + b"\n").splitlines()


def test_a_line_that_is_too_long_is_not_kept() -> None:
    lines = Lines(100)
    with pytest.raises(DamagedObject, match="more than 100 bytes"):
        for _ in range(3):
            list(lines.feed(b"x" * 40))


# --- DynamoDB JSON --------------------------------------------------------------------------------


def read_json(line: bytes) -> list[Any]:
    return list(JsonLineReader().read(line))


def test_json_that_is_written_is_read() -> None:
    (line,) = item_lines([row_of(EVERY_TYPE)]).splitlines()
    assert read_json(line) == [check_item(EVERY_TYPE)[0]]
    assert item_lines([row_of({"id": {"S": "1"}}), row_of({"id": {"S": "2"}})]) == (
        b'{"Item":{"id":{"S":"1"}}}\n{"Item":{"id":{"S":"2"}}}\n'
    )
    assert item_lines([]) == b""


def test_several_items_on_one_line_are_read() -> None:
    assert read_json(b'{"Item":{"a":{"S":"1"}}} {"Item":{"a":{"S":"2"}}}\r') == [{"a": {"S": "1"}}, {"a": {"S": "2"}}]
    assert read_json('\ufeff{"Item":{}}'.encode()) == [{}]


@pytest.mark.parametrize("line", [b"{}", b"[1]", b'"x"', b'{"Item":[]}', b'{"Item":null}', b"3", b'{"item":{}}'])
def test_json_without_an_item_is_one_faulty_item(line: bytes) -> None:
    assert read_json(line) == [FaultyLine("it has no Item")]


@pytest.mark.parametrize("line", [b"{", b"x", b'{"Item":{}}}', b"\xff", b'{"Item":{"a":', b"[" * 100_000])
def test_no_json_ends_the_object(line: bytes) -> None:
    with pytest.raises(DamagedObject):
        read_json(line)


# --- Ion ------------------------------------------------------------------------------------------


def read_ion(line: str | bytes) -> list[Any]:
    return list(IonLineReader().read(line.encode() if isinstance(line, str) else line))


def test_ion_that_is_written_is_read() -> None:
    (line,) = ion_lines([row_of(EVERY_TYPE)]).splitlines()
    (found,) = read_ion(line)
    assert check_item(found)[0] == check_item(EVERY_TYPE)[0]


def test_ion_has_the_types_of_the_service() -> None:
    item = {"id": {"S": "1"}, "n": {"N": "3"}, "s": {"NS": ["1"]}, "b": {"B": "AP8="}, "l": {"L": [{"NULL": True}]}}
    line = ion_lines([row_of(item)]).decode()
    assert line == '$ion_1_0 {Item:{b:{{AP8=}},id:"1",l:[null],n:3.,s:$dynamodb_NS::[1.]}}\n'
    (value,) = simpleion.loads(line, single_value=False)
    assert value["Item"]["n"].ion_type.name == "DECIMAL"
    assert value["Item"]["s"].ion_annotations[0].text == "$dynamodb_NS"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{Item:{a:12}}", {"a": {"N": "12"}}),
        ("{Item:{a:1.5d3}}", {"a": {"N": "1.5E+3"}}),
        ("{Item:{a:sym}}", {"a": {"S": "sym"}}),
        ("{Item:{a:null.string}}", {"a": {"NULL": True}}),
        ("{'Item':{'a':'''b''' '''c'''}}", {"a": {"S": "bc"}}),
        ('{Item:{a:{{"clob"}}}}', {"a": {"B": "Y2xvYg=="}}),
        ("{Item:{a:other::[1]}}", {"a": {"L": [{"N": "1"}]}}),
    ],
)
def test_ion_of_others(text: str, expected: dict[str, Any]) -> None:
    assert read_ion(text) == [expected]


@pytest.mark.parametrize(
    "text", ["{Item:{a:1e0}}", "{Item:{a:2026-01-01T}}", "{Item:{a:(b)}}", "{Item:{a:$dynamodb_NS::['x']}}"]
)
def test_ion_that_no_attribute_can_have_is_a_faulty_item(text: str) -> None:
    (fault,) = read_ion(text)
    assert isinstance(fault, FaultyLine)
    assert "no attribute can have" in fault.reason


@pytest.mark.parametrize("text", ["{}", "1", "[1]", "{Item:1}"])
def test_ion_without_an_item(text: str) -> None:
    assert read_ion(text) == [FaultyLine("it has no Item")]


@pytest.mark.parametrize("text", [b"{", b"{Item:{", b"\xff", b'"', b"}", b"[" * 100_000])
def test_no_ion_ends_the_object(text: bytes) -> None:
    with pytest.raises(DamagedObject):
        read_ion(text)


# --- CSV ------------------------------------------------------------------------------------------


def read_csv(
    lines: Iterable[str], delimiter: str = ",", header: Sequence[str] | None = None, types: Mapping[str, str] = {}
) -> list[Any]:
    reader = CsvLineReader(delimiter, header, types)
    return [one for line in lines for one in reader.read(line.encode())]


def test_the_first_line_of_csv_is_the_header() -> None:
    assert read_csv(["\ufeffid,n,x\r", "a,1,\r", 'b,2,"say ""hi"", x"\r'], types={"n": "N"}) == [
        {"id": {"S": "a"}, "n": {"N": "1"}},
        {"id": {"S": "b"}, "n": {"N": "2"}, "x": {"S": 'say "hi", x'}},
    ]


@pytest.mark.parametrize("delimiter", [",", ";", ":", "|", "\t", " "])
def test_a_header_may_be_given(delimiter: str) -> None:
    assert read_csv([f"id{delimiter}n"], delimiter, ["a", "b"]) == [{"a": {"S": "id"}, "b": {"S": "n"}}]


def test_faulty_lines_of_csv() -> None:
    found = read_csv(["a,b", "1", "1,2,3", '"1,2', '1,"2"3', "1,2"])
    assert [isinstance(one, FaultyLine) for one in found] == [True, True, True, True, False]
    with pytest.raises(DamagedObject, match="repeats a name"):
        read_csv(["a,a"])


def test_a_cell_may_be_long() -> None:
    text = "x" * 300_000
    assert read_csv(["a,b", f'1,"{text}"']) == [{"a": {"S": "1"}, "b": {"S": text}}]
