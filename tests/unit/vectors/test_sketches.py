"""Do sketches leave out only entries that are not among the best, and are they used where they tell enough?"""

import random
from collections.abc import Generator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pytest

from hashrange.vectors import sketches
from hashrange.vectors.blocks import DoubleArray, FloatArray, VectorBlock
from hashrange.vectors.bounds import MeritBounds
from hashrange.vectors.centroids import compared
from hashrange.vectors.loaded_part import LoadedPart
from hashrange.vectors.ranking import Distance, scorer, sign_of
from hashrange.vectors.search import VectorQuery
from hashrange.vectors.sketches import SketchAxes, trained_axes
from tests.unit.vectors.test_loaded_part import is_below, row_of, shown

DISTANCES: tuple[Distance, ...] = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
DIMENSIONS = sketches.DIMENSIONS_MIN
T = TypeVar("T")


def ended(steps: Generator[None, None, T]) -> T:
    """What a generator returns after all of its steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def latent(seed: int, count: int, dimensions: int = DIMENSIONS, noise: float = 0.05) -> FloatArray:
    """Vectors near a plane of twelve dimensions."""
    chance, shapes = np.random.default_rng(seed), np.random.default_rng(99)
    on_plane = chance.standard_normal((count, 12), np.float32) @ shapes.standard_normal((12, dimensions), np.float32)
    made: FloatArray = on_plane + np.float32(noise) * chance.standard_normal((count, dimensions), np.float32)
    return made


def directions(vectors: FloatArray) -> FloatArray:
    """The vectors with the length 1; those of zeros as they are."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    made: FloatArray = (wide / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return made


def random_axes(seed: int, count: int, dimensions: int) -> FloatArray:
    """Axes at right angles to each other."""
    made = np.linalg.qr(np.random.default_rng(seed).standard_normal((dimensions, count)))[0].T
    axes: FloatArray = np.ascontiguousarray(made.astype(np.float32))
    return axes


def drawn(seed: int, dimensions: int, axes: FloatArray) -> FloatArray:
    """Vectors: on the axes, beside them, far from the origin, of very different lengths, of large and of small numbers,
    multiples of each other, and zeros.
    """
    chance = np.random.default_rng(seed)
    some = chance.standard_normal((40, dimensions)).astype(np.float32)
    on_axes = chance.standard_normal((20, len(axes))).astype(np.float32) @ axes
    lengths = np.float32(10) ** chance.integers(-6, 7, (40, 1)).astype(np.float32)
    scale = np.float32([1, 1, 1e-15, 1e-30, 1e17, 1e30][seed % 6])
    made: FloatArray = np.concatenate(
        [some, on_axes, some + 100, some * lengths, 2 * some[:5], -some[:5], 0 * some[:2]]
    )
    return made * scale


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", range(36))
def test_an_entry_that_is_left_out_is_worse(distance: Distance, seed: int) -> None:
    chance = random.Random(seed)
    dimensions = chance.choice((8, 64, 384))
    axes = random_axes(seed, chance.choice((1, 3, 7)), dimensions)
    made = SketchAxes(distance, axes)
    vectors = drawn(seed, dimensions, axes)
    rows = made.sketches(directions(vectors) if distance == "COSINE" else vectors)
    left_out = 0
    for wanted in vectors[[0, 30, 45, 70, 110, -1]]:
        bounds = MeritBounds(distance, wanted.tobytes())
        column = made.column(bounds.column, bounds.length)
        if column is None:
            assert not wanted.any() or distance == "EUCLIDEAN"
            continue
        score = scorer(distance, wanted.tobytes())
        merits = np.array([sign_of(distance) * score(vector.tobytes()) for vector in vectors])
        with np.errstate(all="ignore"):
            upper = (rows @ column)[:, 0]
        for merit in merits.tolist():
            is_out = upper < np.float32(bounds.sketch_lowest(bounds.lowest(merit)))
            assert not (is_out & (merits >= merit)).any()
            left_out += int(is_out.sum())
    assert left_out > 0 or seed % 6 > 1


@pytest.mark.parametrize(("noise", "columns"), [(0.05, 32), (2.0, 32), (8.0, None)])
def test_there_are_sketches_if_few_axes_have_most_of_the_length(noise: float, columns: int | None) -> None:
    axes = ended(trained_axes("COSINE", directions(latent(1, 600, noise=noise))))
    assert (None if axes is None else axes.columns) == columns


def test_more_axes_are_taken_if_few_have_too_little() -> None:
    falling = (1 / np.sqrt(1 + np.arange(384))).astype(np.float32)
    vectors = np.random.default_rng(1).standard_normal((2_000, 384), np.float32) * falling
    axes = ended(trained_axes("EUCLIDEAN", vectors))
    assert axes is not None
    assert axes.columns == 64
    left = axes.sketches(vectors)[:, -3]
    assert (left**2).sum() < 0.3 * (vectors**2).sum()


@pytest.mark.parametrize(
    "vectors",
    [latent(1, 100, DIMENSIONS - 1), 0 * latent(1, 100), np.float32(1e25) * latent(1, 100), latent(1, 1)],
    ids=["few dimensions", "zeros", "large numbers", "one vector"],
)
@pytest.mark.filterwarnings("error")
def test_vectors_that_need_care(vectors: FloatArray) -> None:
    axes = ended(trained_axes("DOT_PRODUCT", vectors))
    if axes is not None:
        assert len(axes.sketches(vectors)) == len(vectors)


def part_of(distance: Distance, vectors: FloatArray) -> LoadedPart:
    """A part in cells with these vectors."""
    part = LoadedPart(distance, vectors.shape[1], 500)
    for number, vector in enumerate(vectors):
        part.put(b"%d" % number, vector.tobytes(), 1, row_of(number % 100))
    while part.is_untended:
        part.tend()
    return part


@pytest.mark.parametrize("distance", DISTANCES)
def test_searches_find_the_same_with_and_without_sketches(distance: Distance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after changes, with conditions, for several numbers of entries, and with equal vectors."""
    vectors = latent(1, 3_000)
    vectors[2_000:2_100] = vectors[:100]
    vectors[2_990:] = 0
    parts = [part_of(distance, vectors)]
    monkeypatch.setattr(sketches, "SHARE_MIN", 2.0)
    parts.append(part_of(distance, vectors))
    assert [part._sketch_columns for part in parts] == [32, 0]
    compared_rows: list[int] = []
    products = VectorBlock.products

    def noting(block: VectorBlock, column: FloatArray) -> FloatArray:
        compared_rows.append(len(block.keys))
        return products(block, column)

    monkeypatch.setattr(VectorBlock, "products", noting)
    for change in range(2):
        read = []
        for part in parts:
            compared_rows.clear()
            found = [
                shown(part.search(VectorQuery(None, wanted.tobytes(), top_k, test)))
                for wanted in [*latent(5, 6), vectors[7], vectors[-1]]
                for top_k in (1, 10, 100)
                for test in (None, is_below(40))
            ]
            read.append((found, sum(compared_rows)))
        assert read[0][0] == read[1][0]
        assert read[0][1] < read[1][1]
        if not change:
            for part in parts:
                for number, vector in enumerate(latent(6, 1_500)):
                    part.put(b"%d" % (2 * number), vector.tobytes(), 1, row_of(number % 100))
                for number in range(0, 3_000, 5):
                    part.remove(b"%d" % number)
                while part.is_untended:
                    part.tend()


def read_back(part: LoadedPart) -> LoadedPart:
    """Another part, made of the sections of this one."""
    made = part.emptied()
    head, *others = part.sections()
    assert made.begin(head) == part.count
    for section in others:
        made.add_block(made.read_block(section))
    return made


@pytest.mark.parametrize("share_min", [0.0, 2.0], ids=["sketches", "none"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_a_part_that_is_read_back_reads_as_few_vectors(
    distance: Distance, share_min: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sketches, "SHARE_MIN", share_min)
    part = part_of(distance, latent(1, 3_000))
    parts = [part, read_back(part)]
    assert [one._sketch_columns for one in parts] == [0 if share_min else 32] * 2
    read_rows: list[int] = []
    products, close_upper = VectorBlock.products, MeritBounds.close_upper

    def noting(block: VectorBlock, column: FloatArray) -> FloatArray:
        read_rows.append(len(block.keys))
        return products(block, column)

    def noting_close(bounds: MeritBounds, floats: FloatArray, lengths: DoubleArray) -> DoubleArray:
        read_rows.append(len(floats))
        return close_upper(bounds, floats, lengths)

    monkeypatch.setattr(VectorBlock, "products", noting)
    monkeypatch.setattr(MeritBounds, "close_upper", noting_close)
    results = []
    for one in parts:
        read_rows.clear()
        queries = [
            VectorQuery(None, wanted.tobytes(), 10, test) for wanted in latent(5, 6) for test in (None, is_below(40))
        ]
        results.append(([shown(one.search(query)) for query in queries], list(read_rows)))
    assert results[0] == results[1]


def test_a_part_may_be_read_back_at_any_moment() -> None:
    """While it is divided, while it is divided again, and with entries that have come since."""
    vectors = latent(1, 1_500)
    wanted = latent(5, 4)
    part = LoadedPart("COSINE", DIMENSIONS, 500)
    moments = set()
    for number, vector in enumerate(vectors):
        part.put(b"%d" % number, vector.tobytes(), 1, row_of(number % 100))
        if number in {700, 1_499}:
            step = 0
            while part.is_untended:
                part.tend()
                step += 1
                if step % 40 == 0 or part._moving:
                    moments.add((part.is_divided, bool(part._moving), part._training is not None))
                    require_same(part, read_back(part), wanted)
        if number % 5 == 0:
            part.remove(b"%d" % (number // 5))
    require_same(part, read_back(part), wanted)
    assert moments >= {(False, False, True), (True, True, False), (True, False, True)}


def require_same(part: LoadedPart, other: LoadedPart, wanted: FloatArray) -> None:
    """Another part finds the same, and each of its entries in cells has the sketch that its vector would get."""
    queries = [VectorQuery(None, vector.tobytes(), 10, None) for vector in wanted]
    assert [shown(other.search(query)) for query in queries] == [shown(part.search(query)) for query in queries]
    for block in other._blocks.values():
        assert block.sketches.shape[2] == (0 if block.cell is None else other._sketch_columns)
        if block.cell is not None:
            assert other._cells is not None
            places = list(range(len(block.keys)))
            expected = other._cells.sketches(compared("COSINE", block, places))
            found = block.sketches.reshape(-1, other._sketch_columns)[places]
            assert np.allclose(found, expected, rtol=1e-5, atol=1e-4)


def test_a_sketch_moves_with_its_block_when_it_grows() -> None:
    part = part_of("EUCLIDEAN", latent(1, 1_200))
    assert part._cells is not None
    assert part._cells.axes is not None
    for block in part._blocks.values():
        places = [place for place, key in enumerate(block.keys) if key is not None]
        expected = part._cells.axes.sketches(block.floats[places])
        assert np.allclose(block.sketches.reshape(-1, 32)[places], expected, rtol=1e-5, atol=1e-4)


def test_the_memory_of_sketches_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = latent(1, 1_500)
    sizes = [part_of("COSINE", vectors).memory_bytes]
    monkeypatch.setattr(sketches, "SHARE_MIN", 2.0)
    sizes.append(part_of("COSINE", vectors).memory_bytes)
    assert all(larger - smaller > 1_500 * 32 * 4 for larger, smaller in pairwise(sizes))


def test_sketches_are_counted_as_entries_get_them() -> None:
    """When a part of 200,000 vectors got cells, its memory was counted with 52 MB more in one step."""
    vectors = latent(1, 1_500)
    part = LoadedPart("COSINE", vectors.shape[1], 1_500)
    for number, vector in enumerate(vectors):
        part.put(b"%d" % number, vector.astype("<f4").tobytes(), 10)
    while not part.is_divided:
        before_bytes = part.memory_bytes
        part.tend()
    assert part._cells is not None
    assert part._cells.axes is not None
    assert part.memory_bytes == before_bytes + part._cells.memory_bytes
    while part.is_untended:
        part.tend()
        assert part._blocks_bytes == sum(block.memory_bytes for block in part._blocks.values())
    held = [array.nbytes for block in part._blocks.values() for array in (block.floats, block.sketches)]
    assert sum(held) < part._blocks_bytes < sum(held) * 1.1


def test_a_step_of_the_training_of_axes_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step multiplies many vectors."""
    rows: list[int] = []
    multiply = np.matmul

    def noting(first: Any, second: Any) -> Any:
        rows[-1] += first.size
        return multiply(first, second)

    monkeypatch.setattr(np, "matmul", noting)
    rows.extend(0 for _ in trained_axes("COSINE", latent(1, 600, 384)))
    assert len(rows) > 100
    assert max(rows) <= 24 * (384 + 3 * 64)
