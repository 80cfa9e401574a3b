"""Does the search of a loaded part find what the comparison of all entries finds? Also while entries change."""

import random
import struct
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hashrange.items import steps
from hashrange.items.rows import part_row
from hashrange.items.types import Item, Row
from hashrange.limits import FLOAT32_MAX
from hashrange.vectors import blocks
from hashrange.vectors.loaded_part import LoadedPart
from hashrange.vectors.part_search import RankedKey
from hashrange.vectors.ranking import Distance, ranked
from hashrange.vectors.search import VectorQuery
from tests.support.seeds import seeds
from tests.support.working import lines_between_looks

DISTANCES: tuple[Distance, ...] = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
SMALLEST = 2.0**-149
Entries = dict[bytes, tuple[bytes, int, int]]
"""Key → floats, item size, and the number that conditions test."""


def packed(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def row_of(number: int) -> bytes:
    return part_row({"n": {"N": str(number)}})


class Dealer:
    """Deals vectors of one kind: all alike, or with other numbers among them."""

    def __init__(self, chance: random.Random, dimensions: int) -> None:
        self._chance, self._dimensions = chance, dimensions
        self._center = [chance.uniform(-1, 1) for _ in range(dimensions)]
        self._kinds = chance.sample(
            [self.usual, self.near, self.rounded, self.again, self.zeros, self.huge, self.smallest, self.mixed], 4
        )
        self._dealt = [packed(self._center)]

    def usual(self) -> list[float]:
        return [self._chance.gauss(0, 1) for _ in range(self._dimensions)]

    def near(self) -> list[float]:
        spread = self._chance.choice((1e-2, 1e-5, 1e-7))
        return [number + self._chance.gauss(0, spread) for number in self._center]

    def rounded(self) -> list[float]:
        return [float(self._chance.randint(-1, 1)) for _ in range(self._dimensions)]

    def again(self) -> list[float]:
        return list(struct.unpack(f"<{self._dimensions}f", self._chance.choice(self._dealt)))

    def zeros(self) -> list[float]:
        return [0.0] * self._dimensions

    def huge(self) -> list[float]:
        return [self._chance.choice((FLOAT32_MAX, -FLOAT32_MAX, 1e30, 1.0)) for _ in range(self._dimensions)]

    def smallest(self) -> list[float]:
        return [self._chance.choice((0.0, SMALLEST, -3 * SMALLEST, 1e-38)) for _ in range(self._dimensions)]

    def mixed(self) -> list[float]:
        return [number * 10 ** self._chance.randint(-38, 37) for number in self._center]

    def deal(self) -> bytes:
        self._dealt.append(packed(self._chance.choice(self._kinds)()))
        return self._dealt[-1]


def expected(entries: Entries, distance: Distance, query: VectorQuery) -> list[tuple[bytes, float]]:
    """Key and score of what the comparison of all entries finds."""
    passing = [
        (Row(key), vector)
        for key, (vector, _, number) in sorted(entries.items())
        if query.test is None or query.test({"n": {"N": str(number)}})
    ]
    return [(bytes(one.row), one.score) for one in ranked(passing, distance, query.vector, query.top_k)]


def shown(found: list[RankedKey]) -> list[tuple[bytes, float]]:
    return [(one.key, one.score) for one in found]


def filled(entries: Entries, distance: Distance, dimensions: int) -> LoadedPart:
    part = LoadedPart(distance, dimensions)
    for key, (vector, size_bytes, number) in entries.items():
        part.put(key, vector, size_bytes, row_of(number))
    return part


def is_below(most: int) -> Callable[[Item], bool]:
    return lambda item: int(item["n"]["N"]) < most


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", seeds(12, 300))
def test_it_finds_what_the_comparison_of_all_entries_finds(
    distance: Distance, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    dimensions = chance.choice((1, 2, 3, 7, 20, 67))
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES_MAX", chance.choice((16, 40, 4_096)))
    monkeypatch.setattr(blocks, "_KEYS_TOGETHER_MAX", chance.choice((10, 1_000)))
    dealer = Dealer(chance, dimensions)
    part = LoadedPart(distance, dimensions)
    entries: Entries = {}
    for _ in range(6):
        for _ in range(chance.randint(1, 120)):
            key = b"k%d" % chance.randrange(150)
            if chance.random() < 0.3:
                entries.pop(key, None)
                part.remove(key)
            else:
                entries[key] = dealer.deal(), chance.randint(1, 5_000), chance.randrange(10)
                vector, size_bytes, number = entries[key]
                part.put(key, vector, size_bytes, row_of(number))
        assert part.count == len(entries)
        assert part.read_bytes == sum(size_bytes for _, size_bytes, _ in entries.values())
        for _ in range(4):
            test = chance.choice((None, is_below(chance.randint(0, 10))))
            query = VectorQuery(None, dealer.deal(), chance.choice((1, 2, 10, 100)), test)
            assert shown(part.search(query)) == expected(entries, distance, query)


def counted(distance: Distance, share: float) -> int:
    """How many entries of 4,000 are tested by a search for ten with a condition that this share of them passes."""
    chance = random.Random(5)
    entries: Entries = {
        b"%d" % number: (packed([chance.gauss(0, 1) for _ in range(32)]), 1, number) for number in range(4_000)
    }
    tested = []

    def test(item: Item) -> bool:
        tested.append(item)
        return chance_of(int(item["n"]["N"])) < share

    query = VectorQuery(None, packed([chance.gauss(0, 1) for _ in range(32)]), 10, test)
    found = shown(filled(entries, distance, 32).search(query))
    count = len(tested)
    assert found == expected(entries, distance, query)
    return count


def chance_of(number: int) -> float:
    return random.Random(number).random()


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_condition_is_tested_only_until_enough_entries_pass(distance: Distance) -> None:
    assert counted(distance, 0.5) < 60
    assert counted(distance, 0.1) < 300


def test_entries_with_equal_attributes_are_tested_once() -> None:
    entries: Entries = {b"%d" % number: (packed([number, 1.0]), 1, number % 2) for number in range(200)}
    tested = []

    def test(item: Item) -> bool:
        tested.append(item)
        return item == {"n": {"N": "1"}}

    found = filled(entries, "EUCLIDEAN", 2).search(VectorQuery(None, packed([0.0, 1.0]), 100, test))
    assert [one.score for one in found] == [float(number) for number in range(1, 200, 2)]
    assert len(tested) == 2


@pytest.mark.parametrize("distance", DISTANCES)
def test_entries_change_while_a_search_gives_way(distance: Distance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every entry that stays as it is, is found as if it were alone with the others that stay."""
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES_MAX", 16)
    monkeypatch.setattr(steps, "LOOK_STEPS", 1)
    chance = random.Random(8)
    dealer = Dealer(chance, 3)
    entries: Entries = {b"s%d" % number: (dealer.deal(), 10, number % 3) for number in range(100)}
    part = filled(entries, distance, 3)
    seen: list[bytes] = []

    def change() -> None:
        key = b"c%d" % chance.randrange(30)
        part.remove(key)
        if chance.random() < 0.7:
            part.put(key, dealer.deal(), 10, row_of(1))
            seen.append(key)

    monkeypatch.setattr(steps, "_look", change)
    for _ in range(60):
        test = chance.choice((None, is_below(2)))
        query = VectorQuery(None, dealer.deal(), chance.choice((5, 150)), test)
        found = shown(part.search(query))
        keys = [key for key, _ in found]
        assert len(set(keys)) == len(keys)
        stayed = [one for one in found if one[0] in entries]
        assert stayed == expected(entries, distance, query)[: len(stayed)]
        assert query.top_k == 5 or len(stayed) == len([one for one in entries.values() if test is None or one[2] < 2])
    assert seen


def test_places_are_used_again() -> None:
    part = LoadedPart("COSINE", 8)
    for number in range(1_000):
        part.put(b"%d" % number, packed([1.0] * 8), 1)
    most_bytes = part.memory_bytes
    for number in range(20_000):
        part.remove(b"%d" % number)
        part.put(b"%d" % (number + 1_000), packed([1.0] * 8), 1)
    assert part.count == 1_000
    assert part.memory_bytes < most_bytes * 1.1


def test_rows_that_no_entry_has_any_more_are_let_go() -> None:
    """40 items with rows of 180 KB, of which one was rewritten 3,000 times, took 550 MB beyond what was counted."""
    part = LoadedPart("COSINE", 2)
    row_bytes = 10_000
    for number in range(40):
        part.put(b"%d" % number, packed([1.0, 0.0]), 1, b"%d" % number * (row_bytes // 4))
    live_bytes = part._tested_bytes
    for number in range(500):
        part.put(b"0", packed([1.0, 0.0]), 1, (b"n%d" % number).ljust(row_bytes))
        assert sum(map(len, part._tested)) <= 1.5 * max(live_bytes, part._tested_bytes) + 2 * row_bytes
    for number in range(40):
        part.remove(b"%d" % number)
    assert sum(map(len, part._tested)) < 100_000


def test_a_part_whose_entries_have_gone_is_sparse() -> None:
    part = LoadedPart("COSINE", 2)
    for number in range(4 * blocks.BLOCK_ENTRIES_MAX):
        part.put(b"%d" % number, packed([1.0, 0.0]), 1)
    assert not part.is_sparse
    for number in range(4 * blocks.BLOCK_ENTRIES_MAX - 5):
        part.remove(b"%d" % number)
    assert part.is_sparse
    assert len(part.search(VectorQuery(None, packed([1.0, 0.0]), 100))) == 5


def test_a_part_that_was_freed_holds_nothing() -> None:
    part = LoadedPart("COSINE", 2)
    for number in range(100):
        part.put(b"%d" % number, packed([1.0, 0.0]), 1, row_of(number))
    part.remove(b"7")
    part.free()
    assert not [name for name, value in vars(part).items() if isinstance(value, dict | list | deque) and value]
    assert part.search(VectorQuery(None, packed([1.0, 0.0]), 100)) == []


def test_it_gives_way() -> None:
    chance = random.Random(2)
    entries: Entries = {
        b"%d" % number: (packed([chance.gauss(0, 1) for _ in range(16)]), 1, number) for number in range(9_000)
    }
    part = filled(entries, "COSINE", 16)
    query: Any = VectorQuery(None, packed([1.0] * 16), 100, lambda item: int(item["n"]["N"]) % 100 == 0)
    assert lines_between_looks(lambda: part.search(query)) < 3_000


@pytest.mark.parametrize("dimensions", [1, 3, 384, 1_536, 4_096])
def test_no_product_is_so_large_that_it_is_split_among_threads(
    dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes: list[tuple[int, ...]] = []
    multiply = np.matmul

    def noting(matrices: Any, column: Any) -> Any:
        shapes.append(matrices.shape)
        return multiply(matrices, column)

    part = LoadedPart("COSINE", dimensions)
    for number in range(100):
        part.put(b"%d" % number, packed([1.0] * dimensions), 1)
    monkeypatch.setattr(np, "matmul", noting)
    assert len(part.search(VectorQuery(None, packed([1.0] * dimensions), 100))) == 100
    assert shapes
    assert all(rows * columns < 9_216 for _, rows, columns in shapes)
