"""Into which cells is a large part of a vector index divided? Each has blocks of its own, with the vectors that are
nearest to its center.
"""

from math import inf

import numpy as np

from hashrange.vectors.blocks import FloatArray, VectorBlock
from hashrange.vectors.centroids import Trained

_GROWTH_MAX = 4
"""A cell with this many times the entries of the one that was the largest has not been trained for them."""


class VectorCells:
    """The cells of a part since it was divided."""

    def __init__(self, trained: Trained, divided_count: int, most: float = inf) -> None:
        """`divided_count`: the entries of the part when it was divided, which are then moved into the cells; `most`: of
        cells that have been saved.
        """
        self.centroids, self.axes = trained
        self.blocks: list[list[VectorBlock]] = [[] for _ in range(self.centroids.count)]
        """The blocks of each cell."""
        self._counts = [0] * self.centroids.count
        self.most = most
        """A cell with more entries has not been trained for them; infinite until the entries have been moved."""
        self.divided_count = divided_count
        self._is_uneven = False

    @property
    def memory_bytes(self) -> int:
        """Memory of centers and axes."""
        return self.centroids.memory_bytes + (0 if self.axes is None else self.axes.memory_bytes)

    def sketches(self, vectors: FloatArray) -> FloatArray:
        """The sketches of vectors, as they are compared with centers; without columns if there are none."""
        if self.axes is None:
            return np.zeros((len(vectors), 0), np.float32)
        return self.axes.sketches(vectors)

    def is_outgrown(self, count: int) -> bool:
        """True if a part with so many entries is to be divided again: by its size, or that of a cell."""
        return self._is_uneven or not self.divided_count <= 2 * count <= 4 * self.divided_count

    def added(self, cell: int, count: int = 1) -> None:
        """Count so many more entries of a cell."""
        self._counts[cell] += count
        if self._counts[cell] > self.most:
            self._is_uneven = True

    def removed(self, cell: int) -> None:
        """Count one entry of a cell less."""
        self._counts[cell] -= 1

    def filled(self) -> None:
        """Note that the entries have been moved."""
        if self.most == inf:
            self.most = _GROWTH_MAX * max(1, *self._counts)

    def room(self, cell: int) -> VectorBlock | None:
        """A block of the cell with a free place; None if there is none."""
        for block in self.blocks[cell]:
            if block.free or not block.is_full:
                return block
        return None
