"""Missing acknowledged writes are detected: a file next to the engine's files has the number
of the last synced commit.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.errors import StorageLost
from hashrange.items.types import Key
from hashrange.store.embedded import EmbeddedStore, files, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.synced import LOOK_SECONDS, SyncedFile
from hashrange.tables.open_table import OpenTable
from tests.support.clocks import VirtualClock
from tests.support.kills import copy_as_killed
from tests.support.samples import durable, finish, row_of, statistics_of, table_maker
from tests.unit.store.conftest import Run

ROWS = 20


class Killed:
    """A folder as a kill leaves it, after `ROWS` acknowledged rows."""

    def __init__(self, folder: Path, table: OpenTable) -> None:
        self.folder = folder
        self.table = table

    def logs(self) -> list[Path]:
        """The log files, oldest first."""
        return [Path(path) for path in files.log_files(str(self.folder / "engine"))]

    def rows(self) -> int:
        """The number of rows that a server recovers. Raises StorageError when it does not start."""
        store = open_store(str(self.folder), VirtualClock(), None)
        count = statistics_of(store, self.table.source_id).item_count if store.catalog.all_tables() else 0
        store.close_now()
        return count


def contents(folder: Path) -> dict[str, bytes]:
    """Contents of the engine's data files and logs."""
    paths = [path for path in (folder / "engine").iterdir() if path.suffix in {".sst", ".log"}]
    return {path.name: path.read_bytes() for path in paths}


def write(store: EmbeddedStore, table: OpenTable, first: int, end: int) -> None:
    for number in range(first, end):
        finish(store.mutate(table, Key(b"%06d" % number), lambda _: row_of(10)))


@pytest.fixture(params=["one log", "several logs"])
def killed(
    request: pytest.FixtureRequest, tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run
) -> Iterator[Killed]:
    clock = VirtualClock()
    store = open_store(str(tmp_path / "running"), clock, loop)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    write(store, table, 0, ROWS // 2)
    run(durable(store))
    older = None
    if request.param == "several logs":
        (older,) = (tmp_path / "running" / "engine").glob("*.log")
        shutil.copy(older, tmp_path)
        store.engine.flush()
    clock.advance_all(LOOK_SECONDS)
    write(store, table, ROWS // 2, ROWS - 1)
    run(durable(store))
    write(store, table, ROWS - 1, ROWS)  # acknowledged at the same clock time, just before the kill
    run(durable(store))
    copy_as_killed(tmp_path / "running", tmp_path / "killed")
    if older is not None:
        shutil.copy(tmp_path / older.name, tmp_path / "killed" / "engine")
    store.close_now()
    yield Killed(tmp_path / "killed", table)


def test_a_kill_alone_loses_nothing(killed: Killed) -> None:
    assert (killed.folder / "synced").exists()
    assert killed.rows() == ROWS


def spoilt(newest: Path, kept: float, zeros_bytes: int) -> None:
    """Truncate the log to the share `kept`, and append zeros."""
    os.truncate(newest, int(newest.stat().st_size * kept))
    os.truncate(newest, newest.stat().st_size + zeros_bytes)


SPOILT = [(0.0, 0), (0.3, 0), (0.5, 0), (0.99, 0), (0.0, 4096), (0.5, 4096)]


@pytest.mark.parametrize(("kept", "zeros_bytes"), SPOILT)
def test_a_newest_log_that_lacks_what_was_acknowledged_is_refused_and_nothing_is_changed(
    killed: Killed, kept: float, zeros_bytes: int
) -> None:
    newest = killed.logs()[-1]
    whole = newest.read_bytes()
    spoilt(newest, kept, zeros_bytes)
    data = contents(killed.folder)
    for _ in range(2):
        with pytest.raises(StorageLost, match=r"holds less than was acknowledged: .* was cut, emptied or replaced"):
            killed.rows()
        with pytest.raises(StorageLost, match=r"holds less than was acknowledged: .* was cut, emptied or replaced"):
            check_store(str(killed.folder))
    assert contents(killed.folder) == data
    newest.write_bytes(whole)
    assert killed.rows() == ROWS


@pytest.mark.parametrize(("kept", "zeros_bytes"), SPOILT)
def test_whoever_removes_the_number_goes_on_with_a_log_that_is_torn(
    killed: Killed, kept: float, zeros_bytes: int
) -> None:
    spoilt(killed.logs()[-1], kept, zeros_bytes)
    (killed.folder / "synced").unlink()
    assert killed.rows() < ROWS


@pytest.mark.parametrize("zeros_bytes", [0, 4096])
def test_what_comes_after_the_number_may_be_torn(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run, zeros_bytes: int
) -> None:
    """Writes after the noted number were not acknowledged, so losing them is no error."""
    store = open_store(str(tmp_path / "running"), VirtualClock(), loop)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    run(durable(store))
    write(store, table, 0, ROWS)
    store.engine.flush_wal(False)
    copy_as_killed(tmp_path / "running", tmp_path / "killed")
    assert (tmp_path / "killed" / "synced").exists()
    store.close_now()
    killed = Killed(tmp_path / "killed", table)
    spoilt(killed.logs()[-1], 0.9, zeros_bytes)
    check_store(str(killed.folder))
    assert 0 < killed.rows() < ROWS


def test_a_missing_newest_log_is_refused_and_nothing_is_changed(killed: Killed, tmp_path: Path) -> None:
    newest = killed.logs()[-1]
    newest.rename(tmp_path / newest.name)
    data = contents(killed.folder)
    for _ in range(2):
        with pytest.raises(StorageLost, match=r"the log \d{6}\.log of its engine is missing"):
            killed.rows()
        with pytest.raises(StorageLost, match=r"the log \d{6}\.log of its engine is missing"):
            check_store(str(killed.folder))
    assert contents(killed.folder) == data
    (tmp_path / newest.name).rename(newest)
    assert killed.rows() == ROWS


def killed_without_logs(folder: Path, loop: asyncio.AbstractEventLoop, run: Run) -> Killed:
    """Remove the logs under a running server, which continues to write; return a copy of the folder as a kill leaves
    it."""
    clock = VirtualClock()
    store = open_store(str(folder / "running"), clock, loop)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    write(store, table, 0, ROWS // 2)
    run(durable(store))
    for log in files.log_files(str(folder / "running" / "engine")):
        os.unlink(log)
    clock.advance_all(LOOK_SECONDS)
    write(store, table, ROWS // 2, ROWS)
    run(durable(store))
    copy_as_killed(folder / "running", folder / "killed")
    store.close_now()
    return Killed(folder / "killed", table)


def test_what_logs_held_that_somebody_removes_is_kept(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    assert killed_without_logs(tmp_path, loop, run).rows() == ROWS
    assert "somebody has removed the logs of its engine" in caplog.text


def test_a_log_that_was_missing_while_a_server_ran_is_not_named(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was killed before it could react to the missing log."""

    note = SyncedFile.note

    def notice_nothing(file: SyncedFile, sequence: int, now_seconds: float) -> bool:
        note(file, sequence, now_seconds)
        return True

    monkeypatch.setattr(SyncedFile, "note", notice_nothing)
    killed = killed_without_logs(tmp_path, loop, run)
    with pytest.raises(
        StorageLost, match=r"holds less than was acknowledged: a log of its engine is missing\. Put it back"
    ):
        killed.rows()


def test_whoever_removes_the_number_goes_on_with_what_is_there(killed: Killed) -> None:
    killed.logs()[-1].unlink()
    (killed.folder / "synced").unlink()
    assert killed.rows() < ROWS


@pytest.mark.parametrize("content", [b"", b"\0", b"\xff" * 20, b"\xff" * 100])
def test_a_number_that_is_not_whole_does_not_count(killed: Killed, content: bytes) -> None:
    (killed.folder / "synced").write_bytes(content)
    assert killed.rows() == ROWS


def test_a_server_that_ends_in_order_leaves_no_number(killed: Killed) -> None:
    killed.rows()
    assert not (killed.folder / "synced").exists()
    assert killed.rows() == ROWS


def test_a_number_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "synced").mkdir()
    file = SyncedFile(files.by_name(str(tmp_path)))
    file.note(1, 0.0)
    file.forget()
    assert (tmp_path / "synced").is_dir()
