"""Counted steps: walks lose and reorder nothing, looks come often enough,
and sorting in pieces gives the sorted order.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hashrange.items import steps
from hashrange.items.numbers import encode_number
from hashrange.items.steps import LOOK_STEPS, PIECE_MEMBERS, SORTED_MEMBERS, look, sort, spend, undisturbed, walk


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A list that gets one element for each call of `steps._look`."""
    seen: list[int] = []
    monkeypatch.setattr(steps, "_look", lambda: seen.append(len(seen)))
    monkeypatch.setattr(steps, "_left", LOOK_STEPS)
    yield seen


@pytest.mark.parametrize("count", [0, 1, PIECE_MEMBERS, PIECE_MEMBERS + 1, 1_000])
def test_a_walk_meets_every_member_in_order(count: int) -> None:
    members = [str(number) for number in range(count)]
    assert list(walk(members)) == members
    assert list(walk(dict.fromkeys(members).items())) == [(member, None) for member in members]


def test_a_long_walk_looks_now_and_then(looks: list[int]) -> None:
    at = [len(looks) for _ in walk(range(10 * LOOK_STEPS))]
    assert at == sorted(at)
    assert 8 <= at[-1] <= 10


def test_many_short_walks_look_as_one_long_one_does(looks: list[int]) -> None:
    for _ in range(10 * LOOK_STEPS):
        list(walk(()))
    assert 8 <= len(looks) <= 10


def test_a_large_step_is_looked_at_at_once(looks: list[int]) -> None:
    spend(LOOK_STEPS + 1)
    assert len(looks) == 1


def test_what_is_undisturbed_does_not_look(looks: list[int]) -> None:
    with undisturbed:
        look()
    assert not looks
    look()
    assert len(looks) == 1


def test_threads_that_are_undisturbed_at_the_same_time_do_not_affect_each_other(looks: list[int]) -> None:
    with ThreadPoolExecutor(1) as other_thread:
        with undisturbed:
            other_thread.submit(look).result()
            assert len(looks) == 1
            other_thread.submit(undisturbed.__enter__).result()
        look()
        assert len(looks) == 2
        other_thread.submit(look).result()
        assert len(looks) == 2
        other_thread.submit(undisturbed.__exit__).result()
        other_thread.submit(look).result()
        assert len(looks) == 3


@pytest.mark.parametrize("seed", range(5))
def test_sorting_in_pieces_is_sorting(seed: int, looks: list[int]) -> None:
    chance = random.Random(seed)
    texts = [f"{chance.randrange(10**6)}" for _ in range(3 * SORTED_MEMBERS)]
    assert sort(texts) == sorted(texts)
    numbers = [str(chance.randrange(-(10**9), 10**9)) for _ in range(3 * SORTED_MEMBERS)]
    assert sort(numbers, encode_number) == sorted(numbers, key=int)
    repeated = numbers + numbers[:10]
    assert sort(repeated, encode_number) == sorted(repeated, key=int)
    assert len(looks) > 10
