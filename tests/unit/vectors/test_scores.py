"""Are the scores of several vectors at once those of one vector after the other, to the last bit?"""

import random
import sys
from math import pow as power
from struct import pack

import numpy as np
import pytest

from hashrange.vectors.ranking import Distance, scorer
from hashrange.vectors.scores import VectorScores, compensated_sums, plain_sums

DISTANCES: tuple[Distance, ...] = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
SEEDS = 60
LARGEST, SMALLEST = 3.4028234663852886e38, 1e-45


def a_number(chance: random.Random, kind: str) -> float:
    """A number of a vector: all of one size, of very different ones, or from the ends of the range."""
    if kind == "alike":
        return chance.gauss(0, 1)
    if kind == "unlike":
        return chance.choice((-1.0, 1.0)) * power(10.0, chance.uniform(-44, 38))
    return chance.choice((0.0, -0.0, SMALLEST, -SMALLEST, LARGEST, -LARGEST, 1.0, -1.0))


def drawn(seed: int) -> list[bytes]:
    """Vectors of one number of dimensions, among them one twice, its half, its negative, and zeros."""
    chance = random.Random(seed)
    dimensions = chance.choice((1, 2, 3, 17, 384, 1_536))
    kind = ("alike", "unlike", "ends")[seed % 3]
    rows = [[a_number(chance, kind) for _ in range(dimensions)] for _ in range(8)]
    first = rows[0]
    rows += [first, [number / 2 for number in first], [-number for number in first], [0.0] * dimensions]
    return [pack(f"<{dimensions}f", *row) for row in rows]


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_scores_have_the_same_bits(distance: Distance, seed: int) -> None:
    vectors = drawn(seed)
    rows = np.array([np.frombuffer(vector, "<f4") for vector in vectors])
    for wanted in vectors:
        score = scorer(distance, wanted)
        expected = [score(vector) for vector in vectors]
        # Texts tell 0.0 from -0.0.
        assert list(map(repr, VectorScores(distance, wanted).of(rows))) == list(map(repr, expected))


def neumaier_sum(numbers: list[float]) -> float:
    """The sum of Python 3.12 and later, step by step."""
    total, lost = 0.0, 0.0
    for number in numbers:
        after = total + number
        lost += (total - after) + number if abs(total) >= abs(number) else (number - after) + total
        total = after
    return total + lost


def left_to_right_sum(numbers: list[float]) -> float:
    """The sum of Python 3.11, step by step."""
    total = 0.0
    for number in numbers:
        total += number
    return total


@pytest.mark.parametrize("seed", range(SEEDS))
def test_sums_are_those_of_python_of_either_version(seed: int) -> None:
    chance = random.Random(seed)
    width = chance.choice((1, 2, 5, 100, 2_000))
    kind = ("alike", "unlike", "ends")[seed % 3]
    rows = [[a_number(chance, kind) * a_number(chance, kind) for _ in range(width)] for _ in range(9)]
    numbers = np.array(rows)
    assert list(map(repr, plain_sums(numbers).tolist())) == [repr(left_to_right_sum(row)) for row in rows]
    assert list(map(repr, compensated_sums(numbers).tolist())) == [repr(neumaier_sum(row)) for row in rows]
    own = neumaier_sum if sys.version_info >= (3, 12) else left_to_right_sum
    assert [sum(row) for row in rows] == [own(row) for row in rows]
