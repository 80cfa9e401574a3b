"""Capacity units by size, and how replies report them."""

import pytest

from hashrange.items.rows import encode_row
from hashrange.items.values import check_item
from hashrange.tables.capacity import consumed_capacity, item_read_units, items_read_units, read_units, write_units

KB = 1024


@pytest.mark.parametrize(
    ("size_bytes", "consistent", "eventual"),
    [
        (0, 1, 0.5),
        (1, 1, 0.5),
        (4 * KB, 1, 0.5),
        (4 * KB + 1, 2, 1),
        (8 * KB, 2, 1),
        (8 * KB + 1, 3, 1.5),
        (1024 * KB, 256, 128),
    ],
)
def test_reads_count_blocks_of_4_kb_and_at_least_one(size_bytes: int, consistent: float, eventual: float) -> None:
    assert read_units(size_bytes, consistent=True) == consistent
    assert read_units(size_bytes, consistent=False) == eventual
    assert isinstance(read_units(size_bytes, consistent=True), float)
    assert isinstance(read_units(size_bytes, consistent=False), float)


@pytest.mark.parametrize("size_bytes", [1, 100, 4 * KB - 10, 4 * KB, 4 * KB + 1, 8 * KB, 8 * KB + 1, 400 * KB])
def test_an_item_costs_what_its_size_does(size_bytes: int) -> None:
    row = encode_row({"k": {"S": "x" * (size_bytes - 1)}}, size_bytes)
    for consistent in (True, False):
        assert item_read_units(row, consistent=consistent) == read_units(size_bytes, consistent=consistent)
        assert item_read_units(None, consistent=consistent) == read_units(0, consistent=consistent)


@pytest.mark.parametrize("sizes_bytes", [[], [0], [1, 4 * KB], [1, 4 * KB + 1, 0], [400 * KB] * 3])
@pytest.mark.parametrize("consistent", [True, False])
def test_items_cost_what_each_of_them_costs(sizes_bytes: list[int], *, consistent: bool) -> None:
    each = [read_units(size_bytes, consistent=consistent) for size_bytes in sizes_bytes]
    assert items_read_units(sizes_bytes, consistent=consistent) == sum(each)


def test_a_row_that_is_packed_may_be_shorter_than_its_item() -> None:
    """The item has nested lists of one value, and enough numbers with many zeros to be packed at all."""
    short_lists, zeros = [{"L": [{"BOOL": False}]}] * 640, [{"N": "1E-130"}] * 130
    item, size_bytes = check_item({"k": {"S": "a"}, "l": {"L": short_lists + zeros}})
    row = encode_row(item, size_bytes)
    assert len(row) <= 4 * KB < size_bytes
    assert item_read_units(row, consistent=True) == read_units(size_bytes, consistent=True) == 2


@pytest.mark.parametrize(
    ("old", "new", "units"),
    [
        (0, 0, 1),
        (0, 1, 1),
        (1, 0, 1),
        (0, KB, 1),
        (0, KB + 1, 2),
        (KB + 1, 0, 2),
        (5 * KB, KB, 5),
        (KB, 5 * KB, 5),
        (0, 400 * KB, 400),
    ],
)
def test_writes_count_blocks_of_1_kb_of_the_larger_of_old_and_new(old: int, new: int, units: float) -> None:
    assert write_units(old, new) == units
    assert isinstance(write_units(old, new), float)


def test_the_table_stands_apart_only_when_asked_for() -> None:
    assert consumed_capacity("t", 2.5, "TOTAL") == {"TableName": "t", "CapacityUnits": 2.5}
    assert consumed_capacity("t", 2.5, "INDEXES") == {
        "TableName": "t",
        "CapacityUnits": 2.5,
        "Table": {"CapacityUnits": 2.5},
    }
