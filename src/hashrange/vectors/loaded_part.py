"""How is a vector index searched in memory? By a loaded part: a copy of all entries of the index, or of those with one
value of its HASH attribute. Needs numpy.

A part is a list of blocks, of which a search visits all (`part_search.py`): the result is that of `ranking.py`, which
compares every entry. A large part is divided into cells, and a search visits some: it may miss some of the best.

`tend` divides a part step by step. First the centers of the cells are trained; then entries are moved from all blocks
into those of cells, a few in a step. An entry is in one place at any time, and a search also visits all blocks without
a cell. New entries come into such blocks, and so do those of cells whose vectors change, until they are some hundred.

While entries move, a search that gives way misses none of those in the cells that it visits: it visits the blocks
without a cell first, and again if an entry has left its cell.
Why: docs/adr/0078-vectors-in-memory.md, docs/adr/0079-cells-of-vectors.md.
"""

from collections import deque
from collections.abc import Generator, Iterator

import numpy as np

from hashrange.vectors.blocks import FloatArray, KeyPlaces, VectorBlock
from hashrange.vectors.cells import VectorCells
from hashrange.vectors.centroids import Centroids, Trained, compared, training
from hashrange.vectors.part_search import WATCHED_MIN, PartSearch, RankedKey
from hashrange.vectors.part_sections import PartHead, decode_entries, decode_head, encode_section
from hashrange.vectors.ranking import Distance
from hashrange.vectors.search import VectorQuery
from hashrange.vectors.sketches import SketchAxes
from hashrange.work_threads import free_entries

CELLS_ENTRIES_MIN, CELLS_NUMBERS_MIN = 10_000, 20_000_000
"""A part is divided if it has so many entries and so many numbers, of which _ENTRY_NUMBERS more are counted for each
entry: 39,000 entries of 384 dimensions, which are compared in some 4 ms, or 12,000 of 1,536.
"""
_ENTRY_NUMBERS = 128
MOVED_ENTRIES_MIN = 512
"""Entries without a cell that are moved together."""
_TESTED_KEPT_MAX = 65_536
_LEFT_BYTES_MIN = 65_536
"""Rows that no entry has any more are kept up to this many bytes, or up to a quarter of those of all entries."""
_SLOTS = 65_536
"""More than the places of a block; an entry's slot is the number of its block, and its place there."""


class LoadedPart:
    """The searchable copy of entries of a vector index."""

    def __init__(self, distance: Distance, dimensions: int, cells_entries_min: int | None = None) -> None:
        """`cells_entries_min`: from so many entries on the part is divided; None: as is worth it."""
        self._distance: Distance = distance
        self._dimensions = dimensions
        worth_it = max(CELLS_ENTRIES_MIN, CELLS_NUMBERS_MIN // (dimensions + _ENTRY_NUMBERS))
        self._cells_entries_min = worth_it if cells_entries_min is None else cells_entries_min
        self._blocks: dict[int, VectorBlock] = {}
        self._blocks_count = 0
        """How many blocks there have been."""
        self._places_count = 0
        """Places of all blocks."""
        self._blocks_bytes = 0
        """Memory of all blocks, of which those of cells have sketches."""
        self._rest = [self._new_block()]
        """Blocks without a cell; new entries come into the last one."""
        self._moving: deque[VectorBlock] = deque()
        """Blocks whose entries are being moved into cells."""
        self._moved_places = 0
        """Places of the first of these that are done."""
        self._cells: VectorCells | None = None
        self._training: Generator[None, None, Trained] | None = None
        self._places = KeyPlaces()
        self._free: list[int] = []
        """Free slots of a part without cells."""
        self._rewritten_count = 0
        """How many entries of cells have got another vector."""
        self._tested: dict[bytes, bytes] = {}
        """The rows that conditions test, so that equal ones are held once."""
        self._tested_bytes = 0
        """Those of all entries, as if none were equal."""
        self._kept_bytes = 0
        """Those of `_tested`."""
        self.read_bytes = 0
        """Item sizes of all entries."""

    @property
    def count(self) -> int:
        """How many entries there are."""
        return self._places.count

    @property
    def memory_bytes(self) -> int:
        """Memory of the part, without some 100 KB."""
        cells = 0 if self._cells is None else self._cells.memory_bytes
        return self._blocks_bytes + cells + self._places.memory_bytes + self._tested_bytes

    @property
    def is_sparse(self) -> bool:
        """True if most places of several blocks are free."""
        return len(self._blocks) > 2 and 4 * self.count < self._places_count

    def put(self, key: bytes, vector: bytes, size_bytes: int, tested: bytes = b"") -> None:
        """Add an entry, or replace the one with this key.

        `vector`: its floats; `size_bytes`: its item size; `tested`: the row of the attributes that conditions may read.
        """
        slot = self._places.find(key)
        if slot is None:
            block, place = self._new_place()
            self._places.add(key, self._slot(block, place))
        else:
            block, place = self._at(slot)
            self._uncount(block, place)
            if block.cell is not None and block.vector(place) != vector:
                block.clear(place)
                self._freed(block, place)
                block, place = self._new_place()
                self._places.move(key, self._slot(block, place))
                self._rewritten_count += 1
        block.fill(place, key, vector, size_bytes, self._shared(tested))
        self.read_bytes += size_bytes
        self._tested_bytes += len(tested)

    def remove(self, key: bytes) -> None:
        """Remove the entry with this key, if there is one."""
        slot = self._places.remove(key)
        if slot is not None:
            block, place = self._at(slot)
            self._uncount(block, place)
            block.clear(place)
            self._freed(block, place)

    def free(self) -> None:
        """Free the memory bit by bit, on any thread, when nobody uses the part any more."""
        self._training = self._cells = None
        self._rest.clear()
        self._moving.clear()
        free_entries(*self._places.free(), self._blocks, self._tested)
        while self._free:
            self._free.pop()

    # --- sections -------------------------------------------------------------------------------

    def sections(self) -> Iterator[bytes]:
        """All that the part holds, for `begin` and `add_block` of another one; nothing may change meanwhile."""
        head = PartHead(self._distance, self._dimensions, self.count)
        cells = self._cells
        if cells is not None:
            centers = cells.centroids.centers().astype("<f4", copy=False).tobytes()
            axes = b"" if cells.axes is None else cells.axes.rows().astype("<f4", copy=False).tobytes()
            divided = (cells.centroids.count, centers, cells.divided_count, cells.most, axes)
            head = PartHead(self._distance, self._dimensions, self.count, *divided)
        yield encode_section(head)
        for block in self._blocks.values():
            yield from map(encode_section, block.entries())

    def emptied(self) -> "LoadedPart":
        """A part like this one, without entries."""
        return LoadedPart(self._distance, self._dimensions, self._cells_entries_min)

    def begin(self, section: bytes) -> int:
        """Take the first section of another part into this one, which is empty; returns how many entries the others
        hold. Raises ValueError if it is the section of another index.
        """
        head = decode_head(section)
        if (head.distance, head.dimensions) != (self._distance, self._dimensions):
            raise ValueError("the vectors are those of another index")
        self._blocks.clear()
        self._rest.clear()
        self._places_count = self._blocks_bytes = 0
        if head.cells:
            centroids = Centroids(self._distance, _rows_of(head.centers, head.dimensions))
            axes = SketchAxes(self._distance, _rows_of(head.axes, head.dimensions)) if head.axes else None
            self._cells = VectorCells(Trained(centroids, axes), head.divided_count, head.most)
        return head.count

    def read_block(self, section: bytes) -> VectorBlock:
        """The block of any other section, for `add_block`; on any thread. Some ms for 4 MB."""
        entries = decode_entries(section)
        block = VectorBlock(0, self._dimensions, entries.cell)
        block.fill_empty(entries)
        return block

    def add_block(self, block: VectorBlock) -> None:
        """Add the entries of a block; none may be there yet. 0.7 µs each."""
        self._blocks_count += 1
        block.number = self._blocks_count
        self._hold(block)
        if block.cell is None:
            self._rest.append(block)
        else:
            assert self._cells is not None
            self._cells.blocks[block.cell].append(block)
            self._cells.added(block.cell, len(block.keys))
        slot = self._slot(block, 0)
        for place, key in enumerate(block.keys):
            assert key is not None
            self._places.add(key, slot + place)
            block.tested[place] = self._shared(block.tested[place])
        self.read_bytes += sum(block.sizes)
        self._tested_bytes += sum(map(len, block.tested))

    # --- searches -------------------------------------------------------------------------------

    def search(self, query: VectorQuery) -> list[RankedKey]:
        """The most similar entries, most similar first; gives way."""
        while True:
            cells, rewritten_count = self._cells, self._rewritten_count
            search = PartSearch(self._distance, query, query.top_k if cells is None else max(WATCHED_MIN, query.top_k))
            search.visit([*self._moving, *self._rest])
            if cells is not None:
                search.visit_cells(cells)
                if self._rewritten_count != rewritten_count:
                    search.visit(list(self._rest))
            if self._cells is cells:  # else the entries of its blocks are moving
                return search.result()

    # --- places ---------------------------------------------------------------------------------

    def _new_block(self, cell: int | None = None) -> VectorBlock:
        self._blocks_count += 1
        columns = 0 if cell is None else self._sketch_columns
        block = VectorBlock(self._blocks_count, self._dimensions, cell, columns)
        self._hold(block)
        return block

    def _hold(self, block: VectorBlock) -> None:
        self._blocks[block.number] = block
        self._places_count += len(block.lengths)
        self._blocks_bytes += block.memory_bytes

    @property
    def _sketch_columns(self) -> int:
        """How many numbers the sketches of entries in cells have; 0: there are none."""
        return 0 if self._cells is None or self._cells.axes is None else self._cells.axes.columns

    def _slot(self, block: VectorBlock, place: int) -> int:
        return block.number * _SLOTS + place

    def _at(self, slot: int) -> tuple[VectorBlock, int]:
        number, place = divmod(slot, _SLOTS)
        return self._blocks[number], place

    def _add_place(self, block: VectorBlock) -> int:
        if len(block.keys) < len(block.lengths):
            return block.add_place()
        self._places_count -= len(block.lengths)
        self._blocks_bytes -= block.memory_bytes
        place = block.add_place()
        self._hold(block)
        return place

    def _new_place(self) -> tuple[VectorBlock, int]:
        """A place of a block without a cell."""
        if self._free:
            return self._at(self._free.pop())
        if not self._rest or self._rest[-1].is_full:
            self._rest.append(self._new_block())
        return self._rest[-1], self._add_place(self._rest[-1])

    def _place_in(self, cells: VectorCells, cell: int) -> tuple[VectorBlock, int]:
        block = cells.room(cell)
        if block is None:
            block = self._new_block(cell)
            cells.blocks[cell].append(block)
        return block, block.free.pop() if block.free else self._add_place(block)

    def _uncount(self, block: VectorBlock, place: int) -> None:
        self.read_bytes -= block.sizes[place]
        self._tested_bytes -= len(block.tested[place])
        if self._kept_bytes > self._tested_bytes + max(_LEFT_BYTES_MIN, self._tested_bytes >> 2):
            self._forget_tested()

    def _freed(self, block: VectorBlock, place: int) -> None:
        """Note that a place is free. Those of blocks whose entries will move are not used again."""
        if self._cells is None:
            self._free.append(self._slot(block, place))
        elif block.cell is not None:
            block.free.append(place)
            self._cells.removed(block.cell)

    def _shared(self, tested: bytes) -> bytes:
        known = self._tested.get(tested)
        if known is not None:
            return known
        if len(self._tested) == _TESTED_KEPT_MAX:
            self._forget_tested()
        self._tested[tested] = tested
        self._kept_bytes += len(tested)
        return tested

    def _forget_tested(self) -> None:
        """From now on, hold equal rows once anew; entries keep what they have."""
        self._tested.clear()
        self._kept_bytes = 0

    # --- cells ----------------------------------------------------------------------------------

    @property
    def is_untended(self) -> bool:
        """True if there is something to do for `tend`."""
        return bool(self._moving) or self._training is not None or self._is_outgrown or self._is_rest_long

    @property
    def is_divided(self) -> bool:
        """True if there are cells."""
        return self._cells is not None

    @property
    def _is_outgrown(self) -> bool:
        if self.count < self._cells_entries_min:
            return False
        return self._cells is None or self._cells.is_outgrown(self.count)

    @property
    def _is_rest_long(self) -> bool:
        if self._cells is None or not self._rest:
            return False
        return len(self._rest) > 1 or len(self._rest[0].keys) >= MOVED_ENTRIES_MIN

    def tend(self) -> None:
        """Do a step of what is to do for cells, in a millisecond or two; does not give way."""
        if self._moving:
            self._move_some()
        elif self._training is not None:
            try:
                next(self._training)
            except StopIteration as end:
                self._training = None
                self._divide(end.value)
        elif self._is_outgrown:
            self._training = training(self._distance, list(self._blocks.values()), self.count)
        elif self._is_rest_long:
            self._moving.extend(self._rest)
            self._rest.clear()

    def _divide(self, trained: Trained) -> None:
        """Begin to move all entries into cells."""
        for block in self._blocks.values():
            block.cell = None
        self._moving.extend(self._blocks.values())
        self._rest.clear()
        self._free.clear()
        self._cells = VectorCells(trained, self.count)

    def _move_some(self) -> None:
        cells, block = self._cells, self._moving[0]
        assert cells is not None
        end = min(self._moved_places + cells.centroids.step_rows, len(block.keys))
        lengths = block.lengths[self._moved_places : end]
        places = [self._moved_places + place for place in np.flatnonzero(~np.isnan(lengths)).tolist()]
        vectors = compared(self._distance, block, places)
        for place, cell, sketch in zip(places, cells.centroids.nearest(vectors), cells.sketches(vectors), strict=True):
            key = block.keys[place]
            assert key is not None
            target, free = self._place_in(cells, cell)
            target.take(free, block, place, sketch)
            cells.added(cell)
            self._places.move(key, self._slot(target, free))
        self._moved_places = end
        if end == len(block.keys):
            del self._blocks[self._moving.popleft().number]
            self._places_count -= len(block.lengths)
            self._blocks_bytes -= block.memory_bytes
            self._moved_places = 0
            if not self._moving:
                cells.filled()


def _rows_of(floats: bytes, dimensions: int) -> FloatArray:
    return np.frombuffer(floats, "<f4").reshape(-1, dimensions).astype(np.float32, copy=False)
