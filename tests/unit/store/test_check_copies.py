"""`check` compares kept rows, copies in progress and windows of recovery with what belongs to them: missing, left over
and damaged rows are found.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.items.types import Key
from hashrange.store.embedded import layout, row_copies
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.embedded.staged_rows import decode_copy
from hashrange.store.row_copies import row_copies_of
from hashrange.tables.source_id import make_source_id, table_id_of
from tests.unit.backups.world import backup_of, fill
from tests.unit.jobs.world import World, drive

Engine = Any


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A closed store with a backup that is complete, one that is being made, a restore to the past that has not begun
    to move rows, and the kept rows of a deleted table.
    """
    monkeypatch.setattr(row_copies, "SLICE_ROWS", 3)
    monkeypatch.setattr(row_copies, "FIRST_SLICES", 1)
    monkeypatch.setattr(row_copies, "UNDONE_TOGETHER", 1)
    made = World(tmp_path / "data")
    fill(made)
    made.ask("DeleteTable")
    made.create_table()
    fill(made)
    backup_of(made)
    made.ask("CreateBackup", BackupName="second")
    window = made.ask("DescribeContinuousBackups")["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    early = {"SourceTableName": "orders", "RestoreDateTime": window["EarliestRestorableDateTime"]}
    made.request("RestoreTableToPointInTime", TargetTableName="target", **early)
    made.put(8, n={"N": "9"})
    assert made.close() == []
    return made


def plant(world: World, write: Callable[[Engine], None]) -> list[str]:
    """The faults that `check` finds after `write(engine)`."""
    assert world.data_dir is not None
    engine = open_engine(world.data_dir)
    write(engine)
    engine.close()
    return check_store(world.data_dir, clock=world.clock).faults


def rows(engine: Engine, prefix: bytes) -> list[tuple[bytes, bytes]]:
    return [(bytes(key), bytes(row)) for key, row in scan_prefix(engine, prefix)]


def loose(engine: Engine) -> tuple[bytes, bytes]:
    """A kept row of no table."""
    tables = {layout.decode_table(row).table_id for _, row in rows(engine, layout.CATALOG_PREFIX)}
    for key, _ in rows(engine, layout.KEPT_PREFIX):
        table_id = int.from_bytes(key[len(layout.KEPT_PREFIX) :][:4], "big")
        if table_id not in tables:
            return rows(engine, make_source_id(table_id))[0]
    raise AssertionError("nothing is kept")


def test_a_sound_store(world: World) -> None:
    assert plant(world, lambda engine: None) == []


def test_a_kept_row_is_damaged(world: World) -> None:
    def damage(engine: Engine) -> None:
        key, row = loose(engine)
        engine.put(key, row[:-2])

    assert any("cannot be read" in fault and fault.startswith("kept row") for fault in plant(world, damage))


def test_a_kept_row_is_missing(world: World) -> None:
    (fault,) = plant(world, lambda engine: engine.delete(loose(engine)[0]))
    assert "is said to hold" in fault


def test_rows_that_nobody_keeps(world: World) -> None:
    def forget(engine: Engine) -> None:
        place = loose(engine)[0][:4]
        for key, _ in rows(engine, layout.KEPT_PREFIX + place):
            engine.delete(key)

    faults = plant(world, forget)
    assert any("belongs to no table" in fault for fault in faults)


def test_rows_that_keep_are_themselves_wrong(world: World) -> None:
    def spoil(engine: Engine) -> None:
        engine.put(layout.kept_key(99, "somebody"), b"")
        key, _ = rows(engine, layout.KEPT_PREFIX)[0]
        engine.put(key, b"x")
        engine.put(layout.kept_key(2, key[len(layout.KEPT_PREFIX) + 4 :].decode()), b"")

    faults = " | ".join(plant(world, spoil))
    for told in ("names table id 99", "is not empty", "rows of 2 tables are kept for"):
        assert told in faults


def first_copy(engine: Engine) -> tuple[int, bytes, Any]:
    """Number, key and copy of the backup that is being made."""
    for key, row in rows(engine, layout.COPY_PREFIX):
        copy = decode_copy(row)
        if copy.passed:
            return int.from_bytes(key[-4:], "big"), key, copy
    raise AssertionError("no copy has passed a row")


def test_former_rows_are_wrong(world: World) -> None:
    def spoil(engine: Engine) -> None:
        number, _, _ = first_copy(engine)
        prefix = layout.staged_prefix(number)
        engine.put(prefix + b"\xff\xff", b"\xff")
        engine.put(prefix + b"\xff\xfe", b"\xff" * 14)
        engine.put(layout.staged_prefix(number + 77) + b"x", b"\xff" * 12)

    faults = " | ".join(plant(world, spoil))
    for told in ("says of no change", "cannot be read", "belongs to no copy"):
        assert told in faults


def test_copies_are_wrong(world: World) -> None:
    def spoil(engine: Engine) -> None:
        number, key, copy = first_copy(engine)
        engine.put(key[:-4] + (number + 50).to_bytes(4, "big"), msgspec.msgpack.encode(copy))
        blind = msgspec.structs.replace(copy, owner="blind", keys=None, is_ready=False)
        engine.put(key[:-4] + (number + 51).to_bytes(4, "big"), msgspec.msgpack.encode(blind))

    faults = " | ".join(plant(world, spoil))
    assert "2 copies are in progress for backup/" in faults
    assert "whose keys it does not know" in faults


def test_a_copy_that_cannot_be_read(world: World) -> None:
    faults = plant(world, lambda engine: engine.put(rows(engine, layout.COPY_PREFIX)[0][0], b"\xc1"))
    assert any("a copy in progress cannot be read" in fault for fault in faults)


def test_windows_are_wrong(world: World) -> None:
    def spoil(engine: Engine) -> None:
        engine.put(layout.WINDOW_PREFIX + b"short", b"")
        engine.put(layout.window_key(98, 5), layout.encode_counter(1))
        engine.put(layout.window_key(2, 7), b"x")

    faults = " | ".join(plant(world, spoil))
    for told in ("a key of a wrong length", "table id 98 has 1 marks", "holds no number"):
        assert told in faults


def test_a_window_is_missing(world: World) -> None:
    def forget(engine: Engine) -> None:
        for key, _ in rows(engine, layout.WINDOW_PREFIX):
            engine.delete(key)

    faults = plant(world, forget)
    assert "the recovery of table orders is on, and it has no window" in faults
    stray = [fault for fault in faults if "belongs to no shard of a stream" in fault]
    kept = [fault for fault in stray if "000012000000020000" not in fault]
    assert len(kept) == 4, "records of the deleted table"
    assert len(stray) == 4 + 8, "records behind the begin of the restore, which still needs those before"


def test_a_record_that_is_kept_for_recovery_is_damaged(world: World) -> None:
    faults = plant(world, lambda engine: engine.put(rows(engine, layout.LOG_PREFIX)[-1][0], b"\x00"))
    assert any(fault.startswith("stream record") and "cannot be read" in fault for fault in faults)


def test_records_that_nobody_needs(world: World) -> None:
    def plant_old(engine: Engine) -> None:
        key, row = rows(engine, layout.LOG_PREFIX)[-1]
        end = len(layout.LOG_PREFIX) + 8
        engine.put(key[:end] + layout.encode_sequence(1), row)

    assert any("belongs to no shard of a stream" in fault for fault in plant(world, plant_old))


def test_an_open_store_goes_on(world: World) -> None:
    world.open()
    world.copy()
    ids = {one["id"]["S"] for one in world.request("Scan", TableName="target")["Items"]}
    assert ids == {f"o{number}" for number in range(4)}
    assert drive(world.copying.run_slice()) is not None
    assert {table_id_of(one) for one in row_copies_of(world.store).kept().values()}
    assert world.close() == []


def test_records_behind_those_that_a_copy_is_to_undo_may_stay_in_the_log_of_a_deleted_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log is trimmed from its begin, up to the first record that a copy is to undo."""
    monkeypatch.setattr(row_copies, "UNDONE_TOGETHER", 1)
    world = World(tmp_path / "data")
    fill(world)
    moment = world.clock.service_time()
    world.clock.advance(1)
    world.put(3, n={"N": "-1"})
    table = world.store.catalog.find(world.scope.account, world.scope.region, "orders")
    assert table is not None
    copies = world.embedded.row_copies
    assert drive(copies.begin("owner", table.schema, moment))
    drive(copies.read("owner", Key(b""), 1))
    begun = copies.copy_of("owner")
    assert begun is not None
    assert not begun.is_ready
    world.put(3, n={"N": "-2"})
    assert drive(world.embedded.catalog.delete(table.schema))
    while drive(world.recovery_job.run_slice()) is not None:
        pass
    assert world.close() == []
