"""Deleting a large table frees its disk space, and a compaction never delays closing."""

import asyncio
from functools import partial
from pathlib import Path
from random import Random

import pytest

from hashrange.clock import SystemClock
from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, files, open_store
from hashrange.store.embedded.catalog import RECLAIMED_BYTES_MIN
from hashrange.tables.open_table import OpenTable
from tests.support.samples import durable, finish, row_of, statistics_of, table_maker
from tests.unit.store.conftest import Run

ROW_BYTES = 40_000
ROWS = 2 * RECLAIMED_BYTES_MIN // ROW_BYTES


def put(row: Row, _old: Row | None) -> Row:
    return row


async def fill(store: EmbeddedStore, name: str) -> OpenTable:
    """Create and fill a table of twice the size that justifies a compaction; on a busy machine the engine may stall."""
    table = await store.catalog.create(table_maker(name))
    assert table is not None
    for number in range(ROWS):
        row = row_of(ROW_BYTES, Random(number).randbytes(ROW_BYTES))
        await settled(store.mutate(table, Key(b"%06d" % number), partial(put, row)))
    return table


@pytest.mark.parametrize("does_wait", [True, False])
def test_a_large_deleted_table_gives_its_room_back(
    tmp_path: Path, loop: asyncio.AbstractEventLoop, run: Run, does_wait: bool
) -> None:
    """The table stays deleted whether its compaction ends or is abandoned because the store closes."""
    store = open_store(str(tmp_path / "data"), SystemClock(), loop)
    kept, gone = run(fill(store, "kept")), run(fill(store, "gone"))
    run(durable(store))
    store.engine.flush()
    size_bytes = files.folder_size_bytes(store.place)
    run(store.catalog.delete(gone.schema))
    future = store.site.housekeeper._last
    assert future is not None
    if does_wait:
        future.result(30)
        assert files.folder_size_bytes(store.place) < size_bytes - RECLAIMED_BYTES_MIN
    store.close_now()
    store = open_store(str(tmp_path / "data"), SystemClock(), loop)
    assert [table.schema for table in store.catalog.all_tables()] == [kept.schema]
    assert statistics_of(store, kept.source_id).item_count == ROWS
    assert finish(store.get(gone.source_id, Key(b"000000"), consistent=True)) is None
    assert finish(store.get(kept.source_id, Key(b"000000"), consistent=True)) is not None
    store.close_now()


def test_small_tables_are_not_worth_a_compaction(store: EmbeddedStore, table: OpenTable) -> None:
    finish(store.mutate(table, Key(b"k"), partial(put, row_of(10))))
    finish(store.catalog.delete(table.schema))
    assert store.site.housekeeper._last is None
