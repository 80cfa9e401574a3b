"""The size of a change is the difference of two item sizes, however much structure the values share."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.items import sizes
from hashrange.items.sizes import value_change_bytes, value_size_bytes
from hashrange.items.values import check_value
from tests.unit.items.wire_values import SETTINGS, values


def changed(value: dict[str, Any], other: dict[str, Any], source: random.Random) -> dict[str, Any]:
    """A copy that shares unchanged parts with `value`: at some depth, `other` replaces a member, is added, or a
    member is removed."""
    members = value.get("M")
    if not members or source.random() < 0.2:
        return other
    copy = members.copy()
    name = source.choice(sorted(copy))
    match source.randrange(4):
        case 0:
            del copy[name]
        case 1:
            copy[name + "+"] = other
        case _:
            copy[name] = changed(copy[name], other, source)
    return {"M": copy}


@settings(**SETTINGS, max_examples=150)
@given(old=values, other=values, seed=st.integers(0, 1000))
def test_a_change_is_the_difference_of_two_sizes(old: dict[str, Any], other: dict[str, Any], seed: int) -> None:
    before, replacement = check_value({"M": {"m": old}})[0], check_value(other)[0]
    after = changed(before, replacement, random.Random(seed))
    assert value_change_bytes(before, after) == value_size_bytes(after) - value_size_bytes(before)
    assert value_change_bytes(after, before) == value_size_bytes(before) - value_size_bytes(after)
    assert value_change_bytes(before, before) == 0


def text(number: int) -> dict[str, Any]:
    return {"S": "x" * number}


@pytest.mark.parametrize("count", [1, 5, 300, 3000])
@pytest.mark.parametrize("at", [0, 1, 2999])
def test_lists_that_share_members(count: int, at: int) -> None:
    """As updates make them: members replaced, removed, put in, and the list put behind itself."""
    members = [text(number % 7) for number in range(count)]
    at = min(at, count - 1)
    replaced = [*members[:at], {"L": [text(50)]}, *members[at + 1 :]]
    removed = members[:at] + members[at + 1 :]
    for changed in (
        replaced,
        removed,
        [],
        members[::-1],
        members + members,
        [text(3), *members, text(4)],
        removed[::2],
    ):
        before, after = {"L": members}, {"L": changed}
        assert value_change_bytes(before, after) == value_size_bytes(after) - value_size_bytes(before)
        assert value_change_bytes(after, before) == value_size_bytes(before) - value_size_bytes(after)


@pytest.mark.parametrize("change", ["replace", "append", "prepend", "remove"])
def test_members_that_a_list_keeps_are_not_measured(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def count_text(text: str) -> int:
        measured.append(text)
        return len(text)

    monkeypatch.setattr(sizes, "text_size_bytes", count_text)
    members = [text(1) for _ in range(3000)]
    changed = {
        "replace": [*members[:1000], text(2), *members[1001:]],
        "append": [*members, text(2)],
        "prepend": [text(2), *members],
        "remove": members[:1000] + members[1001:],
    }[change]
    value_change_bytes({"L": members}, {"L": changed})
    assert len(measured) <= 2
