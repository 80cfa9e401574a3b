"""How similar are several vectors to the one that is searched for? Their scores are those of `ranking.py`, which scores
one vector after the other, to the last bit: the same products, added in the same order. Needs numpy.

Products of 32-bit floats are exact as 64-bit floats. `sum` adds floats from left to right, as `np.add.accumulate` does,
and since Python 3.12 also what the additions have lost (Neumaier's sum).
"""

import sys
from collections.abc import Callable
from math import dist

import numpy as np

from hashrange.limits import FLOAT32_MAX
from hashrange.vectors.blocks import DoubleArray, FloatArray
from hashrange.vectors.ranking import COSINE_MAX, UNRELATED, Distance


class VectorScores:
    """Scores against one vector."""

    def __init__(self, distance: Distance, vector: bytes) -> None:
        """`vector`: the 32-bit floats that are searched for."""
        self._wide: DoubleArray = np.frombuffer(vector, "<f4").astype(np.float64)
        self._square = _SUMS((self._wide * self._wide)[None, :])
        self._own = tuple(self._wide.tolist())
        self._score = {"COSINE": self._cosines, "DOT_PRODUCT": self._products, "EUCLIDEAN": self._distances}[distance]

    def of(self, floats: FloatArray) -> list[float]:
        """The score of each row. Of 384 dimensions 5 µs each for COSINE, 2 for DOT_PRODUCT, 9 for EUCLIDEAN."""
        scores: list[float] = np.clip(self._score(floats.astype(np.float64)), -FLOAT32_MAX, FLOAT32_MAX).tolist()
        return scores

    def _products(self, wide: DoubleArray) -> DoubleArray:
        return _SUMS(wide * self._wide)

    def _cosines(self, wide: DoubleArray) -> DoubleArray:
        squares = self._square * _SUMS(wide * wide)
        are_zeros = squares == 0.0
        cosines = self._products(wide) / np.sqrt(np.where(are_zeros, 1.0, squares))
        scores: DoubleArray = np.where(are_zeros, UNRELATED, np.clip(1.0 - cosines, 0.0, COSINE_MAX))
        return scores

    def _distances(self, wide: DoubleArray) -> DoubleArray:
        return np.array([dist(self._own, tuple(row)) for row in wide.tolist()])


def plain_sums(numbers: DoubleArray) -> DoubleArray:
    """The sum of each row, added from left to right."""
    # Adding 0 makes a sum of negative zeros 0, as Python's sum is.
    sums: DoubleArray = np.add.accumulate(numbers, axis=1)[:, -1] + 0.0
    return sums


def compensated_sums(numbers: DoubleArray) -> DoubleArray:
    """The sum of each row, added from left to right, with what each addition has lost."""
    sums = np.add.accumulate(numbers, axis=1)
    before, added, after = sums[:, :-1], numbers[:, 1:], sums[:, 1:]
    rounded = after - before
    lost = (before - (after - rounded)) + (added - rounded)
    result: DoubleArray = sums[:, -1] + 0.0
    if lost.shape[1]:
        result += np.add.accumulate(lost, axis=1)[:, -1]
    return result


_SUMS: Callable[[DoubleArray], DoubleArray] = compensated_sums if sys.version_info >= (3, 12) else plain_sums
