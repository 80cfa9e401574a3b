"""A store's whole content is copied, restored, forked and emptied, in memory and on disk."""

import asyncio
import os
from pathlib import Path

import pytest

from hashrange.errors import StorageError
from hashrange.items.types import Key, Row
from hashrange.store.copying import Checkpoint
from hashrange.store.embedded import EmbeddedStore, copy_folders, files, layout, open_store
from hashrange.store.embedded.checkpoints import UNFLUSHED_BYTES_MAX
from hashrange.store.embedded.engine import close_engine
from hashrange.store.embedded.health import REOPEN_DELAY_SECONDS_MIN
from hashrange.store.embedded.opening import open_forked_store
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, statistics_of, table_maker
from tests.support.waiting import wait_until
from tests.unit.store.conftest import Run, sync_thread_is_idle

KEYS = [Key(b"%03d" % number) for number in range(100)]


def table_of(store: EmbeddedStore) -> OpenTable:
    table = store.catalog.find("000000000000", "us-east-1", "t")
    assert table is not None
    return table


def put(store: EmbeddedStore, number: int, row: Row | None) -> int:
    return finish(store.mutate(table_of(store), KEYS[number], lambda _: row)).position


def rows_of(store: EmbeddedStore) -> dict[int, Row]:
    source_id = table_of(store).source_id
    rows = {number: finish(store.get(source_id, key, consistent=True)) for number, key in enumerate(KEYS)}
    found = {number: row for number, row in rows.items() if row is not None}
    assert statistics_of(store, source_id).item_count == len(found)
    return found


@pytest.fixture
def store(store: EmbeddedStore) -> EmbeddedStore:
    """The store with a table `t` of thirty items."""
    assert finish(store.catalog.create(table_maker("t"))) is not None
    for number in range(0, 60, 2):
        put(store, number, row_of(number))
    return store


def test_a_store_is_restored_again_and_again(store: EmbeddedStore, run: Run) -> None:
    before = rows_of(store)
    checkpoint = run(store.copying.checkpoint())
    for _ in range(3):
        position = put(store, 1, row_of(50))
        put(store, 2, None)
        store.copying.restore(checkpoint)
        assert rows_of(store) == before
        assert put(store, 99, row_of(3)) > position
    checkpoint.release()
    assert rows_of(store) == {**before, 99: row_of(3)}


def test_a_checkpoint_contains_commits_in_large_memtables(store: EmbeddedStore, run: Run) -> None:
    for number in range(50):
        put(store, number, row_of(60, b"x" * (UNFLUSHED_BYTES_MAX // 25)))
    before = rows_of(store)
    checkpoint = run(store.copying.checkpoint())
    put(store, 0, row_of(1))
    store.copying.restore(checkpoint)
    checkpoint.release()
    assert rows_of(store) == before


def test_a_checkpoint_during_a_restore_contains_what_was_restored(store: EmbeddedStore, run: Run) -> None:
    before = rows_of(store)
    earlier = run(store.copying.checkpoint())
    put(store, 0, row_of(60, b"x" * 2 * UNFLUSHED_BYTES_MAX))

    async def restore_meanwhile() -> Checkpoint:
        later = asyncio.ensure_future(store.copying.checkpoint())
        await asyncio.sleep(0)
        assert not later.done()
        store.copying.restore(earlier)
        put(store, 1, row_of(7))
        return await later

    later = run(restore_meanwhile())
    store.copying.restore(None)
    store.copying.restore(later)
    assert rows_of(store) == {**before, 1: row_of(7)}


def test_a_restore_cancels_what_the_housekeeper_is_doing(store: EmbeddedStore, run: Run) -> None:
    before = rows_of(store)
    checkpoint = run(store.copying.checkpoint())
    put(store, 1, row_of(60, b"x" * 2 * UNFLUSHED_BYTES_MAX))
    housekeeper = store.site.housekeeper
    work = housekeeper.run(lambda: wait_until(lambda: housekeeper._executor is None))
    store.copying.restore(checkpoint)
    assert work.done()
    assert rows_of(store) == before
    put(store, 2, row_of(9))
    assert rows_of(store) == {**before, 2: row_of(9)}


def test_a_store_is_emptied(store: EmbeddedStore) -> None:
    store.copying.restore(None)
    assert not list(store.catalog.all_tables())
    assert finish(store.catalog.create(table_maker("t"))) is not None
    assert rows_of(store) == {}
    put(store, 1, row_of(1))
    assert rows_of(store) == {1: row_of(1)}


def test_a_fork_and_its_store_do_not_see_each_others_writes(
    store: EmbeddedStore, loop: asyncio.AbstractEventLoop, run: Run
) -> None:
    before = rows_of(store)
    checkpoint = run(store.copying.checkpoint())
    forks = [run(open_forked_store(checkpoint, VirtualClock())) for _ in range(2)]
    checkpoint.release()
    put(store, 1, row_of(1))
    put(forks[0], 1, row_of(2))
    grandchild_checkpoint = run(forks[0].copying.checkpoint())
    grandchild = run(open_forked_store(grandchild_checkpoint, VirtualClock()))
    grandchild_checkpoint.release()
    put(grandchild, 1, None)
    assert rows_of(store) == {**before, 1: row_of(1)}
    assert rows_of(forks[0]) == {**before, 1: row_of(2)}
    assert rows_of(forks[1]) == rows_of(grandchild) == before
    for one in (grandchild, *forks):
        one.close_now()
    assert rows_of(store) == {**before, 1: row_of(1)}


def test_a_fork_in_memory_outlives_its_store(loop: asyncio.AbstractEventLoop, run: Run) -> None:
    store = open_store(None, VirtualClock(), loop)
    assert finish(store.catalog.create(table_maker("t"))) is not None
    put(store, 1, row_of(1))
    checkpoint = run(store.copying.checkpoint())
    fork = run(open_forked_store(checkpoint, VirtualClock()))
    checkpoint.release()
    store.close_now()
    assert rows_of(fork) == {1: row_of(1)}
    fork.close_now()


def test_what_was_restored_on_disk_survives_a_restart(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run
) -> None:
    data_dir = str(tmp_path / "data")
    store = open_store(data_dir, VirtualClock(), loop)
    assert finish(store.catalog.create(table_maker("t"))) is not None
    put(store, 1, row_of(1))
    checkpoint = run(store.copying.checkpoint())
    put(store, 2, row_of(2))
    store.copying.restore(checkpoint)
    put(store, 3, row_of(3))
    fork = run(open_forked_store(checkpoint, VirtualClock()))
    fork.close_now()
    checkpoint.release()
    store.close_now()
    assert sorted(os.listdir(data_dir)) in (["copies", "engine", "lock"], ["engine", "lock"])
    again = open_store(data_dir, VirtualClock(), loop)
    assert rows_of(again) == {1: row_of(1), 3: row_of(3)}
    assert sorted(os.listdir(data_dir)) == ["engine", "lock"]
    again.close_now()


@pytest.mark.parametrize("renamed", [1, 2, 3])
def test_a_server_that_dies_while_a_copy_takes_its_place(
    renamed: int, tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first renaming the next server serves what was there before, after the others what was restored."""
    data_dir = str(tmp_path / "data")
    store = open_store(data_dir, VirtualClock(), loop)
    assert finish(store.catalog.create(table_maker("t"))) is not None
    checkpoint = run(store.copying.checkpoint())
    put(store, 1, row_of(1))
    rename, count = os.rename, 0

    class Died(BaseException):
        pass

    def dying_rename(source: str, target: str) -> None:
        nonlocal count
        rename(source, target)
        count += 1
        if count == renamed:
            raise Died

    monkeypatch.setattr(os, "rename", dying_rename)
    with pytest.raises(Died):
        store.copying.restore(checkpoint)
    monkeypatch.undo()
    assert store._lock is not None
    close_engine(store.engine, data_dir, may_fail=True)
    store._lock.release()
    again = open_store(data_dir, VirtualClock(), loop)
    assert rows_of(again) == ({1: row_of(1)} if renamed == 1 else {})
    assert sorted(os.listdir(data_dir)) == ["engine", "lock"]
    again.close_now()


def test_a_folder_that_cannot_be_synced_keeps_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, copy = tmp_path / "own", tmp_path / "copy"
    for folder in (own, copy):
        (folder / "engine").mkdir(parents=True)
        (folder / "engine" / folder.name).touch()
    sync = files.sync_folder

    def fail(path: str) -> None:
        if path == str(own):
            raise OSError(5, "Input/output error")
        sync(path)

    monkeypatch.setattr(files, "sync_folder", fail)
    with pytest.raises(OSError, match="Input/output"):
        copy_folders.replace_engine_folder(str(own), str(copy))
    assert os.listdir(own) == ["engine"]
    assert os.listdir(own / "engine") == ["own"]
    assert os.listdir(copy / "engine") == ["copy"]


def test_a_former_engine_that_cannot_be_moved_aside_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, copy = tmp_path / "own", tmp_path / "copy"
    for folder in (own, copy):
        (folder / "engine").mkdir(parents=True)
        (folder / "engine" / folder.name).touch()
    rename = os.rename

    def fail(source: str, target: str) -> None:
        if source.endswith("former"):
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    copy_folders.replace_engine_folder(str(own), str(copy))
    assert os.listdir(own) == ["engine"]
    assert os.listdir(own / "engine") == ["copy"]


@pytest.mark.parametrize(
    ("fault", "message"), [(StorageError("not now"), "not now"), (OSError(28, "No space left on device"), "is full")]
)
def test_a_restore_that_fails_after_the_engine_was_closed_opens_it_again(
    fault: Exception, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = VirtualClock()
    with asyncio.Runner() as runner:
        store = open_store(str(tmp_path / "data"), clock, runner.get_loop())
        assert finish(store.catalog.create(table_maker("t"))) is not None
        checkpoint = runner.run(store.copying.checkpoint())
        put(store, 1, row_of(1))

        def fail(*_: object) -> None:
            raise fault

        monkeypatch.setattr(copy_folders, "replace_engine_folder", fail)
        with pytest.raises(StorageError, match=message):
            store.copying.restore(checkpoint)
        monkeypatch.undo()
        clock.advance_all(REOPEN_DELAY_SECONDS_MIN)
        with pytest.raises(StorageError, match=message):
            rows_of(store)
        runner.run(sync_thread_is_idle(store))
        assert rows_of(store) == {1: row_of(1)}
        checkpoint.release()
        store.close_now()


def test_a_restore_that_fails_leaves_the_content(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(tmp_path / "data"), VirtualClock(), loop)
    assert finish(store.catalog.create(table_maker("t"))) is not None
    checkpoint = run(store.copying.checkpoint())
    put(store, 1, row_of(1))

    def full(_: str) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copy_folders, "make_copy_folder", full)
    with pytest.raises(StorageError, match="is full"):
        store.copying.restore(checkpoint)
    assert rows_of(store) == {1: row_of(1)}
    checkpoint.release()
    store.close_now()


def test_a_restore_decodes_each_table_once(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It decoded each three times, one of them to look for streams of an older format."""
    for number in range(5):
        finish(store.catalog.create(table_maker(f"table-{number}")))
    checkpoint = asyncio.run(store.copying.checkpoint())
    decoded: list[bytes] = []
    decode_table = layout.decode_table

    def counted(row: bytes) -> Table:
        decoded.append(row)
        return decode_table(row)

    monkeypatch.setattr(layout, "decode_table", counted)
    store.copying.restore(checkpoint)
    checkpoint.release()
    assert len(decoded) == len(set(decoded)) == len(store.catalog.all_tables()) >= 5


def test_tables_with_the_same_keys_share_their_key_functions(store: EmbeddedStore) -> None:
    """They were made anew for each table of a restore."""
    first, second = [finish(store.catalog.create(table_maker(name))) for name in ("first", "second")]
    assert first is not None
    assert second is not None
    assert first.item_key is second.item_key
