"""contains() and IN over long lists and sets use hash tables: same results, few comparisons,
and no table outlives its evaluation.
"""

import random
from typing import Any

import pytest

from hashrange.expressions.condition import compile_condition
from hashrange.expressions.partiql.statement import compile_statement
from hashrange.expressions.predicates import MEMBERS_MIN, Memberships
from hashrange.expressions.values import contains
from hashrange.items.types import Value

SCALARS: list[Value] = [
    {"S": "1"}, {"N": "1"}, {"B": "MQ=="}, {"S": ""}, {"N": "2"}, {"BOOL": True}, {"BOOL": False}, {"NULL": True},
    {"S": "true"}, {"B": ""},
]  # fmt: skip
NESTED: list[Value] = [{"L": [{"N": "1"}]}, {"M": {"a": {"S": "1"}}}, {"SS": ["1"]}, {"L": []}, {"M": {}}]


def containers(chance: random.Random) -> list[Value]:
    """Long containers of every type, which hold some of the test values, and a few short values."""
    some: list[Value] = chance.sample([*SCALARS, *NESTED], 6)
    filler: list[Value] = [{"N": str(number)} for number in range(100, 100 + MEMBERS_MIN)]
    return [
        {"L": [*filler, *some]},
        {"SS": [f"s{number}" for number in range(MEMBERS_MIN)] + chance.sample(["1", "", "true"], 1)},
        {"NS": [str(number) for number in range(100, 100 + MEMBERS_MIN)] + chance.sample(["1", "2"], 1)},
        {"BS": [f"{number:04}" for number in range(MEMBERS_MIN)] + chance.sample(["MQ==", ""], 1)},
        {"S": "1" * MEMBERS_MIN},
        {"B": "MQ=="},
        {"L": some},
        {"N": "1"},
        {"M": {str(number): {"N": "1"} for number in range(MEMBERS_MIN)}},
    ]


@pytest.mark.parametrize("seed", range(10))
def test_asked_again_it_says_the_same(seed: int) -> None:
    chance = random.Random(seed)
    memberships = Memberships()
    asked = containers(chance)
    for _ in range(4):
        for container in asked:
            for wanted in [*SCALARS, *NESTED]:
                assert memberships.contains(container, wanted) == contains(container, wanted), (container, wanted)
    memberships.forget()
    assert not memberships._kept


class Counted(dict[str, Any]):
    """A list element that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return super().__eq__(other)

    __hash__ = None


def test_many_questions_do_not_go_through_the_list_each_time() -> None:
    Counted.comparisons = 0
    item = {"l": {"L": [Counted(N=str(number)) for number in range(1_000)]}}
    text = " OR ".join(["contains(l, :a)"] * 100)
    condition = compile_condition("ConditionExpression", text, None, {":a": {"N": "-1"}})
    for _ in range(3):
        assert not condition.test(item, {":a": {"N": "-1"}})
    assert Counted.comparisons == 3 * 1_000
    assert condition.test(item, {":a": {"N": "999"}})


def test_questions_that_are_operands_of_a_statement_do_not_either() -> None:
    Counted.comparisons = 0
    item = {"l": {"L": [Counted(N=str(number)) for number in range(1_000)]}}
    where = " OR ".join(["contains(l, -1) = true"] * 70)
    statement = compile_statement(f"SELECT * FROM t WHERE {where}", None)
    assert statement.where is not None
    condition = statement.condition([statement.where])
    assert condition is not None
    for _ in range(3):
        assert not condition.test(item, statement.values(None))
    assert Counted.comparisons == 3 * 1_000


def test_nothing_is_kept_for_the_next_item() -> None:
    text = " OR ".join(["contains(l, :a)"] * 3)
    values: dict[str, Value] = {":a": {"N": "7"}}
    condition = compile_condition("ConditionExpression", text, None, values)
    for member in ("7", "8", "7"):
        elements = [{"N": str(number)} for number in range(100, 200)] + [{"N": member}]
        assert condition.test({"l": {"L": elements}}, values) == (member == "7")
        del elements
