"""Rows of a large copy are moved by commits that write nothing else: their data files overlap no others. What is stored
of the copy only from time to time is found again after a kill.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.items.types import Key
from hashrange.store.embedded import layout, row_copies
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import RestoredFrom
from hashrange.tables.source_id import SourceId, table_prefix
from tests.unit.backups.world import large_copies, small_slices
from tests.unit.jobs.world import TABLE, World, drive

ITEMS = 20
OWNER = "owner"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A table of some items, whose copies take slices of three rows, and are stored with every sixth."""
    small_slices(monkeypatch)
    large_copies(monkeypatch)
    monkeypatch.setattr(row_copies, "STORED_SLICES", 5)
    made = World(tmp_path / "data")
    made.put(ITEMS)
    return made


def found(world: World, name: str) -> OpenTable:
    table = world.store.catalog.find(world.scope.account, world.scope.region, name)
    assert table is not None
    return table


def begin(world: World) -> SourceId:
    """Begin a copy of the table; returns the source of the rows that are kept for its owner."""
    assert drive(world.embedded.row_copies.begin(OWNER, found(world, TABLE).schema))
    source_id = drive(world.embedded.row_copies.keep(OWNER, None))
    assert source_id is not None
    return SourceId(source_id)


def move(world: World, target: SourceId, slices: int = 1) -> bool:
    """Move rows; True if there are no others."""
    return any(drive(world.embedded.row_copies.move(OWNER, target)).is_last for _ in range(slices))


def move_all(world: World, target: SourceId) -> None:
    while not move(world, target):
        pass


def rows_of(world: World, source_id: bytes) -> int:
    return sum(1 for _ in scan_prefix(world.embedded.engine, source_id))


def counted(world: World, source_id: SourceId) -> int:
    return world.embedded.row_copies.kept_statistics(source_id).item_count


def stored(world: World) -> dict[str, Any]:
    """What is stored of the copy."""
    ((_, row),) = scan_prefix(world.embedded.engine, layout.COPY_PREFIX)
    copy: dict[str, Any] = msgspec.msgpack.decode(row)
    return copy


def passed(world: World) -> Key:
    begun = world.embedded.row_copies.copy_of(OWNER)
    assert begun is not None
    return begun.passed


def test_its_data_files_hold_nothing_else(world: World) -> None:
    engine = world.embedded.engine
    engine.set_options({"disable_auto_compactions": "true"})
    target = begin(world)
    move_all(world, target)
    drive(world.embedded.row_copies.end(OWNER))
    engine.flush(True)
    ranges = [(one["start_key"], one["end_key"]) for one in engine.live_files()]
    of_rows = sorted(one for one in ranges if one[1] >= target)
    assert len(of_rows) > 1
    assert all(first >= target for first, _ in of_rows)
    assert all(last < first for (_, last), (first, _) in pairwise(of_rows))
    assert world.close() == []


def test_it_is_stored_from_time_to_time(world: World) -> None:
    target = begin(world)
    move(world, target)
    assert (stored(world)["target"], rows_of(world, target)) == (target, 0)
    move(world, target, 5)
    assert (stored(world)["passed"], rows_of(world, target), counted(world, target)) == (b"", 15, 15)
    move(world, target)
    assert stored(world)["passed"] == passed(world) > b""
    move_all(world, target)
    assert rows_of(world, target) == counted(world, target) == ITEMS
    assert world.close() == []


@pytest.mark.parametrize("is_killed", [False, True])
def test_writers_keep_no_row_that_it_has_passed(world: World, *, is_killed: bool) -> None:
    target = begin(world)
    move(world, target, 4)
    if is_killed:
        world.kill()
    assert passed(world) > stored(world)["passed"]
    world.put(ITEMS, n={"N": "-1"})
    assert sum(1 for _ in scan_prefix(world.embedded.engine, layout.STAGED_PREFIX)) == ITEMS - 9
    move_all(world, target)
    assert rows_of(world, target) == counted(world, target) == ITEMS
    assert all(b'"-1"' not in row for _, row in scan_prefix(world.embedded.engine, target))
    assert world.close() == []


@pytest.mark.parametrize("slices", [4, 6])
def test_rows_that_were_moved_before_a_kill_are_counted_behind_it(world: World, slices: int) -> None:
    target = begin(world)
    move(world, target, slices)
    world.kill()
    moved = rows_of(world, target)
    assert counted(world, target) == 0
    while counted(world, target) < moved:
        assert not move(world, target)
        assert rows_of(world, target) == moved
    move_all(world, target)
    assert rows_of(world, target) == counted(world, target) == ITEMS
    assert world.close() == []


@pytest.mark.parametrize("is_killed", [False, True])
def test_statistics_are_exact_behind_its_early_end(world: World, *, is_killed: bool) -> None:
    """Also behind an end while the rows are counted that were moved before a kill: those that are not are deleted."""
    target = begin(world)
    move(world, target, 5)
    if is_killed:
        world.kill()
        move(world, target)
    drive(world.embedded.row_copies.end(OWNER))
    assert counted(world, target) == rows_of(world, target) == (3 if is_killed else 12)
    world.restart()
    assert counted(world, target) == rows_of(world, target)
    assert world.close() == []


def test_the_end_behind_a_deleted_target_leaves_nothing(world: World) -> None:
    world.request(
        "CreateTable",
        TableName="target",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    begin(world)
    copies, catalog = world.embedded.row_copies, world.embedded.catalog
    made = found(world, "target").schema
    filling = msgspec.structs.replace(made, restored_from=RestoredFrom(made.arn, 0.0))
    assert drive(catalog.replace(made, filling))
    table = found(world, "target")
    for _ in range(4):
        drive(copies.move(OWNER, table))
    assert rows_of(world, table.source_id) == 9
    assert drive(catalog.delete(table.schema))
    drive(copies.end(OWNER))
    assert rows_of(world, table_prefix(table.source_id)) == 0
    assert rows_of(world, layout.STATISTICS_PREFIX + table_prefix(table.source_id)) == 0
    assert world.close() == []


def test_a_copy_in_a_folder_of_format_15_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """That format stored a copy with each slice, and no target."""
    target = begin(world)
    with monkeypatch.context() as patch:
        patch.setattr(row_copies, "ALONE_BYTES_MIN", 1_000_000)
        move(world, target, 3)
    key, row = next(iter(scan_prefix(world.embedded.engine, layout.COPY_PREFIX)))
    copy = msgspec.msgpack.decode(row)
    del copy["target"]
    world.embedded.close_now()
    assert world.data_dir is not None
    engine = open_engine(world.data_dir)
    engine.put(key, msgspec.msgpack.encode(copy))
    engine.put(layout.FORMAT_KEY, (15).to_bytes(4, "big"))
    engine.close()
    world.open()
    assert counted(world, target) == rows_of(world, target) == 9
    move_all(world, target)
    assert rows_of(world, target) == counted(world, target) == ITEMS
    assert world.close() == []


def test_the_first_rows_of_a_small_copy_are_those_of_some_slices(tmp_path: Path) -> None:
    """So the backup of a table of a few hundred items is complete with its operation."""
    world = World(tmp_path / "data")
    count = 2 * row_copies.SLICE_ROWS
    world.put(count)
    target = begin(world)
    moved = drive(world.embedded.row_copies.move(OWNER, target))
    assert (moved.row_count, moved.is_last) == (count, True)
    assert rows_of(world, target) == counted(world, target) == count
    assert world.close() == []
