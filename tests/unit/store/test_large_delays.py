"""Delayed index entries too large for one commit are written in pieces; a change is stored once, none is lost."""

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from hashrange.clock import VirtualClock
from hashrange.items.rows import encode_row
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.store.embedded import EmbeddedStore, delayed_entries, layout, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table
from tests.support.samples import finish, table_maker

INDEXES = 5
PROJECTIONS = (IndexProjection("ALL"), IndexProjection("INCLUDE", ("pad",)))
DELAY_SECONDS = 3.0


def indexed(table_id: int) -> Table:
    """A table with global indexes, most of which project the whole item."""
    keys = KeySchema(("g",), ("S",))
    indexes = tuple(
        Index(number, f"by-g-{number}", is_global=True, keys=keys, projection=PROJECTIONS[number == 2])
        for number in range(1, INDEXES + 1)
    )
    return replace(
        table_maker("orders")(table_id),
        indexes=indexes,
        next_index_id=INDEXES + 1,
        attribute_types={"pk": "S", "sk": "S", "g": "S"},
    )


def step_of(table: OpenTable, name: str, length: int) -> TransactionStep:
    """A step that puts an item, or deletes it if `length` is 0."""
    item: Item = {"pk": {"S": name}, "sk": {"S": "0"}, "g": {"S": name[:1]}, "pad": {"S": "x" * length}}
    row = encode_row(*check_item(item)) if length else None
    return TransactionStep(table, table.item_key(item), lambda _: row)


def opened(folder: Path, clock: VirtualClock) -> tuple[EmbeddedStore, OpenTable]:
    store = open_store(str(folder), clock, None, Options(lambda: DELAY_SECONDS))
    table = store.catalog.find("000000000000", "us-east-1", "orders")
    if table is None:
        table = finish(store.catalog.create(indexed))
    assert table is not None
    return store, table


def test_an_item_is_stored_once_however_many_of_its_entries_wait(tmp_path: Path) -> None:
    store, table = opened(tmp_path, VirtualClock())
    finish(store.transact([step_of(table, "a", 5_000)], None))
    ((_, row),) = scan_prefix(store.engine, layout.LOG_PREFIX)
    assert len(row) < 5_000 + 1_000
    writes = list(delayed_entries.waiting_writes(store.engine, {table.table_id: table}.get))
    assert len(writes) == INDEXES
    assert [write.new is not None and len(write.new.row) > 5_000 for write in writes] == [True] * INDEXES
    store.close_now()


@pytest.mark.parametrize("seed", range(5))
def test_entries_come_in_pieces(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether entries are kept in memory, or derived again from the records."""
    monkeypatch.setattr(delayed_entries, "SLICE_BYTES_MAX", 500)
    monkeypatch.setattr(delayed_entries, "KEPT_BYTES_MAX", (0, 1_000, 10**9)[seed % 3])
    chance, clock = random.Random(seed), VirtualClock()
    store, table = opened(tmp_path, clock)
    most_rows = pieces = 0
    for _ in range(40):
        names = chance.sample("abcdefgh", chance.randint(1, 4))
        finish(store.transact([step_of(table, name, chance.choice([0, 20, 400])) for name in names], None))
        most_rows = max(most_rows, len(list(scan_prefix(store.engine, layout.LOG_PREFIX))))
        clock.advance(chance.choice([0, 1, 4]))
        for _ in range(chance.randint(0, 6)):
            pieces += finish(store.maintenance.apply_delayed(store.maintenance.lease(), 10)) == 0.0
        if chance.random() < 0.2:
            store.close_now()
            assert check_store(str(tmp_path)).faults == []
            store, table = opened(tmp_path, clock)
    clock.advance(DELAY_SECONDS)
    while finish(store.maintenance.apply_delayed(store.maintenance.lease(), 10)) is not None:
        pieces += 1
    assert [list(scan_prefix(store.engine, one)) for one in (layout.LOG_PREFIX, layout.WAITING_PREFIX)] == [[], []]
    assert most_rows > 4
    assert pieces > 60
    store.close_now()
    assert check_store(str(tmp_path)).faults == []
