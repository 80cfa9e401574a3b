"""A line's form follows from the partition key alone, and plain JSON becomes the attribute values
that it says, digit by digit.
"""

import json

import pytest

from hashrange.init.contents import UnusableInput, item_json


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
