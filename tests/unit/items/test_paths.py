"""Document paths: reading the value at a path."""

import pytest

from hashrange.items.paths import Path, resolve_path
from hashrange.items.types import Item, Value

ITEM: Item = {
    "a": {"S": "x"},
    "list": {"L": [{"N": "1"}, {"M": {"deep": {"L": [{"S": "y"}]}}}]},
    "map": {"M": {"a.b": {"N": "2"}, "0": {"N": "3"}, "null": {"NULL": True}}},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("a",), {"S": "x"}),
        (("list", 0), {"N": "1"}),
        (("list", 1, "deep", 0), {"S": "y"}),
        (("map", "a.b"), {"N": "2"}),
        (("map", "null"), {"NULL": True}),
        (("missing",), None),
        (("missing", "a", 0), None),
        (("a", "b"), None),
        (("a", 0), None),
        (("list", 2), None),
        (("list", 2**40), None),
        (("list", "0"), None),
        (("map", 0), None),
        (("map", "null", "a"), None),
    ],
)
def test_resolve(path: Path, value: Value | None) -> None:
    assert resolve_path(ITEM, path) == value
