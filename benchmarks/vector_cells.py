"""What do cells of large parts of vector indexes bring, and what do they cost? Part of `python -m benchmarks.vectors`.

Unit vectors of 384 dimensions from seeds are held in a part (`vectors/loaded_part.py`) and searched for the ten most
similar ones, by other vectors of the same kind; a condition tests a number that each entry has of its own. A part that
is not divided tells the exact results. Kinds: `uniform`; `clustered`: around 1,000 centers, with noise of 0.7 times
their length; `latent`: on a curved surface of some 20 dimensions without clusters, as embeddings of texts may be.
"""

import random
import time
from collections.abc import Callable
from statistics import mean, median

import numpy as np

from hashrange.items.rows import part_row
from hashrange.items.types import Item
from hashrange.vectors.blocks import FloatArray
from hashrange.vectors.loaded_part import LoadedPart
from hashrange.vectors.ranking import Distance
from hashrange.vectors.search import VectorQuery

KINDS = ("uniform", "clustered", "latent")
DIMENSIONS, TOP_K = 384, 10
SHARES = (1.0, 0.5, 0.1, 0.01, 0.001)
NEVER = 10**12
"""More entries than any part has."""


def drawn(kind: str, seed: int, count: int) -> FloatArray:
    """Vectors of the length 1."""
    chance, shapes = np.random.default_rng(seed), np.random.default_rng(1)
    if kind == "uniform":
        made = chance.random((count, DIMENSIONS), np.float32) * 2 - 1
    elif kind == "clustered":
        centers = shapes.standard_normal((1_000, DIMENSIONS), np.float32)
        made = centers[chance.integers(0, 1_000, count)]
        made += np.float32(0.7) * chance.standard_normal((count, DIMENSIONS), np.float32)
    else:
        strengths = 1 / np.sqrt(1 + np.arange(32, dtype=np.float32) / 4)
        first = shapes.standard_normal((32, DIMENSIONS), np.float32) * strengths[:, None]
        second = shapes.standard_normal((DIMENSIONS, DIMENSIONS), np.float32)
        made = np.tanh(chance.standard_normal((count, 32), np.float32) @ first / np.float32(2)) @ second
        made += np.float32(0.05) * made.std() * chance.standard_normal((count, DIMENSIONS), np.float32)
    result: FloatArray = made / np.linalg.norm(made, axis=1, keepdims=True)
    return result


class CellsBench:
    """A part that is divided and one that is not, with the same vectors, and the vectors that are searched for."""

    def __init__(self, kind: str, distance: Distance, number: int, searches: int) -> None:
        self.number = number
        self.ranks = random.Random(4).sample(range(number), number)
        self.vectors, self.others = drawn(kind, 2, number), drawn(kind, 3, number * 3 // 10)
        self.wanted = drawn(kind, 5, searches)
        self.cells, self.exact = LoadedPart(distance, DIMENSIONS, 1), LoadedPart(distance, DIMENSIONS, NEVER)
        for place in range(number):
            self.put(place, self.vectors[place])

    def put(self, place: int, vector: FloatArray) -> None:
        """Put an entry."""
        tested = part_row({"n": {"N": str(self.ranks[place])}})
        for part in (self.cells, self.exact):
            part.put(b"item-%010d" % place, vector.tobytes(), 1_600, tested)

    def change(self) -> None:
        """Delete 30 % of the entries, and give 30 % other vectors."""
        count = len(self.others)
        for place in range(count):
            for part in (self.cells, self.exact):
                part.remove(b"item-%010d" % place)
            self.put(count + place, self.others[place])

    def divide(self) -> float:
        """Do all there is to do for cells; returns the CPU µs for each vector."""
        began = time.process_time()
        while self.cells.is_untended:
            self.cells.tend()
        return (time.process_time() - began) / self.number * 1e6

    def compare(self, share: float) -> str:
        """CPU ms of searches with a condition that this share of the entries passes, and their recall."""
        below = round(self.number * share)
        test: Callable[[Item], bool] | None = None if share == 1 else (lambda item: int(item["n"]["N"]) < below)
        exact, exact_ms = self._search(self.exact, test)
        found, cells_ms = self._search(self.cells, test)
        recall = mean(len(some & best) / len(best) for some, best in zip(found, exact, strict=True))
        return f"exact {median(exact_ms):6.2f} ms, cells {median(cells_ms):6.2f} ms, recall {recall:.4f}"

    def _search(self, part: LoadedPart, test: Callable[[Item], bool] | None) -> tuple[list[set[bytes]], list[float]]:
        found, times_ms = [], []
        for vector in self.wanted:
            query = VectorQuery(None, vector.tobytes(), TOP_K, test)
            began = time.process_time()
            result = part.search(query)
            times_ms.append((time.process_time() - began) * 1000)
            found.append({one.key for one in result})
        return found, times_ms


def compare_cells(number: int, searches: int, distance: Distance) -> None:
    """Print recall and CPU ms of searches of parts with so many entries."""
    for kind in KINDS:
        bench = CellsBench(kind, distance, number, searches)
        cpu_us = bench.divide()
        more = bench.cells.memory_bytes / bench.exact.memory_bytes - 1
        print(f"{number:,} vectors, {kind}, {distance}: divided in {cpu_us:.0f} µs of CPU each, {more:.0%} more memory")
        before = {share: bench.compare(share) for share in SHARES}
        bench.change()
        bench.divide()
        for share in SHARES:
            name = "all" if share == 1 else f"{share:.1%} pass"
            print(f"  {name:11}{before[share]}; after 30 % were deleted and 30 % changed {bench.compare(share)}")
