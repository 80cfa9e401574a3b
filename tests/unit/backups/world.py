"""A table with recovery on, whose store may be killed behind any commit."""

from collections.abc import Callable
from typing import Any

import pytest

from hashrange.errors import ApiError, StorageError
from hashrange.store.embedded import engine, row_copies
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.draft import Draft
from tests.unit.jobs.world import TABLE, World, item

ITEMS = 8
ON = {"PointInTimeRecoveryEnabled": True}
OFF = {"PointInTimeRecoveryEnabled": False}
LATEST = {"SourceTableName": TABLE, "UseLatestRestorableTime": True}


class Killed(BaseException):
    """What a commit raises behind which the store is killed."""


def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let backups and restores of few items take several slices."""
    monkeypatch.setattr(row_copies, "SLICE_ROWS", 3)
    monkeypatch.setattr(row_copies, "FIRST_SLICES", 1)
    monkeypatch.setattr(row_copies, "UNDONE_TOGETHER", 2)


def large_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let copies of few items be moved as large ones are, and stored with each third slice. Then flushes may outrun
    merges, for which nothing waits.
    """
    unreached = tuple((name, 1_000_000) for name, _ in engine.STALL_THRESHOLDS)
    monkeypatch.setattr(engine, "STALL_THRESHOLDS", unreached)
    monkeypatch.setattr(row_copies, "ALONE_BYTES_MIN", 0)
    monkeypatch.setattr(row_copies, "STORED_SLICES", 2)


def fill(world: World) -> None:
    """Put some items, turn recovery on, and put others."""
    world.put(ITEMS // 2)
    world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
    world.clock.advance(2)
    world.put(ITEMS)
    world.clock.advance(2)


def backup_of(world: World, name: str = "nightly") -> str:
    """The ARN of a new backup, which the job has completed."""
    arn = str(world.ask("CreateBackup", BackupName=name)["BackupDetails"]["BackupArn"])
    world.copy()
    return arn


def items_of(world: World, name: str) -> set[str]:
    """The ids of the items of a table."""
    return {one["id"]["S"] for one in world.request("Scan", TableName=name)["Items"]}


ALL = {item(number)["id"]["S"] for number in range(ITEMS)}


def backups(world: World, kind: str = "ALL") -> list[str]:
    """ARNs of all backups that clients see."""
    return [one["BackupArn"] for one in world.request("ListBackups", BackupType=kind)["BackupSummaries"]]


def refused(world: World, operation: str, **members: Any) -> tuple[str, str | None]:
    """Code and message of a refusal."""
    try:
        reply = world.request(operation, **members)
    except ApiError as error:
        return error.code, error.message
    raise AssertionError(reply)


def failed_behind(world: World, monkeypatch: pytest.MonkeyPatch, commits: int, work: Callable[[], Any]) -> bool:
    """Do `work`, and let the commit behind this many of it fail, as on a full disk; False if it has fewer."""
    left, commit = commits, Commits._commit

    def counted(self: Commits, make: Callable[[Draft], Any]) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise StorageError("the disk is full")
        return commit(self, make)

    with monkeypatch.context() as patch:
        patch.setattr(Commits, "_commit", counted)
        try:
            work()
        except StorageError:
            return True
    return False


def killed_behind(world: World, monkeypatch: pytest.MonkeyPatch, commits: int, work: Callable[[], Any]) -> bool:
    """Do `work`, and kill the store behind this many commits of it; False if it has fewer. Continues with what a kill
    leaves.
    """
    left, commit = commits, Commits._commit

    def counted(self: Commits, make: Callable[[Draft], Any]) -> Any:
        nonlocal left
        before = self.site.barrier.position
        made = commit(self, make)
        left -= self.site.barrier.position > before
        if left == 0:
            raise Killed
        return made

    with monkeypatch.context() as patch:
        patch.setattr(Commits, "_commit", counted)
        try:
            work()
        except Killed:
            pass
        else:
            return False
    world.kill()
    return True
