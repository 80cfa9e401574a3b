"""contains() on long texts and binaries: is a part found in linear time, where Python's own search
would need quadratic time?
"""

from base64 import b64encode
from random import Random
from typing import Any

import pytest

from hashrange.expressions import values
from hashrange.expressions.values import NAIVE_PLACES_MAX, QUICK_COMPARISONS, SURELY_QUICK_LENGTH, contains

LONG = 30_000


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def holds(whole: str, part: str) -> bool:
    """Whether `part` is contained in `whole`; asserts the same result for both as binaries."""
    found = contains({"S": whole}, {"S": part})
    in_bytes = contains({"B": _base64(whole)}, {"B": _base64(part)})
    assert found is in_bytes
    return found


@pytest.mark.parametrize("seed", range(30))
def test_it_is_found_where_it_is(seed: int) -> None:
    chance = Random(seed)
    letters = chance.choice(["a", "ab", "abc", "aé"])
    for _ in range(20):
        length = chance.choice([0, 1, 10, SURELY_QUICK_LENGTH, LONG])
        whole = "".join(chance.choices(letters, k=length))
        part_length = chance.choice(
            [0, 1, length // 3, length // 2, max(0, length - NAIVE_PLACES_MAX), length, length + 1]
        )
        start = chance.randrange(length - part_length + 1) if part_length <= length else 0
        part = whole[start : start + part_length] + "a" * (part_length - length)
        if part and chance.random() < 0.5:
            place = chance.randrange(len(part))
            part = part[:place] + chance.choice("abc") + part[place + 1 :]
        assert holds(whole, part) is (part in whole)


@pytest.mark.parametrize("places", [1, 2, 100, NAIVE_PLACES_MAX, NAIVE_PLACES_MAX + 1, LONG // 2])
@pytest.mark.parametrize("last", ["a", "b"])
def test_a_long_part_that_nearly_fits_everywhere(monkeypatch: pytest.MonkeyPatch, places: int, last: str) -> None:
    """The search lengthens the text only where naive comparison could take long."""
    spent: list[int] = []
    monkeypatch.setattr(values, "spend", spent.append)
    whole = "a" * LONG
    part = "a" * (LONG - places) + last
    assert contains({"S": whole}, {"S": part}) is (last == "a")
    comparisons = min(places, NAIVE_PLACES_MAX) * len(part)
    lengthened = (LONG + 3 * len(part)) >> 7
    assert spent == [lengthened if comparisons > QUICK_COMPARISONS else LONG >> 8]


def test_what_only_the_lengthened_text_holds_is_not_found() -> None:
    whole = "a" * LONG
    values: dict[str, Any] = {"S": whole + "a"}
    assert not contains({"S": whole}, values)
    assert not contains({"S": "b" + whole[1:]}, {"S": whole[NAIVE_PLACES_MAX:] + "ab"})
