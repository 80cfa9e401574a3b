"""Which vectors of a large part are near each other? Those of one cell: each vector belongs to the nearest of some
centers, which are trained with a sample of the part's own vectors (k-means). Needs numpy.

Nearest means: for COSINE by direction, else by the distance between the points. It decides how many cells a search has
to visit. Why: docs/adr/0079-cells-of-vectors.md.
"""

import random
from collections.abc import Generator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from hashrange.vectors.blocks import FloatArray, IntArray, VectorBlock
from hashrange.vectors.ranking import Distance
from hashrange.vectors.sketches import SketchAxes, trained_axes
from hashrange.vectors.tiles import TOGETHER_ROWS, TiledRows

CELLS_FACTOR = 2
"""Cells per square root of the number of vectors."""
SAMPLES_PER_CELL = 24
SAMPLE_BYTES_MAX = 128 * 1024 * 1024
ROUNDS = 5
_SEED = 7
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
        self._tiles = TiledRows(self.count, dimensions)
        self._halves: FloatArray = np.zeros(self.count, np.float32)
        """Halves of the squares of the centers' lengths; 0 for COSINE."""
        self.step_rows = max(1, min(2 * TOGETHER_ROWS, _STEP_MULTIPLICATIONS // (self.count * dimensions)))
        """Vectors of which `nearest` finds the cells in about a millisecond."""
        for start in range(0, self.count, _STEP_CELLS):
            self.replace(start, centers[start : start + _STEP_CELLS])

    @property
    def memory_bytes(self) -> int:
        """Memory of the centers."""
        return self._tiles.memory_bytes + self._halves.nbytes

    def centers(self) -> FloatArray:
        """The centers, one row each."""
        return self._tiles.rows()

    def replace(self, start: int, centers: FloatArray) -> None:
        """Replace some centers; `start` is a multiple of _STEP_CELLS, and there are at most so many."""
        self._tiles.replace(start, centers)
        if self._distance != "COSINE":
            with np.errstate(all="ignore"):
                self._halves[start : start + len(centers)] = np.einsum("ij,ij->i", centers, centers) / 2

    def nearest(self, vectors: FloatArray) -> list[int]:
        """The cells of vectors, which have the length 1 for COSINE. 12 µs each for 1,264 cells of 384 dimensions."""
        with np.errstate(all="ignore"):
            found: list[int] = np.argmax(self._tiles.products(vectors) - self._halves, axis=1).tolist()
        return found

    def order(self, column: FloatArray, length: float) -> list[int]:
        """All cells, those first that a search for the vector with this direction and length visits first."""
        with np.errstate(all="ignore"):
            products = self._tiles.products(column.T)[0]
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


class Trained(NamedTuple):
    """What has been learned of the vectors of a part."""

    centroids: Centroids
    axes: SketchAxes | None
    """None: sketches would not tell enough."""


def training(distance: Distance, blocks: Sequence[VectorBlock], count: int) -> Generator[None, None, Trained]:
    """Train centroids and axes for the `count` vectors of these blocks; a step takes about a millisecond. Vectors may
    come and go between steps.
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
    return Trained(centroids, (yield from trained_axes(distance, sampled)))


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
