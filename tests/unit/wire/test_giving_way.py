"""Types and constraints of very many, or very long, texts are checked in pieces; counted by the looks that this takes."""

from typing import Any

import pytest

from hashrange import steps
from hashrange.errors import SerializationException
from hashrange.steps import TOGETHER_MEMBERS
from hashrange.wire.jsontypes import VALUE_MEMBERS, normalise

COUNT = 16 * TOGETHER_MEMBERS


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One element for every look."""
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
