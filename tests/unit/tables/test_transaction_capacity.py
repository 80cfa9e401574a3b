"""Capacity units of transactions: doubled for the table itself, and reported as read or write units."""

import pytest

from hashrange.items.rows import encode_row
from hashrange.items.types import Key
from hashrange.tables.capacity import (
    transaction_capacity,
    transaction_change_units,
    transaction_read_units,
)
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from tests.support.samples import table_maker


@pytest.mark.parametrize(("size_bytes", "units"), [(0, 2.0), (1, 2.0), (4096, 2.0), (4097, 4.0), (409_600, 200.0)])
def test_reads(size_bytes: int, units: float) -> None:
    assert transaction_read_units([("a", size_bytes)]) == {"a": units}


def test_each_item_is_rounded_by_itself_and_summed_by_table() -> None:
    assert transaction_read_units([("b", 1), ("a", 1), ("b", 5000)]) == {"b": 6.0, "a": 2.0}


@pytest.mark.parametrize(
    ("old_bytes", "new_bytes", "units"),
    [(None, 1, 2.0), (None, 1025, 4.0), (3000, 1, 6.0), (2048, None, 4.0), (None, None, 2.0)],
)
def test_writes(old_bytes: int | None, new_bytes: int | None, units: float) -> None:
    table = OpenTable(table_maker("a")(1))
    old, new = (
        None if size is None else encode_row({"k": {"S": "x" * (size - 1)}}, size) for size in (old_bytes, new_bytes)
    )
    assert transaction_change_units(Change(table, Key(b"x"), old, new)) == units


def test_every_figure_is_told_twice() -> None:
    assert transaction_capacity("a", 4.0, "TOTAL", "Read") == {
        "TableName": "a", "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0,
    }  # fmt: skip
    assert transaction_capacity("a", 4.0, "INDEXES", "Write") == {
        "TableName": "a", "CapacityUnits": 4.0, "WriteCapacityUnits": 4.0,
        "Table": {"CapacityUnits": 4.0, "WriteCapacityUnits": 4.0},
    }  # fmt: skip
