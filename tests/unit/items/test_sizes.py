"""The size of a change is the difference of two item sizes, however much structure the values share."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

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


@settings(**SETTINGS, max_examples=300)
@given(old=values, other=values, seed=st.integers(0, 1000))
def test_a_change_is_the_difference_of_two_sizes(old: dict[str, Any], other: dict[str, Any], seed: int) -> None:
    before, replacement = check_value({"M": {"m": old}})[0], check_value(other)[0]
    after = changed(before, replacement, random.Random(seed))
    assert value_change_bytes(before, after) == value_size_bytes(after) - value_size_bytes(before)
    assert value_change_bytes(after, before) == value_size_bytes(before) - value_size_bytes(after)
    assert value_change_bytes(before, before) == 0
