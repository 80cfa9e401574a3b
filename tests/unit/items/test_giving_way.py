"""Validation of large sets and binaries gives way to other requests; measured by the number of calls of `look`."""

import base64
import contextlib
import random
from binascii import a2b_base64, b2a_base64
from functools import partial
from typing import Any

import pytest

from hashrange.errors import Malformed, RequestFault
from hashrange.items import steps
from hashrange.items.binary import PIECE_CHARACTERS, decode_base64
from hashrange.items.numbers import normalize_number
from hashrange.items.sets import canonical_binary_set, canonical_string_set
from hashrange.items.steps import TOGETHER_MEMBERS
from hashrange.items.values import check_item
from hashrange.limits import MESSAGE_CHARACTERS_MAX
from tests.support.working import lines_between_looks


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """A list that gets one element for each call of `steps._look`."""
    seen: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: seen.append(None))
    return seen


COUNT = 16 * TOGETHER_MEMBERS


def test_a_large_string_set_gives_way_before_it_is_sorted(looks: list[None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.items.sets.sort", sorted)
    members = [str(number) for number in range(COUNT)]
    assert canonical_string_set(members) == (sorted(members), sum(map(len, members)))
    assert len(looks) >= 2 * (COUNT // TOGETHER_MEMBERS)


@pytest.mark.parametrize("wrong", [1, None, ["a"], {}])
@pytest.mark.parametrize("place", [0, TOGETHER_MEMBERS + 1, COUNT])
def test_what_is_no_text_is_found_in_every_piece(place: int, wrong: object) -> None:
    members: list[object] = [str(number) for number in range(COUNT)]
    members.insert(place, wrong)
    with pytest.raises(Malformed):
        canonical_string_set(members)


@pytest.mark.parametrize("walk_set", [canonical_string_set, canonical_binary_set])
def test_a_set_with_repeats_is_told_as_far_as_a_message_goes(walk_set: object, looks: list[None]) -> None:
    assert callable(walk_set)
    texts = [base64.b64encode(number.to_bytes(15, "big")).decode() for number in range(COUNT)]
    with pytest.raises(RequestFault) as caught:
        walk_set([*texts, texts[0]])
    for message in (caught.value.message or "", caught.value.older_message or ""):
        assert MESSAGE_CHARACTERS_MAX < len(message) < 4 * MESSAGE_CHARACTERS_MAX
    assert len(looks) >= COUNT // 200


def test_an_item_of_many_attributes_gives_way(looks: list[None]) -> None:
    texts = {f"a{number}": {"S": ""} for number in range(COUNT)}
    few = {"a": {"N": "1"}, "b": {"S": ""}}
    for item in (texts, {"m": {"M": texts}}, {f"m{number}": {"M": few} for number in range(COUNT // 2)}):
        looks.clear()
        assert check_item(item)[0] is item
        assert len(looks) >= COUNT // 200


@pytest.mark.parametrize("walk_set", [canonical_string_set, canonical_binary_set])
def test_a_set_of_one_short_text_gives_way_while_it_is_told(walk_set: Any) -> None:
    """A message of 50,000 members was written in one step."""
    assert 0 < lines_between_looks(partial(walk_set, [base64.b64encode(b"a").decode()] * 100_000)) < 10_000


def test_the_message_of_one_huge_member_is_short() -> None:
    with pytest.raises(RequestFault) as caught:
        canonical_string_set(["a" * 10 * MESSAGE_CHARACTERS_MAX] * 2)
    assert MESSAGE_CHARACTERS_MAX < len(caught.value.message or "") < 4 * MESSAGE_CHARACTERS_MAX


def test_a_long_binary_gives_way(looks: list[None]) -> None:
    pieces = 16
    decoded = random.Random(1).randbytes(pieces * PIECE_CHARACTERS // 4 * 3 + 1)
    assert decode_base64(base64.b64encode(decoded).decode()) == decoded
    assert len(looks) >= pieces


def is_canonical(text: str) -> bool:
    """True if decoding `text` from Base64 and encoding it again, in one piece, returns `text`."""
    try:
        return b2a_base64(a2b_base64(text), newline=False).decode() == text
    except ValueError:
        return False


@pytest.mark.parametrize(
    "end", ["", "AAAA", "AA==", "AAA=", "A===", "AAA", "AAA\n", "AAAé", "AB==", "AAB=", "****", "-_-_"]
)
@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_a_long_binary_is_taken_and_refused_as_a_short_one(pieces: int, end: str) -> None:
    whole = "A" * (pieces * PIECE_CHARACTERS)
    for text in (whole + end, whole[len(end) :] + end, whole[len(end) :] + end + whole, whole + end + "AA=="):
        if is_canonical(text):
            assert decode_base64(text) == a2b_base64(text)
        else:
            with pytest.raises(Malformed):
                decode_base64(text)


@pytest.mark.parametrize(
    "text",
    [
        "0" * 2**20 + "1",
        "1" * 2**20,
        "0." + "0" * 2**20,
        "1" + "0" * 2**20 + "E-1048576",
        "1E" + "0" * 2**20,
        "1" * 2**20 + "x",
    ],
    ids=["zeros before", "digits", "zeros behind", "zeros of a large number", "zeros of an exponent", "no number"],
)
def test_a_long_number_gives_way(text: str, looks: list[None]) -> None:
    with contextlib.suppress(RequestFault):
        normalize_number(text)
    assert len(looks) >= 14


def test_many_numbers_of_some_length_give_way(looks: list[None]) -> None:
    for _ in range(16):
        normalize_number("0" * 60_000 + "1")
    assert len(looks) >= 15


@pytest.mark.parametrize("seed", range(10))
def test_a_long_number_is_what_a_short_one_is(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    for _ in range(500):
        zeros, digits = "0" * chance.randrange(40), "".join(chance.choices("0019", k=chance.randrange(45)))
        text = chance.choice(("", "-", "+")) + zeros + digits + "0" * chance.randrange(40)
        text += chance.choice(("", ".", "." + zeros + digits, ".5" + zeros, "..", "x", "\u0661"))
        text += chance.choice(("", "", "e5", "E-" + zeros + "7", "e+", "e", "E99999999999", "ee1", "e1.5", "-1"))
        answers = []
        for piece_characters in (10**6, 7):
            monkeypatch.setattr("hashrange.items.numbers._PIECE_CHARACTERS", piece_characters)
            try:
                answers.append((normalize_number(text), ""))
            except RequestFault as fault:
                answers.append((str(fault), fault.older_message))
        assert answers[0] == answers[1], text
