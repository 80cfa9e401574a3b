"""Which entries are most similar to a vector? Compared with captures, and with a naive computation."""

import random
from math import isclose, sqrt
from struct import unpack

import pytest

from hashrange.items import steps
from hashrange.items.types import Row
from hashrange.limits import FLOAT32_MAX
from hashrange.vectors.floats import pack_floats
from hashrange.vectors.ranking import Distance, ranked

DISTANCES: tuple[Distance, ...] = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
FIXTURE = {"a": ("1", "0", "0"), "b": ("0", "1", "0"), "c": ("-1", "0", "0"), "d": ("0.6", "0.8", "0")}
"""The vectors of a capture, searched for (1, 0, 0); sources: vectors.md 10."""


def packed(*numbers: float | str) -> bytes:
    floats = pack_floats([str(number) for number in numbers])
    assert floats is not None
    return floats


def scores(vectors: dict[str, bytes], distance: Distance, wanted: bytes, top_k: int = 100) -> list[tuple[str, float]]:
    """Name and score of each vector found, most similar first."""
    found = ranked([(Row(name.encode()), vector) for name, vector in vectors.items()], distance, wanted, top_k)
    return [(entry.row.decode(), entry.score) for entry in found]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("COSINE", [("a", 0.0), ("d", 0.4), ("b", 1.0), ("c", 2.0)]),
        ("EUCLIDEAN", [("a", 0.0), ("d", sqrt(0.8)), ("b", sqrt(2)), ("c", 2.0)]),
        ("DOT_PRODUCT", [("a", 1.0), ("d", 0.6), ("b", 0.0), ("c", -1.0)]),
    ],
)
def test_scores_of_the_service(distance: Distance, expected: list[tuple[str, float]]) -> None:
    found = scores({name: packed(*numbers) for name, numbers in FIXTURE.items()}, distance, packed(1, 0, 0))
    assert [name for name, _ in found] == [name for name, _ in expected]
    for (_, score), (_, wanted) in zip(found, expected, strict=True):
        if wanted == int(wanted):
            assert score == wanted
        else:
            assert isclose(score, wanted, rel_tol=0, abs_tol=5e-7)


@pytest.mark.parametrize("distance", DISTANCES)
def test_only_the_best_are_found(distance: Distance) -> None:
    vectors = {name: packed(*numbers) for name, numbers in FIXTURE.items()}
    whole = scores(vectors, distance, packed(1, 0, 0))
    for top_k in range(1, 6):
        assert scores(vectors, distance, packed(1, 0, 0), top_k) == whole[:top_k]
    assert scores({}, distance, packed(1, 0, 0)) == []


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("top_k", [1, 2, 3])
def test_of_equal_scores_the_first_entries_are_found(distance: Distance, top_k: int) -> None:
    vectors = {name: packed(0, 1) for name in ("k", "b", "x", "a")}
    assert [name for name, _ in scores(vectors, distance, packed(1, 1), top_k)] == ["k", "b", "x"][:top_k]


def test_a_vector_of_the_same_numbers_has_the_cosine_score_zero() -> None:
    dealt = random.Random(3)
    for _ in range(300):
        numbers = [dealt.uniform(-1, 1) * 10 ** dealt.randint(-30, 30) for _ in range(dealt.randint(1, 50))]
        assert scores({"same": packed(*numbers)}, "COSINE", packed(*numbers)) == [("same", 0.0)]
        opposite = packed(*[-number for number in numbers])
        assert scores({"opposite": opposite}, "COSINE", packed(*numbers)) == [("opposite", 2.0)]


def test_a_vector_of_zeros_has_no_direction() -> None:
    zeros = packed(0, 0)
    assert scores({"zeros": zeros, "other": packed(1, 2)}, "COSINE", zeros) == [("zeros", 1.0), ("other", 1.0)]
    assert scores({"zeros": zeros}, "COSINE", packed(1, 2)) == [("zeros", 1.0)]
    assert scores({"zeros": zeros}, "EUCLIDEAN", zeros) == [("zeros", 0.0)]


def test_a_score_is_never_beyond_a_32_bit_float() -> None:
    largest = packed(*["3.4028235E38"] * 3)
    smallest = packed(*["-3.4028235E38"] * 3)
    assert scores({"x": largest}, "DOT_PRODUCT", largest) == [("x", FLOAT32_MAX)]
    assert scores({"x": smallest}, "DOT_PRODUCT", largest) == [("x", -FLOAT32_MAX)]
    assert scores({"x": smallest}, "EUCLIDEAN", largest) == [("x", FLOAT32_MAX)]
    assert scores({"x": largest}, "COSINE", largest) == [("x", 0.0)]
    tiny = packed("1e-45", "1e-45")
    assert scores({"x": tiny}, "COSINE", tiny) == [("x", 0.0)]


def naive(distance: Distance, one: bytes, other: bytes) -> float:
    left, right = (list[float](unpack(f"<{len(floats) // 4}f", floats)) for floats in (one, other))
    product = sum(a * b for a, b in zip(left, right, strict=True))
    if distance == "DOT_PRODUCT":
        return product
    if distance == "EUCLIDEAN":
        return sqrt(sum((a - b) ** 2 for a, b in zip(left, right, strict=True)))
    return 1 - product / sqrt(sum(a * a for a in left)) / sqrt(sum(b * b for b in right))


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_naive_computation_agrees(distance: Distance) -> None:
    dealt = random.Random(5)
    for _ in range(30):
        dimensions = dealt.randint(1, 40)
        wanted = packed(*[dealt.gauss(0, 1) for _ in range(dimensions)])
        vectors = {str(place): packed(*[dealt.gauss(0, 1) for _ in range(dimensions)]) for place in range(40)}
        expected = {name: naive(distance, wanted, vector) for name, vector in vectors.items()}
        found = scores(vectors, distance, wanted)
        assert sorted(name for name, _ in found) == sorted(vectors)
        for name, score in found:
            assert isclose(score, expected[name], rel_tol=1e-9, abs_tol=1e-9)
        ordered = [score for _, score in found]
        assert ordered == sorted(ordered, reverse=distance == "DOT_PRODUCT")


def test_ranking_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    vector = packed(*[1] * 1_600)
    ranked([(Row(b""), vector)] * 100, "COSINE", vector, 10)
    assert len(looks) >= 90
