"""Are parts of vector indexes loaded from the files of the last server, and never from files of another content?"""

import errno
import logging
import os
import random
import shutil
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.operations.registry import OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded import (
    files,
    late_entries,
    part_files,
    part_loading,
    saved_parts,
    vector_parts,
    vector_search,
)
from hashrange.store.embedded.inspect import inspect_store
from hashrange.store.embedded.layout import SAVED_PARTS_KEY
from hashrange.store.embedded.stored_part import StoredPart
from hashrange.vectors.loaded_part import LoadedPart
from tests.support.asking import run_operation
from tests.support.engines import FaultyEngine
from tests.support.kills import copy_as_killed
from tests.support.seeds import seeds
from tests.unit.jobs.world import drive
from tests.unit.store.test_vector_parts import DIMENSIONS, NAME, Vectors, parts_of

COUNT = 300


class SavedVectors(Vectors):
    """A table with vectors in a folder."""

    def __init__(self, folder: Path, seed: int = 1, *, has_hash: bool = False) -> None:
        super().__init__(seed, has_hash=has_hash, data_dir=folder)
        self.use_cells()
        self.fill(COUNT)

    @property
    def folder(self) -> Path:
        assert self.world.data_dir is not None
        return Path(self.world.data_dir)

    @property
    def files(self) -> list[Path]:
        folder = self.folder / "vectors"
        return sorted(folder.iterdir()) if folder.exists() else []

    def use_cells(self) -> None:
        """Divide parts from 200 entries on."""
        make = partial(LoadedPart, cells_entries_min=200)
        self.world.embedded.vector_searches._make = make  # type: ignore[assignment]

    def tend(self) -> None:
        while drive(self.world.embedded.maintenance.tend_vectors()) is not None:
            pass

    def open(self) -> None:
        self.world.open()
        self.use_cells()

    def restart(self) -> None:
        self.world.embedded.close_now()
        self.open()

    def read_rows(self, monkeypatch: pytest.MonkeyPatch) -> int:
        """Search; returns how many rows were decoded to load the part."""
        count = 0
        read = StoredPart._read

        def counting(part: StoredPart, row: bytes) -> Any:
            nonlocal count
            count += 1
            return read(part, row)

        with monkeypatch.context() as patched:
            patched.setattr(StoredPart, "_read", counting)
            self.require_right()
        return count


@pytest.fixture(autouse=True)
def _few_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_parts, "SAVED_ENTRIES_MIN", 10)
    monkeypatch.setattr(saved_parts, "SPARE_DISK_BYTES", 0)
    monkeypatch.setattr(part_loading, "READ_ENTRIES", 1)


@pytest.fixture(params=[False, True], ids=["whole", "hash"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SavedVectors]:
    made = SavedVectors(tmp_path / "data", has_hash=request.param)
    yield made
    assert made.world.close() == []


@pytest.fixture
def saved(tmp_path: Path) -> Iterator[SavedVectors]:
    """A table whose part has been saved, and not been read."""
    made = SavedVectors(tmp_path / "data")
    made.require_right()
    made.tend()
    made.restart()
    yield made
    assert made.world.close() == []


@pytest.mark.parametrize("is_divided", [False, True])
def test_a_part_is_read_from_its_file(
    vectors: SavedVectors, is_divided: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if vectors.has_hash:
        vectors.fill(3 * COUNT)
    vectors.require_right()
    if is_divided:
        vectors.tend()
    queries = [vectors.query(10, rank) for rank in (None, "2")]
    before = [vectors.search(query) for query in queries]
    (part,) = parts_of(vectors)
    figures = (part.entries.count, part.entries.read_bytes, part.entries.is_divided)
    with caplog.at_level(logging.INFO, "hashrange.store"):
        vectors.restart()
        assert len(vectors.files) == 1
        assert len(parts_of(vectors)) == 0
        assert vectors.read_rows(monkeypatch) == 0
    assert f"saved {figures[0]} vectors in 1 files" in caplog.text
    assert f"read {figures[0]} vectors from a file" in caplog.text
    assert [vectors.search(query) for query in queries] == before
    (part,) = parts_of(vectors)
    assert (part.entries.count, part.entries.read_bytes, part.entries.is_divided) == figures
    assert part.entries.is_divided == is_divided
    assert part.counted_bytes == part.entries.memory_bytes
    for _ in range(200):
        vectors.change()
    vectors.tend()
    vectors.require_right()


def test_files_are_private_and_go_when_they_have_been_read(saved: SavedVectors) -> None:
    (file,) = saved.files
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    saved.require_right()
    saved_parts._removing.submit(int).result()
    assert saved.files == []


def test_a_file_that_nobody_needed_stays(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.files
    for _ in range(3):
        saved.restart()
        assert saved.files == before
    assert saved.read_rows(monkeypatch) == 0


@pytest.mark.parametrize("seed", range(4))
def test_entries_that_change_before_the_first_search_are_read_anew(
    saved: SavedVectors, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved.chance = random.Random(seed)
    for _ in range(60):
        saved.change()
    assert 0 < saved.read_rows(monkeypatch) <= 60
    for _ in range(60):
        saved.change()
    saved.require_right()


@pytest.mark.parametrize("seed", range(4))
def test_commits_are_followed_while_a_file_is_read(
    saved: SavedVectors, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_loading, "SLICE_ROWS", 3)
    saved.chance = random.Random(seed)
    searches = [saved.begin(saved.query()) for _ in range(3)]
    suspended = 0
    while searches:
        for search in list(searches):
            try:
                search.send(None)
            except StopIteration:
                searches.remove(search)
            suspended += 1
            if suspended < 90:
                saved.change()
    assert suspended > 20
    assert len(parts_of(saved)) == 1
    saved.require_right()


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_file_of_which_many_entries_have_changed_is_not_used(
    saved: SavedVectors, is_removed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may still be there, because it is removed on a thread."""
    if not is_removed:
        monkeypatch.setattr(files, "remove_file", lambda _path: None)
    search = saved.begin(saved.query())
    for _ in range(4):
        search.send(None)
    saved.fill(COUNT)
    drive(search)
    assert saved.read_rows(monkeypatch) == 0
    saved_parts._removing.submit(int).result()
    assert len(saved.files) == (not is_removed)


def test_a_file_with_changed_entries_is_not_used_by_the_next_server(
    saved: SavedVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved.change()
    saved.restart()
    assert saved.files == []
    assert saved.read_rows(monkeypatch) >= COUNT - 1


@pytest.mark.parametrize("seed", range(3))
def test_late_entries_that_the_next_server_writes_are_followed(
    vectors: SavedVectors, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that has ended early leaves index entries for later; a server that ends leaves them to the next one."""
    vectors.chance = random.Random(seed)
    vectors.require_right()
    late_sources = vectors.world.embedded._late_sources
    monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", 1)
    for number in range(10):
        item = {
            "id": {"S": str(number)},
            "v": {"L": [{"N": "8"}] * DIMENSIONS},
            "tenant": {"S": "t"},
            "rank": {"N": "2"},
        }
        put = OPERATIONS["PutItem"]
        request: Any = msgspec.convert({"TableName": NAME, "Item": item}, put.request)
        putting = run_operation(vectors.world.scope, put, request)
        before = late_sources.total()
        while late_sources.total() == before:
            putting.send(None)
        putting.close()
    assert late_sources.total() == 10
    vectors.restart()
    assert len(vectors.files) == 1
    assert vectors.read_rows(monkeypatch) == 10


def test_a_kill_leaves_no_file_that_is_used(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        saved.change()
    saved.world.kill()
    saved.use_cells()
    saved_parts._removing.submit(int).result()
    assert saved.files == []
    assert saved.read_rows(monkeypatch) >= COUNT - 50


def test_a_kill_before_any_write_leaves_the_file(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    saved.world.kill()
    saved.use_cells()
    assert saved.read_rows(monkeypatch) == 0


@pytest.mark.parametrize("moment", ["first", "renamed", "marked"])
def test_a_kill_while_parts_are_saved(vectors: SavedVectors, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder as it is after the first section, before the mark, and behind the mark."""
    vectors.require_right()
    vectors.tend()
    copy = vectors.folder.with_name("killed")
    write_mark, fsync = saved_parts._write_mark, os.fsync

    def copying() -> None:
        if not copy.exists():
            copy_as_killed(vectors.folder, copy)

    def mark(*arguments: Any) -> None:
        if moment == "renamed":
            copying()
        write_mark(*arguments)
        if moment == "marked":
            copying()

    def sync(descriptor: int) -> None:
        if moment == "first":
            copying()
        fsync(descriptor)

    monkeypatch.setattr(saved_parts, "_write_mark", mark)
    monkeypatch.setattr(os, "fsync", sync)
    vectors.world.embedded.close_now()
    monkeypatch.setattr(os, "fsync", fsync)
    vectors.world.data_dir = str(copy)
    assert len(list((copy / "vectors").iterdir())) == 1
    vectors.open()
    saved_parts._removing.submit(int).result()
    assert len(vectors.files) == (moment == "marked")
    assert (vectors.read_rows(monkeypatch) == 0) == (moment == "marked")


# --- folders that were copied, mixed or damaged ------------------------------------------------------


def test_a_copied_folder_has_its_own_files(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, other = saved.folder, saved.folder.with_name("other")
    saved.world.embedded.close_now()
    shutil.copytree(folder, other)
    saved.open()
    assert saved.read_rows(monkeypatch) == 0
    for _ in range(20):
        saved.change()
    saved.world.embedded.close_now()
    saved.world.data_dir = str(other)
    saved.open()
    assert saved.read_rows(monkeypatch) == 0


@pytest.mark.parametrize("part", ["engine", "vectors"])
def test_a_mixture_of_two_copies_is_not_used(saved: SavedVectors, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two copies of a folder are written to, so that both engines have the same name and the same number of writes."""
    folder, other = saved.folder, saved.folder.with_name("other")
    saved.world.embedded.close_now()
    shutil.copytree(folder, other)
    sequences = set()
    for place in (folder, other):
        saved.world.data_dir = str(place)
        saved.open()
        for number in range(20):
            saved.put(COUNT + number)
        saved.require_right()
        sequences.add(saved.world.embedded.engine.latest_sequence_number())
        saved.world.embedded.close_now()
    assert len(sequences) == 1
    shutil.rmtree(folder / part)
    shutil.copytree(other / part, folder / part)
    saved.world.data_dir = str(folder)
    saved.open()
    assert saved.world.embedded.engine.latest_sequence_number() == sequences.pop() + 1
    assert saved.read_rows(monkeypatch) == COUNT + 20


def test_an_older_copy_of_the_engine_is_not_searched_with_newer_files(
    saved: SavedVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, older = saved.folder, saved.folder.with_name("older")
    saved.world.embedded.close_now()
    shutil.copytree(folder / "engine", older)
    saved.open()
    saved.require_right()
    saved.put(1)
    saved.world.embedded.close_now()
    shutil.rmtree(folder / "engine")
    shutil.copytree(older, folder / "engine")
    saved.open()
    assert saved.read_rows(monkeypatch) == COUNT


def damaged(former: bytes, seed: int, chance: random.Random) -> bytes:
    """The content of a file with bytes that are missing, changed, or more than there were."""
    content = bytearray(former)
    match seed % 8:
        case 0:
            del content[chance.randrange(len(content)) :]
        case 1:
            content += chance.randbytes(chance.randrange(1, 9))
        case 2:
            start = chance.randrange(len(content))
            content[start : start + 4096] = bytes(len(content[start : start + 4096]))
            content += b"\1"
        case 3:
            place = chance.randrange(len(content))
            content.insert(place, chance.randrange(256))
        case _:
            region = len(content) // 20 * (seed // 8 % 20)
            place = min(len(content) - 1, region + chance.randrange(len(content) // 20))
            content[place] ^= 1 << chance.randrange(8)
    return bytes(content)


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_a_damaged_file_is_not_used(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(vector_parts, "SAVED_ENTRIES_MIN", 10)
    made = SavedVectors(tmp_path / "data", seed)
    made.require_right()
    if seed % 2:
        made.tend()
    made.world.embedded.close_now()
    (file,) = made.files
    content = damaged(file.read_bytes(), seed, chance)
    file.write_bytes(content)
    made.open()
    assert made.read_rows(monkeypatch) == COUNT
    assert "cannot be used" in caplog.text
    for _ in range(50):
        made.change()
    made.require_right()
    assert made.world.close() == []


def test_a_file_in_the_place_of_another_is_not_used(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = saved.files
    former = file.read_bytes()
    saved.require_right()
    saved.put(1)
    saved.restart()
    (file,) = saved.files
    saved.world.embedded.close_now()
    file.write_bytes(former)
    saved.open()
    assert saved.read_rows(monkeypatch) == COUNT


@pytest.mark.parametrize("is_version", [False, True])
def test_files_of_another_version_are_not_used(
    saved: SavedVectors, is_version: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved.world.embedded.close_now()
    if is_version:
        monkeypatch.setattr(saved_parts, "__version__", "another")
    else:
        monkeypatch.setattr(part_files, "_MAGIC", b"hashrange part 2\n")
    saved.open()
    assert saved.read_rows(monkeypatch) == COUNT


@pytest.mark.parametrize("is_other", [False, True])
def test_files_of_another_engine_are_not_used(
    saved: SavedVectors, is_other: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of an engine may be written to another one, whose writes have numbers of their own."""
    engine = saved.world.embedded.engine
    mark = list(msgspec.msgpack.decode(engine.get(SAVED_PARTS_KEY)))
    mark[1:3] = [b"another" if is_other else mark[1], engine.latest_sequence_number() + 1]
    engine.put(SAVED_PARTS_KEY, msgspec.msgpack.encode(mark))
    saved.parts.saved.let_go()
    saved.restart()
    assert saved.read_rows(monkeypatch) == (COUNT if is_other else 0)


@pytest.mark.parametrize("row", [b"", b"\x94", b"\xc1", b"no mark", msgspec.msgpack.encode(["", b"", 1])])
def test_a_damaged_mark_is_none(saved: SavedVectors, row: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    saved.world.embedded.engine.put(SAVED_PARTS_KEY, row)
    saved.world.embedded.site.vector_parts.saved.let_go()
    saved.restart()
    assert saved.read_rows(monkeypatch) == COUNT


def test_a_missing_file_is_not_missed(
    saved: SavedVectors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    saved.world.embedded.close_now()
    shutil.rmtree(saved.folder / "vectors")
    saved.open()
    assert saved.read_rows(monkeypatch) == COUNT
    assert caplog.text == ""


def test_a_file_that_disappears_is_read_from_its_rows(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(saved.folder / "vectors")
    assert saved.read_rows(monkeypatch) == COUNT


# --- what ends a file --------------------------------------------------------------------------------


def test_the_files_of_a_deleted_table_go(saved: SavedVectors) -> None:
    saved.world.request("DeleteTable", TableName=NAME)
    saved_parts._removing.submit(int).result()
    assert saved.files == []
    assert not saved.parts.are_followed


def test_the_files_of_a_deleted_index_go(saved: SavedVectors) -> None:
    saved.world.request("UpdateTable", TableName=NAME, VectorIndexUpdates=[{"Delete": {"IndexName": "vix"}}])
    saved.world.finish()
    saved.world.embedded.close_now()
    assert saved.files == []
    saved.open()


@pytest.mark.parametrize("is_loaded", [False, True])
def test_an_index_that_is_being_deleted_is_not_saved(saved: SavedVectors, is_loaded: bool) -> None:
    """Commits change nothing in its entries any more."""
    saved.world.settings = Settings(table_state_delay_seconds=60.0)
    saved.restart()
    if is_loaded:
        saved.require_right()
    saved.world.request("UpdateTable", TableName=NAME, VectorIndexUpdates=[{"Delete": {"IndexName": "vix"}}])
    (index,) = saved.table.schema.vector_indexes
    assert index.state == "DELETING"
    saved.restart()
    saved_parts._removing.submit(int).result()
    assert saved.files == []
    saved.world.clock.advance(60.0)


def test_files_go_with_the_content(saved: SavedVectors) -> None:
    saved.world.embedded.copying.restore(None)
    saved_parts._removing.submit(int).result()
    assert saved.files == []


def test_a_snapshot_is_searched_without_files(saved: SavedVectors) -> None:
    checkpoint = drive(saved.world.embedded.copying.checkpoint())
    saved.require_right()
    for _ in range(20):
        saved.change()
    saved.world.embedded.copying.restore(checkpoint)
    checkpoint.release()
    saved.require_right()
    saved.restart()
    saved.require_right()


def test_tools_do_not_mind_the_files(saved: SavedVectors) -> None:
    saved.world.embedded.close_now()
    assert inspect_store(str(saved.folder)).disk_size_bytes > saved.files[0].stat().st_size
    saved.open()


# --- what cannot be saved ----------------------------------------------------------------------------


def test_small_parts_are_not_saved(vectors: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_parts, "SAVED_ENTRIES_MIN", COUNT + 1)
    vectors.require_right()
    vectors.restart()
    assert vectors.files == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_disk_that_is_full_ends_the_saving_and_nothing_else(
    vectors: SavedVectors, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    vectors.require_right()

    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(part_files, "SYNCED_BYTES", 1)
        patched.setattr(os, "fsync", fail)
        vectors.world.embedded.close_now()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert os.strerror(number) in caplog.text
    assert vectors.files == []
    vectors.open()
    vectors.require_right()


def test_room_is_left_on_the_disk(
    vectors: SavedVectors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    vectors.require_right()
    monkeypatch.setattr(saved_parts, "SPARE_DISK_BYTES", 1 << 62)
    vectors.restart()
    assert vectors.files == []
    assert "too little room" in caplog.text


def test_an_engine_that_refuses_the_mark_is_closed_all_the_same(
    vectors: SavedVectors, caplog: pytest.LogCaptureFixture
) -> None:
    vectors.require_right()
    site = vectors.world.embedded.site
    site.engine = engine = FaultyEngine(site.engine)
    engine.faults["put"] = [Exception("IO error: No space left on device")]
    vectors.world.embedded.close_now()
    assert "are not saved" in caplog.text
    assert vectors.files == []
    vectors.open()
    vectors.require_right()


def test_a_saving_that_takes_long_is_given_up(
    vectors: SavedVectors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    vectors.require_right()
    clock, fsync = vectors.world.clock, os.fsync

    def slow(descriptor: int) -> None:
        fsync(descriptor)
        clock.advance_all(saved_parts.SAVING_SECONDS_MAX)  # type: ignore[union-attr]

    with monkeypatch.context() as patched, caplog.at_level(logging.INFO, "hashrange.store"):
        patched.setattr(part_files, "SYNCED_BYTES", 1)
        patched.setattr(os, "fsync", slow)
        vectors.world.embedded.close_now()
    assert vectors.files == []
    assert "too long" in caplog.text
    vectors.open()
    vectors.require_right()


def test_a_mark_names_as_many_files_as_fit(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_parts, "MARK_BYTES_MAX", 1)
    saved.require_right()
    saved.restart()
    saved_parts._removing.submit(int).result()
    assert saved.files == []


def test_no_file_is_written_that_the_mark_cannot_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They took time and room on the disk, and the next server removed them."""
    made = SavedVectors(tmp_path / "data", has_hash=True)
    for tenant in ("t", "u"):
        made.search(made.query(tenant=tenant))
    prefixes = [part.prefix for part in parts_of(made)]
    one_bytes = len(prefixes[0]) + part_files.PART_ID_BYTES + saved_parts._ENTRY_EXTRA_BYTES
    monkeypatch.setattr(saved_parts, "MARK_BYTES_MAX", 2 * one_bytes - 1)
    made.world.embedded.close_now()
    assert len(made.files) == 1
    made.open()
    assert made.parts.saved.find(prefixes[1]) is not None
    assert len(made.parts.saved) == 1
    made.search(made.query(tenant="t"))
    assert made.world.close() == []
    assert len(made.files) == 1


# --- memory ------------------------------------------------------------------------------------------


def test_a_part_that_does_not_fit_any_more_is_searched_by_pages(
    saved: SavedVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved.parts, "limit_bytes", 8_000)
    monkeypatch.setattr(saved.parts, "may_hold", lambda _source, prefix: prefix not in saved.parts._refused)
    saved.require_right()
    assert len(parts_of(saved)) == 0


def test_a_part_that_memory_cannot_hold_is_searched_by_pages(
    saved: SavedVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_part: LoadedPart, _block: object) -> None:
        raise MemoryError

    monkeypatch.setattr(LoadedPart, "add_block", fail)
    saved.require_right()
    assert len(parts_of(saved)) == 0


def test_without_numpy_files_are_neither_read_nor_harmed(saved: SavedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.files
    saved.world.embedded.vector_searches._make = None
    monkeypatch.setattr(vector_search, "_CODE", "hashrange.vectors.nothing_is_here")
    saved.require_right()
    saved.restart()
    assert saved.files == before
