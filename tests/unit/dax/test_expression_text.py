"""A binary expression becomes the text of the same expression: parsed, it has the tree that the client sent."""

import random
from typing import Any

import cbor2
import pytest

from hashrange.dax.expression_text import condition_text, projected_paths, projection_text, update_text
from hashrange.errors import RequestFault
from hashrange.expressions.condition import compile_condition
from hashrange.expressions.parser import CONDITION_KEYWORDS, ExpressionParser
from hashrange.expressions.projection import compile_projection
from hashrange.expressions.tree import (
    And,
    Between,
    Comparison,
    DocumentPath,
    FunctionCall,
    Membership,
    Not,
    Or,
    ValueToken,
)
from hashrange.expressions.update import compile_update
from hashrange.wire.dax.reading import BadBytes
from tests.support.dax_client import expression, path, value

COMPARISONS = {"=": 0, "<>": 1, "<": 2, ">=": 3, ">": 4, "<=": 5}
FUNCTIONS = {
    "attribute_exists": 11,
    "attribute_not_exists": 12,
    "attribute_type": 13,
    "begins_with": 14,
    "contains": 15,
    "size": 16,
}
NAMES = ["a", "b", "status", "ü x", "#", "a.b", "size"]


class Drawn:
    """A random condition, as a client's tree and as the tree that its text must have."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.values = 0

    def operand(self, *, may_be_size: bool = True) -> tuple[Any, Any]:
        kind = self.chance.randrange(3 if may_be_size else 2)
        if kind == 0:
            elements: list[Any] = [
                self.chance.choice(NAMES),
                *self.chance.choices([*NAMES, 0, 17], k=self.chance.randrange(3)),
            ]
            return path(*elements), DocumentPath(tuple(elements))
        if kind == 1:
            self.values += 1
            return value(self.values - 1), self.values - 1
        sent, expected = self.operand(may_be_size=False)
        return [16, sent], FunctionCall("size", (expected,))

    def condition(self, depth: int) -> tuple[Any, Any]:
        kind = self.chance.randrange(7) if depth else self.chance.randrange(4)
        if kind == 0:
            operator = self.chance.choice(list(COMPARISONS))
            (left, left_tree), (right, right_tree) = self.operand(), self.operand()
            return [COMPARISONS[operator], left, right], Comparison(operator, left_tree, right_tree)
        if kind == 1:
            operands = [self.operand() for _ in range(3)]
            return [9, *[one[0] for one in operands]], Between(*[one[1] for one in operands])
        if kind == 2:
            first, *options = [self.operand() for _ in range(1 + self.chance.randrange(1, 5))]
            return [10, first[0], [one[0] for one in options]], Membership(first[1], tuple(one[1] for one in options))
        if kind == 3:
            name = self.chance.choice([one for one in FUNCTIONS if one != "size"])
            operands = [self.operand() for _ in range(1 if name.endswith("exists") else 2)]
            return [FUNCTIONS[name], *[one[0] for one in operands]], FunctionCall(
                name, tuple(one[1] for one in operands)
            )
        if kind == 4:
            sent, expected = self.condition(depth - 1)
            return [8, sent], Not(expected)
        parts = [self.condition(depth - 1) for _ in range(2)]
        join: Any = And if kind == 5 else Or
        return [6 if kind == 5 else 7, *[one[0] for one in parts]], flat(join, [one[1] for one in parts])


def flat(join: Any, parts: list[Any]) -> Any:
    """Conditions that are joined in the same way are one list for the parser."""
    found: list[Any] = []
    for part in parts:
        found += part.conditions if isinstance(part, join) else [part]
    return join(tuple(found))


def plain(node: Any) -> Any:
    """A parsed tree whose tokens are the places of their values."""
    if isinstance(node, ValueToken):
        return int(node.token[2:] or "0", 36)
    if isinstance(node, tuple):
        parts = [plain(part) for part in node]
        return type(node)(*parts) if hasattr(node, "_fields") else tuple(parts)
    return node


@pytest.mark.parametrize("seed", range(150))
def test_a_random_condition_has_the_same_tree(seed: int) -> None:
    drawn = Drawn(seed)
    sent, expected = drawn.condition(4)
    found = condition_text(expression(sent, *range(drawn.values)), "c")
    parser = ExpressionParser("FilterExpression", found.text, found.names, found.values, CONDITION_KEYWORDS)
    assert plain(parser.read_condition()) == expected
    assert list(found.values.values()) == [{"N": str(number)} for number in range(drawn.values)]


def test_a_condition_works_as_its_text() -> None:
    sent = [6, [0, path("m", "x", 1), value(0)], [7, [11, path("status")], [8, [14, path("a"), value(1)]]]]
    found = condition_text(expression(sent, 5, "pre"), "f")
    assert found.text == "#f.#f1[1]=:f AND (attribute_exists(#f2) OR NOT begins_with(#f3,:f1))"
    test = compile_condition("FilterExpression", found.text, found.names, found.values).test
    item: dict[str, Any] = {"m": {"M": {"x": {"L": [{"NULL": True}, {"N": "5"}]}}}, "a": {"S": "other"}}
    assert test(item, found.values)
    assert not test({**item, "a": {"S": "prefix"}}, found.values)


def test_an_update_works_as_its_text() -> None:
    sent = [
        [19, path("a"), [25, [23, path("a"), value(0)], value(1)]],
        [22, path("b", 3)],
        [20, path("n"), value(1)],
        [19, path("l"), [24, path("l"), value(2)]],
        [21, path("s"), value(3)],
        [19, path("c"), [26, value(1), path("n")]],
    ]
    found = update_text(expression(sent, 0, 1, [2], cbor2.CBORTag(3321, ["x"])), "u")
    assert found.text == (
        "SET #u=if_not_exists(#u,:u)+:u1,#u3=list_append(#u3,:u2),#u5=:u1-#u2 REMOVE #u1[3] ADD #u2 :u1 DELETE #u4 :u3"
    )
    compile_update(found.text, found.names, found.values)


def test_expressions_of_many_names_and_values() -> None:
    sent = [6, *[[0, path(f"n{place}"), value(place)] for place in range(100)]]
    found = condition_text(expression(sent, *range(100)), "c")
    assert len(found.names) == len(found.values) == 100
    compile_condition("ConditionExpression", found.text, found.names, found.values)


def test_three_hundred_operators_on_top_of_each_other() -> None:
    sent: Any = [0, path("a"), value(0)]
    for _ in range(150):
        sent = [8, [6, sent, [0, path("b"), value(0)]]]
    found = condition_text(expression(sent, 1), "c")
    with pytest.raises(RequestFault, match="too many operators"):
        compile_condition("ConditionExpression", found.text, found.names, found.values)


def test_projections() -> None:
    paths = projected_paths(expression([path("a", "b", 2), path("status")]))
    assert paths == [("a", "b", 2), ("status",)]
    found = projection_text(paths, "p")
    assert found.text == "#p.#p1[2],#p2"
    project = compile_projection(found.text, found.names).project
    assert project({"status": {"S": "x"}, "z": {"N": "1"}}) == {"status": {"S": "x"}}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x80",
        b"\x01",
        cbor2.dumps([2, [0, path("a"), value(0)], [1]]),
        cbor2.dumps([1, 5, []]),
        cbor2.dumps([1, [], []]),
        cbor2.dumps([1, [99, path("a")], []]),
        cbor2.dumps([1, [0, path("a")], []]),
        cbor2.dumps([1, [0, path(), value(0)], [1]]),
        cbor2.dumps([1, [0, path(1), value(0)], [1]]),
        cbor2.dumps([1, [0, path("a", -1), value(0)], [1]]),
        cbor2.dumps([1, [0, [18, b"a"], value(0)], [1]]),
        cbor2.dumps([1, [0, path("a"), [17, -1]], [1]]),
        cbor2.dumps([1, [0, path("a"), [17, "x"]], [1]]),
        cbor2.dumps([1, [10, path("a"), value(0)], [1]]),
        cbor2.dumps([1, [6, [0, path("a"), value(0)]], [1]]),
        cbor2.dumps([1, [8], [1]]),
        cbor2.dumps([1, [0, path("a"), value(0)], 5]),
        cbor2.dumps([1, [0, path("a"), value(0)], [{1: 2}]]),
        cbor2.dumps([1, [0, path("a"), value(0)], [1]]) + b"\x00",
        cbor2.dumps([1, [0, path("a"), value(0)], [1]])[:-1],
    ],
    ids=lambda raw: raw.hex()[:40],
)
def test_what_is_no_condition_is_refused(raw: bytes) -> None:
    with pytest.raises(BadBytes):
        condition_text(raw, "c")


@pytest.mark.parametrize(
    "tree", [5, [[19, path("a")]], [[22, path("a"), value(0)]], [[0, path("a"), value(0)]], [[99]]]
)
def test_what_is_no_update_is_refused(tree: Any) -> None:
    with pytest.raises(BadBytes):
        update_text(expression(tree, 1), "u")


@pytest.mark.parametrize("tree", [5, [5], [[17, 0]], [path()]])
def test_what_is_no_projection_is_refused(tree: Any) -> None:
    with pytest.raises(BadBytes):
        projected_paths(expression(tree))


def test_a_value_that_is_missing_is_undefined() -> None:
    found = condition_text(expression([0, path("a"), value(3)], 1), "c")
    with pytest.raises(RequestFault, match="not defined"):
        compile_condition("ConditionExpression", found.text, found.names, found.values)
