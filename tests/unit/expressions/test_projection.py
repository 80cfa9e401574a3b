"""Projection expressions: the parts of an item that they return."""

import pytest

from hashrange.expressions.projection import compile_projection, project_attributes
from hashrange.items.types import Item

ITEM: Item = {
    "pk": {"S": "k"},
    "a.b": {"N": "1"},
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"S": "deep"}, "w": {"NULL": True}}}}},
    "l": {
        "L": [
            {"S": "0"},
            {"M": {"a": {"S": "1a"}, "b": {"S": "1b"}, "c": {"S": "1c"}}},
            {"S": "2"},
            {"L": [{"N": "3"}]},
        ]
    },
}

CASES: list[tuple[str, Item]] = [
    ("pk, nowhere", {"pk": {"S": "k"}}),
    ("nowhere", {}),
    ("m.x", {"m": {"M": {"x": {"N": "1"}}}}),
    ("m.x, m.y.z", {"m": {"M": {"x": {"N": "1"}, "y": {"M": {"z": {"S": "deep"}}}}}}),
    ("m.y.z, pk, m.y.w", {"pk": {"S": "k"}, "m": {"M": {"y": ITEM["m"]["M"]["y"]}}}),
    ("l[2], l[0]", {"l": {"L": [{"S": "0"}, {"S": "2"}]}}),
    ("l[1].a, l[1].c", {"l": {"L": [{"M": {"a": {"S": "1a"}, "c": {"S": "1c"}}}]}}),
    ("l[3][0], l[9], l[1].nix", {"l": {"L": [{"L": [{"N": "3"}]}]}}),
    ("l[9]", {}),
    ("m.gone, m.y.gone", {}),
    ("m[0], l.a, pk.x", {}),
    ("#dot", {"a.b": {"N": "1"}}),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_what_is_left(text: str, expected: Item) -> None:
    names = {"#dot": "a.b"} if "#dot" in text else None
    assert compile_projection(text, names).project(ITEM) == expected


def test_attributes_to_get_are_literal_names() -> None:
    projection = project_attributes(["a.b", "pk", "nowhere"])
    assert projection.project(ITEM) == {"a.b": {"N": "1"}, "pk": {"S": "k"}}
    assert projection.attributes == {"a.b", "pk", "nowhere"}
    assert project_attributes(["a.b", "pk", "nowhere"]) is projection


def test_a_projection_knows_what_it_names() -> None:
    projection = compile_projection("#dot, m.x, l[0]", {"#dot": "a.b"})
    assert projection.attributes == {"a.b", "m", "l"}
    assert projection.nested_attributes == {"m", "l"}
    assert projection.used_names == {"#dot"}


def test_names_are_part_of_what_is_remembered() -> None:
    assert compile_projection("#x", {"#x": "pk"}).project(ITEM) == {"pk": {"S": "k"}}
    assert compile_projection("#x", {"#x": "a.b"}).project(ITEM) == {"a.b": {"N": "1"}}
