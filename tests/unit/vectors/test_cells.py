"""Does a search of a part that is divided into cells find nearly all of the best, and never what is not there?"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from hashrange.items import steps
from hashrange.items.types import Item
from hashrange.vectors import blocks, centroids, loaded_part
from hashrange.vectors.blocks import FloatArray
from hashrange.vectors.centroids import Centroids
from hashrange.vectors.loaded_part import LoadedPart
from hashrange.vectors.part_search import PartSearch
from hashrange.vectors.ranking import Distance
from hashrange.vectors.search import VectorQuery
from tests.support.seeds import seeds
from tests.support.working import lines_between_looks, lines_of
from tests.unit.vectors.test_loaded_part import Dealer, Entries, expected, is_below, row_of, shown

COUNT, QUERIES, DIMENSIONS = 4_000, 12, 24
SHARES = (1.0, 0.5, 0.1, 0.01, 0.001)
RECALL_MIN = 0.98


def drawn(kind: str, seed: int, count: int) -> FloatArray:
    """Vectors: `uniform`, `clustered` around 60 points, or `latent`: on a curved surface of few dimensions."""
    chance = np.random.default_rng(seed)
    shapes = np.random.default_rng(99)
    if kind == "uniform":
        return chance.random((count, DIMENSIONS), np.float32) * 2 - 1
    if kind == "clustered":
        centers = shapes.standard_normal((60, DIMENSIONS), np.float32)
        noise = chance.standard_normal((count, DIMENSIONS), np.float32)
        clustered: FloatArray = centers[chance.integers(0, 60, count)] + np.float32(0.5) * noise
        return clustered
    first, second = (shapes.standard_normal(shape, np.float32) for shape in ((6, DIMENSIONS), (DIMENSIONS,) * 2))
    latent: FloatArray = np.tanh(chance.standard_normal((count, 6), np.float32) @ first / 2) @ second
    return latent


def divided(part: LoadedPart) -> LoadedPart:
    """The part when all is done for its cells."""
    while part.is_untended:
        part.tend()
    return part


def both(distance: Distance, cells_entries_min: int) -> tuple[LoadedPart, LoadedPart]:
    """A part that is divided if it has so many entries, and one that is not."""
    return LoadedPart(distance, DIMENSIONS, cells_entries_min), LoadedPart(distance, DIMENSIONS, 10**9)


def recall(cells: LoadedPart, exact: LoadedPart, vectors: FloatArray, top_k: int, below: int) -> float:
    """The share of the best entries that searches of the cells find."""
    found = most = 0
    test = None if below == COUNT else is_below(below)
    for vector in vectors:
        query = VectorQuery(None, vector.tobytes(), top_k, test)
        best = set(shown(exact.search(query)))
        found += len(best.intersection(shown(cells.search(query))))
        most += len(best)
    assert most
    return found / most


@pytest.mark.parametrize(
    ("kind", "distance"),
    [
        ("uniform", "COSINE"),
        ("clustered", "COSINE"),
        ("latent", "COSINE"),
        ("clustered", "EUCLIDEAN"),
        ("latent", "EUCLIDEAN"),
        ("latent", "DOT_PRODUCT"),
    ],
)
def test_nearly_all_of_the_best_are_found(kind: str, distance: Distance) -> None:
    """Also after 30 % of the entries were deleted and as many have got other vectors, with conditions, and of one."""
    vectors = drawn(kind, 1, COUNT + QUERIES)
    ranks = random.Random(2).sample(range(COUNT), COUNT)
    parts = both(distance, 1_000)
    for number in range(COUNT):
        for part in parts:
            part.put(b"%d" % number, vectors[number].tobytes(), 100, row_of(ranks[number]))
    divided(parts[0])
    results = {share: recall(*parts, vectors[COUNT:], 10, round(COUNT * share)) for share in SHARES}
    results[-1.0] = recall(*parts, vectors[COUNT:], 1, COUNT)
    again = drawn(kind, 3, COUNT)
    for number in range(COUNT * 6 // 10):
        for part in parts:
            if number % 2:
                part.remove(b"%d" % number)
            else:
                part.put(b"%d" % number, again[number].tobytes(), 100, row_of(ranks[number]))
    divided(parts[0])
    results |= {share + 2: recall(*parts, vectors[COUNT:], 10, round(COUNT * share)) for share in SHARES}
    assert {share: found for share, found in results.items() if found < RECALL_MIN} == {}


def visited(part: LoadedPart, query: VectorQuery, monkeypatch: pytest.MonkeyPatch) -> int:
    """With how many places a search compares its vector."""
    counts = []
    products = blocks.VectorBlock.products

    def noting(block: blocks.VectorBlock, column: FloatArray) -> FloatArray:
        counts.append(len(block.keys))
        return products(block, column)

    with monkeypatch.context() as patched:
        patched.setattr(blocks.VectorBlock, "products", noting)
        part.search(query)
    return sum(counts)


def test_few_cells_are_visited_of_vectors_in_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = drawn("clustered", 1, COUNT + QUERIES)
    part, _ = both("COSINE", 1_000)
    for number in range(COUNT):
        part.put(b"%d" % number, vectors[number].tobytes(), 100)
    counts = [visited(part, VectorQuery(None, one.tobytes(), 10), monkeypatch) for one in vectors[COUNT:]]
    assert min(counts) == COUNT
    divided(part)
    counts = [visited(part, VectorQuery(None, one.tobytes(), 10), monkeypatch) for one in vectors[COUNT:]]
    assert sorted(counts)[QUERIES // 2] < COUNT // 2


def test_entries_far_away_are_found_if_few_near_ones_pass() -> None:
    """A search goes on until there are enough entries, although no nearer ones come."""
    part = LoadedPart("EUCLIDEAN", 2, 1_000)
    for number in range(4_000):
        place, rank = (9.0, 1) if number < 200 else (number / 4_000, 1 if number >= 3_970 else 5)
        part.put(b"%d" % number, np.array([place, number % 7 / 1_000], np.float32).tobytes(), 1, row_of(rank))
    query = VectorQuery(None, np.array([1.0, 0.0], np.float32).tobytes(), 100, is_below(2))
    assert len(divided(part).search(query)) == 100


def test_all_cells_are_visited_at_once_if_few_entries_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = drawn("latent", 1, COUNT + QUERIES)
    part, _ = both("COSINE", 1_000)
    for number in range(COUNT):
        part.put(b"%d" % number, vectors[number].tobytes(), 100, row_of(number))
    divided(part)
    visits: list[int] = []
    visit = PartSearch.visit

    def noting(search: PartSearch, blocks: Sequence[blocks.VectorBlock]) -> None:
        visits.append(len(blocks))
        visit(search, blocks)

    monkeypatch.setattr(PartSearch, "visit", noting)
    for vector in vectors[COUNT:]:
        visits.clear()
        part.search(VectorQuery(None, vector.tobytes(), 10, lambda item: int(item["n"]["N"]) % 100 == 0))
        assert len(visits) == 3  # without a cell, the nearest cells, all others
        assert sum(visits[1:]) == cells_of(part)


# --- what changes meanwhile -------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, steps and batches are small."""
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES_MAX", 32)
    monkeypatch.setattr(loaded_part, "MOVED_ENTRIES_MIN", 16)
    monkeypatch.setattr(centroids, "_STEP_MULTIPLICATIONS", 200)
    monkeypatch.setattr(centroids, "_STEP_PLACES", 16)


class Writes:
    """Random writes to a part, and the entries that it then has."""

    def __init__(self, seed: int, distance: Distance) -> None:
        self.chance = random.Random(seed)
        self.dimensions = self.chance.choice((1, 2, 7, 20))
        self.dealer = Dealer(self.chance, self.dimensions)
        self.distance = distance
        self.part = LoadedPart(distance, self.dimensions, 60)
        self.entries: Entries = {}
        self.forms: set[str] = set()

    def write(self, keys: int, *, removed: float) -> None:
        key = b"k%d" % self.chance.randrange(keys)
        former = self.entries.get(key)
        if self.chance.random() < removed:
            self.entries.pop(key, None)
            self.part.remove(key)
            return
        is_alike = former is not None and self.chance.random() < 0.3
        vector = former[0] if former is not None and is_alike else self.dealer.deal()
        self.entries[key] = vector, self.chance.randint(1, 5_000), self.chance.randrange(10)
        self.part.put(key, vector, self.entries[key][1], row_of(self.entries[key][2]))

    def tend(self) -> None:
        if self.part.is_untended:
            self.part.tend()
            is_training, is_moving = self.part._training is not None, bool(self.part._moving)
            self.forms.add(f"training {is_training} moving {is_moving} cells {self.part._cells is not None}")

    def require_right(self) -> None:
        """All entries are there once, and those that a search for few finds are among them."""
        assert self.part.count == len(self.entries)
        assert self.part.read_bytes == sum(size_bytes for _, size_bytes, _ in self.entries.values())
        if self.part._cells is not None:
            of_cells = [block for block in self.part._blocks.values() if block.cell is not None]
            count = sum(key is not None for block in of_cells for key in block.keys)
            assert sum(self.part._cells._counts) == count
        test: Callable[[Item], bool] | None = self.chance.choice((None, is_below(self.chance.randint(0, 10))))
        query = VectorQuery(None, self.dealer.deal(), 1_000, test)
        all_of_them = expected(self.entries, self.distance, query)
        assert shown(self.part.search(query)) == all_of_them
        few = shown(self.part.search(VectorQuery(None, query.vector, 3, test)))
        assert [one for one in all_of_them if one in few] == few
        assert len(few) == min(3, len(all_of_them))


DISTANCES: tuple[Distance, ...] = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", seeds(8, 300))
def test_nothing_is_lost_or_found_twice(distance: Distance, seed: int) -> None:
    """Entries come, change and go while centers are trained and entries are moved; the part grows and shrinks."""
    writes = Writes(seed, distance)
    for keys, removed in ((50, 0.1), (150, 0.1), (400, 0.1), (400, 0.5), (100, 0.7)):
        for turn in range(400):
            writes.write(keys, removed=removed)
            writes.tend()
            if turn % 40 == 0:
                writes.require_right()
        writes.require_right()
    divided(writes.part)
    writes.require_right()
    assert {"training True moving False cells False", "training False moving True cells True"} <= writes.forms


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", seeds(4, 100))
@pytest.mark.parametrize("distance", DISTANCES)
def test_entries_that_stay_are_found_while_a_search_gives_way(
    distance: Distance, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others come, change and go, and the part is divided, and divided again."""
    monkeypatch.setattr(steps, "LOOK_STEPS", 1)
    writes = Writes(seed, distance)
    stay: Entries = {b"s%d" % number: (writes.dealer.deal(), 10, number % 3) for number in range(100)}
    for key, (vector, size_bytes, number) in stay.items():
        writes.part.put(key, vector, size_bytes, row_of(number))
    keys, divisions = 10, set()

    def change() -> None:
        divisions.add(writes.part._cells)
        for _ in range(writes.chance.randrange(4)):
            writes.tend()
        writes.write(keys, removed=0.2)

    for turn in range(40):
        keys = 10 if turn % 10 < 5 else 400
        query = VectorQuery(None, writes.dealer.deal(), writes.chance.choice((5, 1_000)), is_below(2))
        with monkeypatch.context() as patched:
            patched.setattr(steps, "_look", change)
            found = shown(writes.part.search(query))
        assert len({key for key, _ in found}) == len(found)
        stayed = [one for one in found if one[0] in stay]
        if query.top_k == 1_000:
            assert stayed == expected(stay, distance, query)
        for key in [key for key in writes.entries if turn % 10 == 9]:
            writes.entries.pop(key)
            writes.part.remove(key)
    assert len(divisions) > 3


@pytest.mark.usefixtures("small")
def test_an_entry_that_changes_is_found_before_or_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that was among the best and still is, is found, although it leaves its cell during the search."""
    monkeypatch.setattr(steps, "LOOK_STEPS", 1)
    part = LoadedPart("EUCLIDEAN", 2, 60)
    chance = random.Random(4)
    for number in range(300):
        part.put(b"%d" % number, np.array([chance.random(), chance.random()], np.float32).tobytes(), 1, row_of(1))
    divided(part)
    wanted = VectorQuery(None, np.array([0.5, 0.5], np.float32).tobytes(), 1, is_below(2))
    for at in range(60):
        looks = 0
        part.put(b"best", np.array([0.5, 0.5001], np.float32).tobytes(), 1, row_of(1))
        divided(part)
        for number in range(20):
            part.put(b"x%d" % number, np.array([0.9, 0.9], np.float32).tobytes(), 1, row_of(1))
        divided(part)

        def change(at: int = at) -> None:
            nonlocal looks
            looks += 1
            if looks == at:
                part.put(b"best", np.array([0.5001, 0.5], np.float32).tobytes(), 1, row_of(1))

        with monkeypatch.context() as patched:
            patched.setattr(steps, "_look", change)
            assert [one.key for one in part.search(wanted)] == [b"best"]


# --- when a part is divided -------------------------------------------------------------------------


def filled(count: int, cells_entries_min: int = 500) -> LoadedPart:
    part, _ = both("EUCLIDEAN", cells_entries_min)
    for number, vector in enumerate(drawn("latent", 5, count)):
        part.put(b"%d" % number, vector.tobytes(), 1)
    return divided(part)


def cells_of(part: LoadedPart) -> int:
    return 0 if part._cells is None else part._cells.centroids.count


@pytest.mark.parametrize(("dimensions", "count"), [(384, 39_062), (1_536, 12_019), (4_096, 10_000)])
def test_a_part_with_many_numbers_is_divided(dimensions: int, count: int) -> None:
    assert LoadedPart("COSINE", dimensions)._cells_entries_min == count


def test_a_part_is_divided_again_when_it_has_grown_or_shrunk() -> None:
    assert cells_of(filled(499)) == 0
    part = filled(1_000)
    counts = [cells_of(part)]
    for number, vector in enumerate(drawn("latent", 6, 3_000)):
        part.put(b"more%d" % number, vector.tobytes(), 1)
    counts.append(cells_of(divided(part)))
    for number in range(3_000):
        if number % 8:
            part.remove(b"more%d" % number)
    counts.append(cells_of(divided(part)))
    assert 0 < counts[0] < counts[1] > counts[2] > 0


def test_entries_go_while_a_part_is_divided_again() -> None:
    part = filled(3_000)
    for number in range(2_000):
        part.remove(b"%d" % number)
    while not part._moving:
        part.tend()
    for number in range(2_000, 3_000):
        if number % 3:
            part.remove(b"%d" % number)
            part.tend()
    keys = {one.key for one in divided(part).search(VectorQuery(None, drawn("latent", 1, 1).tobytes(), 1_000))}
    assert keys == {b"%d" % number for number in range(2_000, 3_000) if number % 3 == 0}


def test_a_part_is_divided_again_when_a_cell_has_become_large() -> None:
    part = filled(2_000)
    former = part._cells
    for number, vector in enumerate(drawn("latent", 6, 900)):
        part.put(b"more%d" % number, (vector / 100).tobytes(), 1)
    assert divided(part)._cells is not former


def test_new_entries_are_moved_into_cells() -> None:
    part = filled(2_000)
    for number, vector in enumerate(drawn("latent", 6, 1_500)):
        part.put(b"more%d" % number, vector.tobytes(), 1)
        divided(part)
    assert sum(len(block.keys) for block in part._rest) < loaded_part.MOVED_ENTRIES_MIN


def test_places_are_used_again() -> None:
    part = filled(2_000)
    most_bytes = part.memory_bytes
    vectors = drawn("latent", 6, 500)
    for turn in range(12):
        for number in range(500):
            part.put(b"%d" % (turn * 500 + number + 2_000), vectors[number].tobytes(), 1)
            part.remove(b"%d" % (turn * 500 + number))
        divided(part)
    assert part.count == 2_000
    assert part.memory_bytes < most_bytes * 1.5
    assert not part.is_sparse
    assert part._places_count == sum(len(block.lengths) for block in part._blocks.values())


# --- steps ----------------------------------------------------------------------------------------


def test_a_search_gives_way() -> None:
    part, query = filled(9_000), VectorQuery(None, drawn("latent", 7, 1).tobytes(), 100)
    assert lines_between_looks(lambda: part.search(query)) < 3_000


def test_a_step_is_short() -> None:
    part, _ = both("COSINE", 5_000)
    for number, vector in enumerate(drawn("latent", 5, 9_000)):
        part.put(b"%d" % number, vector.tobytes(), 1)
    lines = []
    while part.is_untended:
        lines.append(lines_of(part.tend))
    assert max(lines) < 3_200
    assert len(lines) > 100


@pytest.mark.parametrize("dimensions", [1, 3, 384, 1_536, 4_096])
def test_no_product_is_so_large_that_it_is_split_among_threads(
    dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    multiplications = []
    multiply = np.matmul

    def noting(first: Any, second: Any) -> Any:
        (rows, inner), columns = first.shape[-2:], second.shape[-1]
        is_vector = rows == 1 or columns == 1
        multiplications.append(rows * inner * columns / (9_216 if is_vector else 262_145))
        return multiply(first, second)

    monkeypatch.setattr(np, "matmul", noting)
    vectors = np.random.default_rng(1).random((200, dimensions), np.float32)
    part = LoadedPart("COSINE", dimensions, 100)
    for number, vector in enumerate(vectors):
        part.put(b"%d" % number, vector.tobytes(), 1)
    assert len(divided(part).search(VectorQuery(None, vectors[0].tobytes(), 100))) == 100
    assert len(multiplications) > 10
    assert max(multiplications) < 1


def test_cells_are_told_and_ordered_by_all_numbers() -> None:
    """The nearest center, for counts that fill no matrix."""
    chance = np.random.default_rng(3)
    for count, dimensions in ((1, 3), (17, 5), (300, 40), (37, 4_000)):
        centers = chance.standard_normal((count, dimensions), np.float32)
        vectors = chance.standard_normal((min(50, 2 * count), dimensions), np.float32)
        near = partial(np.linalg.norm, axis=1)
        wanted = [int(np.argmin(near(centers - vector))) for vector in vectors]
        made = Centroids("EUCLIDEAN", centers)
        assert made.nearest(vectors) == wanted
        lengths = [float(np.linalg.norm(vector)) for vector in vectors]
        columns = [(vector / length)[:, None] for vector, length in zip(vectors, lengths, strict=True)]
        orders = [made.order(column, length) for column, length in zip(columns, lengths, strict=True)]
        assert [order[0] for order in orders] == wanted
        assert all(sorted(order) == list(range(count)) for order in orders)
