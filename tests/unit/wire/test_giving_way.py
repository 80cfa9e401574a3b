"""Checks of types and constraints give way for very many or very long texts;
measured by the number of calls of `look`.
"""

import re
from functools import partial
from typing import Any

import msgspec
import pytest

from hashrange.errors import SerializationException
from hashrange.items import steps
from hashrange.items.steps import TOGETHER_MEMBERS
from hashrange.operations.registry import OPERATIONS
from hashrange.wire.constraints import BUCKET_PATTERN, _matches
from hashrange.wire.faults import find_fault
from hashrange.wire.jsontypes import VALUE_MEMBERS, normalise
from hashrange.wire.shape import Bounds, Shape, structure_of
from tests.support.working import lines_between_looks

COUNT = 16 * TOGETHER_MEMBERS


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """A list that gets one element for each call of `steps._look`."""
    seen: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: seen.append(None))
    return seen


@pytest.mark.parametrize(
    ("type_name", "value"),
    [("SS", ["1"] * COUNT), ("BS", ["AAAA"] * COUNT), ("BS", ["A" * 300] * COUNT), ("B", "A" * 1024 * 1024)],
)
def test_what_is_large_gives_way(type_name: str, value: Any, looks: list[None]) -> None:
    assert normalise(value, VALUE_MEMBERS[type_name]) == value
    assert len(looks) >= 14


@pytest.mark.parametrize("size", [4, 300, 70_000, 200_000])
@pytest.mark.parametrize("wrong", ["AA=A", "A===", "AB==", "AAA", "AA\nA", "éAAA"])
def test_a_wrong_character_is_found_wherever_it_stands(size: int, wrong: str) -> None:
    sound = "A" * (size // 4 * 4)
    for text in (wrong + sound, sound + wrong, sound + wrong + sound):
        for type_name, value in (("B", text), ("BS", ["AAAA", text])):
            with pytest.raises(SerializationException):
                normalise(value, VALUE_MEMBERS[type_name])
    for end in ("", "AA==", "AAA="):
        assert normalise(sound + end, VALUE_MEMBERS["B"]) == sound + end
        assert normalise([sound + end], VALUE_MEMBERS["BS"]) == [sound + end]


HEXADECIMAL, NAME = "([0-9a-f]{16})+", "[a-zA-Z0-9_.-]+"
TOKEN, HEADER = r"^[^\$]+$", r"[\x20-\x21\x23-\x2B\x2D-\x7E]*"
SHORT = ("[0-9]{12}", "[,;:|\\t ]")
"""Patterns that match no long text, and no piece of one."""


@pytest.mark.parametrize("pattern", [HEXADECIMAL, NAME, TOKEN, HEADER, BUCKET_PATTERN])
def test_a_long_text_is_matched_in_pieces(pattern: str, looks: list[None]) -> None:
    assert _matches("a" * (1 << 20), Bounds(pattern=pattern))
    assert len(looks) >= 60


@pytest.mark.parametrize("pattern", [HEXADECIMAL, NAME, TOKEN, HEADER, *SHORT])
@pytest.mark.parametrize("length", [0, 1, 16, 17, 1 << 14, (1 << 14) + 1, (1 << 14) + 16, 3 << 14])
def test_pieces_match_as_the_whole_does(pattern: str, length: int) -> None:
    for text in ("a" * length, "a" * (length // 2) + "/" + "a" * (length // 2), "a" * length + "/", "/" + "a" * length):
        assert _matches(text, Bounds(pattern=pattern)) == (re.fullmatch(pattern, text) is not None)


def test_every_pattern_repeats_what_a_piece_ends_with() -> None:
    patterns = set().union(*(patterns_of(structure_of(operation.request)) for operation in OPERATIONS.values()))
    assert patterns == {HEXADECIMAL, NAME, TOKEN, HEADER, BUCKET_PATTERN, *SHORT}


@pytest.mark.parametrize("text", ["", "a", "ab", "-a", "a-", "a.-_b", "a$b", "aé1", "éa", "a\n", "aa\n", "A1"])
def test_a_bucket_name_matches_as_by_its_pattern(text: str) -> None:
    matches = _matches(text, Bounds(pattern=BUCKET_PATTERN))
    assert matches == (re.fullmatch(BUCKET_PATTERN.removesuffix("$"), text) is not None)


def test_a_long_bucket_name_that_does_not_match_is_told_at_once() -> None:
    """By the pattern itself it would take hours."""
    assert not _matches("a" * 100_000 + "$", Bounds(pattern=BUCKET_PATTERN))
    assert not _matches("a" * 50_000 + "$" + "a" * 50_000, Bounds(pattern=BUCKET_PATTERN))


def patterns_of(shape: Shape) -> set[str]:
    """All patterns in the shape and in the shapes inside it."""
    found = {
        bounds.pattern for bounds in (shape.bounds, shape.keys) if bounds is not None and bounds.pattern is not None
    }
    inner = [member.shape for member in shape.members] + ([shape.member] if shape.member is not None else [])
    return found.union(*map(patterns_of, inner))


def test_very_many_unknown_members_are_passed_over_in_pieces() -> None:
    """128,000 were one step of up to 51 ms."""
    body = msgspec.json.encode({"TableName": "Tab", "Item": {}} | {f"x{number}": 1 for number in range(COUNT)})
    operation = OPERATIONS["PutItem"]
    find = partial(find_fault, operation.request, operation.wire.rules, body)
    assert lines_between_looks(find) < COUNT // 4
