"""Items as plain JSON: nothing is lost on the way there and back."""

import random
from decimal import Decimal
from typing import Any

import pytest

from hashrange.toolkit.plain_items import PlainValueWrong, plain_value, typed_value


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ({"S": "a"}, "a"),
        ({"N": "5"}, 5),
        ({"N": "-0.25"}, -0.25),
        ({"N": "9007199254740993"}, {"$number": "9007199254740993"}),
        ({"N": "0.1234567890123456789"}, {"$number": "0.1234567890123456789"}),
        ({"N": "1E+125"}, {"$number": "1E+125"}),
        ({"BOOL": False}, False),
        ({"NULL": True}, None),
        ({"B": "AQI="}, {"$binary": "AQI="}),
        ({"SS": ["a", "b"]}, {"$set": ["a", "b"]}),
        ({"NS": ["1", "2.5"]}, {"$set": [1, 2.5]}),
        ({"BS": ["AQ=="]}, {"$set": [{"$binary": "AQ=="}]}),
        ({"L": [{"S": "a"}, {"L": []}]}, ["a", []]),
        ({"M": {"a": {"M": {}}}}, {"a": {}}),
        ({"M": {"$set": {"L": [{"N": "1"}]}}}, {"$map": {"$set": [1]}}),
        ({"M": {"$set": {"N": "1"}, "b": {"N": "2"}}}, {"$set": 1, "b": 2}),
    ],
)
def test_there_and_back(typed: dict[str, Any], plain: Any) -> None:
    assert plain_value(typed) == plain
    assert typed_value(plain) == typed


@pytest.mark.parametrize("seed", range(20))
def test_random_values_there_and_back(seed: int) -> None:
    chance = random.Random(seed)

    def value(depth: int) -> dict[str, Any]:
        kind = chance.choice(["S", "N", "B", "BOOL", "NULL", "SS", "NS", *(["L", "M"] * 2 if depth else [])])
        numbers = [str(chance.randrange(10 ** chance.randrange(1, 30))), f"{chance.randrange(1, 10**6)}.5"]
        if kind == "L":
            return {kind: [value(depth - 1) for _ in range(chance.randrange(3))]}
        if kind == "M":
            names = chance.sample(["a", "$set", "$map", "$x"], chance.randrange(3))
            return {kind: {name: value(depth - 1) for name in names}}
        texts = ["", "a", "$set", "é"]
        content = {"S": chance.choice(texts), "N": chance.choice(numbers), "B": "AQI=", "BOOL": chance.random() < 0.5}
        content |= {"NULL": True, "SS": ["a", "b"], "NS": numbers}
        return {kind: content[kind]}

    for _ in range(100):
        typed = value(4)
        assert same(typed_value(plain_value(typed))) == same(typed)


def same(typed: dict[str, Any]) -> Any:
    """The value with its numbers as numbers, because one has several texts."""
    ((kind, content),) = typed.items()
    if kind == "N":
        return Decimal(content)
    if kind == "NS":
        return [Decimal(one) for one in content]
    if kind == "L":
        return [same(one) for one in content]
    return {name: same(one) for name, one in content.items()} if kind == "M" else (kind, content)


@pytest.mark.parametrize(
    "plain",
    [
        {"$set": []},
        {"$set": [1, "a"]},
        {"$set": [[1]]},
        {"$number": "x"},
        {"$number": 1},
        {"$x": 1},
        {"$binary": 1},
        float("nan"),
    ],
)
def test_values_that_are_none(plain: Any) -> None:
    with pytest.raises(PlainValueWrong):
        typed_value(plain)
