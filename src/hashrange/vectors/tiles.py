"""How are vectors multiplied by several rows without other threads? Larger products of two matrices are split among
threads by OpenBLAS, as other products are (`blocks.PRODUCT_NUMBERS_MAX`), so the rows are columns of small matrices.
"""

import numpy as np

from hashrange.vectors.blocks import PRODUCT_NUMBERS_MAX, FloatArray

MULTIPLICATIONS_MAX = 262_144
"""A product of two matrices with more multiplications is split among threads."""
TOGETHER_ROWS = 24
"""Vectors that are multiplied at once."""
_COLUMNS_MAX = 16


class TiledRows:
    """Rows by which vectors are multiplied."""

    def __init__(self, count: int, dimensions: int) -> None:
        """All rows are zeros at first."""
        self.count = count
        together = max(1, min(_COLUMNS_MAX, PRODUCT_NUMBERS_MAX // dimensions))
        self._columns = 1 << (together.bit_length() - 1)
        """A power of two, so that a multiple of _COLUMNS_MAX is where a matrix begins."""
        self._tiles: FloatArray = np.zeros((-(-count // self._columns), dimensions, self._columns), np.float32)
        """The rows as columns of matrices."""

    @property
    def memory_bytes(self) -> int:
        """Memory of the rows."""
        return self._tiles.nbytes

    def replace(self, start: int, rows: FloatArray) -> None:
        """Replace the rows from `start` on, which is a multiple of 16. Those behind them, up to the next such multiple,
        become zeros.
        """
        count, dimensions = rows.shape
        padded = np.zeros((-(-count // self._columns) * self._columns, dimensions), np.float32)
        padded[:count] = rows
        tiles = padded.reshape(-1, self._columns, dimensions).transpose(0, 2, 1)
        first = start // self._columns
        self._tiles[first : first + len(tiles)] = tiles

    def rows(self) -> FloatArray:
        """All rows."""
        dimensions = self._tiles.shape[1]
        rows: FloatArray = self._tiles.transpose(0, 2, 1).reshape(-1, dimensions)[: self.count]
        return rows

    def products(self, vectors: FloatArray) -> FloatArray:
        """The product of each vector with each row. They may be infinite, or not a number, of which numpy may warn."""
        made = np.zeros((len(vectors), self.count), np.float32)
        for start in range(0, len(vectors), TOGETHER_ROWS):
            some = vectors[start : start + TOGETHER_ROWS]
            products = np.matmul(some, self._tiles).transpose(1, 0, 2)
            made[start : start + len(some)] = products.reshape(len(some), -1)[:, : self.count]
        return made
