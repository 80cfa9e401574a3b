"""Filter patterns hold their bounds and laws; tests/scripts/filter_patterns.case has what each operator accepts."""

import copy
import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.errors import HashrangeError
from hashrange.items import steps
from hashrange.limits import FILTER_LEVELS_MAX, FILTER_PATTERN_LENGTH_MAX
from hashrange.messages.event_source_mappings import INVALID_PATTERN
from hashrange.triggers.filter_operators import InvalidPattern
from hashrange.triggers.filter_patterns import compile_filters, members_of

SEEDS = range(10)
ROUNDS = 40
"""Random records and patterns of one seed."""
NAMES = ("a", "b", "c")
SCALARS: list[Any] = ["", "ab", "abc", "AB", "1", 1, 2, 1.5, True, False, None]
RULES: list[Any] = [
    "ab", "", "1", 1, 1.5, True, False, None, {"prefix": "a"}, {"prefix": "ab"}, {"suffix": "c"}, {"exists": True},
    {"equals-ignore-case": "aB"}, {"prefix": {"equals-ignore-case": "A"}}, {"suffix": {"equals-ignore-case": "B"}},
    {"anything-but": "ab"}, {"anything-but": [1, 2]}, {"anything-but": {"prefix": "a"}}, {"numeric": ["<", 2]},
    {"numeric": [">", 1, "<=", 2]},
]  # fmt: skip


def random_value(chance: random.Random, levels: int = 3) -> Any:
    """A random part of a record: scalars, objects, and lists of anything."""
    kind = chance.random() if levels else 1.0
    if kind < 0.4:
        return {name: random_value(chance, levels - 1) for name in NAMES if chance.random() < 0.7}
    if kind < 0.6:
        return [random_value(chance, levels - 1) for _ in range(chance.randrange(4))]
    return chance.choice(SCALARS)


def random_record(chance: random.Random) -> dict[str, Any]:
    """A random record, which has at least one member."""
    return {name: random_value(chance) for name in NAMES if chance.random() < 0.9} or {"a": 1}


def random_pattern(chance: random.Random, levels: int = 3, rules: list[Any] = RULES) -> dict[str, Any]:
    """A random pattern without `$or`."""
    return {
        name: chance.sample(rules, chance.randint(1, 6))
        if levels == 1 or chance.random() < 0.6
        else random_pattern(chance, levels - 1, rules)
        for name in chance.sample(NAMES, chance.choice([1, 1, 2]))
    }


def matches(pattern: Any, record: dict[str, Any]) -> bool:
    """Whether a record matches one pattern."""
    return compile_filters([json.dumps(pattern)])(record)


def views(value: Any) -> Iterator[Any]:
    """A value in every form that has, instead of each list, one of its elements; nothing instead of an empty list."""
    if isinstance(value, list):
        for element in value:
            yield from views(element)
    elif isinstance(value, dict):
        forms = [[{name: form} for form in views(member)] or [{}] for name, member in value.items()]
        for choice in itertools.product(*forms):
            yield dict(pair for one in choice for pair in one.items())
    else:
        yield value


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The path and value of every scalar in a record; lists add nothing to a path."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from leaves(member, (*path, name))
    elif isinstance(value, list):
        for element in value:
            yield from leaves(element, path)
    else:
        yield path, value


def pattern_at(path: tuple[str, ...], rule: list[Any]) -> dict[str, Any]:
    """The pattern that has one list, at a path."""
    pattern: Any = rule
    for name in reversed(path):
        pattern = {name: pattern}
    assert isinstance(pattern, dict)
    return pattern


# --- several patterns ---------------------------------------------------------------------------


def test_without_patterns_every_record_matches() -> None:
    assert compile_filters([])({}) is True
    assert compile_filters(())({"eventName": "INSERT"}) is True


@pytest.mark.parametrize(
    ("event_name", "expected"), [("INSERT", True), ("MODIFY", True), ("REMOVE", False), (None, False)]
)
def test_one_of_several_patterns_has_to_match(event_name: str | None, expected: bool) -> None:
    either = compile_filters(['{"eventName": ["INSERT"]}', '{"eventName": ["MODIFY"]}'])
    assert either({"eventName": event_name}) is expected


def test_one_invalid_pattern_among_several_is_refused() -> None:
    with pytest.raises(InvalidPattern):
        compile_filters(['{"eventName": ["INSERT"]}', "{}"])


def test_the_error_carries_the_words_of_the_service() -> None:
    with pytest.raises(HashrangeError) as caught:
        compile_filters(["{"])
    assert isinstance(caught.value, InvalidPattern)
    assert caught.value.message == str(caught.value) == INVALID_PATTERN == "Invalid filter pattern definition."


def test_a_result_is_a_boolean_even_of_a_match_by_absence() -> None:
    absent = compile_filters(['{"a": [{"exists": false}]}'])
    assert absent({}) is True
    assert absent({"a": 1}) is False


# --- bounds -------------------------------------------------------------------------------------


def test_a_pattern_has_at_most_4096_characters() -> None:
    longest = json.dumps({"a": ["x" * (FILTER_PATTERN_LENGTH_MAX - len('{"a": [""]}'))]})
    assert len(longest) == FILTER_PATTERN_LENGTH_MAX
    assert compile_filters([longest])({"a": longest[8:-3]})
    with pytest.raises(InvalidPattern):
        compile_filters([longest + " "])


@pytest.mark.parametrize("opening", ['{"a":', '{"$or":[{"b":["x"]},{"a":'])
def test_nesting_is_bounded(opening: str) -> None:
    closing = opening.count("{") * "}" if "[" not in opening else "}]}"
    levels = FILTER_LEVELS_MAX // (1 if "[" not in opening else 2)
    deepest = opening * levels + '["y"]' + closing * levels
    record: Any = "y"
    for _ in range(levels):
        record = {"a": record}
    matching = compile_filters([deepest])
    assert matching(record)
    assert not matching({"a": record})
    with pytest.raises(InvalidPattern):
        compile_filters([opening * (levels + 1) + '["y"]' + closing * (levels + 1)])


@pytest.mark.parametrize("text", ['{"a":' * 800, "[" * 4096, '{"a":[' * 600, '{"$or":[{"a":' * 300])
def test_hostile_nesting_is_refused(text: str) -> None:
    with pytest.raises(InvalidPattern):
        compile_filters([text])


@pytest.mark.parametrize(
    "text",
    [
        r'{"\ud800": ["x"]}',
        r'{"a": ["\udfff"]}',
        r'{"a": ["x\uD83Dy"]}',
        r'{"a": ["\ude00\ud83d"]}',
        r'{"a": [{"prefix": "\ud800"}]}',
        r'{"a": [{"suffix": {"equals-ignore-case": "\ud800"}}]}',
        r'{"a": [{"anything-but": ["x", "\ud800"]}]}',
        r'{"a": [{"anything-but": {"prefix": ["\ud800"]}}]}',
        r'{"a": {"b": {"\ud800": ["x"]}}}',
        r'{"$or": [{"a": ["x"]}, {"\ud800": ["x"]}]}',
        '{"\ud800": ["x"]}',
        '{"a": ["\udcff"]}',
    ],
)
def test_half_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(InvalidPattern):
        compile_filters([text])
    with pytest.raises(InvalidPattern):
        members_of([text])


def test_whole_surrogate_pairs_are_characters() -> None:
    for text in (r'{"\ud83d\ude00": ["\uD83D\uDE00"]}', '{"\U0001f600": ["\U0001f600"]}'):
        assert compile_filters([text])({"\U0001f600": "\U0001f600"})
    assert compile_filters([r'{"a": ["\\ud800"]}'])({"a": r"\ud800"})


def test_the_deepest_attribute_of_an_item_can_be_filtered() -> None:
    inner = '{"S":["x"]}'
    value: Any = {"S": "x"}
    for _ in range(32):
        inner, value = '{"M":{"a":' + inner + "}}", {"M": {"a": value}}
    matching = compile_filters(['{"dynamodb":{"NewImage":{"a":' + inner + "}}}"])
    assert matching({"dynamodb": {"NewImage": {"a": value}}})


def test_many_parallel_alternatives_are_not_multiplied() -> None:
    """100 times `$or` with two objects each are 2**100 combinations."""
    alternatives = ",".join(['"$or":[{"a":["x"]},{"b":["y"]}]'] * 100)
    matching = compile_filters(["{" + alternatives + "}"])
    assert matching({"b": "y"})
    assert not matching({"a": "y"})


def test_a_long_number_of_a_pattern_equals_itself() -> None:
    digits = "9" * 4_000
    assert compile_filters(['{"a":[' + digits + "]}"])({"a": int(digits)})
    with pytest.raises(InvalidPattern):
        compile_filters(['{"a":[{"numeric":["<",' + digits + "]}]}"])


# --- records ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ['["x"]', '[{"exists":true}]', '{"b":["x"]}', '{"b":[{"exists":false}]}'])
def test_lists_of_a_record_may_be_nested_at_any_depth(rule: str) -> None:
    matching = compile_filters(['{"a":' + rule + "}"])
    for innermost in ("x", {"b": "x"}):
        nested: Any = innermost
        for _ in range(5_000):
            nested = [nested]
        assert matching({"a": nested}) is matching({"a": innermost})


def test_a_long_list_of_a_record_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    record = {"dynamodb": {"NewImage": {"l": {"L": [{"S": "x"}] * 10_000, "SS": ["x"] * 10_000}}}}
    for pattern in ('{"L":{"S":["y"]}}', '{"SS":["y"]}'):
        looks.clear()
        assert not compile_filters(['{"dynamodb":{"NewImage":{"l":' + pattern + "}}}"])(record)
        assert len(looks) >= 10_000 // 200


def test_a_record_is_not_changed() -> None:
    chance = random.Random(1)
    for _ in range(ROUNDS):
        record = random_record(chance)
        before = copy.deepcopy(record)
        matches(random_pattern(chance), record)
        assert record == before


# --- members_of ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], set()),
        (['{"eventName": ["INSERT"]}'], {"eventName"}),
        (['{"eventName": ["INSERT"]}', '{"awsRegion": [{"exists": false}]}'], {"eventName", "awsRegion"}),
        (['{"eventName": ["INSERT"], "dynamodb": {"Keys": {"id": {"S": ["1"]}}}}'], {"eventName", "dynamodb"}),
        (['{"$or": [{"eventName": ["INSERT"]}, {"$or": [{"a": ["1"]}, {"b": ["2"]}]}]}'], {"eventName", "a", "b"}),
        (['{"$or": ["ordinary"]}'], {"$or"}),
    ],
)
def test_members_of_names_what_the_patterns_look_at(patterns: list[str], expected: set[str]) -> None:
    assert members_of(patterns) == expected


def test_members_of_refuses_invalid_patterns() -> None:
    with pytest.raises(InvalidPattern):
        members_of(['{"a": []}'])


@pytest.mark.parametrize("seed", SEEDS)
def test_other_members_make_no_difference(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        pattern, record = random_pattern(chance, rules=[*RULES, {"exists": False}]), random_record(chance)
        names = members_of([json.dumps(pattern)])
        assert matches(pattern, {name: record[name] for name in names & record.keys()}) is matches(pattern, record)


# --- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pattern_made_from_a_record_matches_it(seed: int) -> None:
    """It names one view's values at some of its paths, so that all of them are in the same elements of lists."""
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        record = random_record(chance)
        view = chance.choice(list(views(record)) or [{}])
        found = list(leaves(view))
        pattern: dict[str, Any] = {}
        for path, value in chance.sample(found, min(len(found), 3)):
            place = pattern
            for name in path[:-1]:
                place = place.setdefault(name, {})
            rules: list[Any] = [value, {"exists": True}, {"anything-but": "something else"}]
            if isinstance(value, str):
                rules += [{"prefix": value[:2]}, {"suffix": value[1:]}, {"equals-ignore-case": value.swapcase()}]
            elif isinstance(value, int | float) and not isinstance(value, bool):
                rules += [{"numeric": ["=", value]}, {"numeric": [">=", value, "<", value + 1]}]
            place[path[-1]] = [chance.choice(rules)]
        if pattern:
            assert matches(pattern, record), pattern


@pytest.mark.parametrize("seed", SEEDS)
def test_a_record_with_lists_matches_if_one_of_its_views_does(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        record, pattern = random_record(chance), random_pattern(chance)
        assert matches(pattern, record) is any(matches(pattern, view) for view in views(record)), (pattern, record)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_place_exists_or_does_not(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        record = random_record(chance)
        there = {path for path, _ in leaves(record)}
        for length in (1, 2, 3):
            for path in itertools.product(NAMES, repeat=length):
                assert matches(pattern_at(path, [{"exists": True}]), record) is (path in there), path
                assert matches(pattern_at(path, [{"exists": False}]), record) is (path not in there), path


@pytest.mark.parametrize("value", SCALARS)
@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        (["ab"], "ab"),
        (["ab", ""], ["ab", ""]),
        ([1], 1),
        ([2, 1.5], [2, 1.5]),
        ([{"prefix": "a"}], {"prefix": "a"}),
        ([{"suffix": "c"}, {"suffix": "B"}], {"suffix": ["c", "B"]}),
        ([{"equals-ignore-case": "ab"}], {"equals-ignore-case": "ab"}),
    ],
)
def test_anything_but_is_the_opposite(value: Any, rule: list[Any], refused: Any) -> None:
    assert matches({"a": rule}, {"a": value}) is not matches({"a": [{"anything-but": refused}]}, {"a": value})


@pytest.mark.parametrize("seed", SEEDS)
def test_or_is_the_union(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        record = random_record(chance)
        rules = [*RULES, {"exists": False}]
        patterns = [random_pattern(chance, rules=rules) for _ in range(chance.randint(2, 4))]
        expected = any(matches(pattern, record) for pattern in patterns)
        assert matches({"$or": patterns}, record) is expected
        assert compile_filters(list(map(json.dumps, patterns)))(record) is expected


@pytest.mark.parametrize("seed", SEEDS)
def test_members_are_the_intersection(seed: int) -> None:
    """Of top-level members, which are not in lists."""
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        record, rules = random_record(chance), [*RULES, {"exists": False}]
        pattern = random_pattern(chance, rules=rules) | random_pattern(chance, rules=rules)
        expected = all(matches({name: part}, record) for name, part in pattern.items())
        assert matches(pattern, record) is expected
        assert matches({"$or": [pattern, {"z": ["z"]}], **pattern}, record) is expected


@pytest.mark.parametrize("seed", SEEDS)
def test_elements_of_a_list_are_alternatives(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        record = random_record(chance)
        rule = chance.sample([*RULES, {"exists": False}], 3)
        path = tuple(chance.choices(NAMES, k=chance.randint(1, 2)))
        expected = any(matches(pattern_at(path, [one]), record) for one in rule)
        assert matches(pattern_at(path, rule), record) is expected
