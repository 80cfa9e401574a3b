"""Which entries of a vector index are most similar to a vector? Exact search: every entry is compared.

Elements are 32-bit floats, sums have 64 bits, and a score is held to the range of a 32-bit float. COSINE and EUCLIDEAN
are distances, of which the smallest are the best; of DOT_PRODUCT, the greatest. Two vectors of the same numbers have
the COSINE score 0 exactly, and a vector of zeros has 1 to all. Of entries with equal scores, those that come first are
better. Source: vectors.md 10.
"""

from collections.abc import Callable, Iterable
from heapq import heappush, heapreplace
from math import dist, sqrt
from operator import mul
from typing import Literal, NamedTuple

from hashrange.items.steps import spend
from hashrange.items.types import Row
from hashrange.limits import FLOAT32_MAX
from hashrange.vectors.floats import FLOAT_BYTES, unpack_floats

Distance = Literal["COSINE", "DOT_PRODUCT", "EUCLIDEAN"]
Score = Callable[[bytes], float]
"""A function from a vector's floats to its score against the vector that is searched for."""

ELEMENTS_PER_STEP = 16
"""Elements of a vector whose comparison counts as one step."""
COSINE_MAX = 2.0
UNRELATED = 1.0
"""The COSINE score of a vector of zeros, which has no direction."""


class RankedRow(NamedTuple):
    """An entry of a vector index that a search has found."""

    row: Row
    score: float


class Ranking:
    """The best entries that a search has seen so far."""

    def __init__(self, distance: Distance, vector: bytes, top_k: int) -> None:
        """`vector`: the floats that are searched for; `top_k`: how many entries are wanted, at least 1."""
        self._score, self._sign = scorer(distance, vector), sign_of(distance)
        self._top_k = top_k
        self._steps = 1 + len(vector) // FLOAT_BYTES // ELEMENTS_PER_STEP
        self._seen_count = 0
        self._best: list[tuple[float, int, RankedRow]] = []
        """A heap: merit, negative place among the entries seen, entry. The first is the worst of the best."""

    def see(self, row: Row, vector: bytes) -> None:
        """Compare one more entry, whose vector has the length of the one searched for. Gives way."""
        spend(self._steps)
        score = self._score(vector)
        merit = self._sign * score
        self._seen_count += 1
        if len(self._best) < self._top_k:
            heappush(self._best, (merit, -self._seen_count, RankedRow(row, score)))
        elif merit > self._best[0][0]:
            heapreplace(self._best, (merit, -self._seen_count, RankedRow(row, score)))

    def result(self) -> list[RankedRow]:
        """The best entries, most similar first."""
        return [entry for _, _, entry in sorted(self._best, reverse=True)]


def ranked(entries: Iterable[tuple[Row, bytes]], distance: Distance, vector: bytes, top_k: int) -> list[RankedRow]:
    """The `top_k` entries, each given with its vector, that are most similar to `vector`; gives way."""
    ranking = Ranking(distance, vector, top_k)
    for row, floats in entries:
        ranking.see(row, floats)
    return ranking.result()


# --- scores -------------------------------------------------------------------------------------


def scorer(distance: Distance, vector: bytes) -> Score:
    """A function that scores vectors against `vector`."""
    score = _SCORES[distance](vector)
    return lambda other: max(-FLOAT32_MAX, min(FLOAT32_MAX, score(other)))


def sign_of(distance: Distance) -> float:
    """The factor by which a score is multiplied, so that greater ones are better."""
    return 1.0 if distance == "DOT_PRODUCT" else -1.0


def _cosine_to(wanted: bytes) -> Score:
    own = list(unpack_floats(wanted))
    own_square = sum(map(mul, own, own))
    if not own_square:
        return lambda _: UNRELATED

    def score(vector: bytes) -> float:
        other = list(unpack_floats(vector))
        squares = own_square * sum(map(mul, other, other))
        if not squares:
            return UNRELATED
        # The root of the product, and not the product of roots: that of a square is exact.
        cosine = float(sum(map(mul, own, other))) / sqrt(squares)
        return max(0.0, min(COSINE_MAX, 1.0 - cosine))

    return score


def _product_with(wanted: bytes) -> Score:
    own = list(unpack_floats(wanted))
    return lambda vector: float(sum(map(mul, own, unpack_floats(vector))))


def _distance_to(wanted: bytes) -> Score:
    own = tuple(unpack_floats(wanted))
    return lambda vector: float(dist(own, tuple(unpack_floats(vector))))


_SCORES: dict[Distance, Callable[[bytes], Score]] = {
    "COSINE": _cosine_to,
    "DOT_PRODUCT": _product_with,
    "EUCLIDEAN": _distance_to,
}
