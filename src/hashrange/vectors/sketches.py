"""Which entries of a cell are surely not among the best, told by few numbers of each? By sketches: the coordinates of a
vector on the axes along which the part's vectors have most of their length, and the length of what is left of it.
Needs numpy.

The product of two vectors is that of their coordinates, and at most the product of both lengths that are left. Further
columns of a sketch, for the margin of rounding and for the square of a distance, make this bound one 32-bit product.
Sketches are used if the axes have most of the length of the vectors, as they have of vectors near a surface of few
dimensions; of uniform vectors, no axes have. Why: docs/adr/0079-cells-of-vectors.md.
"""

from collections.abc import Generator
from math import sqrt

import numpy as np

from hashrange.vectors.blocks import DoubleArray, FloatArray
from hashrange.vectors.ranking import Distance
from hashrange.vectors.tiles import MULTIPLICATIONS_MAX, TOGETHER_ROWS, TiledRows

AXES = 29, 61
"""How many axes there may be; as few of these as have SHARE_MIN."""
EXTRA_COLUMNS = 3
"""Columns of a sketch besides the coordinates: the length that is left, the whole length, half of the square."""
DIMENSIONS_MIN = 192
"""Vectors of fewer dimensions are compared nearly as fast as their sketches."""
SHARE_MIN = 0.7
"""Share of the squares of the vectors' lengths that the axes have at least."""
_SAMPLES, _ROUNDS = 4_096, 4
_SEED = 11
_STEP_AXES = 8
_TINY = 2.0**-500
_HALVES_SHARE = 1 - 2.0**-16
"""More than the rounding of a sum of fewer than 128 products takes away."""


class SketchAxes:
    """The axes of the sketches of one part."""

    def __init__(self, distance: Distance, axes: FloatArray) -> None:
        """`axes`: one row each, at right angles to each other, of the length 1."""
        self._distance = distance
        count, dimensions = axes.shape
        self.count: int = count
        """How many axes there are."""
        self._tiles = TiledRows(self.count, dimensions)
        self._tiles.replace(0, axes)
        self._relative = (sqrt(self.count) * (dimensions + 8) + 8 * (self.count + EXTRA_COLUMNS)) * 2.0**-24 * 1.1
        """How much of the product of two lengths the rounding of coordinates and their product takes at most."""

    @property
    def columns(self) -> int:
        """How many numbers a sketch has."""
        return self.count + EXTRA_COLUMNS

    @property
    def memory_bytes(self) -> int:
        """Memory of the axes."""
        return self._tiles.memory_bytes

    def rows(self) -> FloatArray:
        """The axes, one row each."""
        return self._tiles.rows()

    def sketches(self, vectors: FloatArray) -> FloatArray:
        """The sketches of vectors, which have the length 1 or 0 for COSINE. Those of vectors with large numbers are no
        numbers: their bounds are unknown.
        """
        made: FloatArray = np.zeros((len(vectors), self.columns), np.float32)
        with np.errstate(all="ignore"):
            made[:, : self.count] = self._tiles.products(vectors)
            squares, left = self._left(vectors, made[:, : self.count])
            made[:, -3] = left
            if self._distance == "COSINE":
                made[:, -2] = 1.0
            else:
                made[:, -2] = np.sqrt(squares)
            if self._distance == "EUCLIDEAN":
                made[:, -1] = squares / 2 * _HALVES_SHARE
        made[~np.isfinite(made).all(axis=1)] = np.nan
        return made

    def column(self, direction: FloatArray, length: float) -> FloatArray | None:
        """By which sketches are multiplied for upper bounds of their products with a vector, which is given by its
        direction, as a column, and its length. None: it has no sketch.

        From the bound for EUCLIDEAN, half of the square of each vector is taken, divided by `length`.
        """
        if not length:
            return None
        row = np.ascontiguousarray(direction.T)
        made: FloatArray = np.zeros((self.columns, 1), np.float32)
        with np.errstate(all="ignore"):
            coordinates = self._tiles.products(row)
            made[: self.count, 0] = coordinates[0]
            made[-3, 0] = self._left(row, coordinates)[1][0]
            made[-2, 0] = self._relative
            if self._distance == "EUCLIDEAN":
                made[-1, 0] = -1.0 / length
        return made if np.isfinite(made).all() else None

    def _left(self, vectors: FloatArray, coordinates: FloatArray) -> tuple[DoubleArray, DoubleArray]:
        """The squares of the lengths of vectors, and at least the length that is left of each beside the axes."""
        wide, on_axes = vectors.astype(np.float64), coordinates.astype(np.float64)
        squares = np.einsum("ij,ij->i", wide, wide)
        left = squares * (1 + 2 * self._relative) - np.einsum("ij,ij->i", on_axes, on_axes)
        return squares, np.sqrt(np.maximum(left, 0.0))


def trained_axes(distance: Distance, sampled: FloatArray) -> Generator[None, None, SketchAxes | None]:
    """The axes of vectors like these; None if sketches would not tell enough. A step takes about a millisecond."""
    dimensions = sampled.shape[1]
    if dimensions < DIMENSIONS_MIN:
        return None
    some = sampled[:: -(-len(sampled) // _SAMPLES)]
    axes = np.random.default_rng(_SEED).standard_normal((max(AXES), dimensions))
    shares = np.zeros(max(AXES))
    for _ in range(_ROUNDS):
        yield from _straightened(axes)
        axes, shares = yield from _turned(axes, some)
    yield from _straightened(axes)
    for count in AXES:
        if shares[:count].sum() >= SHARE_MIN and np.isfinite(axes).all():
            return SketchAxes(distance, axes[:count].astype(np.float32))
    return None


def _straightened(axes: DoubleArray) -> Generator[None, None, None]:
    """Bring axes to right angles, one after the other, and to the length 1 (Gram and Schmidt, twice)."""
    for start in range(0, len(axes), _STEP_AXES):
        with np.errstate(all="ignore"):
            for place, axis in enumerate(axes[start : start + _STEP_AXES], start):
                for _ in range(2):
                    axis -= np.einsum("i,ij->j", np.einsum("ij,j->i", axes[:place], axis), axes[:place])
                    axis /= max(_TINY, np.sqrt(np.einsum("i,i", axis, axis)))
        yield


def _turned(axes: DoubleArray, vectors: FloatArray) -> Generator[None, None, tuple[DoubleArray, DoubleArray]]:
    """The axes turned towards those along which the vectors are longest, and which share of the squares of the vectors'
    lengths each of the given axes has (subspace iteration).
    """
    count, dimensions = axes.shape
    tiles = TiledRows(count, dimensions)
    tiles.replace(0, axes.astype(np.float32))
    together = max(1, MULTIPLICATIONS_MAX // (TOGETHER_ROWS * dimensions))
    # No group is of one axis: the product of one row is split among threads much earlier.
    padded = -(-count // together) * together
    turned = np.zeros((padded, dimensions))
    squares, whole = np.zeros(count), 0.0
    for start in range(0, len(vectors), TOGETHER_ROWS):
        some = vectors[start : start + TOGETHER_ROWS]
        with np.errstate(all="ignore"):
            coordinates = np.zeros((len(some), padded), np.float32)
            coordinates[:, :count] = tiles.products(some)
            for first in range(0, padded, together):
                turned[first : first + together] += np.matmul(coordinates[:, first : first + together].T, some)
            squares += np.einsum("ij,ij->j", coordinates, coordinates, dtype=np.float64)[:count]
        whole += float(np.einsum("ij,ij", some, some, dtype=np.float64))
        yield
    return turned[:count], squares / max(_TINY, whole)
