"""How far back can a table be restored? By its period and the store's limit, before and after a restart."""

import logging
from pathlib import Path

import msgspec
import pytest

from hashrange.store.embedded import layout, recovery_windows
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.embedded.stream_states import MARK_SEQUENCES
from hashrange.tables.schema import Recovery
from tests.unit.jobs.world import TABLE, World, drive, item

DAY_SECONDS = 86_400.0


def switch(world: World, period_days: int | None) -> float:
    """Turn recovery of the table on, with this period, or off; return when it was turned on."""
    catalog = world.embedded.catalog
    table = catalog.find(world.scope.account, world.scope.region, TABLE)
    assert table is not None
    before = table.schema.recovery
    since = world.clock.service_time() if before is None else before.since_seconds
    recovery = None if period_days is None else Recovery(since, period_days)
    assert drive(catalog.replace(table.schema, msgspec.structs.replace(table.schema, recovery=recovery)))
    return since


def since(world: World) -> float | None:
    table = world.embedded.catalog.find(world.scope.account, world.scope.region, TABLE)
    assert table is not None
    return world.embedded.row_copies.restorable_since(table.schema)


def tend(world: World) -> float | None:
    """Run the job until nothing is due; return the pause that it requests."""
    while True:
        pause: float | None = drive(world.recovery_job.run_slice())
        if pause != 0.0:
            return pause


def records(world: World) -> int:
    return len(list(scan_prefix(world.embedded.engine, layout.LOG_PREFIX)))


def test_without_recovery_there_is_no_window(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.put(3)
    assert since(world) is None
    assert records(world) == 0
    assert tend(world) is None
    assert world.close() == []


def test_window_begins_when_recovery_is_turned_on_and_moves_with_its_period(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    begun = switch(world, 2)
    assert since(world) == begun
    for day in range(4):
        world.put(3, day={"N": str(day)})
        world.clock.advance(DAY_SECONDS)
        assert tend(world) is not None
    assert since(world) == world.clock.service_time() - 2 * DAY_SECONDS
    assert records(world) < 12
    assert world.close() == []


def test_changed_period_keeps_the_begin(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    begun = switch(world, 1)
    world.put(3)
    world.clock.advance(3600)
    switch(world, 35)
    assert since(world) == begun
    assert records(world) == 3


def test_turned_off_and_on_it_begins_anew(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    switch(world, 35)
    world.put(3)
    switch(world, None)
    assert since(world) is None
    assert tend(world) is None
    assert records(world) == 0
    world.clock.advance(10)
    assert switch(world, 35) == since(world) == world.clock.service_time()
    world.put(2, again={"BOOL": True})
    assert records(world) == 2
    assert world.close() == []


@pytest.mark.parametrize("is_restarted", [False, True])
def test_beyond_the_limit_the_oldest_changes_go_and_the_log_tells(
    tmp_path: Path, is_restarted: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recovery_windows, "MARK_BYTES", 300)
    world = World(tmp_path / "data", recovery_max_bytes=2_000)
    begun = switch(world, 35)
    for second in range(20):
        world.clock.advance(1)
        world.put(3, second={"N": str(second)})
    if is_restarted:
        world.restart()
    with caplog.at_level(logging.WARNING, "hashrange.backups"):
        tend(world)
    earliest = since(world)
    assert earliest is not None
    assert begun < earliest < world.clock.service_time()
    assert [TABLE in record.getMessage() for record in caplog.records] == [True]
    rows = [len(row) for _, row in scan_prefix(world.embedded.engine, layout.LOG_PREFIX)]
    assert sum(rows) <= 2_000 + 300
    world.restart()
    assert since(world) == earliest
    copy = world.embedded.row_copies
    table = world.embedded.catalog.find(world.scope.account, world.scope.region, TABLE)
    assert table is not None
    assert drive(copy.begin("copy", table.schema, earliest)) is not None
    in_progress = copy.copy_of("copy")
    assert in_progress is not None
    while not (part := drive(copy.read("copy", in_progress.passed, 10**6))).rows:
        pass
    assert len(part.rows) == len({item(number)["id"]["S"] for number in range(3)})
    drive(copy.end("copy"))
    assert world.close() == []


def test_a_window_that_is_too_long_and_too_old_is_shortened_once_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery_windows, "MARK_BYTES", 300)
    world = World(tmp_path / "data", recovery_max_bytes=4_000)
    switch(world, 1)
    for minute in range(20):
        world.clock.advance(60)
        world.put(3, minute={"N": str(minute)})
    world.clock.advance(DAY_SECONDS - 60)
    world.put(3, minute={"N": "20"})
    tend(world)
    assert since(world) == world.clock.service_time() - DAY_SECONDS
    rows = [len(row) for _, row in scan_prefix(world.embedded.engine, layout.LOG_PREFIX)]
    assert 0 < sum(rows) <= 4_000 + 300
    assert world.close() == []


def test_a_slice_passes_a_bounded_number_of_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However many tables have however many hours of changes; the oldest hours of all of them go, and it is logged once
    for each table.
    """
    monkeypatch.setattr(recovery_windows, "MARKS_TOGETHER", 10)
    monkeypatch.setattr(recovery_windows, "LINES_TOGETHER", 2)
    world = World(tmp_path / "data", recovery_max_bytes=6_000)
    windows = world.embedded.row_copies._windows
    switch(world, 35)
    names = [TABLE, "second", "third", "fourth"]
    for name in names[1:]:
        world.request(
            "CreateTable",
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        on = {"PointInTimeRecoveryEnabled": True}
        world.request("UpdateContinuousBackups", TableName=name, PointInTimeRecoverySpecification=on)
    for hour in range(30):
        world.clock.advance(3601)
        for name in names:
            item = {"id": {"S": "a"}, "hour": {"N": str(hour)}}
            world.request("PutItem", TableName=name, Item=item)
    before = {one.table_id: len(one.marks) for one in windows._windows.values()}
    assert sum(before.values()) > 60
    with caplog.at_level(logging.WARNING, "hashrange.backups"):
        passed = []
        while True:
            rest = drive(world.recovery_job.run_slice())
            after = {one.table_id: len(one.marks) for one in windows._windows.values()}
            passed.append(sum(before.values()) - sum(after.values()))
            before = after
            if rest != 0.0:
                break
    assert max(passed) == 10
    assert sorted(str(record.args[0]) for record in caplog.records if record.args) == sorted(names)  # type: ignore[index]
    firsts = [one.first for one in windows._windows.values()]
    assert max(firsts) - min(firsts) < MARK_SEQUENCES * 3
    assert world.close() == []


def test_a_copy_that_is_begun_twice_has_its_first_moment(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.put(3)
    copies = world.embedded.row_copies
    table = world.embedded.catalog.find(world.scope.account, world.scope.region, TABLE)
    assert table is not None
    assert drive(copies.begin("copy", table.schema)) is not None
    world.put(5)
    assert drive(copies.begin("copy", table.schema)) is not None
    begun = copies.copy_of("copy")
    assert begun is not None
    part = drive(copies.read("copy", begun.passed, 10**6))
    assert (len(part.rows), part.is_last) == (3, True)
    drive(copies.end("copy"))
    assert world.close() == []
