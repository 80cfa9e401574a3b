"""A server whose data folder is gone, empty or replaced refuses requests, creates nothing,
and resumes when the folder is back.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hashrange.errors import StorageError, StorageLocked, StorageLost
from hashrange.items.types import Key
from hashrange.store.embedded import open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import Engine, close_engine
from hashrange.store.embedded.inspect import inspect_store
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable
from tests.support.clocks import VirtualClock
from tests.support.kills import copy_as_killed
from tests.support.samples import durable, finish, row_of, table_maker
from tests.unit.store.conftest import Run, sync_thread_is_idle

ATTEMPTS = 5


class Served:
    """A store on disk in the folder `data`, with one table and one durable row."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.clock = VirtualClock()
        self.data, self.aside, self._loop = folder / "data", folder / "aside", loop
        self.store = open_store(str(self.data), self.clock, loop)
        table = finish(self.store.catalog.create(table_maker("t")))
        assert table is not None
        self.table: OpenTable = table
        self.write(b"first")

    def write(self, name: bytes) -> None:
        """Write one row durably; raises the error that a client's write would get."""
        finish(self.store.mutate(self.table, Key(name), lambda _: row_of(10, name)))
        self._loop.run_until_complete(durable(self.store))

    def read(self, name: bytes) -> bytes | None:
        """Read one row."""
        return finish(self.store.get(self.table.source_id, Key(name), consistent=True))

    def attempt_to_reopen(self) -> None:
        """Send a request after a long time, and wait for the sync thread's attempt to reopen."""
        self.clock.advance_all(60.0)
        with pytest.raises(StorageError):
            self.read(b"first")
        self._loop.run_until_complete(sync_thread_is_idle(self.store))


@pytest.fixture
def served(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> Iterator[Served]:
    served = Served(tmp_path, loop)
    yield served
    served.store.close_now()


def contents(folder: Path) -> dict[str, bytes] | None:
    """The files below `folder`, except the lock file, which a stopping server empties; None if the folder does not
    exist."""
    if not folder.exists():
        return None
    found = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: content for name, content in found.items() if name != "lock"}


def delete(served: Served) -> None:
    shutil.rmtree(served.data)


def delete_and_make_empty(served: Served) -> None:
    shutil.rmtree(served.data)
    served.data.mkdir()


def delete_what_the_engine_has(served: Served) -> None:
    shutil.rmtree(served.data / "engine")
    (served.data / "engine").mkdir()


def delete_the_engines_files(served: Served) -> None:
    for path in (served.data / "engine").iterdir():
        path.unlink()


def replace_by_another_store(served: Served) -> None:
    made = served.data.with_name("other")
    for name in ("one", "another", "third"):
        other = open_store(str(made), VirtualClock(), None)
        finish(other.catalog.create(table_maker(name)))
        other.close_now()
    served.data.rename(served.aside)
    made.rename(served.data)


LOSSES = [
    delete,
    delete_and_make_empty,
    delete_what_the_engine_has,
    delete_the_engines_files,
    replace_by_another_store,
]


@pytest.mark.parametrize("lose", LOSSES)
def test_without_its_folder_a_server_acknowledges_nothing_and_makes_nothing(
    served: Served, lose: Callable[[Served], None], caplog: pytest.LogCaptureFixture
) -> None:
    lose(served)
    left = contents(served.data)
    with pytest.raises(StorageError, match="is not the folder that was opened"):
        served.write(b"second")
    for _ in range(ATTEMPTS):
        served.attempt_to_reopen()
    with pytest.raises(StorageError, match="is not the folder that was opened"):
        served.write(b"third")
    served.store.close_now()
    assert contents(served.data) == left
    (sentence,) = {record.getMessage() for record in caplog.records if record.levelname == "ERROR"}
    assert str(served.data) in sentence
    assert "Put it back" in sentence


@pytest.mark.parametrize("was_another_there", [False, True])
def test_a_folder_that_comes_back_is_served_again(served: Served, run: Run, was_another_there: bool) -> None:
    if was_another_there:
        replace_by_another_store(served)
    else:
        served.data.rename(served.aside)
    with pytest.raises(StorageError, match="is not the folder"):
        served.write(b"second")
    served.attempt_to_reopen()
    if was_another_there:
        shutil.rmtree(served.data)
    served.aside.rename(served.data)
    served.attempt_to_reopen()
    assert served.read(b"first") == row_of(10, b"first")
    served.write(b"third")
    served.store.close_now()
    store = open_store(str(served.data), VirtualClock(), None)
    rows = [finish(store.get(served.table.source_id, Key(name), consistent=True)) for name in (b"first", b"third")]
    store.close_now()
    assert rows == [row_of(10, b"first"), row_of(10, b"third")]


@pytest.mark.parametrize("kind", ["mutate", "transact", "create a table"])
def test_what_is_refused_because_the_folder_has_gone_is_not_applied(served: Served, kind: str) -> None:
    served.data.rename(served.aside)
    with pytest.raises(StorageLost, match="is not the folder"):
        if kind == "mutate":
            served.write(b"second")
        elif kind == "transact":
            step = TransactionStep(served.table, Key(b"second"), lambda _: row_of(10, b"second"))
            finish(served.store.transact([step], None))
        else:
            finish(served.store.catalog.create(table_maker("second")))
    served.attempt_to_reopen()
    served.aside.rename(served.data)
    served.attempt_to_reopen()
    assert served.read(b"first") == row_of(10, b"first")
    assert served.read(b"second") is None
    served.store.close_now()
    assert len(inspect_store(str(served.data)).tables) == 1


def test_one_look_for_the_folder_serves_all_commits_of_a_group(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    monkeypatch.setattr(served.store.site.health, "require_folder", lambda: looks.append("look"))
    for number in range(50):
        finish(served.store.mutate(served.table, Key(b"%d" % number), lambda _: row_of(10)))
    assert looks == ["look"]


def test_a_server_that_ends_without_having_noticed_changes_nothing_either(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    replace_by_another_store(served)
    left = contents(served.data)
    served.store.close_now()
    assert contents(served.data) == left
    assert "is not the folder that was opened" in caplog.text


MANY_ROWS = 600
"""Number of rows that make the engine worth compacting when writes pause."""


def settle(served: Served) -> None:
    """Settle twice without a commit in between, which flushes and compacts what writes have left."""
    finish(served.store.maintenance.settle())
    finish(served.store.maintenance.settle())


def compact(served: Served) -> None:
    served.store.site.housekeeper.compact(served.store.engine, b"", b"\xff")


@pytest.mark.parametrize("work", [settle, compact])
@pytest.mark.parametrize("lose", LOSSES)
def test_work_beside_the_loop_changes_nothing_in_another_folder(
    served: Served, run: Run, lose: Callable[[Served], None], work: Callable[[Served], None]
) -> None:
    """While nobody writes, no sync checks the folder, so the work itself must."""
    for number in range(MANY_ROWS):
        finish(served.store.mutate(served.table, Key(b"%06d" % number), lambda _: row_of(10)))
    run(durable(served.store))
    lose(served)
    left = contents(served.data)
    work(served)
    run(housekeeper_is_idle(served))
    assert contents(served.data) == left
    with pytest.raises(StorageLost, match="is not the folder that was opened"):
        served.read(b"first")


def test_a_folder_that_was_replaced_during_work_beside_the_loop_is_noticed_after_it(served: Served, run: Run) -> None:
    served.store.site.housekeeper.run(lambda: replace_by_another_store(served))
    run(housekeeper_is_idle(served))
    with pytest.raises(StorageLost, match="is not the folder that was opened"):
        served.read(b"first")


async def housekeeper_is_idle(served: Served) -> None:
    """Return once the housekeeper has finished and the loop has received its results."""
    await asyncio.wrap_future(served.store.site.housekeeper.run(lambda: None))


def test_an_engine_that_failed_is_not_made_anew_where_its_folder_was(served: Served) -> None:
    """The folder disappears while the store already refuses for another reason."""
    served.store.site.fail(Exception("IO error: input/output error"))
    shutil.rmtree(served.data)
    for _ in range(ATTEMPTS):
        served.attempt_to_reopen()
    assert not served.data.exists()


def test_a_reopened_engine_that_knows_less_than_was_acknowledged_is_not_served(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older engine files replace the current ones, in the same folder with the same identity."""
    copy_as_killed(served.data, tmp_path / "older")
    served.write(b"second")

    def close_and_restore(engine: Engine, place: str, *, may_fail: bool) -> None:
        close_engine(engine, place, may_fail=may_fail)
        delete_the_engines_files(served)
        shutil.copytree(tmp_path / "older" / "engine", served.data / "engine", dirs_exist_ok=True)

    monkeypatch.setattr("hashrange.store.embedded.health.close_engine", close_and_restore)
    served.store.site.fail(Exception("IO error: input/output error"))
    for _ in range(ATTEMPTS):
        served.attempt_to_reopen()
    with pytest.raises(StorageLost, match="holds less than was acknowledged"):
        served.read(b"first")


def test_an_engine_that_is_left_over_keeps_its_folder(tmp_path: Path) -> None:
    """While an engine is still in use, no other engine may open its folder, by any path or descriptor number."""
    store = open_store(str(tmp_path / "data"), VirtualClock(), None)
    walk = store.engine.items()
    store.close_now()
    open_store(str(tmp_path / "other"), VirtualClock(), None).close_now()
    with pytest.raises(StorageLocked):
        open_store(str(tmp_path / "data"), VirtualClock(), None)
    del walk


@pytest.mark.parametrize("name", ["lock", "engine/LOCK"])
def test_a_served_folder_is_locked_whatever_lock_file_was_deleted(tmp_path: Path, name: str) -> None:
    store = open_store(str(tmp_path), VirtualClock(), None)
    (tmp_path / name).unlink()
    with pytest.raises(StorageLocked, match="in use by another Hashrange"):
        check_store(str(tmp_path))
    with pytest.raises(StorageLocked, match="in use by another Hashrange"):
        open_store(str(tmp_path), VirtualClock(), None)
    store.close_now()
    shutil.copytree(tmp_path, tmp_path / "copy")
    assert check_store(str(tmp_path / "copy")).faults == []
