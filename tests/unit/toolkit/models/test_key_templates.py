"""What templates make of values, and whether two can make the same."""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.toolkit.models.key_templates import KeyForm, can_be_equal, parse_key_template, template


@pytest.mark.parametrize(
    ("text", "filled"),
    [("A#{a}", "A#1"), ("{a}", "1"), ("A", "A"), ("{a}#{b}#", "1#2#"), ("{a}{b}", "12"), ("", ""), ("{a}A{a}", "1A1")],
)
def test_a_template_is_filled(text: str, filled: str) -> None:
    assert template(text).fill({"a": 1, "b": "2"}) == filled


@pytest.mark.parametrize("text", ["{", "}", "{}", "{{a}}", "a}", "{a}{", "{a{b}}"])
def test_braces_need_their_partners(text: str) -> None:
    assert parse_key_template(text) is None


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        ("A", "A", True),
        ("A", "B", False),
        ("A", "AA", False),
        ("A#{x}", "A#{y}", True),
        ("A#{x}", "B#{y}", False),
        ("A#{x}", "A#1", True),
        ("A#{x}", "A#", False),  # a place has at least one character
        ("{x}", "A#{y}", False),  # values hold no separator
        ("{x}", "A", True),
        ("{x}#{y}", "A#{z}", True),
        ("{x}#{y}", "A#{z}#B", False),
        ("A#{x}#C", "A#B#{y}", True),
        ("A#{x}#C", "A#B#{y}#D", False),
        ("{x}_B", "A_{y}", True),
        ("{x}{y}", "A", False),
        ("{x}{y}", "AB", True),
        ("TASK#{x}", "TASKS#{x}", False),
        ("{x}AB", "{y}BB", False),
        ("A{x}B{y}C", "{z}", True),
    ],
)
def test_templates_meet_if_a_text_is_of_both(first: str, second: str, is_equal: bool) -> None:
    one, other = template(first).form({}), template(second).form({})
    assert can_be_equal(one, other) is is_equal
    assert can_be_equal(other, one) is is_equal


def form_of(parts: list[str | None]) -> KeyForm:
    """The form of a template whose parts are texts and, where None, places."""
    return template("".join("{x}" if part is None else part for part in parts)).form({})


def matches(parts: list[str | None], text: str) -> bool:
    return re.fullmatch("".join("[^#]+" if part is None else re.escape(part) for part in parts), text) is not None


TEXTS = ["".join(one) for length in range(6) for one in product("AB#", repeat=length)]
PARTS = st.sampled_from(["A", "B", "#", None])


@settings(deadline=None, max_examples=200)
@given(st.lists(PARTS, max_size=3), st.lists(PARTS, max_size=3))
def test_forms_are_equal_exactly_if_some_text_matches_both(first: list[str | None], second: list[str | None]) -> None:
    """The shortest text that matches both has at most 5 characters: a part of either needs one, and they share some."""
    some = any(matches(first, text) and matches(second, text) for text in TEXTS)
    assert can_be_equal(form_of(first), form_of(second)) is some
    assert can_be_equal(form_of(second), form_of(first)) is some


def test_how_values_begin_tells_them_apart() -> None:
    first, second = template("{x}").form({"x": "USER-"}), template("{y}").form({"y": "ORDER-"})
    assert not can_be_equal(first, second)
    assert can_be_equal(first, template("USER-1").form({}))
