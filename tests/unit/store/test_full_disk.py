"""On a full disk reads continue but return nothing that a power cut could undo; writes resume once there is space."""

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.errors import StorageError, StorageFull, StorageLost
from hashrange.items.types import Key
from hashrange.soon import settled
from hashrange.store.embedded import engine, files, health, open_store
from hashrange.store.embedded.reading import CHUNK_ROWS
from hashrange.store.statistics import Statistics
from hashrange.tables.span import Span
from tests.support.samples import durable, finish, row_of, statistics_of, table_maker
from tests.unit.store.conftest import Run, sync_thread_is_idle
from tests.unit.store.test_health import BROKEN, FULL, KEY, Patient

NO_ROOM = OSError(28, "No space left on device")


@pytest.fixture
def patient(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> Iterator[Patient]:
    patient = Patient(tmp_path, loop)
    yield patient
    patient.store.close_now()


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> list[OSError]:
    """While this list has an error, there is no disk space for reopening the engine."""
    missing: list[OSError] = [NO_ROOM]
    prove = files.require_disk_space

    def look(folder: str) -> None:
        if missing:
            raise missing[0]
        prove(folder)

    monkeypatch.setattr(files, "require_disk_space", look)
    return missing


def fill(patient: Patient) -> None:
    """Let one write find the disk full, and let all later writes fail."""
    patient.engine.faults["write"] = [FULL] * 1000
    with pytest.raises(StorageFull):
        patient.put(b"new", b"row")


def test_opening_asks_for_no_more_room_than_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(size_bytes: int) -> bytes:
        asked.append(size_bytes)
        return bytes(size_bytes)

    monkeypatch.setattr("hashrange.store.embedded.files.os.urandom", note)
    files.require_disk_space(str(tmp_path))
    assert sum(asked) == files.SPARE_BYTES


async def knock(patient: Patient, times: int = 5) -> None:
    """Attempt writes, a minute of clock time apart."""
    for _ in range(times):
        patient.clock.advance_all(60.0)
        with pytest.raises(StorageError):
            patient.put(b"new", b"row")
        await sync_thread_is_idle(patient.store)


def test_reading_goes_on_and_writing_is_refused(patient: Patient, room: list[OSError], run: Run) -> None:
    fill(patient)
    for _ in range(3):
        run(knock(patient))
        run(durable(patient.store))
        assert patient.get() == row_of(10, b"first")
        assert patient.get(b"new") is None
        page = finish(patient.store.page(patient.table.source_id, Span(b"", b"z"), 9, 9, consistent=True))
        assert page.rows == [row_of(10, b"first")]
        assert statistics_of(patient.store, patient.table.source_id) == Statistics(1, 10)
    with pytest.raises(StorageFull):
        run(patient.store.copying.checkpoint())
    with pytest.raises(StorageFull):
        patient.store.copying.restore(None)
    assert patient.get() == row_of(10, b"first")
    writes: list[Callable[[], object]] = [
        lambda: patient.put(KEY, b"other"),
        lambda: patient.put(b"new", b"row"),
        lambda: finish(patient.store.catalog.create(table_maker("u"))),
    ]
    for write in writes:
        with pytest.raises(StorageFull):
            write()
    assert patient.store.catalog.find("000000000000", "us-east-1", "u") is None
    assert room


def test_writing_returns_once_there_is_room(patient: Patient, room: list[OSError], run: Run) -> None:
    fill(patient)
    run(knock(patient))
    room.clear()
    run(knock(patient, 1))
    run(sync_thread_is_idle(patient.store))
    patient.put(b"new", b"row")
    run(durable(patient.store))
    assert statistics_of(patient.store, patient.table.source_id) == Statistics(2, 20)


@pytest.mark.usefixtures("room")
def test_commits_before_the_disk_was_full_become_durable_by_a_sync(
    patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync_logs = files.sync_logs

    def note(folder: str) -> None:
        synced.append(folder)
        sync_logs(folder)

    monkeypatch.setattr(files, "sync_logs", note)
    patient.engine.faults["flush_wal"] = [Exception("IO error: Writer has previous error.")]
    patient.put(b"second", b"second")
    fill(patient)
    assert patient.store.durable_position() < patient.store.position(), "a reader would have to wait"
    run(durable(patient.store))
    assert synced
    assert patient.get(b"second") == row_of(10, b"second")


def test_a_sync_that_the_engine_refuses_after_a_failed_write_is_done_without_it(patient: Patient, run: Run) -> None:
    """The engine may refuse the sync before the loop knows of its failed write; the sync is then done without the
    engine."""
    patient.engine.faults["flush_wal"] = [Exception("IO error: Writer has previous error.")]
    patient.put(b"second", b"second")
    run(durable(patient.store))
    assert not patient.engine.faults["flush_wal"]
    assert patient.get(b"second") == row_of(10, b"second")


@pytest.mark.usefixtures("room")
def test_what_cannot_be_made_durable_is_told_to_nobody(
    patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_folder: str) -> None:
        raise NO_ROOM

    monkeypatch.setattr(files, "sync_logs", refuse)
    patient.put(b"second", b"second")
    fill(patient)
    assert patient.get(b"second") == row_of(10, b"second")
    with pytest.raises(StorageFull):
        run(durable(patient.store))
    for key in (KEY, b"second"):
        with pytest.raises(StorageFull):
            patient.get(key)


@pytest.mark.usefixtures("room")
def test_a_sync_that_was_under_way_and_fails_ends_reading(
    patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that a failed sync could not write count as written afterwards, so a second sync proves nothing."""
    has_begun, may_fail = threading.Event(), threading.Event()

    def flush_wal(_does_sync: bool) -> None:
        has_begun.set()
        may_fail.wait()
        raise FULL

    async def scenario() -> None:
        monkeypatch.setattr(patient.engine, "flush_wal", flush_wal, raising=False)
        patient.put(b"second", b"second")
        waiting = asyncio.ensure_future(durable(patient.store))
        await asyncio.to_thread(has_begun.wait)
        try:
            fill(patient)
            assert patient.get() == row_of(10, b"first")
        finally:
            may_fail.set()
        with pytest.raises(StorageFull):
            await waiting
        with pytest.raises(StorageFull):
            patient.get()

    run(scenario())


@pytest.mark.usefixtures("room")
def test_a_read_that_fails_meanwhile_ends_reading(patient: Patient) -> None:
    fill(patient)
    patient.engine.faults["get"] = [BROKEN]
    for _ in range(2):
        with pytest.raises(StorageError, match="Input/output error"):
            patient.get()


@pytest.mark.usefixtures("room")
def test_a_folder_that_is_lost_meanwhile_ends_reading(patient: Patient, run: Run) -> None:
    fill(patient)
    shutil.rmtree(patient.store.place)
    run(knock(patient, 1))
    with pytest.raises(StorageLost):
        patient.get()
    assert not Path(patient.store.place).exists()


@pytest.mark.usefixtures("room")
def test_a_store_that_is_closed_with_a_full_disk_has_lost_nothing(patient: Patient, run: Run) -> None:
    patient.put(b"second", b"second")
    fill(patient)
    run(durable(patient.store))
    patient.store.close_now()
    store = open_store(patient.store.place, patient.clock, None)
    assert finish(store.get(patient.table.source_id, Key(b"second"), consistent=True)) == row_of(10, b"second")
    assert statistics_of(store, patient.table.source_id) == Statistics(2, 20)
    store.close_now()


# --- while the engine is reopened ------------------------------------------------------------------


def reads_and_refuses(patient: Patient) -> None:
    """Assert that reads succeed and writes are refused, as on a full disk."""
    assert patient.get() == row_of(10, b"first")
    page = finish(patient.store.page(patient.table.source_id, Span(b"", b"z"), 9, 9, consistent=True))
    assert page.rows == [row_of(10, b"first")]
    assert finish(patient.store.snapshot_get([(patient.table, KEY)], 10**6)) == [row_of(10, b"first")]
    with pytest.raises(StorageFull):
        patient.put(b"new", b"row")


def test_reading_goes_on_while_the_engine_is_opened_again(
    patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, may_open = threading.Event(), threading.Event()
    open_engine = engine.open_engine

    def hesitate(*arguments: Any, **options: Any) -> Any:
        opening.set()
        may_open.wait()
        return open_engine(*arguments, **options)

    monkeypatch.setattr(health, "open_engine", hesitate)

    async def scenario() -> None:
        fill(patient)
        patient.clock.advance_all(60.0)
        with pytest.raises(StorageFull):
            patient.put(b"new", b"row")
        try:
            await asyncio.to_thread(opening.wait)
            reads_and_refuses(patient)
            await durable(patient.store)
        finally:
            may_open.set()
        await sync_thread_is_idle(patient.store)

    run(scenario())
    patient.put(b"new", b"row")
    run(durable(patient.store))
    assert (patient.get(), patient.get(b"new")) == (row_of(10, b"first"), row_of(10, b"row"))


def test_reading_goes_on_when_the_room_for_a_reopening_is_gone_again(
    patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient.put(b"second", b"second")

    def refuse(*_arguments: object, **_options: object) -> object:
        raise StorageFull("the disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(health, "open_engine", refuse)
        fill(patient)
        run(durable(patient.store))
        for _ in range(3):
            run(knock(patient, 2))
            assert patient.get(b"second") == row_of(10, b"second")
            run(durable(patient.store))
    run(knock(patient, 1))
    run(sync_thread_is_idle(patient.store))
    patient.put(b"new", b"row")
    run(durable(patient.store))
    assert statistics_of(patient.store, patient.table.source_id) == Statistics(3, 30)


def test_a_page_that_was_begun_before_a_reopening_ends_behind_it(
    patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine that serves reads during the reopening and the reopened engine hold the same data."""
    keys = [Key(b"%04d" % number) for number in range(3 * CHUNK_ROWS)]
    for key in keys:
        patient.put(key, key)
    run(durable(patient.store))
    reads = settled(patient.store.page(patient.table.source_id, Span(b"", b"z"), 10**6, 10**6, consistent=True))
    monkeypatch.setattr("hashrange.store.embedded.store.PAGE_SECONDS_MAX", -1.0)
    reads.send(None)
    fill(patient)
    run(knock(patient, 1))
    run(sync_thread_is_idle(patient.store))
    monkeypatch.undo()
    page = finish(reads)
    assert len(page.rows) == len(keys) + 1
