"""A line's form follows from the partition key alone, and plain JSON becomes the attribute values
that it says, digit by digit.
"""

import json
from typing import Any

import pytest

from hashrange.init import contents
from hashrange.init.contents import UnusableInput, item_json, requests_in, scanned_items
from hashrange.items.steps import PIECE_BYTES
from hashrange.operations.registry import OPERATIONS
from tests.support.working import lines_between_looks
from tests.unit.init.folders import USERS

LINES_MAX = 5_000
"""Python lines between two looks."""


@pytest.mark.parametrize(
    ("line", "partition_name", "expected"),
    [
        ('{"Item": {"S": "x"}}', "Item", {"Item": {"S": "x"}}),
        ('{"Item": {"Item": {"S": "x"}}}', "Item", {"Item": {"S": "x"}}),
        ('{"Item": "x"}', "Item", {"Item": {"S": "x"}}),
        (
            '{"Item": {"id": {"S": "x"}}, "id": "y"}',
            "id",
            {"id": {"S": "y"}, "Item": {"M": {"id": {"M": {"S": {"S": "x"}}}}}},
        ),
        ('{"Item": {"id": "x"}}', "id", {"id": {"S": "x"}}),
        ('{"id": "x", "S": {"S": "y"}}', "id", {"id": {"S": "x"}, "S": {"M": {"S": {"S": "y"}}}}),
        ('{"id": {"N": "1"}, "x": {"SS": ["a"]}}', "id", {"id": {"N": "1"}, "x": {"SS": ["a"]}}),
        ('{"id": {"x": 1}}', "id", {"id": {"x": 1}}),
        ('{"id": -0, "x": [1E+3, 0.10]}', "id", {"id": {"N": "-0"}, "x": {"L": [{"N": "1E+3"}, {"N": "0.10"}]}}),
        (
            '{"id": 12345678901234567890123456789012345678, "x": 1.2345678901234567890123456789012345678}',
            "id",
            {
                "id": {"N": "12345678901234567890123456789012345678"},
                "x": {"N": "1.2345678901234567890123456789012345678"},
            },
        ),
        (
            '{"id": "a", "x": [true, false, null, {}, [], ""]}',
            "id",
            {
                "id": {"S": "a"},
                "x": {"L": [{"BOOL": True}, {"BOOL": False}, {"NULL": True}, {"M": {}}, {"L": []}, {"S": ""}]},
            },
        ),
        ('{"id": "\\u00e9\\ud83d\\ude00 1"}', "id", {"id": {"S": "é😀 1"}}),
        ('{"id": "a", "id": "b"}', "id", {"id": {"S": "b"}}),
    ],
)
def test_forms(line: str, partition_name: str, expected: object) -> None:
    assert json.loads(item_json(line.encode(), partition_name)) == expected


def test_half_a_character_is_refused() -> None:
    with pytest.raises(UnusableInput, match=r"it is no JSON\. Each line"):
        item_json(b'{"id": "\\ud800"}', "id")


# --- long lines and files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [[1] * 50_000, ["é"] * 50_000, [[]] * 50_000, {f"k{number}": 1 for number in range(50_000)}, "x" * 100_000],
    ids=["numbers", "texts", "lists", "names", "a text"],
)
def test_a_long_item_is_read_in_pieces(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 100,000 numbers was one step of 80 to 136 ms."""
    sizes: list[int] = []
    decode = contents._decode_plain

    def noted(text: bytes) -> Any:
        sizes.append(len(text))
        return decode(text)

    def wire(plain: Any) -> Any:
        match plain:
            case int():
                return {"N": str(plain)}
            case str():
                return {"S": plain}
            case list():
                return {"L": [wire(one) for one in plain]}
        return {"M": {name: wire(one) for name, one in plain.items()}}

    line = json.dumps({"id": "a", "value": value}, ensure_ascii=False).encode()
    assert json.loads(item_json(line, "id")) == {"id": {"S": "a"}, "value": wire(value)}
    assert lines_between_looks(lambda: item_json(line, "id")) < LINES_MAX
    monkeypatch.setattr(contents, "_decode_plain", noted)
    item_json(line, "id")
    assert max(sizes) <= PIECE_BYTES + 2 or isinstance(value, str)


def test_many_requests_are_read_in_pieces() -> None:
    """800 tables were one step of 60 to 104 ms."""
    tables = [USERS | {"TableName": f"table-{number}"} for number in range(300)]
    body = json.dumps(tables).encode()
    found = requests_in(body, OPERATIONS)
    assert [json.loads(one.body) for one in found] == tables
    assert found[299].place == "request 300: "
    assert lines_between_looks(lambda: requests_in(body, OPERATIONS)) < LINES_MAX


def test_what_a_scan_has_printed_is_read_in_pieces() -> None:
    items = [{"id": {"N": str(number)}} for number in range(20_000)]
    body = json.dumps({"Items": items, "Count": 20_000}).encode()
    found = scanned_items(body)
    assert found is not None
    assert list(map(json.loads, found)) == items
    assert lines_between_looks(lambda: scanned_items(body)) < LINES_MAX
    for other in (b'{"Items": {}}', b'{"Items": 1}', b'{"Items": [1}', b"[]", b"{}"):
        assert scanned_items(other) is None


@pytest.mark.parametrize("text", [b'{"id": "\\x"}', b'{"id": 1, "x": "' + b"x" * PIECE_BYTES + b'\\x"}'])
def test_what_only_the_decoder_of_plain_json_refuses_is_told(text: bytes) -> None:
    with pytest.raises(UnusableInput, match="it is no JSON at line 1, column"):
        item_json(text, "id")
