"""How are the entries of some blocks searched? One product tells for each vector how similar it can be at most
(`bounds.py`). In this order the entries are tested and scored exactly, until the next one cannot be better than the
worst of the best. So a search condition costs about TopK / share of the entries that pass.

Of a part with cells, a search visits those whose centers are nearest: 8, then as many again, and so on, until two or
three such doublings in a row have not changed the best entries, of which there must be enough; else all. So it needs no
tuning: it visits few cells if the vectors are in clusters, and many if they are not or if few entries pass.

Entries may come, change and go while a search gives way.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import NamedTuple

import numpy as np

from hashrange.items.rows import decode_row
from hashrange.items.steps import look, spend
from hashrange.items.types import Row
from hashrange.vectors.blocks import DoubleArray, FloatArray, IntArray, VectorBlock
from hashrange.vectors.bounds import MeritBounds
from hashrange.vectors.cells import VectorCells
from hashrange.vectors.ranking import Distance, sign_of
from hashrange.vectors.scores import VectorScores
from hashrange.vectors.search import VectorQuery

FIRST_CELLS = 8
QUIET_DOUBLINGS, QUIET_DOUBLINGS_OF_TESTS = 2, 3
"""Doublings in a row without a change after which a search has found the best, without and with a condition. The best
that pass a condition are farther away, and in more cells.
"""
FEW_PASS = 32
"""If less than one of so many entries passes the condition, all cells are visited at once: fewer entries are tested in
the order of all bounds than in one cell after the other.
"""
_PASSED_EXTRA = 2
"""Of the first 64 entries, none need pass."""
WATCHED_MIN = 10
"""A search for fewer entries watches the best ten: one is unchanged too easily."""
_ORDERED_FIRST, _ORDERED_FACTOR = 32, 4
_TOGETHER_MAX, _TOGETHER_NUMBERS_MAX = 128, 131_072
"""Entries that are scored at once, and the numbers of their vectors."""
_VERDICTS_KEPT_MAX = 4_096
_SKETCHES_FACTOR = 8
"""Of so many full blocks, sketches are compared at once."""
_SIFTED_MIN = 16
"""Sketches help if they leave less than one of so many entries."""
_TEST_STEPS = 4


class RankedKey(NamedTuple):
    """An entry that a search of a part has found."""

    merit: float
    """Its score, negative if small scores are the better ones."""
    key: bytes
    vector: bytes
    score: float


class PartSearch:
    """One search of a part."""

    def __init__(self, distance: Distance, query: VectorQuery, top_k: int) -> None:
        """`top_k`: how many entries are searched for."""
        self._query, self._top_k = query, top_k
        self._bounds = MeritBounds(distance, query.vector)
        self._scores, self._sign = VectorScores(distance, query.vector), sign_of(distance)
        self._together_max = max(1, min(_TOGETHER_MAX, _TOGETHER_NUMBERS_MAX // len(self._bounds.column)))
        self._best: list[tuple[float, bytes, bytes, float]] = []
        """Negative merit, key, vector and score of the best entries so far, in this order."""
        self._keys: set[bytes] = set()
        self._lowest = -np.inf
        """Entries whose bound is below it are not among the best."""
        self._verdicts: dict[bytes, bool] = {}
        self._tested_count = self._passed_count = 0
        self._sketch_column: FloatArray | None = None
        """By which the sketches of the entries that are visited are multiplied; None: they have none."""

    def result(self) -> list[RankedKey]:
        """The best entries of all blocks that were visited, best first."""
        best = self._best[: self._query.top_k]
        return [RankedKey(-merit, key, vector, score) for merit, key, vector, score in best]

    def visit_cells(self, cells: VectorCells) -> None:
        """Visit as many cells as are needed; gives way."""
        bounds = self._bounds
        order = cells.centroids.order(bounds.column, bounds.length)
        if cells.axes is not None:
            self._sketch_column = cells.axes.column(bounds.column, bounds.length)
        wanted = QUIET_DOUBLINGS if self._query.test is None else QUIET_DOUBLINGS_OF_TESTS
        visited = quiet = 0
        while visited < len(order) and quiet < wanted:
            former = set(self._keys)
            few_pass = self._tested_count > FEW_PASS * (self._passed_count + _PASSED_EXTRA)
            more = order[visited : None if few_pass else max(FIRST_CELLS, 2 * visited)]
            self.visit([block for cell in more for block in cells.blocks[cell]])
            is_quiet = visited and len(former) == self._top_k and former == self._keys
            quiet = quiet + 1 if is_quiet else 0
            visited += len(more)
        self._sketch_column = None

    def visit(self, blocks: Sequence[VectorBlock]) -> None:
        """Compare all entries of some blocks; gives way."""
        waiting: list[tuple[VectorBlock, int]] = []
        wanted = min(self._together_max, self._top_k)
        for negative_bound, number, place in self._in_order(blocks):
            if -negative_bound < self._lowest:
                break
            if self._passes(blocks[number], place):
                waiting.append((blocks[number], place))
                if len(waiting) >= wanted:
                    self._weigh(waiting)
                    waiting, wanted = [], min(self._together_max, 2 * wanted)
        self._weigh(waiting)

    def _in_order(self, blocks: Sequence[VectorBlock]) -> Iterator[tuple[float, int, int]]:
        """Negative bound, number of the block, and place of every entry, those that may be the best first."""
        orders = []
        for first, some in _batches(blocks, 1 if self._sketch_column is None else _SKETCHES_FACTOR):
            look()
            starts = np.cumsum([0, *[len(block.keys) for block in some]])
            bounds = self._sifted_bounds(some, starts)
            if bounds is None:
                with np.errstate(all="ignore"):
                    products = np.concatenate([block.products(self._bounds.column) for block in some])
                lengths = np.concatenate([block.lengths[: len(block.keys)] for block in some])
                bounds = self._bounds.upper(products, lengths)
            if bounds.size and bounds.max() >= self._lowest:
                orders.append(_descending(bounds, self._lowest, starts, first))
        return iter(orders[0]) if len(orders) == 1 else merge(*orders)

    def _sifted_bounds(self, blocks: Sequence[VectorBlock], starts: IntArray) -> DoubleArray | None:
        """Bounds of all entries, minus infinity for those that are surely not among the best, of which only the
        sketches have been read; None: so many are left that sketches do not help, or there are none.
        """
        column = self._sketch_column
        if column is None or self._lowest == -np.inf:
            return None
        with np.errstate(all="ignore"):
            products = np.concatenate([block.sketch_products(column) for block in blocks])
        left = np.flatnonzero(~(products < np.float32(self._bounds.sketch_lowest(self._lowest))))
        if _SIFTED_MIN * left.size > products.size:
            return None
        bounds = np.full(products.size, -np.inf)
        if left.size:
            numbers = np.searchsorted(starts, left, side="right") - 1
            places = list(zip(numbers.tolist(), (left - starts[numbers]).tolist(), strict=True))
            floats = np.array([blocks[number].floats[place] for number, place in places])
            lengths = np.array([blocks[number].lengths[place] for number, place in places])
            bounds[left] = self._bounds.close_upper(floats, lengths)
            bounds[left[np.isnan(lengths)]] = -np.inf
        return bounds

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
        self._tested_count += 1
        self._passed_count += verdict
        return verdict

    def _weigh(self, places: list[tuple[VectorBlock, int]]) -> None:
        """Score the entries exactly that may be among the best."""
        if not places:
            return
        look()
        floats = np.array([block.floats[place] for block, place in places])
        if len(self._best) == self._top_k:
            lengths = np.array([block.lengths[place] for block, place in places])
            near = np.flatnonzero(self._bounds.close_upper(floats, lengths) >= self._lowest).tolist()
            places, floats = [places[one] for one in near], floats[near]
        for (block, place), score in zip(places, self._scores.of(floats), strict=True):
            key = block.keys[place]
            if key is not None and key not in self._keys:  # it may have moved to another place meanwhile
                self._take(block, place, key, score)
        spend(len(places))

    def _take(self, block: VectorBlock, place: int, key: bytes, score: float) -> None:
        best, top_k = self._best, self._top_k
        rank = -self._sign * score, key
        if len(best) == top_k:
            if rank >= best[-1][:2]:
                return
            self._keys.discard(best.pop()[1])
        insort(best, (*rank, block.vector(place), score))
        self._keys.add(key)
        if len(best) == top_k:
            self._lowest = self._bounds.lowest(-best[-1][0])


def _batches(blocks: Sequence[VectorBlock], factor: int) -> Iterable[tuple[int, list[VectorBlock]]]:
    """The blocks in batches that have together as many places as `factor` blocks have at most, each with the number of
    its first.
    """
    first = count = 0
    for number, block in enumerate(blocks):
        if count and count + len(block.keys) > factor * block.places_max:
            yield first, list(blocks[first:number])
            first, count = number, 0
        count += len(block.keys)
    if first < len(blocks):
        yield first, list(blocks[first:])


def _descending(bounds: DoubleArray, lowest: float, starts: IntArray, first: int) -> Iterator[tuple[float, int, int]]:
    """Negative bound, number of the block and place of each bound from `lowest` on, the greatest first, without those
    that are minus infinity. 0.05 ms for the first 32 of 4,096, and less than a millisecond for all.

    `starts`: where the bounds of each block begin, and the end; `first`: the number of the first block.
    """
    left = np.flatnonzero(bounds >= lowest)
    count = _ORDERED_FIRST
    while left.size:
        look()
        values = bounds[left]
        order = np.argpartition(values, left.size - count) if left.size > count else np.arange(left.size)
        rest, order = order[:-count], order[-count:]
        chosen, values = left[order], values[order]
        order = np.argsort(-values)
        chosen = chosen[order]
        numbers = np.searchsorted(starts, chosen, side="right") - 1
        places = chosen - starts[numbers]
        numbers += first
        for bound, number, place in zip(values[order].tolist(), numbers.tolist(), places.tolist(), strict=True):
            if bound == -np.inf:
                return
            yield -bound, number, place
        left = left[rest]
        count *= _ORDERED_FACTOR
