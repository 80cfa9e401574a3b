"""Reopening the engine creates nothing and uses the folder that was opened first, whatever is at its path meanwhile."""

import errno
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hashrange.errors import StorageError, StorageLost
from hashrange.items.types import Key
from hashrange.store.embedded import files, health, identity, open_store
from hashrange.store.embedded.engine import Engine, open_engine
from hashrange.store.embedded.engine_errors import storage_error
from tests.support.clocks import VirtualClock
from tests.support.kills import copy_as_killed
from tests.support.samples import finish, row_of
from tests.unit.store.test_identity import (
    ATTEMPTS,
    MANY_ROWS,
    Served,
    contents,
    delete_what_the_engine_has,
    replace_by_another_store,
    served,
)

__all__ = ["served"]
needs_held_folders = pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="this system leads to no folder through a descriptor"
)
BROKEN = Exception("IO error: input/output error")


def move_away(served: Served) -> None:
    served.data.rename(served.aside)


def before_the_next_opening(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Call `happens` between the check of the folder and the opening of its engine."""

    def open_late(*arguments: object, **options: object) -> Engine:
        monkeypatch.setattr(health, "open_engine", open_engine)
        happens()
        return open_engine(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(health, "open_engine", open_late)


@pytest.fixture(params=[pytest.param("held", marks=needs_held_folders), "by name"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the store refers to its folder (by descriptor or by name); request this fixture before `served`."""
    if request.param == "by name":
        monkeypatch.setattr(identity, "_way", lambda _descriptor, path: path)
    return str(request.param)


@pytest.mark.parametrize("lose", [move_away, replace_by_another_store])
def test_a_folder_that_goes_between_the_look_and_the_opening_is_not_made_anew(
    opened: str, served: Served, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Served], None]
) -> None:
    served.store.site.fail(BROKEN)
    left: list[dict[str, bytes] | None] = []

    def happens() -> None:
        lose(served)
        left.append(contents(served.data))

    before_the_next_opening(monkeypatch, happens)
    for _ in range(ATTEMPTS):
        served.attempt_to_reopen()
    with pytest.raises(StorageLost, match="is not the folder that was opened"):
        served.read(b"first")
    if opened == "held" or lose is move_away:
        assert contents(served.data) == left[0]
        shutil.rmtree(served.data, ignore_errors=True)
        served.aside.rename(served.data)
        served.attempt_to_reopen()
        assert served.read(b"first") == row_of(10, b"first")
        served.write(b"second")


@pytest.mark.parametrize("calls_before", [0, 1, 2])
@pytest.mark.usefixtures("opened")
def test_a_process_without_descriptors_has_not_lost_its_folder(
    served: Served, monkeypatch: pytest.MonkeyPatch, calls_before: int
) -> None:
    """It may have them again, so nobody is told to put the folder back."""
    served.store.site.fail(BROKEN)
    left, real = [errno.EMFILE, *[0] * calls_before], files.read_bytes

    def read_bytes(path: str) -> bytes:
        if left and (code := left.pop()):
            raise OSError(code, os.strerror(code))
        return real(path)

    monkeypatch.setattr(files, "read_bytes", read_bytes)
    served.attempt_to_reopen()
    if not left and served.store.site.health.failure is not None:
        with pytest.raises(StorageError, match="Too many open files") as caught:
            served.read(b"first")
        assert caught.type is not StorageLost
        served.attempt_to_reopen()
    assert served.read(b"first") == row_of(10, b"first")
    served.write(b"second")


def test_what_an_opening_by_name_left_is_removed_only_if_it_is_nothing_else(tmp_path: Path) -> None:
    held = os.stat(tmp_path)
    for stranger in ("", "MANIFEST-000001", "thesis.txt"):
        data = tmp_path / f"data{stranger}"
        (data / "engine").mkdir(parents=True)
        for name in ("LOCK", "LOG", "LOG.old.17", "rocksdict-config.json", stranger):
            (data / "engine" / name).touch()
        files.remove_stub(str(data), os.stat(data / "engine"))
        assert (data / "engine" / "LOCK").exists(), "it is the folder that was opened"
        files.remove_stub(str(data), held)
        assert data.exists() is bool(stranger)
        assert (data / "engine" / "LOCK").exists() is bool(stranger)
    (tmp_path / "empty" / "engine").mkdir(parents=True)
    files.remove_stub(str(tmp_path / "empty"), held)
    assert (tmp_path / "empty" / "engine").exists(), "no engine has been there"


@needs_held_folders
@pytest.mark.parametrize("lose", [move_away, replace_by_another_store, delete_what_the_engine_has])
def test_what_the_engine_does_by_itself_changes_nothing_in_another_folder(
    served: Served, lose: Callable[[Served], None]
) -> None:
    for number in range(MANY_ROWS):
        finish(served.store.mutate(served.table, Key(b"%06d" % number), lambda _: row_of(10)))
    served.write(b"last")
    engine = served.store.engine
    lose(served)
    left = contents(served.data)
    try:
        engine.flush()
        engine.compact_range(b"", b"\xff")
    except Exception as error:
        assert "No such file or directory" in str(error)
    assert contents(served.data) == left
    with pytest.raises(StorageError):
        served.write(b"second")
    served.attempt_to_reopen()
    with pytest.raises(StorageLost, match="is not the folder that was opened"):
        served.read(b"first")


@needs_held_folders
def test_a_folder_that_was_away_during_a_flush_holds_what_was_flushed(served: Served, tmp_path: Path) -> None:
    finish(served.store.mutate(served.table, Key(b"second"), lambda _: row_of(10, b"second")))
    replace_by_another_store(served)
    served.store.engine.flush()
    shutil.rmtree(served.data)
    served.aside.rename(served.data)
    served.write(b"third")
    copy_as_killed(served.data, tmp_path / "killed")
    store = open_store(str(tmp_path / "killed"), VirtualClock(), None)
    rows = [finish(store.get(served.table.source_id, Key(name), consistent=True)) for name in (b"second", b"third")]
    store.close_now()
    assert rows == [row_of(10, b"second"), row_of(10, b"third")]


def test_what_fails_is_told_with_the_path_that_was_named(served: Served) -> None:
    lock = served.store._lock
    assert lock is not None
    for way, path in ((lock.folder.engine, "engine/1.log"), (lock.folder.data, "synced")):
        fault = storage_error(
            Exception(f"IO error: While appending to file: {way}/{Path(path).name}"), str(served.data)
        )
        assert f"{served.data}/{path}" in str(fault)
        assert "/proc" not in str(fault)


@pytest.mark.parametrize("names", [["LOG"], ["LOCK"], ["LOG", "LOCK", "rocksdict-config.json"]])
def test_a_start_among_traces_of_a_store_makes_a_new_one_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, names: list[str]
) -> None:
    (tmp_path / "data" / "engine").mkdir(parents=True)
    for name in names:
        (tmp_path / "data" / "engine" / name).touch()
    for _ in range(2):
        open_store(str(tmp_path / "data"), VirtualClock(), None).close_now()
    (told,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert told.getMessage().startswith(
        f"{tmp_path / 'data'} holds traces of a store and no data, so a new one is made"
    )


def test_a_start_in_a_new_folder_warns_of_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "data" / "engine").mkdir(parents=True)
    open_store(str(tmp_path / "data"), VirtualClock(), None).close_now()
    assert not caplog.records
