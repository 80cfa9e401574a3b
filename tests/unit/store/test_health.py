"""After an engine failure nothing is served until the engine is reopened; a stall delays one request only."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
import rocksdict

from hashrange.errors import StorageBusy, StorageCorruption, StorageError, StorageFull
from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded import engine as engine_module
from hashrange.store.embedded.stalls import STALL_DELAYS_SECONDS
from hashrange.store.embedded.stand_ins import RefusingEngine
from hashrange.store.statistics import Statistics
from hashrange.tables.open_table import OpenTable
from hashrange.tables.span import Span
from tests.support.clocks import VirtualClock
from tests.support.engines import FaultyEngine
from tests.support.samples import durable, finish, row_of, statistics_of, table_maker
from tests.unit.store.conftest import Run, sync_thread_is_idle

FULL = Exception("IO error: No space left on device: While appending to file: 000004.log")
BROKEN = Exception("IO error: Input/output error: While appending to file: 000004.log")
STALL = Exception("Result incomplete: Write stall")
KEY = Key(b"k")


def put(row: Row, _old: Row | None) -> Row:
    return row


class Patient:
    """A store on disk whose engine fails on demand; it has one table and one durable row."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.clock = VirtualClock()
        self.store = open_store(str(folder / "data"), self.clock, loop)
        table = finish(self.store.catalog.create(table_maker("t")))
        assert table is not None
        self.table: OpenTable = table
        self.put(KEY, b"first")
        loop.run_until_complete(durable(self.store))
        self.engine = FaultyEngine(self.store.engine)
        self.store.site.engine = self.engine

    def put(self, key: bytes, fill: bytes) -> None:
        """Write one row; fails if the write suspends."""
        finish(self.store.mutate(self.table, Key(key), lambda _: row_of(10, fill)))

    def get(self, key: bytes = KEY) -> bytes | None:
        """Read one row."""
        return finish(self.store.get(self.table.source_id, Key(key), consistent=True))

    async def healed(self) -> None:
        """Send requests and advance the clock until the store serves again."""
        for _ in range(1000):
            self.clock.advance_all(1.0)
            try:
                self.get()
            except StorageError:
                await sync_thread_is_idle(self.store)
            else:
                return
        raise AssertionError("never healed")


@pytest.fixture
def patient(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> Iterator[Patient]:
    patient = Patient(tmp_path, loop)
    yield patient
    patient.store.close_now()


@pytest.mark.parametrize("method", ["put", "get", "write", "items"])
def test_after_a_failure_nothing_is_served(patient: Patient, method: str) -> None:
    patient.engine.faults[method] = [BROKEN]
    calls: list[Callable[[], object]] = [
        patient.get,
        lambda: patient.put(KEY, b"other"),
        lambda: patient.put(b"new", b"row"),
        lambda: finish(patient.store.page(patient.table.source_id, Span(b"", b"z"), 9, 9, consistent=True)),
        lambda: finish(patient.store.catalog.create(table_maker("u"))),
    ]
    failing = {"get": 0, "put": 1, "write": 2, "items": 3}[method]
    with pytest.raises(StorageError):
        calls[failing]()
    for call in calls:
        with pytest.raises(StorageError):
            call()
    assert patient.store.catalog.find("000000000000", "us-east-1", "u") is None


def test_a_failed_sync_is_heard_by_those_who_wait_and_stops_everything(patient: Patient, run: Run) -> None:
    patient.engine.faults["flush_wal"] = [FULL]
    patient.put(KEY, b"second")
    with pytest.raises(StorageFull):
        run(durable(patient.store))
    with pytest.raises(StorageFull):
        patient.get()


def test_it_heals_inside_the_process_and_the_disk_is_the_truth(patient: Patient, run: Run) -> None:
    patient.engine.faults["write"] = [BROKEN]
    with pytest.raises(StorageError):
        patient.put(b"new", b"row")
    assert isinstance(patient.store.engine, RefusingEngine)
    run(patient.healed())
    assert patient.get() == row_of(10, b"first")
    assert statistics_of(patient.store, patient.table.source_id) == Statistics(1, 10)
    patient.put(b"new", b"row")
    run(durable(patient.store))
    assert statistics_of(patient.store, patient.table.source_id) == Statistics(2, 20)
    assert patient.store.durable_position() == patient.store.position()


def test_reopening_waits_longer_each_time_and_only_for_requests(
    patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[float] = []

    def refuse(_data_dir: str, **_options: object) -> object:
        attempts.append(patient.clock.monotonic())
        raise BROKEN

    monkeypatch.setattr("hashrange.store.embedded.health.open_engine", refuse)
    patient.engine.faults["put"] = [BROKEN]
    with pytest.raises(StorageError):
        patient.put(KEY, b"x")

    async def knock(times: int) -> None:
        for _ in range(times):
            patient.clock.advance_all(0.1)
            with pytest.raises(StorageError):
                patient.get()
            await sync_thread_is_idle(patient.store)

    run(knock(200))
    assert 4 <= len(attempts) <= 12, "twenty seconds of requests every tenth of a second"
    gaps = [later - earlier for earlier, later in pairwise(attempts)]
    assert gaps == sorted(gaps)
    assert gaps[-1] <= 5.2


def test_damage_is_not_reopened(patient: Patient, run: Run) -> None:
    patient.engine.faults["get"] = [Exception("Corruption: block checksum mismatch")]
    with pytest.raises(StorageCorruption, match="hashrange check"):
        patient.get()
    patient.clock.advance_all(3600)
    run(sync_thread_is_idle(patient.store))
    with pytest.raises(StorageCorruption):
        patient.get()


def test_a_stall_delays_the_request_which_then_plans_again(patient: Patient, run: Run) -> None:
    patient.engine.faults["put"] = [STALL, STALL]
    seen: list[bytes | None] = []

    def late(old: Row | None) -> Row:
        seen.append(old)
        return row_of(10, b"late")

    async def scenario() -> None:
        delayed = asyncio.ensure_future(settled(patient.store.mutate(patient.table, KEY, late)))
        await asyncio.sleep(0)
        patient.engine.faults["put"].clear()
        await settled(patient.store.mutate(patient.table, KEY, lambda _: row_of(10, b"between")))
        await delayed

    run(scenario())
    assert seen == [row_of(10, b"first"), row_of(10, b"between")]
    assert patient.get() == row_of(10, b"late")


def test_a_stalled_catalog_change_checks_again(patient: Patient, run: Run) -> None:
    patient.engine.faults["write"] = [STALL]

    async def scenario() -> tuple[OpenTable | None, OpenTable | None]:
        first = asyncio.ensure_future(patient.store.catalog.create(table_maker("u")))
        await asyncio.sleep(0)
        second = await patient.store.catalog.create(table_maker("u"))
        return await first, second

    first, second = run(scenario())
    assert first is None
    assert second is not None


def test_patience_ends(patient: Patient, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.store.embedded.stalls.STALL_DELAYS_SECONDS", STALL_DELAYS_SECONDS[:2])
    patient.engine.faults["put"] = [STALL] * 3
    with pytest.raises(StorageBusy):
        run(settled(patient.store.mutate(patient.table, KEY, lambda _: row_of(10, b"late"))))
    assert patient.get() == row_of(10, b"first"), "a stall is no failure of the store"


def test_whoever_was_suspended_over_a_reopening_must_begin_again(patient: Patient, run: Run) -> None:
    patient.engine.faults["put"] = [STALL]

    async def scenario() -> None:
        delayed = asyncio.ensure_future(
            settled(patient.store.mutate(patient.table, KEY, lambda _: row_of(10, b"late")))
        )
        await asyncio.sleep(0)
        patient.engine.faults["get"] = [BROKEN]
        with pytest.raises(StorageError):
            patient.get()
        with pytest.raises(StorageError):
            await delayed

    run(scenario())


def test_a_closed_store_refuses(tmp_path: Path) -> None:
    store: EmbeddedStore = open_store(str(tmp_path / "data"), VirtualClock(), None)
    store.close_now()
    with pytest.raises(StorageError, match="closed"):
        finish(store.get(b"\0\0\0\1\0\0", KEY, consistent=True))


def test_damage_met_by_a_range_read_is_not_taken_for_the_end(tmp_path: Path) -> None:
    """The engine's iterators end silently at damage; a page must report it."""
    data_dir = tmp_path / "data"
    store = open_store(str(data_dir), VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    for number in range(2000):
        finish(store.mutate(table, Key(b"%06d" % number), partial(put, row_of(400, b"%06d" % number * 60))))
    store.close_now()
    data_file = max((data_dir / "engine").glob("*.sst"), key=lambda path: path.stat().st_size)
    content = bytearray(data_file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    data_file.write_bytes(content)
    for is_reverse in (False, True):
        store = open_store(str(data_dir), VirtualClock(), None)
        with pytest.raises(StorageCorruption):
            finish(store.page(table.source_id, Span(b"", b"z", is_reverse), 10_000, 10_000_000, consistent=True))
        store.close_now()


def test_stalls_of_the_real_engine_are_waited_out(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes faster than flushes: the engine stalls, requests wait, all succeed, and the loop keeps running."""
    make_options = engine_module._options

    def slow_options(memory: engine_module.Memory | None) -> rocksdict.Options:
        options = make_options(memory)
        options.set_ratelimiter(3_000_000, 10_000, 10)
        options.set_max_write_buffer_number(2)
        return options

    monkeypatch.setattr(engine_module, "_options", slow_options)
    monkeypatch.setattr(engine_module, "WRITE_BUFFER_BYTES", 64 * 1024)
    store = open_store(str(tmp_path / "slow"), VirtualClock(), loop)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    suspended = 0
    chance = Random(1)

    async def write(number: int) -> None:
        nonlocal suspended
        coroutine = settled(
            store.mutate(table, Key(b"%06d" % number), partial(put, row_of(400, chance.randbytes(400))))
        )
        try:
            coroutine.send(None)
        except StopIteration:
            return
        suspended += 1
        await loop.create_task(coroutine)

    async def write_all() -> None:
        await asyncio.gather(*(write(number) for number in range(1000)))
        await durable(store)

    run(write_all())
    assert suspended > 0
    assert statistics_of(store, table.source_id) == Statistics(1000, 400_000)
    store.close_now()
