"""How are many vectors held so that one call compares them all with another? As rows of 32-bit floats in blocks of some
8 MB, next to what else a search asks of an entry. Needs numpy, so it is imported when the first part is loaded.

A block grows by copying itself, which takes less than a millisecond; a full one never moves. An entry stays in its
place until it is removed. Nothing here gives way.
"""

from array import array
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hashrange.vectors.part_sections import SECTION_EXTRA_BYTES, BlockEntries

FloatArray: TypeAlias = npt.NDArray[np.float32]
DoubleArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BLOCK_BYTES = 8 * 1024 * 1024
"""From 4 MB on, numpy asks Linux for large pages, with which the same product takes a tenth less."""
BLOCK_ENTRIES_MAX = 4_096
PRODUCT_NUMBERS_MAX = 9_215
"""A product of a matrix and a vector that has more numbers than this is split among threads by OpenBLAS, which takes
several times the CPU and keeps other cores busy."""
_PRODUCT_ROWS_MAX = 32
_CELL_ROWS_MAX = 16
"""Cells have few vectors, and a block has a multiple of so many places."""
_SKETCH_ROWS = 32
"""Sketches that are multiplied as one matrix. With 16, the products take twice the time."""
_KEYS_TOGETHER_MAX = 16_384
"""With more keys than this, they are in several dictionaries: the growth of one that has a million takes 50 ms."""
_DICTIONARIES = 64
_KEY_EXTRA_BYTES = 140
"""Memory that an entry takes besides the bytes of its key: the object, its number, slots of dictionary and list."""
_BLOCK_EXTRA_BYTES = 1_200
"""Memory of a block besides its places."""
_PLACE_EXTRA_BYTES = 12
"""Memory of a place of a block besides its floats: the vector's length and the entry's size."""


class VectorBlock:
    """Places for entries, of which some may be free."""

    def __init__(self, number: int, dimensions: int, cell: int | None, sketch_columns: int = 0) -> None:
        """`number`: names the block in its part; `cell`: whose entries the block holds; None: any."""
        self.number, self.cell = number, cell
        rows = _PRODUCT_ROWS_MAX if cell is None else _CELL_ROWS_MAX
        together = max(1, min(rows, PRODUCT_NUMBERS_MAX // dimensions))
        most = min(BLOCK_ENTRIES_MAX, BLOCK_BYTES // (4 * dimensions))
        self._shape = together, dimensions
        """The numbers of rows and columns of the matrices that are multiplied at once."""
        self.places_max = max(1, most // together) * together
        places = min(self.places_max, -(-rows // together) * together)
        self.floats: FloatArray = np.zeros((places, dimensions), np.float32)
        self.sketches = _sketches(places, sketch_columns)
        """The sketch of each vector (`sketches.py`), if the cell has sketches: matrices of _SKETCH_ROWS rows."""
        self.lengths: DoubleArray = np.full(places, np.nan)
        """The length of each vector; NaN for a free place."""
        self.keys: list[bytes | None] = []
        """The key of the entry in each place that was ever used; None: the place is free."""
        self.sizes = array("I")
        self.tested: list[bytes] = []
        """The attributes that search conditions may read, as rows."""
        self.free: list[int] = []
        """Places that are free again, if the block is that of a cell."""

    @property
    def memory_bytes(self) -> int:
        """Memory of the block without that of keys and rows."""
        return self.floats.nbytes + self.sketches.nbytes + _BLOCK_EXTRA_BYTES + len(self.lengths) * _PLACE_EXTRA_BYTES

    @property
    def is_full(self) -> bool:
        """True if every place was used."""
        return len(self.keys) == self.places_max

    def add_place(self) -> int:
        """A place that was not used yet. The block must not be full."""
        place = len(self.keys)
        before = self.floats.shape[0]
        if place == before:
            together = self._shape[0]
            places = min(self.places_max, before + max(1, before // 4 // together) * together)
            floats = np.zeros((places, self.floats.shape[1]), np.float32)
            floats[:before] = self.floats
            lengths = np.full(places, np.nan)
            lengths[:before] = self.lengths
            sketches = _sketches(places, self.sketches.shape[2])
            sketches[: len(self.sketches)] = self.sketches
            self.floats, self.lengths, self.sketches = floats, lengths, sketches
        self.keys.append(None)
        self.sizes.append(0)
        self.tested.append(b"")
        return place

    def fill(self, place: int, key: bytes, vector: bytes, size_bytes: int, tested: bytes) -> None:
        """Put an entry in a place, free or not. 3 µs."""
        floats = np.frombuffer(vector, "<f4")
        self.floats[place] = floats
        wide = floats.astype(np.float64)
        self.lengths[place] = np.sqrt(wide @ wide)
        self.keys[place], self.sizes[place], self.tested[place] = key, size_bytes, tested

    def take(self, place: int, other: "VectorBlock", other_place: int, sketch: FloatArray) -> None:
        """Move the entry of a place of another block to a free place."""
        self.floats[place], self.lengths[place] = other.floats[other_place], other.lengths[other_place]
        self.keys[place], self.sizes[place] = other.keys[other_place], other.sizes[other_place]
        self.tested[place] = other.tested[other_place]
        self.sketches[divmod(place, _SKETCH_ROWS)] = sketch
        other.clear(other_place)

    def clear(self, place: int) -> None:
        """Make a place free."""
        self.lengths[place] = np.nan
        self.keys[place], self.sizes[place], self.tested[place] = None, 0, b""

    def vector(self, place: int) -> bytes:
        """The floats of an entry, little-endian."""
        return bytes(self.floats[place].astype("<f4", copy=False))

    def entries(self) -> Iterator[BlockEntries]:
        """All entries, as they are saved: those of one section together."""
        places: list[int] = []
        extra_bytes = 0
        for place in np.flatnonzero(~np.isnan(self.lengths[: len(self.keys)])).tolist():
            places.append(place)
            extra_bytes += len(self.keys[place] or b"") + len(self.tested[place])
            if extra_bytes > SECTION_EXTRA_BYTES:
                yield self._section(places)
                places, extra_bytes = [], 0
        if places:
            yield self._section(places)

    def _section(self, places: list[int]) -> BlockEntries:
        rows: dict[bytes, int] = {}
        tested = [rows.setdefault(self.tested[place], len(rows)) for place in places]
        return BlockEntries(
            self.cell,
            [self.keys[place] or b"" for place in places],
            self.floats[places].astype("<f4", copy=False).tobytes(),
            self.lengths[places].astype("<f8", copy=False).tobytes(),
            np.array([self.sizes[place] for place in places], "<u4").tobytes(),
            list(rows),
            np.array(tested, "<u4").tobytes(),
            b"" if self.cell is None else _rows(self.sketches)[places].astype("<f4", copy=False).tobytes(),
        )

    def fill_empty(self, entries: BlockEntries) -> None:
        """Put what `entries` has returned of a block into the first places of this one, in which nothing is."""
        count = len(entries.keys)
        together, dimensions = self._shape
        places = -(-count // together) * together
        assert count <= self.places_max
        floats = np.zeros((places, dimensions), np.float32)
        floats[:count] = np.frombuffer(entries.floats, "<f4").reshape(count, dimensions)
        lengths = np.full(places, np.nan)
        lengths[:count] = np.frombuffer(entries.lengths, "<f8")
        columns = len(entries.sketches) // (4 * count)
        sketches = _sketches(places, columns)
        _rows(sketches)[:count] = np.frombuffer(entries.sketches, "<f4").reshape(count, columns)
        self.floats, self.lengths, self.sketches = floats, lengths, sketches
        self.keys = [*entries.keys]
        self.sizes = array("I", np.frombuffer(entries.sizes, "<u4").tolist())
        rows = entries.tested_rows
        self.tested = [rows[number] for number in np.frombuffer(entries.tested, "<u4").tolist()]

    def products(self, column: FloatArray) -> FloatArray:
        """The product of every vector with `column`, which has one column. 0.3 ms for 8 MB, in this thread alone.

        They may be infinite, or not a number, if numbers are large, of which numpy may warn.
        """
        used = len(self.keys)
        together, dimensions = self._shape
        matrices = self.floats[: -(-used // together) * together].reshape(-1, together, dimensions)
        products: FloatArray = np.matmul(matrices, column)
        return products.reshape(-1)[:used]

    def sketch_products(self, column: FloatArray) -> FloatArray:
        """The product of every sketch with `column`, as `products`."""
        products: FloatArray = np.matmul(self.sketches, column)
        return products.reshape(-1)[: len(self.keys)]


def _sketches(places: int, columns: int) -> FloatArray:
    made: FloatArray = np.zeros((-(-places // _SKETCH_ROWS), _SKETCH_ROWS, columns), np.float32)
    return made


def _rows(sketches: FloatArray) -> FloatArray:
    """The sketches of a block, one row each, of the same memory."""
    matrices, together, columns = sketches.shape
    return sketches.reshape(matrices * together, columns)


class KeyPlaces:
    """Key of an entry → its place, as a number."""

    def __init__(self) -> None:
        self._dictionaries: list[dict[bytes, int]] = [{}]
        self.count = 0
        self.memory_bytes = 0

    def find(self, key: bytes) -> int | None:
        """The place of a key; None if there is none."""
        return self._dictionaries[hash(key) % len(self._dictionaries)].get(key)

    def add(self, key: bytes, place: int) -> None:
        """Note the place of a new key."""
        if self.count == _KEYS_TOGETHER_MAX and len(self._dictionaries) == 1:
            (former,) = self._dictionaries
            self._dictionaries = [{} for _ in range(_DICTIONARIES)]
            for one, number in former.items():
                self._dictionaries[hash(one) % _DICTIONARIES][one] = number
        self._dictionaries[hash(key) % len(self._dictionaries)][key] = place
        self.count += 1
        self.memory_bytes += len(key) + _KEY_EXTRA_BYTES

    def move(self, key: bytes, place: int) -> None:
        """Note the new place of a key."""
        self._dictionaries[hash(key) % len(self._dictionaries)][key] = place

    def remove(self, key: bytes) -> int | None:
        """Forget a key; returns its place, None if there was none."""
        place = self._dictionaries[hash(key) % len(self._dictionaries)].pop(key, None)
        if place is not None:
            self.count -= 1
            self.memory_bytes -= len(key) + _KEY_EXTRA_BYTES
        return place

    def free(self) -> list[dict[bytes, int]]:
        """Forget all keys; returns the dictionaries, which take long to free."""
        former, self._dictionaries = self._dictionaries, [{}]
        return former
