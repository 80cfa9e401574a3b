"""Does a saved part come back with its sketches, so that searches read as few vectors as before, and is it counted?"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.store.embedded import part_loading, saved_parts, vector_parts
from hashrange.vectors import sketches
from hashrange.vectors.blocks import FloatArray, VectorBlock
from hashrange.vectors.floats import packed
from hashrange.vectors.part_search import PartSearch
from hashrange.vectors.search import VectorQuery
from tests.unit.store import test_vector_parts
from tests.unit.store.test_saved_parts import COUNT, SavedVectors, damaged
from tests.unit.store.test_vector_parts import NAME, Vectors, parts_of

DIMENSIONS, SHAPES = sketches.DIMENSIONS_MIN, 3


class SketchedVectors(SavedVectors):
    """Vectors near a plane, as those of which there are sketches."""

    def drawn(self) -> list[float]:
        """A vector."""
        shapes = random.Random(99)
        numbers = [self.chance.uniform(-9, 9) for _ in range(SHAPES)]
        made = [sum(shapes.uniform(-1, 1) * number for number in numbers) for _ in range(DIMENSIONS)]
        return [round(number + self.chance.uniform(-0.1, 0.1), 3) for number in made]

    def put(self, number: int, tenant: str | None = None) -> None:
        vector = {"L": [{"N": str(one)} for one in self.drawn()]}
        item = {"id": {"S": str(number)}, "v": vector, "rank": {"N": str(self.chance.randrange(4))}}
        self.world.request("PutItem", TableName=NAME, Item=item | {"tenant": {"S": tenant or "t"}})

    def query(self, top_k: int = 10, rank: str | None = None, tenant: str = "t") -> VectorQuery:
        vector = packed(self.drawn())
        assert vector is not None
        return msgspec.structs.replace(super().query(top_k, rank, tenant), vector=vector)


@pytest.fixture
def sketched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SketchedVectors]:
    """A divided part with sketches, in memory."""
    monkeypatch.setattr(test_vector_parts, "DIMENSIONS", DIMENSIONS)
    monkeypatch.setattr(vector_parts, "SAVED_ENTRIES_MIN", 10)
    monkeypatch.setattr(saved_parts, "SPARE_DISK_BYTES", 0)
    monkeypatch.setattr(part_loading, "READ_ENTRIES", 1)
    made = SketchedVectors(tmp_path / "data")
    made.require_right()
    made.tend()
    yield made
    assert made.world.close() == []


@pytest.fixture
def read_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each batch in which searches read all vectors, their number; of one whose sketches were enough, 0."""
    rows: list[int] = []
    products, sifted = VectorBlock.products, PartSearch._sifted_bounds

    def noting(block: VectorBlock, column: FloatArray) -> FloatArray:
        rows.append(len(block.keys))
        return products(block, column)

    def noting_sifted(search: PartSearch, *arguments: Any) -> Any:
        bounds = sifted(search, *arguments)
        if bounds is not None:
            rows.append(0)
        return bounds

    monkeypatch.setattr(VectorBlock, "products", noting)
    monkeypatch.setattr(PartSearch, "_sifted_bounds", noting_sifted)
    return rows


def test_a_part_is_read_from_its_file_with_its_sketches(
    sketched: SketchedVectors, read_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = [sketched.query(3, rank) for rank in (None, "2") for _ in range(5)]
    read_rows.clear()
    before = [sketched.search(query) for query in queries], list(read_rows)
    assert 0 in read_rows
    (former,) = parts_of(sketched)
    figures = former.entries._sketch_columns, former.entries.count, former.entries.read_bytes
    sketched.restart()
    assert sketched.read_rows(monkeypatch) == 0
    (part,) = parts_of(sketched)
    assert (part.entries._sketch_columns, part.entries.count, part.entries.read_bytes) == figures
    read_rows.clear()
    assert ([sketched.search(query) for query in queries], list(read_rows)) == before
    assert figures[0] == sketches.AXES[0] + sketches.EXTRA_COLUMNS
    for _ in range(60):
        sketched.change()
    sketched.tend()
    sketched.require_right()
    sketched.restart()
    assert sketched.read_rows(monkeypatch) == 0


def test_the_memory_of_a_part_that_is_read_is_counted(sketched: SketchedVectors) -> None:
    """Within the memory of all stores, of which the part that was used least recently goes."""
    sketched.restart()
    other = Vectors()
    other.parts._memory = memory = sketched.parts._memory
    other.fill(200)
    other.require_right()
    (small,) = parts_of(other)
    sketched.require_right()
    (part,) = parts_of(sketched)
    assert part.counted_bytes == part.entries.memory_bytes > COUNT * 4 * (DIMENSIONS + part.entries._sketch_columns)
    assert memory.used_bytes == part.counted_bytes + small.counted_bytes
    sketched.restart()
    assert memory.used_bytes == small.counted_bytes
    sketched.parts._memory = memory
    sketched.parts.limit_bytes = part.counted_bytes
    sketched.require_right()
    assert (len(parts_of(other)), len(parts_of(sketched))) == (0, 1)
    assert memory.used_bytes == parts_of(sketched)[0].counted_bytes <= part.counted_bytes
    assert other.world.close() == []


def test_a_part_that_goes_while_it_is_read_is_read_again(
    sketched: SketchedVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another store needs the memory meanwhile: the search goes on by pages, and the next one reads the file."""
    sketched.restart()
    search = sketched.begin(sketched.query())
    while not parts_of(sketched) or not parts_of(sketched)[0].entries.count:
        search.send(None)
    (part,) = parts_of(sketched)
    assert not part.is_complete
    sketched.parts._memory.drop(part)
    assert sketched.parts._memory.used_bytes == 0
    with pytest.raises(StopIteration):
        while True:
            search.send(None)
    assert parts_of(sketched) == []
    assert len(sketched.files) == 1
    assert sketched.read_rows(monkeypatch) == 0


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_with_sketches_is_not_used(
    sketched: SketchedVectors, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sketched.world.embedded.close_now()
    (file,) = sketched.files
    file.write_bytes(damaged(file.read_bytes(), seed, random.Random(seed)))
    sketched.open()
    assert sketched.read_rows(monkeypatch) == COUNT
    sketched.tend()
    sketched.require_right()


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_kill_leaves_a_file_with_sketches_only_if_nothing_was_written(
    sketched: SketchedVectors, is_changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sketched.restart()
    if is_changed:
        sketched.put(1)
    sketched.world.kill()
    sketched.use_cells()
    assert sketched.read_rows(monkeypatch) == (COUNT if is_changed else 0)
    (part,) = parts_of(sketched)
    assert part.entries._sketch_columns == (0 if is_changed else sketches.AXES[0] + sketches.EXTRA_COLUMNS)
    sketched.tend()
    sketched.require_right()
