"""How similar can a vector be at most, given its 32-bit product with the one that is searched for? Bounds of merits,
which are greater for better entries, so that only few vectors need to be scored exactly.

A sum of n products of 32-bit floats, in any order and with fused additions or without, differs from the true one by at
most n · 2⁻²⁴ / (1 - n · 2⁻²⁴) times the product of both vectors' lengths, and by n times the smallest normal number
where numbers underflow (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). The vector that is searched for
is scaled to the length 1 and rounded, which adds one to n. All margins here are larger: a tenth for that of 32 bits,
and 16 times those of 64 bits, which also cover the rounding of the exact scores. Products that are infinite or no
numbers have no bound.

The merit of a distance between two points is the negative of its square.
"""

from math import inf, sqrt

import numpy as np

from hashrange.limits import FLOAT32_MAX
from hashrange.vectors.blocks import DoubleArray, FloatArray
from hashrange.vectors.ranking import Distance

_TINY = 2.0**-120
_SQUARE_MAX = FLOAT32_MAX * FLOAT32_MAX
_SURELY_LOWER = 1.0 + 2.0**-40


class MeritBounds:
    """Upper bounds of merits in one search."""

    def __init__(self, distance: Distance, vector: bytes) -> None:
        """`vector`: the 32-bit floats that are searched for."""
        self._distance = distance
        self._wide: DoubleArray = np.frombuffer(vector, "<f4").astype(np.float64)
        self.length = sqrt(float(self._wide @ self._wide))
        """The length of the vector."""
        self.column: FloatArray = (self._wide / (self.length or 1.0)).astype(np.float32)[:, None]
        """The vector with the length 1, as one column. Vectors are multiplied by it for `upper`."""
        count = len(self._wide)
        self._of_32_bits = (count + 8) * 2.0**-24 * 1.1
        self._of_64_bits = (count + 8) * 2.0**-49
        self._tiny = count * _TINY

    def upper(self, products: FloatArray, lengths: DoubleArray) -> DoubleArray:
        """Upper bounds of the merits of vectors with these products and lengths; minus infinity for free places."""
        with np.errstate(all="ignore"):
            bounds = self._upper(products.astype(np.float64), lengths, self._of_32_bits + self._of_64_bits)
            are_bounded, are_free = np.isfinite(products), np.isnan(lengths)
            if not are_bounded.all():
                bounds[~are_bounded] = np.inf
            if are_free.any():
                bounds[are_free] = -np.inf
        return bounds

    def _upper(self, products: DoubleArray, lengths: DoubleArray, relative: float) -> DoubleArray:
        own = self.length
        bounds: DoubleArray
        if self._distance == "COSINE":
            divisors = np.where(lengths == 0.0, 1.0, lengths)
            return (products + self._tiny) / divisors + (relative - 1.0)
        margins = relative * lengths + self._tiny
        if self._distance == "DOT_PRODUCT":
            bounds = np.clip(own * (products + margins), -FLOAT32_MAX, FLOAT32_MAX)
            return bounds
        squares = lengths * lengths + own * own
        bounds = np.maximum(2.0 * own * (products + margins) - squares * (1.0 - self._of_64_bits), -_SQUARE_MAX)
        return bounds

    def close_upper(self, floats: FloatArray, lengths: DoubleArray) -> DoubleArray:
        """Upper bounds that differ from the merits by the rounding of 64-bit floats only. 0.5 µs for 384 dimensions."""
        wide = floats.astype(np.float64)
        if self._distance == "EUCLIDEAN":
            wide -= self._wide
            squares: DoubleArray = np.einsum("ij,ij->i", wide, wide)
            closest: DoubleArray = np.maximum(-squares * (1.0 - self._of_64_bits), -_SQUARE_MAX)
            return closest
        with np.errstate(all="ignore"):
            products = np.einsum("ij,j->i", wide, self._wide) / (self.length or 1.0)
            return self._upper(products, lengths, self._of_64_bits)

    def lowest(self, merit: float) -> float:
        """The bound below which no vector has this merit, of an exact score, or a greater one."""
        return -merit * merit * _SURELY_LOWER if self._distance == "EUCLIDEAN" else merit

    def sketch_lowest(self, lowest: float) -> float:
        """The bound of a sketch (`sketches.py`) below which no vector has a merit whose bound is `lowest` or greater;
        minus infinity if all may have.
        """
        own = self.length
        if self._distance == "COSINE":
            least = lowest + 1.0
        elif self._distance == "DOT_PRODUCT":
            least = lowest / own if lowest > -FLOAT32_MAX else -inf
        else:
            least = (lowest / own + own) / 2.0 if lowest > -_SQUARE_MAX else -inf
        least -= 2.0**-20 * abs(least) + _TINY
        return -inf if least < -FLOAT32_MAX else min(least, FLOAT32_MAX)
