"""Blocks give back the cells that they were made of, and take few bytes for what is mostly alike."""

import random

import pytest

from hashrange.cloudwatch.blocks import Cells, decode_cells, encode_cells
from hashrange.cloudwatch.columns import column_of, numbers_of
from hashrange.cloudwatch.percentiles import bucket_of
from hashrange.cloudwatch.statistic import Cell, StatisticSet, of_value


@pytest.mark.parametrize(
    "numbers",
    [
        (),
        (0.0,),
        (7.0,) * 20,
        (1.0, 300.0, -5.0),
        (0.5, 70_000.0, 3.5),
        (1e-3, 2.125, 1234.567),
        (2.0**360, -(2.0**360), 1 / 3),
        (2.0**53 + 2, 1.0),
        (5e-324, 1e308),
    ],
)
def test_numbers_come_back_from_a_column(numbers: tuple[float, ...]) -> None:
    assert tuple(numbers_of(column_of(numbers), len(numbers))) == numbers


def test_sums_of_thousandths_are_kept_as_such() -> None:
    column = column_of([0.1 + 0.2, 7.7, 0.0005])
    assert (column.width, list(numbers_of(column, 3))) == (2, [0.3, 7.7, 0.0005])


def _random_cells(chance: random.Random) -> Cells:
    cells: Cells = {}
    for _ in range(chance.randrange(1, 60)):
        low, count = chance.choice((0.0, 1.5, chance.random(), -(2.0**200))), float(chance.randrange(1, 1000))
        high = low + chance.choice((0, 0, 3))
        distribution = chance.choice((None, {}, {bucket_of(low): count}, {-5: 2.0, 70: 1.5, 9_000: 1.0}))
        total = low * count if low == high else chance.uniform(low, high) * count
        cells[chance.randrange(10**9)] = Cell(StatisticSet(count, total, low, high), distribution)
    return cells


@pytest.mark.parametrize("seed", range(50))
def test_cells_come_back_from_a_block(seed: int) -> None:
    cells = _random_cells(random.Random(seed))
    assert decode_cells(encode_cells(cells)) == dict(sorted(cells.items()))


def test_counts_of_equal_values_take_about_a_byte_each() -> None:
    chance = random.Random(1)
    cells = {}
    for number in range(360):
        count = float(round(chance.gauss(100, 10)))
        cells[number] = Cell(StatisticSet(count, count / 2, 0.5, 0.5))
    assert len(encode_cells(cells)) < 1.1 * len(cells)


def test_a_distribution_of_equal_values_takes_no_bytes() -> None:
    plain = {number: Cell(of_value(3.0, number + 1.0)) for number in range(360)}
    usual = {number: one._replace(distribution={bucket_of(3.0): number + 1.0}) for number, one in plain.items()}
    assert len(encode_cells(usual)) <= len(encode_cells(plain)) + 4
