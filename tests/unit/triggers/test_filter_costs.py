"""Matching one record takes bounded work, or gives way: no pattern makes long values be read once
for each of its alternatives.
"""

import bisect
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hashrange.items import steps
from hashrange.limits import FILTER_PATTERN_LENGTH_MAX
from hashrange.triggers import events
from hashrange.triggers.events import record_filter
from hashrange.triggers.filter_patterns import compile_filters
from tests.support.garbage import garbage_made

LONG_VALUES = ("ß" * 190_000, "A" * 380_000, "\u0390" * 133_000)
"""Strings of almost 400 KB: the first and the last become longer when their case is folded."""
GROWTH_MAX = 3
"""Characters that folding the case makes of one."""
ALTERNATIVES: dict[str, Callable[[str], Any]] = {
    "equals-ignore-case": lambda text: {"equals-ignore-case": text},
    "prefix": lambda text: {"prefix": text},
    "folded prefix": lambda text: {"prefix": {"equals-ignore-case": text}},
    "suffix": lambda text: {"suffix": text},
    "folded suffix": lambda text: {"suffix": {"equals-ignore-case": text}},
}
REFUSED = ("equals-ignore-case", "prefix", "suffix")


def all_as_they_are(many: list[Any]) -> list[Any]:
    """The list of a pattern that has these elements."""
    return many


def all_but(kind: str) -> Callable[[list[Any]], list[Any]]:
    """Puts many texts inside one `anything-but`."""
    return lambda many: [{"anything-but": {kind: many}}]


def each_but(kind: str) -> Callable[[str], Any]:
    """Puts one text inside an `anything-but` of its own."""
    return lambda text: {"anything-but": {kind: text}}


def longest_list(one: Callable[[str], Any], around: Callable[[list[Any]], list[Any]] = all_as_they_are) -> str:
    """The longest pattern for `a` that has many alternatives, which all look at the whole value
    if they look at it one by one.
    """
    texts = ["x" + chr(ord("a") + number % 26) * (1 + number // 26 % 3) for number in range(1_500)]

    def pattern_of(count: int) -> str:
        rule = around([one(text) for text in texts[:count]])
        return json.dumps({"a": rule, "z": ["never"]}, separators=(",", ":"))

    counts = range(len(texts) + 1)
    too_many = bisect.bisect(counts, FILTER_PATTERN_LENGTH_MAX, key=lambda count: len(pattern_of(count)))
    return pattern_of(too_many - 1)


PATTERNS = {
    **{name: longest_list(one) for name, one in ALTERNATIVES.items()},
    **{f"anything-but {kind}": longest_list(str, all_but(kind)) for kind in REFUSED},
    **{f"many anything-but {kind}": longest_list(each_but(kind)) for kind in REFUSED},
    "alternatives of $or": json.dumps(
        {"$or": [{"a": [{"equals-ignore-case": f"x{number}"}]} for number in range(100)]}, separators=(",", ":")
    ),
    "an empty suffix": json.dumps({"a": [{"suffix": {"equals-ignore-case": ""}}], "z": ["never"]}),
    "one long text": json.dumps({"a": [{"prefix": {"equals-ignore-case": "\u0390" * 4_000}}]}, ensure_ascii=False),
}


@contextmanager
def characters_folded() -> Iterator[list[int]]:
    """The lengths of all strings whose case is folded meanwhile."""
    lengths: list[int] = []

    def see(_frame: object, event: str, called: Any) -> None:
        if event == "c_call" and called.__name__ == "casefold":
            lengths.append(len(called.__self__))

    sys.setprofile(see)
    try:
        yield lengths
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("value", LONG_VALUES, ids=("ß", "A", "ΐ"))
@pytest.mark.parametrize("name", PATTERNS)
def test_a_long_value_is_folded_no_further_than_a_pattern_is_long(name: str, value: str) -> None:
    pattern = PATTERNS[name]
    matching = compile_filters([pattern])
    with characters_folded() as lengths:
        matching({"a": value})
    assert sum(lengths) <= GROWTH_MAX * len(pattern)


@pytest.mark.parametrize("name", ["folded prefix", "folded suffix", "equals-ignore-case"])
def test_a_value_is_folded_once_for_all_alternatives_of_a_list(name: str) -> None:
    matching = compile_filters([PATTERNS[name]])
    with characters_folded() as lengths:
        matching({"a": "Q"})
    assert len(lengths) == 1


@pytest.mark.parametrize("kind", ALTERNATIVES)
def test_folding_a_part_of_a_value_finds_what_folding_all_of_it_finds(kind: str) -> None:
    """Of values whose characters fold to one, two or three."""
    comparisons: dict[str, Callable[[str, str], bool]] = {
        "equals-ignore-case": lambda value, text: value.casefold() == text.casefold(),
        "prefix": str.startswith,
        "folded prefix": lambda value, text: value.casefold().startswith(text.casefold()),
        "suffix": str.endswith,
        "folded suffix": lambda value, text: value.casefold().endswith(text.casefold()),
    }
    compared = comparisons[kind]
    texts = ["".join(letters) for length in range(4) for letters in itertools.product("sSß\u0390", repeat=length)]
    wanted = [*texts[:30], "\u03b9\u0308", "\u0308\u0301", "ssss"]
    for some in itertools.pairwise(wanted):
        matching = compile_filters([json.dumps({"a": [ALTERNATIVES[kind](text) for text in some]})])
        for value in texts:
            assert matching({"a": value}) is any(compared(value, text) for text in some), (some, value)


# --- giving way ---------------------------------------------------------------------------------


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows by one whenever the work may give way."""
    found: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: found.append(None))
    return found


LISTS: dict[str, Any] = {"scalars": ["y"] * 2_000, "objects": [{"b": "y"}] * 2_000, "lists": [["y"] * 20] * 100}


@pytest.mark.parametrize("kind", LISTS)
def test_each_element_of_a_list_may_give_way_if_the_pattern_is_long(kind: str, looks: list[None]) -> None:
    rule: Any = [{"anything-but": {"prefix": "y"}}] * 120
    pattern = json.dumps({"a": {"b": rule} if kind == "objects" else rule}, separators=(",", ":"))
    assert len(pattern) > FILTER_PATTERN_LENGTH_MAX * 3 // 4
    assert not compile_filters([pattern])({"a": LISTS[kind]})
    assert len(looks) >= 2_000 * 3 // 4


def test_each_alternative_of_or_walks_over_a_list_and_gives_way(looks: list[None]) -> None:
    pattern = json.dumps({"$or": [{"a": [f"x{number}"]} for number in range(200)]}, separators=(",", ":"))
    assert not compile_filters([pattern])({"a": ["y"] * 1_000})
    assert len(looks) >= 200 * 1_000 // 200


def test_each_pattern_gives_way_before_a_record(looks: list[None]) -> None:
    matching = compile_filters([PATTERNS["folded prefix"]] * 5)
    for _ in range(20):
        matching({"a": "Q"})
    assert len(looks) >= 50


def test_compiling_gives_way(looks: list[None]) -> None:
    compile_filters(list(PATTERNS.values()))
    assert len(looks) >= sum(len(pattern) > 500 for pattern in PATTERNS.values()) > 10


def test_a_record_of_very_many_values_is_decoded_and_freed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    freed: list[Any] = []

    def decode(text: bytes) -> Any:
        lengths.append(len(text))
        return json.loads(text)

    monkeypatch.setattr(events, "_decode_json", decode)
    monkeypatch.setattr(events, "free", freed.append)
    values = [*[{"NULL": True}] * 50_000, {"S": "last"}]
    text = json.dumps({"eventName": "INSERT", "dynamodb": {"NewImage": {"l": {"L": values}}}}).encode()
    for wanted in ("last", "first"):
        matches = record_filter([json.dumps({"dynamodb": {"NewImage": {"l": {"L": {"S": [wanted]}}}}})])
        assert matches is not None
        assert matches(text) is (wanted == "last")
    assert len(lengths) >= 2 * len(text) // (2 * steps.PIECE_BYTES)
    assert max(lengths) <= 2 * steps.PIECE_BYTES
    assert [list(record) for record in freed] == [["dynamodb"], ["dynamodb"]]


def test_members_that_records_never_have_do_not_exist() -> None:
    unknown = {f"{number}": [{"exists": False}] for number in range(140)}
    for pattern, is_match in ((unknown | {"eventName": ["INSERT"]}, True), (unknown | {"other": ["INSERT"]}, False)):
        matches = record_filter([json.dumps(pattern)])
        assert matches is not None
        assert matches(b'{"eventName":"INSERT","dynamodb":{}}') is is_match


@pytest.mark.usefixtures("only_new_garbage")
def test_filters_of_mappings_leave_no_classes_to_the_collector() -> None:
    """A class is freed only once nobody is connected."""
    with garbage_made() as garbage:
        for number in range(20):
            matches = record_filter([json.dumps({"eventName": ["INSERT"], "dynamodb": {"n": [number]}})])
            assert matches is not None
            assert not matches(b'{"eventName":"INSERT","dynamodb":{}}')
        del matches
        assert [one for one in garbage() if isinstance(one, type)] == []
