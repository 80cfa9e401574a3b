"""Which vectors of a large part are near each other? Those of one cell: each vector belongs to the nearest of some
centers, which are trained with a sample of the part's own vectors (k-means). Needs numpy.

Nearest means: for COSINE by direction, else by the distance between the points. It decides how many cells a search has
to visit. Why: docs/adr/0079-cells-of-vectors.md.
"""

import random
from collections.abc import Generator, Sequence
from math import sqrt

import numpy as np

from hashrange.vectors.blocks import PRODUCT_NUMBERS_MAX, FloatArray, IntArray, VectorBlock
from hashrange.vectors.ranking import Distance

CELLS_FACTOR = 2
"""Cells per square root of the number of vectors."""
SAMPLES_PER_CELL = 24
SAMPLE_BYTES_MAX = 128 * 1024 * 1024
ROUNDS = 5
_SEED = 7
_ROWS, _COLUMNS_MAX = 24, 16
"""Rows and columns of products of two matrices. Larger ones are split among threads by OpenBLAS, as other products are
(`PRODUCT_NUMBERS_MAX`): from 262,144 multiplications on.
"""
_STEP_MULTIPLICATIONS = 40_000_000
"""Multiplications of one step, in about a millisecond."""
_STEP_CELLS = 256
_STEP_PLACES = 2_048


class Centroids:
    """The centers of cells."""

    def __init__(self, distance: Distance, centers: FloatArray) -> None:
        """`centers`: one row each, for COSINE with the length 1."""
        self._distance = distance
        self.count, dimensions = centers.shape
        self._columns = max(1, min(_COLUMNS_MAX, PRODUCT_NUMBERS_MAX // dimensions))
        self._tiles: FloatArray = np.zeros((-(-self.count // self._columns), dimensions, self._columns), np.float32)
        """The centers as columns of matrices."""
        self._halves: FloatArray = np.zeros(self.count, np.float32)
        """Halves of the squares of the centers' lengths; 0 for COSINE."""
        self.step_rows = max(1, min(2 * _ROWS, _STEP_MULTIPLICATIONS // (self.count * dimensions)))
        """Vectors of which `nearest` finds the cells in about a millisecond."""
        for start in range(0, self.count, _STEP_CELLS):
            self.replace(start, centers[start : start + _STEP_CELLS])

    @property
    def memory_bytes(self) -> int:
        """Memory of the centers."""
        return self._tiles.nbytes + self._halves.nbytes

    def centers(self) -> FloatArray:
        """The centers, one row each."""
        rows: FloatArray = self._tiles.transpose(0, 2, 1).reshape(-1, self._tiles.shape[1])[: self.count]
        return rows

    def replace(self, start: int, centers: FloatArray) -> None:
        """Replace some centers; `start` is a multiple of _STEP_CELLS, and there are at most so many."""
        count, dimensions = centers.shape
        rows = np.zeros((-(-count // self._columns) * self._columns, dimensions), np.float32)
        rows[:count] = centers
        tiles = rows.reshape(-1, self._columns, dimensions).transpose(0, 2, 1)
        first = start // self._columns
        self._tiles[first : first + len(tiles)] = tiles
        if self._distance != "COSINE":
            with np.errstate(all="ignore"):
                self._halves[start : start + count] = np.einsum("ij,ij->i", centers, centers) / 2

    def nearest(self, vectors: FloatArray) -> list[int]:
        """The cells of vectors, which have the length 1 for COSINE. 12 µs each for 1,264 cells of 384 dimensions."""
        found: list[int] = []
        for start in range(0, len(vectors), _ROWS):
            some = vectors[start : start + _ROWS]
            with np.errstate(all="ignore"):
                products = np.matmul(some, self._tiles).transpose(1, 0, 2).reshape(len(some), -1)[:, : self.count]
                found += np.argmax(products - self._halves, axis=1).tolist()
        return found

    def order(self, column: FloatArray, length: float) -> list[int]:
        """All cells, those first that a search for the vector with this direction and length visits first."""
        with np.errstate(all="ignore"):
            products = np.matmul(column.T, self._tiles).reshape(-1)[: self.count]
            if self._distance == "EUCLIDEAN":
                products = products.astype(np.float64) * length - self._halves
        order: list[int] = np.argsort(-products, kind="stable").tolist()
        return order


def compared(distance: Distance, block: VectorBlock, places: Sequence[int] | IntArray) -> FloatArray:
    """The vectors in these places of a block, as they are compared with centers."""
    floats: FloatArray = block.floats[places]
    return _directions(floats) if distance == "COSINE" else floats


def _directions(vectors: FloatArray) -> FloatArray:
    """The vectors with the length 1; those of zeros as they are."""
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    result: FloatArray = (wide / np.where(lengths == 0.0, 1.0, lengths)[:, None]).astype(np.float32)
    return result


def training(distance: Distance, blocks: Sequence[VectorBlock], count: int) -> Generator[None, None, Centroids]:
    """Train centroids for the `count` vectors of these blocks; a step takes about a millisecond. Between steps, vectors
    may come and go.
    """
    sampled = yield from _sampled(distance, blocks, count)
    cells = max(1, min(len(sampled), round(CELLS_FACTOR * sqrt(count))))
    centroids = Centroids(distance, sampled[:: len(sampled) // cells][:cells])
    chance = random.Random(_SEED)  # noqa: S311 - not a secret
    for _ in range(ROUNDS):
        sums = _Sums(cells, sampled.shape[1])
        for start in range(0, len(sampled), centroids.step_rows):
            some = sampled[start : start + centroids.step_rows]
            sums.add(centroids.nearest(some), some)
            yield
        for start in range(0, cells, _STEP_CELLS):
            centers = sums.means(start, start + _STEP_CELLS, sampled, chance)
            centroids.replace(start, _directions(centers) if distance == "COSINE" else centers)
            yield
    return centroids


class _Sums:
    """The sums of the vectors of each cell. They may be infinite, if numbers are large."""

    def __init__(self, cells: int, dimensions: int) -> None:
        self._sums: FloatArray = np.zeros((cells, dimensions), np.float32)
        self._counts: IntArray = np.zeros(cells, np.int64)

    def add(self, cells: list[int], vectors: FloatArray) -> None:
        with np.errstate(all="ignore"):
            for cell, vector in zip(cells, vectors, strict=True):
                self._sums[cell] += vector
                self._counts[cell] += 1

    def means(self, start: int, end: int, sampled: FloatArray, chance: random.Random) -> FloatArray:
        """The means of some cells; for one without vectors, one of the sample."""
        counts = self._counts[start:end]
        with np.errstate(all="ignore"):
            means: FloatArray = self._sums[start:end] / np.maximum(counts, 1).astype(np.float32)[:, None]
        for place in np.flatnonzero(counts == 0).tolist():
            means[place] = sampled[chance.randrange(len(sampled))]
        return means


def _sampled(distance: Distance, blocks: Sequence[VectorBlock], count: int) -> Generator[None, None, FloatArray]:
    """A sample of the vectors, of all blocks alike."""
    dimensions = blocks[0].floats.shape[1]
    wanted = round(SAMPLES_PER_CELL * CELLS_FACTOR * sqrt(count))
    stride = -(-count // max(1, min(wanted, SAMPLE_BYTES_MAX // (4 * dimensions))))
    chance = random.Random(_SEED)  # noqa: S311 - not a secret
    sampled: FloatArray = np.zeros((count // stride + len(blocks), dimensions), np.float32)
    end = unseen = 0
    for block in blocks:
        places = np.flatnonzero(~np.isnan(block.lengths[: len(block.keys)]))
        starts = range(0, len(places), stride)
        chosen = places[[min(start + chance.randrange(stride), len(places) - 1) for start in starts]]
        chosen = chosen[: len(sampled) - end]
        sampled[end : end + len(chosen)] = compared(distance, block, chosen)
        end += len(chosen)
        unseen += len(block.keys)
        if unseen > _STEP_PLACES:
            unseen = 0
            yield
    return sampled[: max(1, end)]
