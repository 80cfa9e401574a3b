"""Parsing of long expressions and statements gives way to other requests; measured by the number of calls of `look`."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.errors import RequestFault
from hashrange.expressions.cache import Cache
from hashrange.expressions.condition import compile_condition
from hashrange.expressions.legacy import attribute_updates
from hashrange.expressions.parameters import check_unused
from hashrange.expressions.partiql.statement import compile_statement
from hashrange.expressions.predicates import UNCOUNTED_COMPARISONS_MAX
from hashrange.expressions.projection import compile_projection
from hashrange.expressions.sets import without_members
from hashrange.expressions.update import compile_update
from hashrange.items import steps


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """A list that gets one element for each call of `steps._look`."""
    seen: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: seen.append(None))
    return seen


STATEMENTS: dict[str, Callable[[int], str]] = {
    "sums": lambda count: "UPDATE t SET b=" + "+".join(["1"] * count) + " WHERE pk='1'",
    "numbers": lambda count: "INSERT INTO t VALUE {'pk':'1','l':[" + ",".join(["1"] * count) + "]}",
    "texts": lambda count: "SELECT * FROM t WHERE pk IN [" + ",".join(["'1'"] * count) + "]",
    "paths": lambda count: "SELECT " + ",".join(["a"] * count) + " FROM t",
    "deep paths": lambda count: "SELECT a" + ".a" * count + " FROM t",
    "clauses": lambda count: "UPDATE t " + " ".join([f"REMOVE a{number}" for number in range(count)]),
    "conditions": lambda count: "SELECT * FROM t WHERE " + " OR ".join(["a=1"] * count),
}


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("count", [500, 1_000])
def test_a_long_statement_gives_way_while_it_is_read(name: str, count: int, looks: list[None]) -> None:
    try:
        compile_statement(STATEMENTS[name](count), None)
    except RequestFault:
        pass  # some statements have too many operators: they are refused after they were parsed
    assert len(looks) >= count // 60


def test_a_statement_that_is_known_takes_no_look(looks: list[None]) -> None:
    text = STATEMENTS["numbers"](2_000)
    compile_statement(text, None)
    looks.clear()
    compile_statement(text, None)
    assert not looks


@pytest.mark.parametrize(
    "compile_text",
    [
        lambda count: compile_condition("ConditionExpression", "a in (" + ",".join(["b"] * count) + ")", None, None),
        lambda count: compile_update("REMOVE " + ",".join([f"a{n}" for n in range(count >> 1)]), None, None),
        lambda count: compile_projection(",".join(["a"] * count), None),
    ],
)
def test_a_long_expression_gives_way_while_it_is_read(compile_text: Callable[[int], object], looks: list[None]) -> None:
    count = 1_000
    try:
        compile_text(count)
    except RequestFault:
        pass
    assert len(looks) >= count // 60


def test_what_two_have_compiled_at_once_is_kept_once() -> None:
    cache: Cache[int] = Cache()
    cache.add(("abc",), 1)
    cache.add(("abc",), 2)
    assert cache.entries == {("abc",): 1}
    assert cache.characters == 3


def test_an_update_of_many_attributes_gives_way_wherever_it_walks_them(looks: list[None]) -> None:
    count = 2_000
    actions: list[dict[str, object]] = [
        {"Action": "PUT", "Value": {"N": "1"}},
        {"Action": "ADD", "Value": {"N": "1"}},
        {"Action": "DELETE"},
    ]
    update = attribute_updates({f"a{number}": actions[number % 3] for number in range(count)})
    assert len(looks) >= count // 10
    looks.clear()
    update.apply({"pk": {"S": "a"}}, {})
    assert len(looks) >= count // 200
    looks.clear()
    update.updated_new({"pk": {"S": "a"}})
    assert len(looks) >= count // 200


@pytest.mark.parametrize("text", ["l = :l", "l <> :l", "l IN (:l)", "m.l = :l", "l = m.l", "l IN (m.l)", "l <> m.l"])
def test_each_comparison_of_containers_looks(text: str, looks: list[None]) -> None:
    values = {":l": {"L": [{"N": "1"}]}} if ":l" in text else {}
    condition = compile_condition("FilterExpression", text, None, values)
    looks.clear()
    other = {"L": [{"N": "1"}]}
    item: dict[str, Any] = {"l": other, "m": {"M": {"l": {"L": [{"N": "1"}]}}}}
    count = 20
    for _ in range(count):
        assert condition.test(item, values) is ("<>" not in text)
    assert len(looks) >= count


def chain(keyword: str, terms: int) -> str:
    """So many comparisons of `n` with `:n`; while both are equal, the last one decides."""
    return f" {keyword} ".join([f"n {'=' if keyword == 'AND' else '<>'} :n"] * terms)


@pytest.mark.parametrize("keyword", ["AND", "OR"])
@pytest.mark.parametrize("terms", [1, 2, UNCOUNTED_COMPARISONS_MAX])
def test_a_few_comparisons_with_scalars_take_no_looks_of_their_own(terms: int, keyword: str, looks: list[None]) -> None:
    values = {":n": {"N": "1"}}
    condition = compile_condition("FilterExpression", chain(keyword, terms), None, values)
    looks.clear()
    for number in ("1", "2"):
        assert condition.test({"n": {"N": number}}, values) is ((number == "1") is (keyword == "AND"))
    assert not looks


@pytest.mark.parametrize("keyword", ["AND", "OR"])
def test_more_comparisons_give_way_between_them(keyword: str, looks: list[None]) -> None:
    values = {":n": {"N": "1"}}
    condition = compile_condition("FilterExpression", chain(keyword, UNCOUNTED_COMPARISONS_MAX + 1), None, values)
    looks.clear()
    for number in ("1", "2"):
        assert condition.test({"n": {"N": number}}, values) is ((number == "1") is (keyword == "AND"))
    assert len(looks) >= UNCOUNTED_COMPARISONS_MAX


LARGE = {"B": "YWFh" * 100_000}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("b BETWEEN :v AND :v", {":v": LARGE}),
        ("b > :v", {":v": {"B": "YQ=="}}),
        ("begins_with(b, :v)", {":v": {"B": "YQ=="}}),
        ("size(s) > :v", {":v": {"N": "1"}}),
        ("contains(l, :v)", {":v": {"L": [{"S": "a"}] * 1_000 + [{"S": "b"}]}}),
    ],
)
def test_what_compares_long_values_gives_way(text: str, values: dict[str, Any], looks: list[None]) -> None:
    """A request of 2 KB with such conditions, nested in pairs, held the server for up to 0.9 s."""
    item: dict[str, Any] = {"b": LARGE, "s": {"S": "ä" * 100_000}, "l": {"L": [{"L": [{"S": "a"}] * 1_001}]}}
    condition = compile_condition("ConditionExpression", text, None, values)
    looks.clear()
    for _ in range(10):
        condition.test(item, values)
    assert len(looks) >= 10


def test_members_of_many_sets_are_deleted_piece_by_piece(looks: list[None]) -> None:
    """400 such actions with 110,000 members held the server for up to 1.4 s."""
    fewer = [str(number) for number in range(10_000)]
    for _ in range(10):
        assert without_members("SS", ["0", "a"], fewer) == {"SS": ["a"]}
    assert len(looks) >= 10


class Tokens(dict[str, Any]):
    """Values by tokens, which note how many tokens are passed over between two looks."""

    since_look = most = 0

    def __iter__(self) -> Iterator[str]:
        for token in super().__iter__():
            self.since_look += 1
            self.most = max(self.most, self.since_look)
            yield token

    def look(self) -> None:
        """Begin again."""
        self.since_look = 0


@pytest.mark.parametrize("used", [0, 1, 20_000, 29_999, 30_000])
def test_unused_tokens_are_found_in_short_steps(used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Putting all of 400,000 tokens into one set took 60 ms."""
    texts = [f":v{place}" for place in range(30_000)]
    tokens = Tokens({text: {"S": ""} for text in texts})
    monkeypatch.setattr(steps, "_look", tokens.look)
    parts = texts[: used >> 1], [":unknown"], texts[used >> 1 : used]
    users: list[Any] = [SimpleNamespace(used_names=frozenset(), used_values=frozenset(part)) for part in parts]
    if used == len(texts):
        check_unused(None, tokens, *users)
    else:
        with pytest.raises(RequestFault) as caught:
            check_unused(None, tokens, *users)
        assert str(caught.value.message).endswith(f" keys: {{{', '.join(texts[used:])}}}")
    assert 0 < tokens.most <= steps.TOGETHER_MEMBERS


def in_pairs(term: str, count: int) -> str:
    """`count` terms in nested pairs."""
    text = term
    for _ in range(count - 1):
        text = f"{term} OR ({text})"
    return text


@pytest.mark.parametrize(
    ("term", "count"),
    [
        (f"a IN ({','.join([':v'] * 100)})", 10),
        ("a BETWEEN :v AND :w", 40),
        ("a = :v AND a = :w", 40),
        ("begins_with(a, :v)", 80),
    ],
)
def test_comparisons_of_long_texts_give_way_however_they_are_nested(term: str, count: int, looks: list[None]) -> None:
    """Each takes up to 0.1 ms, for texts of 400 KB that differ at their ends."""
    values = {":v": {"S": "x"}, ":w": {"S": "y"}}
    condition = compile_condition("ConditionExpression", in_pairs(term, count), None, values)
    looks.clear()
    assert not condition.test({"a": {"S": "w"}}, values)
    assert len(looks) >= count - 1


def test_a_short_condition_takes_no_look(looks: list[None]) -> None:
    condition = compile_condition("ConditionExpression", in_pairs("a = :v", 20), None, {":v": {"S": "x"}})
    looks.clear()
    assert not condition.test({"a": {"S": "w"}}, {":v": {"S": "x"}})
    assert not looks
