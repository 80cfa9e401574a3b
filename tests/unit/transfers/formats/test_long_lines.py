"""A long line is read in pieces, with the same items as in one call; what is longer than any item is refused."""

import csv
import gzip
import json
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from backports import zstd

from hashrange.items.steps import PIECE_BYTES
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.messages.transfers import NOT_AN_ITEM, TOO_MANY_MEMBERS
from hashrange.operations.items.write_item import PutItemRequest
from hashrange.transfers.bulk_lines import record_reader, request_in
from hashrange.transfers.formats import csv_lines, json_lines, json_texts
from hashrange.transfers.formats.compression import DamagedObject, decompressor
from hashrange.transfers.formats.csv_lines import CsvLineReader
from hashrange.transfers.formats.ion_reading import IonLineReader
from hashrange.transfers.formats.json_lines import NO_ITEM, JsonLineReader
from hashrange.transfers.formats.lines import ITEM_TEXT_MAX_BYTES, FaultyLine, LineReader, Lines
from hashrange.wire.piecewise import free, free_request
from tests.support.working import blocks_between_looks, lines_between_looks

BLOCKS_MAX, LINES_MAX = 25_000, 15_000
MANY = 40_000
ONE_STRING = "x" * 400_000


def csv_reader() -> CsvLineReader:
    return CsvLineReader(",", ["id", "b"], {})


def read(reader: LineReader, line: bytes) -> list[Any]:
    """What is read; behind it a DamagedObject, if the line ends so."""
    found: list[Any] = []
    try:
        found.extend(reader.read(line))
    except DamagedObject as damage:
        found.append(damage)
    return found


def read_and_free(reader: LineReader, line: bytes) -> None:
    try:
        for one in reader.read(line):
            if isinstance(one, dict):
                request = one.get("")
                if isinstance(request, PutItemRequest):
                    free_request(request)
                else:
                    free(one)
    except DamagedObject:
        pass


LONG_LINES: dict[str, tuple[Callable[[], LineReader], bytes]] = {
    "nulls": (JsonLineReader, b'{"Item":{"a":{"L":[%b{"NULL":true}]}}}' % (b'{"NULL": true}, ' * MANY)),
    "more values than bytes": (JsonLineReader, b'{"Item":{"a":{"L":[%b[]]}}}' % (b"[]," * 500_000)),
    "no item": (JsonLineReader, b"[%b[]]" % (b"[]," * 500_000)),
    "no Item": (JsonLineReader, b'{"a":[%b[]]}' % (b"[],      " * MANY)),
    "attributes": (
        JsonLineReader,
        b'{"Item":{%b}}' % b",".join(b'"%d":{"S":"a"}' % number for number in range(MANY)),
    ),
    "items": (JsonLineReader, b'{"Item":{"a":{"S":"1"}}} ' * MANY),
    "values": (JsonLineReader, b"{}" * MANY),
    "brackets": (JsonLineReader, b"[" * 10 * MANY),
    "quotation marks": (JsonLineReader, b'["%b"]' % (b'","' * MANY)),
    "records": (
        record_reader("DYNAMODB_JSON"),
        b'{"Item":{"a":{"L":[%b{"NULL":true}]}}}' % (b'{"NULL": true}, ' * MANY),
    ),
    "names of records": (
        record_reader("DYNAMODB_JSON"),
        b'{"Item":{},"ExpressionAttributeNames":{%b}}' % b",".join(b'"#%d":"a"' % number for number in range(MANY)),
    ),
    "delimiters": (csv_reader, b"," * 300_000),
    "quoted cells": (csv_reader, b'"",' * 100_000),
    "a quoted cell": (csv_reader, b'x,"%b"' % (b'""' * 300_000)),
    "a header": (lambda: CsvLineReader(",", None, {}), b",".join(b"%d" % number for number in range(MANY))),
    "cells": (lambda: CsvLineReader(",", [str(number) for number in range(MANY)], {}), b",".join([b"x"] * MANY)),
    "ion": (IonLineReader, b'{Item:{id:"1",a:[%b[]]}}' % (b"[]," * MANY)),
    "ion in no item": (IonLineReader, b"{a:[%b[]]}" % (b"[]," * MANY)),
    "ions": (IonLineReader, b"1 " * MANY),
    "ion fields": (IonLineReader, b"{Item:{%b}}" % b",".join(b"a%d:1" % number for number in range(MANY))),
    "a text of ion": (IonLineReader, b'{Item:{a:"%b"}}' % (b"\\u0041" * 100_000)),
}


@pytest.mark.parametrize("case", LONG_LINES)
def test_a_long_line_gives_way(case: str) -> None:
    new_reader, line = LONG_LINES[case]
    assert len(line) > PIECE_BYTES
    read(new_reader(), line[:100])  # what is loaded at the first time
    readers = [new_reader(), new_reader()]
    assert blocks_between_looks(lambda: read_and_free(readers[0], line)) < BLOCKS_MAX
    assert lines_between_looks(lambda: read_and_free(readers[1], line)) < LINES_MAX


# --- JSON -----------------------------------------------------------------------------------------


def some_value(chance: random.Random, level: int = 0) -> Any:
    kind = chance.randrange(8 if level < 4 else 5)
    if kind == 0:
        return chance.choice([1, -2.5, True, None, 1e5])
    if kind < 4:
        return "".join(chance.choice('a"\\{}[],: é😀\n') for _ in range(chance.randrange(12)))
    if kind == 4:
        return {}
    if kind < 7:
        return [some_value(chance, level + 1) for _ in range(chance.randrange(5))]
    return {str(some_value(chance, 4)): some_value(chance, level + 1) for _ in range(chance.randrange(5))}


def some_line(chance: random.Random) -> bytes:
    values = [
        chance.choice([{"Item": some_value(chance)}, {"Item": {"a": some_value(chance)}}, some_value(chance)])
        for _ in range(chance.randrange(1, 8))
    ]
    texts = [json.dumps(value, ensure_ascii=chance.random() < 0.5) for value in values]
    return chance.choice([" ", "", "  \t"]).join(texts).encode()


def with_short_pieces(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    piece_bytes = chance.choice([16, 40, 100, 300])
    for module in (json_lines, json_texts):
        monkeypatch.setattr(module, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(json_texts, "_SEARCHED_BYTES", chance.choice([3, 8, 17, 50]))
    monkeypatch.setattr(json_texts, "_LEVELS_REMOVED", chance.choice([0, 1, 16]))


@pytest.mark.parametrize("seed", range(300))
def test_lines_have_the_same_values_in_pieces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    line = some_line(chance)
    expected = read(JsonLineReader(), line)
    assert not isinstance(expected[-1], DamagedObject)
    with_short_pieces(chance, monkeypatch)
    assert read(JsonLineReader(), line) == expected


@pytest.mark.parametrize("seed", range(300))
def test_lines_of_noise_end_in_pieces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    line = some_line(chance)
    place = chance.randrange(len(line))
    line = line[:place] + bytes([chance.choice(b'{}[]",\\x0\xff')]) + line[place + chance.randrange(2) :]
    with_short_pieces(chance, monkeypatch)
    for one in read(JsonLineReader(), line):
        assert isinstance(one, dict | FaultyLine | DamagedObject)


LARGE = b'{"Item":{"a":{"S":"%b"}}}' % (b"x" * 2 * PIECE_BYTES)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b'{"Item":{"a":{"S":"%b"}}}' % (b"\\u0041" * (ITEM_TEXT_MAX_BYTES // 6)), ITEM_TOO_LARGE),
        (b'{"Item":{"a":{"L":[%b[]]}}}' % (b"[]," * 500_000), TOO_MANY_MEMBERS),
        (b'{"Item":{"a":{"N":%b}}}' % (b"9" * 2_000_000), NOT_AN_ITEM),
        (b"[%b[]]" % (b"[]," * PIECE_BYTES), NO_ITEM),
        (b'"%b"' % (b"x" * 2 * PIECE_BYTES), NO_ITEM),
        (b'{"a":"%b"}' % (b"x" * 2 * PIECE_BYTES), NO_ITEM),
    ],
)
def test_a_long_value_that_is_no_item_is_one_fault(text: bytes, fault: str) -> None:
    small, large = {"a": {"S": "1"}}, {"a": {"S": "x" * 2 * PIECE_BYTES}}
    assert read(JsonLineReader(), text) == [FaultyLine(fault)]
    line = b'{"Item":{"a":{"S":"1"}}}' + text + LARGE
    assert read(JsonLineReader(), line) == [small, FaultyLine(fault), large]


@pytest.mark.parametrize(
    "text",
    [
        LARGE[:-1],
        LARGE + b"}",
        LARGE + b",",
        LARGE[:-3] + b",}}}",
        LARGE.replace(b"x", b"\xff", 1),
        LARGE + b" \xff",
        b"[" * 2 * PIECE_BYTES,
        b" " * PIECE_BYTES + b"x",
    ],
)
def test_a_long_line_that_is_no_json_ends_the_object(text: bytes) -> None:
    assert isinstance(read(JsonLineReader(), text)[-1], DamagedObject)


def test_an_item_that_is_all_escapes_is_read() -> None:
    line = b'\xef\xbb\xbf {"Item":{"a":{"S":"%b"}}}\r' % (b"\\u0041" * 400_000)
    assert read(JsonLineReader(), line) == [{"a": {"S": "A" * 400_000}}]


def test_long_records_are_read() -> None:
    names = {f"#{number}": "a" for number in range(5_000)}
    item = {"a": {"L": [{"NULL": True}] * 5_000}}
    line = json.dumps({"Item": item, "ConditionExpression": "#1 = #2", "ExpressionAttributeNames": names}).encode()
    (found,) = record_reader("DYNAMODB_JSON")().read(line)
    assert isinstance(found, dict)
    request = request_in(found)
    assert (request.Item, request.ConditionExpression, request.ExpressionAttributeNames) == (item, "#1 = #2", names)


# --- CSV ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(300))
def test_lines_have_the_same_cells_in_pieces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    cells = ["".join(chance.choice('a",; é\t') for _ in range(chance.randrange(5))) for _ in range(6)]
    line = ",".join('"' + cell.replace('"', '""') + '"' if chance.random() < 0.6 else cell for cell in cells).encode()
    header = [str(number) for number in range(chance.choice([5, 6, 7]))]
    expected = read(CsvLineReader(",", header, {}), line)
    monkeypatch.setattr(csv_lines, "PIECE_BYTES", 0)
    monkeypatch.setattr(csv_lines, "_CELLS_TOGETHER", chance.choice([1, 2, 3, 6, 7]))
    assert read(CsvLineReader(",", header, {}), line) == expected


def test_what_is_longer_than_any_line_of_csv() -> None:
    assert read(csv_reader(), b"x," + b"," * 2 * 1024 * 1024) == [FaultyLine(ITEM_TOO_LARGE)]
    header = CsvLineReader(",", None, {})
    (damage,) = read(header, b",".join(b"%d" % number for number in range(100_000)))
    assert "the header has more than 409600 bytes" in str(damage)
    with pytest.raises(DamagedObject, match="no line of CSV"):
        header.read(b'"' + b"x" * 2 * PIECE_BYTES)


def test_a_cell_as_long_as_an_item_is_read() -> None:
    assert csv.field_size_limit() < 400_000
    (found,) = csv_reader().read(b'1,"%b"' % (b'""' * 400_000))
    assert found == {"id": {"S": "1"}, "b": {"S": '"' * 400_000}}


# --- Ion ------------------------------------------------------------------------------------------


def test_ion_has_long_texts() -> None:
    """The package refuses texts of more than 64 KB unless it is told their length."""
    assert read(IonLineReader(), f'{{Item:{{a:"{ONE_STRING}"}}}}'.encode()) == [{"a": {"S": ONE_STRING}}]


@pytest.mark.parametrize(
    "line", [b'{Item:{a:"%b"}}' % (b"x" * ITEM_TEXT_MAX_BYTES), b"{Item:{a:[%b[]]}}" % (b"[]," * 500_000)]
)
def test_what_is_longer_than_any_item_of_ion(line: bytes) -> None:
    assert read(IonLineReader(), line) == [FaultyLine(ITEM_TOO_LARGE)]


@pytest.mark.parametrize(
    "value",
    [
        "$" + "9" * 40,
        "9" * 401,
        "-0x" + "F" * 401,
        "1_" * 200 + "1.5",
        '"\\"" , ' + "9" * 401,
        "'''it's''', " + "9" * 401,
        "'it\\'s', " + "9" * 401,
        "{{ AAAA }}, " + "9" * 401,
        '{{ "}}" }}, ' + "9" * 401,
        '/* " */ ' + "9" * 401 + ' /* " */',
        '//"\r' + "9" * 401 + '//"',
    ],
)
def test_ion_with_long_numbers_is_not_read(value: str) -> None:
    """The package does not return from the first one, and takes minutes for some megabytes of the second one."""
    assert read(IonLineReader(), f"{{Item:{{l:[{value}]}}}}".encode()) == [FaultyLine(NOT_AN_ITEM)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f'"{"9" * 500}"', {"S": "9" * 500}),
        (f'"\\\\\\"${"9" * 500}"', {"S": '\\"$' + "9" * 500}),
        (f"'{'9' * 500}'", {"S": "9" * 500}),
        (f"'''it's {'9' * 500}'''", {"S": "it's " + "9" * 500}),
        (f"{{{{ {'A' * 500} }}}}", {"B": "A" * 500}),
    ],
)
def test_digits_in_texts_of_ion_are_read(value: str, expected: dict[str, Any]) -> None:
    assert read(IonLineReader(), f"{{Item:{{a:{value}}}}}".encode()) == [{"a": expected}]


def test_a_number_whose_decimal_digits_are_too_many_for_python_is_a_faulty_item() -> None:
    (found,) = read(IonLineReader(), b"{Item:{a:0x" + b"F" * 390 + b"}}")
    assert found == {"a": {"N": str(int("F" * 390, 16))}}


# --- objects --------------------------------------------------------------------------------------


def test_a_line_may_come_byte_by_byte() -> None:
    """A list of the pieces took 80 bytes for each."""
    lines = Lines()
    text = b"x" * 100_000
    pieces: Iterable[bytes] = (text[place : place + 1] for place in range(len(text)))
    assert [ended for piece in pieces for ended in lines.feed(piece)] == []
    assert list(lines.finish()) == [[text]]


@pytest.mark.parametrize("kind", ["GZIP", "ZSTD"])
def test_an_object_of_empty_parts_gives_way(kind: Any) -> None:
    content = (gzip.compress(b"") if kind == "GZIP" else zstd.compress(b"")) * 5_000
    assert lines_between_looks(lambda: list(decompressor(kind).feed(content))) < 1_000
