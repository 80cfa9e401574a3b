"""Kills behind each commit of every operation on backups, and of the job: what had not begun is gone, what had begun
is completed, no copy and no kept row is left without its record, and all that clients see is whole.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from hashrange.operations.backups.kept_backups import BACKUP_PREFIX, RESTORE_PREFIX
from hashrange.store.row_copies import row_copies_of
from tests.unit.backups.world import (
    ALL,
    LATEST,
    OFF,
    backup_of,
    backups,
    failed_behind,
    fill,
    items_of,
    killed_behind,
    large_copies,
    small_slices,
)
from tests.unit.jobs.world import TABLE, World, drive

COMMITS_MAX = 60
"""No work here has more commits."""
DELAY_SECONDS = 5.0
Work = Callable[[World], object]


def create_backup(world: World) -> None:
    world.ask("CreateBackup", BackupName="second")
    world.copy()


def restore_backup(world: World) -> None:
    world.request("RestoreTableFromBackup", TargetTableName="target", BackupArn=backups(world)[0])
    world.copy()


def restore_to_time(world: World) -> None:
    world.request("RestoreTableToPointInTime", TargetTableName="target", **LATEST)
    world.copy()


def restore_to_past(world: World) -> None:
    window = world.ask("DescribeContinuousBackups")["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    at = window["LatestRestorableDateTime"]
    world.clock.advance(1)
    world.put(2, n={"N": "9"})
    world.ask("DeleteItem", Key={"id": {"S": "o3"}})
    members = {"SourceTableName": TABLE, "RestoreDateTime": at}
    world.request("RestoreTableToPointInTime", TargetTableName="target", **members)
    world.copy()


def delete_backup(world: World) -> None:
    world.request("DeleteBackup", BackupArn=backups(world)[0])


def delete_table(world: World) -> None:
    world.ask("DeleteTable")


def give_up(world: World) -> None:
    world.ask("DeleteTable")
    world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=OFF)


def turn_recovery_off(world: World) -> None:
    world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=OFF)


def let_the_window_pass(world: World) -> None:
    world.clock.advance(36 * 24 * 3600)


def opened(folder: Path, delay_seconds: float) -> World:
    world = World(folder, delay_seconds=delay_seconds)
    world.clock.advance(DELAY_SECONDS)
    fill(world)
    backup_of(world)
    return world


def require_settled(world: World) -> None:
    """Let the job settle what it finds; each copy and each kept row then has its record, and each record is whole."""
    world.copy()
    world.clock.advance(DELAY_SECONDS)
    world.copy()
    store = world.store
    assert list(row_copies_of(store).owners()) == []
    names = {name for name, _ in store.documents.below("")}
    assert {name for name in names if name.startswith(RESTORE_PREFIX)} == set()
    assert {name for name in names if name.startswith(BACKUP_PREFIX)} == set(row_copies_of(store).kept())
    assert len(backups(world)) == len(row_copies_of(store).kept())


def require_restorable(world: World) -> None:
    """Each backup has all items, as has the table that was to be restored, if it is there."""
    for number, arn in enumerate(backups(world)):
        name = f"from-{number}"
        world.request("RestoreTableFromBackup", TargetTableName=name, BackupArn=arn)
        world.copy()
        world.clock.advance(DELAY_SECONDS)
        assert items_of(world, name) == ALL, arn
    if "target" in world.request("ListTables")["TableNames"]:
        assert items_of(world, "target") == ALL


WORKS: list[Work] = [create_backup, restore_backup, restore_to_time, restore_to_past, delete_backup, delete_table]


@pytest.mark.parametrize(
    ("work", "delay_seconds"),
    [(work, delay) for work in WORKS for delay in (0.0, DELAY_SECONDS)] + [(give_up, DELAY_SECONDS)],
)
@pytest.mark.parametrize("is_large", [False, True])
def test_a_kill_behind_each_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Work, delay_seconds: float, *, is_large: bool
) -> None:
    small_slices(monkeypatch)
    if is_large:
        large_copies(monkeypatch)
    for commits in range(1, COMMITS_MAX):
        world = opened(tmp_path / str(commits), delay_seconds)
        was_killed = killed_behind(world, monkeypatch, commits, lambda world=world: work(world))  # type: ignore[misc]
        assert {one.partition("/backup/")[2] for one in backups(world)} <= {
            owner.rpartition("/")[2] for owner in row_copies_of(world.store).kept()
        }, "clients see only backups with rows, before anything is settled"
        require_settled(world)
        is_gone = TABLE not in world.request("ListTables")["TableNames"]
        if work is delete_table:
            assert len(backups(world, "SYSTEM")) == is_gone
        elif work is give_up and not was_killed:
            assert (is_gone, backups(world, "SYSTEM")) == (True, [])
        require_restorable(world)
        assert world.close() == []
        if not was_killed:
            assert commits > 2
            return
    raise AssertionError("it has more commits")


@pytest.mark.parametrize("work", [create_backup, restore_backup, restore_to_time, restore_to_past, delete_backup])
def test_a_commit_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    """The job goes on in the same process, once the disk takes commits again; what clients do not see may stay until
    the next start: the record of a backup that has not begun, and the rows of a deleted one.
    """
    small_slices(monkeypatch)
    for commits in range(COMMITS_MAX):
        world = opened(tmp_path / str(commits), 0.0)
        has_failed = failed_behind(world, monkeypatch, commits, lambda world=world: work(world))  # type: ignore[misc]
        if work is delete_backup or not has_failed or commits == 1:
            world.restart()
        require_settled(world)
        require_restorable(world)
        assert world.close() == []
        if not has_failed:
            return
    raise AssertionError("it has more commits")


@pytest.mark.parametrize("lets_go", [turn_recovery_off, let_the_window_pass])
def test_a_restore_ends_if_its_moment_is_gone_before_its_copy_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lets_go: Work
) -> None:
    world = opened(tmp_path / "data", 0.0)
    assert killed_behind(world, monkeypatch, 2, lambda: restore_to_past(world))
    assert "target" in world.request("ListTables")["TableNames"]
    assert not row_copies_of(world.store).owners()
    lets_go(world)
    require_settled(world)
    assert "target" not in world.request("ListTables")["TableNames"]
    require_restorable(world)
    assert world.close() == []


def test_a_damaged_record_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    small_slices(monkeypatch)
    world = opened(tmp_path / "data", 0.0)
    assert killed_behind(world, monkeypatch, 4, lambda: create_backup(world))
    damaged = {"backup/000000000000/us-east-1/00000000000001-0123abcd": b"{", "restore/0/r/t": b"[]"}
    drive(world.store.documents.write(damaged))
    world.restart()
    world.copy()
    assert len([message for message in caplog.messages if "cannot be read" in message]) == 2
    assert list(row_copies_of(world.store).owners()) == []
    drive(world.store.documents.write(dict.fromkeys(damaged)))
    require_restorable(world)
    assert world.close() == []
