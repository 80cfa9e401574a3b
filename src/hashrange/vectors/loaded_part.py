"""How is a vector index searched in memory? By a loaded part: a copy of all entries of the index, or of those with one
value of its HASH attribute. The result is that of `ranking.py`, which compares every entry. Needs numpy.

One product tells for each vector how similar it can be at most (`bounds.py`). In this order the entries are tested and
scored exactly, until the next one cannot be better than the worst of the best. So a search condition costs about
TopK / share of the entries that pass. Entries may come, change and go while a search gives way.
"""

from bisect import insort
from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

import numpy as np

from hashrange.items.rows import decode_row
from hashrange.items.steps import look, spend
from hashrange.items.types import Row
from hashrange.vectors.blocks import DoubleArray, KeyPlaces, VectorBlock
from hashrange.vectors.bounds import MeritBounds
from hashrange.vectors.ranking import ELEMENTS_PER_STEP, Distance, scorer, sign_of
from hashrange.vectors.search import VectorQuery

_ORDERED_FIRST, _ORDERED_FACTOR = 32, 4
_TOGETHER_MAX = 128
"""Entries whose bounds are narrowed at once."""
_SCORES_KEPT_MAX, _VERDICTS_KEPT_MAX = 1_024, 4_096
_TESTED_KEPT_MAX = 65_536
_TEST_STEPS = 4


class RankedKey(NamedTuple):
    """An entry that a search of a part has found."""

    merit: float
    """Its score, negative if small scores are the better ones."""
    key: bytes
    vector: bytes
    score: float


class LoadedPart:
    """The searchable copy of entries of a vector index."""

    def __init__(self, distance: Distance, dimensions: int) -> None:
        self._distance, self._dimensions = distance, dimensions
        self._blocks = [VectorBlock(dimensions)]
        self._places = KeyPlaces()
        self._free: list[int] = []
        self._tested: dict[bytes, bytes] = {}
        """The rows that conditions test, so that equal ones are held once."""
        self._tested_bytes = 0
        """Their bytes, as if none were equal."""
        self.read_bytes = 0
        """Item sizes of all entries."""

    @property
    def count(self) -> int:
        """How many entries there are."""
        return self._places.count

    @property
    def memory_bytes(self) -> int:
        """Memory of the part, without some 100 KB."""
        full = (len(self._blocks) - 1) * self._blocks[0].memory_bytes
        return full + self._blocks[-1].memory_bytes + self._places.memory_bytes + self._tested_bytes

    @property
    def is_sparse(self) -> bool:
        """True if most places of several blocks are free."""
        return len(self._blocks) > 2 and 4 * self.count < len(self._blocks) * self._blocks[0].places_max

    def put(self, key: bytes, vector: bytes, size_bytes: int, tested: bytes = b"") -> None:
        """Add an entry, or replace the one with this key.

        `vector`: its floats; `size_bytes`: its item size; `tested`: the row of the attributes that conditions may read.
        """
        slot = self._places.find(key)
        if slot is None:
            slot = self._free.pop() if self._free else self._new_slot()
            self._places.add(key, slot)
        number, place = divmod(slot, self._blocks[0].places_max)
        block = self._blocks[number]
        self.read_bytes += size_bytes - block.sizes[place]
        self._tested_bytes += len(tested) - len(block.tested[place])
        block.fill(place, key, vector, size_bytes, self._shared(tested))

    def remove(self, key: bytes) -> None:
        """Remove the entry with this key, if there is one."""
        slot = self._places.remove(key)
        if slot is not None:
            number, place = divmod(slot, self._blocks[0].places_max)
            block = self._blocks[number]
            self.read_bytes -= block.sizes[place]
            self._tested_bytes -= len(block.tested[place])
            block.clear(place)
            self._free.append(slot)

    def free(self) -> None:
        """Free the memory bit by bit, on any thread, when nobody uses the part any more."""
        for one in self._places.free():
            while one:
                one.popitem()
        while self._blocks:
            self._blocks.pop()

    def _new_slot(self) -> int:
        block = self._blocks[-1]
        if block.is_full:
            block = VectorBlock(self._dimensions)
            self._blocks.append(block)
        return (len(self._blocks) - 1) * block.places_max + block.add_place()

    def _shared(self, tested: bytes) -> bytes:
        known = self._tested.get(tested)
        if known is not None:
            return known
        if len(self._tested) == _TESTED_KEPT_MAX:
            self._tested.clear()
        self._tested[tested] = tested
        return tested

    # --- search ---------------------------------------------------------------------------------

    def search(self, query: VectorQuery) -> list[RankedKey]:
        """The most similar entries, most similar first; gives way."""
        return _PartSearch(self._distance, query).run(self._blocks)


class _PartSearch:
    """One search of a part."""

    def __init__(self, distance: Distance, query: VectorQuery) -> None:
        self._query = query
        self._bounds = MeritBounds(distance, query.vector)
        self._score, self._sign = scorer(distance, query.vector), sign_of(distance)
        self._steps = 3 + len(self._bounds.column) // ELEMENTS_PER_STEP
        self._best: list[tuple[float, bytes, bytes, float]] = []
        """Negative merit, key, vector and score of the best entries so far, in this order."""
        self._keys: set[bytes] = set()
        self._lowest = -np.inf
        """Entries whose bound is below it are not among the best."""
        self._scores: dict[bytes, float] = {}
        self._verdicts: dict[bytes, bool] = {}

    def run(self, blocks: list[VectorBlock]) -> list[RankedKey]:
        """Search the blocks of a part."""
        waiting: list[tuple[VectorBlock, int]] = []
        wanted = self._query.top_k
        for negative_bound, number, place in self._in_order(blocks):
            if -negative_bound < self._lowest:
                break
            if self._passes(blocks[number], place):
                waiting.append((blocks[number], place))
                if len(waiting) >= wanted:
                    self._weigh(waiting)
                    waiting, wanted = [], min(_TOGETHER_MAX, 2 * wanted)
        self._weigh(waiting)
        return [RankedKey(-merit, key, vector, score) for merit, key, vector, score in self._best]

    def _in_order(self, blocks: list[VectorBlock]) -> Iterator[tuple[float, int, int]]:
        """Negative bound, number of the block, and place of every entry, those that may be the best first."""
        orders = []
        for number, block in enumerate(blocks):
            look()
            bounds = self._bounds.upper(block.products(self._bounds.column), block.lengths[: len(block.keys)])
            orders.append(_descending(bounds, number))
        return iter(orders[0]) if len(orders) == 1 else merge(*orders)

    def _passes(self, block: VectorBlock, place: int) -> bool:
        """True if the place holds an entry that may be found."""
        spend(1)
        test = self._query.test
        if test is None:
            return True
        tested = block.tested[place]
        verdict = self._verdicts.get(tested)
        if verdict is None:
            if block.keys[place] is None:
                return False
            spend(_TEST_STEPS)
            verdict = test(decode_row(Row(tested)))
            if len(self._verdicts) < _VERDICTS_KEPT_MAX:
                self._verdicts[tested] = verdict
        return verdict

    def _weigh(self, places: list[tuple[VectorBlock, int]]) -> None:
        """Score the entries exactly that may be among the best."""
        if len(self._best) == self._query.top_k and places:
            look()
            floats = np.array([block.floats[place] for block, place in places])
            lengths = np.array([block.lengths[place] for block, place in places])
            near = self._bounds.close_upper(floats, lengths) >= self._lowest
            places = [one for one, is_near in zip(places, near.tolist(), strict=True) if is_near]
        for block, place in places:
            spend(self._steps)
            key = block.keys[place]
            if key is not None and key not in self._keys:  # it may have moved to another place meanwhile
                self._take(key, block.vector(place))

    def _take(self, key: bytes, vector: bytes) -> None:
        score = self._scores.get(vector)
        if score is None:
            score = self._score(vector)
            if len(self._scores) < _SCORES_KEPT_MAX:
                self._scores[vector] = score
        best, top_k = self._best, self._query.top_k
        entry = (-self._sign * score, key, vector, score)
        if len(best) == top_k:
            if entry >= best[-1]:
                return
            self._keys.discard(best.pop()[1])
        insort(best, entry)
        self._keys.add(key)
        if len(best) == top_k:
            self._lowest = self._bounds.lowest(-best[-1][0])


def _descending(bounds: DoubleArray, number: int) -> Iterator[tuple[float, int, int]]:
    """Negative bound, `number` and place of each bound above minus infinity, the greatest first. 0.05 ms for the first
    32 of 4,096, and less than a millisecond for all.
    """
    left = np.arange(bounds.size)
    count = _ORDERED_FIRST
    while left.size:
        look()
        values = bounds[left]
        if left.size > count:
            order = np.argpartition(values, left.size - count)
            chosen, values, left = left[order[-count:]], values[order[-count:]], left[order[:-count]]
        else:
            chosen, left = left, left[:0]
        order = np.argsort(-values)
        for bound, place in zip(values[order].tolist(), chosen[order].tolist(), strict=True):
            if bound == -np.inf:
                return
            yield -bound, number, place
        count *= _ORDERED_FACTOR
