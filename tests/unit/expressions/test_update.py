"""Update expressions: the resulting items, and refusals at run time."""

import copy

import pytest

from hashrange.errors import RequestFault, ValidationException
from hashrange.expressions.update import compile_update
from hashrange.items.types import Item, Value

ITEM: Item = {
    "pk": {"S": "k"},
    "n": {"N": "10"},
    "s": {"S": "text"},
    "ss": {"SS": ["b", "c"]},
    "ns": {"NS": ["2", "10"]},
    "bs": {"BS": ["AQ==", "Ag=="]},
    "l": {"L": [{"S": "p"}, {"S": "q"}, {"S": "r"}]},
    "m": {"M": {"a": {"N": "1"}, "b": {"M": {"c": {"S": "v"}}}, "l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}}},
}
VALUES: dict[str, Value] = {
    ":one": {"N": "1"},
    ":half": {"N": "0.5"},
    ":x": {"S": "x"},
    ":y": {"S": "y"},
    ":z": {"S": "z"},
    ":l": {"L": [{"S": "end"}]},
    ":ss": {"SS": ["a", "c"]},
    ":ns": {"NS": ["3", "20"]},
    ":bs": {"BS": ["AA==", "Ag=="]},
    ":all": {"SS": ["a", "b", "c"]},
}

RESULTS: list[tuple[str, dict[str, Value | None]]] = [
    ("SET a = :x", {"a": {"S": "x"}}),
    ("SET n = n + :one", {"n": {"N": "11"}}),
    ("SET n = :one - n", {"n": {"N": "-9"}}),
    ("SET n = n - (n - :half)", {"n": {"N": "0.5"}}),
    ("SET n = s, s = n", {"n": {"S": "text"}, "s": {"N": "10"}}),
    ("SET n = n + n", {"n": {"N": "20"}}),
    ("SET a = if_not_exists(a, :one) + :one", {"a": {"N": "2"}}),
    ("SET n = if_not_exists(n, :one) + :one", {"n": {"N": "11"}}),
    ("SET n = if_not_exists(n, gone)", {}),
    ("SET l = list_append(l, :l)", {"l": {"L": [*ITEM["l"]["L"], {"S": "end"}]}}),
    ("SET l = list_append(:l, l)", {"l": {"L": [{"S": "end"}, *ITEM["l"]["L"]]}}),
    ("SET a = list_append(if_not_exists(a, :l), :l)", {"a": {"L": [{"S": "end"}, {"S": "end"}]}}),
    ("SET l[1] = :x", {"l": {"L": [{"S": "p"}, {"S": "x"}, {"S": "r"}]}}),
    (
        "SET l[9] = :x, l[3] = :y, l[5] = :z, l[0] = :x",
        {"l": {"L": [{"S": "x"}, {"S": "q"}, {"S": "r"}, {"S": "y"}, {"S": "z"}, {"S": "x"}]}},
    ),
    ("REMOVE l[0], l[2], l[7]", {"l": {"L": [{"S": "q"}]}}),
    ("REMOVE l[0] SET l[1] = :x, l[8] = :y", {"l": {"L": [{"S": "x"}, {"S": "r"}, {"S": "y"}]}}),
    ("SET l[0] = l[1], l[1] = l[0]", {"l": {"L": [{"S": "q"}, {"S": "p"}, {"S": "r"}]}}),
    ("REMOVE n, gone", {"n": None}),
    ("REMOVE m.gone, m.b.c", {"m": {"M": {**ITEM["m"]["M"], "b": {"M": {}}}}}),
    ("ADD n :one", {"n": {"N": "11"}}),
    ("ADD a :one", {"a": {"N": "1"}}),
    ("ADD m.a :one, m.fresh :ss", {"m": {"M": {**ITEM["m"]["M"], "a": {"N": "2"}, "fresh": {"SS": ["a", "c"]}}}}),
    ("ADD ss :ss", {"ss": {"SS": ["a", "b", "c"]}}),
    ("ADD ns :ns", {"ns": {"NS": ["2", "3", "10", "20"]}}),
    ("ADD bs :bs", {"bs": {"BS": ["AA==", "AQ==", "Ag=="]}}),
    ("DELETE ss :ss", {"ss": {"SS": ["b"]}}),
    ("DELETE ss :all", {"ss": None}),
    ("DELETE gone :ss", {}),
    ("DELETE bs :bs", {"bs": {"BS": ["AQ=="]}}),
    (
        "add n :one delete ss :ss remove s set l[0] = s",
        {
            "n": {"N": "11"},
            "ss": {"SS": ["b"]},
            "s": None,
            "l": {"L": [{"S": "text"}, {"S": "q"}, {"S": "r"}]},
        },
    ),
    (
        "SET a = m.l[2], m.l[0] = n",
        {
            "a": {"N": "2"},
            "m": {"M": {**ITEM["m"]["M"], "l": {"L": [{"N": "10"}, {"N": "1"}, {"N": "2"}]}}},
        },
    ),
]


@pytest.mark.parametrize(("text", "changes"), RESULTS, ids=[text for text, _ in RESULTS])
def test_the_new_item(text: str, changes: dict[str, Value | None]) -> None:
    before = copy.deepcopy(ITEM)
    expected = {name: value for name, value in (ITEM | changes).items() if value is not None}
    assert compile_update(text, None, VALUES).apply(ITEM, VALUES) == expected
    assert before == ITEM, "an item that was given must not change"


INVALID_PATH = "The document path provided in the update expression is invalid for update"
NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET gone.a = :x", INVALID_PATH),
        ("SET s.a = :x", INVALID_PATH),
        ("SET m[0] = :x", INVALID_PATH),
        ("SET l.a = :x", INVALID_PATH),
        ("SET m.gone.a = :x", INVALID_PATH),
        ("SET l[7].a = :x", INVALID_PATH),
        ("REMOVE gone.a", INVALID_PATH),
        ("REMOVE n[0]", INVALID_PATH),
        ("ADD gone.a :one", INVALID_PATH),
        ("SET a = gone", NO_ATTRIBUTE),
        ("SET a = n + gone", NO_ATTRIBUTE),
        ("SET a = list_append(gone, :l)", NO_ATTRIBUTE),
        ("SET a = if_not_exists(gone, l[9])", NO_ATTRIBUTE),
        ("SET a = s + :one", WRONG_TYPE),
        ("SET a = n - s", WRONG_TYPE),
        ("SET a = list_append(n, :l)", WRONG_TYPE),
        ("ADD s :one", WRONG_TYPE),
        ("ADD ns :ss", WRONG_TYPE),
        ("ADD n :ss", WRONG_TYPE),
        ("DELETE n :ss", WRONG_TYPE),
        ("DELETE ns :ss", WRONG_TYPE),
    ],
)
def test_what_the_item_does_not_allow_is_refused_bare(text: str, message: str) -> None:
    update = compile_update(text, None, VALUES)
    with pytest.raises(ValidationException) as caught:
        update.apply(ITEM, VALUES)
    assert caught.value.message == message
    assert not isinstance(caught.value, RequestFault)


@pytest.mark.parametrize(
    ("text", "can_create", "result"),
    [
        ("SET a = :x REMOVE b.c, d", True, {"a": {"S": "x"}}),
        ("ADD a :one", True, {"a": {"N": "1"}}),
        ("REMOVE a.b", False, {}),
        ("DELETE a :ss", False, {}),
    ],
)
def test_without_an_item(text: str, can_create: bool, result: Item) -> None:
    update = compile_update(text, None, VALUES)
    assert update.can_create is can_create
    assert update.apply({}, VALUES) == result


def test_what_did_not_change_is_shared() -> None:
    new = compile_update("SET m.a = :x", None, VALUES).apply(ITEM, VALUES)
    assert new["m"]["M"]["l"] is ITEM["m"]["M"]["l"]
    assert new["l"] is ITEM["l"]


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET n = :x, a = :y", {"n": {"N": "10"}}, {"n": {"S": "x"}, "a": {"S": "y"}}),
        (
            "SET m.b.c = :x",
            {"m": {"M": {"b": {"M": {"c": {"S": "v"}}}}}},
            {"m": {"M": {"b": {"M": {"c": {"S": "x"}}}}}},
        ),
        (
            "SET l[2] = :x, l[0] = :y",
            {"l": {"L": [{"S": "p"}, {"S": "r"}]}},
            {"l": {"L": [{"S": "y"}, {"S": "x"}]}},
        ),
        ("REMOVE n, m.a", {"n": {"N": "10"}, "m": {"M": {"a": {"N": "1"}}}}, {}),
        ("REMOVE n SET a = :x", {"n": {"N": "10"}}, {"a": {"S": "x"}}),
        ("DELETE ss :all", {"ss": {"SS": ["b", "c"]}}, {}),
    ],
)
def test_the_touched_paths(text: str, old: Item, new: Item) -> None:
    update = compile_update(text, None, VALUES)
    assert update.updated_old(ITEM) == old
    assert update.updated_new(update.apply(ITEM, VALUES)) == new


def test_an_update_knows_what_it_names() -> None:
    update = compile_update("SET a.b = #c, d = :x REMOVE e", {"#c": "c"}, VALUES)
    assert update.attributes == {"a", "d", "e"}
    assert update.nested_attributes == {"a"}
    assert update.may_nest_container
    assert update.used_names == {"#c"}
    assert update.used_values == {":x"}


@pytest.mark.parametrize(
    ("text", "may_nest_container"),
    [
        ("SET m.x = :n", False),
        ("SET m.x = n + :n", False),
        ("SET m.x = :l", True),
        ("SET m.x = m.y", True),
        ("SET m.x = if_not_exists(m.y, :n)", True),
        ("SET m = :l", False),
        ("ADD m.x :n", False),
        ("REMOVE m.x", False),
    ],
)
def test_only_a_nested_target_that_gets_a_container_deepens_an_item(text: str, may_nest_container: bool) -> None:
    values: dict[str, Value] = {":n": {"N": "1"}, ":l": {"L": []}}
    used = {token: value for token, value in values.items() if token in text}
    assert compile_update(text, None, used).may_nest_container is may_nest_container


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("SET abc = :x", 3 + 19 + 3 + 1),
        ("SET a.bcd = :x", 3 + 19 + 1 + (4 + 3) + 1),
        ("SET a = b.cd", 3 + 19 + 1 + 1 + (14 + 1) + (14 + 2)),
        ("SET a = a + :one", 3 + 19 + 1 + (1 + 14 + 1) + 34 + 2),
        ("SET a = a - :one", 3 + 19 + 1 + (1 + 14 + 1) + 37 + 2),
        ("SET a = if_not_exists(a, :x)", 3 + 19 + 1 + (1 + 14 + 1) + 39 + 1),
        ("SET a = list_append(:l, :l)", 3 + 19 + 1 + 37 + 2 * (3 + 1 + 3)),
        ("SET a = :x, b = :x", 3 + 2 * (19 + 1 + 1)),
        ("REMOVE a, bc", 3 + (1 + 1) + (1 + 2)),
        ("DELETE a :ss", 3 + 1 + 1),
        ("ADD a :one", 3 + 19 + 1 + 2),
        ("ADD a :ss", 3 + 19 + 1 + 2),
    ],
)
def test_the_charge_of_a_statement(text: str, size_bytes: int) -> None:
    assert compile_update(text, None, VALUES).statement_size_bytes(VALUES, None) == size_bytes


def test_only_new_members_of_a_set_are_charged() -> None:
    update = compile_update("ADD ss :ss", None, VALUES)
    assert update.statement_size_bytes(VALUES, ITEM) == 3 + 19 + 2 + 1


COPIED: Item = {"pk": {"S": "k"}, "l": {"L": [{"S": "x" * 1000}] * 100}}  # 100 KB


@pytest.mark.parametrize(
    ("operand", "most"),
    [("l", 4), ("list_append(l, l)", 2), ("if_not_exists(b, l)", 4), ("if_not_exists(l, b)", 4)],
)
def test_copies_are_measured_before_many_are_made(operand: str, most: int) -> None:
    """The size of the result is limited while copies are evaluated, before many of them are made."""

    def text(count: int, path: str = "a") -> str:
        return "SET " + ", ".join([f"{path}{number} = {operand}" for number in range(count)])

    compile_update(text(most), None, {}).apply(COPIED, {})
    for count in (5, 100):
        with pytest.raises(ValidationException, match="Item size to update has exceeded"):
            compile_update(text(count), None, {}).apply(COPIED, {})
        nested = compile_update(text(count, "m.a"), None, {})
        with pytest.raises(ValidationException, match="Item size to update has exceeded"):
            nested.apply({**COPIED, "m": {"M": {}}}, {})


def test_many_small_copies_are_made() -> None:
    text = "SET " + ", ".join([f"a{number} = l[0]" for number in range(200)])
    assert len(compile_update(text, None, {}).apply(COPIED, {})) == 202
