"""Delayed index entries that are too large or too many for one commit are written in pieces, and deriving them gives
way; a change is stored once, none is lost.
"""

import random
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from hashrange.items import rows, steps
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
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, table_maker
from tests.support.working import give_way_always

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


def step_of(table: OpenTable, name: str, length: int, entry_name: str | None = None) -> TransactionStep:
    """A step that puts an item, or deletes it if `length` is 0."""
    item: Item = {"pk": {"S": name}, "sk": {"S": "0"}, "g": {"S": entry_name or name[:1]}, "pad": {"S": "x" * length}}
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
            pieces += finish(store.maintenance.apply_delayed(10)) == 0.0
        if chance.random() < 0.2:
            store.close_now()
            assert check_store(str(tmp_path)).faults == []
            store, table = opened(tmp_path, clock)
    clock.advance(DELAY_SECONDS)
    while finish(store.maintenance.apply_delayed(10)) is not None:
        pieces += 1
    assert [list(scan_prefix(store.engine, one)) for one in (layout.LOG_PREFIX, layout.WAITING_PREFIX)] == [[], []]
    assert most_rows > 4
    assert pieces > 60
    store.close_now()
    assert check_store(str(tmp_path)).faults == []


def put_all(store: EmbeddedStore, table: OpenTable, names: list[str], length: int = 10) -> None:
    """Put items of these names, which are the key of their entries too; delete them if `length` is 0."""
    for name in names:
        finish(store.transact([step_of(table, name, length, name)], None))


def entry_count(store: EmbeddedStore, table: OpenTable) -> int:
    """How many entries the table's indexes have."""
    return sum(len(list(scan_prefix(store.engine, one.source_id))) for one in table.indexes)


def entry_counts(store: EmbeddedStore, table: OpenTable) -> list[int]:
    """How many entries there are before the first and after each slice, until none waits."""
    counts = [entry_count(store, table)]
    while finish(store.maintenance.apply_delayed(128)) is not None:
        counts.append(entry_count(store, table))
    return counts


@pytest.mark.parametrize("kept_bytes_max", [0, 10**9])
@pytest.mark.parametrize(
    ("name_bytes", "slice_bytes_max", "slice_entries_max"), [(3, 10**9, 12), (700, 12 * 2 * 700, 10**9)]
)
def test_a_slice_writes_a_bounded_number_of_small_entries(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept_bytes_max: int,
    name_bytes: int,
    slice_bytes_max: int,
    slice_entries_max: int,
) -> None:
    """Also of entries that are deleted, and fewer of those with long keys."""
    monkeypatch.setattr(delayed_entries, "KEPT_BYTES_MAX", kept_bytes_max)
    monkeypatch.setattr(delayed_entries, "SLICE_BYTES_MAX", slice_bytes_max)
    monkeypatch.setattr(delayed_entries, "SLICE_ENTRIES_MAX", slice_entries_max)
    clock = VirtualClock()
    store, table = opened(tmp_path, clock)
    names = [f"{number:0{name_bytes}}" for number in range(20)]
    for length, left in ((10, len(names) * INDEXES), (0, 0)):
        put_all(store, table, names, length)
        clock.advance(DELAY_SECONDS)
        counts = entry_counts(store, table)
        assert counts[-1] == left
        assert 1 <= max(abs(after - before) for before, after in pairwise(counts)) <= 12
    store.close_now()
    assert check_store(str(tmp_path)).faults == []


def test_deriving_entries_gives_way_to_other_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may write the same items."""
    monkeypatch.setattr(delayed_entries, "KEPT_BYTES_MAX", 0)
    monkeypatch.setattr(steps, "LOOK_STEPS", 1)
    clock = VirtualClock()
    store, table = opened(tmp_path, clock)
    put_all(store, table, ["a", "b", "c"])
    clock.advance(DELAY_SECONDS)
    lengths = [400, 0, 20]

    def write() -> None:
        if lengths:
            put_all(store, table, ["c", "d"], lengths.pop())

    count, pause = give_way_always(store.maintenance.apply_delayed(128), between=write)
    assert count >= 3 * INDEXES
    assert pause == 0.0
    assert entry_count(store, table) == 3 * INDEXES
    clock.advance(DELAY_SECONDS)
    assert entry_counts(store, table)[-1] == 4 * INDEXES
    store.close_now()
    assert check_store(str(tmp_path)).faults == []


@pytest.mark.parametrize("is_restored", [False, True])
def test_a_table_may_go_while_its_entries_are_derived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_restored: bool
) -> None:
    """Because it is deleted, or because the store's whole content is replaced by nothing."""
    monkeypatch.setattr(delayed_entries, "KEPT_BYTES_MAX", 0)
    monkeypatch.setattr(steps, "LOOK_STEPS", 1)
    clock = VirtualClock()
    store, table = opened(tmp_path, clock)
    put_all(store, table, ["a", "b"])
    clock.advance(DELAY_SECONDS)

    def end() -> None:
        if store.catalog.find("000000000000", "us-east-1", "orders") is None:
            return
        if is_restored:
            store.copying.restore(None)
        else:
            finish(store.catalog.delete(table.schema))

    count, pause = give_way_always(store.maintenance.apply_delayed(128), between=end)
    assert count >= 2 * INDEXES
    assert pause is None
    assert [list(scan_prefix(store.engine, one)) for one in (layout.LOG_PREFIX, layout.WAITING_PREFIX)] == [[], []]
    store.close_now()
    assert check_store(str(tmp_path)).faults == []


def test_a_record_is_decoded_once_however_many_slices_write_its_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delayed_entries, "KEPT_BYTES_MAX", 0)
    monkeypatch.setattr(delayed_entries, "SLICE_ENTRIES_MAX", 1)
    decode = Mock(wraps=rows.decode_attributes)
    monkeypatch.setattr(delayed_entries, "decode_attributes", decode)
    clock = VirtualClock()
    store, table = opened(tmp_path, clock)
    put_all(store, table, ["a", "b", "c"])
    clock.advance(DELAY_SECONDS)
    assert len(entry_counts(store, table)) == 3 * INDEXES + 1
    assert decode.call_count == 3
    store.close_now()
