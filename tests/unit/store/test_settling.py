"""When writes pause, older row versions are cleared away; reads return the same."""

from functools import partial
from pathlib import Path

import pytest

from hashrange.items.types import Key, Row
from hashrange.jobs.job import AT_ONCE
from hashrange.store.embedded import EmbeddedStore, open_store, row_copies
from hashrange.store.embedded.engine import MIB
from hashrange.store.embedded.settling import FEW_COMMITS, LOOK_SECONDS, MANY_COMMITS, QUIET_LOOK_SECONDS
from hashrange.tables.open_table import OpenTable
from hashrange.tables.span import Span
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker
from tests.unit.jobs.world import World

KEYS = [b"%03d" % number for number in range(300)]


def put(row: Row, _old: Row | None) -> Row:
    return row


def write(store: EmbeddedStore, table: OpenTable, mark: bytes) -> None:
    for key in KEYS:
        finish(store.mutate(table, Key(key), partial(put, row_of(10, key + mark))))


def in_memtable(store: EmbeddedStore) -> int:
    return int(store.engine.property_value("rocksdb.num-entries-active-mem-table"))


def until_done(store: EmbeddedStore) -> None:
    """Wait until the housekeeper has done all work queued so far."""
    store.site.housekeeper.run(lambda: None).result(timeout=30)


def test_what_writes_left_is_flushed_once_they_pause(store: EmbeddedStore, table: OpenTable) -> None:
    write(store, table, b"a")
    write(store, table, b"b")
    assert finish(store.maintenance.settle()) == LOOK_SECONDS
    assert in_memtable(store) >= 2 * len(KEYS)
    assert finish(store.maintenance.settle()) == QUIET_LOOK_SECONDS
    until_done(store)
    assert in_memtable(store) == 0
    page = finish(store.page(table.source_id, Span(b"", b"\xff"), 1000, 1_000_000, consistent=True))
    assert page.rows == [row_of(10, key + b"b") for key in KEYS]


def test_a_commit_between_two_looks_puts_it_off(store: EmbeddedStore, table: OpenTable) -> None:
    write(store, table, b"a")
    write(store, table, b"b")
    for mark in (b"c", b"d"):
        write(store, table, mark)
        assert finish(store.maintenance.settle()) == LOOK_SECONDS
        until_done(store)
        assert in_memtable(store) >= 2 * len(KEYS)


def test_a_few_rows_are_not_worth_it(store: EmbeddedStore, table: OpenTable) -> None:
    finish(store.mutate(table, Key(b"k"), partial(put, row_of(10, b"k"))))
    assert finish(store.maintenance.settle()) == LOOK_SECONDS
    for _ in range(3):
        assert finish(store.maintenance.settle()) == QUIET_LOOK_SECONDS
    until_done(store)
    assert in_memtable(store) > 0


def test_writes_go_on_after_it(store: EmbeddedStore, table: OpenTable) -> None:
    for mark in (b"a", b"b", b"c", b"d"):
        write(store, table, mark)
        write(store, table, mark + mark)
        finish(store.maintenance.settle())
        finish(store.maintenance.settle())
    until_done(store)
    page = finish(store.page(table.source_id, Span(b"", b"\xff"), 1000, 1_000_000, consistent=True))
    assert page.rows == [row_of(10, key + b"dd") for key in KEYS]


def pace_of(folder: Path) -> tuple[int, int, bool]:
    """Memtable size, file count that starts a compaction, and compression of new files, from the engine's last saved
    options."""
    newest = max((folder / "engine").glob("OPTIONS-*"), key=lambda path: path.name)
    options = dict(line.strip().split("=", 1) for line in newest.read_text().splitlines() if "=" in line)
    first_level, _, below = options["compression_per_level"].partition(":")
    assert below.endswith("kLZ4Compression")
    return (
        int(options["write_buffer_size"]),
        int(options["level0_file_num_compaction_trigger"]),
        first_level == "kLZ4Compression",
    )


def test_less_is_merged_while_many_write_and_hardly_anybody_reads_ranges(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "data"), VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    paces = {"few": (4 * MIB, 2, True), "many": (4 * MIB, 4, False), "pages beside": (4 * MIB, 2, True)}
    for count, (kind, pace) in enumerate(paces.items()):
        for number in range(MANY_COMMITS - 1 if kind == "few" else 2 * MANY_COMMITS):
            row = row_of(10, b"%d" % count)
            finish(store.mutate(table, Key(b"%06d" % number), partial(put, row)))
            if kind == "pages beside" and number % 10 == 0:
                finish(store.page(table.source_id, Span(b"", b"\xff"), 1, 1_000_000, consistent=True))
        assert finish(store.maintenance.settle()) == LOOK_SECONDS
        until_done(store)
        assert kind == "few" or pace_of(tmp_path / "data") == pace
    store.close_now()


def test_while_an_index_is_built_less_is_merged(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    store, folder = world.embedded, tmp_path / "data"
    world.put(600)
    finish(store.maintenance.settle())
    until_done(store)
    assert pace_of(folder) == (4 * MIB, 4, False)
    world.create()
    assert world.slice() == AT_ONCE
    for _ in range(2):
        assert finish(store.maintenance.settle()) == LOOK_SECONDS
        until_done(store)
        assert pace_of(folder) == (16 * MIB, 4, True)
    world.finish()
    assert finish(store.maintenance.settle()) == LOOK_SECONDS
    until_done(store)
    assert pace_of(folder) == (4 * MIB, 2, True)
    assert finish(store.maintenance.settle()) == QUIET_LOOK_SECONDS
    until_done(store)
    assert pace_of(folder) == (4 * MIB, 1, True)
    assert world.close() == []


def test_while_rows_are_copied_or_loaded_less_is_merged(tmp_path: Path) -> None:
    store, folder = open_store(str(tmp_path / "data"), VirtualClock(), None), tmp_path / "data"
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None

    def settled() -> tuple[int, int, bool]:
        finish(store.maintenance.settle())
        until_done(store)
        return pace_of(folder)

    write(store, table, b"a")
    assert settled() == (4 * MIB, 2, True)
    finish(store.row_copies.load(table, {Key(b"new"): row_of(10, b"a")}))
    assert settled() == (16 * MIB, 4, True)
    finish(store.row_copies.begin("owner", table.schema))
    source_id = finish(store.row_copies.keep("owner", None))
    assert source_id is not None
    write(store, table, b"b")
    assert settled() == (4 * MIB, 2, True)
    finish(store.row_copies.move("owner", source_id))
    assert settled() == (16 * MIB, 4, True)
    store.close_now()


def files_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in (folder / "engine").glob("*.sst"))


def test_what_many_writes_left_uncompressed_is_compressed_by_later_merges(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    store = open_store(str(folder), VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    for mark, count, is_compressed in ((b"a", MANY_COMMITS, False), (b"b", MANY_COMMITS - 1, True)):
        for number in range(count):
            finish(store.mutate(table, Key(b"%06d" % number), partial(put, row_of(1000, mark * 1000))))
        finish(store.maintenance.settle())
        until_done(store)
        store.engine.flush(True)
        store.engine.compact_range(None, None)
        assert (files_bytes(folder) < MANY_COMMITS * 500) is is_compressed
    store.close_now()


def test_in_memory_everything_is_compressed_whatever_the_pace() -> None:
    store = open_store(None, VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    for number in range(MANY_COMMITS):
        finish(store.mutate(table, Key(b"%06d" % number), partial(put, row_of(1000, b"a" * 1000))))
    finish(store.maintenance.settle())
    until_done(store)
    store.engine.flush(True)
    assert sum(file["size"] for file in store.engine.live_files()) < MANY_COMMITS * 500
    store.close_now()


def rested(folder: Path) -> tuple[EmbeddedStore, OpenTable]:
    """A store on disk with a table of 300 rows, whose engine rests, as the saved options say."""
    store = open_store(str(folder), VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    write(store, table, b"a")
    write(store, table, b"b")
    for _ in range(2):
        finish(store.maintenance.settle())
    until_done(store)
    assert pace_of(folder) == (4 * MIB, 1, True)
    return store, table


def test_a_large_copy_sets_no_other_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_copies, "ALONE_BYTES_MIN", 0)
    monkeypatch.setattr(row_copies, "SLICE_ROWS", 5)
    folder = tmp_path / "data"
    store, table = rested(folder)
    finish(store.row_copies.begin("owner", table.schema))
    source_id = finish(store.row_copies.keep("owner", None))
    assert source_id is not None
    moved = 0
    while not (part := finish(store.row_copies.move("owner", source_id))).is_last:
        moved += part.row_count
    assert moved == len(KEYS)
    assert finish(store.maintenance.settle()) == LOOK_SECONDS
    until_done(store)
    assert pace_of(folder) == (4 * MIB, 1, True)
    store.close_now()


def test_some_commits_end_the_rest_and_a_few_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    store, table = rested(folder)
    for count, files in ((FEW_COMMITS, 1), (FEW_COMMITS + 1, 2)):
        for key in KEYS[:count]:
            finish(store.mutate(table, Key(key), partial(put, row_of(10, b"%d" % count + key))))
        assert finish(store.maintenance.settle()) == LOOK_SECONDS
        until_done(store)
        assert pace_of(folder) == (4 * MIB, files, True)
    store.close_now()
